"""What `preferences` is made of: from files and tables to records, every bad row with its place."""

"""What `evaluate` and `report` are made of: the figures, their intervals, and the pages they are shown on."""

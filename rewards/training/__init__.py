"""What `train` is made of: its settings, the order of learning, the state to resume from, the export."""

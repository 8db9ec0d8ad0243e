"""The parts of the store (guerdon.serving.store): its tables, the databases that hold them, and who writes to them."""

"""The parts of the workers (guerdon.serving.workers): what is said, the program of a process, and who keeps them."""

"""The parts of the math verifier: text to tree, tree to value, tree against tree. ``verifiers/math.py`` joins them."""

"""guerdon.verifiers"""

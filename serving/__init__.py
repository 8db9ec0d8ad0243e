"""guerdon.serving"""

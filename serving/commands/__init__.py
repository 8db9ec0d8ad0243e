"""One file a command of ``guerdon``. None imports torch or a web framework before it runs and needs it."""

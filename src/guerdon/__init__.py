"""guerdon: train, calibrate and serve reward signals for reinforcement learning on language models.

Everything that gives a reward is a scorer, and everything that improves a scorer is again a scorer.
The four packages are ``guerdon.rewards``, ``guerdon.verifiers``, ``guerdon.calibration`` and ``guerdon.serving``;
importing any of the first three loads neither torch nor a web framework.
"""

__version__ = "0.1.0"

"""numpy and scipy for the evaluation, or the one error that says how to get them.

``import guerdon.rewards`` loads neither; the modules that compute take both from here.
"""

from __future__ import annotations

from typing import TypeAlias

from guerdon.rewards.errors import MissingExtraError

try:
    import numpy as np
    import numpy.typing as npt
    from scipy import optimize, special, stats
except ImportError as error:
    raise MissingExtraError("evaluation", "calibration") from error

Floats: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.intp]
"""Whole numbers from 0 that name the cluster or group of each row."""

__all__ = ["Codes", "Floats", "np", "npt", "optimize", "special", "stats"]

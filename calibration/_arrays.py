"""numpy for calibration, or the one error that says how to get it; and the checks that several modules share."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

from guerdon.rewards.errors import MissingExtraError, UsageError

try:
    import numpy as np
    import numpy.typing as npt
except ImportError as error:
    raise MissingExtraError("calibration", "calibration") from error

Floats: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.intp]
"""Whole numbers from 0 that name the group or stratum of each row."""

__all__ = ["Codes", "Floats", "floats", "group_codes", "np", "npt"]


def floats(values: Any, name: str) -> Floats:
    """Values as float64, NaN for what is missing (None becomes NaN); the caller's array is not copied if it fits.

    Raises UsageError for what is no array of numbers and for infinite values.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} must be numbers of one shape, NaN where there is none; got {values!r:.80}") from error
    if np.isinf(array).any():
        raise UsageError(f"{name} must be finite, or NaN where there is no value; got {array[np.isinf(array)][0]}")
    return array


def group_codes(groups: Sequence[Hashable] | npt.NDArray[Any], n: int) -> Codes:
    """The number of each row's group. groups: n ids of any kind; whole numbers and strings are fast."""
    if len(groups) != n:
        raise UsageError(f"{n} values but {len(groups)} group ids; give each value the id of its group")
    if isinstance(groups, np.ndarray) and groups.dtype.kind in "iub":
        return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.intp).reshape(-1)
    ids = groups.tolist() if isinstance(groups, np.ndarray) else groups
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(group, len(seen)) for group in ids], dtype=np.intp)

"""Verdicts and labels, counted: what an audit is made of.

A cell is the accepted, or the rejected, samples of one stratum. Within a cell labels are a random sample; between cells
they may be as unequal as they like. Where something else than the stratum decided how many labels a sample's like got,
cells are parts of a stratum, and count together with the parts of other strata that were drawn alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.calibration.intervals import Counts
from guerdon.calibration.rates import prefixes
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import Codes, Floats, np, npt


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell, for people. errors: labels that contradict the verdict."""

    stratum: str
    accepted: bool
    size: int
    labelled: int
    errors: int


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """All cells, as arrays of shape (c,); ``of_sample`` is the cell of each sample, shape (n,), -1 for unscored ones.

    keys: the strata's keys, sorted; stratum: the place in it of each cell's. part: what was drawn alike has one number.
    unscored: samples without a verdict, by stratum, shape (len(keys),).
    """

    keys: tuple[str, ...]
    stratum: Codes
    part: Codes
    accepted: npt.NDArray[np.bool_]
    counts: Counts
    of_sample: Codes
    unscored: Codes

    @classmethod
    def of(
        cls, verdicts: Any, truths: Any, strata: Sequence[str] | None, drawn_by: Sequence[str] | None = None
    ) -> Cells:
        """Count. verdicts, truths: 0, 1 or NaN (None), shape (n,); strata: keys, None for one stratum; drawn_by: keys
        of what was drawn alike, None for the strata. Raises UsageError for other values or lengths.
        """
        scored = _binary(verdicts, "verdicts")
        n = len(scored)
        labels = np.full(n, np.nan) if truths is None else _binary(truths, "truths", n)
        keys, stratum = _codes([""] * n if strata is None else strata, "strata", n)
        parts, part = (keys, stratum) if drawn_by is None else _codes(drawn_by, "drawn_by", n)
        known = ~np.isnan(scored)
        accepted = scored == 1.0
        code = (stratum * len(parts) + part) * 2 + accepted
        found, of_known = np.unique(code[known], return_inverse=True)
        of_sample = np.full(n, -1, dtype=np.intp)
        of_sample[known] = of_known.reshape(-1)
        labelled = known & ~np.isnan(labels)
        wrong = labelled & (labels != scored)

        def count(mask: npt.NDArray[np.bool_]) -> Floats:
            return np.bincount(of_sample[mask], minlength=len(found)).astype(np.float64)

        return cls(
            keys,
            found // (2 * len(parts)),
            found // 2 % len(parts),
            found % 2 == 1,
            Counts(count(known), count(labelled), count(wrong)),
            of_sample,
            np.bincount(stratum[~known], minlength=len(keys)),
        )

    def paths(self) -> dict[str, Codes]:
        """Every stratum's key and every shorter path down to the root "", with the places in ``keys`` below it."""
        found: dict[str, list[int]] = {"": []}
        for place, key in enumerate(self.keys):
            for path in prefixes(key):
                found.setdefault(path, []).append(place)
        return {path: np.array(found[path], dtype=np.intp) for path in sorted(found)}

    def sides(self, below: Codes | None = None) -> tuple[Counts, Counts]:
        """The accepted and the rejected of some strata (places in ``keys``), or of all, by what was drawn alike."""
        within = np.ones(len(self.stratum), dtype=bool) if below is None else np.isin(self.stratum, below)
        return self._together(within & self.accepted), self._together(within & ~self.accepted)

    def listed(self) -> list[Cell]:
        counts = zip(self.counts.sizes, self.counts.labelled, self.counts.events, strict=True)
        return [
            Cell(self.keys[place], bool(accepted), *map(int, row))
            for place, accepted, row in zip(self.stratum, self.accepted, counts, strict=True)
        ]

    def _together(self, mask: npt.NDArray[np.bool_]) -> Counts:
        _, place = np.unique(self.part[mask], return_inverse=True)
        sizes, labelled, events = (
            np.bincount(place.reshape(-1), weights=column[mask]).astype(np.float64)
            for column in (self.counts.sizes, self.counts.labelled, self.counts.events)
        )
        return Counts(sizes, labelled, events)


def _codes(keys: Sequence[str], name: str, n: int) -> tuple[tuple[str, ...], Codes]:
    if len(keys) != n:
        raise UsageError(f"{n} verdicts but {len(keys)} {name}; give each sample one")
    distinct = set(keys)
    if bad := [key for key in distinct if not isinstance(key, str)]:
        raise UsageError(f"{name} must be strings, got {bad[0]!r:.80}")
    names = sorted(distinct)
    places = {key: place for place, key in enumerate(names)}
    return tuple(names), np.fromiter((places[key] for key in keys), dtype=np.intp, count=n)


def _binary(values: Any, name: str, n: int | None = None) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} must be 0, 1 or NaN for none; got {values!r:.80}") from error
    if array.ndim != 1 or (n is not None and len(array) != n):
        raise UsageError(f"{name} must have the shape ({'n' if n is None else n},), got {array.shape}")
    if (bad := array[~(np.isnan(array) | (array == 0) | (array == 1))]).size:
        raise UsageError(f"{name} must be 0, 1 or NaN for none; got {bad[0]:g}")
    return array

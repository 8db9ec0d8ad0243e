"""What all kinds of records share in an evaluation: a headline, rulers on the same rows, groups, the worst of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from guerdon.rewards.evaluation._numeric import Codes, Floats, np
from guerdon.rewards.evaluation.intervals import Estimate, mean, share
from guerdon.rewards.evaluation.metrics import roc_auc, roc_auc_difference
from guerdon.rewards.evaluation.scoring import Flags, Scores
from guerdon.rewards.report import Group, Ruler

MOST_VALUES = 200  # a column with more distinct values is an identifier, not a category
LOW_QUANTILE = 0.1
FEWEST_GROUPS = 3  # for a low quantile over groups


@dataclass(frozen=True, slots=True)
class Setup:
    """What every section is computed from. Values and lengths are indexed like the sample table."""

    scores: Scores
    rulers: Mapping[str, Scores]
    lengths: Floats
    scale: str
    temperature: float | None
    by: Sequence[str]
    minimum_rows: int
    seed: int


class Measure(Protocol):
    """The headline of a section, computed from the values of any scorer on any of its rows."""

    @property
    def name(self) -> str: ...

    @property
    def clusters(self) -> Codes: ...

    def usable(self, values: Floats) -> Flags:
        """Rows for which these values give a figure."""
        ...

    def estimate(self, values: Floats, rows: Flags) -> Estimate: ...

    def difference(self, values: Floats, other: Floats, rows: Flags) -> Estimate: ...


@dataclass(frozen=True, slots=True)
class RowMeasure:
    """A headline that is the mean of a figure in [0, 1] a row, NaN where a row has none."""

    name: str
    clusters: Codes
    figure: Callable[[Floats], Floats]

    def usable(self, values: Floats) -> Flags:
        return np.isfinite(self.figure(values))

    def estimate(self, values: Floats, rows: Flags) -> Estimate:
        return share(self.figure(values)[rows], self.clusters[rows])

    def difference(self, values: Floats, other: Floats, rows: Flags) -> Estimate:
        return mean((self.figure(values) - self.figure(other))[rows], self.clusters[rows])

    def with_guess(self, values: Floats, rows: Flags, guess: Floats) -> Estimate:
        """The headline over ``rows``, those without a figure counting as a guess would."""
        figure = self.figure(values)
        return share(np.where(np.isfinite(figure), figure, guess)[rows], self.clusters[rows])


@dataclass(frozen=True, slots=True)
class AreaMeasure:
    """The AUC of responses labelled right or wrong; a row is a response. index: of each row in the sample table."""

    clusters: Codes
    right: Floats
    index: Codes
    name: str = "AUC"

    def usable(self, values: Floats) -> Flags:
        return np.isfinite(values[self.index])

    def estimate(self, values: Floats, rows: Flags) -> Estimate:
        return roc_auc(values[self.index][rows], self.right[rows], self.clusters[rows])

    def difference(self, values: Floats, other: Floats, rows: Flags) -> Estimate:
        scores, others = values[self.index][rows], other[self.index][rows]
        return roc_auc_difference(scores, others, self.right[rows], self.clusters[rows])


def compare_rulers(
    setup: Setup, measure: Measure, rows: Flags, balanced: Callable[[Floats], Estimate]
) -> tuple[Ruler, ...]:
    """Each ruler on the rows that the scorer is judged on; a ruler's own unscored rows leave the comparison."""
    found = []
    for name, scores in setup.rulers.items():
        both = rows & measure.usable(scores.values)
        found.append(
            Ruler(
                name,
                measure.estimate(scores.values, both),
                balanced(scores.values),
                measure.difference(setup.scores.values, scores.values, both),
            )
        )
    return tuple(found)


def break_down(
    setup: Setup, measure: Measure, rows: Flags, metas: Sequence[Mapping[str, Any]]
) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """The headline a group of each column of ``by``, largest first, and notes on columns that give no groups."""
    groups: list[Group] = []
    notes: list[str] = []
    for column in setup.by:
        labels = [_label(meta.get(column)) for meta in metas]
        # dict keeps first appearance, so that equal sizes come out in the file's order
        sizes = {label: 0 for label, row in zip(labels, rows, strict=True) if row and label is not None}
        if len(sizes) > MOST_VALUES:
            notes.append(f"column {column!r} has {len(sizes)} values: too many for a breakdown")
            continue
        if len(sizes) < 2:
            continue
        number = {label: i for i, label in enumerate(sizes)}
        codes = np.array([number.get(label, -1) if label is not None else -1 for label in labels])
        for label, i in number.items():
            mine = rows & (codes == i)
            rulers = tuple(_value(measure, scores.values, mine) for scores in setup.rulers.values())
            headline = measure.estimate(setup.scores.values, mine)
            groups.append(Group(column, label, headline, rulers, int(mine.sum()) >= setup.minimum_rows))
    groups.sort(key=lambda group: (list(setup.by).index(group.column), -group.headline.n))
    return tuple(groups), tuple(notes)


def _value(measure: Measure, values: Floats, rows: Flags) -> float | None:
    both = rows & measure.usable(values)
    return measure.estimate(values, both).value if both.any() else None


def _label(value: Any) -> str | None:
    if value is None or isinstance(value, (Mapping, tuple)):
        return None
    return str(value)[:120]


def worst_groups(groups: Sequence[Group]) -> tuple[Group, ...]:
    """The lowest headline of each column, among groups with enough rows."""
    worst: dict[str, Group] = {}
    for group in groups:
        if not group.counted or group.headline.value is None:
            continue
        best = worst.get(group.column)
        if best is None or best.headline.value is None or group.headline.value < best.headline.value:
            worst[group.column] = group
    return tuple(worst.values())


def low_quantile(groups: Sequence[Group]) -> Estimate:
    """The 10 % quantile of the headline over the groups of the last column that has enough of them.

    PPE found such a low quantile over domains to predict later training better than the mean does.
    """
    by_column: dict[str, list[float]] = {}
    for group in groups:
        if group.counted and group.headline.value is not None:
            by_column.setdefault(group.column, []).append(group.headline.value)
    enough = [values for values in by_column.values() if len(values) >= FEWEST_GROUPS]
    if not enough:
        return Estimate.missing(f"needs {FEWEST_GROUPS} groups with enough rows")
    return Estimate(float(np.quantile(enough[-1], LOW_QUANTILE)), n=len(enough[-1]))

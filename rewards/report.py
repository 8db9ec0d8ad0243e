"""What an evaluation found: a tree of frozen records, and its three written forms (JSON, Markdown, one HTML page).

A figure that does not exist is an ``Estimate`` without a value and with the reason, in every form; nothing here is
ever NaN. ``evaluate.py`` fills the tree, ``report_markdown.py`` and ``report_html.py`` write it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from guerdon.rewards.evaluation.battles import Battles
from guerdon.rewards.evaluation.intervals import Estimate
from guerdon.rewards.evaluation.probabilities import Bin, BrierParts

FORMAT = "guerdon-evaluation/1"
RANDOM = "random"  # the name of the ruler that is a coin: what it gets by luck is no bar to pass

Kind: TypeAlias = Literal["preferences", "rankings", "samples"]


@dataclass(frozen=True, slots=True)
class Unscored:
    """Samples without a score, for one status and reason (digits in the reason are shown as #)."""

    status: str
    reason: str
    samples: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the rows. Nothing leaves an evaluation without being counted here.

    rows: in the file. used: that could be judged. tied: labelled a tie (no response is right). unscored: a response
    has no score, so the row is left out. over_long: unscored because too long. truncated: scored, but cut to fit.
    identical: two responses are the same text. flipped: the label's probability is below 0.5, so the sides were
    swapped. samples: distinct (prompt, response) that were scored.
    """

    rows: int
    used: int
    tied: int
    unscored: int
    over_long: int
    truncated: int
    identical: int
    flipped: int
    samples: int
    reasons: tuple[Unscored, ...]


@dataclass(frozen=True, slots=True)
class LengthBin:
    """Accuracy among pairs whose chosen response is ``low`` to ``high`` times as long as the rejected one."""

    low: float | None
    high: float | None
    accuracy: Estimate


@dataclass(frozen=True, slots=True)
class LengthBias:
    """How far the scorer follows length (characters).

    longer_right, shorter_right: accuracy where the longer or the shorter response is the right one; balanced: their
    mean. spearman: of margin and length difference, chosen minus rejected. spearman_both_orders: the same over both
    orders of every pair, so that the label's own link with length counts too. partial_spearman: the latter with the
    label held fixed.
    """

    longer_right: Estimate
    shorter_right: Estimate
    balanced: Estimate
    equal_length: int
    spearman: Estimate
    spearman_both_orders: Estimate
    partial_spearman: Estimate
    bins: tuple[LengthBin, ...]


@dataclass(frozen=True, slots=True)
class Probabilities:
    """How good one way of turning scores into probabilities is.

    ece_width, ece_mass: expected calibration error with bins of one width and of one mass. ece_debiased: root of the
    squared error without the part that chance adds. mce: the largest error of a bin.
    """

    name: str
    temperature: float | None
    log_loss: Estimate
    brier: Estimate
    parts: BrierParts
    ece_width: float
    ece_mass: float
    ece_debiased: float
    mce: float
    table: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Probabilities from margins: as given, with the scorer's own temperature, and with one fitted here.

    temperature: fitted on all pairs of this section; ``fitted`` uses temperatures fitted on the other prompts.
    reasons: why a form is missing.
    """

    temperature: Estimate
    as_given: Probabilities | None
    declared: Probabilities | None
    fitted: Probabilities | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many pairs have a margin of a size, where the scorer is right and where it is wrong. edges: |margin|."""

    edges: tuple[float, ...]
    right: tuple[int, ...]
    wrong: tuple[int, ...]
    beyond: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """Everything that is said of labelled pairs: those of the file, or those that a ranking or a group implies.

    accuracy: ties of the scorer half; strict: ties wrong; weighted: with the rows' weights, where they differ.
    """

    pairs: int
    accuracy: Estimate
    strict: float | None
    weighted: float | None
    tie_rate: float | None
    length: LengthBias
    calibration: Calibration
    margins: Histogram | None


@dataclass(frozen=True, slots=True)
class Ruler:
    """A scorer that knows nothing, on the same rows. difference: the scorer's headline minus the ruler's, paired."""

    name: str
    headline: Estimate
    balanced: Estimate
    difference: Estimate


@dataclass(frozen=True, slots=True)
class Group:
    """The headline inside one source, category or other column. rulers: their figures, in the section's order.

    counted: whether it has enough rows to be called the worst.
    """

    column: str
    value: str
    headline: Estimate
    rulers: tuple[float | None, ...]
    counted: bool


@dataclass(frozen=True, slots=True)
class Ties:
    """Rows labelled a tie. The score should lie close together there.

    auc: P(a decided pair has a larger |margin| than a tied one). three_way: accuracy of win, lose or tie, when
    |margin| up to a threshold is called a tie, the threshold being fitted on other prompts; chance: always answering
    the most frequent of the three.
    """

    rows: int
    mean_margin_tied: float | None
    mean_margin_decided: float | None
    auc: Estimate
    three_way: Estimate
    chance: float | None


@dataclass(frozen=True, slots=True)
class Styles:
    """RM-Bench: the same right and wrong content in several styles.

    matrix: accuracy, a row for each style of the chosen response and a column for each of the rejected one.
    hard: the rejected response has the richer style; normal: the same style; easy: the chosen one has.
    by_domain: domain, then (easy, normal, hard); domains "safety-refuse" and "safety-response" are averaged into
    "safety" first, as RM-Bench does. domain_mean: over domains. strict_mean: the same with ties counted wrong.
    """

    styles: tuple[str, ...]
    matrix: tuple[tuple[float | None, ...], ...]
    easy: Estimate
    normal: Estimate
    hard: Estimate
    by_domain: tuple[tuple[str, float | None, float | None, float | None], ...]
    domain_mean: tuple[float | None, float | None, float | None]
    overall: float | None
    strict_mean: float | None
    ruler_matrix: tuple[tuple[float | None, ...], ...] | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rankings (K responses a prompt). top_1: the highest-scored is among the best; chance: of a random choice.

    above_all: a best response lies strictly above all others (RMB's rule). mrr: mean reciprocal rank of the first
    best. recovery: (chosen - mean) / (best - mean). within: rank correlation inside a prompt, averaged; overall: over
    all responses of all prompts, which may be high while the choice inside a prompt is poor.
    """

    top_1: Estimate
    chance: float
    above_all: Estimate
    mrr: Estimate
    ndcg: Estimate
    recovery: Estimate
    within: Estimate
    overall: Estimate
    sizes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class BestOf:
    """Truth of the best-scored of k, k = 1 … K, averaged over prompts; unbiased over all subsets of the responses.

    curve: by score; oracle: by truth; rulers: by each ruler. kl: of best-of-k from the policy, in nats. maximum and
    end: of the curve; regret: mean of oracle minus curve; loss: mean of its square. drawn_*: the same with the
    first k in file order, as PPE computes them. peak_k: where the fit d (a - b d), d = sqrt(kl), peaks, if it does.
    """

    prompts: int
    left_out: int
    curve: tuple[float, ...]
    oracle: tuple[float, ...]
    rulers: tuple[tuple[str, tuple[float, ...]], ...]
    kl: tuple[float, ...]
    maximum: float
    end: float
    regret: float
    loss: float
    drawn_maximum: float
    drawn_end: float
    drawn_regret: float
    peak_kl: float | None


@dataclass(frozen=True, slots=True)
class Correctness:
    """Responses labelled right or wrong, or graded (then only ``recovery``, ``within`` and ``best_of`` exist).

    auc: over all responses. conflict: over the (right, wrong) pairs of one prompt, each prompt weighing the same.
    recovery, within: as in ``Ranked``. A verdict has false_positive and false_negative rates; a probability is judged
    as it stands.
    """

    share_right: float
    auc: Estimate
    conflict: Estimate
    recovery: Estimate
    within: Estimate
    false_positive: Estimate
    false_negative: Estimate
    probabilities: Probabilities | None
    best_of: BestOf | None


@dataclass(frozen=True, slots=True)
class Section:
    """One file or list of records.

    measure: what the headline is (accuracy, top-1 accuracy, conflict accuracy, AUC); unit: what it is a mean over
    (pair, ranking, prompt, response). unscored_half: the headline with rows without a
    score counted as chance would. chance: the headline of a coin. ceiling: that of one who knows how sure each label
    is. worst: a group for each column. low_quantile: the 10 % quantile of the headline over groups.
    """

    name: str
    kind: Kind
    measure: str
    unit: str
    counts: Counts
    headline: Estimate
    unscored_half: Estimate
    chance: float
    ceiling: Estimate
    pairs: Pairs | None
    rulers: tuple[Ruler, ...]
    groups: tuple[Group, ...]
    minimum_rows: int
    worst: tuple[Group, ...]
    low_quantile: Estimate
    ties: Ties | None
    styles: Styles | None
    battles: Battles | None
    ranked: Ranked | None
    correctness: Correctness | None
    notes: tuple[str, ...]

    def sentence(self) -> str:
        """The headline with what it must be read against: the best ruler, or chance where that is higher."""
        if self.headline.value is None:
            return f"No {self.measure}: {self.headline.reason}."
        rows = f"1 {self.unit}" if self.headline.n == 1 else f"{self.headline.n:,} {self.unit}s"
        text = f"{self.measure[0].upper()}{self.measure[1:]} {self.headline} on {rows}"
        known = [r for r in self.rulers if r.headline.value is not None and r.name != RANDOM]
        best = max(known, key=lambda ruler: ruler.headline.value or 0.0, default=None)
        if best is not None:
            text += f"; the {best.name} ruler gets {best.headline.value:.3f} on the same {self.unit}s"
        if best is None or (best.headline.value or 0.0) < self.chance:
            return f"{text}; chance is {self.chance:.3f}. {self._against_chance()}".rstrip()
        return f"{text}. {self._against(best)}".rstrip()

    def _against_chance(self) -> str:
        low, high = self.headline.low, self.headline.high
        if low is None or high is None:
            return ""
        if low <= self.chance <= high:
            return "This may be chance."
        return "Below chance." if high < self.chance else "Above chance."

    def _against(self, ruler: Ruler) -> str:
        gap = ruler.difference
        if gap.value is None or gap.low is None or gap.high is None:
            return ""
        if gap.low > 0:
            return f"The scorer is ahead by {gap.value:.3f} [{gap.low:.3f}, {gap.high:.3f}]."
        if gap.high < 0:
            return f"The scorer is behind by {-gap.value:.3f} [{-gap.high:.3f}, {-gap.low:.3f}]."
        if gap.low == gap.high:
            return "There is no difference."
        return f"The difference of {gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}] may be chance."


@dataclass(frozen=True, slots=True)
class Repeat:
    """The same samples scored once more in another way. flipped: pairs whose preferred side changed.

    samples, pairs: compared. max_change, mean_change: of a score. unscored: samples with a score in one way only.
    """

    way: str
    samples: int
    pairs: int
    max_change: float | None
    mean_change: float | None
    flipped: int
    unscored: int


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the terminal's summary."""

    section: str
    measure: str
    value: str
    remark: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything found out about one scorer on one or several sets of records."""

    scorer: str
    version: str
    scale: str
    guerdon: str
    clusters: str
    seed: int
    samples: int
    seconds: float
    sections: tuple[Section, ...]
    repeats: tuple[Repeat, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, keys in the order of the fields, every number finite or None."""
        return {"format": FORMAT, **_plain(self)}

    def to_json(self) -> str:
        """The whole report as JSON text; a figure that does not exist is null, with its reason beside it."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_markdown(self) -> str:
        """The report as Markdown, every text from data escaped."""
        from guerdon.rewards.evaluation.report_markdown import to_markdown

        return to_markdown(self)

    def to_html(self) -> str:
        """The report as one HTML page that asks the network for nothing and runs no script."""
        from guerdon.rewards.evaluation.report_html import to_html

        return to_html(self)

    def save(self, folder: str | Path) -> dict[str, Path]:
        """Write report.json, report.md and report.html into the folder, made if need be. Gives their paths."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        paths = {}
        for form, text in (("json", self.to_json()), ("md", self.to_markdown()), ("html", self.to_html())):
            paths[form] = folder / f"report.{form}"
            # half a surrogate pair in a response must not cost the report
            paths[form].write_text(text, encoding="utf-8", errors="backslashreplace")
        return paths

    def summary_table(self) -> list[Row]:
        """The lines a terminal shows: per section the headline, the rulers, length, calibration, the worst group."""
        from guerdon.rewards.evaluation.report_summary import summary_rows

        return summary_rows(self)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None  # a numpy float becomes a plain one
    return value

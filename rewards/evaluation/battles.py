"""What pairs between named models say of the models: does the scorer rank them as the labels do?

PPE (arXiv 2410.14872) found these figures, next to plain accuracy, to predict how a policy trained on the scorer
fares with people. Battles come from pairs whose meta names the two models. Ratings are Bradley–Terry log-strengths;
what is sure of them is found by resampling whole prompts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import Codes, Floats, np, special
from guerdon.rewards.evaluation.intervals import LEVEL
from guerdon.rewards.evaluation.metrics import kendall, pearson, spearman

MINIMUM_MODELS = 4
MINIMUM_BATTLES = 10  # a model; fewer say next to nothing of its rating


@dataclass(frozen=True, slots=True)
class Rating:
    """One model's Bradley–Terry log-strength according to the labels and according to the scorer."""

    model: str
    battles: int
    labels: float
    labels_low: float
    labels_high: float
    scorer: float
    scorer_low: float
    scorer_high: float


@dataclass(frozen=True, slots=True)
class Battles:
    """PPE's human-preference figures besides accuracy; None where one does not exist (a constant row or ranking).

    row_pearson: Pearson's correlation of each model's row of win rates, averaged over the models.
    separability: share of model pairs whose 95 % intervals, by the scorer, do not overlap.
    confidence_agreement: mean over model pairs of +1 (both separate them, the same way), -1 (both, opposite ways), 0.
    kendall, spearman: between the two rankings. brier: mean over model pairs of (P(i above j) by the scorer's
    resamples - 1[the labels have i above j])^2; 0 is best, a coin gets 0.25.
    """

    row_pearson: float | None
    separability: float
    confidence_agreement: float
    kendall: float | None
    spearman: float | None
    brier: float
    battles: int
    resamples: int
    ratings: tuple[Rating, ...]


def bradley_terry(wins: Floats, *, prior: float = 0.0, tolerance: float = 1e-10, steps: int = 200) -> Floats:
    """Log-strengths that make the win counts most likely; they sum to 0. Newton's method with step halving.

    wins: shape (..., M, M), how often i beat j (a tie is half a win each way); the diagonal says nothing. prior:
    pseudo-wins each way between every model and one virtual player, which make the fit finite where some model never
    lost. Without them the win graph must be strongly connected, and UsageError says so where it is not.
    Zermelo 1929; Hunter 2004.

    >>> bradley_terry(np.array([[0., 3., 2.], [1., 0., 2.], [1., 1., 0.]])).round(7).tolist()
    [0.6302847, -0.1510853, -0.4791994]
    """
    if not prior and not _all_reach_all(wins):
        raise UsageError("no finite ratings: some models never lost to the others; give prior=0.5")
    size = wins.shape[-1]
    wins = np.where(np.eye(size, dtype=bool), 0.0, wins)
    games = wins + np.swapaxes(wins, -1, -2)
    each = np.arange(size)

    def loss(rating: Floats) -> Floats:
        real = (wins * np.logaddexp(0, rating[..., None, :] - rating[..., :, None])).sum(axis=(-1, -2))
        return np.asarray(real + prior * (np.logaddexp(0, rating) + np.logaddexp(0, -rating)).sum(axis=-1))

    rating = np.zeros(wins.shape[:-1])
    for _ in range(steps):
        p = special.expit(rating[..., :, None] - rating[..., None, :])
        virtual = special.expit(rating)
        slope = (wins - games * p).sum(axis=-1) + prior * (1 - 2 * virtual)
        curvature = -games * p * (1 - p)
        curvature[..., each, each] = 2 * prior * virtual * (1 - virtual) - curvature.sum(axis=-1)
        # the likelihood does not know the mean without a prior; adding 1 to every cell holds it where it is
        step = np.linalg.solve(curvature + (0.0 if prior else 1.0), slope[..., None])[..., 0]
        if float(np.abs(step).max()) < tolerance:
            break
        before = loss(rating)
        while (worse := loss(rating + step) > before * (1 + 1e-10)).any():  # a long step may miss; the sum rounds
            step = np.where(worse[..., None], step / 2, step)
        rating = rating + step
    return np.asarray(rating - rating.mean(axis=-1, keepdims=True))


def _all_reach_all(wins: Floats) -> bool:
    reach = ((wins > 0) | np.eye(wins.shape[-1], dtype=bool)).astype(float)
    for _ in range(wins.shape[-1].bit_length()):  # squaring doubles the length of the paths
        reach = (reach @ reach > 0).astype(float)
    return bool((reach > 0).all())


def compare_models(
    chosen: list[str],
    rejected: list[str],
    label_wins: Floats,
    scorer_wins: Floats,
    clusters: Codes,
    *,
    seed: int,
    resamples: int = 200,
) -> Battles | str:
    """The figures of PPE, or the reason why there are none.

    chosen, rejected: the model behind each side of each pair. label_wins, scorer_wins: 1 where the chosen side wins
    according to the label or to the scorer, 0.5 for a tie, 0 where it loses. Models with fewer than 10 battles are
    left out; at least 4 must remain.
    """
    kept = _models_with_enough(chosen, rejected)
    if len(kept) < MINIMUM_MODELS:
        return f"needs {MINIMUM_MODELS} models with {MINIMUM_BATTLES} battles each, found {len(kept)}"
    number = {model: i for i, model in enumerate(kept)}
    rows = np.array([a in number and b in number and a != b for a, b in zip(chosen, rejected, strict=True)])
    first = np.array([number[m] for m, r in zip(chosen, rows, strict=True) if r])
    second = np.array([number[m] for m, r in zip(rejected, rows, strict=True) if r])
    size = len(kept)

    def matrix(outcome: Floats, weight: Floats) -> Floats:
        cells = np.bincount(first * size + second, weights=outcome * weight, minlength=size * size)
        cells += np.bincount(second * size + first, weights=(1 - outcome) * weight, minlength=size * size)
        return np.asarray(cells.reshape(size, size), dtype=float)

    once = np.ones(len(first))
    drawn = _resampled_weights(clusters[rows], resamples, seed)
    plain, spread = [], []
    for outcome in (label_wins[rows], scorer_wins[rows]):
        plain.append(matrix(outcome, once))
        spread.append(bradley_terry(np.stack([matrix(outcome, w) for w in drawn]), prior=0.5, tolerance=1e-6))
    labels, scorer = (bradley_terry(wins, prior=0.5) for wins in plain)
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    (l_low, l_high), (s_low, s_high) = (np.quantile(ratings, tails, axis=0) for ratings in spread)
    ratings = tuple(
        Rating(kept[i], int((plain[0] + plain[0].T)[i].sum()), *(float(v[i]) for v in figures))
        for figures in [(labels, l_low, l_high, scorer, s_low, s_high)]
        for i in np.argsort(-labels, kind="stable")
    )
    pairs = list(combinations(range(size), 2))
    both = [_order(l_low, l_high, i, j) * _order(s_low, s_high, i, j) for i, j in pairs]
    above = spread[1][:, :, None] > spread[1][:, None, :]
    beats = above.mean(axis=0) + (spread[1][:, :, None] == spread[1][:, None, :]).mean(axis=0) / 2
    return Battles(
        row_pearson=_row_pearson(*plain),
        separability=float(np.mean([_order(s_low, s_high, i, j) != 0 for i, j in pairs])),
        confidence_agreement=float(np.mean(both)),
        kendall=kendall(labels, scorer),
        spearman=spearman(labels, scorer),
        brier=float(np.mean([(beats[i, j] - _above(labels, i, j)) ** 2 for i, j in pairs])),
        battles=len(first),
        resamples=resamples,
        ratings=ratings,
    )


def _models_with_enough(chosen: list[str], rejected: list[str]) -> list[str]:
    """Models with enough battles among themselves; leaving one out may leave another with too few, hence the loop."""
    pairs = [(a, b) for a, b in zip(chosen, rejected, strict=True) if a != b]
    while True:
        counts: dict[str, int] = {}
        for pair in pairs:
            for model in pair:
                counts[model] = counts.get(model, 0) + 1
        kept = {model for model, n in counts.items() if n >= MINIMUM_BATTLES}
        left = [pair for pair in pairs if kept.issuperset(pair)]
        if len(left) == len(pairs):
            return sorted(kept)
        pairs = left


def _resampled_weights(clusters: Codes, resamples: int, seed: int) -> list[Floats]:
    """How often each row is in each resample of whole clusters."""
    names, index = np.unique(clusters, return_inverse=True)
    generator = np.random.default_rng(seed)
    draws = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
    return [draw[index.reshape(-1)].astype(float) for draw in draws]


def _order(low: Floats, high: Floats, i: int, j: int) -> int:
    """+1 or -1 where the intervals of i and j do not overlap, else 0."""
    return int(low[i] > high[j]) - int(low[j] > high[i])


def _above(ratings: Floats, i: int, j: int) -> float:
    return 1.0 if ratings[i] > ratings[j] else 0.5 if ratings[i] == ratings[j] else 0.0


def _row_pearson(labels: Floats, scorer: Floats) -> float | None:
    """Rows need three opponents: two points always lie on a line."""
    games = labels + labels.T
    rows = []
    for i in range(len(games)):
        met = games[i] > 0
        if met.sum() >= 3:
            rows.append(pearson(labels[i][met] / games[i][met], scorer[i][met] / games[i][met]))
    found = [r for r in rows if r is not None]
    return float(np.mean(found)) if found else None

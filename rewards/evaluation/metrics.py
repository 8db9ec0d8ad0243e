"""The figures of an evaluation, as pure functions of arrays. Which of them a report holds is decided in evaluate.py.

One rule runs through all: a tie of two scores is half right, and a choice among tied scores is the average over the
choices. Nothing depends on the order of the rows or of the responses, and a constant scorer gets what a coin gets.
A figure that does not exist (a correlation with a constant) is None, never NaN.
"""

from __future__ import annotations

import math

from guerdon.rewards.evaluation._numeric import Codes, Floats, np, npt, special, stats
from guerdon.rewards.evaluation.intervals import Estimate, linearised

# ---------------------------------------------------------------------------------------------------- pairs


def correctness(margins: Floats) -> Floats:
    """1 where the chosen response scores higher, 0.5 where both are equal, else 0. margins: chosen minus rejected."""
    return np.where(margins > 0, 1.0, np.where(margins == 0, 0.5, 0.0))


def length_balanced(correct: Floats, longer: Floats, clusters: Codes) -> Estimate:
    """The mean of two accuracies: where the longer response is right and where the shorter one is.

    correct: 1, 0.5 or 0 a row; longer: length of chosen minus rejected; rows of equal length take no part. A scorer
    that looks at length alone gets 0.5. None unless both kinds of row are there.
    """
    sides = [longer > 0, longer < 0]
    if not all(side.any() for side in sides):
        return Estimate.missing("needs pairs whose longer response is right and pairs whose shorter one is")
    influence = np.zeros(len(correct))
    value = 0.0
    for side in sides:
        accuracy = float(correct[side].mean())
        value += accuracy / 2
        influence[side] = (correct[side] - accuracy) / side.sum() / 2
    used = longer != 0
    return linearised(value, influence[used], clusters[used])


# ---------------------------------------------------------------------------------------------------- correlation


def pearson(x: Floats, y: Floats) -> float | None:
    """Pearson's correlation, None where either is constant or there are fewer than two rows."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip(x @ y / math.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def spearman(x: Floats, y: Floats) -> float | None:
    """Spearman's rank correlation with averaged ranks for ties, None where either is constant."""
    return pearson(stats.rankdata(x), stats.rankdata(y))


def kendall(x: Floats, y: Floats) -> float | None:
    """Kendall's tau-b, None where either is constant."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(stats.kendalltau(x, y).statistic)


def partial_spearman(x: Floats, y: Floats, given: Floats) -> float | None:
    """Spearman's correlation of x and y with ``given`` held fixed: of what a linear fit on it leaves of their ranks."""
    x_y, x_g, y_g = spearman(x, y), spearman(x, given), spearman(y, given)
    if x_y is None or x_g is None or y_g is None or max(abs(x_g), abs(y_g)) > 1 - 1e-12:
        return None
    return (x_y - x_g * y_g) / math.sqrt((1 - x_g**2) * (1 - y_g**2))


# ---------------------------------------------------------------------------------------------------- right and wrong


def roc_auc(scores: Floats, right: Floats, clusters: Codes) -> Estimate:
    """P(a right response scores above a wrong one), ties half: the area under the ROC curve.

    right: 0 or 1. The interval is the clustered one of Obuchowski 1997 (structural components summed a cluster).
    """
    if not 0 < right.sum() < len(right):
        return Estimate.missing("needs both right and wrong responses", len(right))
    area, influence = _area(scores, right)
    return linearised(area, influence, clusters)


def roc_auc_difference(scores: Floats, other: Floats, right: Floats, clusters: Codes) -> Estimate:
    """AUC of the scores minus AUC of the others on the same rows, with a paired interval."""
    if not 0 < right.sum() < len(right):
        return Estimate.missing("needs both right and wrong responses", len(right))
    (area, influence), (other_area, other_influence) = _area(scores, right), _area(other, right)
    return linearised(area - other_area, influence - other_influence, clusters)


def _area(scores: Floats, right: Floats) -> tuple[float, Floats]:
    """The area and how far each row moves it."""
    is_right = right == 1
    n_right = int(is_right.sum())
    n_wrong = len(right) - n_right
    everywhere = stats.rankdata(scores)
    components = np.empty(len(scores))
    for side, n_others in ((is_right, n_wrong), (~is_right, n_right)):
        # of the other side: how many lie below, plus half of those equal
        components[side] = (everywhere[side] - stats.rankdata(scores[side])) / n_others
    components[~is_right] = 1 - components[~is_right]
    area = float(components[is_right].mean())
    return area, (components - area) / np.where(is_right, n_right, n_wrong)


# ---------------------------------------------------------------------------------------------------- rankings


def places(scores: Floats) -> tuple[Floats, Floats]:
    """For scores (n, K): how many in the row lie above each, and how many are equal to it (itself too)."""
    above = (scores[:, None, :] > scores[:, :, None]).sum(axis=2).astype(float)
    equal = (scores[:, None, :] == scores[:, :, None]).sum(axis=2).astype(float)
    return above, equal


def chosen_quality(scores: Floats, quality: Floats) -> Floats:
    """Quality of the highest-scored response, averaged over ties. scores, quality: (n, K); gives (n,).

    With quality 1 for the best responses and 0 for the others this is top-1 accuracy.
    """
    top = scores == scores.max(axis=1, keepdims=True)
    return np.asarray((quality * top).sum(axis=1) / top.sum(axis=1))


def above_all_others(scores: Floats, best: Floats) -> Floats:
    """1 where some best response scores strictly above every other one (RMB's best-of-N rule), else 0."""
    others = np.where(best == 1, -np.inf, scores).max(axis=1)
    return np.asarray(np.where(best == 1, scores, -np.inf).max(axis=1) > others, dtype=float)


def reciprocal_rank(scores: Floats, best: Floats) -> Floats:
    """1 / place of the first best response when sorted by score, averaged over the orders of ties; (n, K) to (n,)."""
    above, equal = places(scores)
    first = np.where(best == 1, scores, -np.inf).argmax(axis=1)
    rows = np.arange(len(scores))
    ahead, tied = above[rows, first].astype(int), equal[rows, first].astype(int)
    hits = ((scores == scores[rows, first][:, None]) & (best == 1)).sum(axis=1)
    triples, inverse = np.unique(np.stack([ahead, tied, hits], axis=1), axis=0, return_inverse=True)
    expected = np.array([_expected_reciprocal(int(a), int(t), int(h)) for a, t, h in triples])
    return np.asarray(expected[inverse.reshape(-1)])


def _expected_reciprocal(ahead: int, tied: int, hits: int) -> float:
    """E[1 / (ahead + j)], j being the first of ``hits`` marked places in a random order of ``tied``."""
    ways = math.comb(tied, hits)
    return sum(math.comb(tied - j, hits - 1) / ways / (ahead + j) for j in range(1, tied - hits + 2))


def ndcg(scores: Floats, relevance: Floats) -> Floats:
    """Normalised discounted cumulative gain, gain = relevance, discount 1 / log2(1 + place), ties averaged.

    scores, relevance (>= 0): (n, K); gives (n,), 0 where all relevance is 0. Järvelin & Kekäläinen 2002.
    """
    discount = 1 / np.log2(np.arange(2, scores.shape[1] + 2))
    total = np.concatenate([[0.0], np.cumsum(discount)])
    above, equal = places(scores)
    start, stop = above.astype(int), (above + equal).astype(int)
    gained = (relevance * (total[stop] - total[start]) / equal).sum(axis=1)
    ideal = (-np.sort(-relevance, axis=1) * discount).sum(axis=1)
    return np.asarray(np.divide(gained, ideal, out=np.zeros(len(gained)), where=ideal > 0))


def recovery(gain: Floats, possible: Floats, clusters: Codes) -> Estimate:
    """Share of a perfect choice's gain that choosing by score brings: (chosen - mean) / (best - mean).

    gain: quality of the chosen response minus the mean of its prompt, a prompt; possible: the same of the best one.
    A ratio of sums over prompts, so that a prompt with little to gain weighs little. 1 is perfect, 0 a random
    choice, below 0 worse than random. arXiv 2603.12520.
    """
    total = float(possible.sum())
    if total == 0:
        return Estimate.missing("no prompt has responses of different quality", len(gain))
    value = float(gain.sum()) / total
    return linearised(value, (gain - value * possible) / total, clusters)


def within_correlation(scores: Floats, quality: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Spearman's correlation inside each row of (n, K): those that exist, and which rows they are of.

    It does not exist where all scores, or all qualities, of the row are equal.
    """
    x, y = (stats.rankdata(values, axis=1) for values in (scores, quality))
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    norm = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    exists = norm > 0
    return np.asarray((x * y).sum(axis=1)[exists] / norm[exists]), exists


# ---------------------------------------------------------------------------------------------------- best of n


def best_of_n(scores: Floats, truth: Floats, most: int | None = None) -> Floats:
    """Expected truth of the highest-scored of n responses drawn without replacement, for n = 1 … most (default N).

    scores, truth: shape (N,). Unbiased over all subsets: with the responses sorted by score and i counted from 0,
    sum over i of C(i, n-1) truth_i / C(N, n); ties are averaged. Gives shape (most,). Equal to pass@n when the scores
    are the (binary) truth itself: 1 - C(N-c, n) / C(N, n) (Chen et al. 2021).

    >>> round(float(best_of_n(np.array([.1, .4, .3, .9]), np.array([0., 1., 0., 1.]))[1]), 7)
    0.8333333
    """
    total = len(scores)
    _, level, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    by_level = np.bincount(level, weights=truth) / sizes
    n = np.arange(1, (total if most is None else min(most, total)) + 1)
    # P(the best of n lies at or below a level) = C(m, n) / C(N, n), m responses being at or below it
    below = np.concatenate([[0], np.cumsum(sizes)])[:, None]
    with np.errstate(invalid="ignore"):
        log_share = _log_choose(below, n) - _log_choose(np.array(total), n)
    reached = np.where(below >= n, np.exp(log_share), 0.0)
    return np.asarray(by_level @ np.diff(reached, axis=0))


def _log_choose(n: Floats | Codes, k: Floats | Codes) -> Floats:
    n = np.asarray(n, dtype=float)
    return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(np.maximum(n - k, 0) + 1))


def best_of_first(scores: Floats, truth: Floats, most: int | None = None) -> Floats:
    """Truth of the highest-scored of the first k responses in the order drawn, k = 1 … most, ties averaged (as PPE).

    >>> best_of_first(np.array([.2, .9, .5, .7]), np.array([1., 0., 1., 1.])).tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    scores, truth = scores[:most], truth[:most]
    best = np.maximum.accumulate(scores)
    starts = np.concatenate([[True], best[1:] > best[:-1]])
    # running sums over the responses that hold the best score so far, restarted whenever it is beaten
    holds = scores == best
    sums, counts = np.cumsum(np.where(holds, truth, 0.0)), np.cumsum(holds)
    base = np.maximum.accumulate(np.where(starts, np.arange(len(scores)), 0))
    before_sum = np.where(base > 0, sums[base - 1], 0.0)
    before_count = np.where(base > 0, counts[base - 1], 0)
    return np.asarray((sums - before_sum) / (counts - before_count))


def best_of_n_kl(n: Floats) -> Floats:
    """KL of best-of-n from the policy it samples, in nats: log n - (n-1)/n, an upper bound for discrete policies.

    >>> best_of_n_kl(np.array([1., 4., 16.])).round(7).tolist()
    [0.0, 0.6362944, 1.8350887]
    """
    return np.asarray(np.log(n) - (n - 1) / n)


def overoptimisation(kl: Floats, gain: Floats) -> tuple[float, float] | None:
    """a and b of the least-squares fit gain = d (a - b d), d = sqrt(KL); None with fewer than three points beyond 0.

    The peak lies at d = a / (2 b) when both are positive. Gao, Schulman & Hilton 2022, eq. for best-of-n.
    """
    d = np.sqrt(kl)
    if np.count_nonzero(d) < 3:
        return None
    (a, b), *_ = np.linalg.lstsq(np.stack([d, -d * d], axis=1), gain, rcond=None)
    return float(a), float(b)

"""All that is said of labelled pairs: those of a file, and those that follow from a ranking or from right and wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from guerdon.rewards.evaluation._numeric import Codes, Floats, np
from guerdon.rewards.evaluation.intervals import Estimate, mean, share
from guerdon.rewards.evaluation.metrics import correctness, length_balanced, partial_spearman, spearman
from guerdon.rewards.evaluation.probabilities import (
    brier,
    brier_parts,
    calibration_error,
    cross_fit,
    debiased_squared_error,
    equal_mass,
    equal_width,
    fit_inverse_temperature,
    fold,
    log_loss,
    pair_log_loss,
    reliability_table,
    worst_calibration_error,
)
from guerdon.rewards.report import Calibration, Histogram, LengthBias, LengthBin, Pairs, Probabilities

BINS = 10
FOLDS = 5
RATIOS = (0.5, 0.8, 1.0, 1.25, 2.0)  # edges of chosen length / rejected length


@dataclass(frozen=True, slots=True)
class PairData:
    """Pairs as arrays (n,). margins: score of chosen minus rejected, finite. label: P(chosen is better), >= 0.5."""

    margins: Floats
    chosen_length: Floats
    rejected_length: Floats
    label: Floats
    weight: Floats
    clusters: Codes


def pair_figures(data: PairData, *, scale: str, temperature: float | None, seed: int) -> Pairs | None:
    """All figures of the pairs, None without a pair. scale, temperature: the scorer's own."""
    n = len(data.margins)
    if not n:
        return None
    correct = correctness(data.margins)
    tied = data.margins == 0
    weighted = None if np.ptp(data.weight) == 0 else float(np.average(correct, weights=data.weight))
    return Pairs(
        pairs=n,
        accuracy=share(correct, data.clusters),
        strict=float((data.margins > 0).mean()),
        weighted=weighted,
        tie_rate=float(tied.mean()),
        length=_length_bias(data, correct),
        calibration=_calibration(data, scale, temperature, seed),
        margins=_histogram(data.margins),
    )


def _length_bias(data: PairData, correct: Floats) -> LengthBias:
    longer = data.chosen_length - data.rejected_length
    # both orders of every pair, so that "which side is right" can be held fixed rather than built in
    margins, lengths, label = (np.concatenate([v, -v]) for v in (data.margins, longer, np.ones(len(longer))))
    ratio = np.maximum(data.chosen_length, 1) / np.maximum(data.rejected_length, 1)
    edges: list[float | None] = [None, *RATIOS, None]
    bins = []
    for low, high in pairwise(edges):
        # closed away from 1, so that a bin never holds both longer and shorter; equal lengths are in none
        above = ratio > (low or 0.0) if (low or 0.0) >= 1 else ratio >= (low or 0.0)
        below = ratio < high if high is not None and high <= 1 else ratio <= (high or np.inf)
        rows = above & below & (longer != 0)
        bins.append(LengthBin(low, high, share(correct[rows], data.clusters[rows])))
    return LengthBias(
        longer_right=share(correct[longer > 0], data.clusters[longer > 0]),
        shorter_right=share(correct[longer < 0], data.clusters[longer < 0]),
        balanced=length_balanced(correct, longer, data.clusters),
        equal_length=int((longer == 0).sum()),
        spearman=_correlation(spearman(data.margins, longer), len(longer)),
        spearman_both_orders=_correlation(spearman(margins, lengths), len(longer)),
        partial_spearman=_correlation(partial_spearman(margins, lengths, label), len(longer)),
        bins=tuple(bins),
    )


def _correlation(value: float | None, n: int) -> Estimate:
    if value is None:
        return Estimate.missing("all margins or all length differences are equal, or the label fixes one of them", n)
    return Estimate(value, n=n)


def _calibration(data: PairData, scale: str, temperature: float | None, seed: int) -> Calibration:
    reasons = []
    as_given = declared = fitted = None
    if scale == "logit":
        as_given = pair_probabilities("as given", data.margins, data, None)
    else:
        reasons.append(f"as given: scores on the scale {scale!r} are no log-odds, so a temperature is fitted first")
    if temperature is not None:
        name = "with the scorer's own temperature"
        declared = pair_probabilities(name, data.margins / temperature, data, temperature)
    inverse = fit_inverse_temperature(data.margins, data.label)
    if inverse is None:
        overall = Estimate.missing("every margin is 0", len(data.margins))
    elif inverse == 0:
        overall = Estimate.missing("the margins are against the labels on average: no temperature beats a coin")
    else:
        overall = Estimate(1 / inverse, n=len(data.margins))
    scaled = cross_fit(data.margins, data.clusters, data.label, folds=FOLDS, seed=seed)
    if scaled is None:
        reasons.append("temperature fitted on other prompts: there is only one prompt")
    else:
        name = "temperature fitted on other prompts"
        fitted = pair_probabilities(name, scaled, data, overall.value)
    return Calibration(overall, as_given, declared, fitted, tuple(reasons))


def pair_probabilities(name: str, log_odds: Floats, data: PairData, temperature: float | None) -> Probabilities:
    """P(chosen wins) = sigma(log-odds), judged on folded pairs (probabilities.py says why)."""
    confidence, right = fold(log_odds, data.label)
    losses = pair_log_loss(log_odds, data.label)
    base = judge(name, confidence, right, data.clusters, low=0.5, base_rate=0.5)
    # from the log-odds, which are exact where the probability has rounded to 0
    return replace(base, temperature=temperature, log_loss=mean(losses, data.clusters))


def judge(
    name: str, p: Floats, y: Floats, clusters: Codes, *, low: float = 0.0, base_rate: float | None = None
) -> Probabilities:
    """Log-loss, Brier, its parts, calibration errors and the reliability table of p against y. low: where p starts."""
    width = reliability_table(p, y, equal_width(BINS, low))
    mass = reliability_table(p, y, equal_mass(p, BINS))
    squared = brier(p, y)
    return Probabilities(
        name=name,
        temperature=None,
        log_loss=mean(log_loss(p, y), clusters),
        brier=mean(squared, clusters),
        parts=brier_parts(float(squared.mean()), width, base_rate),
        ece_width=calibration_error(width),
        ece_mass=calibration_error(mass),
        ece_debiased=float(np.sqrt(max(0.0, debiased_squared_error(width)))),
        mce=worst_calibration_error(width),
        table=width,
    )


def _histogram(margins: Floats) -> Histogram | None:
    size = np.abs(margins)
    top = float(np.quantile(size, 0.98)) or float(size.max())  # a few huge margins must not flatten the rest
    if top == 0:
        return None
    edges = np.linspace(0, top, 25)
    right, wrong = (np.histogram(size[side], edges)[0] for side in (margins > 0, margins < 0))
    beyond = int((size > top).sum())
    return Histogram(tuple(map(float, edges)), tuple(map(int, right)), tuple(map(int, wrong)), beyond)

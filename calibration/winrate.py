"""Length-controlled win rate: how often a model would beat a baseline if its answers were as long as the baseline's.

A judge's preference for each instruction is modelled as sigma(theta + phi tanh(d / std d) + psi gamma): theta how much
better the model is, d how much longer its answer is, gamma how hard the instruction is. The win rate is the mean
prediction at d = 0. Dubois et al. 2024, arXiv 2404.04475 (AlpacaEval 2). Differences from it, all ours: theta is not
penalised, so that without an effect of length the raw win rate comes out exactly; intervals are analytic and
clustered by instruction; no parity with its leaderboard is claimed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from guerdon.calibration._arrays import Codes, Floats, floats, group_codes, np
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation.intervals import Estimate, folds_of, linearised, share

FEWEST = 20
PENALTIES = tuple(float(value) for value in np.geomspace(1e-4, 1e-1, 7))
"""Weights of the L1 term a row, tried by cross-validation."""
FOLDS = 5
GAMED_WEIGHT = 0.2
FAR, FAR_SHARE = 0.10, 0.25
"""Raw and controlled rates that differ by more than ten points and by a quarter of the raw rate's way to 0 or 1."""


@dataclass(frozen=True, slots=True)
class LengthControlled:
    """A model's win rates against a baseline, and the model of the judge behind them.

    win_rate: at equal lengths; raw: as judged. theta, phi, psi: in logits; phi is the judge's pull towards length a
    standard deviation of it. spread: that standard deviation, 0 if all answers are as long as the baseline's.
    penalty: of the L1 term, by cross-validation. warning: why the two rates should be looked into, or "".
    """

    win_rate: Estimate
    raw: Estimate
    theta: float
    phi: float
    psi: float
    spread: float
    penalty: float
    warning: str


def judged(
    theta: float, phi: float, difference: Floats, *, psi: float = 0.0, difficulty: Floats | float = 0.0
) -> Floats:
    """The modelled preference. difference: lengths' difference in standard deviations, any shape.

    >>> judged(0.4, 0.8, np.array([0.0, 1.0])).round(7).tolist()
    [0.5986877, 0.7328783]
    """
    return _sigmoid(theta + phi * np.tanh(difference) + psi * np.asarray(difficulty, dtype=np.float64))


def length_controlled(
    preference: Floats,
    difference: Floats,
    *,
    difficulty: Floats | None = None,
    gamed: tuple[Floats, Floats] | None = None,
    clusters: Sequence[Hashable] | Codes | None = None,
    seed: int = 0,
) -> LengthControlled:
    """The win rate with length held equal. preference: (n,), P(the model's answer is better) in [0, 1], a judge's or a
    vote's. difference: (n,), length of the model's answer minus that of the baseline's.

    difficulty: (n,), of each instruction, from ``instruction_difficulty``; None leaves it out. gamed: preferences and
    differences of copies of the baseline that were only told to be brief or wordy: they tell phi apart from quality
    (theta is 0 for them) and weigh 0.2 a row. clusters: ids of instructions, for the interval; None is each row alone.
    Raises UsageError for fewer than 20 rows, values out of range or shapes that differ.
    """
    y, d = _checked(preference, difference, "preference", "difference")
    if len(y) < FEWEST:
        raise UsageError(
            f"{len(y)} preferences; a length-controlled win rate needs {FEWEST}, and some hundred to mean much"
        )
    gamma = np.zeros(len(y)) if difficulty is None else floats(difficulty, "difficulty")
    if gamma.shape != y.shape or np.isnan(gamma).any():
        raise UsageError(f"difficulty must hold a number for each of the {len(y)} preferences")
    codes = np.arange(len(y)) if clusters is None else group_codes(clusters, len(y))
    spread = float(d.std())
    unit = spread if spread > 0 else 1.0
    rows = np.column_stack([np.ones(len(y)), np.tanh(d / unit), gamma])
    targets, weights, places = y, np.ones(len(y)), codes
    if gamed is not None:
        copies, longer = _checked(*gamed, "gamed preferences", "gamed differences")
        extra = np.column_stack([np.zeros(len(copies)), np.tanh(longer / unit), np.zeros(len(copies))])
        rows, targets = np.vstack([rows, extra]), np.concatenate([y, copies])
        weights = np.concatenate([weights, np.full(len(copies), GAMED_WEIGHT)])
        places = np.concatenate([codes, codes.max() + 1 + np.arange(len(copies))])
    penalty = _best_penalty(rows, targets, weights, places, seed)
    beta = _fit(rows, targets, weights, penalty)
    theta, phi, psi = (float(value) for value in beta)
    at_equal_length = np.column_stack([np.ones(len(y)), np.zeros(len(y)), gamma])
    controlled = float(_sigmoid(at_equal_length @ beta).mean())
    influence = _influence(beta, rows, targets, weights, at_equal_length)
    return LengthControlled(
        _inside(linearised(controlled, influence, places)),
        share(y, codes),
        theta,
        phi,
        psi,
        spread,
        penalty,
        _warning(controlled, float(y.mean())),
    )


def instruction_difficulty(preferences: Floats, *, ridge: float = 1.0) -> Floats:
    """How favourable each instruction is to a challenger of the baseline, (n,), mean 0, in logits.

    preferences: (models, n), P(the model beats the baseline), NaN where it was not judged. A joint fit of
    sigma(theta_model + gamma_instruction) with a ridge on gamma; needs two models, the more the better.
    """
    y = floats(preferences, "preferences")
    if y.ndim != 2 or len(y) < 2:
        raise UsageError(f"preferences must have shape (models, n) with two models or more, got {y.shape}")
    if np.nanmin(y) < 0 or np.nanmax(y) > 1:
        raise UsageError("preferences must lie in [0, 1]")
    if not ridge > 0:
        raise UsageError(f"ridge must be above 0, got {ridge!r}")
    known = np.isfinite(y)
    y = np.where(known, y, 0.0)
    theta, gamma = np.zeros(len(y)), np.zeros(y.shape[1])
    for _ in range(100):
        before = gamma.copy()
        # one Newton step a side in turn; each side's problem is separable. 1e-3 keeps a model that always wins finite
        for axis in (1, 0):
            p = _sigmoid(theta[:, None] + gamma[None, :])
            slope = (known * (y - p)).sum(axis=axis)
            bend = (known * p * (1 - p)).sum(axis=axis)
            if axis == 1:
                theta = theta + np.clip((slope - 1e-3 * theta) / (bend + 1e-3), -1, 1)
            else:
                gamma = gamma + np.clip((slope - ridge * gamma) / (bend + ridge), -1, 1)
        if np.abs(gamma - before).max(initial=0.0) < 1e-9:
            break
    return np.asarray(gamma - gamma.mean())


def _checked(preference: Floats, difference: Floats, *names: str) -> tuple[Floats, Floats]:
    y, d = floats(preference, names[0]), floats(difference, names[1])
    if y.ndim != 1 or y.shape != d.shape:
        raise UsageError(f"{names[0]} and {names[1]} must both have shape (n,), got {y.shape} and {d.shape}")
    if np.isnan(y).any() or np.isnan(d).any():
        raise UsageError(f"{names[0]} and {names[1]} must have no missing values; leave such rows out")
    if len(y) and (y.min() < 0 or y.max() > 1):
        raise UsageError(f"{names[0]} must lie in [0, 1], got {y.min():g} to {y.max():g}")
    return y, d


def _fit(rows: Floats, targets: Floats, weights: Floats, penalty: float) -> Floats:
    """Logistic regression on soft labels with an L1 term on all but the first weight, by proximal Newton steps.

    Minimises the weighted mean log-loss + penalty * (|phi| + |psi|). A ridge of 1e-6 keeps separable data finite.
    """
    beta = np.zeros(rows.shape[1])
    price = np.array([0.0, *[penalty] * (rows.shape[1] - 1)])
    mass = weights / weights.sum()
    loss = _objective(beta, rows, targets, mass, price)
    for _ in range(100):
        p = _sigmoid(rows @ beta)
        slope = rows.T @ (mass * (p - targets)) + 1e-6 * beta
        bend = (rows * (mass * p * (1 - p))[:, None]).T @ rows + 1e-6 * np.eye(len(beta))
        step = _lasso_step(beta, slope, bend, price) - beta
        size = 1.0
        while size > 1e-6:  # halve until the loss falls
            candidate = beta + size * step
            new = _objective(candidate, rows, targets, mass, price)
            if new <= loss:
                break
            size /= 2
        else:
            break
        done = float(np.abs(size * step).max()) < 1e-10
        beta, loss = candidate, new
        if done:
            break
    return beta


def _lasso_step(beta: Floats, slope: Floats, bend: Floats, price: Floats) -> Floats:
    """The minimum of the quadratic model with its L1 term, by coordinate descent (three coordinates)."""
    new = beta.copy()
    for _ in range(200):
        last = new.copy()
        for j in range(len(new)):
            gradient = slope[j] + bend[j] @ (new - beta)
            target = new[j] - gradient / bend[j, j]
            new[j] = np.sign(target) * max(0.0, abs(target) - price[j] / bend[j, j])
        if float(np.abs(new - last).max()) < 1e-13:
            break
    return new


def _objective(beta: Floats, rows: Floats, targets: Floats, mass: Floats, price: Floats) -> float:
    return float(mass @ _losses(beta, rows, targets) + price @ np.abs(beta) + 5e-7 * beta @ beta)


def _losses(beta: Floats, rows: Floats, targets: Floats) -> Floats:
    z = rows @ beta
    return np.asarray(np.logaddexp(0.0, z) - targets * z)


def _best_penalty(rows: Floats, targets: Floats, weights: Floats, places: Codes, seed: int) -> float:
    """The penalty with the lowest held-out log-loss; whole instructions are held out."""
    folds = folds_of(places, FOLDS, seed)
    if folds is None:
        return PENALTIES[0]
    totals = np.zeros(len(PENALTIES))
    for fold in range(int(folds.max()) + 1):
        out = folds == fold
        for i, penalty in enumerate(PENALTIES):
            beta = _fit(rows[~out], targets[~out], weights[~out], penalty)
            totals[i] += float(weights[out] @ _losses(beta, rows[out], targets[out]))
    return PENALTIES[int(totals.argmin())]


def _influence(beta: Floats, rows: Floats, targets: Floats, weights: Floats, at_equal_length: Floats) -> Floats:
    """How far each row moves the mean prediction at equal lengths, to first order: its own instruction's part, and its
    pull on the weights. Weights that the L1 term set to 0 are taken to stay there."""
    p, equal = _sigmoid(rows @ beta), _sigmoid(at_equal_length @ beta)
    active = np.flatnonzero((beta != 0) | (np.arange(len(beta)) == 0))
    bend = (rows * (weights * p * (1 - p))[:, None]).T @ rows + 1e-6 * weights.sum() * np.eye(len(beta))
    slope = (at_equal_length * (equal * (1 - equal))[:, None]).mean(axis=0)
    reach = np.linalg.solve(bend[np.ix_(active, active)], slope[active])
    influence = (rows[:, active] * (weights * (targets - p))[:, None]) @ reach
    influence[: len(equal)] += (equal - equal.mean()) / len(equal)
    return np.asarray(influence)


def _inside(figure: Estimate) -> Estimate:
    """The interval of a rate cut to [0, 1]."""
    if figure.low is None or figure.high is None:
        return figure
    return replace(figure, low=max(0.0, figure.low), high=min(1.0, figure.high))


def _warning(controlled: float, raw: float) -> str:
    moved = abs(controlled - raw)
    if moved <= FAR or moved <= FAR_SHARE * min(raw, 1 - raw):
        return ""
    return (
        f"length control moves the win rate from {raw:.3f} to {controlled:.3f}: most of what the judge saw was length, "
        "or lengths and quality go together too closely to be told apart; look at the answers"
    )


def _sigmoid(z: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)))

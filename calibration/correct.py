"""Verdicts with known error rates, turned into rewards whose mean is that of the truth.

A verifier says R in {0, 1} where the truth is R* in {0, 1}: E[R | R*] = c R* + p0, with p0 = P(1 | wrong), the false
positive rate, p1 = P(0 | right), the false negative rate, and c = 1 - p0 - p1, the strength of the channel. Two
corrections undo it in expectation (Reinforcement Learning with Verifiable yet Noisy Rewards under Imperfect
Verifiers, 2025, https://arxiv.org/abs/2510.00915; there PGBC and PGFC):

    backward   (R - p0) / c          E[. | R*] = R*; a reward
    forward    (R - (1 - p1)) / s    E[. | R* = 1] = 0, E[. | R* = 0] = -c / s; a coefficient, used without a baseline

With s = c they are one line apart, ``forward = backward - 1``: the difference is a baseline and a scale.

Know before you use them: with one pair of rates both are affine in R, and a trainer that standardises inside the
group (GRPO) undoes any affine map exactly. Only rates that differ between strata change what is learned;
``guerdon.calibration.effect`` says for your batch and your trainer whether anything changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from guerdon.calibration._arrays import Floats, floats, np, npt
from guerdon.calibration.rates import Channel, NoiseRates
from guerdon.rewards.errors import UsageError

Mode: TypeAlias = Literal["backward", "forward"]
Uninformative: TypeAlias = Literal["raise", "mask"]
"""What a channel no better than chance does: refuse by name, or give NaN (unscored) for its verdicts."""
ForwardScale: TypeAlias = Literal["strength", "recall", "one"]
"""What the forward weight is divided by: c, 1 - p1, or nothing."""

MODES: tuple[str, ...] = get_args(Mode)
FLOOR = 0.2
"""The least strength that is divided by: the variance grows with 1 / c^2, to 25-fold at 0.2."""

_CHANCE = 1e-12  # 1 - 0.7 - 0.3 is 5.6e-17 in floating point: a coin, not a weak verifier


def backward(
    verdicts: npt.ArrayLike,
    false_positive: npt.ArrayLike,
    false_negative: npt.ArrayLike,
    *,
    floor: float = FLOOR,
    uninformative: Uninformative = "raise",
) -> Floats:
    """The reward (R - p0) / max(c, floor), unbiased for the truth wherever c >= floor (methods C1.2, PGBC).

    verdicts: any shape, 0 or 1; NaN is unscored and stays NaN. false_positive, false_negative: P(1 | wrong) and
    P(0 | right) in [0, 1], numbers or one for each verdict (rates of its stratum); shapes broadcast. Returns float64
    on the scale real, a new array: 1 on average for right responses, 0 for wrong ones, with variance Var(R) / c^2.
    floor: trades bias for variance: below it the difference between right and wrong shrinks by c / floor.
    Rates with c <= 0 raise UsageError, or give NaN with uninformative="mask".

    >>> backward([1, 0], 0.1, 0.2).round(7).tolist()
    [1.2857143, -0.1428571]
    """
    observed, p0, _, strength = _channel(verdicts, false_positive, false_negative, floor, uninformative)
    corrected: Floats = (observed - p0) / strength
    return corrected


def forward(
    verdicts: npt.ArrayLike,
    false_positive: npt.ArrayLike,
    false_negative: npt.ArrayLike,
    *,
    scale: ForwardScale = "strength",
    floor: float = FLOOR,
    uninformative: Uninformative = "raise",
) -> Floats:
    """The coefficient (R - (1 - p1)) / s: 0 on average for right responses, -c / s for wrong ones (methods C1.3, PGFC).

    Arguments as for ``backward``. scale: s is max(c, floor) ("strength"), 1 - p1 ("recall") or 1 ("one"). Where rates
    differ between strata only "strength" weighs the strata alike; the others turn the direction of the update.
    Multiply the score function by it as it is: a baseline cancels the constant and gives the noisy update back, which
    is also why it is no reward. With "strength" it equals ``backward(...) - 1`` wherever c >= floor.

    >>> forward([1, 1, 0, 1], 0.1, 0.2, scale="one").round(7).tolist()
    [0.2, 0.2, -0.8, 0.2]
    """
    if scale not in get_args(ForwardScale):
        raise UsageError(f"scale must be one of {', '.join(get_args(ForwardScale))}; got {scale!r}")
    observed, _, p1, strength = _channel(verdicts, false_positive, false_negative, floor, uninformative)
    weight: Floats = observed - (1.0 - p1)
    if scale == "strength":
        return weight / strength
    return weight / (1.0 - p1) if scale == "recall" else weight


def prevalence(verdicts: npt.ArrayLike, false_positive: npt.ArrayLike, false_negative: npt.ArrayLike) -> float:
    """The share of right responses behind noisy verdicts, in [0, 1]: clip((mean R - p0) / c) (methods C1.1).

    Rogan & Gladen 1978. Arguments as for ``backward``; with rates by stratum it is the mean over all, clipped once.
    Unscored verdicts are left out; UsageError if none is left or a channel has c <= 0.

    >>> round(prevalence([1, 1, 0, 1], 0.1, 0.2), 7)
    0.9285714
    """
    values = backward(verdicts, false_positive, false_negative, floor=0.0)
    scored = values[~np.isnan(values)]
    if not scored.size:
        raise UsageError("no verdict is scored, so there is no share of right responses to estimate")
    return float(np.clip(scored.mean(), 0.0, 1.0))


def correct(
    verdicts: npt.ArrayLike,
    rates: NoiseRates,
    strata: Sequence[str] | None = None,
    *,
    mode: Mode = "backward",
    floor: float = FLOOR,
    uninformative: Uninformative = "raise",
) -> Floats:
    """Verdicts corrected with audited rates, each by its stratum's (methods C1.4): ``backward`` or ``forward``.

    verdicts: shape (n,), 0, 1 or NaN. strata: n keys, as the function of ``rates.stratum`` names them; None: all of
    the root stratum. A stratum without rates of its own takes its longest audited prefix's. Scale of forward: c.
    A stratum in use is refused, by name, if its strength or the lower end of its strength's interval is <= 0;
    uninformative="mask" gives NaN for its verdicts instead.
    """
    observed = floats(verdicts, "verdicts")
    if observed.ndim != 1:
        raise UsageError(f"verdicts must be one-dimensional when strata name them, got shape {observed.shape}")
    keys = [""] * len(observed) if strata is None else strata
    if len(keys) != len(observed):
        raise UsageError(f"{len(observed)} verdicts but {len(keys)} strata; give each verdict the key of its stratum")
    function = {"backward": backward, "forward": forward}.get(mode)
    if function is None:
        raise UsageError(f"mode must be one of {', '.join(MODES)}; got {mode!r}")
    _one_of(uninformative, "uninformative", get_args(Uninformative))
    codes: dict[str, int] = {}
    row = np.array([codes.setdefault(key, len(codes)) for key in keys], dtype=np.intp)
    refused = [why_uninformative(key, rates) for key in codes]
    if any(refused) and uninformative == "raise":
        findings = "\n".join(sorted(filter(None, refused)))
        raise UsageError(
            f"{findings}\nAudit more there or mend the verifier; uninformative='mask' leaves such verdicts unscored"
        )
    masked = np.array([bool(reason) for reason in refused], dtype=bool)
    p0, p1 = (np.where(masked, 0.0, rate)[row] for rate in rates.arrays(list(codes)))
    return function(np.where(masked[row], np.nan, observed), p0, p1, floor=floor)


def why_uninformative(key: str, rates: NoiseRates) -> str:
    """Why the verdicts of a stratum say nothing of the truth, in a sentence; "" if they do.

    They say nothing if the strength is <= 0, and may say nothing if its interval reaches down to 0: then the sign of
    the correction itself is not known (methods C1.2).
    """
    channel = rates.channel(key)
    if not is_uninformative(channel):
        return ""
    interval = channel.strength_interval
    shown = "" if interval is None else f", {100 * rates.confidence:g} % interval {interval}"
    return (
        f"stratum {key or '(all)'!r:.200}: its verdicts are not known to be better than chance: strength "
        f"{channel.strength:.3f}{shown}, from {channel.n_audited} labels"
    )


def is_uninformative(channel: Channel) -> bool:
    interval = channel.strength_interval
    return channel.strength <= _CHANCE or (interval is not None and interval.low <= 0)


def _channel(
    verdicts: npt.ArrayLike,
    false_positive: npt.ArrayLike,
    false_negative: npt.ArrayLike,
    floor: float,
    uninformative: Uninformative,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Verdicts (NaN where masked), p0, p1 and the strength to divide by, all checked."""
    _one_of(uninformative, "uninformative", get_args(Uninformative))
    if isinstance(floor, bool) or not isinstance(floor, (int, float)) or not 0.0 <= floor <= 1.0:
        raise UsageError(f"floor must be a number in [0, 1], got {floor!r}; usual is {FLOOR}")
    observed = floats(verdicts, "verdicts")
    wrong = ~((observed == 0.0) | (observed == 1.0) | np.isnan(observed))
    if wrong.any():
        raise UsageError(f"verdicts must be 0, 1 or NaN (unscored), got {observed[wrong].flat[0]}")
    p0, p1 = _rate(false_positive, "false_positive"), _rate(false_negative, "false_negative")
    strength = 1.0 - p0 - p1
    try:
        np.broadcast_shapes(observed.shape, strength.shape)
    except ValueError:
        raise UsageError(
            f"rates of shape {strength.shape} do not fit verdicts of shape {observed.shape}; give one rate, or one for "
            "each verdict"
        ) from None
    chance = strength <= _CHANCE
    if chance.any():
        if uninformative == "raise":
            at = int(np.argmax(chance))
            pair = np.broadcast_arrays(p0, p1)
            raise UsageError(
                f"a verdict with false_positive {pair[0].flat[at]:g} and false_negative {pair[1].flat[at]:g} (strength "
                f"{strength.flat[at]:g}) is no better than chance and cannot be corrected; leave it out, or pass "
                "uninformative='mask' to get NaN"
            )
        observed, strength = np.where(chance, np.nan, observed), np.where(chance, 1.0, strength)
    return observed, p0, p1, np.maximum(strength, floor)


def _rate(values: npt.ArrayLike, name: str) -> Floats:
    rate = floats(values, name)
    out = ~((rate >= 0.0) & (rate <= 1.0))
    if out.any():
        raise UsageError(f"{name} must lie in [0, 1], got {rate[out].flat[0]}")
    return rate


def _one_of(value: str, name: str, words: tuple[str, ...]) -> None:
    if value not in words:
        raise UsageError(f"{name} must be one of {', '.join(words)}; got {value!r}")

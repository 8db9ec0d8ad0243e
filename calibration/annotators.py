"""Error rates of verifiers (or people) from their votes alone, when nobody knows the truth: Dawid & Skene 1979.

It rests on one assumption: given the truth, votes are independent. Verifiers that copy each other, or fail on the same
responses, break it, and then the fit believes the copies: their rates come out far too good and the honest ones' too
bad. So a fit is checked: how much more do two voters agree than the fitted model says they should? Above 0.2 the rates
are not published. Which voters are to blame the check cannot tell (often it points at the honest ones); pool those that
share code, data or a model with ``clusters=`` and fit again.

Three voters fit any pattern of agreement exactly: the check is silent then, and the rates rest on trust.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.calibration.rates import Channel
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import Floats, np

SMOOTHING = 0.01
MOST_CORRELATION = 0.2
FEWEST_VOTERS, FEWEST_FOR_CHECK = 3, 4


@dataclass(frozen=True, slots=True)
class VoteModel:
    """What votes say of the truth and of the voters, if these err independently.

    posterior: (n,), P(right | votes). prevalence: P(right). false_positive, false_negative: (m,), of each voter (of
    each cluster, if some were pooled, in the place of its first member). log_likelihood: after each step.
    excess: (m, m), correlation of two voters given the truth that the model leaves unexplained, about 0 when it is
    right, NaN where too few rows have both votes. swapped: the solution calls wrong what is right, as voters that err
    more than they hit do.
    """

    posterior: Floats
    prevalence: float
    false_positive: Floats
    false_negative: Floats
    log_likelihood: tuple[float, ...]
    excess: Floats
    swapped: bool

    @property
    def largest_excess(self) -> float | None:
        """The largest unexplained correlation of a pair; None with three voters, which explain any."""
        off = self.excess[~np.eye(len(self.excess), dtype=bool)]
        if len(self.excess) < FEWEST_FOR_CHECK or not np.isfinite(off).any():
            return None
        return float(np.nanmax(np.abs(off)))

    def channels(self, *, most_correlation: float = MOST_CORRELATION) -> tuple[Channel, ...]:
        """The voters' rates. Raises UsageError where they are not to be published: dependent voters, swapped labels."""
        if self.swapped:
            raise UsageError(
                "the voters are wrong more often than right in this solution, so right and wrong may be swapped; "
                "leave out voters that are worse than chance, or audit some samples"
            )
        worst = self.largest_excess
        if worst is not None and worst > most_correlation:
            raise UsageError(
                f"two voters agree more than independent ones would (unexplained correlation {worst:.2f}, above "
                f"{most_correlation:g}), so these rates would be wrong; pool dependent voters with clusters=, or audit"
            )
        rates = zip(self.false_positive.tolist(), self.false_negative.tolist(), strict=True)
        return tuple(Channel(fp, fn) for fp, fn in rates)


def dawid_skene(
    votes: Floats,
    *,
    clusters: Sequence[Sequence[int]] = (),
    smoothing: float = SMOOTHING,
    tolerance: float = 1e-10,
    most_steps: int = 500,
) -> VoteModel:
    """Fit the model to votes (n, m) of 0, 1 and NaN (no vote) by expectation maximisation, from the mean vote.

    clusters: sets of voters (columns) that are not independent; each is pooled into one voter, its majority, no vote
    where it is split. smoothing: counts added to both sides of every rate, >= 0; 0 is the plain maximum likelihood.
    Stops when the log-likelihood moves by less than ``tolerance`` or after ``most_steps``.
    Raises UsageError for fewer than three voters (after pooling), rows or voters without a vote, other values.

    >>> rows = np.array([[int(v) for v in row] for row in "111 110 101 000 001 000 111 010".split()], dtype=float)
    >>> dawid_skene(rows).false_positive.round(6).tolist()
    [0.005577, 0.251559, 0.251559]
    """
    given = _pooled(_checked(votes), clusters)
    if given.shape[1] < FEWEST_VOTERS:
        raise UsageError(f"{given.shape[1]} independent voters cannot be told apart; three are the least")
    if not 0 <= smoothing < np.inf:
        raise UsageError(f"smoothing must be finite and >= 0, got {smoothing!r}")
    seen = ~np.isnan(given)
    if not seen.any(axis=0).all() or not seen.any(axis=1).all():
        raise UsageError("every row and every voter needs at least one vote; leave the empty ones out")
    yes = np.where(seen, given, 0.0)
    no = seen - yes
    posterior = yes.sum(axis=1) / seen.sum(axis=1)
    history: list[float] = []
    for _ in range(most_steps):
        prevalence = _share(posterior.sum(), len(posterior), smoothing)
        hit = _share(posterior @ yes, posterior @ seen, smoothing)
        false = _share((1 - posterior) @ yes, (1 - posterior) @ seen, smoothing)
        right = _log(prevalence) + yes @ _log(hit) + no @ _log(1 - hit)
        wrong = _log(1 - prevalence) + yes @ _log(false) + no @ _log(1 - false)
        total = np.logaddexp(right, wrong)
        posterior = np.exp(right - total)
        history.append(float(total.sum()))
        if len(history) > 1 and abs(history[-1] - history[-2]) < tolerance:
            break
    return VoteModel(
        posterior,
        float(prevalence),
        false,
        1 - hit,
        tuple(history),
        _excess(yes, seen, float(prevalence), hit, false),
        bool((hit - false).mean() < 0),
    )


def _checked(votes: Any) -> Floats:
    given = np.asarray(votes, dtype=float)
    if given.ndim != 2 or 0 in given.shape:
        raise UsageError(f"votes must have shape (n, m), rows by voters, got {given.shape}")
    if not (np.isnan(given) | (given == 0) | (given == 1)).all():
        raise UsageError("votes must be 0, 1, or NaN where there is none")
    return given


def _pooled(votes: Floats, clusters: Sequence[Sequence[int]]) -> Floats:
    """One column a cluster, in the place of its first member: the majority's vote, NaN where it is split or silent."""
    m = votes.shape[1]
    named = [voter for cluster in clusters for voter in cluster]
    if any(not 0 <= voter < m for voter in named) or len(set(named)) < len(named) or any(not c for c in clusters):
        raise UsageError(
            f"clusters must name voters 0 to {m - 1}, each at most once, got {[list(c) for c in clusters]}"
        )
    if not named:
        return votes
    of = {voter: list(cluster) for cluster in clusters for voter in cluster}
    columns = []
    for voter in range(m):
        members = of.get(voter, [voter])
        if voter == members[0]:
            part = votes[:, members]
            seen = ~np.isnan(part)
            lead = np.where(seen, 2 * np.where(seen, part, 0.0) - 1, 0.0).sum(axis=1)
            columns.append(np.where(lead == 0, np.nan, (lead > 0).astype(float)))
    return np.stack(columns, axis=1)


def _share(part: Any, whole: Any, smoothing: float) -> Floats:
    """part / whole with smoothing; 0.5 of nothing."""
    size: Floats = np.asarray(whole + 2 * smoothing, dtype=float)
    return np.asarray(np.divide(part + smoothing, size, out=np.full_like(size, 0.5), where=size > 0))


def _log(p: Any) -> Any:
    return np.log(np.clip(p, 1e-12, 1.0))


def _excess(yes: Floats, seen: Any, prevalence: float, hit: Floats, false: Floats) -> Floats:
    """Observed minus modelled covariance of two votes, in units of their deviations given the truth.

    Residuals against the posterior would not do: the posterior has seen the votes, and independent voters come out
    negatively correlated (to -0.3 in simulations).
    """
    both = seen.T.astype(float) @ seen
    together = yes.T @ yes
    mine = yes.T @ seen  # votes of the row's voter where the column's voted too
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = together / both - (mine / both) * (mine.T / both)
    strength = hit - false
    modelled = prevalence * (1 - prevalence) * np.outer(strength, strength)
    within = prevalence * hit * (1 - hit) + (1 - prevalence) * false * (1 - false)
    size = np.sqrt(np.outer(within, within))
    found = np.divide(observed - modelled, size, out=np.full_like(size, np.nan), where=(size > 0) & (both > 1))
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)

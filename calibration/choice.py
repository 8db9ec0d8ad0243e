"""Which probability map is the best one, judged only on rows that did not help to fit it.

Every method is fitted on all folds but one and tried on that one; a fold holds whole clusters, because responses to one
prompt are not independent. The lowest mean log-loss wins, unless a simpler map (METHODS, in that order) lies within one
standard error of it: then the difference may be luck, and the simpler map moves less under new data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guerdon.calibration._records import ANY_SCORER, FittedOn
from guerdon.calibration.maps import fit_map
from guerdon.calibration.probabilities import METHODS, ProbabilityMap, check_input, checked_values, log_odds
from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.rewards.evaluation._numeric import Codes, Floats, np, special
from guerdon.rewards.evaluation.intervals import Estimate, folds_of, mean
from guerdon.rewards.evaluation.probabilities import (
    Bin,
    brier,
    calibration_error,
    debiased_squared_error,
    equal_mass,
    equal_width,
    log_loss,
    pair_log_loss,
    reliability_table,
    worst_calibration_error,
)
from guerdon.rewards.types import Scale

ONE_STANDARD_ERROR = 0.6827
"""The level of an interval of one standard error on either side."""

N_BINS = 10


@dataclass(frozen=True, slots=True)
class Quality:
    """How good probabilities are on some rows; pairs are folded (confidence in the side that is preferred).

    log_loss, brier: with 95 % intervals that know of the clusters. ece: mean |claimed - observed| over ten bins of
    equal width. ece_mass, worst: mean and largest over ten bins of equal mass (a bin of equal width may hold one row,
    whose error is luck). squared_error: over bins of equal mass, without the part that chance adds (Kumar, Liang & Ma
    2019), about 0 when calibrated. table: the bins of equal width.
    """

    log_loss: Estimate
    brier: Estimate
    ece: float
    ece_mass: float
    worst: float
    squared_error: float
    table: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A method tried on rows it was not fitted on, or the reason why it could not be fitted.

    excess: its mean log-loss minus that of the best, with an interval of one standard error on either side.
    """

    method: str
    quality: Quality | None
    excess: Estimate
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen map, fitted on all rows, and the comparison behind it.

    raw: the values taken for probabilities as they are (sigma of a logit or a margin), None where they cannot be.
    lowest: the method of the lowest log-loss; ``map.method`` may be a simpler one. probabilities: (n,), cross-fitted,
    of the chosen method.
    """

    map: ProbabilityMap
    lowest: str
    raw: Quality | None
    candidates: tuple[Candidate, ...]
    probabilities: Floats

    @property
    def chosen(self) -> Quality:
        """The quality of the chosen method."""
        return next(c.quality for c in self.candidates if c.method == self.map.method and c.quality is not None)


def choose_map(
    values: Floats,
    right: Floats | float,
    *,
    input_scale: Scale = "logit",
    pairs: bool = False,
    clusters: Codes | None = None,
    methods: Sequence[str] | None = None,
    folds: int = 10,
    seed: int = 0,
    scorer: FittedOn = ANY_SCORER,
) -> Choice:
    """Compare methods out of sample, choose one by the rule of the module, and fit it on all rows.

    Arguments as in ``maps.fit_map``. clusters: (n,) whole numbers that name what makes rows dependent (the prompt);
    None: every row stands alone. methods: None tries all that take the scale; one name only measures it.
    A method that cannot be fitted on some fold is no candidate, and says why.
    Raises UsageError if no method can be fitted, if there are fewer than two clusters or folds, or for wrong arguments.
    """
    tried = _methods(methods, input_scale, pairs)
    given = checked_values(values, input_scale, pairs=pairs)
    y = np.broadcast_to(np.asarray(right, dtype=float), given.shape)
    keys = np.arange(len(given)) if clusters is None else np.asarray(clusters)
    if keys.shape != given.shape:
        raise UsageError(f"clusters has shape {keys.shape}, values {given.shape}; give one cluster a row")
    fold_of = folds_of(keys, folds, seed) if folds > 1 else None
    if fold_of is None:
        raise UsageError(f"{len(np.unique(keys))} cluster(s) in {folds} fold(s): cross-fitting needs two of each")
    found: dict[str, Floats] = {}
    reasons: dict[str, str] = {}
    for method in tried:
        try:
            found[method] = _cross_fitted(method, given, y, fold_of, input_scale, pairs)
        except UsageError as error:
            reasons[method] = str(error)
    if not found:
        raise UsageError("no map can be fitted:\n" + "\n".join(f"  {name}: {why}" for name, why in reasons.items()))
    losses = {method: log_loss(p, y) for method, p in found.items()}
    lowest = min(losses, key=lambda method: float(losses[method].mean()))
    excess = {name: mean(loss - losses[lowest], keys, level=ONE_STANDARD_ERROR) for name, loss in losses.items()}
    chosen = next(name for name in METHODS if name in excess and _within(excess[name]))
    return Choice(
        fit_map(chosen, given, y, input_scale=input_scale, pairs=pairs, scorer=scorer),
        lowest,
        _raw(given, y, keys, input_scale, pairs),
        tuple(_candidate(name, found, excess, reasons, y, keys, pairs) for name in tried),
        found[chosen],
    )


def quality(
    p: Floats, right: Floats, clusters: Codes | None = None, *, pairs: bool = False, losses: Floats | None = None
) -> Quality:
    """How good probabilities p are for what happened; see ``Quality``. pairs: p is P(first wins), and is folded.

    losses: the log-loss of each row where it is known better than from p (which may have rounded to 0 or 1).
    """
    keys = np.arange(len(p)) if clusters is None else clusters
    loss = mean(log_loss(p, right) if losses is None else losses, keys)
    low = 0.0
    if pairs:
        right = np.where(p > 0.5, right, np.where(p < 0.5, 1 - right, 0.5))
        p, low = np.maximum(p, 1 - p), 0.5
    table = reliability_table(p, right, equal_width(N_BINS, low))
    mass = reliability_table(p, right, equal_mass(p, N_BINS))
    return Quality(
        loss,
        mean(brier(p, right), keys),
        calibration_error(table),
        calibration_error(mass),
        worst_calibration_error(mass),
        debiased_squared_error(mass),
        table,
    )


def _raw(values: Floats, y: Floats, keys: Codes, scale: Scale, pairs: bool) -> Quality | None:
    """The values at their word: sigma of a margin or a logit, a probability itself; None for a real or a verdict."""
    if not pairs and scale in ("real", "verdict"):
        return None
    z = log_odds(values, scale, pairs=pairs)
    return quality(special.expit(z), y, keys, pairs=pairs, losses=pair_log_loss(z, y))


def _methods(methods: Sequence[str] | None, scale: Scale, pairs: bool) -> tuple[str, ...]:
    if methods is None:
        able = []
        for method in METHODS:
            try:
                check_input(method, scale, pairs=pairs)
            except UsageError:
                continue
            able.append(method)
        if not able:
            check_input(METHODS[0], scale, pairs=pairs)
        return tuple(able)
    for method in methods:
        if method not in METHODS:
            raise UnknownNameError("probability map", str(method), METHODS)
        check_input(method, scale, pairs=pairs)
    return tuple(name for name in METHODS if name in methods)


def _cross_fitted(method: str, values: Floats, y: Floats, fold_of: Codes, scale: Scale, pairs: bool) -> Floats:
    p = np.empty(len(values))
    for fold in np.unique(fold_of):
        out = fold_of == fold
        p[out] = fit_map(method, values[~out], y[~out], input_scale=scale, pairs=pairs).apply(values[out])
    return p


def _within(excess: Estimate) -> bool:
    """Whether a mean excess may be 0, for all that one standard error says."""
    return excess.value is not None and (excess.value <= 0 or (excess.low is not None and excess.low <= 0))


def _candidate(
    name: str,
    found: Mapping[str, Floats],
    excess: Mapping[str, Estimate],
    reasons: Mapping[str, str],
    y: Floats,
    keys: Codes,
    pairs: bool,
) -> Candidate:
    if name in reasons:
        return Candidate(name, None, Estimate.missing(reasons[name]), reasons[name])
    return Candidate(name, quality(found[name], y, keys, pairs=pairs), excess[name])

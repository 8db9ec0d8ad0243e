"""What share of new responses lies outside the cloud of known ones: the over-optimisation detector of InfoRM.

Fit mean and covariance of features of reference responses (before RL); as a policy drifts to where the reward model
was never trained, more and more of its responses get a Mahalanobis distance that a Gaussian would hardly give
(Miao et al. 2024, 2402.09345). It works on any features, ``RewardModel.features`` or a latent of 10 to 128 numbers;
the p-values are exact for Gaussian features and a large reference, a measure of distance otherwise. So compare the
share with the share on held-out reference responses, not with the level alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from guerdon.calibration import _records as records
from guerdon.calibration._records import ANY_SCORER, FittedOn
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import Floats, np, stats
from guerdon.rewards.evaluation.intervals import Estimate, wilson

KIND, FORMAT = "outlier_detector", 1
RIDGE = 1e-3
"""Added to the covariance's diagonal, as the authors do: for latents whose spread is about 1."""


@dataclass(frozen=True)
class OutlierDetector:
    """The cloud of reference features. mean: (d,). covariance: (d, d), positive definite. n: rows it came from.

    >>> detector = OutlierDetector(np.zeros(2), np.diag([1.0, 4.0]))
    >>> detector.p_values(np.array([[2.0, 2.0]])).round(6).tolist()
    [0.082085]
    """

    mean: Floats
    covariance: Floats
    scorer: FittedOn = ANY_SCORER
    n: int = 0

    def __post_init__(self) -> None:
        mean, covariance = np.array(self.mean, dtype=float), np.array(self.covariance, dtype=float)
        if mean.ndim != 1 or not len(mean) or covariance.shape != (len(mean), len(mean)):
            raise UsageError(f"mean (d,) and covariance (d, d) do not fit: {mean.shape} and {covariance.shape}")
        if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
            raise UsageError("mean and covariance must be finite")
        mean.flags.writeable = covariance.flags.writeable = False
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)
        _ = self._root  # a covariance that is none is found here

    @cached_property
    def _root(self) -> Floats:
        try:
            return np.asarray(np.linalg.cholesky(self.covariance))
        except np.linalg.LinAlgError as error:
            raise UsageError(
                "the covariance is not positive definite: some feature is constant or a sum of others, or there are "
                "fewer rows than features; fit with a ridge > 0 or fewer features"
            ) from error

    def distances(self, features: Floats) -> Floats:
        """Squared Mahalanobis distances (x - m)' C^-1 (x - m) of features (n, d); shape (n,)."""
        x = _checked(features, len(self.mean))
        return np.asarray(np.sum(np.linalg.solve(self._root, (x - self.mean).T) ** 2, axis=0))

    def p_values(self, features: Floats) -> Floats:
        """P(a Gaussian of this cloud lies at least so far out), chi-square with d degrees of freedom; shape (n,)."""
        return np.asarray(stats.chi2.sf(self.distances(features), df=len(self.mean)))

    def outlier_share(self, features: Floats, *, level: float = 0.01) -> Estimate:
        """The share of rows with p below the level, with Wilson's 95 % interval; about ``level`` on reference rows."""
        if not 0 < level < 1:
            raise UsageError(f"level must lie between 0 and 1, got {level!r}; 0.01 is usual")
        p = self.p_values(features)
        if not len(p):
            return Estimate.missing("no rows")
        hits = int((p < level).sum())
        return Estimate(hits / len(p), *wilson(hits, len(p)), n=len(p), clusters=len(p))

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "version": FORMAT,
            "scorer": {"name": self.scorer.name, "version": self.scorer.version},
            "n": self.n,
            "mean": self.mean.tolist(),
            "covariance": self.covariance.tolist(),
        }

    @classmethod
    def from_json(cls, data: Any) -> OutlierDetector:
        """Raises UsageError for another kind or version, unknown or lacking keys, or what is no covariance."""
        own = records.opened(data, KIND, FORMAT, ("scorer", "n", "mean", "covariance"))
        mean = records.numbers(own["mean"], "mean")
        covariance = records.matrix(own["covariance"], "covariance", len(mean))
        scorer = records.fitted_on(own["scorer"])
        return cls(np.array(mean), np.array(covariance), scorer, records.count(own["n"], "n"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the detector as JSON."""
        records.write(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> OutlierDetector:
        """Read what ``save`` wrote. Raises UsageError naming the file and what is wrong with it."""
        return records.load(path, cls.from_json)


def fit_outliers(features: Floats, *, ridge: float = RIDGE, scorer: FittedOn = ANY_SCORER) -> OutlierDetector:
    """The cloud of reference features (n, d): their mean and covariance (divided by n - 1) plus ``ridge`` I.

    ridge: >= 0; with 0 the p-values do not change under any invertible affine map of the features.
    Raises UsageError for fewer than two rows, features that are not finite, or a singular covariance.
    """
    x = _checked(features)
    if len(x) < 2:
        raise UsageError(f"{len(x)} reference row(s) are too few for a covariance; give some hundred")
    if not 0 <= ridge < np.inf:
        raise UsageError(f"ridge must be finite and >= 0, got {ridge!r}")
    covariance = np.atleast_2d(np.cov(x, rowvar=False)) + ridge * np.eye(x.shape[1])
    return OutlierDetector(x.mean(axis=0), covariance, scorer, len(x))


def _checked(features: Any, d: int | None = None) -> Floats:
    x = np.asarray(features, dtype=float)
    if x.ndim != 2 or x.shape[1] == 0 or (d is not None and x.shape[1] != d):
        raise UsageError(f"features must have shape (n, {'d' if d is None else d}), got {x.shape}")
    if n_bad := int((~np.isfinite(x)).any(axis=1).sum()):
        raise UsageError(f"{n_bad} of {len(x)} rows of features are not finite; leave out what is unscored")
    return x

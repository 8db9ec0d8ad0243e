"""What pair data say about a linear reward head, with how sure they are, and rewards that pay for not being sure.

Pairs identify differences of rewards only, so the uncertainty is of a difference to a reference response, never of a
score (methods A4.2, the Laplace approximation of a Bradley–Terry likelihood with a Gaussian prior). The lower bound
w.(h - h_ref) - beta u is a pessimistic reward, the upper one says which pairs are worth labelling next.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from guerdon.calibration import _records as records
from guerdon.calibration._records import ANY_SCORER, FittedOn
from guerdon.rewards.errors import MissingExtraError, UsageError
from guerdon.rewards.evaluation._numeric import Floats, np, special

KIND, FORMAT = "head_posterior", 1


@dataclass(frozen=True)
class HeadPosterior:
    """A Gaussian belief about the head of a reward model: its weight (d,) and precision (d, d), positive definite.

    n: pairs behind it. ``difference``, ``uncertainty``, ``lower`` and ``upper`` take features (..., d) of responses and
    of the reference response they are compared with, and give shape (...).
    """

    weight: Floats
    precision: Floats
    scorer: FittedOn = ANY_SCORER
    n: int = 0

    def __post_init__(self) -> None:
        weight, precision = np.array(self.weight, dtype=float), np.array(self.precision, dtype=float)
        if weight.ndim != 1 or not len(weight) or precision.shape != (len(weight), len(weight)):
            raise UsageError(f"weight (d,) and precision (d, d) do not fit: {weight.shape} and {precision.shape}")
        if not (np.isfinite(weight).all() and np.isfinite(precision).all()):
            raise UsageError("weight and precision must be finite")
        weight.flags.writeable = precision.flags.writeable = False
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "precision", precision)
        _ = self._root

    @cached_property
    def _root(self) -> Floats:
        try:
            return np.asarray(np.linalg.cholesky(self.precision))
        except np.linalg.LinAlgError as error:
            raise UsageError(
                "the precision is not positive definite: the pairs leave some direction open; use prior > 0"
            ) from error

    @property
    def covariance(self) -> Floats:
        """The inverse of the precision, as ``robust.certified_radius`` takes it."""
        inverse = np.linalg.inv(self._root)
        return np.asarray(inverse.T @ inverse)

    def difference(self, features: Floats, reference: Floats) -> Floats:
        """The expected reward above the reference's: w.(h - h_ref)."""
        return np.asarray(self._from(features, reference) @ self.weight)

    def uncertainty(self, features: Floats, reference: Floats) -> Floats:
        """One standard deviation of that difference: sqrt((h - h_ref)' Lambda^-1 (h - h_ref)); 0 at the reference."""
        gap = self._from(features, reference)
        solved = np.linalg.solve(self._root, gap.reshape(-1, gap.shape[-1]).T)
        return np.asarray(np.sqrt(np.sum(solved**2, axis=0)).reshape(gap.shape[:-1]))

    def lower(self, features: Floats, reference: Floats, *, beta: float = 1.0) -> Floats:
        """The pessimistic difference w.(h - h_ref) - beta u. beta: standard deviations, >= 0."""
        return np.asarray(self.difference(features, reference) - _scale(beta) * self.uncertainty(features, reference))

    def upper(self, features: Floats, reference: Floats, *, beta: float = 1.0) -> Floats:
        """The optimistic difference, for choosing what to label next."""
        return np.asarray(self.difference(features, reference) + _scale(beta) * self.uncertainty(features, reference))

    def _from(self, features: Floats, reference: Floats) -> Floats:
        gap: Floats = np.asarray(features, dtype=float) - np.asarray(reference, dtype=float)
        if not gap.ndim or gap.shape[-1] != len(self.weight):
            raise UsageError(f"features must have {len(self.weight)} numbers a response, got shape {gap.shape}")
        if not np.isfinite(gap).all():
            raise UsageError("features must be finite; leave out what is unscored")
        return gap

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "version": FORMAT,
            "scorer": {"name": self.scorer.name, "version": self.scorer.version},
            "n": self.n,
            "weight": self.weight.tolist(),
            "precision": self.precision.tolist(),
        }

    @classmethod
    def from_json(cls, data: Any) -> HeadPosterior:
        """Raises UsageError for another kind or version, unknown or lacking keys, or what is no precision."""
        own = records.opened(data, KIND, FORMAT, ("scorer", "n", "weight", "precision"))
        weight = records.numbers(own["weight"], "weight")
        precision = records.matrix(own["precision"], "precision", len(weight))
        scorer = records.fitted_on(own["scorer"])
        return cls(np.array(weight), np.array(precision), scorer, records.count(own["n"], "n"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the posterior as JSON."""
        records.write(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> HeadPosterior:
        """Read what ``save`` wrote. Raises UsageError naming the file and what is wrong with it."""
        return records.load(path, cls.from_json)


def laplace_precision(pairs: Floats, weight: Floats, *, prior: float) -> Floats:
    """Lambda = sum p (1 - p) z z' + prior I with p = sigma(w.z); shape (d, d).

    pairs: (n, d), z = h_chosen - h_rejected. weight: (d,). prior: precision of the Gaussian prior, >= 0.

    >>> laplace_precision(np.array([[1.0, 0], [0, 1], [1, -1]]), np.array([1, 0.5]), prior=0.1).round(6).tolist()
    [[0.531616, -0.235004], [-0.235004, 0.570007]]
    """
    z = _checked_pairs(pairs)
    w = np.asarray(weight, dtype=float)
    if w.shape != (z.shape[1],):
        raise UsageError(f"weight must have shape {(z.shape[1],)}, got {w.shape}")
    if not 0 <= prior < np.inf:
        raise UsageError(f"prior must be finite and >= 0, got {prior!r}")
    m = z @ w
    curvature = special.expit(m) * special.expit(-m)
    return np.asarray(z.T @ (z * curvature[:, None]) + prior * np.eye(z.shape[1]))


def fit_posterior(pairs: Floats, *, prior: float = 1.0, scorer: FittedOn = ANY_SCORER) -> HeadPosterior:
    """The posterior of a head from pair features: the weight of the largest posterior density, and its curvature.

    pairs: (n, d), z = h_chosen - h_rejected. prior: precision of the Gaussian prior on the weight, > 0; features of a
    spread of about 1 go with 1. Raises UsageError for no pairs, features that are not finite, or a prior of 0.
    """
    z = _checked_pairs(pairs)
    if not 0 < prior < np.inf:
        raise UsageError(f"prior must be finite and > 0, got {prior!r}; without one, separable pairs have no best head")
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise MissingExtraError("fitting a posterior", "calibration") from error

    # Both orders of every pair at half weight: scikit-learn wants two classes, and the likelihood is the same.
    model = LogisticRegression(C=1 / prior, fit_intercept=False, solver="newton-cholesky", tol=1e-8, max_iter=1_000)
    model.fit(np.concatenate([z, -z]), np.repeat([1, 0], len(z)), sample_weight=np.full(2 * len(z), 0.5))
    weight = np.asarray(model.coef_[0], dtype=float)
    return HeadPosterior(weight, laplace_precision(z, weight, prior=prior), scorer, len(z))


def _checked_pairs(pairs: Any) -> Floats:
    z = np.asarray(pairs, dtype=float)
    if z.ndim != 2 or 0 in z.shape:
        raise UsageError(f"pairs must have shape (n, d) with n, d >= 1 (h_chosen - h_rejected), got {z.shape}")
    if n_bad := int((~np.isfinite(z)).any(axis=1).sum()):
        raise UsageError(f"{n_bad} of {len(z)} pairs have features that are not finite; leave out what is unscored")
    return z


def _scale(beta: float) -> float:
    if not 0 <= beta < np.inf:
        raise UsageError(f"beta must be finite and >= 0, got {beta!r}; lower() and upper() say in which direction")
    return float(beta)

"""The Laplace posterior of a linear head: the worked example, an independent optimiser, the properties, the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import expit

from guerdon.calibration._records import FittedOn
from guerdon.calibration.bayes import HeadPosterior, fit_posterior, laplace_precision
from guerdon.calibration.robust import certified_radius
from guerdon.rewards.errors import UsageError

Z, W = np.array([[1.0, 0], [0, 1], [1, -1]]), np.array([1, 0.5])


def test_the_worked_example() -> None:
    precision = laplace_precision(Z, W, prior=0.1)
    assert precision == pytest.approx(np.array([[0.531616, -0.235004], [-0.235004, 0.570007]]), abs=1e-6)
    posterior = HeadPosterior(W, precision)
    h, reference = np.array([1.0, 1]), np.zeros(2)
    assert posterior.difference(h, reference) == pytest.approx(1.5)
    assert posterior.uncertainty(h, reference) == pytest.approx(2.5184088, abs=1e-7)
    assert posterior.lower(h, reference) == pytest.approx(-1.0184088, abs=1e-7)
    assert posterior.upper(h, reference, beta=2) == pytest.approx(1.5 + 2 * 2.5184088, abs=1e-6)
    assert posterior.covariance == pytest.approx(np.linalg.inv(precision))


@given(st.integers(0, 2**32), st.integers(1, 6), st.floats(0.05, 10))
@settings(max_examples=50)
def test_the_weight_maximises_the_posterior_and_the_precision_is_its_curvature(seed: int, d: int, prior: float) -> None:
    rng = np.random.default_rng(seed)
    z = rng.normal(0.3, 1, size=(25, d))

    def negative(w: np.ndarray) -> float:
        return float(np.logaddexp(0, -z @ w).sum() + prior / 2 * w @ w)

    fitted = fit_posterior(z, prior=prior)
    found = optimize.minimize(negative, np.zeros(d), tol=1e-12)
    assert negative(fitted.weight) <= found.fun + 1e-9
    assert fitted.weight == pytest.approx(found.x, abs=1e-4)
    slope = -(z.T @ expit(-z @ fitted.weight)) + prior * fitted.weight
    assert slope == pytest.approx(np.zeros(d), abs=1e-4)
    step = 1e-4 * np.eye(d)
    curvature = [
        (negative(fitted.weight + s) + negative(fitted.weight - s) - 2 * negative(fitted.weight)) / 1e-8 for s in step
    ]
    assert np.diag(fitted.precision) == pytest.approx(curvature, rel=1e-3)


@given(st.integers(0, 2**32), st.integers(1, 10), st.integers(1, 50))
@settings(max_examples=200)
def test_the_uncertainty_is_0_at_the_reference_and_never_grows_with_a_pair(seed: int, d: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=(n + 1, d)), rng.normal(size=d)
    h, reference = rng.normal(size=(4, d)), rng.normal(size=d)
    fewer = HeadPosterior(w, laplace_precision(z[:-1], w, prior=0.5))
    more = HeadPosterior(w, laplace_precision(z, w, prior=0.5))
    assert fewer.uncertainty(reference, reference) == 0
    assert (more.uncertainty(h, reference) <= fewer.uncertainty(h, reference) + 1e-12).all()
    assert (more.lower(h, reference) <= more.difference(h, reference)).all()
    assert more.lower(h, reference, beta=0) == pytest.approx(more.difference(h, reference))


def test_twice_the_data_divide_the_uncertainty_by_the_root_of_two() -> None:
    rng = np.random.default_rng(0)
    z, w, h = rng.normal(size=(40, 4)), rng.normal(size=4), rng.normal(size=(3, 4))
    once, twice = (HeadPosterior(w, laplace_precision(x, w, prior=1e-9)) for x in (z, np.concatenate([z, z])))
    ratio = once.uncertainty(h, np.zeros(4)) / twice.uncertainty(h, np.zeros(4))
    assert ratio == pytest.approx(np.full(3, np.sqrt(2)), rel=1e-6)


def test_the_interval_covers_the_head_that_made_the_pairs() -> None:
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(100):
        w = rng.normal(size=3)  # the prior's own spread
        z = rng.normal(size=(150, 3))
        fitted = fit_posterior(np.where(rng.random(150) < expit(z @ w), 1, -1)[:, None] * z, prior=1.0)
        h = rng.normal(size=(20, 3))
        low, high = fitted.lower(h, np.zeros(3), beta=1.96), fitted.upper(h, np.zeros(3), beta=1.96)
        inside.append(np.mean((low <= h @ w) & (h @ w <= high)))
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)


def test_its_covariance_gives_radii_in_standard_deviations() -> None:
    rng = np.random.default_rng(2)
    fitted = fit_posterior(rng.normal(0.5, 1, size=(60, 4)))
    h = rng.normal(size=(1, 2, 4))
    radius = certified_radius(h @ fitted.weight, h, covariance=fitted.covariance)
    # two responses: A = +-d / 2, so the radius is the difference in its own standard deviations
    expected = abs(fitted.difference(h[0, 0], h[0, 1]) / fitted.uncertainty(h[0, 0], h[0, 1]))
    assert radius[0] == pytest.approx([expected, expected])


def test_separable_pairs_have_a_finite_head() -> None:
    fitted = fit_posterior(np.ones((30, 1)), prior=1.0)
    assert 0 < fitted.weight[0] < 10


@pytest.mark.parametrize(
    ("z", "prior", "told"),
    [
        (np.zeros((0, 2)), 1.0, "n, d >= 1"),
        (np.zeros(3), 1.0, "h_chosen - h_rejected"),
        (np.array([[1.0, np.inf]]), 1.0, "1 of 1 pairs"),
        (np.ones((3, 2)), 0.0, "prior must be finite and > 0"),
    ],
)
def test_what_are_no_pairs_is_refused(z: np.ndarray, prior: float, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        fit_posterior(z, prior=prior)


def test_a_posterior_survives_its_file_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    fitted = fit_posterior(Z, scorer=FittedOn("rm", "1"))
    fitted.save(tmp_path / "head.json")
    again = HeadPosterior.load(tmp_path / "head.json")
    assert (again.weight == fitted.weight).all()
    assert (again.precision == fitted.precision).all()
    assert (again.scorer, again.n) == (fitted.scorer, 3)
    changes: list[tuple[dict[str, Any], str]] = [
        ({"precision": [[0, 0], [0, 0]]}, "not positive definite"),
        ({"weight": [1]}, "list of 1 rows"),
        ({"extra": 1}, "unknown: 'extra'"),
    ]
    for change, told in changes:
        (tmp_path / "head.json").write_text(json.dumps({**fitted.to_json(), **change}))
        with pytest.raises(UsageError, match=told):
            HeadPosterior.load(tmp_path / "head.json")


def test_features_of_another_size_and_a_negative_beta_are_refused() -> None:
    posterior = HeadPosterior(W, np.eye(2))
    with pytest.raises(UsageError, match="2 numbers a response"):
        posterior.difference(np.ones(3), np.ones(3))
    with pytest.raises(UsageError, match="features must be finite"):
        posterior.lower(np.array([1, np.nan]), np.ones(2))
    with pytest.raises(UsageError, match="beta must be finite and >= 0"):
        posterior.lower(np.ones(2), np.ones(2), beta=-1)

"""The outlier detector: the worked distance, uniform p-values on Gaussian features, affine invariance, the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from guerdon.calibration._records import FittedOn
from guerdon.calibration.outliers import OutlierDetector, fit_outliers
from guerdon.rewards.errors import UsageError


def test_the_worked_example() -> None:
    detector = OutlierDetector(np.zeros(2), np.diag([1.0, 4.0]))
    assert detector.distances(np.array([[2.0, 2]])).tolist() == pytest.approx([5])
    assert detector.p_values(np.array([[2.0, 2]]))[0] == pytest.approx(0.0820850, abs=1e-7)


def test_mean_and_covariance_are_numpys_with_the_ridge() -> None:
    x = np.random.default_rng(0).normal(size=(50, 3)) @ np.array([[1, 2, 0], [0, 1, 3], [0, 0, 1.0]])
    detector = fit_outliers(x)
    assert detector.covariance == pytest.approx(np.cov(x.T) + 1e-3 * np.eye(3))
    y = np.array([[1.0, -2, 5]])
    gap = y[0] - x.mean(axis=0)
    assert detector.distances(y)[0] == pytest.approx(gap @ np.linalg.inv(detector.covariance) @ gap)


def test_on_gaussian_reference_features_the_p_values_are_uniform() -> None:
    rng = np.random.default_rng(1)
    mix = rng.normal(size=(8, 8))
    detector = fit_outliers(rng.normal(size=(20_000, 8)) @ mix + 5, ridge=0)
    p = detector.p_values(rng.normal(size=(5_000, 8)) @ mix + 5)
    assert stats.kstest(p, "uniform").pvalue > 0.01
    share = detector.outlier_share(rng.normal(size=(5_000, 8)) @ mix + 5)
    assert share.low < 0.01 < share.high


@given(st.integers(0, 2**32), st.integers(1, 10))
@settings(max_examples=200)
def test_without_a_ridge_no_invertible_affine_map_of_the_features_matters(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    x, new = rng.normal(size=(50, d)), rng.normal(size=(5, d)) * 3
    mix = np.tril(rng.normal(size=(d, d)), -1) + np.diag(rng.choice([-1, 1], d) * rng.uniform(0.5, 2, d))
    shift = rng.normal(size=d)
    plain, moved = fit_outliers(x, ridge=0), fit_outliers(x @ mix + shift, ridge=0)
    assert moved.distances(new @ mix + shift) == pytest.approx(plain.distances(new), rel=1e-6)


def test_a_policy_that_drifts_away_shows() -> None:
    rng = np.random.default_rng(2)
    detector = fit_outliers(rng.normal(size=(2_000, 16)))
    shares = [detector.outlier_share(rng.normal(size=(500, 16)) + drift).value for drift in (0.0, 0.5, 1.0, 2.0)]
    assert shares == sorted(shares)
    assert shares[0] < 0.03
    assert shares[-1] > 0.95


@pytest.mark.parametrize(
    ("features", "ridge", "told"),
    [
        (np.zeros((5, 0)), 0.0, r"shape \(n, d\)"),
        (np.zeros(5), 0.0, r"shape \(n, d\)"),
        (np.ones((1, 2)), 0.0, "too few for a covariance"),
        (np.ones((9, 2)), 0.0, "not positive definite"),
        (np.random.default_rng(0).normal(size=(3, 5)), 0.0, "fewer rows than features"),
        (np.array([[1.0, np.nan], [2, 3]]), 1.0, "1 of 2 rows of features are not finite"),
        (np.ones((9, 2)), -1.0, "ridge must be finite and >= 0"),
    ],
)
def test_a_cloud_that_is_none_is_refused(features: np.ndarray, ridge: float, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        fit_outliers(features, ridge=ridge)


def test_other_features_are_refused_and_no_rows_give_no_share() -> None:
    detector = fit_outliers(np.random.default_rng(0).normal(size=(30, 3)))
    with pytest.raises(UsageError, match=r"shape \(n, 3\), got \(2, 4\)"):
        detector.p_values(np.zeros((2, 4)))
    with pytest.raises(UsageError, match="level must lie between"):
        detector.outlier_share(np.zeros((2, 3)), level=1.0)
    assert detector.outlier_share(np.zeros((0, 3))).value is None


def test_a_detector_survives_its_file(tmp_path: Path) -> None:
    detector = fit_outliers(np.random.default_rng(0).normal(size=(30, 3)), scorer=FittedOn("rm", "1"))
    detector.save(tmp_path / "cloud.json")
    again = OutlierDetector.load(tmp_path / "cloud.json")
    x = np.random.default_rng(1).normal(size=(4, 3))
    assert (again.p_values(x) == detector.p_values(x)).all()
    assert (again.scorer, again.n) == (FittedOn("rm", "1"), 30)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"mean": []}, "do not fit"),
        ({"covariance": [[1, 0], [0]]}, "every row of covariance must have 2 numbers"),
        ({"covariance": [[1, 0], [0, -1]]}, "not positive definite"),
        ({"covariance": 3}, "must be a list of 2 rows"),
        ({"n": 1.5}, "whole number"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    good = OutlierDetector(np.zeros(2), np.eye(2)).to_json()
    if "mean" in change:
        change = {"mean": [], "covariance": []}
    (tmp_path / "cloud.json").write_text(json.dumps({**good, **change}))
    with pytest.raises(UsageError, match=told):
        OutlierDetector.load(tmp_path / "cloud.json")

"""Debiasing curves against a slow plain LOWESS and known figures; what is exact, what never changes, the edges."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from guerdon.calibration._records import FittedOn
from guerdon.calibration.debias import DebiasCurve, fit_curve, fit_curves, penalty
from guerdon.calibration.debiasing import smooth
from guerdon.calibration.debiasing.smooth import Cells, lowess, mean_difference, window_mean
from guerdon.rewards.errors import UnknownNameError, UsageError

X = np.arange(10.0, 101.0, 10.0)
Y = X / 100 + np.tile([0.1, -0.1], 5)
"""methods.md C3.1's example."""


def plain_lowess(x, y, fraction, iterations):
    """Cleveland's LOWESS, a point at a time, as the papers have it."""
    n, k = len(x), max(1, int(fraction * len(x) + 1e-10))
    robust = np.ones(n)
    for _ in range(iterations + 1):
        fitted = np.empty(n)
        for i in range(n):
            away = np.abs(x - x[i])
            reach = np.sort(away)[k - 1]
            weights = np.where(away < reach, (1 - (away / max(reach, 1e-300)) ** 3) ** 3, 0.0)
            weights[away == 0] = 1.0
            weights = weights * robust
            design = np.column_stack([np.ones(n), x - x[i]])
            root = np.sqrt(weights)
            fitted[i] = np.linalg.lstsq(design * root[:, None], y * root, rcond=1e-8)[0][0]
        residuals = np.abs(y - fitted)
        robust = np.square(1 - np.square(np.minimum(residuals / (6 * np.median(residuals)), 1)))
    return fitted


def simulated(n=4_000, seed=0):
    """Scores of quality, of a curve of length that is not monotone (methods.md C3.5), and of noise.

    methods.md names the curve alone; lengths, noise and price are chosen so that its three figures come out.
    """
    r = np.random.default_rng(seed)
    lengths = np.exp(r.normal(5.4, 0.5, 2 * n))
    quality = r.normal(size=2 * n)
    curve = 1.6 * np.tanh((lengths - 150) / 120) + 0.3 * np.sin(lengths / 60)
    return lengths, quality, quality + curve + 0.36 * r.normal(size=2 * n)


def accuracy(scores, quality):
    n = len(scores) // 2
    return float(np.mean((scores[:n] - scores[n:]) * (quality[:n] - quality[n:]) > 0))


# --- the smoothers ---


def test_lowess_gives_the_published_example():
    expected = [0.14893, 0.219794, 0.285476, 0.414524, 0.485476, 0.614524, 0.685476, 0.814524, 0.880206, 0.95107]
    points, fitted = lowess(X, Y, fraction=0.5, iterations=0)
    assert points.tolist() == X.tolist()
    assert fitted == pytest.approx(expected, abs=1e-6)


def test_the_window_mean_gives_the_published_example():
    expected = [0.233333, 0.25, 0.32, 0.38, 0.52, 0.58, 0.72, 0.78, 0.85, 0.866667]
    assert window_mean(X, Y, half_width=25, fewest=1)[1] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("iterations", [0, 1, 3])
@pytest.mark.parametrize("fraction", [0.2, 0.5, 1.0])
def test_lowess_is_the_slow_plain_one_with_equal_lengths_and_outliers(fraction, iterations):
    r = np.random.default_rng(3)
    x = np.round(np.exp(r.normal(4, 0.7, 150)))
    y = np.tanh(x / 60) + 0.2 * r.normal(size=150)
    y[::17] += 5.0
    points, fitted = lowess(x, y, fraction=fraction, iterations=iterations)
    assert np.interp(x, points, fitted) == pytest.approx(plain_lowess(x, y, fraction, iterations), abs=1e-8)


def test_a_curve_of_few_points_and_merged_cells_is_close_to_the_exact_one(monkeypatch):
    r = np.random.default_rng(4)
    x = np.exp(r.normal(6, 0.8, 3_000))  # 3,000 distinct values
    y = np.tanh((x - 400) / 300) + 0.5 * r.normal(size=3_000)
    monkeypatch.setattr(smooth, "MOST_POINTS", 10_000)
    points, exact = lowess(x, y, fraction=0.5, iterations=3)
    monkeypatch.undo()
    coarse = np.interp(points, *lowess(x, y, fraction=0.5, iterations=3))
    monkeypatch.setattr(smooth, "MOST_CELLS", 1_000)
    merged = np.interp(points, *lowess(x, y, fraction=0.5, iterations=3))
    spread = y.std()
    assert np.sqrt(np.mean((coarse - exact) ** 2)) < 1e-3 * spread
    assert np.sqrt(np.mean((merged - exact) ** 2)) < 1e-2 * spread


@given(st.lists(st.integers(0, 40), min_size=2, max_size=200))
def test_cells_and_points_lose_no_row(values):
    features = np.array(values, dtype=float)
    cells = Cells.of(features)
    assert cells.count.sum() == len(features)
    assert (cells.x[cells.of_row] == features).all()
    assert cells.sums(features).sum() == pytest.approx(features.sum())
    assert {features.min(), features.max()} <= set(cells.points().tolist())


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40))
def test_the_mean_difference_is_that_over_all_pairs(values):
    x = np.array(values)
    pairs = np.abs(x[:, None] - x[None, :])
    assert mean_difference(x) == pytest.approx(pairs.sum() / (len(x) * (len(x) - 1)), abs=1e-6)


def test_a_hundred_thousand_scores_are_fitted_in_no_time():
    r = np.random.default_rng(0)
    x = np.exp(r.normal(6.5, 0.9, 100_000))
    y = np.tanh((x - 600) / 400) + r.normal(size=100_000)
    start = time.process_time()
    fit_curve(y, x).apply(y, x)
    assert time.process_time() - start < 10  # of CPU: measured 0.1 s; a slip into n² would take minutes


# --- curves ---


@given(
    st.integers(0, 1_000),
    st.integers(20, 50),
    st.floats(-5, 5),
    st.floats(-100, 100),
    st.sampled_from(["lowess", "linear"]),
)
def test_a_straight_line_is_found_exactly_and_taken_out(seed, n, slope, level, method):
    x = np.random.default_rng(seed).integers(0, 200, n).astype(float)
    y = level + slope * x
    curve = fit_curve(y, x, method=method)
    assert curve.at(x) == pytest.approx(y, abs=1e-6)
    assert curve.apply(y, x) == pytest.approx(np.full(n, y.mean()), abs=1e-6)


@given(st.integers(0, 1_000), st.floats(-1e4, 1e4), st.sampled_from(["lowess", "window", "linear"]))
def test_a_constant_on_all_scores_stays_a_constant(seed, constant, method):
    r = np.random.default_rng(seed)
    x, y = r.integers(1, 60, 50).astype(float), r.normal(size=50)
    before = fit_curve(y, x, method=method).apply(y, x)
    after = fit_curve(y + constant, x, method=method).apply(y + constant, x)
    assert after == pytest.approx(before + constant, abs=1e-6)


@given(st.integers(0, 1_000), st.sampled_from(["lowess", "window", "linear"]), st.floats(0, 2))
def test_the_order_of_equal_features_and_the_mean_of_the_pool_stay(seed, method, strength):
    r = np.random.default_rng(seed)
    x, y = r.integers(1, 10, 60).astype(float), r.normal(size=60)
    after = fit_curve(y, x, method=method, strength=strength).apply(y, x)
    assert after.mean() == pytest.approx(y.mean(), abs=1e-9)
    for value in np.unique(x):
        same = x == value
        assert after[same] - y[same] == pytest.approx(np.full(same.sum(), (after - y)[same][0]), abs=1e-9)


@given(st.integers(0, 1_000))
def test_neither_the_order_of_the_rows_nor_the_caller_s_arrays_change(seed):
    r = np.random.default_rng(seed)
    x, y = r.integers(1, 60, 50).astype(float), r.normal(size=50)
    kept = x.copy(), y.copy()
    order = r.permutation(50)
    assert fit_curve(y[order], x[order]).y == pytest.approx(fit_curve(y, x).y, abs=1e-9)
    assert (kept[0] == x).all()
    assert (kept[1] == y).all()


def test_strength_0_changes_nothing_and_half_takes_half():
    lengths, _, scores = simulated(200)
    whole = fit_curve(scores, lengths).apply(scores, lengths) - scores
    assert (fit_curve(scores, lengths, strength=0.0).apply(scores, lengths) == scores).all()
    assert fit_curve(scores, lengths, strength=0.5).apply(scores, lengths) - scores == pytest.approx(whole / 2)


def test_the_curve_is_straight_between_its_points_and_constant_beyond():
    curve = DebiasCurve("length", "lowess", (10.0, 20.0), (1.0, 3.0), centre=2.0)
    assert curve.at(np.array([-5.0, 10.0, 15.0, 20.0, 1e9])).tolist() == [1.0, 1.0, 2.0, 3.0, 3.0]
    assert curve.apply(np.array([0.0, 0.0]), np.array([10.0, 20.0])).tolist() == [1.0, -1.0]


def test_the_window_says_nothing_where_few_rows_are():
    x = np.concatenate([np.full(30, 10.0), np.full(30, 12.0), [1_000.0] * 5])
    y = np.concatenate([np.full(30, 1.0), np.full(30, 2.0), np.full(5, 50.0)])
    curve = fit_curve(y, x, method="window", half_width=1.0)
    assert curve.at(np.array([10.0, 12.0, 1_000.0])) == pytest.approx([1.0, 2.0, y.mean()])


def test_outliers_do_not_bend_a_robust_curve():
    r = np.random.default_rng(0)
    x, y = r.uniform(0, 100, 500), r.normal(size=500) * 0.1
    y[(x > 40) & (x < 50)] += np.where(r.random(((x > 40) & (x < 50)).sum()) < 0.3, 20.0, 0.0)
    at = np.array([45.0])
    assert abs(fit_curve(y, x, iterations=3, fraction=0.2).at(at)[0]) < 0.1
    assert abs(fit_curve(y, x, iterations=0, fraction=0.2).at(at)[0]) > 0.5


def test_constant_features_and_constant_scores_leave_the_scores_as_they_are():
    r = np.random.default_rng(0)
    y = r.normal(size=30)
    for method in ("lowess", "window", "linear"):
        assert fit_curve(y, np.full(30, 7.0), method=method).apply(y, np.full(30, 7.0)) == pytest.approx(y)
        x = r.uniform(0, 9, 30)
        assert fit_curve(np.full(30, 4.0), x, method=method).apply(np.full(30, 4.0), x) == pytest.approx(4.0)


def test_what_is_missing_stays_missing_and_is_not_fitted_on():
    lengths, _, scores = simulated(100)
    holes = scores.copy()
    holes[::7] = np.nan
    curve = fit_curve(holes, lengths)
    assert curve.n == int(np.isfinite(holes).sum())
    assert np.isnan(curve.apply(holes, lengths)).tolist() == np.isnan(holes).tolist()
    assert fit_curve(holes[np.isfinite(holes)], lengths[np.isfinite(holes)]) == curve


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_local_regression_beats_a_price_and_a_line_where_the_curve_bends(seed):
    """methods.md C3.5: 0.846 and 0.859 against 0.883; C3.1: Spearman down to 0.05 or less."""
    lengths, quality, scores = simulated(seed=seed)
    raw = accuracy(scores, quality)
    priced = accuracy(penalty(scores, lengths, 0.0027), quality)
    line = accuracy(fit_curve(scores, lengths, method="linear").apply(scores, lengths), quality)
    calibrated = fit_curve(scores, lengths).apply(scores, lengths)
    assert priced == pytest.approx(0.846, abs=0.015)
    assert line == pytest.approx(0.859, abs=0.015)
    assert accuracy(calibrated, quality) == pytest.approx(0.883, abs=0.01)
    assert accuracy(calibrated, quality) > max(raw, priced, line) + 0.01
    assert spearmanr(scores, lengths).statistic > 0.3
    assert abs(spearmanr(calibrated, lengths).statistic) <= 0.05


@pytest.mark.slow
def test_a_curve_of_one_pool_debiases_another():
    lengths, _, scores = simulated(seed=10)
    others, quality, theirs = simulated(seed=11)
    found = fit_curve(scores, lengths).apply(theirs, others)
    assert abs(spearmanr(found, others).statistic) <= 0.05
    assert accuracy(found, quality) > accuracy(theirs, quality) + 0.05


# --- several features ---


def two_features(seed=0, n=1_500):
    r = np.random.default_rng(seed)
    length = np.exp(r.normal(6, 0.6, n))
    marks = r.poisson(length / 150).astype(float)
    quality = r.normal(size=n)
    return {"length": length, "markdown": marks}, quality, quality + np.log(length) + 0.5 * np.sqrt(marks)


def test_several_curves_take_all_their_features_out_in_any_order():
    features, quality, scores = two_features()
    for joint in (False, True):
        curves = fit_curves(scores, features, joint=joint)
        forwards, backwards = scores, scores
        for curve in curves:
            forwards = curve.apply(forwards, features[curve.feature])
        for curve in reversed(curves):
            backwards = curve.apply(backwards, features[curve.feature])
        assert forwards == pytest.approx(backwards)
        left = {name: abs(spearmanr(forwards, column).statistic) for name, column in features.items()}
        assert left["markdown"] < 0.05
        assert left["length"] < (0.05 if joint else 0.25)  # the second curve puts some of the first feature back
        assert np.corrcoef(forwards, quality)[0, 1] > np.corrcoef(scores, quality)[0, 1] + 0.05


def test_a_joint_fit_prefers_no_order_and_shares_what_both_explain():
    features, _, scores = two_features(1)
    one = {curve.feature: curve for curve in fit_curves(scores, features, joint=True)}
    turned = dict(reversed(features.items()))
    other = {curve.feature: curve for curve in fit_curves(scores, turned, joint=True)}
    for name, column in features.items():
        assert one[name].at(column) - one[name].centre == pytest.approx(
            other[name].at(column) - other[name].centre, abs=0.02
        )
    # the marks' own part is 0.5 sqrt(marks): a curve of the marks alone takes in what length does through them
    truth = 0.5 * np.sqrt(features["markdown"])
    alone = fit_curve(scores, features["markdown"]).at(features["markdown"])
    joint = one["markdown"].at(features["markdown"])
    assert np.std(joint - truth) < np.std(alone - truth) / 2


def test_the_second_curve_names_the_scorer_that_holds_the_first():
    features, _, scores = two_features()
    first, second = fit_curves(scores, features, scorer=FittedOn("helpful", "7"))
    assert first.refuses("helpful", "7") == ""
    assert first.refuses("helpful", "8")
    assert second.refuses("helpful-debiased", "7+debiased.abc") == ""
    assert second.refuses("helpful", "7")


# --- the record, and mistakes ---


def test_a_curve_comes_back_from_its_file(tmp_path):
    lengths, _, scores = simulated(100)
    curve = fit_curve(scores, lengths, strength=0.8, scorer=FittedOn("helpful", "1"))
    curve.save(tmp_path / "curve.json")
    assert DebiasCurve.load(tmp_path / "curve.json") == curve
    data = json.loads((tmp_path / "curve.json").read_text())
    assert (data["kind"], data["version"], data["feature"]) == ("debias_curve", 1, "length")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "noise_rates"}, "'kind' must be 'debias_curve'"),
        ({"version": 2}, "reads version 1"),
        ({"extra": 1}, "unknown: 'extra'"),
        ({"x": [2.0, 1.0]}, "x must rise"),
        ({"x": [1.0]}, "have a y each"),
        ({"x": []}, "x must rise"),
        ({"y": [0.0, "1"]}, r"y\[1\] must be a finite number"),
        ({"centre": None}, "centre must be a finite number"),
        ({"strength": -1}, "strength must lie in"),
        ({"method": "spline"}, "no method named 'spline'"),
        ({"feature": ""}, "feature must be a name"),
    ],
)
def test_a_file_that_is_no_curve_is_refused(tmp_path, change, message):
    curve = DebiasCurve("length", "lowess", (1.0, 2.0), (0.0, 1.0), 0.5, n=20)
    (tmp_path / "c.json").write_text(json.dumps({**curve.to_json(), **change}))
    with pytest.raises(UsageError, match=message) as error:
        DebiasCurve.load(tmp_path / "c.json")
    assert "c.json" in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [1.0] * 19, "features": [1.0] * 19}, "19 rows with a score and a feature; a curve needs 20"),
        ({"values": [1.0] * 30, "features": [1.0] * 29}, r"must both have shape \(n,\)"),
        ({"values": [float("inf")] * 30, "features": [1.0] * 30}, "must be finite"),
        ({"fraction": 0.0}, r"fraction must be in \(0, 1\], got 0.0"),
        ({"iterations": -1}, "iterations must be a whole number from 0"),
        ({"half_width": -2.0}, "half_width must lie in"),
    ],
)
def test_arguments_that_cannot_be_right_are_named(arguments, message):
    given = {"values": np.arange(30.0), "features": np.arange(30.0), **arguments}
    with pytest.raises(UsageError, match=message):
        fit_curve(**given)


def test_a_wrong_method_or_shape_is_named():
    with pytest.raises(UnknownNameError, match="Did you mean 'lowess'"):
        fit_curve(np.arange(30.0), np.arange(30.0), method="loess")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="each score needs its feature"):
        DebiasCurve("length", "lowess", (1.0,), (0.0,), 0.0).apply(np.zeros(3), np.zeros(2))
    with pytest.raises(UsageError, match="features is empty"):
        fit_curves(np.arange(30.0), {})

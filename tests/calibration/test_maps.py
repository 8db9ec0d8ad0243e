"""Probability maps: the worked example against an independent optimiser, the properties, the edges, the record."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import expit, logit
from sklearn.isotonic import isotonic_regression

from guerdon.calibration._records import FittedOn
from guerdon.calibration.choice import choose_map, quality
from guerdon.calibration.maps import fit_beta, fit_histogram, fit_isotonic, fit_map, fit_platt, fit_temperature
from guerdon.calibration.probabilities import METHODS, ProbabilityMap, margins_of
from guerdon.rewards.errors import ScaleError, UnknownNameError, UsageError
from guerdon.rewards.evaluation.probabilities import log_loss

P = np.array([0.95, 0.9, 0.85, 0.7, 0.65, 0.4, 0.3, 0.2, 0.1, 0.05])
Y = np.array([1, 1, 0, 1, 0, 1, 0, 0, 0, 0], dtype=float)
MARGINS = np.array([3, 2, 1, 0.5, -0.5, 2.5, -1, 0.2])


@st.composite
def labelled(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds and labels of both classes, neither of them constant."""
    n = draw(st.integers(8, 50))
    z = np.array(draw(st.lists(st.integers(-40, 40), min_size=n, max_size=n))) / 8
    y = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=float)
    z[0], z[1], y[0], y[1] = -1.0, 1.0, 1.0, 0.0  # never separable upwards
    y[2], z[2] = 1.0, 1.5
    return z, y


def nll(p: np.ndarray, y: np.ndarray) -> float:
    return float(log_loss(p, y).mean())


# --- the worked example (methods C4) ---------------------------------------------------------------------------------


def test_one_temperature_of_the_worked_example() -> None:
    fitted = fit_temperature(P, Y, input_scale="probability")
    found = optimize.minimize_scalar(
        lambda t: nll(expit(logit(P) / t), Y), bounds=(0.1, 10), method="bounded", options={"xatol": 1e-10}
    )
    assert fitted.temperature == pytest.approx(found.x, abs=1e-6)
    assert fitted.temperature == pytest.approx(1.2247713, abs=1e-4)
    assert nll(fitted.apply(P), Y) == pytest.approx(0.5055217, abs=1e-7)


def test_unsmoothed_platt_of_the_worked_example() -> None:
    fitted = fit_platt(P, Y, input_scale="probability", smooth=False)
    a, b = fitted.parameters["slope"], fitted.parameters["offset"]
    z, q = logit(P), fitted.apply(P)
    assert (q - Y) @ z == pytest.approx(0, abs=1e-9)  # the likelihood's gradient
    assert (q - Y).sum() == pytest.approx(0, abs=1e-9)
    assert (a, b) == pytest.approx((0.9082108, -0.7096121), abs=3e-5)
    assert nll(q, Y) == pytest.approx(0.4682814, abs=1e-7)


def test_beta_of_the_worked_example() -> None:
    fitted = fit_beta(P, Y, input_scale="probability", smooth=False)
    q = fitted.apply(P)
    for direction in (np.log(P), np.log1p(-P), np.ones(10)):
        assert (q - Y) @ direction == pytest.approx(0, abs=1e-7)
    own = fitted.parameters
    assert (own["a"], own["b"], own["c"]) == pytest.approx((1.658083, 0.393463, 0.404553), abs=7e-5)
    assert nll(q, Y) == pytest.approx(0.4627639, abs=1e-7)


def test_isotonic_of_the_worked_example() -> None:
    fitted = fit_isotonic(P, Y, input_scale="probability", smooth=False)
    assert fitted.apply(P).tolist() == [1, 1, 0.5, 0.5, 0.5, 0.5, 0, 0, 0, 0]


def test_margins_of_the_worked_example() -> None:
    fitted = fit_temperature(MARGINS, 1.0, pairs=True)
    assert fitted.temperature == pytest.approx(0.9578891, abs=3e-6)
    assert (expit(MARGINS / fitted.temperature) - 1) @ MARGINS == pytest.approx(0, abs=1e-9)


def test_smoothed_platt_is_the_fit_of_platts_targets() -> None:
    targets = np.where(Y == 1, 5 / 6, 1 / 8)
    found = optimize.minimize(lambda w: nll(expit(w[0] * logit(P) + w[1]), targets), [1, 0], tol=1e-12)
    fitted = fit_platt(P, Y, input_scale="probability")
    assert (fitted.parameters["slope"], fitted.parameters["offset"]) == pytest.approx(tuple(found.x), abs=1e-5)


def test_a_histogram_says_what_share_of_each_bin_was_right() -> None:
    values, right = np.arange(40.0), np.repeat([0.0, 1.0, 0.0, 1.0], 10)
    fitted = fit_histogram(values, right, input_scale="real", smooth=False)
    assert fitted.apply(np.array([-5, 4, 12, 25, 35, 99])).tolist() == [0, 0, 1, 0, 1, 1]
    assert fit_histogram(values, right, input_scale="real").apply(np.array([0.0, 39]))[1] == pytest.approx(11 / 12)


# --- properties --------------------------------------------------------------------------------------------------


@given(labelled())
@settings(max_examples=200)
def test_a_fitted_map_is_no_worse_than_the_values_on_its_own_rows(rows: tuple[np.ndarray, np.ndarray]) -> None:
    z, y = rows
    before = nll(expit(z), y)
    for method in METHODS:
        if method == "histogram":  # bins may join what the values keep apart
            continue
        try:
            fitted = fit_map(method, z, y, smooth=False)
        except UsageError:
            continue
        assert nll(fitted.apply(z), y) <= before + 1e-9, method


@given(labelled())
@settings(max_examples=200)
def test_a_temperature_keeps_the_ranking(rows: tuple[np.ndarray, np.ndarray]) -> None:
    z, y = rows
    fitted = fit_temperature(z, y)
    if fitted.temperature is not None:
        assert (np.argsort(z, kind="stable") == np.argsort(z / fitted.temperature, kind="stable")).all()
    assert (np.diff(fitted.apply(np.sort(z))) >= 0).all()


@given(labelled())
@settings(max_examples=200)
def test_isotonic_is_monotone_mean_preserving_and_what_scikit_learn_gives(rows: tuple[np.ndarray, np.ndarray]) -> None:
    z, y = rows
    fitted = fit_isotonic(z, y, smooth=False)
    q = fitted.apply(z)
    assert (np.diff(q[np.argsort(z)]) >= -1e-12).all()
    assert q.mean() == pytest.approx(y.mean(), abs=1e-9)
    places = np.unique(z)
    means = np.array([y[z == place].mean() for place in places])
    counts = np.array([(z == place).sum() for place in places], dtype=float)
    assert fitted.apply(places) == pytest.approx(isotonic_regression(means, sample_weight=counts), abs=1e-9)


@given(labelled(), st.sampled_from(METHODS), st.booleans())
@settings(max_examples=100)
def test_maps_of_pairs_are_antisymmetric(rows: tuple[np.ndarray, np.ndarray], method: str, smooth: bool) -> None:
    z, y = rows
    try:
        fitted = fit_map(method, z, y, pairs=True, smooth=smooth)
    except UsageError:
        return
    for margins in (z, np.linspace(-9, 9, 13)):
        assert fitted.apply(margins) + fitted.apply(-margins) == pytest.approx(np.ones(len(margins)), abs=1e-12)


@given(labelled(), st.sampled_from(METHODS))
@settings(max_examples=100)
def test_the_order_in_which_pairs_were_written_changes_no_map(rows: tuple[np.ndarray, np.ndarray], method: str) -> None:
    z, y = rows
    swapped = np.arange(len(z)) % 3 == 0
    other = fit_map(method, np.where(swapped, -z, z), np.where(swapped, 1 - y, y), pairs=True)
    assert other.apply(z) == pytest.approx(fit_map(method, z, y, pairs=True).apply(z), abs=1e-6)


@given(labelled(), st.sampled_from(METHODS))
@settings(max_examples=100)
def test_smoothed_maps_never_claim_certainty(rows: tuple[np.ndarray, np.ndarray], method: str) -> None:
    q = fit_map(method, *rows).apply(np.array([-5.0, 0, 5]))
    assert (q > 0).all()
    assert (q < 1).all()


@given(labelled(), st.sampled_from(METHODS), st.booleans())
@settings(max_examples=100)
def test_a_map_survives_json(rows: tuple[np.ndarray, np.ndarray], method: str, pairs: bool) -> None:
    z, y = rows
    fitted = fit_map(method, z, y, pairs=pairs, scorer=FittedOn("m", "3"))
    again = ProbabilityMap.from_json(json.loads(json.dumps(fitted.to_json())))
    assert again == fitted
    assert (again.apply(z) == fitted.apply(z)).all()


def test_platt_and_beta_of_pairs_are_a_temperature() -> None:
    margins = np.random.default_rng(0).normal(1, 2, 200)
    slope = fit_temperature(margins, 1.0, pairs=True).parameters["slope"]
    platt = fit_platt(margins, 1.0, pairs=True, smooth=False).parameters
    beta = fit_beta(margins, 1.0, pairs=True, smooth=False).parameters
    assert (platt["slope"], platt["offset"]) == pytest.approx((slope, 0), abs=1e-8)
    assert (beta["a"], beta["b"], beta["c"]) == pytest.approx((slope, slope, 0), abs=1e-7)


def test_a_beta_map_never_falls() -> None:
    rng = np.random.default_rng(1)
    p = rng.uniform(0.02, 0.98, 300)
    y = (rng.random(300) < np.where(p < 0.5, 0.5 - 0.4 * p, p)).astype(float)  # falls, then rises
    fitted = fit_beta(p, y, input_scale="probability")
    assert (np.diff(fitted.apply(np.linspace(0.001, 0.999, 99))) >= 0).all()
    turned = fit_beta(p, 1 - (rng.random(300) < p), input_scale="probability")
    assert turned.parameters["a"] == turned.parameters["b"] == 0


def test_scores_in_the_thousands_are_fitted_too() -> None:
    rng = np.random.default_rng(2)
    z = rng.normal(0, 1, 400)
    y = (rng.random(400) < expit(2 * z - 1)).astype(float)
    small, large = (
        fit_platt(z * size + shift, y, input_scale="real", smooth=False) for size, shift in ((1, 0), (4e3, 1e6))
    )
    assert large.apply(z * 4e3 + 1e6) == pytest.approx(small.apply(z), abs=1e-6)


# --- edges --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "right", "told"),
    [
        (np.arange(7.0), np.array([0, 1, 0, 1, 0, 1, 0]), "7 rows are too few"),
        (np.arange(9.0), np.ones(9), "with one class only"),
        (np.full(9, 2.5), np.arange(9) % 2, "every value is 2.5"),
        (np.array([np.nan, *range(8)]), np.arange(9) % 2, "1 of 9 values are not finite"),
        (np.arange(9.0), np.array([np.nan, *[0, 1] * 4]), r"labels must lie in \[0, 1\]"),
        (np.arange(9.0), np.arange(8) % 2, "one label a value"),
        (np.ones((3, 3)), 1.0, "one row of numbers"),
        (["a"] * 9, np.arange(9) % 2, "values must be numbers"),
    ],
)
def test_what_cannot_be_fitted_is_refused(values: np.ndarray, right: Any, told: str) -> None:
    for method in METHODS:
        with pytest.raises(UsageError, match=told):
            fit_map(method, values, right)


@pytest.mark.parametrize("method", ["platt", "beta"])
def test_separable_data_have_no_unsmoothed_fit(method: str) -> None:
    values, right = np.arange(10.0) - 4.5, (np.arange(10) > 4).astype(float)
    for labels in (right, 1 - right):
        with pytest.raises(UsageError, match="a threshold separates the labels"):
            fit_map(method, values, labels, smooth=False)
        assert np.isfinite(fit_map(method, values, labels).apply(values)).all()


def test_values_that_are_worse_than_a_coin_become_a_coin() -> None:
    fitted = fit_temperature(np.arange(10.0) - 4.5, (np.arange(10) < 5).astype(float))
    assert fitted.temperature is None
    assert (fitted.apply(np.array([-3.0, 8])) == 0.5).all()


@pytest.mark.filterwarnings("error")
def test_margins_without_any_relation_are_a_coin_and_no_warning() -> None:
    z, y = np.array([-3, 3, -1, 1, -3, -1, -4, 0.0]) / 8, np.array([1, 0, 1, 0, 0, 0, 0, 1.0])
    assert z @ (y - 0.5) == 0  # the coin is exactly the best: no step from the start improves on it
    for method in ("platt", "beta"):
        assert (fit_map(method, z, y, pairs=True).apply(z) == 0.5).all()


def test_a_map_takes_only_its_scale() -> None:
    with pytest.raises(ScaleError, match="a temperature map takes probability or logit, not 'real'; use platt"):
        fit_temperature(MARGINS, np.arange(8) % 2, input_scale="real")
    with pytest.raises(ScaleError, match=r"\d of 8 values are not on the scale .probability."):
        fit_platt(MARGINS, np.arange(8) % 2, input_scale="probability")
    with pytest.raises(ScaleError, match="not on the scale 'verdict'"):
        fit_platt(np.linspace(0, 1, 8), np.arange(8) % 2, input_scale="verdict")
    with pytest.raises(ScaleError, match="no log-odds"):
        fit_temperature(MARGINS, 1.0, input_scale="verdict", pairs=True)
    with pytest.raises(UnknownNameError, match="Did you mean 'isotonic'"):
        fit_map("isotone", MARGINS, 1.0)
    fitted = fit_platt(P, Y, input_scale="probability")
    with pytest.raises(ScaleError, match=r"1 of 1 values are not on the scale .probability., e\.g\. 1\.5"):
        fitted.apply(np.array([1.5]))
    with pytest.raises(UsageError, match="1 of 2 values are not finite"):
        fitted.apply(np.array([0.5, np.nan]))


def test_a_verdict_becomes_the_share_that_was_right() -> None:
    verdicts, right = np.repeat([0.0, 1.0], [40, 60]), np.concatenate([np.arange(40) < 10, np.arange(60) < 54])
    for method in ("platt", "isotonic"):
        fitted = fit_map(method, verdicts, right, input_scale="verdict", smooth=False)
        assert fitted.apply(np.array([0.0, 1])) == pytest.approx([0.25, 0.9], abs=1e-9)


def test_margins_of_probabilities_are_differences_of_log_odds() -> None:
    assert margins_of(np.array([0.9, 1.0]), np.array([0.1, 0.0]), "probability") == pytest.approx(
        [2 * np.log(9), 2 * np.log(1e12)], rel=1e-4
    )
    assert margins_of(np.array([3.0]), np.array([1.0]), "real").tolist() == [2]


def test_a_map_of_another_version_says_so() -> None:
    fitted = fit_temperature(MARGINS, 1.0, pairs=True, scorer=FittedOn("rm", "1"))
    assert fitted.refuses("rm", "1") == ""
    assert "not on version '2'" in fitted.refuses("rm", "2")
    assert "not of 'other'" in fitted.refuses("other", "1")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "noise_rates"}, "'kind' must be 'probability_map'"),
        ({"version": 2}, "this guerdon reads version 1"),
        ({"temperature": 1.0}, "unknown: 'temperature'"),
        ({"method": "isotope"}, "Did you mean 'isotonic'"),
        ({"parameters": {"slope": "2"}}, "slope must be a finite number"),
        ({"parameters": {"slope": -1.0}}, r"slope must lie in \[0, inf\]"),
        ({"parameters": {"slope": 1.0, "offset": 0.0}}, "unknown: 'offset'"),
        ({"pairs": "yes"}, "pairs must be true or false"),
        ({"n": -1}, "whole number >= 0"),
        ({"input_scale": "odds"}, "a scale is one of"),
        ({"method": "isotonic", "parameters": {"values": [1, 0], "probabilities": [0, 1]}}, "must rise"),
        ({"method": "isotonic", "parameters": {"values": [0, 1], "probabilities": [1, 0]}}, "must not fall"),
        ({"method": "histogram", "parameters": {"edges": [0, 1], "probabilities": [1, 0]}}, "has 3 probabilities"),
        ({"method": "isotonic", "parameters": {"values": [0, 1], "probabilities": [0, 2]}}, r"lie in \[0, 1\]"),
    ],
)
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    good = fit_temperature(MARGINS, 1.0, pairs=True).to_json()
    (tmp_path / "map.json").write_text(json.dumps({**good, **change}))
    with pytest.raises(UsageError, match=told) as caught:
        ProbabilityMap.load(tmp_path / "map.json")
    assert "map.json" in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"kind": 1, "kind": 2}', '{"n": NaN}', "[" * 50_000])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "map.json").write_text(text)
    with pytest.raises(UsageError, match=r"map\.json"):
        ProbabilityMap.load(tmp_path / "map.json")
    with pytest.raises(UsageError, match="cannot read"):
        ProbabilityMap.load(tmp_path / "absent.json")


def test_a_map_is_saved_and_loaded(tmp_path: Path) -> None:
    fitted = fit_isotonic(P, Y, input_scale="probability")
    fitted.save(tmp_path / "map.json")
    assert ProbabilityMap.load(tmp_path / "map.json") == fitted
    with pytest.raises(UsageError, match="cannot write"):
        fitted.save(tmp_path / "no" / "map.json")


# --- the choice ---------------------------------------------------------------------------------------------------


def test_the_true_form_is_chosen() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, 1500)
    assert choose_map(z, rng.random(1500) < expit(z / 3)).map.method == "temperature"
    assert choose_map(z, rng.random(1500) < expit(z / 2 - 1.5)).map.method == "platt"
    steps = np.where(np.abs(z) < 1, 0.5, np.where(z > 0, 0.7, 0.05))
    assert choose_map(z, rng.random(1500) < steps).map.method in ("histogram", "isotonic")


def test_a_tie_goes_to_the_simplest_and_the_figures_are_out_of_sample() -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(0, 1, 400)
    choice = choose_map(z, rng.random(400) < expit(z), seed=1)
    assert choice.map.method == "temperature"
    excess = {c.method: c.excess for c in choice.candidates}
    assert excess[choice.lowest].value == 0
    assert all(c.excess.value >= 0 for c in choice.candidates)
    isotonic = next(c.quality for c in choice.candidates if c.method == "isotonic")
    # in sample it is the best map there is; out of sample it pays for its freedom
    assert isotonic.log_loss.value > choice.chosen.log_loss.value


def test_rows_of_one_cluster_never_help_each_other() -> None:
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(50), 8)
    z = np.repeat(rng.normal(0, 1, 50), 8) + 1e-3 * rng.normal(size=400)
    y = np.repeat(rng.random(50) < 0.5, 8).astype(float)  # labels follow the cluster and nothing else
    apart = choose_map(z, y, clusters=clusters, methods=["isotonic"], input_scale="real").chosen
    together = choose_map(z, y, methods=["isotonic"], input_scale="real").chosen
    assert together.log_loss.value + 0.02 < apart.log_loss.value


def test_a_method_that_cannot_be_fitted_says_why_and_the_others_go_on() -> None:
    values, right = np.arange(40.0) % 2, np.arange(40) % 4 == 0
    choice = choose_map(values, right, input_scale="verdict")
    assert {c.method for c in choice.candidates} == {"platt", "histogram", "isotonic"}
    assert choice.raw is None
    with pytest.raises(UsageError, match="no map can be fitted"):
        choose_map(np.arange(20.0), np.zeros(20))
    with pytest.raises(UsageError, match="cross-fitting needs two of each"):
        choose_map(np.arange(20.0), np.arange(20) % 2, clusters=np.zeros(20, int))
    with pytest.raises(ScaleError):
        choose_map(np.arange(20.0), np.arange(20) % 2, input_scale="real", methods=["temperature"])


def test_quality_of_pairs_is_folded() -> None:
    p, y = np.array([0.9, 0.2, 0.8, 0.4]), np.ones(4)
    swapped = quality(1 - p, 1 - y, pairs=True)
    assert swapped.ece == pytest.approx(quality(p, y, pairs=True).ece)
    assert quality(p, y, pairs=True).table[0].low >= 0.5


def test_debiased_error_is_about_zero_for_calibrated_probabilities() -> None:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(200):
        p = rng.uniform(size=300)
        found.append(quality(p, (rng.random(300) < p).astype(float)))
    assert np.mean([f.squared_error for f in found]) == pytest.approx(0, abs=5e-4)
    assert np.mean([f.ece_mass for f in found]) > 0.03  # what binning alone adds


# --- real scores ---------------------------------------------------------------------------------------------------


def test_one_temperature_is_enough_for_five_published_reward_models(shared_data: Path) -> None:
    """Bar: held-out log-loss of one temperature within 5 % of the best map's (raw margins included)."""
    with gzip.open(shared_data / "scores_judgebench.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    raw = {}
    for name in rows[0]["scores"]:
        margins = np.array([row["scores"][name]["chosen"] - row["scores"][name]["rejected"] for row in rows])
        choice = choose_map(margins, 1.0, pairs=True)
        losses = {c.method: c.quality.log_loss.value for c in choice.candidates}
        raw[name] = choice.raw.log_loss.value
        assert losses["temperature"] <= 1.05 * min(*losses.values(), raw[name]), name
        assert losses["temperature"] < np.log(2), name
        assert choice.map.method == "temperature", name
    assert max(raw.values()) > 2.3  # Skywork's margins are no log-odds: worse than a coin by far

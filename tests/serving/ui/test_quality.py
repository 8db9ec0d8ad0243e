"""The Model tab's figures, against what was put into the store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation.metrics import best_of_n
from guerdon.serving.ui import charts, quality
from guerdon.serving.ui.auditing import Desk
from guerdon.serving.ui.source import Source

pytest.importorskip("sklearn", reason="no scikit-learn: pip install 'guerdon[calibration]'")

LABEL = "column: label"
N, BAD = 60, 14
VALUES = np.array([round(0.2 + 0.01 * i, 3) for i in range(N)] + [0.5] * BAD)
TRUTH = np.array([i % 3 != 0 for i in range(N)] + [True] * BAD, dtype=float)


@pytest.fixture
def figures(source: Source) -> quality.Figures:
    return quality.measure(source, "helpful", LABEL, None)


def test_scores_and_truths_are_those_of_the_file(figures: quality.Figures) -> None:
    assert figures.values.tolist() == VALUES.tolist()
    assert figures.truth.tolist() == TRUTH.tolist()
    assert figures.lengths[0] == len("That makes 2. So \\boxed{2}.")


def test_truths_there_are(source: Source, tmp_path: Path) -> None:
    desk = Desk(source, tmp_path / "labels.jsonl")
    assert quality.truths_there_are(source, "helpful", desk) == [LABEL, "scorer: slow", "scorer: sums"]
    desk.labels.add("sum-1", "ann", True, {})
    assert quality.LABELS in quality.truths_there_are(source, "helpful", desk)
    labelled = quality.measure(source, "helpful", quality.LABELS, desk)
    assert int(labelled.known.sum()) == 1
    by_sums = quality.measure(source, "helpful", "scorer: sums", None)
    assert by_sums.truth.tolist() == TRUTH.tolist()  # that verifier is right about all of them
    with pytest.raises(UsageError, match="no truth is called"):
        quality.measure(source, "helpful", "somebody", None)


def test_auc_is_sklearns(figures: quality.Figures) -> None:
    from sklearn.metrics import roc_auc_score

    assert quality.auc(figures).value == pytest.approx(roc_auc_score(TRUTH, VALUES))


def test_accuracy_counts_yes_from_the_middle_of_the_scale(figures: quality.Figures) -> None:
    assert np.nanmean(quality.right_scores(figures)) == pytest.approx(((VALUES >= 0.5) == TRUTH).mean())


def test_the_reliability_table_holds_every_scored_row(figures: quality.Figures, source: Source) -> None:
    bins = quality.reliability(figures)
    assert bins is not None
    assert sum(each.n for each in bins) == N + BAD
    assert quality.reliability(quality.measure(source, "sums", LABEL, None)) is None  # verdicts claim nothing


def test_the_histogram_counts_both_sides(figures: quality.Figures) -> None:
    found = quality.spread(figures)
    assert found is not None
    _, right, wrong = found
    assert (sum(right), sum(wrong)) == (int(TRUTH.sum()), int((1 - TRUTH).sum()))


def test_best_of_k_is_the_mean_over_prompts(figures: quality.Figures) -> None:
    found = quality.best_of(figures)
    prompts, left_out, curve, oracle, _, _ = found
    groups = [slice(3 * i, 3 * i + 3) for i in range(N // 3)]
    by_hand = np.mean([best_of_n(VALUES[g], TRUTH[g], 3) for g in groups], axis=0)
    assert (prompts, left_out) == (20, BAD)
    assert curve.tolist() == pytest.approx(by_hand.tolist())
    assert oracle[-1] == 1.0


def test_drift_has_a_series_for_each_version(figures: quality.Figures) -> None:
    series = dict(quality.drift(figures))
    assert set(series) == {"m1", ""}
    points = series["m1"]
    assert [figure.n for _, figure in points] == [10] * 6
    assert points[0][1].value == pytest.approx(VALUES[:10].mean())
    assert points[5][1].value == pytest.approx(VALUES[50:60].mean())


def test_subsets_are_those_of_the_column(figures: quality.Figures) -> None:
    rows = {name: (average, accuracy) for name, average, accuracy in quality.subsets(figures, "source")}
    average, accuracy = rows["even"]
    assert average.n == accuracy.n == 30
    assert average.value == pytest.approx(VALUES[0:N:2].mean())
    assert "source" in quality.columns_to_split_by([row for row in figures.pool.rows if row.name.startswith("sum")])  # type: ignore[union-attr]


def test_a_curve_of_length_is_fitted_and_taken_out(figures: quality.Figures) -> None:
    curve, values, lengths, after = quality.curve(figures)
    assert curve.n == N + BAD
    assert after.tolist() == pytest.approx(curve.apply(values, lengths).tolist())


def test_without_a_truth_only_what_needs_one_is_missing(source: Source) -> None:
    figures = quality.measure(source, "helpful", None, None)
    assert quality.spread(figures) is None
    assert quality.best_of(figures) is None
    assert quality.auc(figures).value is None
    assert quality.drift(figures)


def test_plots_are_whole_and_tell_series_apart_without_colour(
    figures: quality.Figures, hostile: tuple[str, ...]
) -> None:
    from xml.etree import ElementTree

    found = quality.best_of(figures)
    spread = quality.spread(figures)
    assert spread is not None
    plots = [
        charts.spread(*spread),
        charts.best_of(found[2].tolist(), found[3].tolist()),
        charts.overoptimisation([0.0, 0.1, 0.15, 0.1], [0.0, 0.2, 0.4, 0.6], (0.5, 0.3)),
        charts.drift(quality.drift(figures), over="step"),
        charts.subsets([*quality.subsets(figures, "source")], scale=(0.0, 1.0)),
    ]
    for svg in plots:
        ElementTree.fromstring(svg)
        for payload in hostile:
            assert "<" not in payload or payload not in svg
    assert {"fill1", "fill2"} <= set(plots[0].split('"'))
    assert {"curve1", "curve3"} <= set(plots[1].split('"'))
    assert "<circle" in plots[4]

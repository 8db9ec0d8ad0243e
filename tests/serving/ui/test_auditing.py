"""Labels are kept at once, in the file that the command line reads; what they say is what ``guerdon audit`` says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from guerdon import verifiers
from guerdon.calibration.rates import NoiseRates
from guerdon.calibration.wrap import Corrected
from guerdon.rewards.errors import UsageError
from guerdon.serving.cli import app
from guerdon.serving.commands import audit_data
from guerdon.serving.store import Store
from guerdon.serving.ui import rates
from guerdon.serving.ui.auditing import Design, Desk
from guerdon.serving.ui.labels import Labels, agreement_of
from guerdon.serving.ui.source import Source

pytest.importorskip("scipy", reason="no scipy: pip install 'guerdon[calibration]'")

DESIGN = Design("sums", "meta:source", budget=30)
BY = {"scorer": "numeric", "stratum": ""}


@pytest.fixture
def desk(source: Source, tmp_path: Path) -> Desk:
    return Desk(source, tmp_path / "labels.jsonl")


def truth(desk: Desk, name: str) -> bool:
    study = desk.study(DESIGN)
    return bool(desk.row(study, name).meta["label"])


# --- the file ------------------------------------------------------------------------------------------------------


def test_a_label_is_on_the_disk_when_the_call_returns(tmp_path: Path) -> None:
    labels = Labels(tmp_path / "labels.jsonl")
    labels.add("a", "ann", True, BY)
    assert json.loads(labels.path.read_text()) == {"id": "a", "label": True, "auditor": "ann", "drawn_by": BY}
    assert audit_data.read_labels(labels.path)["a"].right
    assert Labels(labels.path).by == {"a": {"ann": True}}


def test_a_line_that_a_crash_cut_off_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    Labels(path).add("a", "ann", True, BY)
    with path.open("a") as stream:
        stream.write('{"id": "b", "lab')
    labels = Labels(path)
    assert list(labels.latest) == ["a"]
    labels.add("c", "ann", False, BY)
    assert list(Labels(path).latest) == ["a", "c"]


def test_what_is_taken_back_is_gone_and_another_ones_label_counts_again(tmp_path: Path) -> None:
    labels = Labels(tmp_path / "labels.jsonl")
    labels.add("a", "ann", True, BY)
    labels.add("a", "bob", False, BY)
    assert not labels.latest["a"].right
    labels.take_back("a", "bob", BY)
    assert labels.latest["a"].right
    assert labels.by["a"] == {"ann": True}
    labels.take_back("a", "ann", BY)
    assert "a" not in labels.latest
    assert "a" not in labels.by


def test_lines_of_the_command_line_are_seen_at_once(tmp_path: Path) -> None:
    labels = Labels(tmp_path / "labels.jsonl")
    assert not labels.latest
    audit_data.save_label(labels.path, {"id": "x", "label": False})
    assert labels.by == {"x": {"": False}}


def test_a_file_that_cannot_be_written_is_an_error_and_no_label(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    labels = Labels(tmp_path / "file" / "labels.jsonl")
    with pytest.raises(UsageError, match="not kept"):
        labels.add("a", "ann", True, BY)


def test_kappa_is_cohens() -> None:
    """By hand: 35 of 50 the same, 25 and 30 times yes, so chance gives 0.5 * 0.6 + 0.5 * 0.4."""
    votes = {}
    table = ((True, True, 20), (True, False, 5), (False, True, 10), (False, False, 15))
    for kind, (first, second, n) in enumerate(table):
        votes |= {f"{kind}-{i}": {"A": first, "B": second} for i in range(n)}
    found = agreement_of("A", "B", votes)
    assert (found.n, found.same) == (50, 35)
    assert found.kappa == pytest.approx(0.4)  # (0.7 - 0.5) / 0.5
    assert agreement_of("A", "B", {"x": {"A": True, "B": True}}).kappa is None


# --- the desk ------------------------------------------------------------------------------------------------------


def test_the_queue_is_the_designs(desk: Desk) -> None:
    from guerdon.calibration.audit import choose

    study = desk.study(DESIGN)
    plan = choose(study.judged.verdicts, study.keys, budget=30)
    assert study.queue == plan.indices.tolist()
    assert study.judged.scorer == "numeric"  # as it is called where its rates will be applied


def test_each_auditor_of_new_samples_sees_another_one(desk: Desk) -> None:
    study = desk.study(DESIGN)
    ann, bob = desk.next(study, "ann"), desk.next(study, "bob")
    assert ann != bob
    assert desk.next(study, "ann") == ann  # a page that is loaded again


def test_a_second_keystroke_labels_nothing(desk: Desk) -> None:
    study = desk.study(DESIGN)
    name = desk.next(study, "ann")
    assert name is not None
    assert desk.label(study, "ann", name, True)
    assert not desk.label(study, "ann", name, True)
    desk.next(study, "ann")
    assert not desk.label(study, "ann", name, False)
    assert desk.labels.by == {name: {"ann": True}}


def test_undo_goes_back_through_labels_and_skips(desk: Desk) -> None:
    study = desk.study(DESIGN)
    first = desk.next(study, "ann")
    assert first is not None
    desk.label(study, "ann", first, True)
    second = desk.next(study, "ann")
    assert second is not None
    desk.skip(study, "ann", second)
    third = desk.next(study, "ann")
    assert third not in (first, second, None)
    assert desk.undo(study, "ann") == second
    assert desk.undo(study, "ann") == first
    assert not desk.labels.latest
    assert desk.undo(study, "ann") is None
    assert desk.label(study, "ann", first, False)  # it is shown again


def test_second_opinions_and_disputes(desk: Desk) -> None:
    study = desk.study(DESIGN)
    name = desk.next(study, "ann")
    assert name is not None
    desk.label(study, "ann", name, True)
    assert desk.next(study, "ann", "second opinions") is None
    assert desk.next(study, "bob", "second opinions") == name
    desk.label(study, "bob", name, False)
    assert desk.labels.disputed() == [name]
    assert desk.next(study, "eve", "disputed") == name
    assert "Cohen" in rates.agreement(desk.labels.agreement())


def test_what_was_labelled_is_not_drawn_again(desk: Desk) -> None:
    study = desk.study(DESIGN)
    while (name := desk.next(study, "ann")) is not None:
        desk.label(study, "ann", name, truth(desk, name))
    assert desk.progress(study) == (30, 30)
    more = desk.study(DESIGN, again=True)
    assert not {more.judged.ids[place] for place in more.queue} & set(desk.labels.latest)


def test_rates_are_those_of_the_command_line(desk: Desk, file: Path, tmp_path: Path) -> None:
    study = desk.study(DESIGN)
    while (name := desk.next(study, "ann")) is not None:
        desk.label(study, "ann", name, truth(desk, name) != (name == "sum-9"))
    path, useless = desk.export(study)
    assert not useless
    out = tmp_path / "cli.json"
    command = ["audit", "estimate", str(file), "--scorer", "numeric", "--stratum", "meta:source"]
    result = CliRunner().invoke(app, [*command, "--labels", str(desk.labels.path), "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert NoiseRates.load(path) == NoiseRates.load(out)
    assert Corrected(verifiers.load("numeric"), path).rates.stratum == "meta:source"


def test_rates_of_a_few_labels_are_written_with_a_warning(desk: Desk) -> None:
    study = desk.study(DESIGN)
    for _ in range(6):
        name = desk.next(study, "ann")
        assert name is not None
        desk.label(study, "ann", name, truth(desk, name))
    assert "not known to be better than chance" in desk.export(study)[1]


def test_the_interval_narrows_with_labels(desk: Desk) -> None:
    study, widths = desk.study(DESIGN), []
    for n in range(1, 31):
        name = desk.next(study, "ann")
        assert name is not None
        desk.label(study, "ann", name, truth(desk, name))
        if n in (12, 30):
            channel = desk.audit(study).found[""].channel
            assert channel is not None
            assert channel.false_negative_interval is not None
            widths.append(channel.false_negative_interval.width)
    assert widths[1] < widths[0]
    html = rates.rates(desk, study)
    for word in ("all samples", "even", "false negatives", "<svg", "labels needed"):
        assert word in html


def test_labels_of_another_scorers_draw_are_left_out(desk: Desk) -> None:
    study = desk.study(DESIGN)
    name = study.judged.ids[study.queue[0]]
    desk.labels.add(name, "ann", True, {"scorer": "other", "stratum": "meta:source"})
    with pytest.raises(UsageError, match="no scored sample has a label"):
        desk.audit(study)


def test_labels_drawn_in_two_ways_are_refused(desk: Desk) -> None:
    study = desk.study(DESIGN)
    for place, spec in zip(study.queue, ("meta:source", "meta:step"), strict=False):
        desk.labels.add(study.judged.ids[place], "ann", True, {"scorer": "numeric", "stratum": spec})
    with pytest.raises(UsageError, match="different strata"):
        desk.audit(study)


def test_a_wrong_design_is_named(desk: Desk) -> None:
    with pytest.raises(UsageError, match="no scores of 'nobody'"):
        desk.study(Design("nobody"))
    with pytest.raises(UsageError, match="nothing that is known"):
        desk.study(Design("sums", "source"))
    with pytest.raises(UsageError, match="--threshold"):
        desk.study(Design("helpful"))
    assert desk.study(Design("helpful", threshold=0.5, budget=5)).queue


def test_strata_of_a_hostile_source_are_text(desk: Desk, hostile: tuple[str, ...]) -> None:
    study = desk.study(DESIGN)
    for place in study.queue[:12]:
        name = study.judged.ids[place]
        desk.labels.add(name, "<script>alert(1)</script>", truth(desk, name), study.drawn_by)
    html = rates.rates(desk, study)
    assert "<script" not in html
    assert "<img" not in html


def test_a_store_of_another_process_may_be_audited(database: Path, tmp_path: Path) -> None:
    """Reading takes no lock that a server would wait for."""
    with Store.open(database) as one, Store.open(database) as other:
        desks = [Desk(Source(store), tmp_path / "labels") for store in (one, other)]
        assert desks[0].study(DESIGN).queue == desks[1].study(DESIGN).queue

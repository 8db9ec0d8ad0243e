"""Everybody's verdict, two responses, a group before and after a correction."""

from __future__ import annotations

import pytest

from guerdon.calibration.rates import Channel, NoiseRates
from guerdon.rewards.errors import OutageError, UnknownNameError, UsageError
from guerdon.serving.ui import trying
from guerdon.serving.ui.bench import Bench

PROMPT = "What is 6 times 7?"


def test_every_verifier_that_needs_no_options_is_asked(bench: Bench) -> None:
    from guerdon.serving.demo import VERIFIERS

    assert {*VERIFIERS, "math"} <= set(bench.names())
    html = trying.verdicts(bench, PROMPT, r"It is \boxed{42}.", "", "42")
    assert all(name in html for name in bench.names())
    assert "✓ 1" in html
    assert '<mark title="what was read as the answer">42</mark>' in html


def test_math_says_how_it_read_both_sides(bench: Bench) -> None:
    html = trying.verdicts(bench, "", r"\boxed{x > 3}", "", r"(3, \infty)")
    assert "How math read both sides" in html
    assert "expected" in html


def test_two_responses_are_compared(bench: Bench) -> None:
    html = trying.verdicts(bench, PROMPT, r"\boxed{42}", r"\boxed{41}", "42")
    assert "<b>A</b> by 1" in html
    assert "no difference" in trying.verdicts(bench, PROMPT, r"\boxed{41}", r"\boxed{40}", "42")


def test_an_unknown_scorer_is_named_and_a_stopped_engine_is_an_outage(bench: Bench) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'math'"):
        bench.score("maths", [])
    from types import SimpleNamespace

    engine: object = SimpleNamespace(lanes={"x": SimpleNamespace()})
    with pytest.raises(OutageError, match="not started"):
        Bench(engine, lambda: None).score("x", [])  # type: ignore[arg-type]


def test_nothing_is_asked_of_an_empty_response(bench: Bench) -> None:
    assert "No response yet" in trying.verdicts(bench, PROMPT, " ", "", "42")


def test_what_is_too_long_to_paste_is_refused(bench: Bench) -> None:
    with pytest.raises(UsageError, match="guerdon score"):
        trying.verdicts(bench, PROMPT, "x" * 500_000, "", "")


def test_hostile_texts_are_text(bench: Bench, hostile: tuple[str, ...]) -> None:
    for payload in hostile:
        for html in (
            trying.verdicts(bench, payload, payload, payload + "2", payload),
            trying.group(bench, "exact", payload, f"{payload}\n---\nother", payload, 0.1, 0.1, None, "grpo"),
        ):
            for start in ("<script", "<img", "<svg", "<style", "<iframe", "<a ", "<h1", "<link", "<video", "<object"):
                assert start not in html, payload


# --- a group -------------------------------------------------------------------------------------------------------

GROUP = "\\boxed{42}\n---\n\\boxed{41}\n ---\nIt is 42.\n\n---\n\n"


def test_a_group_is_split_at_its_lines() -> None:
    assert trying.split(GROUP) == [r"\boxed{42}", r"\boxed{41}", "It is 42."]


def test_one_pair_of_rates_changes_nothing_for_grpo_and_that_is_said(bench: Bench) -> None:
    html = trying.group(bench, "numeric", PROMPT, GROUP, "42", 0.1, 0.2, None, "grpo")
    assert "The correction has no effect here" in html
    # (R - 0.1) / (1 - 0.1 - 0.2), by hand
    assert "1.286" in html
    assert "-0.1429" in html


def test_rates_by_stratum_change_the_update(bench: Bench) -> None:
    channels = {"": Channel(0.1, 0.1), "boxed": Channel(0.05, 0.1), "plain": Channel(0.3, 0.2)}
    rates = NoiseRates("numeric", "", "details:style", channels)
    html = trying.group(bench, "numeric", PROMPT, GROUP, "42", None, None, rates, "dr_grpo")
    assert "changes the update" in html


def test_a_scorer_of_another_scale_has_no_error_rates(bench: Bench) -> None:
    class Voices(Bench):
        def voices(self):  # type: ignore[no-untyped-def]
            from dataclasses import replace

            return [replace(voice, scale="real") for voice in super().voices()]

    other = Voices(None, lambda: None)
    assert "gives no verdicts" in trying.group(other, "numeric", PROMPT, GROUP, "42", 0.1, 0.1, None, "grpo")


def test_rates_that_are_missing_are_asked_for(bench: Bench) -> None:
    html = trying.group(bench, "numeric", PROMPT, GROUP, "42", None, 0.1, None, "rloo")
    assert "Give both error rates" in html
    assert "+0.5" in html  # leave one out: 1 - mean(0, 1), by hand


def test_one_response_is_no_group(bench: Bench) -> None:
    assert "at least two" in trying.group(bench, "numeric", PROMPT, "one", "42", 0.1, 0.1, None, "grpo")
    with pytest.raises(UsageError, match="at most 64"):
        trying.group(bench, "numeric", PROMPT, "x\n---\n" * 99, "42", 0.1, 0.1, None, "grpo")

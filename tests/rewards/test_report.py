"""The three written forms of a report: complete, safe with any text, honest in their sentence, and standing alone."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.rewards import Preference, Ranking, Sample, Score, pointwise
from guerdon.rewards.evaluate import evaluate
from guerdon.rewards.evaluation.intervals import Estimate
from guerdon.rewards.evaluation.report_markdown import escape
from guerdon.rewards.evaluation.report_svg import round_step, shorten
from guerdon.rewards.evaluation.report_tables import clean, number, signed
from guerdon.rewards.report import Report, Ruler, Section

HOSTILE = "</script><script>alert('x')</script><img src=x onerror=alert(1)> [a](http://evil) `|`\n# no \u202ebidi \x00"


def noisy(sample: Sample) -> Score:
    """A scorer with every trait: noise, a taste for length, some too long, some cut."""
    n = len(sample.response_text)
    if n > 95:
        return Score.unscored(f"{n} tokens: {HOSTILE}", {"over_long": True}, status="refused")
    draw = random.Random(sample.response_text).gauss(0, 1)
    return Score(("good" in sample.response_text) + draw + n / 60, details={"cut": int(n > 90)})


def full_report(title: str = "all kinds", label: str = HOSTILE) -> Report:
    """A report with every part that there is."""
    generator = random.Random(0)

    def text(kind: str) -> str:
        return f"{kind} {'x' * generator.randint(0, 92)} {generator.random()}"

    styles, models = ("concise", "detailed_plain", "detailed_markdown"), ("m1", "m2", "m3", f"m4 {label}")
    pairs = [
        Preference(
            f"prompt {i // 3}",
            text("good"),
            text("bad"),
            probability=0.5 if i % 11 == 0 else 0.9,
            weight=1 + i % 2,
            meta={
                "source": f"{label} {i % 3}",
                "category": f"c{i % 5}",
                "chosen_style": styles[i % 3],
                "rejected_style": styles[i // 3 % 3],
                "difficulty": ("easy", "normal", "hard")[i % 3],
                "chosen_model": models[i % 4],
                "rejected_model": models[(i + 1 + i // 4 % 3) % 4],
            },
        )
        for i in range(240)
    ]
    rankings = [Ranking(f"r{i}", [text("good"), text("bad"), text("bad")], [0, 1, 1]) for i in range(30)]
    samples = [
        Sample(f"s{i}", text("good" if right else "bad"), group=f"g{i}", meta={"label": right, "source": f"b{i % 2}"})
        for i in range(30)
        for _ in range(8)
        for right in [generator.random() < 0.4]
    ]
    scorer: Any = pointwise(noisy, scale="logit", name=f"model {label}", version="1")
    scorer.temperature = 1.5
    sections = {f"{title} {label}": pairs, "rankings": rankings, "samples": samples}
    return evaluate(scorer, sections)


@pytest.fixture(scope="module")
def report() -> Report:
    return full_report()


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [n for item in value.values() for n in numbers(item)]
    if isinstance(value, list):
        return [n for item in value for n in numbers(item)]
    return [value] if isinstance(value, float) else []


def holes(value: Any, path: str = "") -> list[str]:
    """Places of estimates without a value and without a reason."""
    if isinstance(value, dict):
        here = (
            [path]
            if {"value", "reason", "clusters"} <= value.keys() and value["value"] is None and not value["reason"]
            else []
        )
        return here + [hole for key, item in value.items() for hole in holes(item, f"{path}.{key}")]
    if isinstance(value, list):
        return [hole for i, item in enumerate(value) for hole in holes(item, f"{path}[{i}]")]
    return []


# ---------------------------------------------------------------------------------------------------- JSON


def test_every_part_is_there_and_every_number_is_finite_or_null_with_a_reason(report: Report) -> None:
    data = json.loads(report.to_json(), parse_constant=lambda text: pytest.fail(f"{text} in the JSON"))
    assert data["format"] == "guerdon-evaluation/1"
    pairs, rankings, samples = data["sections"]
    for part in ("pairs", "ties", "styles", "battles", "rulers", "groups", "worst"):
        assert pairs[part], part
    assert rankings["ranked"]
    assert samples["correctness"]["best_of"]
    found = numbers(data)
    assert len(found) > 500
    assert all(math.isfinite(n) for n in found)
    assert holes(data) == []


def test_an_estimate_that_does_not_exist_is_null_with_its_reason() -> None:
    mute = pointwise(lambda sample: None, scale="logit", name="mute")
    data = json.loads(evaluate(mute, [Preference("p", "a", "b")]).to_json())
    headline = data["sections"][0]["headline"]
    assert headline["value"] is None
    assert headline["reason"] == "no row has a score on both sides"
    assert holes(data) == []


def test_two_evaluations_write_the_same_json_but_for_the_seconds(report: Report) -> None:
    again = replace(full_report(), seconds=report.seconds)
    assert again.to_json() == report.to_json()
    assert again.to_html() == report.to_html()


def test_keys_stand_in_the_order_of_the_fields(report: Report) -> None:
    data = json.loads(report.to_json())
    assert list(data)[:4] == ["format", "scorer", "version", "scale"]
    assert list(data["sections"][0])[:6] == ["name", "kind", "measure", "unit", "counts", "headline"]


# ---------------------------------------------------------------------------------------------------- Markdown


def test_tables_of_the_markdown_are_whole_whatever_the_names(report: Report) -> None:
    text = report.to_markdown()
    width = 0
    for line in text.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1
        if not line.startswith("|"):
            width = 0
            continue
        width = width or cells
        assert cells == width, line
    assert "<script" not in text
    assert re.search(r"</?[a-z]", text) is None, "HTML from data"
    assert "](http" not in text
    assert "\u202e" not in text
    assert "\x00" not in text


def test_the_markdown_holds_what_every_evaluation_must_print(report: Report) -> None:
    text = report.to_markdown()
    for wanted in (
        "accuracy",
        "tie rate of the scorer",
        "length-balanced accuracy",
        "longer response is right",
        "Spearman(margin, length difference)",
        "with the label held fixed",
        "| length |",
        "| markdown |",
        "| random |",
        "log-loss",
        "Brier",
        "ECE equal width",
        "ECE equal mass",
        "fitted temperature",
        "with the scorer's own temperature",
        "Reliability, as given",
        "over-long",
        "truncated",
        "worst source",
        "10 % quantile over",
        "one at a time",
        "in reversed order",
        "mean reciprocal rank",
        "NDCG",
        "recovery (chosen − mean) / (best − mean)",
        "rank correlation inside a prompt",
        "row-wise Pearson",
        "confidence agreement",
        "Best of k",
        "KL (nats)",
        "AUC over all responses",
        "easy | normal | hard",
        "JudgeBench",
    ):
        assert wanted in text, wanted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("snake_case stays", "snake_case stays"),
        ("_emphasis_ *bold*", r"\_emphasis\_ \*bold\*"),
        ("a|b", r"a\|b"),
        ("[x](y) [0.1, 0.2]", r"[x]\(y) [0.1, 0.2]"),
        ("two\nlines\t", "two lines"),
        ("<b>&amp;", "&lt;b>&amp;amp;"),
    ],
)
def test_markup_in_data_is_shown_as_text(text: str, shown: str) -> None:
    assert escape(text) == shown


# ---------------------------------------------------------------------------------------------------- HTML


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that every element is closed where it should be."""

    VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_page_asks_for_nothing_and_runs_nothing(report: Report) -> None:
    html = report.to_html()
    page = Page(html)
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "use"}
    names = {name for _, name, _ in page.attributes}
    assert not names & {"src", "srcset", "data", "action", "xlink:href", "background", "poster"}
    assert not [name for name in names if name.startswith("on")]
    assert {value[0] for _, name, value in page.attributes if name == "href"} == {"#"}
    assert "@import" not in html
    assert re.findall(r"url\(([^)]*)\)", html) == ["#hatch"]
    policy = [value for tag, name, value in page.attributes if tag == "meta" and name == "content"]
    assert "default-src 'none'; style-src 'unsafe-inline'" in policy


def test_text_from_data_is_shown_and_is_never_markup(report: Report) -> None:
    page = Page(report.to_html())
    shown = "".join(page.words)
    assert "</script><script>alert('x')</script>" in shown
    assert "\u202e" not in shown
    assert "\x00" not in shown


def test_the_page_has_every_plot_and_every_plot_says_what_it_is(report: Report) -> None:
    page = Page(report.to_html())
    labels = {value for tag, name, value in page.attributes if tag == "svg" and name == "aria-label"}
    assert labels == {
        "Reliability diagram",
        "Margins of right and wrong pairs",
        "Accuracy by length ratio",
        "Headline by group",
        "Best of k",
        "Ratings of models",
    }
    assert any("matrix" in value for tag, name, value in page.attributes if tag == "table" and name == "class")


def test_coordinates_of_plots_are_finite_and_inside_their_frame(report: Report) -> None:
    page = Page(report.to_html())
    for tag, name, value in page.attributes:
        if name in ("x", "x1", "x2", "cx", "y", "y1", "y2", "cy", "r", "width", "height") and tag in (
            "line",
            "circle",
            "rect",
            "text",
        ):
            assert -8 <= float(value) <= 1000, (tag, name, value)


def test_ids_are_unique_and_links_lead_to_them(report: Report) -> None:
    page = Page(report.to_html())
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for _, name, value in page.attributes if name == "href"} <= set(ids)


def test_every_class_of_the_plots_has_a_style(report: Report) -> None:
    html = report.to_html()
    style = html[html.index("<style>") : html.index("</style>")]
    page = Page(html)
    used = {css for tag, name, value in page.attributes if name == "class" for css in value.split()}
    unstyled = {css for css in used if f".{css}" not in style}
    assert unstyled <= {"tick", "legend"}, unstyled


# ---------------------------------------------------------------------------------------------------- sentence


def section_with(headline: Estimate, ruler: float, gap: tuple[float, float, float], chance: float = 0.5) -> Section:
    """A section with a headline of 0.65 and one content ruler."""
    section = evaluate(
        pointwise(noisy, scale="logit"), [Preference("p", "a", "b"), Preference("q", "c", "d")], repeat=0
    )
    length = Ruler("length", Estimate(ruler, n=100), Estimate(0.5), Estimate(*gap))
    coin = Ruler("random", Estimate(0.99, n=100), Estimate(0.5), Estimate(0.0, -0.1, 0.1))
    return replace(section.sections[0], headline=headline, rulers=(length, coin), chance=chance)


HEADLINE = Estimate(0.652, 0.62, 0.684, n=1039, clusters=366)


@pytest.mark.parametrize(
    ("ruler", "gap", "said"),
    [
        (
            0.683,
            (-0.031, -0.06, -0.002),
            "the length ruler gets 0.683 on the same pairs. The scorer is behind by 0.031 [0.002, 0.060].",
        ),
        (
            0.6,
            (0.052, 0.01, 0.09),
            "the length ruler gets 0.600 on the same pairs. The scorer is ahead by 0.052 [0.010, 0.090].",
        ),
        (0.683, (-0.031, -0.07, 0.01), "The difference of -0.031 [-0.070, +0.010] may be chance."),
        (0.652, (0.0, 0.0, 0.0), "There is no difference."),
        (0.3, (0.35, 0.3, 0.4), "the length ruler gets 0.300 on the same pairs; chance is 0.500. Above chance."),
    ],
)
def test_the_sentence_reads_the_headline_against_the_best_ruler(
    ruler: float, gap: tuple[float, float, float], said: str
) -> None:
    sentence = section_with(HEADLINE, ruler, gap).sentence()
    assert sentence.startswith("Accuracy 0.652 [0.620, 0.684] on 1,039 pairs; ")
    assert sentence.endswith(said)
    assert "random" not in sentence, "what a coin got by luck is no bar"


def test_the_sentence_says_when_a_headline_is_chance_or_below_it() -> None:
    low = replace(HEADLINE, value=0.41, low=0.37, high=0.45)
    assert section_with(low, 0.3, (0.11, 0.1, 0.12)).sentence().endswith("chance is 0.500. Below chance.")
    even = replace(HEADLINE, value=0.51, low=0.47, high=0.55)
    assert section_with(even, 0.3, (0.2, 0.1, 0.3)).sentence().endswith("This may be chance.")
    assert section_with(Estimate.missing("no row has a score on both sides"), 0.6, (0, 0, 0)).sentence() == (
        "No accuracy: no row has a score on both sides."
    )


# ---------------------------------------------------------------------------------------------------- the rest


def test_saving_makes_the_folder_and_gives_three_files(report: Report, tmp_path: Path) -> None:
    paths = report.save(tmp_path / "new" / "folder")
    assert {form: path.name for form, path in paths.items()} == {
        "json": "report.json",
        "md": "report.md",
        "html": "report.html",
    }
    assert paths["json"].read_text(encoding="utf-8") == report.to_json()


def test_half_a_surrogate_pair_in_a_name_does_not_cost_the_report(tmp_path: Path) -> None:
    records = [Preference("p", "a", "b", meta={"source": "x\ud800"}), Preference("q", "a", "b", meta={"source": "y"})]
    paths = evaluate(pointwise(noisy, scale="logit", name="\udc00"), records).save(tmp_path)
    assert json.loads(paths["json"].read_text(encoding="utf-8"))["scorer"] == "\udc00"


def test_the_summary_has_a_line_for_what_must_be_seen_at_once(report: Report) -> None:
    rows = report.summary_table()
    measures = {row.measure for row in rows}
    assert {"accuracy", "length-balanced", "tie rate", "worst source", "top-1 accuracy", "AUC"} <= measures
    assert "easy / normal / hard" in measures
    assert any("over-long" in row.remark and "truncated" in row.remark for row in rows)
    assert rows[-1].section == "repeatability"
    assert all(
        "\n" not in field and "\x00" not in field for row in rows for field in (row.section, row.value, row.remark)
    )


@given(st.text())
def test_cleaned_text_is_one_line_that_encodes(text: str) -> None:
    found = clean(text + "\ud800\n")
    found.encode()
    assert "\n" not in found
    assert clean(found) == found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0.000"),
        (0.65249, "0.652"),
        (-0.5, "-0.500"),
        (12.5, "12.500"),
        (3e-7, "3.00e-07"),
        (2e9, "2.00e+09"),
    ],
)
def test_numbers_are_short_and_never_rounded_to_nothing(value: float | None, text: str) -> None:
    assert number(value) == text


def test_a_difference_shows_its_sign() -> None:
    assert signed(Estimate(0.1, -0.2, 0.4)) == "+0.100 [-0.200, +0.400]"
    assert signed(Estimate.missing("none")) == "–"


@given(st.floats(1e-6, 1e9))
def test_ticks_are_round_and_not_too_many(size: float) -> None:
    step = round_step(size)
    assert size * (1 - 1e-6) <= step <= size * 2.5 * (1 + 1e-6)
    assert float(f"{step:.0e}") == pytest.approx(step)


def test_long_names_keep_their_end() -> None:
    assert shorten("Helpfulness/Open QA/Factual") == "…ess/Open QA/Factual"
    assert len(shorten("x" * 99)) == 20
    assert shorten("short") == "short"

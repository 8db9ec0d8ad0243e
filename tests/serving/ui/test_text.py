"""Nothing that a model writes is anything but text, and what is marked is what the verifier read."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from guerdon.serving.ui import text

OURS = {"div", "mark", "i", "span"}


class Parsed(HTMLParser):
    """What a browser would see: elements with their attributes, and the text of all."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.words = ""
        self.marked = ""
        self._inside = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self._inside = self._inside or tag == "mark"

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "mark"

    def handle_data(self, data: str) -> None:
        self.words += data
        if self._inside:
            self.marked += data


def test_hostile_text_makes_no_element_and_no_attribute(hostile: tuple[str, ...]) -> None:
    for payload in hostile:
        for html in (
            text.show(payload),
            text.show(payload, (0, len(payload))),
            text.word(payload),
            text.plain(payload),
        ):
            parsed = Parsed(html)
            assert set(parsed.tags) <= OURS, payload
            assert parsed.attributes <= {"class", "dir", "title"}, payload


def test_what_gradio_would_act_upon_cannot_be_formed(hostile: tuple[str, ...]) -> None:
    """Its HTML component reads template strings and Handlebars."""
    for payload in (*hostile, "${x}", "{{x}}", "`", "@children"):
        assert not set("${}`") & set(text.show(payload, (0, 1))), payload


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Zl", "Zp")), max_size=300))
def test_text_comes_back_as_it_was(said: str) -> None:
    assert Parsed(text.show(said)).words == said


@given(st.text(max_size=200), st.integers(0, 200), st.integers(0, 200))
def test_any_text_makes_only_our_elements(said: str, start: int, end: int) -> None:
    html = text.show(said, (start, end), most=50)
    assert set(Parsed(html).tags) <= OURS
    html.encode()  # no half surrogate is left


def test_the_span_is_marked_by_its_place_and_not_by_its_words() -> None:
    said = "42 is wrong, <b>42</b> is right"
    start = said.index("42", 5)
    html = text.show(said, (start, start + 2))
    assert html.count("<mark") == 1
    assert html.index("<mark") > html.index("&lt;b&gt;")
    assert Parsed(html).marked == "42"


def test_a_span_that_does_not_fit_marks_nothing() -> None:
    for span in ((-1, 2), (2, 2), (3, 99), (5, 2)):
        assert "<mark" not in text.show("short", span)


def test_characters_that_hide_or_turn_are_written_out() -> None:
    shown = text.show("a\x1b[31m\u202eb\u200bc\ud800d\x00")
    for code in ("U+001B", "U+202E", "U+200B", "U+D800", "U+0000"):
        assert code in shown
    assert "\u202e" not in shown


def test_marks_that_scripts_need_stay() -> None:
    persian, family = "می\u200cخواهم", "\U0001f468\u200d\U0001f469"
    assert persian in text.show(persian)
    assert family in text.show(family)


def test_a_long_text_keeps_its_ends_and_the_answer() -> None:
    said = "START" + "x" * 500_000 + "ANSWER" + "y" * 500_000 + "END"
    place = said.index("ANSWER")
    html = text.show(said, (place, place + 6))
    assert len(html) < 200_000
    assert "START" in html
    assert "END" in html
    assert Parsed(html).marked == "ANSWER"
    assert html.count("characters are not shown") == 2


def test_messages_are_shown_one_below_the_other_with_their_roles() -> None:
    html = text.messages([{"role": "user", "content": "6 x 7?"}, {"role": "<b>", "content": None, "tool_calls": [1]}])
    assert html.index("6 x 7?") < html.index("&lt;b&gt;")
    assert "tool_calls" in html


def test_a_verdict_is_told_without_its_colour() -> None:
    assert "✓" in text.verdict(1.0, "verdict")
    assert "✗" in text.verdict(0.0, "verdict")
    assert "✓" not in text.verdict(1.0, "probability")
    assert len({text.badge(status)[text.badge(status).index(">") + 1] for status in ("ok", "error", "timeout")}) == 3

"""Whether a response keeps its format: each tag exactly once, in order, and nothing where nothing may stand.

The format says nothing of the answer: use it beside a verifier that does. A template may put the first opening tag
into the prompt (``<think>`` for many reasoning models), so that no response contains it; that is seen from the prompt
when it ends so, and can be said with ``prefilled`` when the template adds it later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import Score

EXAMPLES = (
    ("<think>6 · 7</think>\n<answer>42</answer>", None, 1),
    ("<think>6 · 7</think> It is <answer>42</answer>", None, 0),
    ("<think>6 · 7</think> It is <answer>42</answer>", None, 1, {"outside": "allowed"}),
    ("<think>6 · 7</think>42", None, 1, {"tags": ["think"], "outside": "after"}),
    ("6 · 7</think><answer>42</answer>", None, 0),
    ("6 · 7</think><answer>42</answer>", None, 1, {"prefilled": True}),
    ("6 · 7</think><answer>42</answer>", None, 1, {"prompt": "What is 6 · 7?<think>\n"}),
    ("<answer>42</answer><think>6 · 7</think>", None, 0),
    ("<think>a</think><think>b</think><answer>42</answer>", None, 0),
    ("<think>6 · 7<answer>42</answer></think>", None, 0),
    ("<think>6 · 7</think><answer></answer>", None, 0),
    ("<think>6 · 7</think><answer>42", None, 0),
    ("", None, 0),
    ("<think>see <tool></think><answer>1</answer>", None, 0, {"forbidden": ["<tool>"]}),
    ("<think>1</think><answer>1</answer>", None, 0, {"max_characters": 10}),
)


def verify(
    response: str,
    reference: Any = None,
    *,
    tags: Sequence[str] = ("think", "answer"),
    outside: Literal["nothing", "after", "allowed"] = "nothing",
    prefilled: bool | None = None,
    empty: bool = False,
    forbidden: Sequence[str] = (),
    max_characters: int | None = None,
    prompt: str = "",
) -> Score:
    """1 if the response has ``<tag>…</tag>`` exactly once for each tag, in this order, and keeps the other rules.

    reference: not read. outside: where text other than spaces may stand outside the tags: nowhere ("nothing"), after
    the last ("after") or anywhere ("allowed"). prefilled: whether the first opening tag is in the prompt already; None
    looks whether the prompt ends with it. empty: whether a tag may hold nothing. forbidden: texts that may not occur.
    max_characters: the longest response, or None.
    """
    marks = [mark for tag in tags for mark in (f"<{tag}>", f"</{tag}>")]
    if prefilled is None:
        prefilled = prompt.rstrip().endswith(marks[0])
    text = marks[0] + response if prefilled else response
    fault = (
        _too_long(response, max_characters)
        or next((f"{word!r} is forbidden" for word in forbidden if word in response), None)
        or _misplaced(text, marks)
        or _around(text, marks, outside, empty=empty)
    )
    return Score(0.0 if fault else 1.0, fault or "the format is kept", {"prefilled": prefilled})


def check_options(
    *, tags: Sequence[str] = ("think",), forbidden: Sequence[str] = (), max_characters: int | None = None, **_: Any
) -> None:
    if not tags or len(set(tags)) < len(tags) or not all(tag and tag.isprintable() and "<" not in tag for tag in tags):
        raise UsageError(
            f"tags must be different names without brackets, such as ['think', 'answer']; got {tags!r:.80}"
        )
    if "" in forbidden:
        raise UsageError("forbidden must not hold an empty text, since that occurs in every response")
    if max_characters is not None and max_characters < 1:
        raise UsageError(f"max_characters must be at least 1, or None for no limit; got {max_characters}")


def _too_long(response: str, most: int | None) -> str | None:
    return f"{len(response):,} characters, more than {most:,}" if most is not None and len(response) > most else None


def _misplaced(text: str, marks: Sequence[str]) -> str | None:
    """The first tag that does not occur exactly once, or that stands before one it should follow."""
    before = 0
    for mark in marks:
        count = text.count(mark)
        if count != 1:
            return f"{mark} occurs {count} times, not once"
        at = text.index(mark)
        if at < before:
            return f"{mark} stands too early"
        before = at + len(mark)
    return None


def _around(text: str, marks: Sequence[str], outside: str, *, empty: bool) -> str | None:
    """The first place outside the tags that holds text, or inside that holds none. The tags are in order."""
    rest = text
    for index, mark in enumerate(marks):
        between, _, rest = rest.partition(mark)
        closes = index % 2 == 1
        if closes and not empty and not between.strip():
            return f"nothing stands before {mark}"
        if not closes and outside != "allowed" and between.strip():
            return f"text stands before {mark}"
    return "text stands after the last tag" if outside == "nothing" and rest.strip() else None

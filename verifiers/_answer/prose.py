"""The last number in prose, with what belongs to it: the numbers "and" joins to it, the plain formula it is part of."""

from __future__ import annotations

import re

from guerdon.verifiers._answer.answer import Answer, Span, some
from guerdon.verifiers._answer.scan import backwards
from guerdon.verifiers._numbers import NUMBER, number_span

_JOINS_NUMBERS = frozenset({" and ", ", and ", " or ", ", or "})
_HEDGES_NUMBERS = re.compile(
    r",? or (?:maybe|possibly|perhaps) |[.;,]? (?:but )?(?:it|the answer) (?:could|might|may) also be ", re.IGNORECASE
)
_TO_LAST_DIGIT = re.compile(r".*\d", re.DOTALL)
_RAISED = re.compile(r"(\d)\{?[\^_]")  # read from right to left
_WITHIN_NUMBER = "0123456789.,/ eE+-^{}%\\"
_NEAR = 120

_TOKEN = re.compile(
    r"\d+(?:[.,]\d+)*%?|(?:sqrt|arcsin|arccos|arctan|sin|cos|tan|log|ln|exp|pi|theta)(?![a-z])"
    r"|(?<![^\W\d_])[^\W\d_](?![^\W\d_])|(?<=\d)[a-z]{2,3}(?![a-z])"
    r"|\\[A-Za-z]+|<(?!<)(?<!<<)|>(?!>)(?<!>>)|[-+−*/^=()\[\]{}|!√×·÷²³°,:_≤≥≈]"
)
_OPERATORS = frozenset("+-−*/^=×·÷<>≤≥≈√")
_BEFORE = frozenset("+-−*/^√(×·÷[{:,|_")
_AFTER = re.compile(
    r"[*^√²³/_]|!(?![\w!])|[^\W\d_](?![^\W\d_])|(?:pi|sqrt|sin|cos|log|ln)\b|\(| (?:[*/^×·÷+−<>≤]|- )|[,:]\d"
)
_OPENS = {")": "([", "]": "([", "}": "{"}
_NOTHING_FOLLOWS = frozenset("\n.")
"""Signs with which no match of ``_AFTER`` begins; most numbers stand before one."""
_LONGEST = 200
"""Characters on each side of a number that may belong to one plain formula."""


def last_number(text: str, start: int, end: int) -> Answer | None:
    last = _last_match(text, start, end)
    if last is None:  # the digits of "x^2" are no number
        raised = _RAISED.search(text[max(start, end - _NEAR) : end][::-1])
        only = end - raised.end(1) if raised else end
        formula = _formula_around(text, (only, only + 1), start, end) if raised else None
        return some("number", text, formula) if formula else None
    begin, stop = number_span(text, last)
    before = text[begin - 1] if begin > start else ""
    if before == " " and begin - 2 >= start and text[begin - 2] not in ":=":
        before = text[begin - 2]
    if before in _BEFORE or (stop < end and text[stop] not in _NOTHING_FOLLOWS and _AFTER.match(text, stop, end)):
        formula = _formula_around(text, (begin, stop), start, end)
        if formula:
            return some("number", text, formula)
    if begin >= 3 and text[begin - 3 : begin] in ("nd ", "or ", "be ", "ly ", "ps "):
        return _with_earlier(text, start, (begin, stop))
    return some("number", text, (begin, stop))


def _with_earlier(text: str, start: int, number: Span) -> Answer:
    """With the numbers before it in "3, 4 and 5" and "3, or possibly 4": none of them is the answer, all are."""
    begin, joins = number[0], _JOINS_NUMBERS
    for match in backwards(NUMBER, text, start, begin):
        earlier = number_span(text, match)
        gap = text[earlier[1] : begin]
        if begin == number[0] and _HEDGES_NUMBERS.fullmatch(gap):
            both = f"{text[slice(*earlier)]} or {text[slice(*number)]}"
            return Answer(both, earlier[0], number[1], "number", ("hedged",))
        if gap not in joins:
            break
        begin, joins = earlier[0], _JOINS_NUMBERS | {", "}
    return some("number", text, (begin, number[1]))


def _last_match(text: str, start: int, end: int) -> re.Match[str] | None:
    """The last match of ``NUMBER``, without reading what stands before the last digits."""
    while start < end:
        near = max(start, end - _NEAR)
        digits = _TO_LAST_DIGIT.match(text, near, end)
        if digits is None:
            end = near
            continue
        stop = digits.end()
        # no number reaches across a sign that is in none
        begin = near + len(text[near : stop - 1].rstrip(_WITHIN_NUMBER))
        while begin > start and (text[begin - 1] in _WITHIN_NUMBER or text[begin - 1].isdigit()):
            begin -= 1
        last = found = NUMBER.search(text, begin, end)
        while found and found.end() < stop:  # behind the last digit is no further one
            last, found = found, NUMBER.search(text, found.end(), end)
        if last is not None:
            return found or last
        end = begin
    return None


def _formula_around(text: str, number: Span, start: int, end: int) -> Span | None:
    """The formula in plain text that a number is a part of, as in "so y = 2x + 3."; None if it stands alone."""
    low = max(start, number[0] - _LONGEST, text.rfind("\n", start, number[0]) + 1)
    high = min(end, number[1] + _LONGEST)
    newline = text.find("\n", number[1], high)
    tokens = [match.span() for match in _TOKEN.finditer(text, low, high if newline < 0 else newline)]
    inside = [i for i, token in enumerate(tokens) if number[0] <= token[0] < number[1]]
    if not inside:
        return None
    first, last = inside[0], inside[-1]
    while first > 0 and _belong_together(text, tokens[first - 1], tokens[first]):
        first -= 1
    while last + 1 < len(tokens) and _belong_together(text, tokens[last], tokens[last + 1]):
        last += 1
    signs = [text[slice(*token)] for token in tokens[first : last + 1]]
    if "=" in signs:
        first += len(signs) - signs[::-1].index("=")
    elif "," in signs and (cut := _last_outer_comma(signs[: inside[0] - first])) >= 0:
        first += cut + 1
    if first > inside[0]:
        return None
    first, last = _without_loose_ends([text[slice(*token)] for token in tokens], first, last)
    if text[tokens[first][0]] in "+-−" and _is_no_sign(text, tokens[first]):
        first += 1
    if first > inside[0] or last < inside[-1] or (first, last) == (inside[0], inside[-1]):
        return None
    return min(tokens[first][0], number[0]), max(tokens[last][1], number[1])


def _belong_together(text: str, left: Span, right: Span) -> bool:
    gap = text[left[1] : right[0]]
    a, b = text[left[0] : left[1]], text[right[0] : right[1]]
    if gap == "":
        # "pages 3-5" is a range, "so: 5" and "A: 5" are no ratio
        return not (b == "-" and a[-1].isdigit() and text[right[1] : right[1] + 1].isdigit())
    if gap != " " or a == ":":
        return False
    named = (a if a[0].isalpha() else b)[1:2].isalpha()  # 2 pi, sqrt 3
    return named or a in _OPERATORS or b in _OPERATORS or a in "=," or b == "="


def _is_no_sign(text: str, token: Span) -> bool:
    """Whether a minus at the front is a dash or a hyphen: "Total - 5", "3-5"."""
    return text[token[1] : token[1] + 1].isspace() or (token[0] > 0 and text[token[0] - 1].isalnum())


def _last_outer_comma(signs: list[str]) -> int:
    """The last comma outside brackets, which separates sentences rather than coordinates; -1 if there is none."""
    depth, found = 0, -1
    for index, sign in enumerate(signs):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            found = index
    return found


def _without_loose_ends(signs: list[str], first: int, last: int) -> Span:
    """Without brackets that have no partner and operators that have only one side, at both ends."""
    opened: list[int] = []
    alone: list[int] = []
    for index in range(first, last + 1):
        if signs[index] in "([{":
            opened.append(index)
        elif signs[index] in ")]}":
            if opened and signs[opened[-1]] in _OPENS[signs[index]]:
                opened.pop()
            else:
                alone.append(index)
    lonely = {*opened, *alone}
    while first < last and (first in lonely or signs[first] in ",:*/^=×·÷<>≤≥≈+_"):
        first += 1
    while last > first and (last in lonely or signs[last] in ",:*/^=×·÷<>≤≥≈+-−√_"):
        last -= 1
    if lonely & set(range(first, last + 1)):
        return last, first  # no formula
    return first, last

r"""Words where an answer has them: numbers and sets in words, dates, labels, and answers that are words.

    seven, two thirds           numbers
    all real numbers except 3   the set R without {3}; "x can be any integer" is Z
    March 5, Friday, noon       dates and times
    undefined, infinity         constants
    the answer is 5             5: words up to "is" or "are" in front of a formula only introduce it
    area = 5                    a relation; the words before its sign are one name
    odd, taking the empty card  words; "all powers of 2" too, if nothing in it is an operation

Words and formulas that are mixed in any other way are not read: "5 is the only solution", "5 (since x > 0)".
"""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

from fractions import Fraction

from guerdon.verifiers._math.building import difference
from guerdon.verifiers._math.calendar import TIMES_OF_DAY, read_date
from guerdon.verifiers._math.conditions import CONDITIONAL, SEPARATORS
from guerdon.verifiers._math.letters import read_letter
from guerdon.verifiers._math.naming import symbol
from guerdon.verifiers._math.numerals import ORDINALS, is_numeral, read_numeral
from guerdon.verifiers._math.reader import Reader, head
from guerdon.verifiers._math.statements import RELATIONS, read_item
from guerdon.verifiers._math.tree import (
    Braces,
    Brackets,
    Constant,
    NamedSet,
    Node,
    Number,
    Relation,
    SetOperation,
    Text,
)
from guerdon.verifiers._math.units import NO_UNITS
from guerdon.verifiers._text import normal

_CONSTANTS = {
    "undefined": Constant("undefined"), "infinity": Constant("infinity"), "infinite": Text("infinite"),
    "inf": Constant("infinity"), "indeterminate": Constant("undefined"), "nan": Constant("undefined"),
}  # fmt: skip
_SETS = {
    "real": "R", "reals": "R", "rational": "Q", "rationals": "Q", "integer": "Z", "integers": "Z", "natural": "N",
    "naturals": "N", "complex": "C",
}  # fmt: skip
_MARKS = {"positive": "+", "negative": "-", "nonzero": "*", "nonnegative": "0+", "non-negative": "0+", "non-zero": "*"}
_NUMBERS = frozenset(("number", "numbers", "value", "values"))
_BEFORE_SETS = frozenset(("all", "any", "every", "the", "set", "of", "each"))
_EXCEPT = frozenset(("except", "excluding", "but", "besides"))
_SKIPPED = frozenset(("either", "both", "approximately", "about", "exactly", "just", "only"))
_INTRODUCE = frozenset(("is", "are", "equals", "be", "equal"))
_STOPS = frozenset((*SEPARATORS, *CONDITIONAL)) - {","}
_MOST_WORDS = 40
_ZERO = Number(Fraction(0))
_INFINITY = Constant("infinity")


@head("item")
def item(r: Reader, token: str) -> Node:
    """One item, for the modules that ``statements`` builds on."""
    return read_item(r)


@head("text")
def as_text(r: Reader, words: str) -> Node:
    """Words as an answer."""
    return Text(normal(words))


@head("lead-in")
def skip_lead_in(r: Reader, token: str) -> Node:
    """Passes "the answer is", "answer:", "either" where a formula follows; nothing where words are the answer."""
    tokens = r.tokens
    while tokens[r.at][1:].lower() in _SKIPPED and tokens[r.at][:1] == '"' and tokens[r.at + 1] != "":
        r.at += 1
    at = r.at
    while at - r.at < _MOST_WORDS and _is_word(tokens[at]) and tokens[at] not in _STOPS:
        if tokens[at][1:].lower() == "not":
            return _NOTHING
        at += 1
    last = tokens[at - 1][1:].lower() if at > r.at else ""
    following = tokens[at]
    if at - r.at > 1 and last in _INTRODUCE and following != "" and following not in SEPARATORS:
        r.at = at
    elif at > r.at and following == ":" and tokens[at + 1] != "" and last in _ANNOUNCE:
        r.at = at + 1
    return _NOTHING


_NOTHING = Text("")
_ANNOUNCE = frozenset(
    ("answer", "answers", "solution", "solutions", "result", "results", "value", "final", "total", "set")
)


@head("word")
def read_word(r: Reader, token: str) -> Node:
    """What begins with a word, which has been passed."""
    word = token[1:]
    if len(word) == 1:
        return read_letter(r, word) if word.isascii() else symbol(word)
    lower = word.lower()
    tokens, start = r.tokens, r.at - 1
    if token in SEPARATORS:
        raise r.unread(f"{word!r} joins nothing")
    if lower in _CONSTANTS and not _is_word(tokens[r.at]):
        return _CONSTANTS[lower]
    if lower in TIMES_OF_DAY and not _is_word(tokens[r.at]):
        return TIMES_OF_DAY[lower]
    if (found := read_date(tokens, start)) is not None:
        r.at = found[1]
        return found[0]
    if is_numeral(lower) and (numeral := read_numeral(tokens, start)) is not None:
        r.at = numeral[1]
        return Number(numeral[0])
    if lower in ORDINALS and tokens[r.at] == "":
        return Number(Fraction(ORDINALS[lower]))
    if lower in ("x", "set") or lower in _BEFORE_SETS or lower in _SETS or lower in _MARKS:
        r.at = start
        named = _read_set(r)
        if named is not None:
            return named
        r.at = start + 1
    return _words_from(r, start)


def _read_set(r: Reader) -> Node | None:
    """The set in "all real numbers except 3", from its first word; None, wherever r.at is then, if it is none."""
    tokens = r.tokens
    while _word(tokens[r.at]) in _BEFORE_SETS:
        r.at += 1
    mark = ""
    while _word(tokens[r.at]) in _MARKS:
        mark = _MARKS[_word(tokens[r.at])]
        r.at += 1
    name = _SETS.get(_word(tokens[r.at]))
    if name is None:
        return None
    if not mark and r.at > 0 and tokens[r.at - 1] == "-":
        return None
    singular = _word(tokens[r.at]) in ("real", "rational", "natural", "complex")
    r.at += 1
    if _word(tokens[r.at]) in _NUMBERS:
        r.at += 1
    elif singular and not (len(tokens[r.at]) == 1 and tokens[r.at].isalpha()):
        return None
    if len(tokens[r.at]) == 1 and tokens[r.at].isalpha():
        r.at += 1  # all real x
    if mark == "0+":
        zero_up = Brackets("[", (_ZERO, _INFINITY), ")")
        named: Node = zero_up if name == "R" else SetOperation("union", (NamedSet(f"{name}+"), Braces((_ZERO,))))
    else:
        named = NamedSet(name + mark)
    return _excepted(r, named)


def _excepted(r: Reader, named: Node) -> Node | None:
    tokens = r.tokens
    word = _word(tokens[r.at])
    if word in _EXCEPT or (word == "other" and _word(tokens[r.at + 1]) == "than"):
        r.at += 2 if word == "other" else 1
        while _word(tokens[r.at]) in ("for", "not"):
            r.at += 1
    elif word == "not" and _word(tokens[r.at + 1]) == "equal":
        r.at += 3
    elif tokens[r.at] in ("\\ne", "\\neq", "!="):
        r.at += 1
    else:
        return None if _is_word(tokens[r.at]) and tokens[r.at] not in _STOPS else named
    r.deeper()
    out = [read_item(r)]
    while tokens[r.at] in ('"and', '"or', ","):
        r.at += 1
        if tokens[r.at] not in SEPARATORS:
            out.append(read_item(r))
    r.depth -= 1
    return difference(named, out[0] if len(out) == 1 and _is_set(out[0]) else Braces(tuple(_values(out))))


def _is_set(node: Node) -> bool:
    return isinstance(node, (Braces, Brackets, NamedSet, SetOperation))


def _values(items: list[Node]) -> list[Node]:
    """x = 3 as 3."""
    return [item.sides[-1] if isinstance(item, Relation) and item.signs == ("=",) else item for item in items]


def _words_from(r: Reader, start: int) -> Node:
    """A label or an answer in words, from its first word."""
    tokens = r.tokens
    at = start
    words: list[str] = []
    while True:
        token = tokens[at]
        if _is_word(token):
            if at > start and token in _STOPS and not _goes_on(tokens, at):
                break
            words.append(token[1:])
        elif (len(token) == 1 and token.isalpha()) or token.isdigit():
            after = tokens[at + 1]
            if not (after in ("", ",", ")", "}") or after in _STOPS or _is_word(after) or after in RELATIONS):
                break
            words.append(token)
        elif token in ("'", "-") and _is_word(tokens[at + 1]) and at > start:
            words[-1] += token + tokens[at + 1][1:]
            at += 1
        else:
            break
        at += 1
    r.at = at
    if (token in RELATIONS or token == ":") and len(words) <= _LONGEST_LABEL:
        if not _NO_LABELS.isdisjoint(word.lower() for word in words):
            raise r.unread("words and a formula are mixed")
        return symbol(" ".join(words))
    text = normal(" ".join(words))
    return _SAID.get(text) or Text(text)


_SAID = {
    "empty set": NamedSet("empty"), "the empty set": NamedSet("empty"), "null set": NamedSet("empty"),
    "dne": Text("does not exist"), "not defined": Constant("undefined"), "no solutions": Text("no solution"),
}  # fmt: skip
_LONGEST_LABEL = 6
_NO_LABELS = NO_UNITS - frozenset(
    ("the", "a", "an", "of", "by", "in", "on", "from", "third", "half", "at", "least", "most")
)


def _goes_on(tokens: list[str], at: int) -> bool:
    """Whether "and", "for" … stand inside words: "black and white" is one answer, "odd or 3" two."""
    return tokens[at] not in SEPARATORS and _is_word(tokens[at + 1])


def _is_word(token: str) -> bool:
    return token[:1] == '"' and len(token) > 1


def _word(token: str) -> str:
    return token[1:].lower() if token[:1] == '"' else ""

r"""Text to tree: every notation that models and data sets write, whole or not at all.

``parse`` reads LaTeX, plain text, Unicode and mixtures. It computes nothing but what a notation abbreviates (two thirds
is one number, so is 3.2 × 10^-4), never reads a part and drops the rest, and takes time linear in the text. The order:

    signs, tokens    Unicode, entities, numbers
    dress        text commands, words, dollar signs, line breaks; skipped for plain formulas
    statements   lists of items: relations, sets, conditions
    expressions  sums, products, powers; letters, commands, brackets, integrals and phrases read the operands
"""

from __future__ import annotations

import re

from guerdon.verifiers._math import based, brackets, commands, integrals, letters, names, phrases  # noqa: F401  fill HEADS
from guerdon.verifiers._math.calendar import iso_date
from guerdon.verifiers._math.conditions import SEPARATORS
from guerdon.verifiers._math.dress import undressed
from guerdon.verifiers._math.errors import TooLargeError, UnreadError
from guerdon.verifiers._math.limits import MAX_CHARACTERS, MAX_TOKENS
from guerdon.verifiers._math.literals import literal
from guerdon.verifiers._math.overview import is_command, is_plain
from guerdon.verifiers._math.reader import Reader
from guerdon.verifiers._math.signs import ascii_form
from guerdon.verifiers._math.statements import read_listing
from guerdon.verifiers._math.tokens import TOKEN, tokens_of
from guerdon.verifiers._math.tree import Node, Text
from guerdon.verifiers._math.unit_commands import with_plain_units
from guerdon.verifiers._text import normal, trim

_PLAIN_INTEGER = re.compile(r"[0-9]{1,15}")
_BARE = re.compile(r"[\w)}\]|!'%]\Z")
_SPACED_COLON = re.compile(r"\{:\}")
_FRAMED = re.compile(r"\\bbox[ ]*(?:\[[^\[\]]{0,60}\])?")
_DOUBLED = re.compile(r"\\\\([a-zA-Z]+)")
_SINGLE = re.compile(r"(?<!\\)\\[a-zA-Z]")


def parse(text: str) -> Node:
    r"""The tree of an answer.

    Raises UnreadError where the text or a part of it is neither mathematics nor words; TooLargeError over a limit.

    >>> from guerdon.verifiers._math.writer import write
    >>> write(parse(r"\frac{x}{2} + 1{,}234"))
    'x/2 + 1234'
    """
    if _PLAIN_INTEGER.fullmatch(text):
        return literal(text)
    if len(text) > MAX_CHARACTERS:
        raise TooLargeError(f"{len(text):,} characters; at most {MAX_CHARACTERS:,} are read")
    form = ascii_form(text)
    if (not _BARE.search(form) or form[:1] in "*_$`\"'") and not form.endswith(("\\$", "^*")):
        form = form[slice(*trim(form))]
    if (day := iso_date(form)) is not None:
        return day
    if "{" in form:
        form = _SPACED_COLON.sub(":", _FRAMED.sub("", form)) if "{:}" in form or "\\bbox" in form else form
    form = with_plain_units(form)
    if "{\\rm " in form:
        form = form.replace("{\\rm ", "\\mathrm{")
    if "\\\\" in form:
        form = _undoubled(form)
    tokens = tokens_of(form)
    if len(tokens) > MAX_TOKENS:
        raise TooLargeError(f"{len(tokens):,} tokens; at most {MAX_TOKENS:,} are read")
    reader: Reader | None = None
    try:
        reader = Reader(tokens) if is_plain(tokens, form) else Reader(*undressed(tokens))
        node = read_listing(reader)
        if reader.tokens[reader.at] != "":
            raise reader.unexpected()
    except TooLargeError:
        raise
    except UnreadError as error:
        if reader is not None and _is_words(form, reader.tokens):
            return Text(normal(form))
        raise UnreadError(error.reason, _character(form, error.at)) from None
    return node


def _undoubled(form: str) -> str:
    """The text without the second backslash of a JSON string; a doubled one in front of a known command only."""
    doubled = _DOUBLED.findall(form)
    if doubled and not _SINGLE.search(form) and all(is_command(name) for name in doubled):
        return form.replace("\\\\", "\\")
    return form


def _is_words(form: str, tokens: list[str]) -> bool:
    """Whether the text is only words: no operation, no brackets, nothing of a program."""
    words = [token for token in tokens if token[:1] == '"' and len(token) > 2 and token not in SEPARATORS]
    others = [
        token for token in tokens if not (token[:1] == '"' or token in ("", ",", "-", "'", ".", ";", ":", "!", "?"))
    ]
    if not words or any(not token.isalnum() for token in others):
        return False
    starts = tokens[0][:1] == '"' or (tokens[0].isalpha() and tokens[1] in words)
    return starts and len(words) >= len(others) and not any(char in form for char in "_=<>")


def _character(form: str, token: int | None) -> int | None:
    """Where a token begins in the text."""
    if token is None:
        return None
    for index, found in enumerate(TOKEN.finditer(form)):
        if index == token:
            return found.start(1)
    return len(form)

r"""Tokens without their dress, and every word known for what it is.

Plain formulas never come here (``overview.is_plain``). What the other tokens become:

    $ \( \[ \hline              nothing; a dollar sign in front of a number is money where the signs make no pairs
    \text{…} \mathrm{…} …       their content, its words marked with a quotation mark in front: ``"apples``
    \mathbf{…} \boxed{…}        a group; \phantom{…} nothing
    \\ \quad and line breaks    a comma between two complete values, nothing elsewhere; in a matrix \\ stays
    runs of letters             what ``runs`` makes of them
    {a, b} {x | …}              the braces of a set, ``\{``, where no command takes them as its argument
    1,234 between brackets      three tokens: a comma there separates
"""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

import re

from guerdon.verifiers._math.errors import UnreadError
from guerdon.verifiers._math.numerals import is_numeral
from guerdon.verifiers._math.overview import braces_of_sets, is_money
from guerdon.verifiers._math.reader import HEADS
from guerdon.verifiers._math.runs import is_word, letters_of
from guerdon.verifiers._math.statements import RELATIONS
from guerdon.verifiers._math.units import chinese_unit, known
from guerdon.verifiers._math.vocabulary import (
    BOLD,
    BREAKS,
    CODES,
    CONJUNCTIONS,
    FRAMES,
    GROUPS,
    HIDDEN,
    NAMES,
    NOTHING,
    PER,
    SAME,
    SHORT_UNITS,
    SPOKEN_POWERS,
    SPOKEN_SIGNS,
    TEXTS,
)

_OPENING = frozenset(("(", "[", "\\{", "\\langle"))
_CLOSING = frozenset((")", "]", "\\}", "\\rangle"))
_ENDS_OPERAND = frozenset((")", "}", "]", "\\}", "!", "'", "%", "\\%", "\\rvert", "\\rfloor", "\\rceil", "\\circ"))
_OPENS = frozenset(("(", "[", "\\{", "{", "_"))
_MINUENDS = frozenset(("R", "Q", "Z", "N", "C", ")", "]", "\\}", *(f"\\mathbb{{{name}}}" for name in "RQZNC")))
_NO_STARTS = frozenset(("^", "_", "<", "{", "]"))
_CONNECT = frozenset(("if", "for", "where", "when", "with", "otherwise", "and", "or", "else"))
_LENGTHS = frozenset(("pt", "em", "ex", "mm", "cm", "in"))
_HEXADECIMAL = re.compile(r"[A-F][0-9A-F]+")
_DIFFERENTIAL = re.compile(r"d[a-zA-Z]")
_COMMAS = re.compile(r"[^,]+|,")


def undressed(tokens: list[str]) -> tuple[list[str], list[int]]:
    """The tokens that are read, and for each the index of the token it comes from.

    Raises UnreadError if a brace or an environment is open at the end.
    """
    return _Dresser(tokens).run()


class _Dresser:
    """One pass over the tokens.

    levels: of each open brace or environment, what it belongs to. texts, brackets, environments: how many of them are
    open. displays: whether it is a display whose lines are aligned. sets: the indices of the braces that are a set's.
    """

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.out: list[str] = []
        self.origins: list[int] = []
        self.levels: list[str] = []
        self.texts = self.brackets = self.environments = 0
        self.displays = not NOTHING.isdisjoint(token for token in tokens if token.startswith("\\begin"))
        self.money = is_money(tokens)
        self.sets = braces_of_sets(tokens)
        self.at = 0

    def run(self) -> tuple[list[str], list[int]]:
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self._one(SAME.get(token, token))
            self.at += 1
        while self._last() in (",", ";", ".", ":") and self.out:
            self.out.pop()
            self.origins.pop()
        if self.levels:
            raise UnreadError("a brace or environment is not closed", len(self.tokens) - 1)
        return self.out, self.origins

    def _keep(self, *tokens: str) -> None:
        self.out += tokens
        self.origins += [self.at] * len(tokens)

    def _last(self) -> str:
        return self.out[-1] if self.out else ""

    def _next(self, ahead: int = 1) -> str:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def _one(self, token: str) -> None:
        if token == "{" or token == "}":
            self._brace(token)
        elif token[:1].isdigit():
            grouped = self.brackets > 0 and "," in token and "{" not in token and "\\" not in token
            self._keep(*(_COMMAS.findall(token) if grouped else (token,)))
        elif token[:1].isalpha():
            self._letters(token)
        elif token in TEXTS or token in GROUPS or token in HIDDEN:
            self._command(token)
        elif token in BREAKS or token[:1] == "\n":
            self._break(token)
        elif token == "$" and self.money:
            self._keep("\\$")
        elif token.startswith(("\\begin", "\\end")) and token.replace(" ", "") not in NOTHING:
            self._environment(token)
        elif token.startswith("\\mathbb"):
            letter = token.strip("} ")[-1]
            self._keep(f"\\mathbb{{{letter}}}" if letter in "RQZNC" else letter)
        elif token == "&" and self.environments == 0 and self.displays:
            pass
        elif token == "!=" and (self._last()[:1].isdigit() or self._last() == ")"):
            self._keep("!", "=")
        elif token == "\\ " and self._last() not in _MINUENDS:
            pass  # a space, where no set stands before a brace
        elif token not in NOTHING and not (token == "." and self._last()[:1] == '"'):
            self.brackets += (token in _OPENING) - (token in _CLOSING)
            self._keep(token)

    # --- braces and commands ------------------------------------------------------------------------------------------

    def _brace(self, token: str) -> None:
        if token == "{":
            is_set = self.at in self.sets and self._last() not in ("^", "_")
            self.levels.append("set" if is_set else "group")
            self.brackets += is_set
            self._keep("\\{" if is_set else "{")
            return
        kind = self.levels.pop() if self.levels else "group"
        if kind.startswith("text"):
            self.texts -= 1
        self.brackets -= kind == "set"
        if kind == "set":
            self._keep("\\}")
        elif kind not in ("text", "bare"):
            self._keep("}")

    def _command(self, token: str) -> None:
        """A command around its argument, in braces or one token; hidden ones go with it."""
        if token in HIDDEN:
            self._skip_argument()
            return
        self.at += self._next() == "*"
        braced = self._next() == "{"
        if token in BOLD and self._next(1 + braced) in ("i", "j", "k") and (not braced or self._next(3) == "}"):
            self._keep("\\unit vector", self._next(1 + braced))
            self.at += 3 if braced else 1
        elif token == "\\operatorname" and braced and self._next(2)[:1].isalpha() and self._next(2) not in NAMES:
            self._keep("\\operator name", self._next(2))
            self.at += 3
        elif not braced:
            if token in TEXTS and self._next()[:1].isalpha():
                self.at += 1
                self._keep(self._word(self.tokens[self.at]))
        else:
            self.at += 1
            self._open(token)

    def _open(self, command: str) -> None:
        script = self._last() in ("^", "_")
        if command in TEXTS:
            self.texts += 1
            self.levels.append("text in braces" if script else "text")
        else:
            script = script or not (self._next(2) == "}" or command in FRAMES)  # one token needs no group
            self.levels.append("group" if script else "bare")
        if script:
            self._keep("{")

    def _skip_argument(self) -> None:
        if self._next() != "{":
            return
        self.at += 1
        level = 1
        while level and self.at + 1 < len(self.tokens):
            self.at += 1
            level += (self.tokens[self.at] == "{") - (self.tokens[self.at] == "}")

    def _environment(self, token: str) -> None:
        edge, _, name = token.partition("{")
        name = name.strip(" }")
        if edge.startswith("\\begin"):
            self.environments += 1
            if name == "array":
                self._skip_argument()  # its columns
                if self._last() == "\\{":
                    self.out.pop()
                    self.origins.pop()
                    self.brackets -= 1
                    name = "cases"
            self.levels.append(name)
            self._keep(f"\\begin{{{name}}}")
        else:
            self.environments -= 1
            opened = self.levels.pop() if self.levels else ""
            self._keep(f"\\end{{{'cases' if opened == 'cases' and name == 'array' else name}}}")

    # --- breaks between answers ---------------------------------------------------------------------------------------

    def _break(self, token: str) -> None:
        if token == "\\\\" and self._next() == "[":
            self._skip_spacing()
        if self.environments > 0:
            if token in ("\\\\", "\\cr"):
                self._keep("\\\\")
        elif not self.levels and (token == "\\\\" or self.brackets <= 0) and self._is_between_values(token == "\\\\"):
            self._keep(",")

    def _skip_spacing(self) -> None:
        """The length in ``\\\\[2pt]``."""
        for end in range(self.at + 2, min(len(self.tokens), self.at + 6)):
            if self.tokens[end] == "]" and self.tokens[end - 1] in _LENGTHS:
                self.at = end
                return

    def _ends_operand(self) -> bool:
        last = self._last()
        return last[:1].isalnum() or last in _ENDS_OPERAND or last[:1] == '"' or (last[:1] == "\\" and last in HEADS)

    def _is_between_values(self, hard: bool) -> bool:
        if not self._ends_operand():
            return False
        at = self.at + 1
        while at < len(self.tokens) and (
            self.tokens[at] in NOTHING or self.tokens[at] in BREAKS or self.tokens[at][0] == "\n"
        ):
            at += 1
        token, *after = [*self.tokens[at : at + 3], "", "", ""][:3]
        if token in TEXTS or (token.isalpha() and len(token) > 1 and token not in NAMES):
            first = after[1] if token in TEXTS else token
            return hard and first.lower() not in _CONNECT  # "5 \quad cm" is one value
        if token == "(":
            return after[0] not in ("mod", "\\mod", "\\text", "\\bmod", "\\pmod") and not self._is_condition(at)
        return token[:1].isalnum() or token in ("\\{", "-", "\\left|") or (token in HEADS and token not in _NO_STARTS)

    def _is_condition(self, at: int) -> bool:
        """Whether the bracket that opens here holds a statement, as in "2n \\quad (n > 1)"."""
        for token in self.tokens[at : at + 24]:
            if token == ")":
                return False
            if token in RELATIONS:
                return True
        return False

    # --- letters ------------------------------------------------------------------------------------------------------

    def _letters(self, token: str) -> None:
        if len(token) > 1 and self._next(2 if self._next() == "}" else 1) == "_" and _HEXADECIMAL.fullmatch(token):
            self._keep(token)
            return
        if token[:2].lower() in ("a.", "p."):
            self._keep('"am' if token[0] in "aA" else '"pm')
        elif _DIFFERENTIAL.fullmatch(token) and self._next() == "/" and _DIFFERENTIAL.fullmatch(self._next(2)):
            self._keep("\\d over d", token[1], self._next(2)[1])
            self.at += 2
        elif token in CODES and (self._next()[:1].isdigit() or (self._next() == "." and self._next(2)[:1].isdigit())):
            self._keep(CODES[token])
            self.at += self._next() == "."
        elif token == "US" and self._next() in ("$", "\\$"):
            pass
        elif token.lower() in SPOKEN_SIGNS and self._spoken_before_operand():
            self._keep(SPOKEN_SIGNS[token.lower()])
        elif token in SPOKEN_POWERS and self._ends_operand() and not is_word(self._last()):
            self._keep("^", SPOKEN_POWERS[token])
        elif token == "square" and self._next() == "root" and self._next(2) == "of":
            self._keep("\\sqrt")
            self.at += 2
        elif token.lower() == "o'clock":
            self._keep('"oclock')
        elif (words := chinese_unit(token)) is not None:
            self._keep(*words)
        elif token in CONJUNCTIONS:
            self._keep(CONJUNCTIONS[token])
        elif token == "lambda" and ":" in (self._next(), self._next(2)):
            self._keep(token)  # of a program; nothing reads it
        elif self.texts:
            self._keep(self._word(token))
        elif not token.isascii():
            self._keep('"' + token)
        elif len(token) == 1:
            self._letter(token)
        elif token in ("th", "st", "nd", "rd") and (self._last()[-1:].isdigit() or self._raised_behind_number()):
            self._keep('"' + token)
        elif token == "log" and self._next() in ("2", "10") and self._next(2) == "(":
            self.at += 1
            self._keep(f"\\log{self.tokens[self.at]}")
        else:
            self._keep(*letters_of(token, self._last(), self._next(), behind_operand=self._ends_operand()))

    def _word(self, token: str) -> str:
        """A word of a text command: a function or constant by its name, else marked."""
        after = self._next(2 if self._next() == "}" else 1)
        if (
            token not in NAMES
            or token.lower() in ("times", "choose", "union")
            or (token == "min" and after not in _OPENS)
        ):
            return '"' + token
        return NAMES[token]

    def _spoken_before_operand(self) -> bool:
        """Whether a number, variable or infinity follows: "negative 5", but not "negative integers"."""
        token = self._next()
        if token.isalpha() and len(token) > 1:
            return is_numeral(token.lower()) or NAMES.get(token) in ("\\infty", "\\pi", "\\sqrt")
        return token[:1].isalnum() or token[:1] == "\\"

    def _raised_behind_number(self) -> bool:
        """12^{th}."""
        kept = self.out[-3:] if self._last() == "{" else ["", *self.out[-2:]][-3:]
        before = kept[0] if self._last() == "{" else self.out[-2] if len(self.out) > 1 else ""
        return "^" in kept and (before[-1:].isdigit() or before == "n")

    def _letter(self, token: str) -> None:
        last, following = self._last(), self._next()
        if token in "Uu" and last in (")", "]", "}", "\\}") and following in ("(", "[", "\\{", "{"):
            self._keep("\\cup")
        elif token in "aAI" and is_word(last) and len(following) > 1 and following.isalpha():
            self._keep('"' + token)
        else:
            self._keep('"' + token if self._is_unit(token) else token)

    def _is_unit(self, token: str) -> bool:
        """m in "5 m/s", s in "km/s" and in "m/s", h in "2 h 30 min"."""
        if token not in SHORT_UNITS:
            return False
        last, after = self._last(), self._next(3)
        if last[:1].isdigit() and self._next()[:1].isdigit():
            return True  # 2 h 30 min
        if last[:1].isdigit() and self._next() == "/" and self._next(2) in PER:
            return not (after[:1].isalpha() or after in ("(", "{"))
        return last == "/" and len(self.out) > 1 and self.out[-2][:1] == '"' and known(self.out[-2][1:]) is not None

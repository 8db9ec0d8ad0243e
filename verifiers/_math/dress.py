r"""Tokens without their dress, and every word known for what it is.

Short plain formulas never come here. What the other tokens become:

    $ \( \[ \quad ~             nothing; a dollar sign in front of a number is money where the signs make no pairs
    \text{…} \mathrm{…} …       their content, its words marked with a quotation mark in front: ``"apples``
    \boxed{…} \mathbf{…} \phantom{…}   a group, a group, nothing
    \\ and line breaks          a comma between two complete values, nothing elsewhere; in a matrix \\ stays
    runs of letters             a function or constant (sin, pi, sqrt), a word, or single letters

A run of letters in a formula is a word if it is in a text command, or has four letters or more and is no alphabet
(``abcd``), or is a name, a short English word, or a unit behind a number. "ab" and "xyz" are products.
"""

from __future__ import annotations

import re

from guerdon.verifiers._math.commands import MANY_ARGUMENTS, ONE_ARGUMENT
from guerdon.verifiers._math.letters import GREEK
from guerdon.verifiers._math.reader import HEADS
from guerdon.verifiers._math.statements import RELATIONS
from guerdon.verifiers._math.units import known

_TEXTS = frozenset(
    ["\\text", "\\textbf", "\\textit", "\\textrm", "\\textsf", "\\texttt", "\\textnormal", "\\mbox", "\\hbox", "\\mathrm", "\\operatorname", "\\emph", "\\textsc", "\\mathsf", "\\mathtt", "\\operatorname*", "\\underline", "\\textsl", "\\textup"]
)
_GROUPS = frozenset(
    ["\\mathbf", "\\mathit", "\\boldsymbol", "\\bm", "\\boxed", "\\fbox", "\\mathcal", "\\mathfrak", "\\mathscr", "\\ensuremath", "\\displaylines", "\\mathop", "\\mathrel", "\\mathbin", "\\pmb", "\\smash", "\\mathnormal", "\\cancel", "\\bcancel", "\\widetext", "\\mathord", "\\mathopen", "\\mathclose", "\\underbrace"]
) - {"\\underbrace"}
_BOLD = frozenset(("\\mathbf", "\\boldsymbol", "\\bm", "\\pmb"))
_HIDDEN = frozenset(["\\phantom", "\\hphantom", "\\vphantom", "\\label", "\\tag", "\\hspace", "\\vspace", "\\color", "\\hskip", "\\kern"])
_COLORED = frozenset(("\\textcolor", "\\colorbox"))
_NOTHING = frozenset(
    ["$", "$$", "\\(", "\\)", "\\[", "\\]", "~", "\\right.", "\\left.", "\\hline", "\\therefore", "\\because", "\\thinspace", "\\medspace", "\\/", "\\-", "`", "\\noindent", "\\begin{align}", "\\end{align}", "\\begin{align*}", "\\end{align*}", "\\begin{aligned}", "\\end{aligned}", "\\begin{equation}", "\\end{equation}", "\\begin{equation*}", "\\end{equation*}", "\\begin{gather}", "\\end{gather}", "\\begin{gather*}", "\\end{gather*}", "\\begin{gathered}", "\\end{gathered}", "\\begin{split}", "\\end{split}", "\\begin{math}", "\\end{math}", "\\begin{displaymath}", "\\end{displaymath}", "\\begin{center}", "\\end{center}", "\\begin{multline}", "\\end{multline}", "\\par"]
)
_BREAKS = frozenset(("\\\\", "\\quad", "\\qquad", "\\newline", "\\cr", "\\enspace", "\\par"))
_SAME = {
    "\\left|": "\\lvert", "\\right|": "\\rvert", "\\implies": "\\Rightarrow", "\\lbrace": "\\{", "\\rbrace": "\\}",
    "\\land": '"and', "\\lor": '"or', "\\wedge": '"and', "\\vee": '"or', "\\gets": "\\leftarrow", "\\#": "#",
    "\\cdots": "\\ldots", "\\dots": "\\ldots", "...": "\\ldots", "\\dotsc": "\\ldots", "\\dotsb": "\\ldots", "**": "^",
    "\\rbrack": "]", "\\lbrack": "[", "\\percent": "%", "\\degrees": "\\degree", "\\Re": "\\re", "\\Im": "\\im",
    "\\st": ":", "\\ne": "\\ne", "\\AND": '"and', "\\&": '"and', "\\imath": "i", "\\jmath": "j", "\\iota": "\\iota",
    "‰": "‰",
}  # fmt: skip
_FUNCTIONS = {name: f"\\{name}" for name in (*ONE_ARGUMENT, *MANY_ARGUMENTS)}
_NAMES = {
    **{name: token for name, token in _FUNCTIONS.items() if len(name) > 2 or name in ("ln", "lg", "tg")},
    **{name: f"\\{name}" for name in GREEK if len(name) > 2 and name not in ("ell", "Pi", "eta", "chi", "psi", "rho", "tau")},
    "pi": "\\pi", "Pi": "\\pi", "PI": "\\pi", "sqrt": "\\sqrt", "cbrt": "\\cbrt", "inf": "\\infty", "infty": "\\infty",
    "infinity": "\\infty", "mod": "\\bmod", "times": "\\times", "union": "\\cup", "choose": "\\choose", "percent": "\\%",
    "ceiling": "\\ceil", "modulo": "\\bmod", "cdot": "\\cdot", "sqr": '"sqr',
}  # fmt: skip
_NAMES |= {name.capitalize(): token for name, token in _NAMES.items() if len(name) > 2 and name not in GREEK}
_SHORT_WORDS = frozenset(
    ["yes", "no", "odd", "all", "any", "and", "or", "if", "not", "none", "the", "of", "is", "are", "one", "two", "six", "ten", "red", "day", "man", "men", "boy", "cat", "dog", "car", "bus", "box", "bag", "per", "for", "was", "has", "had", "its", "it", "an", "to", "at", "by", "on", "be", "we", "so", "up", "in", "out", "off", "our", "you", "can", "may", "sum", "end", "top", "set", "six", "old", "new", "low", "mid", "big", "zero", "even", "true", "false", "both", "each", "year", "sun", "mon", "tue", "wed", "thu", "fri", "sat", "am", "pm", "sq", "cu", "ft", "as", "age", "nor", "way", "cup", "use", "let", "get", "dne"]
)
_PROGRAM = frozenset(("import", "print", "eval", "exec", "lambda", "def", "return", "subprocess", "os"))
_OPERAND_ENDS = frozenset(
    (")", "}", "]", "\\}", "!", "'", "%", "\\%", "\\infty", "\\pi", "\\rvert", "\\rfloor", "\\rceil")
)
_AFTER_NUMBER = re.compile(r"[A-Za-z]+")
_MONEY = frozenset(("+", "-", ",", ";", "(", "=", "", '"and', '"or', "<", ">", "\\le", "\\ge", ":", "\n"))

SIMPLE = (
    frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-*/^_(){}[]=<>,;:!|'%&")
    | frozenset(token for token in HEADS if token[:1] == "\\" and "begin" not in token)
    | frozenset(RELATIONS)
    | frozenset(("\\cup", "\\cap", "\\pm", "\\mp", "\\cdot", "\\times", "\\div", "\\{", "\\}", "\\circ", "\\%", "\\rfloor"))
    | frozenset(("\\rceil", "\\rangle", "\\setminus", "\\rvert", "\\mid", "\\over"))
) - frozenset(_SAME) - frozenset(("&", "[", "|")) | frozenset(("[", "|"))  # fmt: skip
"""Tokens that mean what they are in a formula without words."""


class _Dresser:
    """One pass over the tokens. levels: of each open brace, what it belongs to."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.out: list[str] = []
        self.origins: list[int] = []
        self.levels: list[str] = []
        self.texts = 0  # open text commands
        self.brackets = 0  # open brackets between which a comma separates
        self.environments = 0
        self.money = _is_money(tokens)
        self.at = 0

    def emit(self, token: str) -> None:
        self.out.append(token)
        self.origins.append(self.at)

    def last(self) -> str:
        return self.out[-1] if self.out else ""

    def run(self) -> tuple[list[str], list[int]]:
        tokens = self.tokens
        while self.at < len(tokens):
            token = tokens[self.at]
            self._one(_SAME.get(token, token))
            self.at += 1
        while self.out and self.out[-1] in (",", ";", ".", "\n", ":"):
            self.out.pop()
            self.origins.pop()
        self.at = len(tokens)
        self.emit("")
        return self.out, self.origins

    def _one(self, token: str) -> None:
        if token == "{":
            self._open("group")
        elif token == "}":
            self._close()
        elif token[:1].isdigit():
            self._number(token)
        elif token[:1].isalpha():
            self._letters(token)
        elif token in _TEXTS or token in _GROUPS or token in _HIDDEN or token in _COLORED:
            self._command(token)
        elif token == "$" and self.money:
            self.emit("\\$")
        elif token in _NOTHING:
            pass
        elif token in _BREAKS or token[:1] == "\n":
            self._break(token)
        elif token.startswith(("\\begin", "\\end")):
            self._environment(token)
        elif token.startswith("\\mathbb"):
            self.emit(f"\\mathbb{{{token.strip('} ')[-1]}}}")
        elif token == "." and self.last()[:1] == '"':
            pass  # sq. ft.
        elif token == "!=" and (self.last()[:1].isdigit() or self.last() == ")"):
            self.emit("!")
            self.emit("=")
        elif token == "\\limits":
            pass
        else:
            self.brackets += (token in _OPENING) - (token in _CLOSING)
            self.emit(token)

    def _next(self, ahead: int = 1) -> str:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def _open(self, kind: str) -> None:
        self.levels.append(kind)
        if kind == "text":
            self.texts += 1
        elif kind != "bare":
            self.emit("{")

    def _close(self) -> None:
        kind = self.levels.pop() if self.levels else "group"
        if kind.startswith("text"):
            self.texts -= 1
        if kind not in ("text", "bare"):
            self.emit("}")

    def _command(self, token: str) -> None:
        """A command around its argument, in braces or one token; hidden ones go with it."""
        if token in _HIDDEN or token in _COLORED:
            self._skip_argument()
            return
        if self._next() == "*":
            self.at += 1
        if self._next() != "{":
            if token in _TEXTS and self._next()[:1].isalpha():
                self.at += 1
                self.emit(self._word(self.tokens[self.at]))
            elif token in _BOLD and self._next() in ("i", "j", "k"):
                self.emit("\\unit")
            return
        if token in _BOLD and self._next(2) in ("i", "j", "k") and self._next(3) == "}":
            self.emit("\\unit")
            self.at += 2
            self.emit(self.tokens[self.at])
            self.at += 1
            return
        self.at += 1
        if token in _TEXTS:
            if self.last() in ("^", "_"):
                self.levels.append("text in braces")
                self.texts += 1
                self.emit("{")
            else:
                self._open("text")
        elif self._is_one_token():
            self.levels.append("bare")
        else:
            self._open("group")

    def _is_one_token(self) -> bool:
        return self._next(2) == "}" and self.last() not in ("^", "_")

    def _skip_argument(self) -> None:
        if self._next() != "{":
            return
        self.at += 1
        level = 1
        while level and self.at + 1 < len(self.tokens):
            self.at += 1
            level += (self.tokens[self.at] == "{") - (self.tokens[self.at] == "}")

    def _number(self, token: str) -> None:
        if "," in token and self.brackets > 0 and "{" not in token and "\\" not in token:
            for part in re.findall(r"[^,]+|,", token):
                self.emit(part)
        else:
            self.emit(token)

    def _break(self, token: str) -> None:
        if token == "\\\\" and self._next() == "[":
            self._skip_spacing()
        if self.environments:
            if token in ("\\\\", "\\cr"):
                self.emit("\\\\")
            return
        soft = token != "\\\\"
        if self.levels or (soft and self.brackets > 0):
            return
        if self._ends_operand() and self._starts_operand(soft):
            self.emit(",")

    def _skip_spacing(self) -> None:
        end = self.at + 2
        while end < min(len(self.tokens), self.at + 6) and self.tokens[end] != "]":
            end += 1
        if (
            end < len(self.tokens)
            and self.tokens[end] == "]"
            and any(self.tokens[i] in ("pt", "em", "ex", "mm", "cm", "in") for i in range(self.at + 2, end))
        ):
            self.at = end

    def _ends_operand(self) -> bool:
        last = self.last()
        return last[:1].isalnum() or last in _OPERAND_ENDS or last[:1] == '"' or (last[:1] == "\\" and last in HEADS)

    def _starts_operand(self, soft: bool) -> bool:
        at = self.at + 1
        while at < len(self.tokens) and (
            self.tokens[at] in _NOTHING or self.tokens[at] in _BREAKS or self.tokens[at][0] == "\n"
        ):
            at += 1
        if at >= len(self.tokens):
            return False
        token = self.tokens[at]
        if token in _TEXTS or (token.isalpha() and len(token) > 1 and token.lower() not in _NAMES):
            content = self.tokens[at + 2] if token in _TEXTS and at + 2 < len(self.tokens) else token
            return not soft and content.lower() not in _CONNECT
        if token == "(" and at + 1 < len(self.tokens):
            return self.tokens[at + 1] not in ("mod", "\\mod", "\\text", "\\bmod", "\\pmod")
        return (
            token[:1].isalnum() or token in ("\\{", "-", "\\left|") or (token in HEADS and token not in ("^", "_", "<"))
        )

    def _environment(self, token: str) -> None:
        kind, _, name = token.partition("{")
        name = name.strip(" }")
        if kind.startswith("\\begin"):
            self.environments += 1
            if name == "array":
                self.at += 1
                self._skip_columns()
                if self.last() == "\\{":
                    self.out.pop()
                    self.origins.pop()
                    name = "cases"
            self.levels.append(f"environment {name}")
            self.emit(f"\\begin{{{name}}}")
        else:
            self.environments -= 1
            opened = self.levels.pop() if self.levels else ""
            self.emit(f"\\end{{{'cases' if opened == 'environment cases' else name}}}")

    def _skip_columns(self) -> None:
        """The ``{c|c}`` behind ``\\begin{array}``."""
        self.at -= 1
        self._skip_argument()

    def _letters(self, token: str) -> None:
        if token.isascii() is False:
            self.emit('"' + token)
            return
        if token[:2].lower() in ("a.", "p."):
            self.emit('"am' if token[0] in "aA" else '"pm')
            return
        if self.texts:
            self.emit(self._word(token))
        elif len(token) == 1:
            self._letter(token)
        else:
            self._run_of_letters(token)

    def _word(self, token: str) -> str:
        """A word inside a text command."""
        if token in _NAMES and self.levels and len(token) > 1:
            name = _NAMES[token]
            if token.lower() not in ("times", "choose", "union", "percent") or token == "percent":
                return name
        return '"' + token

    def _letter(self, token: str) -> None:
        if (
            token in ("U", "u")
            and self.last() in (")", "]", "}", "\\}")
            and self._next() in ("(", "[", "\\{", "{", "\\left")
        ):
            self.emit("\\cup")
            return
        between_words = self.last()[:1] == '"' and len(self.last()) > 2
        if (token in ("a", "A", "I") and between_words and len(self._next()) > 1 and self._next().isalpha()) or self._is_short_unit(token):
            self.emit('"' + token)
        else:
            self.emit(token)

    def _is_short_unit(self, token: str) -> bool:
        """m in "5 m/s", s in "km/s" and in "m/s"."""
        if token not in _SHORT_UNITS:
            return False
        last = self.last()
        if last[:1].isdigit() and self._next() == "/" and self._next(2) in _PER and self._next(3)[:1] not in ("(", "{"):
            return not self._next(3)[:1].isalpha()
        return last == "/" and len(self.out) > 1 and self.out[-2][:1] == '"' and known(self.out[-2][1:]) is not None

    def _run_of_letters(self, token: str) -> None:
        lower = token.lower()
        name = _NAMES.get(token)
        if name is not None:
            self._named(token, name)
        elif (lower in _PROGRAM and self._next() in ("(", "os", ".")) or token == "lambda":
            self.emit(token)  # nothing reads it
        elif (known(token) is not None and self._behind_value()) or lower in _SHORT_WORDS or (len(token) > 2 and token.istitle()):
            self.emit('"' + token)
        elif (split := split_functions(token)) is not None:
            for part in split:
                self.emit(part)
        elif (len(token) > 3 and not _is_alphabet(token)) or (self.last()[:1] == '"' and len(self.last()) > 2) or _is_long_word(self._next()):
            self.emit('"' + token)
        elif token == "nCr" or token == "nPr":
            self.emit("n"), self.emit(token[1])
        else:
            for letter in token:
                self.emit(letter)

    def _named(self, token: str, name: str) -> None:
        if token in ("log",) and self._next() in ("2", "10") and self._next(2) == "(":
            self.at += 1
            self.emit(f"\\log{self.tokens[self.at]}")
        elif token in _PROSE_NAMES and not (self._ends_operand()):
            self.emit('"' + token)
        else:
            self.emit(name)

    def _behind_value(self) -> bool:
        last = self.last()
        return (
            last[:1].isdigit()
            or last in ("}", ")", "\\pi", "/", '"sq', '"square', '"cubic', '"per')
            or (last[:1] == '"' and known(last[1:]) is not None)
        )


_OPENING = frozenset(("(", "[", "\\{", "\\langle"))
_CLOSING = frozenset((")", "]", "\\}", "\\rangle"))
_SHORT_UNITS = frozenset("mgsLhNJWVAKC")
_PER = frozenset(("s", "h", "L", "m", "kg", "K", "mol", "g", "min", "hr", "cm", "l", "mL", "day"))
_CONNECT = frozenset(("if", "for", "where", "when", "with", "otherwise", "and", "or", "else"))
_PROSE_NAMES = frozenset(
    ("times", "choose", "union", "percent", "Times", "Union", "Choose", "Percent", "mod", "modulo")
)
_FUNCTION_PIECE = re.compile(r"(arcsin|arccos|arctan|sin|cos|tan|cot|sec|csc|ln|log|sqrt)")
_ANY_WORDS = frozenset(
    ["cost", "costs", "tank", "tans", "sink", "single", "logic", "logs", "land", "sins", "using", "cosine", "sine", "tangent", "secret", "second", "section"]
)


def split_functions(run: str) -> list[str] | None:
    """``sinx``, ``xcosx``, ``2pir``: functions and π glued to single letters; None if the run is no such thing."""
    if run in _ANY_WORDS:
        return None
    if len(run) < 6 and "pi" in run and run.replace("pi", "", 1) in _BESIDE_PI:
        before, _, after = run.partition("pi")
        return [*before, "\\pi", *after]
    pieces = _FUNCTION_PIECE.split(run)
    if len(pieces) < 3 or len(pieces[0]) > 1 or not all(len(piece) == 1 or piece == "" for piece in pieces[2::2]):
        return None
    if pieces[-1] == "" and len(pieces) == 3 and pieces[0]:
        return None
    return [part if index % 2 == 0 else f"\\{part}" for index, part in enumerate(pieces) if part]


_BESIDE_PI = frozenset(("r", "R", "rh", "k", "n", "x", "m", "h", "rl", "i", "t"))


def _is_alphabet(run: str) -> bool:
    """Letters in the order of the alphabet, or without any vowel, are a product."""
    if len(run) > 6:
        return False
    return all(ord(b) - ord(a) == 1 for a, b in zip(run, run[1:], strict=False)) or not set(run.lower()) & set("aeiouy")


def _is_long_word(token: str) -> bool:
    return len(token) > 3 and token.isalpha() and token not in _NAMES and not _is_alphabet(token)


def _is_money(tokens: list[str]) -> bool:
    """Whether every dollar sign stands in front of a number and none behind one, as in "$5 and $6"."""
    places = [at for at, token in enumerate(tokens) if token == "$"]
    if not places:
        return False
    if places[-1] == len(tokens) - 1:
        return False
    return all(
        (tokens[at + 1][:1].isdigit() or tokens[at + 1][:1] == ".") and _before(tokens, at) in _MONEY for at in places
    )


def _before(tokens: list[str], at: int) -> str:
    word = tokens[at - 1] if at else ""
    return '"' + word if word in ("and", "or") else "=" if word.isalpha() and len(word) > 1 else word


def undressed(tokens: list[str]) -> tuple[list[str], list[int]]:
    """The tokens that are read, with an empty one at the end, and for each the index of the token it comes from."""
    return _Dresser(tokens).run()

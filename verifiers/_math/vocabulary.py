r"""Which words and commands mean what before anything is read: lists, and nothing else."""

from __future__ import annotations

from guerdon.verifiers._math.commands import MANY_ARGUMENTS, ONE_ARGUMENT
from guerdon.verifiers._math.naming import GREEK

_TEXTS = r"""
\text \textbf \textit \textrm \textsf \texttt \textnormal \textsc \textsl \textup \mbox \hbox \mathrm \mathsf \mathtt
\operatorname \emph \underline
"""
TEXTS = frozenset(_TEXTS.split())
"""Commands whose content is words."""

_GROUPS = r"""
\mathbf \mathit \boldsymbol \bm \pmb \boxed \fbox \mathcal \mathfrak \mathscr \ensuremath \mathop \mathrel \mathbin
\mathord \mathnormal \mathopen \mathclose \cancel \bcancel \smash
"""
GROUPS = frozenset(_GROUPS.split())
"""Commands that change how their content looks."""

FRAMES = frozenset(("\\boxed", "\\fbox", "\\ensuremath"))
"""Those of ``GROUPS`` around a whole answer."""

BOLD = frozenset(("\\mathbf", "\\boldsymbol", "\\bm", "\\pmb"))

_HIDDEN = r"\phantom \hphantom \vphantom \label \tag \hspace \vspace \color \textcolor \colorbox \hskip \kern \mspace"
HIDDEN = frozenset(_HIDDEN.split())
"""Commands that go together with their first argument."""

_NOTHING = r"""
$ $$ \( \) \[ \] ~ \right. \left. \hline \therefore \because \thinspace \medspace \/ \- ` \allowbreak \nobreak
\checkmark \blacksquare \qed \qedhere ✓ ✔ ✅ ■ ∎
"""
_DISPLAYS = "align aligned alignat equation gather gathered split math displaymath center multline flalign"
NOTHING = frozenset(_NOTHING.split()) | {
    f"\\{edge}{{{name}{star}}}" for edge in ("begin", "end") for name in _DISPLAYS.split() for star in ("", "*")
}
"""Tokens that say nothing."""

BREAKS = frozenset(("\\\\", "\\quad", "\\qquad", "\\newline", "\\cr", "\\par"))
"""Tokens that may stand between two answers."""

SAME = {
    "\\left|": "\\lvert", "\\right|": "\\rvert", "\\implies": "\\Rightarrow", "\\lbrace": "\\{", "\\rbrace": "\\}",
    "\\land": '"and', "\\lor": '"or', "\\wedge": '"and', "\\vee": '"or', "\\&": '"and', "\\cdots": "\\ldots",
    "\\dots": "\\ldots", "...": "\\ldots", "\\dotsc": "\\ldots", "\\dotsb": "\\ldots", "**": "^", "\\rbrack": "]",
    "\\lbrack": "[", "\\percent": "%", "\\degrees": "\\degree", "\\Re": "\\re", "\\Im": "\\im", "\\imath": "i",
    "\\jmath": "j",
}  # fmt: skip
"""Tokens with another name."""

_GREEK_IN_PROSE = frozenset(("ell", "Pi", "eta", "chi", "psi", "rho", "tau"))
NAMES = {
    **{name: f"\\{name}" for name in (*ONE_ARGUMENT, *MANY_ARGUMENTS) if len(name) > 2 or name in ("ln", "lg", "tg")},
    **{name: f"\\{name}" for name in GREEK if len(name) > 2 and name not in _GREEK_IN_PROSE},
    "pi": "\\pi", "Pi": "\\pi", "PI": "\\pi", "sqrt": "\\sqrt", "cbrt": "\\cbrt", "inf": "\\infty", "infty": "\\infty",
    "oo": "\\infty",
    "infinity": "\\infty", "mod": "\\bmod", "times": "\\times", "union": "\\cup", "choose": "\\choose",
    "percent": "\\%", "ceiling": "\\ceil", "modulo": "\\bmod", "cdot": "\\cdot",
}  # fmt: skip
NAMES |= {name.capitalize(): token for name, token in NAMES.items() if len(name) > 2 and name not in GREEK}
"""Words that are a command without its backslash."""

PROSE_NAMES = frozenset(("times", "choose", "union", "percent", "Times", "Union", "Choose", "Percent"))
"""Those of ``NAMES`` that are a command only behind a value."""

_SHORT_WORDS = """
yes no odd all any and or if not none the of is are one two six ten red day mon man men boy cat dog car bus box bag per
for was has had its it an to at by on be we so up in out off our you can may sum end top set old new low mid big true
false both each sun tue wed thu fri sat am pm sq cu as age nor way cup use let get dne
"""
SHORT_WORDS = frozenset(_SHORT_WORDS.split())
"""Runs of two or three letters that are words and no product."""

_NO_FUNCTIONS = """
cost costs tank tans sink sing single logic logs land sins using cosine sine tangent secret second section
"""
NO_FUNCTIONS = frozenset(_NO_FUNCTIONS.split())
"""Words that begin like a function."""

SPOKEN_SIGNS = {"minus": "-", "negative": "-", "plus": "+", "positive": "+"}
SPOKEN_POWERS = {"squared": "2", "cubed": "3"}
"""Operations in words, where an operand stands behind or before them: "minus infinity", "x squared"."""

CONJUNCTIONS = {
    **dict.fromkeys(("或", "或者", "oder", "ou", "или", "または", "또는"), '"or'),
    **dict.fromkeys(("且", "并且", "和", "与", "及", "以及", "und", "и", "および", "및"), '"and'),
}
"""Between two answers, in other languages."""

CODES = {"USD": "\\$", "EUR": "\\euro", "GBP": "\\pounds", "INR": "\\rupee", "Rs": "\\rupee"}
"""Currencies in front of an amount."""

PROGRAM = frozenset(("import", "print", "eval", "exec", "def", "return", "subprocess", "os", "input", "open"))
SHORT_UNITS = frozenset("mgsLhNJWVAKC")
PER = frozenset(("s", "h", "L", "m", "kg", "K", "mol", "g", "min", "hr", "cm", "l", "mL", "day"))
"""What stands below units of one letter: in "5 m/s" the m is no variable."""

r"""Text to tokens, in one pass of one compiled expression.

A token is a piece of text: a command with its backslash, a number, a run of letters, or one sign. Spaces and what only
moves or sizes signs (``\left``, ``\,``, ``\displaystyle``) make no token. Nothing else is ever dropped here: every
character that is no space belongs to a token.

    numbers     one token with all their digits: 1,234  1{,}234  10\,000  1 234  0.\overline{3}  0.(3)  3.2e-4
    based       2E when an index follows, since it may be one number in base 16
    commands    \frac  \begin{pmatrix}  \mathbb{R}
    signs       two or three characters where they mean one thing: <=  !=  ->  **  ...

"2e-3" is 2e − 3: in an exact answer e is Euler's number, and a mantissa without a point stands before it. Scientific
are mantissas with a point (3.2e-4), the mantissa 1 (1e-9, since nobody writes 1 before Euler's number), E (5E6), an
exponent of two digits (5e-05) and one without a sign (2e6, since a number never stands behind a letter).
"""

from __future__ import annotations

import re
import unicodedata
from html import unescape

_SPACE = r"(?:\\[,;:!]|\\[ ](?![ ]*\\?\{)|~)"
_DRESS = (
    r"(?:left|right|displaystyle|textstyle|scriptstyle|limits|nolimits|thinspace|bigl|bigr|Bigl|Bigr|biggl|biggr|Biggl"
    r"|Biggr|big|Big|bigg|Bigg|middle|allowbreak|nobreak|hfill|null|strut|relax|small|large|Large|normalsize|tiny"
    r"|enspace|nonumber|notag|mathstrut|itshape|bfseries|rm|bf|it|centering|noindent)(?![a-zA-Z])"
)
_SKIP = rf"(?:[ \t\r\f\v]|{_SPACE}|\\(?!(?:left|right)[ ]*[|.]){_DRESS})*+"

_GROUPED = (
    r"(?<!\d,)[1-9]\d{0,2}(?:(?:,\d{3})+(?!\d|,\d)|(?:\{,\}\d{3})+(?!\d)|(?:,[ ]?\\[!, ][ ]*\d{3})+(?!\d)"
    rf"|(?:(?:{_SPACE}|\\[ ])[ ]*\d{{3}})+(?!\d)|(?:[ ]\d{{3}})+(?![\d/]|[ ]?/))"
)
_PERIOD = (
    r"\d*\.\d*(?:\\(?:overline|bar)[ ]*(?:\{[ ]*\d+[ ]*\}|\d)|\\dot[ ]*(?:\{\d\}|\d)(?:\d*\\dot[ ]*(?:\{\d\}|\d))?"
    r"|(?<=[.\d])\(\d+\)|(?<=\d)(?:\.{3}|\\[lc]?dots(?![a-zA-Z])))"
)
_SCIENTIFIC = r"(?:\d+\.\d+[eE][-+]?|\.\d+[eE][-+]?|1e[-+]?|\d+(?:E[-+]?|e(?=\d)|e[-+](?=\d\d)))\d+(?![\w.])"
_BASED = r"\d[\dA-Z]*(?:\.[\dA-Z]+)?(?=[ ]*\}?[ ]*_)"
_HEXADECIMAL = r"[A-F][\dA-F]+(?=[ ]*\}?[ ]*_[ ]*\{?[ ]*16(?!\d))"
_NUMBER = rf"\d+(?![\w.,{{\\ ~])|{_BASED}|{_PERIOD}|{_SCIENTIFIC}|{_GROUPED}(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"

TOKEN = re.compile(
    rf"{_SKIP}("
    r"\\(?:begin|end)[ ]*\{[ ]*[a-zA-Z]+\*?[ ]*\}|\\mathbb[ ]*(?:\{[ ]*[A-Za-z][ ]*\}|[A-Za-z])"
    r"|\\(?:left|right)[ ]*[|.]|\\[a-zA-Z]+"
    rf"|{_NUMBER}"
    rf"|{_HEXADECIMAL}"
    r"|[aApP]\.[ ]?[mM](?:\.|(?!\w))|[oO]'[cC]lock|[^\W\d_]+"
    r"|<=|>=|=<|<>|!=|==|:=|->|=>|\*\*|\.\.\.+|\\[^a-zA-Z]|\n\s*|\S|\Z)"
)

_RAISED = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱ]+")
_LOWERED = re.compile(r"[₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₐₑₒₓₕₖₗₘₙₚₛₜᵢⱼ]+")
_MEANING = {
    **dict.fromkeys("−–‐‑﹣", "-"), "×": "\\times ", "✕": "\\times ", "·": "\\cdot ", "⋅": "\\cdot ", "∙": "\\cdot ",
    "•": "\\cdot ", "∗": "*", "÷": "\\div ", "⁄": "/", "∕": "/", "√": "\\sqrt ", "∛": "\\sqrt[3] ", "∜": "\\sqrt[4] ",
    "∞": "\\infty ", "≤": "\\le ", "≦": "\\le ", "⩽": "\\le ", "≥": "\\ge ", "≧": "\\ge ", "⩾": "\\ge ", "≠": "\\ne ",
    "≈": "\\approx ", "≃": "\\approx ", "≅": "\\cong ", "≡": "\\equiv ", "±": "\\pm ", "∓": "\\mp ", "∪": "\\cup ",
    "∩": "\\cap ", "∖": "\\setminus ", "∈": "\\in ", "∉": "\\notin ", "⊂": "\\subset ", "⊆": "\\subseteq ",
    "∅": "\\emptyset ", "Ø": "\\emptyset ", "ø": "\\emptyset ", "ℝ": "\\mathbb{R}", "ℚ": "\\mathbb{Q}",
    "ℤ": "\\mathbb{Z}", "ℕ": "\\mathbb{N}", "ℂ": "\\mathbb{C}", "°": "^\\circ ", "º": "^\\circ ", "′": "'", "″": "''",
    "’": "'", "‘": "'", "“": '"', "”": '"', "…": "\\ldots ", "⋯": "\\cdots ", "→": "\\to ", "↦": "\\mapsto ",
    "⟨": "\\langle ", "⟩": "\\rangle ", "〈": "\\langle ", "〉": "\\rangle ", "⌊": "\\lfloor ", "⌋": "\\rfloor ",
    "⌈": "\\lceil ", "⌉": "\\rceil ", "‖": "\\|", "∑": "\\sum ", "∏": "\\prod ", "∫": "\\int ", "∣": "\\mid ",
    "∧": "\\land ", "∨": "\\lor ", "∠": "\\angle ", "△": "\\triangle ", "∀": "\\forall ", "⇒": "\\Rightarrow ",
    "⇔": "\\iff ", "∂": "\\partial ", "ℓ": "\\ell ", "₂": "_{2}", "¢": "\\cent ", "€": "\\euro ", "£": "\\pounds ",
    "¥": "\\yen ", "₹": "\\rupee ", "℃": "^\\circ C", "℉": "^\\circ F", "，": ",", "；": ";", "。": ".", "、": ",",
    "（": "(", "）": ")", "【": "[", "】": "]", "｜": "|", "∶": ":", "：": ":", "％": "%", "﹪": "%", "⊤": "\\top ",
    "µ": "\\mu ",
    **{sign: "\\frac{{{}}}{{{}}}".format(*unicodedata.normalize("NFKC", sign).split("⁄"))
       for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒"},
    **{"αβγδεζηθικλμνξπρςστυφχψω"[i]: f"\\{name} " for i, name in enumerate(
        ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"])},
    **{"ΓΔΘΛΞΠΣΦΨΩ"[i]: f"\\{name} " for i, name in enumerate(["Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"])},
    "ϕ": "\\phi ", "ϵ": "\\epsilon ", "ϑ": "\\theta ", "ϱ": "\\rho ",
}  # fmt: skip
_TRANSLATION = str.maketrans(_MEANING)
_ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{1,5}|#x[0-9a-fA-F]{1,4});")


def tokens_of(text: str) -> list[str]:
    r"""The tokens of a text that ``ascii_form`` has gone over.

    >>> tokens_of(r"\left( 1{,}234, \frac12 \right)")
    ['(', '1{,}234', ',', '\\frac', '12', ')']
    """
    tokens: list[str] = TOKEN.findall(text)
    while tokens and not tokens[-1]:
        tokens.pop()  # the end, found once or twice so that nothing is skipped in front of it
    return tokens


def ascii_form(text: str) -> str:
    r"""The same mathematics in LaTeX and ASCII: Unicode signs and HTML entities undone.

    >>> ascii_form("2√5 ≤ x² − ½")
    '2\\sqrt 5 \\le  x^{2} - \\frac{1}{2}'
    """
    if "&" in text:
        text = _ENTITY.sub(lambda found: unescape(found.group()), text)
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", "".join(map(_visible, _plain_unicode(text))))


def _plain_unicode(text: str) -> str:
    text = _RAISED.sub(_script("^"), text)
    text = _LOWERED.sub(_script("_"), text)
    text = text.translate(_TRANSLATION)
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_TRANSLATION)


def _script(mark: str):  # type: ignore[no-untyped-def]
    return lambda found: f"{mark}{{{unicodedata.normalize('NFKC', found.group()).replace('−', '-')}}}"


def _visible(sign: str) -> str:
    """The sign; a decimal digit of any script as the ASCII one; nothing for the invisible."""
    if sign < "\x7f":
        return sign
    if sign.isdecimal():
        return str(unicodedata.decimal(sign))
    kind = unicodedata.category(sign)
    return "" if kind == "Cf" else " " if kind in ("Zs", "Zl", "Zp") else sign

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


def tokens_of(text: str) -> list[str]:
    r"""The tokens of a text that ``signs.ascii_form`` has gone over.

    >>> tokens_of(r"\left( 1{,}234, \frac12 \right)")
    ['(', '1{,}234', ',', '\\frac', '12', ')']
    """
    tokens: list[str] = TOKEN.findall(text)
    while tokens and not tokens[-1]:
        tokens.pop()  # the end, found once or twice so that nothing is skipped in front of it
    return tokens

r"""Units that are written as commands or as bare letters, put into the form that the dress knows: ``\text{…}``.

45\degree              45^\circ
3\ \mu\text{m}         3\ \text{μm}, and so \mathrm{\mu m}
20\ \Omega, 5\,\mathrm{k\Omega}    20\ \text{Ω}, 5\,\text{kΩ}: at the end, behind a number
5 m, 1.6e-19 C        one letter behind a plain number and a space
8\frac{\text{m}}{\text{s}}    8 \text{m}/\text{s}
"""

from __future__ import annotations

import re

_TEXT = r"\\(?:text|mathrm|textrm|mathsf)[ ]*\{[ ]*"
_DEGREE = re.compile(r"(?<![\^{])\\degrees?(?![a-zA-Z])")
_MICRO = re.compile(rf"{_TEXT}\$?\\mu\$?[ ]*([a-zA-Z]+)[ ]*\}}|\\mu[ ]*{_TEXT}([a-zA-Z]+)[ ]*\}}")
_OHM = re.compile(
    r"(?<=[\d}])((?:\\[ ,;:]|~| )*)"
    rf"(?:{_TEXT}([kMm]?)[ ]*\\Omega[ ]*\}}|{_TEXT}([kMm])[ ]*\}}[ ]*\\Omega|\\Omega)\s*\Z"
)
_NUMBER = r"[-+]?[\d.,]+(?:[eE][-+]?\d+| ?(?:\\times|\\cdot|[x*]) ?10 ?\^ ?(?:\{-?\d+\}|\d+))?"
_LETTER = re.compile(rf"({_NUMBER}) ([mgsLhNJWVAKCt])((?:\^\{{?-?\d\}}?)?)")
_NAME = rf"{_TEXT}[a-zA-Z]+\}}"
_FRACTION = re.compile(rf"(?<=[\d}} ,;~])\\[dt]?frac[ ]*\{{({_NAME})\}}[ ]*\{{({_NAME}(?:\^\{{?\d\}}?)?)\}}\s*\Z")


def with_plain_units(form: str) -> str:
    r"""The text with its units as words.

    >>> with_plain_units(r"3\,\mathrm{\mu m}"), with_plain_units("1.6e-19 C"), with_plain_units(r"20\ \Omega")
    ('3\\,\\text{μm}', '1.6e-19 \\text{C}', '20\\ \\text{Ω}')
    """
    if "\\" in form:
        if "\\degree" in form:
            form = _DEGREE.sub(r"^\\circ ", form)
        if "\\mu" in form:
            form = _MICRO.sub(lambda found: f"\\text{{μ{found[1] or found[2]}}}", form)
        if "\\Omega" in form:
            form = _OHM.sub(lambda found: f"{found[1]}\\text{{{found[2] or found[3] or ''}Ω}}", form)
        if "frac" in form and "{\\" in form:
            form = _FRACTION.sub(r"\1/\2", form)
    if found := _LETTER.fullmatch(form):
        form = f"{found[1]} \\text{{{found[2]}}}{found[3]}"
    return form

r"""Unicode signs and what they are in LaTeX and ASCII: ``√2 ≤ x²`` is ``\sqrt 2 \le x^{2}``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from html import unescape

_RAISED = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱ]+")
_LOWERED = re.compile(r"[₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₐₑₒₓₕₖₗₘₙₚₛₜᵢⱼ]+")
_MICRO = re.compile(r"(?<=[\d ~])[μµ]([mgsLAFCV])(?!\w)")
_GREEK = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma sigma tau upsilon phi chi psi
omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega
"""
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
    "µ": "\\mu ", "ħ": "\\hbar ", "ℏ": "\\hbar ",
    **{sign: "\\frac{{{}}}{{{}}}".format(*unicodedata.normalize("NFKC", sign).split("⁄"))
       for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒"},
    **{sign: f"\\{name} " for sign, name in zip("αβγδεζηθικλμνξπρςστυφχψωΓΔΘΛΞΠΣΦΨΩ", _GREEK.split(), strict=True)},
    "ϕ": "\\phi ", "ϵ": "\\epsilon ", "ϑ": "\\theta ", "ϱ": "\\rho ",
}  # fmt: skip
_TRANSLATION = str.maketrans(_MEANING)
_ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{1,5}|#x[0-9a-fA-F]{1,4});")


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
    text = _MICRO.sub(r"\\text{μ\1}", text)
    text = text.translate(_TRANSLATION)
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_TRANSLATION)


def _script(mark: str) -> Callable[[re.Match[str]], str]:
    return lambda found: f"{mark}{{{unicodedata.normalize('NFKC', found.group()).replace('−', '-')}}}"


def _visible(sign: str) -> str:
    """The sign; a decimal digit of any script as the ASCII one; nothing for the invisible."""
    if sign < "\x7f":
        return sign
    if sign.isdecimal():
        return str(unicodedata.decimal(sign))
    kind = unicodedata.category(sign)
    return "" if kind == "Cf" else " " if kind in ("Zs", "Zl", "Zp") else sign

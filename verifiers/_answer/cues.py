"""Words that announce an answer ("the answer is", "Answer:", "答案是", "Ответ:"), found from the last to the first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# In lower case. A word of the first kind is believed whatever follows; behind one of the second must be mathematics.
_ANSWERS = ("answer", "antwort", "respuesta", "risposta", "resposta")
_RESULTS = ("result", "solution", "option", "choice", "ergebnis")
_ANSWERS_BEYOND_ASCII = ("réponse", "ответ", "答", "답", "故选", "应选", "所以选", "因此选")
_RESULTS_BEYOND_ASCII = ("résultat", "lösung", "soluci")
_ALL = (*_ANSWERS, *_RESULTS, *_ANSWERS_BEYOND_ASCII, *_RESULTS_BEYOND_ASCII)
_ANSWER = frozenset((*_ANSWERS, *_ANSWERS_BEYOND_ASCII))

_AFTER = re.compile(
    r"(?:s|en|ado|ato|ón|案|え)?(?: finale?)?(?:[*_` \t]{0,4}(?:(?P<colon>[:：=])|是|为|為|は|은|는|选项?"
    r"|(?:is|are|was|were|equals|ist|sind|lautet|est|sont|es|son|è|é|равен|равна|равно)\b"
    r"|(?:would|should|must|could|might|may|will) be\b)|(?<=选)项?(?=[\s(（$\\*]{0,4}[A-J])|(?P<heading>[^\w\n]*$))",
    re.MULTILINE | re.IGNORECASE,
)


class Cue(NamedTuple):
    """start: where the word begins; end: behind what follows it. is_answer: the word says "answer" and not "result".

    colon: it ends with a colon or "="; heading: nothing but decoration follows on its line.
    """

    start: int
    end: int
    is_answer: bool
    colon: bool
    heading: bool


class Cues:
    """The cues of a part of a text, of which ``lowered`` is the part and ``found`` the last place of each word."""

    __slots__ = ("_found", "_lowered", "_start", "_text")

    def __init__(self, text: str, start: int, lowered: str, found: list[tuple[int, str]]) -> None:
        self._text, self._start, self._lowered, self._found = text, start, lowered, found

    def __iter__(self) -> Iterator[Cue]:
        found, lowered, end = list(self._found), self._lowered, self._start + len(self._lowered)
        while found:
            last = max(found)
            at, stem = last
            found.remove(last)
            if (earlier := lowered.rfind(stem, 0, at)) >= 0:
                found.append((earlier, stem))
            if at and lowered[at - 1].isalpha() and stem[0] < "\u3000":
                continue  # "adoption"
            begin = self._start + at
            match = _AFTER.match(self._text, begin + len(stem), end)
            if match:
                yield Cue(begin, match.end(), stem in _ANSWER, match["colon"] is not None, match["heading"] is not None)


def cues_in(text: str, start: int, end: int) -> Cues | None:
    """The cues of ``text[start:end]``; None if it has no word of them, which is soon told of most responses."""
    part = text[start:end]
    lowered = part.lower()
    if len(lowered) != len(part):  # İ alone becomes two signs
        lowered = part.replace("İ", "I").lower()
    # whether any ASCII word can be in the text, written out, since this is asked of every response
    if not (
        "answer" in lowered
        or "tion" in lowered
        or "result" in lowered
        or "choice" in lowered
        or "antwort" in lowered
        or "ergebnis" in lowered
        or "spuesta" in lowered
        or "sposta" in lowered
        or not part.isascii()
    ):
        return None
    found = [(at, stem) for stem in _ALL if (at := lowered.rfind(stem)) >= 0]
    return Cues(text, start, lowered, found) if found else None

r"""Which samples share their error rates: a spec such as ``meta:source+kind`` becomes a function that names strata.

Parts are joined by ``+`` and make a path, so that rates fall back from ``gsm8k/integer`` to ``gsm8k`` to all samples:

    (empty)          one stratum for all samples, ""
    kind, stage      the answer kind and the deciding stage that a verifier reports (short for details:kind, :stage)
    details:KEY      any other of the score's details
    meta:KEY         any column of the sample (the source of the data, say)
    pattern:REGEX    "in" where RE2 finds the pattern in the response, else "out"

A pattern may hold any character, ``+`` too, and so runs to the end of the spec: it comes last.

What is missing (no such key, or None) is ``?``. A value cannot fake a path: in it ``/`` is written ``%2F``, ``%`` is
``%25``; the value ``?`` is ``%3F`` and the empty value ``%``. Values of over 80 characters are cut, with a hash of the
whole, so that a key stays short whatever a model wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from guerdon.rewards.errors import UsageError
from guerdon.rewards.patterns import compiled, encodable
from guerdon.rewards.types import Sample, Score, thaw

Stratum: TypeAlias = Callable[[Sample, Score], str]
"""The key of a sample's stratum, from the sample and its score."""

MISSING = "?"
LONGEST = 80
MAX_WORK = 10**9
"""Characters times instructions of a compiled pattern, RE2's worst case (7 s); beyond it the part is ``?``."""

FORMS = (
    "A stratum is '' (all samples), kind, stage, details:KEY, meta:KEY, or several joined by '+', "
    "the last of which may be pattern:REGEX"
)


def stratum(spec: str) -> Stratum:
    r"""The function that a spec names; the module says which specs there are. It pickles.

    Raises UsageError for a part that is unknown, empty or given twice, or a pattern RE2 does not take;
    MissingExtraError for a pattern where RE2 is not installed.

    >>> of = stratum("meta:source+kind")
    >>> of(Sample("1/2 + 1/2?", "1", "1", meta={"source": "a/b"}), Score(1.0, details={"kind": "integer"}))
    'a%2Fb/integer'
    """
    if not isinstance(spec, str):
        raise UsageError(f"a stratum's spec must be a string, got {spec!r:.80}. {FORMS}")
    parts: list[_Part] = []
    rest = spec.strip()
    while rest:
        text, plus, rest = (rest, "", "") if rest.startswith("pattern:") else rest.partition("+")
        if plus and not rest.strip():
            raise UsageError(f"the stratum {spec!r:.80} ends in '+'; name what follows, or leave it out")
        parts.append(_part(text.strip(), spec))
        rest = rest.strip()
    if len(set(parts)) < len(parts):
        raise UsageError(f"the stratum {spec!r:.80} names the same thing twice; once is enough")
    return _Path(tuple(parts))


@dataclass(frozen=True, slots=True)
class _Part:
    where: str  # "details", "meta" or "pattern"
    key: str

    def of(self, sample: Sample, score: Score) -> str:
        if self.where == "pattern":
            return _found(self.key, sample.response_text)
        values: Mapping[str, Any] = score.details if self.where == "details" else sample.meta
        return escaped(values.get(self.key))


@dataclass(frozen=True, slots=True)
class _Path:
    parts: tuple[_Part, ...]

    def __call__(self, sample: Sample, score: Score) -> str:
        return "/".join(part.of(sample, score) for part in self.parts)


def _part(text: str, spec: str) -> _Part:
    if text in ("kind", "stage"):
        return _Part("details", text)
    where, colon, key = text.partition(":")
    if where not in ("details", "meta", "pattern") or not colon:
        raise UsageError(f"{text!r:.80} in the stratum {spec!r:.80} is nothing that is known. {FORMS}")
    if not key:
        raise UsageError(f"{text!r} in the stratum {spec!r:.80} names nothing. {FORMS}")
    if where == "pattern":
        compiled(key, "a stratum by pattern")
    return _Part(where, key)


def escaped(value: Any) -> str:
    """A value as one component of a path: two values share it only if they are written alike.

    >>> [escaped(value) for value in (None, "?", "", "a/b", "50%", True, 3)]
    ['?', '%3F', '%', 'a%2Fb', '50%25', 'true', '3']
    """
    if value is None:
        return MISSING
    text = value if isinstance(value, str) else json.dumps(thaw(value), sort_keys=True, default=str)
    if text in ("", MISSING):
        return {"": "%", MISSING: "%3F"}[text]
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}…{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    return text.replace("%", "%25").replace("/", "%2F")


def _found(pattern: str, text: str) -> str:
    engine = compiled(pattern, "a stratum by pattern")
    if len(text) * engine.programsize > MAX_WORK:
        return MISSING
    return "out" if engine.search(encodable(text)) is None else "in"

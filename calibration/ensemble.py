"""Several scorers as one scorer; ``ensembles.py`` has the arithmetic."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.calibration.ensembles import Whitening, check_options, combine, scale_of
from guerdon.rewards.errors import ContractError, ScaleError, UsageError
from guerdon.rewards.evaluation._numeric import np
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.types import Sample, Scale, Score


class SharedOriginWarning(UserWarning):
    """All members of an ensemble come from one backbone and one data set, so their agreement says little."""


class Ensemble:
    """A scorer made of scorers: ``how`` combines their values, one of ``ensembles.COMBINATIONS``.

    Members must declare one scale (ScaleError otherwise: calibrate them to probability first); real scores and logits
    should be whitened, because the one with the largest numbers would decide. A sample that some member leaves unscored
    is unscored, and says by whom; with ``at_least`` members scored, those are combined instead (``details["members"]``
    counts them). Scales: see ``ensembles.scale_of``; with whitening, ``real``.

    origins: for each member what it was made of, {"backbone": …, "data": …}; None reads an attribute ``origin`` of the
    members where they have one. If all share both, SharedOriginWarning is given once, here.
    """

    def __init__(
        self,
        members: Sequence[Scorer],
        how: str = "mean",
        *,
        whitening: Whitening | None = None,
        at_least: int | None = None,
        origins: Sequence[Mapping[str, Any] | None] | None = None,
        name: str = "ensemble",
        **options: float,
    ) -> None:
        self._members = tuple(members)
        if len(self._members) < 2:
            raise UsageError(f"an ensemble has at least two members, got {len(self._members)}")
        check_options(how, options)
        scales = {member.name: member.scale for member in self._members}
        if len({member.scale for member in self._members}) > 1:
            raise ScaleError(
                f"cannot combine scores of different scales: {scales}; calibrate them to 'probability' first"
            )
        if whitening is not None and len(whitening.mean) != len(self._members):
            raise UsageError(f"{len(self._members)} members, but whitening was learnt for {len(whitening.mean)}")
        if at_least is not None and not 1 <= at_least <= len(self._members):
            raise UsageError(f"at_least must lie in [1, {len(self._members)}], got {at_least!r}")
        self._how, self._options, self._whitening = how, dict(options), whitening
        self._at_least = len(self._members) if at_least is None else at_least
        self.name = name
        self.scale: Scale = "real" if whitening is not None else scale_of(how, self._members[0].scale)
        self.version = self._fingerprint()
        _warn_of_shared_origin(self._members, origins)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """One score a sample. A member's outage passes through; a member that breaks its word raises ContractError."""
        by_member = [member.score(samples) for member in self._members]
        for member, scores in zip(self._members, by_member, strict=True):
            if len(scores) != len(samples):
                raise ContractError(f"member {member.name!r} gave {len(scores)} scores for {len(samples)} samples")
        return [self._one([scores[i] for scores in by_member]) for i in range(len(samples))]

    def _one(self, scores: list[Score]) -> Score:
        told = [i for i, score in enumerate(scores) if score.value is not None]
        details = {"members": len(told), "values": [score.value for score in scores]}
        if len(told) < self._at_least:
            silent = [i for i, score in enumerate(scores) if score.value is None]
            first = scores[silent[0]]
            names = ", ".join(self._members[i].name for i in silent)
            return Score.unscored(f"unscored by {names}: {first.reason}", details, status=first.status)
        values = np.array([scores[i].value for i in told], dtype=float)[:, None]
        if self._whitening is not None:
            chosen = Whitening(
                tuple(self._whitening.mean[i] for i in told), tuple(self._whitening.std[i] for i in told)
            )
            values = chosen.apply(values)
        value = float(combine(values, self._how, **self._options)[0])
        details["spread"] = float(values.std())
        return Score(value, f"{self._how} of {len(told)} members", details)

    def _fingerprint(self) -> str:
        parts = [(member.name, member.version) for member in self._members]
        text = repr((parts, self._how, sorted(self._options.items()), self._whitening, self._at_least))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def __repr__(self) -> str:
        return f"Ensemble({[member.name for member in self._members]!r}, {self._how!r}, scale={self.scale!r})"


def _warn_of_shared_origin(members: Sequence[Scorer], origins: Sequence[Mapping[str, Any] | None] | None) -> None:
    if origins is not None and len(origins) != len(members):
        raise UsageError(f"{len(members)} members, but {len(origins)} origins; give one a member, None where unknown")
    found = [getattr(member, "origin", None) for member in members] if origins is None else list(origins)
    made_of = {_made_of(origin) for origin in found}
    if len(made_of) == 1 and (one := made_of.pop()):
        backbone, data = one
        warnings.warn(
            f"all {len(members)} members come from the backbone {backbone!r} and the data {data!r}: they can agree on "
            "the same mistake, and their spread does not show it. Mix backbones or data",
            SharedOriginWarning,
            stacklevel=3,
        )


def _made_of(origin: Any) -> tuple[str, str] | None:
    """Backbone and data in words, None where either is unknown."""
    if not isinstance(origin, Mapping) or not origin.get("backbone") or not origin.get("data"):
        return None
    return str(origin["backbone"]), str(origin["data"])

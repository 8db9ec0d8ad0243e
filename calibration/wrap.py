"""Scorers that hold a scorer and improve its scores: ``Corrected``, ``Calibrated``, ``Debiased``.

Each takes what was measured of the scorer (audited error rates, a fitted probability map, a fitted bias curve) or the
JSON file with it, and refuses a scorer that it was not measured on. What has no score keeps its reason and status. The
value before stands in the details, under the name of what was done (``corrected``, ``calibrated``, ``debiased``).

Around a reward model a wrapper stays a ``BatchScorer``, so that a server merges its callers' samples as before.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from guerdon.calibration._arrays import np
from guerdon.calibration._wrapper import Wrapper
from guerdon.calibration.advantages import LEVELS, Level
from guerdon.calibration.correct import FLOOR, MODES, Mode, correct, why_uninformative
from guerdon.calibration.rates import NoiseRates, prefixes
from guerdon.calibration.strata import stratum
from guerdon.rewards.errors import ScaleError, UnknownNameError, UsageError
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.types import Sample, Scale, Score

if TYPE_CHECKING:
    from guerdon.calibration.debias import DebiasCurve
    from guerdon.calibration.probabilities import ProbabilityMap

_logger = logging.getLogger(__name__)


class Corrected(Wrapper):
    """A verifier whose verdicts are corrected for its audited error rates, each by its stratum's.

    scorer: of scale verdict, the one that was audited. rates: what the audit found, or its file. mode: "backward" (a
    reward that is 1 on average for right responses and 0 for wrong ones) or "forward" (a coefficient, for a loop that
    takes no baseline). level: "reward", or "coefficient" if the trainer must not standardise; ``advantages.records``
    reads it. floor: see ``correct.backward``. Scale real.

    A sample of a stratum whose verdicts are not known to be better than chance, or for which there are no rates, is
    unscored (``abstained``). UsageError if that is so of every stratum, or the scorer has another name than the
    audited one; another version is a warning in the log, once each.

    With one stratum a trainer that standardises inside the group undoes the correction: see ``effect.effect``.
    """

    scale: Scale = "real"
    word = "corrected"

    def __init__(
        self,
        scorer: Scorer,
        rates: NoiseRates | str | os.PathLike[str],
        *,
        mode: Mode = "backward",
        level: Level | None = None,
        floor: float = FLOOR,
    ) -> None:
        rates = rates if isinstance(rates, NoiseRates) else NoiseRates.load(rates)
        if scorer.scale != "verdict":
            raise ScaleError(
                f"error rates are of verdicts (0 or 1), but the scale of {scorer.name!r} is {scorer.scale!r}; "
                "correct the verifier itself, before anything else is done to its scores"
            )
        if rates.scorer and rates.scorer != scorer.name:
            raise UsageError(
                f"these rates are of the scorer {rates.scorer!r}, not of {scorer.name!r}: another verifier errs "
                "elsewhere. Audit this one, or take the rates that belong to it"
            )
        if mode not in MODES:
            raise UsageError(f"mode must be one of {', '.join(MODES)}; got {mode!r}")
        level = level if level is not None else "reward" if mode == "backward" else "coefficient"
        if level not in LEVELS:
            raise UsageError(f"level must be one of {', '.join(LEVELS)}; got {level!r}")
        if mode == "forward" and level == "reward":
            raise UsageError(
                "the forward correction is a coefficient: as a reward, any baseline takes its constant away and leaves "
                "the plain noisy update. Use mode='backward', or level='coefficient'"
            )
        super().__init__(scorer, rates, mode=mode, level=level, floor=floor)
        self.rates, self.mode, self.level = rates, mode, level
        self._stratum = stratum(rates.stratum)
        self._table = {
            key: correct([0.0, 1.0], rates, [key, key], mode=mode, floor=floor, uninformative="mask").tolist()
            for key in rates.channels
        }
        self._useless = {key: why for key in rates.channels if (why := why_uninformative(key, rates))}
        if len(self._useless) == len(self._table):
            raise UsageError("no verdict could be corrected:\n" + "\n".join(self._useless.values()))
        self._seen: set[str] = {rates.version, ""} if rates.version else set()
        self._warn_of_another_version()

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        scores = super().score(samples)
        self._warn_of_another_version()
        return scores

    def _values(self, samples: Sequence[Sample], scores: Sequence[Score]) -> list[Score]:
        return [
            self._corrected(score, self._stratum(sample, score)) for sample, score in zip(samples, scores, strict=True)
        ]

    def _corrected(self, score: Score, key: str) -> Score:
        audited = next((path for path in prefixes(key) if path in self._table), None)
        if audited is None or audited in self._useless:
            why = f"stratum {key!r:.200}: nobody audited it" if audited is None else self._useless[audited]
            said = {"raw": score.value, "stratum": key}
            return Score.unscored(f"verdict not corrected: {why}", {**score.details, self.word: said})
        channel = self.rates.channels[audited]
        return self._new(
            score,
            self._table[audited][score.value == 1.0],
            stratum=key,
            audited=audited,
            false_positive=channel.false_positive,
            false_negative=channel.false_negative,
            mode=self.mode,
            level=self.level,
        )

    def _warn_of_another_version(self) -> None:
        version = self._scorer.version
        if self._seen and version not in self._seen:
            self._seen.add(version)
            _logger.warning(
                "%s is version %s, its error rates are of version %s; audit it again if its verdicts have changed",
                self._scorer.name,
                version,
                self.rates.version,
            )


class Calibrated(Wrapper):
    """A scorer whose scores are made probabilities by a fitted map. Scale probability.

    probability_map: a ``ProbabilityMap`` of single scores, or its file. Raises UsageError for a map of pairs or one
    fitted on another scorer or version, ScaleError where the map takes another scale than the scorer gives.
    """

    scale: Scale = "probability"
    word = "calibrated"
    reads_samples = False

    def __init__(self, scorer: Scorer, probability_map: ProbabilityMap | str | os.PathLike[str]) -> None:
        from guerdon.calibration.probabilities import ProbabilityMap

        fitted = probability_map
        if not isinstance(fitted, ProbabilityMap):
            fitted = ProbabilityMap.load(fitted)
        if fitted.pairs:
            raise UsageError(
                "this map is of margins between two responses and says nothing of one alone; fit one of single scores"
            )
        if fitted.input_scale != scorer.scale:
            raise ScaleError(
                f"the map takes scores of scale {fitted.input_scale!r}, but {scorer.name!r} gives {scorer.scale!r}; "
                "fit a map on the scores of this scorer"
            )
        if why := fitted.refuses(scorer.name, scorer.version):
            raise UsageError(f"the probability map cannot be used: {why}")
        super().__init__(scorer, fitted)
        self.map = fitted

    def _values(self, samples: Sequence[Sample], scores: Sequence[Score]) -> list[Score]:
        values = self.map.apply(np.array([score.value for score in scores], dtype=np.float64))
        return [self._new(score, value) for score, value in zip(scores, values.tolist(), strict=True)]


class Debiased(Wrapper):
    """A scorer without what a fitted curve says its scores owe to a feature of the response. The scale stays.

    curve: a ``DebiasCurve``, or its file. Raises UsageError for a curve fitted on another scorer or version, ScaleError
    for a scorer of verdicts or probabilities, whose values a subtraction would push out of range.
    """

    word = "debiased"

    def __init__(self, scorer: Scorer, curve: DebiasCurve | str | os.PathLike[str]) -> None:
        from guerdon.calibration.debias import DebiasCurve
        from guerdon.calibration.features import feature

        fitted = curve
        if not isinstance(fitted, DebiasCurve):
            fitted = DebiasCurve.load(fitted)
        if scorer.scale not in ("logit", "real"):
            raise ScaleError(
                f"a bias is taken from scores of scale logit or real, but {scorer.name!r} gives {scorer.scale!r}; "
                "debias what is underneath, then calibrate"
            )
        if why := fitted.refuses(scorer.name, scorer.version):
            raise UsageError(f"the curve cannot be used: {why}")
        super().__init__(scorer, fitted)
        feature(fitted.feature)  # a name that there is no feature of is a mistake now, not at the first sample
        self.scale, self.curve = scorer.scale, fitted

    def _values(self, samples: Sequence[Sample], scores: Sequence[Score]) -> list[Score]:
        from guerdon.calibration.features import measure

        features = measure([self.curve.feature], [sample.response_text for sample in samples])[self.curve.feature]
        raw = np.array([score.value for score in scores], dtype=np.float64)
        values = self.curve.apply(raw, features)
        return [
            self._new(score, value, feature=self.curve.feature, amount=amount)
            for score, value, amount in zip(scores, values.tolist(), features.tolist(), strict=True)
        ]


def _abstaining(scorer: Scorer, file: str) -> Scorer:
    from guerdon.calibration.abstain import Abstaining

    return Abstaining(scorer, file)


_BY_KIND: Mapping[str, Callable[[Scorer, str], Scorer]] = {
    "noise_rates": Corrected,
    "probability_map": Calibrated,
    "debias_curve": Debiased,
    "abstention_rule": _abstaining,
}


def wrapped(scorer: Scorer, file: str | os.PathLike[str]) -> Scorer:
    """The scorer in the wrapper that a file calls for, by the ``kind`` in its JSON.

    Raises UsageError for a file that cannot be read or is of no such kind, and what the wrapper raises.
    """
    try:
        data = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {str(file)!r}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not valid JSON: {error}") from error
    kind = str(data.get("kind")) if isinstance(data, dict) else type(data).__name__
    if kind not in _BY_KIND:
        raise UsageError(f"{file}: {UnknownNameError('kind of calibration', kind, _BY_KIND)}")
    return _BY_KIND[kind](scorer, str(file))

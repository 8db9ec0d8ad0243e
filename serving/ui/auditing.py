"""The audit desk: which sample a person labels next, and what all labels so far say of the verifier.

It does what ``guerdon audit choose``, ``label`` and ``estimate`` do, on the scores of a store, with the same functions
and files. Labellers do not see the verdict: who knows it tends to agree.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from guerdon.rewards.errors import UsageError
from guerdon.serving.ui.labels import Labels
from guerdon.serving.ui.source import Pool, Source

if TYPE_CHECKING:
    from guerdon.calibration.audit import Audit
    from guerdon.serving.commands.audit_data import Judged
    from guerdon.serving.store import Row

Queue: TypeAlias = Literal["new samples", "second opinions", "disputed"]
QUEUES: tuple[Queue, ...] = ("new samples", "second opinions", "disputed")
"""What to look at: what the design draws, what only others labelled, or where auditors differ."""

BUDGET = 200
HALF_WIDTH = 0.05
_REMEMBERED = 8  # studies that are kept


@dataclass(frozen=True, slots=True)
class Design:
    """What is audited. threshold: for scores that are no verdicts. stratum: a spec of calibration/strata.py."""

    scorer: str
    stratum: str = ""
    threshold: float | None = None
    budget: int = BUDGET


@dataclass(slots=True)
class Study:
    """A design at work. keys: of each sample's stratum. queue: places in the pool. skipped, history: by auditor."""

    design: Design
    pool: Pool
    judged: Judged
    keys: Sequence[str]
    places: Mapping[str, int]
    queue: Sequence[int]
    notes: Sequence[str]
    skipped: dict[str, set[str]] = field(default_factory=dict)
    history: dict[str, list[tuple[str, bool]]] = field(default_factory=dict)
    showing: dict[str, str] = field(default_factory=dict)

    @property
    def drawn_by(self) -> dict[str, str]:
        return {"scorer": self.judged.scorer, "stratum": self.design.stratum}


class Desk:
    """All studies of a store, and the one file of labels. Thread-safe."""

    def __init__(self, source: Source, labels: Path) -> None:
        self.source, self.labels = source, Labels(labels)
        self._lock = threading.RLock()
        self._studies: dict[Design, Study] = {}

    @property
    def rates_file(self) -> Path:
        """Where an export goes: beside the labels."""
        return self.labels.path.with_name(f"{self.labels.path.name.removesuffix('.jsonl')}.rates.json")

    def study(self, design: Design, *, again: bool = False) -> Study:
        """The study of a design, begun if need be. again: draw anew, from what the labels now say.

        Raises UsageError for a scorer without scores or texts, a spec or a threshold that cannot be right.
        """
        with self._lock:
            known = self._studies.get(design)
            if known is None or again:
                if known is None and len(self._studies) >= _REMEMBERED:
                    self._studies.pop(next(iter(self._studies)))
                known = self._studies[design] = self._begin(design, known)
            return known

    def _begin(self, design: Design, before: Study | None) -> Study:
        from dataclasses import replace

        from guerdon.calibration.audit import choose
        from guerdon.calibration.strata import stratum

        of = stratum(design.stratum)
        pool = self.source.pool(design.scorer)
        if not pool.has_texts:
            raise UsageError(
                "the texts of these scores were not kept, so nobody can judge them; serve with --store-text"
            )
        judged = replace(pool.judged(design.threshold), scorer=self.name_of(design.scorer))
        keys = [of(sample, score) for sample, score in zip(judged.samples, judged.scores, strict=True)]
        places = {name: place for place, name in enumerate(judged.ids)}
        study = Study(design, pool, judged, keys, places, (), ())
        if before is not None:
            study.skipped, study.history = before.skipped, before.history
        truths = self._truths(study)[0]
        if all(math.isnan(v) or not math.isnan(t) for v, t in zip(judged.verdicts, truths, strict=True)):
            study.notes = ["every scored sample has a label"]
            return study
        plan = choose(judged.verdicts, keys, budget=design.budget, truths=truths)
        study.queue, study.notes = [int(place) for place in plan.indices], plan.notes
        return study

    def name_of(self, scorer: str) -> str:
        """The name that the scorer itself has, by which its rates are recognised when they are applied to it.

        A server may call it otherwise (``--scorer checked=math``); the store knows what it was loaded by.
        """
        from guerdon import verifiers

        sources = [version.source for version in self.source.versions() if version.scorer == scorer]
        spec = (sources[-1] or "") if sources else ""
        return spec if spec in verifiers.names() else scorer

    def spec_of(self, scorer: str) -> str:
        """What the scorer was loaded by, else its name."""
        sources = [version.source for version in self.source.versions() if version.scorer == scorer]
        return (sources[-1] if sources else None) or scorer

    # --- labelling ---

    def next(self, study: Study, auditor: str, queue: Queue = "new samples") -> str | None:
        """The sample that this auditor looks at next, None if the queue is done.

        Two auditors of new samples are given different ones.
        """
        with self._lock:
            by, skipped = self.labels.by, study.skipped.setdefault(auditor, set())
            taken = {name for who, name in study.showing.items() if who != auditor}
            found = next(
                (
                    name
                    for name in self._queued(study, queue, by)
                    if name not in skipped
                    and (queue == "disputed" or auditor not in by.get(name, {}))
                    and not (queue == "new samples" and (name in by or name in taken))
                ),
                None,
            )
            study.showing.pop(auditor, None)
            if found is not None:
                study.showing[auditor] = found
            return found

    def _queued(self, study: Study, queue: Queue, by: Mapping[str, Mapping[str, bool]]) -> Sequence[str]:
        if queue == "new samples":
            return [study.judged.ids[place] for place in study.queue]
        if queue == "second opinions":
            return [name for name in by if name in study.places]
        return [name for name in self.labels.disputed() if name in study.places]

    def label(self, study: Study, auditor: str, name: str, right: bool) -> bool:
        """Write a label for the sample that the auditor saw. False if that was not the one shown to them."""
        with self._lock:
            if study.showing.get(auditor) != name:
                return False  # a second keystroke before the next sample was there
            self.labels.add(name, auditor, right, study.drawn_by)
            study.history.setdefault(auditor, []).append((name, True))
            study.showing.pop(auditor, None)
            return True

    def skip(self, study: Study, auditor: str, name: str) -> bool:
        with self._lock:
            if study.showing.get(auditor) != name:
                return False
            study.skipped.setdefault(auditor, set()).add(name)
            study.history.setdefault(auditor, []).append((name, False))
            return True

    def undo(self, study: Study, auditor: str) -> str | None:
        """Take back the auditor's last label or skip; gives the sample, which is shown again. None if there is none."""
        with self._lock:
            history = study.history.get(auditor, [])
            if not history:
                return None
            name, labelled = history.pop()
            if labelled:
                self.labels.take_back(name, auditor, study.drawn_by)
            study.skipped.setdefault(auditor, set()).discard(name)
            study.showing[auditor] = name
            return name

    def row(self, study: Study, name: str) -> Row:
        return study.pool.rows[study.places[name]]

    def progress(self, study: Study) -> tuple[int, int]:
        """How many of the design's samples have a label, and how many there are."""
        by = self.labels.by
        return sum(study.judged.ids[place] in by for place in study.queue), len(study.queue)

    # --- what the labels say ---

    def _truths(self, study: Study) -> tuple[list[float], Any, int]:
        """1, 0 or NaN for each sample; how they were drawn, for ``estimate``; how many labels are another scorer's."""
        from guerdon.calibration.strata import stratum

        labels, judged = self.labels.latest, study.judged
        here = {name: label for name, label in labels.items() if name in study.places}
        own = {name: label for name, label in here.items() if label.scorer in (None, judged.scorer)}
        specs = {label.stratum for label in own.values()}
        if len(specs) > 1:
            raise UsageError(
                f"the labels in {self.labels.path} were drawn by different strata "
                f"({', '.join(repr(str(spec)) for spec in sorted(map(str, specs)))}); name one file of labels for each"
            )
        spec = next(iter(specs), None)
        by: Any = "stratum"
        if spec is not None and spec != study.design.stratum:
            of = stratum(spec)
            by = [of(sample, score) for sample, score in zip(judged.samples, judged.scores, strict=True)]
        truths = [float(own[name].right) if name in own else math.nan for name in judged.ids]
        return truths, by, len(here) - len(own)

    def audit(self, study: Study) -> Audit:
        """The rates that all labels give. Raises UsageError without labels."""
        from guerdon.calibration.audit import estimate

        truths, by, _ = self._truths(study)
        judged = study.judged
        return estimate(
            judged.verdicts,
            truths,
            study.keys,
            drawn_by=by,
            scorer=judged.scorer,
            version=judged.version,
            stratum=study.design.stratum,
        )

    def export(self, study: Study) -> tuple[Path, str]:
        """Write the rates where ``guerdon serve`` can load them. Raises UsageError if there are none yet.

        Also gives why no verdict could be corrected by them yet, or "".
        """
        from guerdon.calibration.correct import why_uninformative

        path, rates = self.rates_file, self.audit(study).rates
        rates.save(path)
        useless = [why for key in rates.channels if (why := why_uninformative(key, rates))]
        return path, useless[0] if len(useless) == len(rates.channels) else ""

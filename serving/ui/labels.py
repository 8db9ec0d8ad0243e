"""What people said of samples: the file of labels, who gave which, and how far they agree.

The file is that of ``guerdon audit label`` (see commands/audit_data.py): a line is written the moment a label is given,
the last line of an id counts, and null takes it back. Lines written here also name the auditor. Where two differ, the
later one counts until somebody settles it; how often they differ is what ``agreement`` is for.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from guerdon.rewards.errors import UsageError
from guerdon.serving.commands import audit_data
from guerdon.serving.commands.audit_data import Label

SOMEBODY = ""
"""The auditor of lines that name none, such as those of the command line."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two auditors on the samples that both labelled. kappa: Cohen 1960, None where chance alone explains all.

    half_width: of kappa's 95 % interval, by its large-sample standard error.
    """

    first: str
    second: str
    n: int
    same: int
    kappa: float | None
    half_width: float | None


class Labels:
    """A file of labels. Thread-safe; lines that another process adds are seen at the next look."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._size = -1
        self._latest: dict[str, Label] = {}
        self._by: dict[str, dict[str, bool]] = {}

    @property
    def latest(self) -> Mapping[str, Label]:
        """The label of each sample that counts: the last one given."""
        with self._lock:
            self._look()
            return self._latest

    @property
    def by(self) -> Mapping[str, Mapping[str, bool]]:
        """The latest label of every auditor, by sample."""
        with self._lock:
            self._look()
            return self._by

    def add(self, name: str, auditor: str, right: bool, drawn_by: Mapping[str, str]) -> None:
        """Write a label. Raises UsageError where it cannot be written: nothing is then remembered either."""
        with self._lock:
            self._look()
            self._write({"id": name, "label": right, "auditor": auditor, "drawn_by": dict(drawn_by)})

    def take_back(self, name: str, auditor: str, drawn_by: Mapping[str, str]) -> None:
        """Undo an auditor's label; another one's, given before, counts again."""
        with self._lock:
            self._look()
            others = {who: right for who, right in self._by.get(name, {}).items() if who != auditor}
            self._write({"id": name, "label": None, "auditor": auditor, "drawn_by": dict(drawn_by)})
            for who, right in others.items():
                self._write({"id": name, "label": right, "auditor": who, "drawn_by": dict(drawn_by)})

    def disputed(self) -> list[str]:
        """Samples whose auditors differ, in the order of the file."""
        return [name for name, said in self.by.items() if len(set(said.values())) > 1]

    def agreement(self) -> list[Agreement]:
        """Every two auditors with a sample in common."""
        by = self.by
        auditors = sorted({who for said in by.values() for who in said})
        pairs = (agreement_of(a, b, by) for a, b in combinations(auditors, 2))
        return [pair for pair in pairs if pair.n]

    def _write(self, row: Mapping[str, Any]) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            audit_data.save_label(self.path, row)
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror or error}; the label is not kept") from error
        self._look()

    def _look(self) -> None:
        size = self.path.stat().st_size if self.path.exists() else 0
        if size == self._size:
            return
        if self._size < 0:
            audit_data.mend(self.path)
            size = self.path.stat().st_size if self.path.exists() else 0
        self._latest = audit_data.read_labels(self.path) if size else {}
        self._by = _by_auditor(self.path) if size else {}
        self._size = size


def _by_auditor(path: Path) -> dict[str, dict[str, bool]]:
    found: dict[str, dict[str, bool]] = {}
    for row in audit_data.lines(path):
        auditor = row.get("auditor")
        said = found.setdefault(str(row["id"]), {})
        who = auditor if isinstance(auditor, str) else SOMEBODY
        if row["label"] is None:
            said.pop(who, None)
        else:
            said[who] = bool(row["label"])
    return {name: said for name, said in found.items() if said}


def agreement_of(first: str, second: str, by: Mapping[str, Mapping[str, bool]]) -> Agreement:
    """Cohen's kappa of two auditors: (p_o - p_e) / (1 - p_e), p_e from each one's own share of "right".

    >>> votes = {"ab"[i % 2] * (i + 1): {"A": i < 6, "B": i < 6 or i == 9} for i in range(10)}
    >>> found = agreement_of("A", "B", votes)
    >>> found.same, round(found.kappa, 4)
    (9, 0.7826)
    """
    pairs = [(said[first], said[second]) for said in by.values() if first in said and second in said]
    n, same = len(pairs), sum(a == b for a, b in pairs)
    if not n:
        return Agreement(first, second, 0, 0, None, None)
    a, b = (sum(side) / n for side in zip(*pairs, strict=True))
    observed, chance = same / n, a * b + (1 - a) * (1 - b)
    if chance == 1.0:
        return Agreement(first, second, n, same, None, None)
    error = math.sqrt(observed * (1 - observed) / n) / (1 - chance)
    return Agreement(first, second, n, same, (observed - chance) / (1 - chance), 1.96 * error)

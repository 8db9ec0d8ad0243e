"""What an audit found out about a verifier: its error rates with intervals, one channel a stratum, kept as JSON.

A stratum's key is a path such as ``gsm8k/integer`` (``strata.py`` makes it). A stratum that nobody audited takes the
rates of its longest audited prefix, in the end those of all samples, whose key is ``""`` (methods C1.4). Nothing here
needs numpy until arrays are asked for.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from guerdon.calibration import _records
from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import FrozenDict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KIND, FORMAT = "noise_rates", 1
"""What the JSON says it is, and the version of its layout (the scorer's version is inside ``scorer``)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """low <= high, both finite and in [-1, 1] (a rate's lie in [0, 1], a strength may be negative)."""

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, _number(getattr(self, name), name, -1.0))
        if self.low > self.high:
            raise UsageError(f"an interval runs from low to high, got {self.low!r} to {self.high!r}; swap them")

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def width(self) -> float:
        return self.high - self.low

    def __str__(self) -> str:
        return f"[{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True)
class Channel:
    """A verdict as a noisy view of the truth, in one stratum (methods C1.1).

    false_positive: P(verdict 1 | wrong). false_negative: P(verdict 0 | right). The intervals are at the confidence of
    the record they are in; None: not known (rates that were given, not audited). n_audited: labels behind the rates.
    borrowed: rates of which the stratum's labels say nothing, and which are those of the next shorter path: of answers
    by an exploit none is right, so nothing shows how often a right one is rejected.
    """

    false_positive: float
    false_negative: float
    false_positive_interval: Interval | None = None
    false_negative_interval: Interval | None = None
    strength_interval: Interval | None = None
    n_audited: int = 0
    borrowed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("false_positive", "false_negative"):
            object.__setattr__(self, name, _number(getattr(self, name), name, 0.0))
        for name in ("false_positive_interval", "false_negative_interval"):
            interval = getattr(self, name)
            if interval is not None and interval.low < 0.0:
                raise UsageError(f"{name} is of a rate and lies in [0, 1], got {interval}")
        if isinstance(self.n_audited, bool) or not isinstance(self.n_audited, int) or self.n_audited < 0:
            raise UsageError(f"n_audited must be a whole number >= 0, got {self.n_audited!r}")
        object.__setattr__(self, "borrowed", tuple(self.borrowed))
        if not set(self.borrowed) <= {"false_positive", "false_negative"}:
            raise UsageError(f"borrowed names rates, false_positive or false_negative; got {self.borrowed!r:.80}")

    @property
    def strength(self) -> float:
        """1 - false_positive - false_negative (Youden's J): 1 is perfect, 0 a coin, below 0 worse than one."""
        return 1.0 - self.false_positive - self.false_negative


@dataclass(frozen=True, slots=True)
class NoiseRates:
    """A verifier's channels by stratum.

    scorer, version: of the verifier when it was audited; "" if unknown. stratum: the spec of the function that names
    the strata (``strata.stratum``), "" for one stratum. channels: by key, a path such as ``source/kind``; "" is the
    root, all samples. confidence: of every interval.

    >>> rates = NoiseRates("exact", "1", "meta:source", {"": Channel(0.01, 0.2), "gsm8k": Channel(0.0, 0.1)})
    >>> rates.channel("gsm8k/integer").false_negative, rates.channel("math").false_negative
    (0.1, 0.2)
    """

    scorer: str
    version: str
    stratum: str
    channels: Mapping[str, Channel]
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name in ("scorer", "version", "stratum"):
            if not isinstance(getattr(self, name), str):
                raise UsageError(f"{name} must be a string, got {getattr(self, name)!r:.80}; '' if it is unknown")
        if not isinstance(self.channels, Mapping) or not self.channels:
            raise UsageError(f"channels must map at least one stratum's key to a Channel, got {self.channels!r:.80}")
        for key, channel in self.channels.items():
            if not isinstance(key, str) or not isinstance(channel, Channel):
                raise UsageError(f"channels map a key (a string) to a Channel, got {key!r:.80}: {channel!r:.80}")
        object.__setattr__(self, "channels", FrozenDict(self.channels))
        object.__setattr__(self, "confidence", _number(self.confidence, "confidence", 0.0))
        if self.confidence in (0.0, 1.0):
            raise UsageError(f"confidence must lie between 0 and 1, got {self.confidence!r}; usual is 0.95")

    def channel(self, key: str) -> Channel:
        """The channel of a stratum: its own, else its longest prefix's, else the root's.

        Raises UsageError naming the keys there are if none of these was audited.
        """
        for path in prefixes(key):
            if path in self.channels:
                return self.channels[path]
        keys = ", ".join(map(repr, sorted(self.channels)[:20]))
        raise UsageError(
            f"no rates for the stratum {key!r:.200} nor for any prefix of it; there are: {keys}. "
            "Audit it, or add rates of all samples under the key ''"
        )

    def arrays(self, keys: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(false_positive, false_negative) of each key, each of shape (n,), with the fallback of ``channel``."""
        import numpy as np

        found = {key: self.channel(key) for key in set(keys)}
        rows = [(found[key].false_positive, found[key].false_negative) for key in keys]
        table = np.array(rows, dtype=np.float64).reshape(len(rows), 2)
        return table[:, 0].copy(), table[:, 1].copy()

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and numbers; ``from_json`` reads them back."""
        return {
            "kind": KIND,
            "version": FORMAT,
            "scorer": {"name": self.scorer, "version": self.version},
            "stratum": self.stratum,
            "confidence": self.confidence,
            "channels": {key: _channel_to_json(channel) for key, channel in self.channels.items()},
        }

    @classmethod
    def from_json(cls, data: Any) -> NoiseRates:
        """Raises UsageError for another kind or version, a key that is unknown or lacking, a rate out of range."""
        top = _records.opened(data, KIND, FORMAT, ("scorer", "stratum", "confidence", "channels"))
        scorer = _records.exactly(top["scorer"], "scorer", ("name", "version"))
        if not isinstance(top["channels"], Mapping):
            raise UsageError(f"channels must be an object by stratum, got {top['channels']!r:.80}")
        channels = {key: _channel_from_json(value, key) for key, value in top["channels"].items()}
        return cls(scorer["name"], scorer["version"], top["stratum"], channels, top["confidence"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON to a file. Raises UsageError where it cannot be written."""
        _records.write(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NoiseRates:
        """Read what ``save`` wrote. Raises UsageError naming the file and what is wrong with it."""
        return _records.load(path, cls.from_json)

    def __str__(self) -> str:
        """A table for people, one line a stratum."""
        rows = [("stratum", "labels", "false positive", "false negative", "strength")]
        for key in sorted(self.channels):
            channel = self.channels[key]
            rows.append(
                (
                    key or "(all)",
                    str(channel.n_audited),
                    _shown(channel.false_positive, channel.false_positive_interval, channel, "false_positive"),
                    _shown(channel.false_negative, channel.false_negative_interval, channel, "false_negative"),
                    _shown(channel.strength, channel.strength_interval),
                )
            )
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def prefixes(key: str) -> Iterator[str]:
    """The key's path and every shorter one, down to the root.

    >>> list(prefixes("gsm8k/integer"))
    ['gsm8k/integer', 'gsm8k', '']
    """
    while key:
        yield key
        key = key.rpartition("/")[0]
    yield ""


def _shown(value: float, interval: Interval | None, channel: Channel | None = None, rate: str = "") -> str:
    """borrowed rates are in round brackets."""
    text = f"{value:.3f}" if interval is None else f"{value:.3f} {interval}"
    return f"({text})" if channel is not None and rate in channel.borrowed else text


def _number(value: Any, name: str, least: float) -> float:
    """A finite float in [least, 1]; anything else raises."""
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not least <= number <= 1.0:
        raise UsageError(f"{name} must be a number in [{least:g}, 1], got {value!r:.80}")
    return number


def _channel_to_json(channel: Channel) -> dict[str, Any]:
    values = {field.name: getattr(channel, field.name) for field in fields(channel)}
    plain = {name: [v.low, v.high] if isinstance(v, Interval) else v for name, v in values.items()}
    return {**plain, "borrowed": list(channel.borrowed)}


def _channel_from_json(data: Any, key: str) -> Channel:
    values = _records.exactly(data, f"channels[{key!r:.80}]", tuple(field.name for field in fields(Channel)))
    try:
        return Channel(**{name: _plain_or_interval(name, value) for name, value in values.items()})
    except UsageError as error:
        raise UsageError(f"channels[{key!r:.80}]: {error}") from error


def _plain_or_interval(name: str, value: Any) -> Any:
    if not name.endswith("_interval") or value is None:
        return value
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise UsageError(f"{name} must be [low, high] or null, got {value!r:.80}")
    return Interval(*value)

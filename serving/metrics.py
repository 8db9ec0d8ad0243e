"""What a server counts, as Prometheus metrics in a registry of its own (so that two apps in one process do not mix).

Labels are only the names of loaded scorers and closed sets of words, never what a caller sends. Counting is adding to a
number in a dict, since it happens several times a request; the library's own objects, made for many writers, take ten
times as long. Each number has one writer: the event loop, or the worker thread of its scorer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from guerdon.rewards.types import STATUSES, Score
from guerdon.serving.provenance import truncated

_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_SAMPLES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


@dataclass(slots=True)
class _Series:
    """Numbers of one metric by the values of its labels."""

    name: str
    text: str
    labels: tuple[str, ...]
    kind: type[CounterMetricFamily] | type[GaugeMetricFamily] = CounterMetricFamily
    values: dict[tuple[str, ...], float] = field(default_factory=dict)

    def add(self, *labels: str, by: float = 1) -> None:
        self.values[labels] = self.values.get(labels, 0) + by

    def family(self) -> Metric:
        family = self.kind(self.name, self.text, labels=self.labels)
        for labels, value in list(self.values.items()):
            family.add_metric(labels, value)
        return family


@dataclass(slots=True)
class _Spread:
    """How often values fell below each of some bounds, by the values of the metric's labels."""

    name: str
    text: str
    labels: tuple[str, ...]
    bounds: Sequence[float]
    values: dict[tuple[str, ...], list[float]] = field(default_factory=dict)

    def add(self, *labels: str, value: float) -> None:
        counts = self.values.get(labels)
        if counts is None:
            counts = self.values[labels] = [0.0] * (len(self.bounds) + 2)  # one a bound, one above, the sum
        counts[bisect_left(self.bounds, value)] += 1
        counts[-1] += value

    def family(self) -> Metric:
        family = HistogramMetricFamily(self.name, self.text, labels=self.labels)
        for labels, (*counts, total) in list(self.values.items()):
            below, buckets = 0.0, []
            for bound, count in zip([*map(float, self.bounds), float("inf")], counts, strict=True):
                below += count
                buckets.append((str(bound) if bound != float("inf") else "+Inf", below))
            family.add_metric(labels, buckets, sum_value=total)
        return family


class Metrics(Collector):
    """The counters of one app."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, scorers: Iterable[str]) -> None:
        self.registry = CollectorRegistry()
        self._responses = _Series("guerdon_responses", "Answers by route and HTTP status", ("route", "code"))
        self._refused = _Series("guerdon_refused", "Requests refused before they were queued, by reason", ("reason",))
        self._scores = _Series("guerdon_scores", "Samples answered, by status", ("scorer", "status"))
        self._repeated = _Series(
            "guerdon_repeated", "Samples answered without computing: joined in flight, or remembered", ("scorer", "how")
        )
        self._dropped = _Series(
            "guerdon_dropped", "Samples not waited for, by reason (gone, timeout)", ("scorer", "reason")
        )
        self._outages = _Series("guerdon_outages", "Batches lost to something that did not answer", ("scorer",))
        self._failures = _Series("guerdon_failures", "Batches in which a scorer raised", ("scorer",))
        self._tokens = _Series(
            "guerdon_batch_tokens",
            "Tokens of forwards: of all sequences, with shared prompts counted once, and rows times longest row",
            ("scorer", "kind"),
        )
        self._waiting = _Series(
            "guerdon_queue_tokens", "Estimated tokens accepted and not yet answered", ("scorer",), GaugeMetricFamily
        )
        self._stored = _Series("guerdon_store_written", "Scores written to the store", ())
        self._store_dropped = _Series(
            "guerdon_store_dropped",
            "Scores not stored: too many waited (full), or no row could be made or written (failed)",
            ("reason",),
        )
        self._store_waiting = _Series(
            "guerdon_store_waiting", "Scores that wait to be written to the store", (), GaugeMetricFamily
        )
        self._workers = _Series(
            "guerdon_workers",
            "Worker processes: started, crashed, killed (too slow), recycled, failed (to start)",
            ("scorer", "event"),
        )
        self._worker_counts: Callable[[], Mapping[str, Mapping[str, int]]] = dict
        self._truncated = _Series("guerdon_truncated", "Samples that were cut to fit the model", ("scorer",))
        self._batch_samples = _Spread("guerdon_batch_samples", "Samples in one batch", ("scorer",), _SAMPLES)
        self._stage = _Spread(
            "guerdon_stage_seconds", "Time of a request by stage (prepare, queue, score)", ("scorer", "stage"), _SECONDS
        )
        # A series that starts at 0 rather than at its first event, so that rates and alerts see the first event.
        for scorer in scorers:
            for series in (self._waiting, self._outages, self._failures):
                series.add(scorer, by=0)
            for status in STATUSES:
                self._scores.add(scorer, status, by=0)
        for reason in ("full", "failed"):
            self._store_dropped.add(reason, by=0)
        self.registry.register(self)

    def responded(self, route: str, code: int) -> None:
        self._responses.add(route, str(code))

    def refused(self, reason: str) -> None:
        self._refused.add(reason)

    def scored(self, scorer: str, scores: Iterable[Score]) -> None:
        for score in scores:
            self._scores.add(scorer, score.status)
            if truncated(score):
                self._truncated.add(scorer)

    def repeated(self, scorer: str, how: str) -> None:
        self._repeated.add(scorer, how)

    def dropped(self, scorer: str, reason: str, samples: int) -> None:
        self._dropped.add(scorer, reason, by=samples)

    def outage(self, scorer: str) -> None:
        self._outages.add(scorer)

    def failed(self, scorer: str) -> None:
        self._failures.add(scorer)

    def stored(self, samples: int, waiting: int) -> None:
        self._stored.add(by=samples)
        self._store_waiting.values[()] = waiting

    def store_dropped(self, reason: str, samples: int) -> None:
        self._store_dropped.add(reason, by=samples)

    def batch(self, scorer: str, samples: int) -> None:
        self._batch_samples.add(scorer, value=samples)

    def forward(self, scorer: str, real: int, shared: int, padded: int) -> None:
        self._tokens.add(scorer, "real", by=real)
        self._tokens.add(scorer, "shared", by=shared)
        self._tokens.add(scorer, "padded", by=padded)

    def watch_workers(self, counts: Callable[[], Mapping[str, Mapping[str, int]]]) -> None:
        """counts: asked when somebody asks for the metrics; events of worker processes by scorer."""
        self._worker_counts = counts

    def took(self, scorer: str, stages: Mapping[str, float]) -> None:
        for stage, seconds in stages.items():
            self._stage.add(scorer, stage, value=seconds)

    def waiting(self, scorer: str, tokens: int) -> None:
        self._waiting.values[scorer,] = tokens

    def collect(self) -> Iterator[Metric]:
        """Called by the registry when somebody asks."""
        for scorer, counts in self._worker_counts().items():
            self._workers.values |= {(scorer, event): count for event, count in counts.items()}
        for series in (
            self._responses, self._refused, self._scores, self._repeated, self._dropped, self._outages, self._failures,
            self._tokens, self._waiting, self._truncated, self._stored, self._store_dropped, self._store_waiting,
            self._workers,
        ):  # fmt: skip
            yield series.family()
        for spread in (self._batch_samples, self._stage):
            yield spread.family()

    def text(self) -> bytes:
        """Everything counted, in the Prometheus text format."""
        return generate_latest(self.registry)

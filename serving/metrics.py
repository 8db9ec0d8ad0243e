"""What a server counts, as Prometheus metrics in a registry of its own (so that two apps in one process do not mix).

Labels are only the names of loaded scorers and closed sets of words, never what a caller sends.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from guerdon.rewards.types import STATUSES, Score

_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_SAMPLES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """The counters of one app. Safe to use from several threads."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, scorers: Iterable[str]) -> None:
        self.registry = registry = CollectorRegistry()
        self._responses = Counter(
            "guerdon_responses", "Answers by route and HTTP status", ["route", "code"], registry=registry
        )
        self._refused = Counter(
            "guerdon_refused", "Requests refused before they were queued, by reason", ["reason"], registry=registry
        )
        self._scores = Counter("guerdon_scores", "Samples answered, by status", ["scorer", "status"], registry=registry)
        self._dropped = Counter(
            "guerdon_dropped", "Samples not waited for, by reason (gone, timeout)", ["scorer", "reason"],
            registry=registry,
        )  # fmt: skip
        self._outages = Counter(
            "guerdon_outages", "Batches lost to something that did not answer", ["scorer"], registry=registry
        )
        self._failures = Counter("guerdon_failures", "Batches in which a scorer raised", ["scorer"], registry=registry)
        self._batch_samples = Histogram(
            "guerdon_batch_samples", "Samples in one batch", ["scorer"], registry=registry, buckets=_SAMPLES
        )
        self._tokens = Counter(
            "guerdon_batch_tokens", "Tokens of forwards: real, and rows times longest row", ["scorer", "kind"],
            registry=registry,
        )  # fmt: skip
        self._stage = Histogram(
            "guerdon_stage_seconds", "Time of a request by stage (prepare, queue, score)", ["scorer", "stage"],
            registry=registry, buckets=_SECONDS,
        )  # fmt: skip
        self._waiting = Gauge(
            "guerdon_queue_tokens", "Estimated tokens accepted and not yet answered", ["scorer"], registry=registry
        )
        # A series that starts at 0 rather than at its first event, so that rates and alerts see the first event.
        for scorer in scorers:
            self._waiting.labels(scorer)
            self._outages.labels(scorer)
            self._failures.labels(scorer)
            for status in STATUSES:
                self._scores.labels(scorer, status)

    def responded(self, route: str, code: int) -> None:
        self._responses.labels(route, str(code)).inc()

    def refused(self, reason: str) -> None:
        self._refused.labels(reason).inc()

    def scored(self, scorer: str, scores: Iterable[Score]) -> None:
        for score in scores:
            self._scores.labels(scorer, score.status).inc()

    def dropped(self, scorer: str, reason: str, samples: int) -> None:
        self._dropped.labels(scorer, reason).inc(samples)

    def outage(self, scorer: str) -> None:
        self._outages.labels(scorer).inc()

    def failed(self, scorer: str) -> None:
        self._failures.labels(scorer).inc()

    def batch(self, scorer: str, samples: int) -> None:
        self._batch_samples.labels(scorer).observe(samples)

    def forward(self, scorer: str, real: int, padded: int) -> None:
        self._tokens.labels(scorer, "real").inc(real)
        self._tokens.labels(scorer, "padded").inc(padded)

    def took(self, scorer: str, stages: Iterable[tuple[str, float]]) -> None:
        for stage, seconds in stages:
            self._stage.labels(scorer, stage).observe(seconds)

    def waiting(self, scorer: str, tokens: int) -> None:
        self._waiting.labels(scorer).set(tokens)

    def text(self) -> bytes:
        """Everything counted, in the Prometheus text format."""
        return generate_latest(self.registry)

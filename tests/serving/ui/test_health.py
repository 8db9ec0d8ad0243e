"""What the running server does, from its own counters and its store."""

from __future__ import annotations

from guerdon.rewards import Score
from guerdon.serving.metrics import Metrics
from guerdon.serving.ui import health
from guerdon.serving.ui.health import Pulse
from guerdon.serving.ui.source import Source


def test_rates_are_differences_over_time() -> None:
    metrics = Metrics(["math"])
    before = Pulse.take(metrics)
    metrics.scored("math", [Score(1.0)] * 30 + [Score.unscored("no", status="timeout")] * 10)
    metrics.waiting("math", 1234)
    now = Pulse.take(metrics)
    later = Pulse(before.at + 4.0, now.values)
    html = health.page(Source(None), later, before)
    assert "10.0" in html  # 40 samples in 4 seconds
    assert "1,234" in html
    assert now.sum("guerdon_scores_total", "scorer=math", "status=timeout") == 10
    assert now.names("scorer") == ["math"]


def test_the_first_look_has_no_rate_yet() -> None:
    now = Pulse.take(Metrics(["math"]))
    assert "–" in health.page(Source(None), now, None)


def test_statuses_and_failures_of_the_store_are_listed(source: Source) -> None:
    html = health.page(source, None, None)
    assert "30 <span" in html  # timeouts of the scorer that never answered in time
    assert "no answer to 59" in html
    assert "no answer to 10" not in html  # only the latest


def test_nothing_at_all_says_so() -> None:
    assert "Nothing runs here" in health.page(Source(None), None, None)

"""The engine: it merges callers, keeps their order, and lets no failure of one become a number of another.

Scorers here are held and released by the test with events, so that what is waiting is known and nothing depends on
time.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

import pytest

from guerdon.rewards import Prepared, Sample, Scale, Score, Scorer, pointwise
from guerdon.rewards.errors import OutageError, UsageError
from guerdon.serving.config import ServeConfig
from guerdon.serving.engine import Engine, RefusedError
from guerdon.serving.metrics import Metrics

T = TypeVar("T")
SECONDS = 60.0  # never waited for in a passing run


class Held:
    """A scorer whose first call waits until the test lets it go. It notes the responses of every call."""

    name, version = "held", "1"
    scale: Scale = "real"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.entered, self.go = threading.Event(), threading.Event()

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        self.calls.append([sample.response_text for sample in samples])
        self.entered.set()
        assert self.go.wait(SECONDS)
        return [self.one(sample) for sample in samples]

    def one(self, sample: Sample) -> Score:
        return Score(float(len(sample.response_text)), "length")


class HeldModel(Held):
    """The same as a reward model: a token a character."""

    def prepare(self, sample: Sample) -> Prepared | Score:
        if "refuse" in sample.response_text:
            return Score.unscored("too long", status="refused")
        if "unpreparable" in sample.response_text:
            raise ValueError("no such token")
        if "nonsense" in sample.response_text:
            return None  # type: ignore[return-value]
        return Prepared(sample, tuple(map(ord, sample.response_text)))

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        return super().score([prepared.sample for prepared in batch])


def make(scorer: Scorer, **options: Any) -> Engine:
    return Engine({"s": scorer}, ServeConfig(**options), Metrics(["s"]))


def samples(*responses: str, group: str | None = None) -> list[Sample]:
    return [Sample("p", response, group=group) for response in responses]


def run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return asyncio.run(asyncio.wait_for(main(), SECONDS))


async def entered(held: Held) -> None:
    assert await asyncio.to_thread(held.entered.wait, SECONDS)


async def values(scored: Awaitable[Any]) -> list[float | None]:
    return [score.value for score in (await scored).scores]


async def queued(engine: Engine, *requests: Coroutine[Any, Any, T]) -> list[asyncio.Task[T]]:
    """Tasks of requests that have all reached the queue, behind a call that is held."""
    tasks = [asyncio.ensure_future(request) for request in requests]
    before = {job for job in engine._jobs if job.started}
    while len(waiting := engine._jobs - before) < len(requests) or not all(job.queued for job in waiting):
        await asyncio.sleep(0.001)
    return tasks


async def first_call(engine: Engine, held: Held) -> asyncio.Task[list[float | None]]:
    """A request whose call has begun and is held."""
    task = asyncio.ensure_future(values(engine.score("s", samples("first"), seconds=SECONDS)))
    await entered(held)
    return task


@pytest.mark.parametrize("held", [Held(), HeldModel()])
def test_requests_that_wait_share_the_next_batch(held: Held) -> None:
    engine = make(held)

    async def main() -> list[list[float | None]]:
        first = await first_call(engine, held)
        rest = await queued(
            engine, *(values(engine.score("s", samples("b" * n, "c" * n), seconds=SECONDS)) for n in (2, 3, 4))
        )
        held.go.set()
        return await asyncio.gather(first, *rest)

    assert run(main) == [[5.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]
    assert [len(call) for call in held.calls] == [1, 6]


def test_a_model_is_given_no_more_than_its_budget() -> None:
    held = HeldModel()
    held.go.set()
    engine = make(held, max_batch_tokens=100)
    lengths = [7, 30, 90, 41, 250, 12, 60, 30, 1]

    async def main() -> list[float | None]:
        return await values(engine.score("s", samples(*("x" * n for n in lengths)), seconds=SECONDS))

    assert run(main) == [float(n) for n in lengths]
    for call in held.calls:
        assert len(call) == 1 or len(call) * max(map(len, call)) <= 100


@pytest.mark.parametrize("held", [Held(), HeldModel()])
def test_two_hundred_callers_at_once_each_get_their_own_score(held: Held) -> None:
    held.go.set()
    engine = make(held)

    async def main() -> list[list[float | None]]:
        return await asyncio.gather(
            *(values(engine.score("s", samples("x" * n), seconds=SECONDS)) for n in range(1, 201))
        )

    assert run(main) == [[float(n)] for n in range(1, 201)]


def test_no_samples_give_no_scores() -> None:
    held = Held()
    assert run(lambda: values(make(held).score("s", [], seconds=SECONDS))) == []
    assert held.calls == []


# --- failures ---


class Fragile(HeldModel):
    """Raises when a batch holds the word "bad"."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.go.set()
        self.error = error

    def one(self, sample: Sample) -> Score:
        if "bad" in sample.response_text:
            raise self.error
        return super().one(sample)


def rule(scorer: HeldModel) -> Scorer:
    """The scorer without the two methods that make it a BatchScorer."""

    class Rule:
        name, version, scale = scorer.name, scorer.version, scorer.scale

        def score(self, samples: Sequence[Sample]) -> list[Score]:
            return scorer.score(samples)

    return Rule()


@pytest.mark.parametrize("kind", ["model", "plain"])
@pytest.mark.parametrize("error", [ValueError("a bad sample"), SystemExit(3), KeyError("k")])
def test_one_bad_sample_never_costs_its_batch(kind: str, error: BaseException) -> None:
    fragile = Fragile(error)
    engine = make(fragile if kind == "model" else rule(fragile))
    texts = ["a", "bb", "bad", "ccc", "dddd", "bad", "eeeee"]

    async def main() -> Any:
        scored = await engine.score("s", samples(*texts), seconds=SECONDS)
        again = await engine.score("s", samples("fine"), seconds=SECONDS)
        return scored.scores, again.scores

    scores, again = run(main)
    assert [score.value for score in scores] == [1.0, 2.0, None, 3.0, 4.0, None, 5.0]
    assert [score.status for score in scores if score.value is None] == ["error", "error"]
    assert scores[2].reason == f"{type(error).__name__}: {error}"
    assert again[0].value == 4.0


def test_samples_that_cannot_be_prepared_are_answered_without_a_forward() -> None:
    held = HeldModel()
    held.go.set()
    engine = make(held)
    scored = run(lambda: engine.score("s", samples("a", "refuse", "unpreparable", "bb", "nonsense"), seconds=SECONDS))
    assert [score.status for score in scored.scores] == ["ok", "refused", "error", "ok", "error"]
    assert scored.scores[2].reason == "ValueError: no such token"
    assert scored.scores[4].reason == "ContractError: prepare must give a Prepared or a Score, got NoneType"
    assert sorted(text for call in held.calls for text in call) == ["a", "bb"]


def test_an_outage_makes_every_sample_an_error_and_is_asked_once() -> None:
    """Never a number, and no request a sample to a server that is down."""
    fragile = Fragile(OutageError("http://x did not answer"))
    scored = run(lambda: make(rule(fragile)).score("s", samples("a", "bad", "b"), seconds=SECONDS))
    assert [(score.value, score.status) for score in scored.scores] == [(None, "error")] * 3
    assert "http://x did not answer" in scored.scores[0].reason
    assert len(fragile.calls) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([Score(1.0)], "a list of 2 Scores for 2 samples, got 1 values"),
        ((Score(1.0), Score(1.0)), "got tuple"),
        ([1.0, 2.0], "got 2 values"),
        (None, "got NoneType"),
    ],
)
def test_a_scorer_that_answers_in_another_form_gives_errors(answer: Any, reason: str) -> None:
    class Wrong(Held):
        def score(self, samples: Sequence[Sample]) -> list[Score]:
            return answer if len(samples) == 2 else []  # type: ignore[no-any-return]

    group = samples("a", "b", group="g")
    scored = run(lambda: make(Wrong()).score("s", group, seconds=SECONDS))
    assert [score.status for score in scored.scores] == ["error", "error"]
    assert reason in scored.scores[0].reason


def test_a_value_off_its_scale_is_an_error_and_its_neighbours_stay() -> None:
    scorer = pointwise(lambda s: float(s.response_text), scale="probability", name="p")
    scored = run(lambda: make(scorer).score("s", samples("0.5", "1.5", "1"), seconds=SECONDS))
    assert [score.value for score in scored.scores] == [0.5, None, 1.0]
    assert scored.scores[1].reason == "the scorer gave 1.5, which is not on its scale 'probability'"


def test_long_messages_of_a_scorer_are_cut() -> None:
    fragile = Fragile(ValueError("x" * 10_000))
    scored = run(lambda: make(fragile).score("s", samples("bad"), seconds=SECONDS))
    assert len(scored.scores[0].reason) <= 200


# --- groups ---


def test_a_group_is_scored_in_one_call_however_large() -> None:
    """600 samples are more than one call takes; those of one group still come together."""
    held = Held()
    held.go.set()
    work = [Sample("p", f"{index % 7} {index}", group=f"g{index % 7}") for index in range(600)]
    scored = run(lambda: make(held).score("s", work, seconds=SECONDS))
    assert [score.value for score in scored.scores] == [float(len(sample.response_text)) for sample in work]
    assert len(held.calls) > 1
    places: dict[str, set[int]] = {}
    for place, call in enumerate(held.calls):
        for text in call:
            places.setdefault(text.split()[0], set()).add(place)
    assert all(len(calls) == 1 for calls in places.values())


def test_a_bad_sample_costs_its_group_but_no_other() -> None:
    """Scores of a group may depend on each other, so a group is not scored without one of its members."""
    engine = make(rule(Fragile(ValueError("no"))))
    work = [*samples("a", "bad", group="g"), *samples("b", "c", group="h"), *samples("d")]
    scored = run(lambda: engine.score("s", work, seconds=SECONDS))
    assert [score.value for score in scored.scores] == [None, None, 1.0, 1.0, 1.0]


# --- leaving, deadlines, limits, stopping ---


@pytest.mark.parametrize("held", [Held(), HeldModel()])
def test_work_of_a_caller_who_left_never_runs(held: Held) -> None:
    engine = make(held)

    async def main() -> None:
        first = await first_call(engine, held)
        gone, stays = await queued(
            engine,
            values(engine.score("s", samples("gone", "gone too"), seconds=SECONDS)),
            values(engine.score("s", samples("stays"), seconds=SECONDS)),
        )
        gone.cancel()
        await asyncio.sleep(0)
        held.go.set()
        assert await asyncio.gather(first, stays) == [[5.0], [5.0]]

    run(main)
    assert held.calls == [["first"], ["stays"]]


def test_a_deadline_gives_status_timeout_and_drops_the_rest() -> None:
    held = Held()
    engine = make(held)

    async def main() -> Any:
        first = await first_call(engine, held)
        late = await engine.score("s", samples("late"), seconds=0.02)
        held.go.set()
        await first
        await engine.score("s", samples("next"), seconds=SECONDS)
        return late.scores

    (score,) = run(main)
    assert (score.value, score.status, score.reason) == (None, "timeout", "no score within 0.02 s")
    assert held.calls == [["first"], ["next"]]


def test_scores_that_came_before_the_deadline_are_kept() -> None:
    class Second(HeldModel):
        def run(self, batch: Sequence[Prepared]) -> list[Score]:
            return super().run(batch) if self.calls else self._first(batch)

        def _first(self, batch: Sequence[Prepared]) -> list[Score]:
            self.calls.append([])
            return [self.one(prepared.sample) for prepared in batch]

    held = Second()
    engine = make(held, max_batch_tokens=10)

    async def main() -> Any:
        asking = asyncio.ensure_future(engine.score("s", samples("x" * 9, "y" * 8), seconds=1.0))
        await entered(held)
        scored = await asking
        held.go.set()
        return scored.scores

    assert [score.status for score in run(main)] == ["ok", "timeout"]


def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    held = Held()
    engine = make(held, max_queue_tokens=100)

    async def main() -> RefusedError:
        large = asyncio.ensure_future(values(engine.score("s", samples("x" * 4000), seconds=SECONDS)))
        await entered(held)  # an idle lane takes a request of any size
        with pytest.raises(RefusedError) as caught:
            await engine.score("s", samples("y"), seconds=SECONDS)
        held.go.set()
        assert await large == [4000.0]
        assert await values(engine.score("s", samples("y"), seconds=SECONDS)) == [1.0]
        return caught.value

    error = run(main)
    assert error.reason == "full"
    assert error.retry_after >= 1
    assert "its limit of 100" in str(error)
    assert pickle.loads(pickle.dumps(error)).retry_after == error.retry_after


def test_draining_refuses_new_work_and_answers_what_was_accepted() -> None:
    held = Held()
    engine = make(held)

    async def main() -> None:
        first = await first_call(engine, held)
        (waiting,) = await queued(engine, values(engine.score("s", samples("waiting"), seconds=SECONDS)))
        engine.drain()
        with pytest.raises(RefusedError, match="the server is stopping"):
            await engine.score("s", samples("new"), seconds=SECONDS)
        assert not engine.idle
        held.go.set()
        assert await asyncio.gather(first, waiting) == [[5.0], [7.0]]
        assert engine.idle

    run(main)


def test_what_is_abandoned_is_refused_and_not_left_hanging() -> None:
    held = Held()
    engine = make(held)

    async def main() -> None:
        first = await first_call(engine, held)
        engine.abandon()
        with pytest.raises(RefusedError, match="the server is stopping"):
            await first
        held.go.set()

    run(main)


def test_closing_ends_the_worker_threads() -> None:
    held = Held()
    held.go.set()
    before = set(threading.enumerate())
    engine = make(held)

    async def main() -> set[threading.Thread]:
        await engine.score("s", samples("a"), seconds=SECONDS)
        engine.close()
        return set(threading.enumerate()) - before

    for thread in run(main):
        thread.join(SECONDS)
        assert not thread.is_alive()


def test_a_scorer_that_is_busy_does_not_hold_another() -> None:
    held, free = Held(), Held()
    free.go.set()
    engine = Engine({"held": held, "free": free}, ServeConfig(), Metrics(["held", "free"]))

    async def main() -> None:
        first = asyncio.ensure_future(values(engine.score("held", samples("a"), seconds=SECONDS)))
        await entered(held)
        assert await values(engine.score("free", samples("bb"), seconds=SECONDS)) == [2.0]
        held.go.set()
        assert await first == [1.0]

    run(main)


def test_the_version_follows_the_scorer() -> None:
    """A remote scorer's version is its server's, which may change its model."""
    held = Held()
    held.go.set()
    engine = make(held)
    assert engine.lanes["s"].version == "1"
    held.version = "2"
    run(lambda: engine.score("s", samples("a"), seconds=SECONDS))
    assert engine.lanes["s"].version == "2"


@pytest.mark.parametrize(("attribute", "value"), [("version", ""), ("version", None), ("scale", "percent")])
def test_a_scorer_without_version_or_scale_is_refused_at_the_start(attribute: str, value: Any) -> None:
    held = Held()
    setattr(held, attribute, value)
    with pytest.raises(UsageError, match=f"scorer 's' must have a {attribute}"):
        make(held)


def test_timings_add_up() -> None:
    held = Held()
    held.go.set()
    timing = run(lambda: make(held).score("s", samples("a"), seconds=SECONDS)).timing_ms
    assert list(timing) == ["prepare", "queue", "score", "total"]
    assert timing["prepare"] + timing["queue"] + timing["score"] == pytest.approx(timing["total"], abs=0.01)

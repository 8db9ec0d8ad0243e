"""Work is done once, groups go together, versions change between batches, and memory that runs out costs one batch."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import pytest

from guerdon.rewards import Prepared, Sample, Scale, Score, Scorer
from guerdon.rewards.errors import OutageError, UsageError
from guerdon.serving.config import ServeConfig, Tenant
from guerdon.serving.engine import Engine, RefusedError, Scored
from guerdon.serving.jobs import ReadyMade
from guerdon.serving.metrics import Metrics

T = TypeVar("T")
SECONDS = 60.0  # never waited for in a passing run


class Counting:
    """A verifier that counts what it is asked. Its first call waits if ``held``."""

    scale: Scale = "real"

    def __init__(self, version: str = "1", *, held: bool = False, status: str = "ok") -> None:
        self.name, self.version, self.status = "counting", version, status
        self.asked: list[str] = []
        self.entered, self.go = threading.Event(), threading.Event()
        if not held:
            self.go.set()

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        self.asked += [sample.response_text for sample in samples]
        self.entered.set()
        assert self.go.wait(SECONDS)
        if self.status == "outage":
            raise OutageError("away")
        if self.status != "ok":
            return [Score.unscored("no", status=self.status) for _ in samples]  # type: ignore[arg-type]
        return [Score(float(self.version), "the version") for _ in samples]


class CountingModel(Counting):
    """The same as a reward model whose tokens are characters."""

    share_prompts = True

    def __init__(self, version: str = "1", *, held: bool = False, room: int = 10**9) -> None:
        super().__init__(version, held=held)
        self.room = room
        self.batches: list[list[str]] = []

    def prepare(self, sample: Sample) -> Prepared | Score:
        return Prepared(sample, tuple(map(ord, sample.prompt_text + sample.response_text)))

    def prepare_text(self, sample: Sample, text: str, *, special_tokens: bool, keep: Any) -> Prepared | Score:
        return Prepared(sample, tuple(map(ord, ("^" if special_tokens else "") + text)))

    def prepare_ids(self, sample: Sample, ids: Sequence[int], *, keep: Any) -> Prepared | Score:
        return Prepared(sample, tuple(ids))

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        texts = ["".join(map(chr, prepared.ids)) for prepared in batch]
        self.batches.append(texts)
        self.entered.set()
        assert self.go.wait(SECONDS)
        if sum(map(len, texts)) > self.room:
            raise OutOfMemoryError("no memory for this batch")
        return [Score(float(len(text)), "length") for text in texts]


class OutOfMemoryError(RuntimeError):
    """Named as torch names its own."""


def make(scorer: Scorer, **options: Any) -> Engine:
    return Engine({"s": scorer}, ServeConfig(**options), Metrics(["s"]))


def run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return asyncio.run(asyncio.wait_for(main(), SECONDS))


async def ask(engine: Engine, *responses: str, prompt: str = "p", **options: Any) -> Scored:
    return await engine.score("s", [Sample(prompt, each) for each in responses], seconds=SECONDS, **options)


async def entered(scorer: Counting) -> None:
    assert await asyncio.to_thread(scorer.entered.wait, SECONDS)


async def waits(engine: Engine, *requests: Coroutine[Any, Any, T]) -> list[asyncio.Task[T]]:
    """Requests that have reached the lane behind one that is held."""
    tasks = [asyncio.ensure_future(request) for request in requests]
    before = engine.lanes["s"].waiting
    for _ in range(200):
        await asyncio.sleep(0.001)
        if engine.lanes["s"].waiting > before and not engine.lanes["s"]._pushed:
            break
    await asyncio.sleep(0.05)  # for the prepare thread
    return tasks


def counted(engine: Engine, name: str) -> float:
    return sum(
        float(line.rsplit(" ", 1)[1]) for line in engine._metrics.text().decode().splitlines() if line.startswith(name)
    )


# --- work is done once ---


@pytest.mark.parametrize("scorer", [Counting(held=True), CountingModel(held=True)])
def test_a_request_sent_again_while_it_waits_costs_nothing(scorer: Counting) -> None:
    engine = make(scorer)

    async def main() -> list[list[float | None]]:
        first = asyncio.ensure_future(ask(engine, "first"))
        await entered(scorer)
        again = await waits(engine, *(ask(engine, "retry") for _ in range(5)), ask(engine, "first"))
        scorer.go.set()
        return [[score.value for score in (await each).scores] for each in (first, *again)]

    values = run(main)
    assert values[1:6] == [values[1]] * 5
    assert values[6] == values[0]
    asked = scorer.asked or [text for batch in scorer.batches for text in batch]  # type: ignore[attr-defined]
    assert len(asked) == 2
    assert counted(engine, 'guerdon_repeated_total{how="joined"') == 5


def test_a_score_is_remembered_for_the_same_sample_and_no_other() -> None:
    scorer = Counting()
    engine = make(scorer)

    async def main() -> None:
        for sample in (
            Sample("p", "r"), Sample("p", "r"), Sample("p", "r", reference="1"), Sample("p", "r", reference=1),
            Sample("pr", ""), Sample("", "pr"), Sample("p", "r", meta={"a": 1}),
            Sample("p", [{"role": "assistant", "content": "r"}]), Sample("p", "r", group="g"),
        ):  # fmt: skip
            await engine.score("s", [sample], seconds=SECONDS)

    run(main)
    assert len(scorer.asked) == 8
    assert counted(engine, 'guerdon_repeated_total{how="remembered"') == 1


def test_samples_of_a_group_are_always_asked_together() -> None:
    """What a scorer says of one may depend on the others, so a group is no repetition of its members."""
    scorer = Counting()
    engine = make(scorer)
    group = [Sample("p", each, group="g") for each in ("a", "b", "a")]

    async def main() -> None:
        await ask(engine, "a")
        await engine.score("s", group, seconds=SECONDS)

    run(main)
    assert scorer.asked == ["a", "a", "b", "a"]


@pytest.mark.parametrize(("status", "asked"), [("abstained", 1), ("refused", 1), ("timeout", 2), ("error", 2)])
def test_what_may_turn_out_better_next_time_is_not_remembered(status: str, asked: int) -> None:
    scorer = Counting(status=status)
    engine = make(scorer)

    async def main() -> None:
        await ask(engine, "a")
        await ask(engine, "a")

    run(main)
    assert len(scorer.asked) == asked


def test_an_outage_is_not_remembered() -> None:
    scorer = Counting(status="outage")
    engine = make(scorer)

    async def main() -> list[str]:
        statuses = [(await ask(engine, "a")).scores[0].status]
        scorer.status = "ok"
        return [*statuses, (await ask(engine, "a")).scores[0].status]

    assert run(main) == ["error", "ok"]


@pytest.mark.parametrize(("entries", "asked"), [(2, "abca"), (3, "abc"), (0, "abcab")])
def test_the_memory_is_bounded_and_forgets_the_least_used(entries: int, asked: str) -> None:
    scorer = Counting()
    engine = make(scorer, cache_entries=entries)

    async def main() -> None:
        for each in "abca" if entries == 2 else "abcab":
            await ask(engine, each)

    run(main)
    assert "".join(scorer.asked) == asked


def test_nobody_joins_work_that_was_dropped() -> None:
    """The first caller of ``x`` gives up; who asks for the same afterwards must not wait for work that is gone."""
    scorer = CountingModel(held=True)
    engine = make(scorer)

    async def main() -> float | None:
        first = asyncio.ensure_future(ask(engine, "held"))
        await entered(scorer)
        (gone,) = await waits(engine, ask(engine, "x"))
        gone.cancel()
        await asyncio.sleep(0)
        later = await waits(engine, ask(engine, "x"))
        scorer.go.set()
        await first
        return (await later[0]).scores[0].value

    assert run(main) == 2.0


# --- groups ---


def test_responses_to_one_prompt_go_in_one_batch_though_others_came_between() -> None:
    scorer = CountingModel(held=True)
    engine = make(scorer, max_batch_tokens=300)

    async def main() -> None:
        first = asyncio.ensure_future(ask(engine, "first"))
        await entered(scorer)
        requests = [ask(engine, f"{i}" * 20, prompt=prompt) for i in range(3) for prompt in ("A" * 200, "B" * 200)]
        tasks = await waits(engine, *requests)
        scorer.go.set()
        await asyncio.gather(first, *tasks)

    run(main)
    assert [{text[0] for text in batch} for batch in scorer.batches[1:]] == [{"A"}, {"B"}]
    assert counted(engine, 'guerdon_batch_tokens_total{kind="shared"') == 6 + 2 * (200 + 60)


def test_ready_made_conversations_are_grouped_by_their_ids() -> None:
    scorer = CountingModel(held=True)
    engine = make(scorer, max_batch_tokens=300)

    async def text(text: str) -> Scored:
        return await engine.score("s", [ReadyMade(Sample("", text), text)], seconds=SECONDS)

    async def main() -> None:
        first = asyncio.ensure_future(text("first"))
        await entered(scorer)
        tasks = await waits(engine, *(text(p * 200 + f"{i}" * 20) for i in range(3) for p in "AB"))
        scorer.go.set()
        await asyncio.gather(first, *tasks)

    run(main)
    assert [{text[0] for text in batch} for batch in scorer.batches[1:]] == [{"A"}, {"B"}]


def test_exact_scores_come_from_batches_of_one() -> None:
    scorer = CountingModel(held=True)
    engine = make(scorer, scores="exact")

    async def main() -> None:
        first = asyncio.ensure_future(ask(engine, "first"))
        await entered(scorer)
        tasks = await waits(engine, ask(engine, *"abcdef"))
        scorer.go.set()
        await asyncio.gather(first, *tasks)

    run(main)
    assert [len(batch) for batch in scorer.batches] == [1] * 7


# --- ready-made text and ids ---


def test_ready_made_text_and_ids_reach_the_model_as_they_are() -> None:
    scorer = CountingModel()
    engine = make(scorer)
    sample = Sample("", "r")
    items = [ReadyMade(sample, "text"), ReadyMade(sample, "text", special_tokens=True), ReadyMade(sample, ids=(97, 98))]

    async def main() -> Scored:
        return await engine.score("s", items, seconds=SECONDS)

    assert [score.value for score in run(main).scores] == [4.0, 5.0, 2.0]


def test_a_verifier_reads_the_sample_of_ready_made_text() -> None:
    scorer = Counting()
    engine = make(scorer)

    async def main() -> None:
        await engine.score("s", [ReadyMade(Sample("p", "the response"), "<p>the response")], seconds=SECONDS)

    run(main)
    assert scorer.asked == ["the response"]


# --- versions ---


def test_work_is_answered_by_the_version_it_was_admitted_to() -> None:
    old, new = Counting("1", held=True), Counting("2")
    engine = make(old)
    lane = engine.lanes["s"]

    async def main() -> list[tuple[str, float | None]]:
        first = asyncio.ensure_future(ask(engine, "a"))
        await entered(old)
        waiting = await waits(engine, ask(engine, "b", "c"))
        assert lane.swap(new) == "2"
        later = await waits(engine, ask(engine, "b"))
        old.go.set()
        answers = [await each for each in (first, *waiting, *later)]
        return [(answer.version, score.value) for answer in answers for score in answer.scores]

    assert run(main) == [("1", 1.0), ("1", 1.0), ("1", 1.0), ("2", 2.0)]
    assert (old.asked, new.asked) == (["a", "b", "c"], ["b"])
    assert lane._generations == (lane.current,), "the old weights are let go of"


def test_a_successor_of_another_scale_is_refused() -> None:
    other = Counting("2")
    other.scale = "verdict"
    with pytest.raises(UsageError, match="has the scale 'real' and its successor 'verdict'"):
        make(Counting()).lanes["s"].swap(other)


# --- limits ---


def test_when_memory_runs_out_batches_become_smaller_and_every_sample_has_its_score() -> None:
    scorer = CountingModel(held=True, room=50)
    engine = make(scorer, max_batch_tokens=400)

    async def main() -> Scored:
        first = asyncio.ensure_future(ask(engine, "first"))
        await entered(scorer)
        (task,) = await waits(engine, ask(engine, *(f"{i:020}" for i in range(12))))
        scorer.go.set()
        await first
        return await task

    assert [score.value for score in run(main).scores] == [21.0] * 12
    assert engine.lanes["s"].current.batcher.budget < 400


def test_a_tenant_may_fill_its_share_of_the_queue_and_others_still_get_in() -> None:
    scorer = Counting(held=True)
    engine = make(scorer, max_queue_tokens=1000, tenants={"a": Tenant("ta", 0.5), "b": Tenant("tb")})

    async def main() -> RefusedError:
        first = asyncio.ensure_future(ask(engine, "x" * 800, tenant="a"))
        await entered(scorer)
        second = await waits(engine, ask(engine, "y" * 800, tenant="a"))
        with pytest.raises(RefusedError) as caught:
            await ask(engine, "z" * 800, tenant="a")
        other = await waits(engine, ask(engine, "z" * 800, tenant="b"))
        scorer.go.set()
        await asyncio.gather(first, *second, *other)
        await ask(engine, "z" * 800, tenant="a")
        return caught.value

    error = run(main)
    assert error.reason == "share"
    assert "50%" in str(error)


def test_work_that_cannot_be_done_in_time_is_refused_at_once() -> None:
    scorer = Counting(held=True)
    engine = make(scorer, max_wait_seconds=5)
    engine.lanes["s"].seconds_a_token = 0.1

    async def main() -> RefusedError:
        first = asyncio.ensure_future(ask(engine, "x" * 400))
        await entered(scorer)
        with pytest.raises(RefusedError) as caught:
            await ask(engine, "y")
        scorer.go.set()
        await first
        return caught.value

    error = run(main)
    assert (error.reason, error.retry_after) == ("late", 10)


def test_a_server_without_room_refuses_before_it_reads() -> None:
    """With one of two scorers free, a request has to be read to know whose it is."""
    held, free = Counting(held=True), Counting()
    engine = Engine({"s": held, "free": free}, ServeConfig(max_queue_tokens=10), Metrics(["s", "free"]))

    async def main() -> RefusedError:
        first = asyncio.ensure_future(ask(engine, "x" * 400))
        await entered(held)
        engine.check_room()
        del engine.lanes["free"]
        with pytest.raises(RefusedError) as caught:
            engine.check_room()
        held.go.set()
        await first
        engine.check_room()
        return caught.value

    assert run(main).reason == "full"

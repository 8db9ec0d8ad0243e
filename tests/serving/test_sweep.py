"""The overhead and the knee that a sweep finds are those of the machine it is run on, here a made-up one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.rewards import Prepared, Sample, Scale, Score
from guerdon.serving.sweep import LENGTHS, sweep


class Machine:
    """A model whose forward takes (overhead + tokens) / rate seconds on a clock of its own."""

    name, version = "machine", "1"
    scale: Scale = "logit"

    def __init__(self, overhead: float, rate: float, room: int = 10**9) -> None:
        self.overhead, self.rate, self.room = overhead, rate, room
        self.now = 0.0

    def prepare(self, sample: Sample) -> Prepared | Score:
        return Prepared(sample, tuple(range(len(sample.response_text.split()))))

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        tokens = max(each.cost for each in batch) * len(batch)
        if tokens > self.room:
            raise MemoryError
        self.now += (self.overhead + tokens) / self.rate
        return [Score(0.0, "zero") for _ in batch]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [Score(0.0, "zero") for _ in samples]


@given(st.integers(10, 8000), st.floats(1e3, 1e7))
def test_the_overhead_is_found_whatever_the_speed(overhead: int, rate: float) -> None:
    machine = Machine(overhead, rate)
    found = sweep(machine, seconds=1e9, clock=lambda: machine.now)
    assert found is not None
    assert found.overhead == pytest.approx(overhead, abs=1)


@pytest.mark.parametrize(("overhead", "budget"), [(10, 512), (100, 8192), (1000, 32768)])
def test_the_budget_is_the_smallest_batch_that_reaches_nearly_full_speed(overhead: int, budget: int) -> None:
    """Full speed is 1, and a batch of n tokens has n / (n + overhead) of it; 0.97 of the best tried is the knee."""
    machine = Machine(overhead, 1e4)
    found = sweep(machine, seconds=1e9, clock=lambda: machine.now)
    assert found is not None
    assert found.budget == budget
    assert budget / (budget + overhead) >= 0.97 * 131_072 / (131_072 + overhead)


def test_it_takes_about_as_long_as_it_is_given() -> None:
    machine = Machine(50, 1e3)
    sweep(machine, seconds=1.0, clock=lambda: machine.now)
    assert machine.now < 4.0


def test_a_batch_that_does_not_fit_ends_it() -> None:
    machine = Machine(100, 1e4, room=1000)
    found = sweep(machine, seconds=1e9, clock=lambda: machine.now)
    assert found is not None
    assert found.budget <= 1000


def test_a_scorer_that_makes_no_ids_is_left_alone() -> None:
    machine = Machine(100, 1e4)
    machine.prepare = lambda sample: Score.unscored("too long")  # type: ignore[method-assign]
    assert sweep(machine) is None
    assert max(LENGTHS) == 128


def test_one_lucky_try_does_not_choose_batches_that_are_mostly_overhead() -> None:
    machine = Machine(50, 1e4)
    run, tries = machine.run, []

    def lucky(batch: Sequence[Prepared]) -> list[Score]:
        before, scores = machine.now, run(batch)
        tries.append(len(batch) * batch[0].cost)
        if tries[-1] == 128:
            machine.now = before + 1e-3  # as if a forward of 128 tokens took hardly any time
        return scores

    machine.run = lucky  # type: ignore[method-assign]
    found = sweep(machine, seconds=1e9, clock=lambda: machine.now)
    assert found is not None
    assert found.budget >= 12 * found.overhead

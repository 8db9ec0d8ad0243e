"""Which waiting work goes next: the oldest always, its neighbours in length, never more than the budget."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.serving.batcher import ByLength, InOrder


@dataclass
class Work:
    cost: int
    dropped: bool = False


def costs(batch: list[Work]) -> list[int]:
    return [work.cost for work in batch]


def drain(batcher: ByLength[Work] | InOrder[Work]) -> list[list[Work]]:
    batches = []
    while batch := batcher.take():
        batches.append(batch)
    return batches


def padded(batch: list[Work]) -> int:
    return max(costs(batch)) * len(batch)


@pytest.mark.parametrize("batcher", [InOrder[Work](10), ByLength[Work](10)])
def test_empty_queue_gives_an_empty_batch(batcher: ByLength[Work] | InOrder[Work]) -> None:
    assert batcher.take() == []
    assert len(batcher) == 0


def test_in_order_fills_the_budget_from_the_oldest_on() -> None:
    batcher = InOrder[Work](10)
    batcher.add([Work(4), Work(5), Work(2), Work(30), Work(1)])
    assert [costs(batch) for batch in drain(batcher)] == [[4, 5], [2], [30], [1]]


def test_rows_of_about_one_length_share_a_forward() -> None:
    batcher = ByLength[Work](2048)
    batcher.add([Work(c) for c in (100, 900, 90, 940, 110)])
    assert [sorted(costs(batch)) for batch in drain(batcher)] == [[90, 100, 110], [900, 940]]


def test_a_long_row_does_not_make_a_short_one_pay_for_padding() -> None:
    """Alone, 10 tokens take the time of 58; padded to 400 they would take that of 400."""
    batcher = ByLength[Work](2048)
    batcher.add([Work(10), Work(400)])
    assert [costs(batch) for batch in drain(batcher)] == [[10], [400]]


def test_a_row_longer_than_the_budget_goes_alone() -> None:
    batcher = ByLength[Work](100)
    batcher.add([Work(500), Work(500)])
    assert [costs(batch) for batch in drain(batcher)] == [[500], [500]]


def test_the_oldest_goes_however_many_others_would_fit_better() -> None:
    batcher = ByLength[Work](1000)
    oldest = Work(700)
    batcher.add([oldest, *[Work(10) for _ in range(50)]])
    assert oldest in batcher.take()


@pytest.mark.parametrize("batcher", [InOrder[Work](100), ByLength[Work](100)])
def test_work_that_nobody_waits_for_is_skipped(batcher: ByLength[Work] | InOrder[Work]) -> None:
    work = [Work(10) for _ in range(6)]
    batcher.add(work)
    for index in (0, 3, 5):
        work[index].dropped = True
    assert batcher.take() == [work[1], work[2], work[4]]
    assert len(batcher) == 0


LENGTHS = st.lists(st.integers(1, 600), min_size=1, max_size=40)


@settings(deadline=None)
@given(LENGTHS, st.integers(1, 3000))
def test_all_work_goes_once_within_the_budget_and_the_oldest_first(lengths: list[int], budget: int) -> None:
    work = [Work(length) for length in lengths]
    batcher = ByLength[Work](budget)
    batcher.add(work)
    waiting = list(work)
    while waiting:
        batch = batcher.take()
        assert any(item is waiting[0] for item in batch)
        assert len(batch) == 1 or padded(batch) <= budget
        before = len(waiting)
        waiting = [item for item in waiting if not any(item is taken for taken in batch)]
        assert len(waiting) == before - len(batch)
    assert batcher.take() == []


@settings(deadline=None)
@given(LENGTHS, st.integers(1, 3000), st.integers(0, 300))
def test_the_batch_is_one_of_the_best_way_to_do_all_that_waits(lengths: list[int], budget: int, overhead: int) -> None:
    """Against the least time of all ways to cut the sorted lengths into forwards, by plain recursion."""
    ordered = sorted(lengths)

    @functools.cache
    def least(begin: int, end: int) -> int:
        ways = [
            overhead + ordered[cut - 1] * (cut - begin) + least(cut, end)
            for cut in range(begin + 1, end + 1)
            if cut == begin + 1 or ordered[cut - 1] * (cut - begin) <= budget
        ]
        return min(ways, default=0)

    batcher = ByLength[Work](budget, window=10**6, overhead=overhead)
    batcher.add([Work(length) for length in lengths])
    batch = costs(batcher.take())
    first = ordered.index(batch[0])
    assert any(
        least(0, start) + overhead + max(batch) * len(batch) + least(start + len(batch), len(ordered))
        == least(0, len(ordered))
        for start in range(first, len(ordered))
        if ordered[start : start + len(batch)] == batch
    )


def test_without_padding_the_oldest_go_whatever_their_length() -> None:
    batcher = ByLength[Work](1000, padded=False)
    batcher.add([Work(c) for c in (10, 900, 80, 30, 500)])
    assert [costs(batch) for batch in drain(batcher)] == [[10, 900, 80], [30, 500]]


def test_it_looks_no_further_than_its_window() -> None:
    batcher = ByLength[Work](100, window=2)
    batcher.add([Work(50), Work(150), Work(50)])
    assert costs(batcher.take()) == [50]  # the third would fit beside it, but lies beyond 200 tokens


def test_sorting_by_length_pads_less_than_arrival_order() -> None:
    """Lengths as in RL (mean about 350, long tail), 32 rows waiting at a time."""
    random.seed(0)
    lengths = [min(1024, int(random.lognormvariate(5.6, 0.7)) + 1) for _ in range(640)]
    batcher = ByLength[Work](2048)
    batcher.add([Work(length) for length in lengths])
    ours = sum(padded(batch) for batch in drain(batcher))
    arrival = sum(32 * max(lengths[i : i + 32]) for i in range(0, len(lengths), 32))
    assert ours < 1.15 * sum(lengths)
    assert arrival > 1.8 * sum(lengths)

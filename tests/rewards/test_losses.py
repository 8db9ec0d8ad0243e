"""Worked numbers and properties of the preference likelihoods, compared with slow plain versions of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from guerdon.rewards.errors import UsageError
from guerdon.rewards.losses import (
    Outcome,
    bradley_terry_loss,
    davidson_loss,
    davidson_probabilities,
    plackett_luce_loss,
    rao_kupper_loss,
    rao_kupper_probabilities,
)

reward = st.floats(-30, 30)
rewards = st.lists(st.tuples(reward, reward), min_size=1, max_size=6)


def t(*values: float, dtype: torch.dtype = torch.float64, grad: bool = False) -> Tensor:
    return torch.tensor(values, dtype=dtype, requires_grad=grad)


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


# --- Bradley–Terry


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0.3132616875),
        ({"margin": t(0.5)}, 0.4740769842),
        ({"smoothing": 0.1}, 0.4132616875),
        ({"probability": t(0.9)}, 0.4132616875),
        ({"probability": t(0.5)}, 0.8132616875),  # by hand: the mean of 0.3132616875 and 1.3132616875
        ({"weight": t(2.0)}, 2 * 0.3132616875),
        ({"centring": 0.01}, 0.3132616875 + 0.01 * 25.0),  # rewards 3 and 2
    ],
)
def test_bradley_terry_gives_the_worked_numbers(options: dict[str, Any], expected: float) -> None:
    assert bradley_terry_loss(t(3.0), t(2.0), **options).item() == pytest.approx(expected, abs=1e-9)


def test_the_smoothed_minimiser_is_log_nine() -> None:
    chosen = t(2.1972245773, grad=True)
    bradley_terry_loss(chosen, t(0.0), smoothing=0.1).backward()
    assert chosen.grad is not None
    assert chosen.grad.item() == pytest.approx(0.0, abs=1e-10)
    here = bradley_terry_loss(chosen, t(0.0), smoothing=0.1)
    assert all(bradley_terry_loss(chosen + d, t(0.0), smoothing=0.1) > here for d in (-0.1, 0.1))


@given(
    pairs=rewards,
    data=st.data(),
    smoothing=st.floats(0, 0.49),
    soft=st.booleans(),
    centring=st.sampled_from([0.0, 0.01, 1.0]),
)
def test_bradley_terry_equals_the_formula_written_out(
    pairs: list[tuple[float, float]], data: st.DataObject, smoothing: float, soft: bool, centring: float
) -> None:
    n = len(pairs)
    margins = data.draw(st.lists(st.floats(0, 5), min_size=n, max_size=n))
    weights = data.draw(st.lists(st.floats(0, 3), min_size=n, max_size=n))
    labels = data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)) if soft else [1 - smoothing] * n
    total = 0.0
    for (w, l), g, v, p in zip(pairs, margins, weights, labels, strict=True):  # noqa: E741
        total += v * (p * softplus(-(w - l - g)) + (1 - p) * softplus(w - l + g)) + centring * (w + l) ** 2
    loss = bradley_terry_loss(
        t(*(w for w, _ in pairs)),
        t(*(loser for _, loser in pairs)),
        margin=t(*margins),
        weight=t(*weights),
        smoothing=0.0 if soft else smoothing,
        probability=t(*labels) if soft else None,
        centring=centring,
    )
    assert loss.item() == pytest.approx(total / n, rel=1e-9, abs=1e-12)


@given(chosen=reward, rejected=reward, weight=st.floats(0, 3), smoothing=st.floats(0, 0.49))
def test_the_gradient_is_weight_times_sigma_minus_the_label(
    chosen: float, rejected: float, weight: float, smoothing: float
) -> None:
    w, loser = t(chosen, grad=True), t(rejected, grad=True)
    bradley_terry_loss(w, loser, weight=t(weight), smoothing=smoothing).backward()
    expected = weight * (sigmoid(chosen - rejected) - (1 - smoothing))
    assert w.grad is not None
    assert loser.grad is not None
    assert w.grad.item() == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert loser.grad.item() == pytest.approx(-expected, rel=1e-9, abs=1e-12)


def test_gradients_agree_with_finite_differences() -> None:
    chosen, rejected = t(1.0, -2.0, 0.3, grad=True), t(0.5, 1.0, 0.3, grad=True)
    margin, probability, weight = t(0.5, 0.0, 2.0), t(0.9, 0.4, 0.5), t(1.0, 2.0, 0.0)
    assert torch.autograd.gradcheck(
        lambda w, l: bradley_terry_loss(  # noqa: E741
            w, l, margin=margin, probability=probability, weight=weight, centring=0.1
        ),
        (chosen, rejected),
    )


@given(pairs=rewards, shift=st.floats(-10, 10))
def test_a_shift_of_both_rewards_changes_nothing(pairs: list[tuple[float, float]], shift: float) -> None:
    chosen, rejected = t(*(w for w, _ in pairs)), t(*(loser for _, loser in pairs))
    moved = bradley_terry_loss(chosen + shift, rejected + shift, smoothing=0.1)
    assert moved.item() == pytest.approx(bradley_terry_loss(chosen, rejected, smoothing=0.1).item(), abs=1e-9)


@given(chosen=reward, rejected=reward)
def test_with_a_fifty_fifty_label_the_loss_is_even_and_the_gradient_odd(chosen: float, rejected: float) -> None:
    half = t(0.5)
    first, swapped = t(chosen, grad=True), t(rejected, grad=True)
    one = bradley_terry_loss(first, t(rejected), probability=half)
    other = bradley_terry_loss(swapped, t(chosen), probability=half)
    assert one.item() == pytest.approx(other.item(), abs=1e-12)
    one.backward()
    other.backward()
    assert first.grad is not None
    assert swapped.grad is not None
    assert first.grad.item() == pytest.approx(-swapped.grad.item(), abs=1e-12)


def test_the_mean_divides_by_the_number_of_pairs_so_that_micro_batches_add_up() -> None:
    chosen, rejected, weight = t(1.0, 0.0, 2.0, -1.0), t(0.0, 1.0, 2.0, 0.5), t(1.0, 0.5, 3.0, 0.0)
    whole = bradley_terry_loss(chosen, rejected, weight=weight)
    parts = [bradley_terry_loss(chosen[i : i + 2], rejected[i : i + 2], weight=weight[i : i + 2]) for i in (0, 2)]
    assert whole.item() == pytest.approx((parts[0] + parts[1]).item() / 2, abs=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_rewards_do_not_collapse(dtype: torch.dtype) -> None:
    """In the tail, in a long sum and between close large rewards, where half precision would lose everything."""
    chosen, rejected = t(24.0, 12.0, dtype=dtype, grad=True), t(0.0, 0.0, dtype=dtype)
    losses = bradley_terry_loss(chosen, rejected, reduction="none")
    assert losses.dtype == torch.float32
    assert losses.tolist() == pytest.approx([softplus(-24.0), softplus(-12.0)], rel=1e-6)
    losses[1].backward()
    assert chosen.grad is not None
    assert chosen.grad[1].item() == pytest.approx(-sigmoid(-12.0), rel=0.02)

    tied = torch.full((4096,), 5.0, dtype=dtype)
    assert bradley_terry_loss(tied, tied).item() == pytest.approx(math.log(2), rel=1e-6)

    big, close, margin = t(100.0, dtype=dtype), t(99.5, dtype=dtype), t(0.3, dtype=torch.float32)
    assert bradley_terry_loss(big, close, margin=margin).item() == pytest.approx(softplus(-0.2), rel=1e-6)


def test_the_tails_of_the_loss_are_not_cut() -> None:
    """torch's own softplus turns linear above 20, which would make the first gradient exactly -1."""
    chosen = t(-21.0, grad=True)
    bradley_terry_loss(chosen, t(0.0)).backward()
    assert chosen.grad is not None
    assert chosen.grad.item() == pytest.approx(-sigmoid(21.0), rel=1e-12)
    assert chosen.grad.item() != -1.0
    assert bradley_terry_loss(t(-1e4, dtype=torch.float32), t(1e4, dtype=torch.float32)).item() == 2e4


@given(pairs=rewards)
def test_unreduced_losses_average_to_the_mean(pairs: list[tuple[float, float]]) -> None:
    chosen, rejected = t(*(w for w, _ in pairs)), t(*(loser for _, loser in pairs))
    each = bradley_terry_loss(chosen, rejected, centring=0.1, reduction="none")
    assert each.shape == (len(pairs),)
    assert each.mean().item() == pytest.approx(bradley_terry_loss(chosen, rejected, centring=0.1).item(), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((t(1.0, 2.0), t(1.0)), {}, r"rejected has shape \(1,\), its partner \(2,\)"),
        ((torch.zeros(2, 1), torch.zeros(2, 1)), {}, r"chosen must have shape \(b\).*squeeze"),
        ((torch.zeros(0), torch.zeros(0)), {}, "not be empty"),
        ((torch.tensor([1]), torch.tensor([0])), {}, "floating-point"),
        (([1.0], [0.0]), {}, "must be a tensor of floating-point rewards, got list"),
        ((t(math.nan), t(0.0)), {}, r"chosen holds 1 value\(s\) of 1 that are not finite"),
        ((t(0.0), t(math.inf)), {}, "rejected holds 1"),
        ((t(1.0), t(0.0)), {"smoothing": 0.5}, r"smoothing must be in \[0, 0.5\), got 0.5"),
        ((t(1.0), t(0.0)), {"smoothing": -0.1}, "smoothing"),
        ((t(1.0), t(0.0)), {"smoothing": math.nan}, "smoothing"),
        ((t(1.0), t(0.0)), {"centring": -1.0}, "centring must be a finite number >= 0"),
        ((t(1.0), t(0.0)), {"centring": math.inf}, "centring"),
        ((t(1.0), t(0.0)), {"margin": t(-0.5)}, "margin must be finite and >= 0, got -0.5 at 0"),
        ((t(1.0, 1.0), t(0.0, 0.0)), {"margin": t(0.0, math.nan)}, "margin must be finite and >= 0, got nan at 1"),
        ((t(1.0), t(0.0)), {"margin": 0.5}, "margin must be a tensor of shape"),
        ((t(1.0), t(0.0)), {"probability": t(1.5)}, r"probability must lie in \[0, 1\], got 1.5 at 0"),
        ((t(1.0), t(0.0)), {"probability": t(0.9), "smoothing": 0.1}, "set smoothing to 0"),
        ((t(1.0), t(0.0)), {"weight": t(-1.0)}, "weight must be finite and >= 0"),
        ((t(1.0), t(0.0)), {"weight": t(1.0, 1.0)}, r"weight must be a tensor of shape \(1,\), got \(2,\)"),
        ((t(1.0), t(0.0)), {"reduction": "sum"}, "reduction must be 'mean' or 'none', got 'sum'"),
    ],
)
def test_bradley_terry_refuses_what_cannot_be_right(
    arguments: tuple[Any, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        bradley_terry_loss(*arguments, **options)


# --- Plackett–Luce


def plain_plackett_luce(scores: Sequence[float], ranks: Sequence[int], top: int | None = None) -> float:
    """The same likelihood by loops: each response against itself and the strictly worse ones."""
    total = 0.0
    for score, rank in zip(scores, ranks, strict=True):
        if top is not None and sum(other < rank for other in ranks) >= top:
            continue
        worse = [s for s, r in zip(scores, ranks, strict=True) if r > rank]
        total += math.log(sum(math.exp(s - score) for s in [score, *worse]))
    return total


def lists(values: Sequence[Sequence[float]], pad: float = 0.0) -> tuple[Tensor, Tensor]:
    """Rows of unequal length as a padded tensor and its mask."""
    k = max(map(len, values))
    padded = [[*row, *[pad] * (k - len(row))] for row in values]
    mask = [[True] * len(row) + [False] * (k - len(row)) for row in values]
    return torch.tensor(padded, dtype=torch.float64), torch.tensor(mask)


def test_plackett_luce_gives_the_worked_number() -> None:
    loss = plackett_luce_loss(torch.tensor([[2.0, 1.0, 0.0]], dtype=torch.float64), torch.tensor([[0, 1, 2]]))
    assert loss.item() == pytest.approx(0.7208676520, abs=1e-9)


def test_order_in_the_row_does_not_matter_only_ranks_do() -> None:
    loss = plackett_luce_loss(torch.tensor([[0.0, 2.0, 1.0]], dtype=torch.float64), torch.tensor([[7, 0, 3]]))
    assert loss.item() == pytest.approx(0.7208676520, abs=1e-9)


@given(chosen=reward, rejected=reward)
def test_two_responses_are_a_bradley_terry_pair(chosen: float, rejected: float) -> None:
    scores = torch.tensor([[chosen, rejected]], dtype=torch.float64)
    expected = bradley_terry_loss(t(chosen), t(rejected)).item()
    assert plackett_luce_loss(scores, torch.tensor([[0, 1]])).item() == pytest.approx(expected, abs=1e-12)
    assert plackett_luce_loss(scores.flip(1), torch.tensor([[1, 0]])).item() == pytest.approx(expected, abs=1e-12)


@given(scores=st.lists(st.floats(-8, 8), min_size=2, max_size=5))
@settings(max_examples=40)
def test_probabilities_of_all_orders_sum_to_one(scores: list[float]) -> None:
    orders = list(itertools.permutations(range(len(scores))))
    tiled = torch.tensor([scores] * len(orders), dtype=torch.float64)
    losses = plackett_luce_loss(tiled, torch.tensor(orders), reduction="none")
    assert (-losses).exp().sum().item() == pytest.approx(1.0, abs=1e-9)


@given(scores=st.lists(st.floats(-8, 8), min_size=3, max_size=5), top=st.integers(1, 2))
@settings(max_examples=40)
def test_probabilities_of_all_partial_orders_sum_to_one(scores: list[float], top: int) -> None:
    k = len(scores)
    choices = list(itertools.permutations(range(k), top))
    ranks = [[choice.index(i) if i in choice else k - 1 for i in range(k)] for choice in choices]
    tiled = torch.tensor([scores] * len(choices), dtype=torch.float64)
    losses = plackett_luce_loss(tiled, torch.tensor(ranks), top=top, reduction="none")
    assert (-losses).exp().sum().item() == pytest.approx(1.0, abs=1e-9)


ranked = st.lists(st.tuples(st.floats(-20, 20), st.integers(0, 4)), min_size=2, max_size=7)


@given(rows=st.lists(ranked, min_size=1, max_size=4), top=st.none() | st.integers(1, 8))
def test_plackett_luce_equals_the_loops_with_ties_padding_and_top(
    rows: list[list[tuple[float, int]]], top: int | None
) -> None:
    scores, mask = lists([[s for s, _ in row] for row in rows], pad=math.nan)
    ranks, _ = lists([[r for _, r in row] for row in rows], pad=-1)
    losses = plackett_luce_loss(scores, ranks.long(), mask, top=top, reduction="none")
    expected = [plain_plackett_luce([s for s, _ in row], [r for _, r in row], top) for row in rows]
    assert losses.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-9)
    mean = plackett_luce_loss(scores, ranks.long(), mask, top=top)
    assert mean.item() == pytest.approx(sum(expected) / len(rows), rel=1e-9, abs=1e-9)


@given(row=ranked, shift=st.floats(-10, 10))
def test_plackett_luce_ignores_a_shift_of_the_list(row: list[tuple[float, int]], shift: float) -> None:
    scores, ranks = torch.tensor([[s for s, _ in row]], dtype=torch.float64), torch.tensor([[r for _, r in row]])
    moved = plackett_luce_loss(scores + shift, ranks).item()
    assert moved == pytest.approx(plackett_luce_loss(scores, ranks).item(), abs=1e-9)


@given(row=ranked, neighbour=st.lists(st.floats(-50, 50), min_size=2, max_size=12), junk=st.floats())
def test_padding_and_longer_neighbours_change_neither_loss_nor_gradient(
    row: list[tuple[float, int]], neighbour: list[float], junk: float
) -> None:
    alone = torch.tensor([[s for s, _ in row]], dtype=torch.float64, requires_grad=True)
    ranks = torch.tensor([[r for _, r in row]])
    expected = plackett_luce_loss(alone, ranks)
    expected.backward()

    padded, mask = lists([[s for s, _ in row], neighbour], pad=junk)
    padded_ranks, _ = lists([[r for _, r in row], list(range(len(neighbour)))], pad=99)
    padded.requires_grad_()
    losses = plackett_luce_loss(padded, padded_ranks.long(), mask, reduction="none")
    losses[0].backward()

    assert losses[0].item() == pytest.approx(expected.item(), rel=1e-12, abs=1e-12)
    assert padded.grad is not None
    assert alone.grad is not None
    assert padded.grad[0, : len(row)].tolist() == pytest.approx(alone.grad[0].tolist(), rel=1e-12, abs=1e-12)
    assert not padded.grad[0, len(row) :].any()
    assert not padded.grad[1].any()


def test_two_tied_responses_cost_nothing_and_pull_nowhere() -> None:
    scores = torch.tensor([[3.0, -1.0]], requires_grad=True)
    loss = plackett_luce_loss(scores, torch.tensor([[0, 0]]))
    loss.backward()
    assert loss.item() == 0.0
    assert scores.grad is not None
    assert not scores.grad.any()


def test_tied_winners_each_beat_the_loser_on_their_own() -> None:
    scores = torch.tensor([[1.0, 0.5, 0.0]], dtype=torch.float64)
    expected = softplus(-1.0) + softplus(-0.5)  # two Bradley–Terry pairs against the one loser
    assert plackett_luce_loss(scores, torch.tensor([[0, 0, 1]])).item() == pytest.approx(expected, abs=1e-12)


def test_one_winner_over_tied_losers_is_the_top_choice() -> None:
    scores, expected = [0.3, 1.0, -0.5, 0.0], None
    tied = plackett_luce_loss(torch.tensor([scores], dtype=torch.float64), torch.tensor([[1, 0, 1, 1]])).item()
    top = plackett_luce_loss(torch.tensor([scores], dtype=torch.float64), torch.tensor([[3, 0, 1, 2]]), top=1).item()
    expected = -math.log(math.exp(1.0) / sum(math.exp(s) for s in scores))
    assert tied == pytest.approx(expected, abs=1e-12)
    assert top == pytest.approx(expected, abs=1e-12)


def test_plackett_luce_gradients_agree_with_finite_differences() -> None:
    scores = torch.tensor([[1.0, -0.5, 0.2, 0.0], [0.1, 2.0, -1.0, 7.0]], dtype=torch.float64, requires_grad=True)
    ranks = torch.tensor([[2, 0, 1, 1], [0, 1, 2, 0]])
    mask = torch.tensor([[True] * 4, [True, True, True, False]])
    assert torch.autograd.gradcheck(lambda s: plackett_luce_loss(s, ranks, mask, weight=t(1.0, 2.0)), (scores,))


def test_plackett_luce_in_half_precision_is_computed_in_single() -> None:
    scores = torch.tensor([[100.0, 99.5, 80.0]], dtype=torch.bfloat16)
    loss = plackett_luce_loss(scores, torch.tensor([[0, 1, 2]]))
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(plain_plackett_luce(scores[0].tolist(), [0, 1, 2]), rel=1e-6)


@pytest.mark.parametrize(
    ("scores", "ranks", "options", "message"),
    [
        (torch.zeros(3), torch.zeros(3).long(), {}, r"scores must be a tensor of shape \(b, k\), got \(3,\)"),
        ([[1.0, 2.0]], torch.zeros(1, 2).long(), {}, "got list"),
        (torch.zeros(2, 3), torch.zeros(2, 3), {}, r"ranks must hold integers of shape \(2, 3\), got torch.float32"),
        (torch.zeros(2, 3), torch.zeros(2, 2).long(), {}, "ranks must hold integers"),
        (torch.zeros(1, 2), torch.tensor([[0, -1]]), {}, "got -1; mark padding in mask"),
        (torch.zeros(1, 1), torch.tensor([[0]]), {}, "list 0 has fewer than two real responses"),
        (torch.zeros(0, 3), torch.zeros(0, 3).long(), {}, "not be empty"),
        (torch.tensor([[0.0, math.nan]]), torch.tensor([[0, 1]]), {}, "not finite"),
        (torch.zeros(1, 2), torch.tensor([[0, 1]]), {"mask": torch.ones(1, 2)}, "mask must be bool"),
        (torch.zeros(1, 2), torch.tensor([[0, 1]]), {"mask": torch.ones(1, 3).bool()}, r"mask must be bool of shape"),
        (torch.zeros(1, 2), torch.tensor([[0, 1]]), {"top": 0}, "top must be a whole number >= 1 or None, got 0"),
        (torch.zeros(1, 2), torch.tensor([[0, 1]]), {"weight": t(1.0, 2.0)}, "weight must be a tensor of shape"),
    ],
)
def test_plackett_luce_refuses_what_cannot_be_right(
    scores: Any, ranks: Tensor, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        plackett_luce_loss(scores, ranks, **options)


# --- ties

Probabilities = Callable[[Tensor, Tensor, "Tensor | float"], Tensor]
MODELS: list[tuple[Probabilities, Any, float]] = [
    (davidson_probabilities, davidson_loss, 0.0),
    (rao_kupper_probabilities, rao_kupper_loss, 1.0),
]


@pytest.mark.parametrize(
    ("model", "parameter", "expected"),
    [
        (davidson_probabilities, 0.5, [0.5983922, 0.2201362, 0.1814716]),
        (rao_kupper_probabilities, 1.5, [0.6444050, 0.1969503, 0.1586447]),
    ],
)
def test_tie_models_give_the_worked_numbers(model: Probabilities, parameter: float, expected: list[float]) -> None:
    assert model(t(1.0), t(0.0), parameter)[0].tolist() == pytest.approx(expected, abs=1e-7)


@given(pairs=rewards, excess=st.floats(0, 20))
@pytest.mark.parametrize(("model", "loss", "lowest"), MODELS)
def test_outcomes_sum_to_one_and_losses_are_their_logarithms(
    model: Probabilities, loss: Any, lowest: float, pairs: list[tuple[float, float]], excess: float
) -> None:
    a, b = t(*(x for x, _ in pairs)), t(*(y for _, y in pairs))
    parameter = lowest + excess
    probabilities = model(a, b, parameter)
    assert probabilities.sum(dim=1).tolist() == pytest.approx([1.0] * len(pairs), abs=1e-9)
    for outcome in Outcome:
        if outcome == Outcome.TIE and excess < 1e-6:
            continue  # no probability, no loss: refused, tested below
        losses = loss(a, b, torch.full((len(pairs),), int(outcome)), parameter, reduction="none")
        assert (-losses).exp().tolist() == pytest.approx(probabilities[:, outcome].tolist(), rel=1e-9, abs=1e-12)


@given(a=reward, b=reward)
@pytest.mark.parametrize(("model", "loss", "lowest"), MODELS)
def test_without_ties_both_models_are_bradley_terry(
    model: Probabilities, loss: Any, lowest: float, a: float, b: float
) -> None:
    expected = bradley_terry_loss(t(a), t(b)).item()
    assert loss(t(a), t(b), torch.tensor([Outcome.A]), lowest).item() == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert model(t(a), t(b), lowest)[0, Outcome.TIE].item() == 0.0


@given(a=st.floats(-5, 5), b=st.floats(-5, 5), nu=st.floats(0, 10))
def test_davidson_keeps_the_odds_of_the_two_wins(a: float, b: float, nu: float) -> None:
    p = davidson_probabilities(t(a), t(b), nu)[0]
    assert (p[Outcome.A] / p[Outcome.B]).item() == pytest.approx(math.exp(a - b), rel=1e-9)


@given(a=st.floats(-5, 5), b=st.floats(-5, 5), theta=st.floats(1, 10))
def test_a_rao_kupper_tie_is_a_logistic_gap_inside_log_theta(a: float, b: float, theta: float) -> None:
    expected = sigmoid(math.log(theta) - (a - b)) - sigmoid(-math.log(theta) - (a - b))
    tie = rao_kupper_probabilities(t(a), t(b), theta)[0, Outcome.TIE].item()
    assert tie == pytest.approx(expected, rel=1e-7, abs=1e-12)


@given(gap=st.floats(0.01, 10), excess=st.floats(0.01, 10))
@pytest.mark.parametrize(("model", "loss", "lowest"), MODELS)
def test_ties_are_likeliest_between_equals(
    model: Probabilities, loss: Any, lowest: float, gap: float, excess: float
) -> None:
    tie = model(t(0.0, gap, -gap), t(0.0, 0.0, 0.0), lowest + excess)[:, Outcome.TIE]
    assert tie[0] > tie[1]
    assert tie[0] > tie[2]


@given(a=reward, b=reward, excess=st.floats(0, 10))
@pytest.mark.parametrize(("model", "loss", "lowest"), MODELS)
def test_swapping_the_responses_swaps_the_wins(
    model: Probabilities, loss: Any, lowest: float, a: float, b: float, excess: float
) -> None:
    one, other = model(t(a), t(b), lowest + excess)[0], model(t(b), t(a), lowest + excess)[0]
    assert other[[Outcome.B, Outcome.A, Outcome.TIE]].tolist() == pytest.approx(one.tolist(), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("model", "loss", "lowest"), MODELS)
def test_gradients_reach_rewards_and_the_tie_parameter(model: Probabilities, loss: Any, lowest: float) -> None:
    a, b, raw = t(1.0, -0.5, 0.3, grad=True), t(0.2, 0.4, 0.3, grad=True), t(-0.7, grad=True)
    outcome, weight = torch.tensor([Outcome.A, Outcome.B, Outcome.TIE]), t(1.0, 2.0, 0.5)

    def negative_log_likelihood(a: Tensor, b: Tensor, raw: Tensor) -> Tensor:
        value: Tensor = loss(a, b, outcome, lowest + raw.exp().squeeze(0), weight=weight)
        return value

    assert torch.autograd.gradcheck(negative_log_likelihood, (a, b, raw))


@pytest.mark.parametrize(("model", "loss", "lowest"), MODELS)
def test_the_tie_parameter_is_recovered_from_its_own_outcomes(model: Probabilities, loss: Any, lowest: float) -> None:
    """Minimising the expected loss under the true parameter gives it back."""
    a, b, truth = t(1.0, 0.0, -0.4), t(0.0, 0.2, 0.1), lowest + 0.8
    share = model(a, b, truth)
    raw = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([raw], max_iter=50, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        parameter = lowest + raw.exp()
        total = sum(loss(a, b, torch.full((3,), int(o)), parameter, weight=share[:, o]) for o in Outcome)
        assert isinstance(total, Tensor)
        total.backward()
        return total

    optimiser.step(closure)
    assert lowest + raw.exp().item() == pytest.approx(truth, abs=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("model", "loss", "lowest"), MODELS)
def test_far_apart_rewards_keep_finite_losses_and_gradients(
    model: Probabilities, loss: Any, lowest: float, dtype: torch.dtype
) -> None:
    for outcome in Outcome:
        a, b = t(300.0, dtype=dtype, grad=True), t(-300.0, dtype=dtype)
        value = loss(a, b, torch.tensor([outcome]), lowest + 0.5)
        value.backward()
        assert value.dtype == torch.float32
        assert a.grad is not None
        assert math.isfinite(value.item())
        assert math.isfinite(a.grad.item())
    assert loss(t(300.0), t(-300.0), torch.tensor([Outcome.B]), lowest + 0.5).item() > 590


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: davidson_loss(t(1.0), t(0.0), torch.tensor([2]), 0.0), "with ties among the outcomes nu must be > 0"),
        (lambda: rao_kupper_loss(t(1.0), t(0.0), torch.tensor([2]), 1.0), "theta must be > 1"),
        (lambda: davidson_loss(t(1.0), t(0.0), torch.tensor([3]), 0.5), r"outcome must be 0 \(a wins\).*got 3 at 0"),
        (lambda: davidson_loss(t(1.0), t(0.0), torch.tensor([0.0]), 0.5), "outcome must hold integers"),
        (lambda: davidson_loss(t(1.0), t(0.0), torch.tensor([0, 1]), 0.5), r"shape \(1,\)"),
        (lambda: davidson_probabilities(t(1.0), t(0.0), -0.1), "nu must be finite and >= 0, got -0.1"),
        (lambda: davidson_probabilities(t(1.0), t(0.0), math.nan), "nu must be finite"),
        (lambda: davidson_probabilities(t(1.0), t(0.0), t(0.1, 0.2)), "nu must be a number, a scalar or of shape"),
        (lambda: rao_kupper_probabilities(t(1.0), t(0.0), 0.9), "theta must be finite and >= 1, got 0.9"),
        (lambda: davidson_probabilities(t(1.0), t(0.0), t(0.0, grad=True)), "nu is to be learnt and equals 0"),
        (lambda: rao_kupper_probabilities(t(1.0), t(0.0), t(1.0, grad=True)), "theta is to be learnt and equals 1"),
        (lambda: davidson_probabilities(t(1.0, 2.0), t(0.0), 0.5), "b has shape"),
    ],
)
def test_tie_models_refuse_what_cannot_be_right(call: Callable[[], Tensor], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()

"""Certified radii: the worked example, a numerical search, the sign that flips where it says, the bandit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.calibration.robust import (
    certified_radius,
    feature_noise_radius,
    first_order_radius,
    group_centred,
    radius_quantile,
    robust_advantages,
    robust_weights,
)
from guerdon.rewards.errors import UnknownNameError, UsageError

H = np.array([[[1.0, 0], [0, 1], [3, 4]]])
W = np.array([1, -0.5])


@st.composite
def groups(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Features (B, K, d) and a head (d,), in general position."""
    b, k, d = draw(st.integers(1, 3)), draw(st.integers(2, 8)), draw(st.integers(1, 10))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.normal(size=(b, k, d)), rng.normal(size=d)


# --- the worked example (methods A2.2) -------------------------------------------------------------------------------


def test_the_worked_example() -> None:
    r = H @ W
    assert r.tolist() == [[1, -0.5, 1]]
    keep = np.ones((1, 3), dtype=bool)
    assert group_centred(r, keep) == pytest.approx(np.array([[0.5, -1, 0.5]]))
    assert np.linalg.norm(group_centred(H, keep), axis=2)[0] == pytest.approx(
        [1.6996732, 1.4907120, 2.8674418], abs=1e-7
    )
    radius = certified_radius(r, H)
    assert radius[0] == pytest.approx([0.2941742, 0.6708204, 0.1743715], abs=1e-7)
    assert radius_quantile(radius, 0.25) == pytest.approx(0.2342728, abs=1e-7)
    raw = robust_weights(radius, quantile=0.25, mode="raw")
    assert raw[0] == pytest.approx([0.2036255, 0.6507668, -0.3435274], abs=2e-7)
    assert robust_advantages(r, H)[0] == pytest.approx([0.1018128, -0.6507668, 0], abs=2e-7)


# --- properties ---------------------------------------------------------------------------------------------------


def search(advantage: Callable[[np.ndarray], float], d: int, rng: np.random.Generator) -> float:
    """The least length of a change of the head that brings the advantage to 0, found on the unit sphere.

    The steepest direction by a pattern search over evaluations of the advantage alone, then the length by secant.
    """
    here = advantage(np.zeros(d))
    best = rng.normal(size=d)
    best /= np.linalg.norm(best)
    value, step = abs(here - advantage(best)), 0.5
    basis = np.concatenate([np.eye(d), -np.eye(d)])
    while step > 1e-9:
        tried = best + step * basis
        tried /= np.linalg.norm(tried, axis=1, keepdims=True)
        changes = [abs(here - advantage(direction)) for direction in tried]
        top = int(np.argmax(changes))
        if changes[top] > value:
            best, value = tried[top], changes[top]
        else:
            step /= 2
    return abs(here) / value


def test_the_closed_form_is_what_a_search_over_the_sphere_finds() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        k, d = int(rng.integers(2, 9)), int(rng.integers(1, 11))
        h, w = rng.normal(size=(1, k, d)), rng.normal(size=d)
        j = int(rng.integers(k))

        def advantage(delta: np.ndarray, h: np.ndarray = h, w: np.ndarray = w, j: int = j) -> float:
            r = h[0] @ (w + delta)
            return float(r[j] - r.mean())

        assert certified_radius(h @ w, h)[0, j] == pytest.approx(search(advantage, d, rng), rel=1e-12)


@given(groups(), st.integers(0, 2**32))
@settings(max_examples=200)
def test_no_smaller_change_turns_the_sign_and_the_worst_one_does(
    case: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    h, w = case
    keep = np.ones(h.shape[:2], dtype=bool)
    advantages, directions = group_centred(h @ w, keep), group_centred(h, keep)
    radius = certified_radius(h @ w, h)
    rng = np.random.default_rng(seed)
    for b, j in np.ndindex(*radius.shape):
        a, d, size = advantages[b, j], directions[b, j], radius[b, j]
        unit = -np.sign(a) * d / np.linalg.norm(d)
        assert np.sign(a + d @ (unit * size * (1 + 1e-9))) != np.sign(a)
        assert np.sign(a + d @ (unit * size * (1 - 1e-9))) == np.sign(a)
        other = rng.normal(size=len(w))
        other *= size * rng.uniform(0, 1) / np.linalg.norm(other)
        assert np.sign(a + d @ other) == np.sign(a)


@given(groups(), st.floats(0.01, 100), st.floats(-50, 50))
@settings(max_examples=200)
def test_the_radius_scales_with_the_head_and_knows_no_offset(
    case: tuple[np.ndarray, np.ndarray], scale: float, shift: float
) -> None:
    h, w = case
    radius = certified_radius(h @ w, h)
    assert certified_radius(scale * (h @ w), h) == pytest.approx(scale * radius, rel=1e-9)
    assert certified_radius(h @ w + shift, h) == pytest.approx(radius, rel=1e-9, abs=1e-11)
    moved = h + shift * np.arange(h.shape[2])
    assert certified_radius(moved @ w, moved) == pytest.approx(radius, rel=1e-7, abs=1e-9)


@given(groups(), st.floats(0, 1))
@settings(max_examples=200)
def test_weights_are_at_most_one_and_all_one_without_an_adversary(
    case: tuple[np.ndarray, np.ndarray], quantile: float
) -> None:
    h, w = case
    radius = certified_radius(h @ w, h)
    assert (robust_weights(radius, epsilon=0.0) == 1).all()
    clipped, raw = (robust_weights(radius, quantile=quantile, mode=mode) for mode in ("clip", "raw"))
    assert (raw <= 1).all()
    assert (clipped == np.maximum(raw, 0)).all()


@given(groups(), st.integers(0, 2**32))
@settings(max_examples=100)
def test_order_in_the_group_and_masked_responses_change_nothing(case: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    h, w = case
    r = h @ w
    expected = robust_advantages(r, h)
    order = np.random.default_rng(seed).permutation(h.shape[1])
    assert robust_advantages(r[:, order], h[:, order]) == pytest.approx(expected[:, order], abs=1e-12)
    with_gap = np.concatenate([h, np.full((len(h), 1, h.shape[2]), np.nan)], axis=1)
    mask = np.ones(with_gap.shape[:2], dtype=bool)
    mask[:, -1] = False
    found = robust_advantages(np.concatenate([r, np.full((len(h), 1), np.nan)], axis=1), with_gap, mask=mask)
    assert found[:, :-1] == pytest.approx(expected, abs=1e-12)
    assert (found[:, -1] == 0).all()


@given(groups())
@settings(max_examples=100)
def test_in_standard_deviations_the_radius_is_that_of_a_whitened_head(case: tuple[np.ndarray, np.ndarray]) -> None:
    """With w = L v and S = L L', a ball in v is an ellipsoid in w, and the features read by v are h L."""
    h, w = case
    d = h.shape[2]
    root = np.tril(np.random.default_rng(d).normal(size=(d, d)), -1) + np.eye(d)
    expected = certified_radius(h @ w, h @ root)
    assert certified_radius(h @ w, h, covariance=root @ root.T) == pytest.approx(expected, rel=1e-8)
    assert certified_radius(h @ w, h, covariance=np.eye(d)) == pytest.approx(certified_radius(h @ w, h))


def test_with_a_baseline_of_its_own_the_direction_is_the_response_itself() -> None:
    radius = certified_radius(H @ W, H, baseline=0.25)
    assert radius[0] == pytest.approx([0.75 / 1, 0.75 / 1, 0.75 / 5])
    assert feature_noise_radius(np.array([0.5, -1]), np.array([3.0, 4])).tolist() == [0.1, 0.2]


def test_groups_that_tell_nothing_get_no_radius_and_no_weight() -> None:
    alone = certified_radius(np.array([[2.5]]), np.array([[[1.0, 2]]]))
    assert alone.tolist() == [[0]]
    same = np.full((1, 4, 3), 0.1)
    radius = certified_radius(same @ np.array([1, 2, 3.0]), same)
    assert radius.tolist() == [[0, 0, 0, 0]]
    assert robust_weights(radius).tolist() == [[0, 0, 0, 0]]
    assert robust_advantages(np.zeros((0, 4)), np.zeros((0, 4, 3))).shape == (0, 4)


def test_what_is_no_batch_is_refused() -> None:
    r = H @ W
    with pytest.raises(UsageError, match=r"shape \(1, 3, 'd'\), got \(3, 2\)"):
        certified_radius(r, H[0])
    with pytest.raises(UsageError, match=r"shape \(B, K\)"):
        certified_radius(r[0], H)
    with pytest.raises(UsageError, match="1 rewards are not finite; mask what is unscored"):
        certified_radius(np.array([[1, np.nan, 2]]), H)
    with pytest.raises(UsageError, match="mask must be bool"):
        certified_radius(r, H, mask=np.ones((1, 3)))
    with pytest.raises(UsageError, match="not positive definite"):
        certified_radius(r, H, covariance=np.diag([1.0, -1]))
    with pytest.raises(UsageError, match="finite symmetric matrix"):
        certified_radius(r, H, covariance=np.array([[1.0, 2], [0, 1]]))
    with pytest.raises(UnknownNameError, match="Did you mean 'clip'"):
        robust_weights(r, mode="clib")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"quantile must lie in \[0, 1\]"):
        radius_quantile(r, 25)
    with pytest.raises(UsageError, match="must be finite and >= 0"):
        robust_weights(r - 5)


# --- any model ----------------------------------------------------------------------------------------------------


def test_to_first_order_a_linear_head_has_its_closed_form() -> None:
    import torch

    rng = np.random.default_rng(0)
    h, w = rng.normal(size=(2, 5, 4)), rng.normal(size=4)
    head = torch.tensor(w, requires_grad=True)
    unused = torch.ones(3, requires_grad=True)
    rewards = torch.tensor(h) @ head + 0.7
    advantages = rewards - rewards.mean(dim=1, keepdim=True)
    radius = first_order_radius(advantages, [head, unused])
    assert not radius.requires_grad
    assert radius.numpy() == pytest.approx(certified_radius(h @ w, h), rel=1e-12)


def test_to_first_order_the_worst_small_step_moves_the_advantage_as_predicted() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
    x = torch.randn(1, 6, 3, dtype=torch.float64)

    def advantages() -> Any:
        r = model(x)[..., 0]
        return (r - r.mean(dim=1, keepdim=True)) / r.std(dim=1, keepdim=True)  # z-scored: no closed form

    before = advantages()
    radius = first_order_radius(before, model.parameters())
    grads = torch.autograd.grad(before[0, 2], list(model.parameters()))
    length = torch.sqrt(sum(g.square().sum() for g in grads))
    step = 1e-5
    with torch.no_grad():
        for parameter, grad in zip(model.parameters(), grads, strict=True):
            parameter -= step * torch.sign(before[0, 2]) * grad / length
    moved = float((before[0, 2] - advantages()[0, 2]).detach().abs())
    assert step * float(before[0, 2].detach().abs()) / moved == pytest.approx(float(radius[0, 2]), rel=1e-3)


def test_advantages_without_a_graph_are_refused() -> None:
    import torch

    with pytest.raises(UsageError, match="hold no graph"):
        first_order_radius(torch.ones(2), [torch.ones(1, requires_grad=True)])
    with pytest.raises(UsageError, match="no parameters"):
        first_order_radius(torch.ones(2, requires_grad=True) * 2, [])


# --- the bandit (methods E4) ----------------------------------------------------------------------------------------

ARMS = np.zeros((8, 6))
ARMS[:6, :3] = [[0.6, 0.3, 0.3], [0.3, 0.6, 0.2], [0.4, 0.3, 0.4], [-0.5, -0.3, -0.3], [-0.3, -0.6, -0.3], [-0.4] * 3]
ARMS[6:, 3:] = [[3, 2, -1], [-1, 2.5, 2.8]]
PROXY, TRUE = np.array([1, 1, 1, 0.4, 0.4, 0.4]), np.array([1, 1, 1, 0.1, 0.1, 0.1])


def policy_gradient(direction: Callable[[np.ndarray], np.ndarray]) -> float:
    """The true reward after 3,000 exact softmax steps of rate 0.5. direction: per-arm reward given the policy."""
    theta = np.zeros(8)
    for _ in range(3000):
        p = np.exp(theta - theta.max())
        p /= p.sum()
        reward = direction(p)
        theta += 0.5 * p * (reward - p @ reward)
    return float(p @ ARMS @ TRUE)


@pytest.mark.slow
def test_certified_weights_save_the_bandit_from_its_exploit() -> None:
    """Expected figures of methods E4; its eight arms are one group, its baseline their mean."""
    rewards, features = (ARMS @ PROXY)[None], ARMS[None]
    assert (ARMS @ TRUE).max() == pytest.approx(1.2)
    assert policy_gradient(lambda p: rewards[0]) == pytest.approx(0.430, abs=5e-4)
    for quantile, expected in ((0.1, 1.199), (0.25, 1.198), (0.5, 1.192), (0.75, 0.444)):
        robust = robust_advantages(rewards, features, quantile=quantile)[0]
        assert policy_gradient(lambda p, robust=robust: robust) == pytest.approx(expected, abs=6e-4)


@pytest.mark.slow
def test_a_global_penalty_is_worse_at_its_best() -> None:
    """The worst case of the mean reward over one ball of heads, w.Eh - eps ||Eh||, the best of 20 values of eps."""

    def penalised(eps: float) -> Callable[[np.ndarray], np.ndarray]:
        def reward(p: np.ndarray) -> np.ndarray:
            mean = p @ ARMS
            return ARMS @ (PROXY - eps * mean / max(float(np.linalg.norm(mean)), 1e-12))

        return reward

    found = max(policy_gradient(penalised(eps)) for eps in np.linspace(0, 1, 20))
    assert found == pytest.approx(1.092, abs=6e-4)

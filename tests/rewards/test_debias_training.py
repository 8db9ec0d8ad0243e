"""Debiasing in training: the correlation and its gradient, BT at strength 0, and every law that a plain run keeps."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from guerdon.rewards import Sample, check_scorer
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation.metrics import spearman
from guerdon.rewards.model import RewardModel
from guerdon.rewards.train import TrainConfig, train
from guerdon.rewards.training.batches import Pair
from guerdon.rewards.training.bias_model import BiasModel
from guerdon.rewards.training.debias import Fimi, measured_in_logits
from guerdon.rewards.training.length import (
    correlation,
    length_basis,
    length_code,
    multiple_correlation,
    projection,
)

METHODS = ("fimi", "fimi-alternating", "odin")


# --- the correlation with length ---


def test_the_length_code_is_that_of_the_paper():
    """methods.md C3.2: LE(100), d = 4."""
    expected = [-0.5063656, 0.8414710, 0.8623189, 0.5403023]
    code = length_code(torch.tensor([100.0], dtype=torch.float64), 4)
    assert code[0].tolist() == pytest.approx(expected, abs=1e-6)


@given(st.integers(0, 10_000), st.integers(20, 60), st.integers(1, 6))
def test_the_multiple_correlation_is_that_of_least_squares_and_the_best_there_is(seed, n, k):
    r = np.random.default_rng(seed)
    scores, basis = r.normal(size=n), r.normal(size=(n, k)) * 10.0 ** r.integers(-3, 4, size=k)
    ours = float(multiple_correlation(torch.tensor(scores), torch.tensor(basis)))
    design = np.column_stack([np.ones(n), basis])
    fitted = design @ np.linalg.lstsq(design, scores, rcond=None)[0]
    assert ours == pytest.approx(np.corrcoef(fitted, scores)[0, 1], abs=1e-6)
    for weights in r.normal(size=(20, k)):
        assert abs(np.corrcoef(basis @ weights, scores)[0, 1]) <= ours + 1e-9
    moved = float(multiple_correlation(torch.tensor(3.0 * scores + 7.0), torch.tensor(basis)))
    assert moved == pytest.approx(ours, abs=1e-9)


def test_its_gradient_is_that_of_finite_differences():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(40, generator=generator, dtype=torch.float64, requires_grad=True)
    basis = length_basis(torch.rand(40, generator=generator, dtype=torch.float64) * 900, 4)
    assert torch.autograd.gradcheck(lambda s: multiple_correlation(s, basis), (scores,))
    assert torch.autograd.gradcheck(lambda s: correlation(s, basis[:, 0]), (scores,))


def test_constant_scores_and_constant_lengths_have_no_correlation_and_no_gradient():
    lengths = torch.arange(1.0, 41.0, dtype=torch.float64)
    constant = torch.full((40,), 3.7, dtype=torch.float64, requires_grad=True)
    for value in (
        multiple_correlation(constant, length_basis(lengths)),
        correlation(constant, lengths),
        multiple_correlation(constant, torch.ones(40, 3, dtype=torch.float64)),
    ):
        (gradient,) = torch.autograd.grad(value, constant)
        assert value.item() == 0.0
        assert gradient.abs().max() == 0.0


def test_the_projection_reaches_the_multiple_correlation_and_is_constant_beyond_its_lengths():
    generator = torch.Generator().manual_seed(1)
    lengths = torch.rand(200, generator=generator, dtype=torch.float64) * 2_000 + 10
    scores = (lengths / 300).sin() + 0.3 * torch.randn(200, generator=generator, dtype=torch.float64)
    curve = projection(scores, lengths)
    reached = float(correlation(scores, curve(lengths)))
    assert reached == pytest.approx(float(multiple_correlation(scores, length_basis(lengths))), abs=1e-9)
    ends = torch.stack([lengths.min(), lengths.max()])
    assert torch.equal(curve(torch.tensor([0.0, 1e9], dtype=torch.float64)), curve(ends))


def test_the_bias_model_finds_a_curve_that_no_line_follows():
    generator = torch.Generator().manual_seed(2)
    lengths = torch.rand(512, generator=generator, dtype=torch.float64) * 2_000 + 10
    scores = (lengths - 1_000).abs() / 500 + 0.2 * torch.randn(512, generator=generator, dtype=torch.float64)
    model = BiasModel(seed=0)
    assert 4_000 < sum(p.numel() for p in model.net.parameters()) < 8_000
    for step in range(0, 240, 8):
        model.learn(step, scores, lengths)
    assert abs(float(correlation(scores, lengths))) < 0.2
    assert abs(float(correlation(scores, model(lengths)))) > 0.8
    assert model.learn(1, scores, lengths) is None


def test_the_pull_of_a_step_is_the_gradient_of_its_correlation_with_the_remembered_curve():
    generator = torch.Generator().manual_seed(3)

    def step(n):
        lengths = (torch.rand(2 * n, generator=generator) * 900 + 20).int().tolist()
        pairs = [Pair((1,), (2,), i, None, None, 1.0, lengths[i], lengths[n + i]) for i in range(n)]
        scores = torch.tensor(lengths).double().log() + 0.5 * torch.randn(2 * n, generator=generator).double()
        return pairs, scores, torch.tensor(lengths, dtype=torch.float64)

    fimi = Fimi(0.7)
    pairs, old, old_lengths = step(80)
    assert fimi.pull(old[:, None], pairs, 0).abs().max() == 0.0  # nothing remembered yet
    pairs, scores, lengths = step(16)
    pull = fimi.pull(scores[:, None], pairs, 1)
    expected = scores.clone().requires_grad_()
    rho = correlation(expected, projection(old - old.mean(), old_lengths)(lengths))
    (rho.abs() * measured_in_logits(expected)).backward()
    assert fimi.figures()["length_correlation"] == pytest.approx(rho.item())
    assert rho.item() > 0.5
    torch.testing.assert_close(pull[:, 0], 0.7 * expected.grad)


# --- on fixed features, where the whole set is one step (methods.md C3.2 and C3.3) ---


def judged_pairs(seed, n=3_000):
    """Features of two responses (n, 2, 12), lengths (n, 2), the judge's choice and the better one.

    The judge likes length as much as quality; the features show quality with noise and length in three shapes.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    z, quality = draw(n, 2), draw(n, 2)
    pull = 1.5 * (quality[:, 0] - quality[:, 1]) + 1.5 * (z[:, 0] - z[:, 1])
    chosen = torch.rand(n, generator=generator, dtype=torch.float64) < pull.sigmoid()
    seen = (quality + 0.3 * draw(n, 2))[:, :, None]
    features = torch.cat([seen, z[:, :, None], z[:, :, None].tanh(), z[:, :, None] ** 2, draw(n, 2, 8)], dim=2)
    return features, (5.5 + 0.8 * z).exp(), chosen, quality[:, 0] > quality[:, 1]


def fitted(features, chosen, penalty, heads=1, steps=300):
    torch.manual_seed(0)
    weights = (0.1 * torch.randn(features.shape[2], heads, dtype=torch.float64)).requires_grad_()
    optimiser = torch.optim.Adam([weights], lr=0.03)
    sign = torch.where(chosen, 1.0, -1.0).double()
    for _ in range(steps):
        optimiser.zero_grad()
        scores = features @ weights  # (n, 2, heads)
        margin = sign * (scores[:, 0] - scores[:, 1]).sum(dim=1)
        loss = torch.nn.functional.softplus(-margin).mean() + penalty(scores, weights)
        loss.backward()
        optimiser.step()
    return (features @ weights).detach(), weights.detach()


def accuracies(scores, lengths, better):
    """All pairs, and those whose better response is the longer or the shorter one."""
    right = ((scores[:, 0] > scores[:, 1]) == better).double()
    longer = (lengths[:, 0] > lengths[:, 1]) == better
    return [float(part.mean()) for part in (right, right[longer], right[~longer])]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_exact_fimi_frees_a_linear_head_of_length_and_sees_quality_better(seed):
    features, lengths, chosen, better = judged_pairs(seed)
    basis = length_basis(lengths.reshape(-1))

    def rho(scores):
        return multiple_correlation(scores.reshape(-1), basis)

    plain, _ = fitted(features, chosen, lambda scores, weights: 0.0 * scores.sum())
    debiased, _ = fitted(features, chosen, lambda scores, weights: rho(scores))
    assert float(rho(plain)) > 0.5
    assert float(rho(debiased)) <= 0.1
    before, after = (accuracies(scores[:, :, 0], lengths, better) for scores in (plain, debiased))
    assert after[0] > before[0] + 0.05
    assert after[1] < before[1] - 0.05
    assert after[2] > before[2] + 0.2
    assert abs(after[1] - after[2]) < 0.05


@pytest.mark.slow
def test_odin_s_served_head_follows_length_less_than_the_sum_of_both():
    features, lengths, chosen, better = judged_pairs(2)
    flat = lengths.reshape(-1)

    def penalty(scores, weights):
        quality, length = (correlation(scores[:, :, head].reshape(-1), flat) for head in (0, 1))
        return quality.abs() + 1.0 - length + (weights[:, 0] @ weights[:, 1]).abs()

    scores, weights = fitted(features, chosen, penalty, heads=2)
    rho = [float(correlation(s.reshape(-1), flat)) for s in (scores[:, :, 0], scores[:, :, 1], scores.sum(dim=2))]
    assert abs(rho[0]) < 0.1 < rho[2] < rho[1]
    assert float((weights[:, 0] @ weights[:, 1]).abs()) < 0.05
    plain, _ = fitted(features, chosen, lambda scores, weights: 0.0 * scores.sum())
    served = accuracies(scores[:, :, 0], lengths, better)
    assert served[0] > accuracies(plain[:, :, 0], lengths, better)[0] + 0.03


def test_without_penalty_only_the_sum_of_two_heads_is_identified():
    features, _, chosen, _ = judged_pairs(3, n=300)
    one, _ = fitted(features, chosen, lambda scores, weights: 0.0 * scores.sum(), heads=1, steps=1_500)
    two, weights = fitted(features, chosen, lambda scores, weights: 0.0 * scores.sum(), heads=2, steps=1_500)
    torch.testing.assert_close(two.sum(dim=2), one[:, :, 0], atol=2e-2, rtol=0)
    assert float((weights[:, 0] - weights[:, 1]).abs().max()) > 0.05


# --- in a run ---


@pytest.fixture(scope="module")
def pairs_file(tmp_path_factory):
    """Sums: the right one is chosen, and in four pairs of five it is padded, so that length tells much of the label."""
    generator = random.Random(0)
    rows = []
    for index in range(240):
        a, b = generator.randint(2, 20), generator.randint(2, 20)
        chosen, rejected = f"the answer is {a * b}", f"hello world {a}"
        padding = " and" * generator.randint(2, 9)
        chosen, rejected = (chosen + padding, rejected) if generator.random() < 0.8 else (chosen, rejected + padding)
        prompt = f"what is {a} times {b}?" + " hello" * (index % 7)
        rows.append({"prompt": prompt, "chosen": chosen, "rejected": rejected})
    file = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


@pytest.fixture
def settings(tiny_llama_dir, pairs_file, tmp_path):
    return {
        "base": str(tiny_llama_dir),
        "data": (str(pairs_file),),
        "output": str(tmp_path / "model"),
        "learning_rate": 3e-3,
        "precision": "fp32",
        "epochs": 1,
        "evals_per_epoch": 1,
    }


def weights(folder) -> dict[str, torch.Tensor]:
    return load_file(Path(folder) / "model.safetensors")


def largest_difference(a, b) -> float:
    first, second = weights(a), weights(b)
    assert first.keys() == second.keys()
    return max(float((first[name] - second[name]).abs().max()) for name in first)


@pytest.mark.parametrize("method", ["fimi", "fimi-alternating"])
def test_strength_0_is_exactly_bradley_terry(settings, tmp_path, method):
    plain = train(TrainConfig(**settings))
    other = {**settings, "output": str(tmp_path / "other"), "debias": method, "debias_strength": 0.0}
    debiased = train(TrainConfig(**other))
    assert largest_difference(plain.folder, debiased.folder) == 0.0
    assert "length_correlation" in debiased.history[-1]


@pytest.mark.parametrize("method", METHODS)
def test_the_checkpoint_is_a_plain_model_of_one_label(settings, method):
    from transformers import AutoModelForSequenceClassification

    folder = train(TrainConfig(**settings, debias=method)).folder
    _, info = AutoModelForSequenceClassification.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert weights(folder)["score.weight"].shape[0] == 1
    card = json.loads((folder / "guerdon.json").read_text())
    assert card["training"]["options"]["debias"] == method
    check_scorer(RewardModel.load(folder))


@pytest.mark.slow
def test_debiasing_takes_length_out_of_the_scores(settings, tmp_path, pairs_file):
    samples = []
    for row in map(json.loads, pairs_file.read_text().splitlines()):
        samples += [Sample(row["prompt"], row[side]) for side in ("chosen", "rejected")]
    lengths = np.array([len(sample.response_text) for sample in samples], dtype=float)

    def follows(**changes):
        output = str(tmp_path / str(len(list(tmp_path.iterdir()))))
        result = train(TrainConfig(**{**settings, "epochs": 4, "output": output, **changes}))
        scores = RewardModel.load(result.folder).score(samples)
        return abs(spearman(np.array([score.value for score in scores]), lengths)), result

    plain, _ = follows()
    for method in METHODS:
        debiased, result = follows(debias=method)
        assert debiased < plain - 0.1, method
        assert result.held_out["held_out_accuracy"] > 0.8, method


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_run_resumes_to_the_same_weights(settings, tmp_path, method):
    settings = {**settings, "debias": method, "save_minutes": 1e-9}
    whole = train(TrainConfig(**settings))

    class KilledError(Exception):
        pass

    def kill(step, total, figures):
        if step == 11:
            raise KilledError

    broken = {**settings, "output": str(tmp_path / "broken")}
    with pytest.raises(KilledError):
        train(TrainConfig(**broken), kill)
    with pytest.raises(UsageError, match=r"debias_strength was 1\.0 and is 0\.5"):
        train(TrainConfig(**{**broken, "resume": True, "debias_strength": 0.5}))
    resumed = train(TrainConfig(**{**broken, "resume": True}))
    assert largest_difference(whole.folder, resumed.folder) < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_accumulating_a_step_changes_nothing(settings, tmp_path, method):
    once = train(TrainConfig(**settings, debias=method)).folder
    small = {**settings, "output": str(tmp_path / "parts"), "step_tokens": 128, "forward_tokens": 100}
    parts = train(TrainConfig(**small, debias=method)).folder
    assert largest_difference(once, parts) < 1e-4


@pytest.mark.slow
def test_two_processes_take_the_steps_of_one(settings, tmp_path):
    script = tmp_path / "run.py"
    script.write_text(
        "import json, sys\n"
        "from guerdon.rewards.train import TrainConfig, train\n"
        "for config in json.loads(sys.argv[1]):\n"
        "    train(TrainConfig(**config))\n"
    )
    settings = {**settings, "batch_pairs": 13, "step_tokens": 400, "held_out": 0.0}
    methods = ("fimi", "odin")
    single = [train(TrainConfig(**{**settings, "output": str(tmp_path / m), "debias": m})).folder for m in methods]
    double = [{**settings, "output": str(tmp_path / f"{method}-2"), "debias": method} for method in methods]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone"]
    done = subprocess.run(
        [*command, str(script), json.dumps(double)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    for folder, config in zip(single, double, strict=True):
        assert largest_difference(folder, config["output"]) < 1e-4


def test_two_heads_train_with_adapters_and_on_an_encoder(settings, tmp_path):
    from transformers import AutoTokenizer, BertConfig, BertModel

    folder = train(TrainConfig(**settings, debias="odin", lora_rank=2)).folder
    assert weights(folder)["score.weight"].shape[0] == 1
    tokenizer = AutoTokenizer.from_pretrained(settings["base"])
    bert = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=256,
        pad_token_id=tokenizer.pad_token_id,
    )
    BertModel(bert).save_pretrained(tmp_path / "bert")
    tokenizer.save_pretrained(tmp_path / "bert")
    encoder = {**settings, "base": str(tmp_path / "bert"), "output": str(tmp_path / "encoder")}
    result = train(TrainConfig(**encoder, debias="odin"))
    check_scorer(RewardModel.load(result.folder))
    assert "length_head_correlation" in result.history[-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"debias": "odim"}, "no way of debiasing named 'odim'. Did you mean 'odin'"),
        ({"debias": "fimi", "debias_strength": -1.0}, "debias_strength must be 0 or more, and finite, got -1.0"),
        ({"debias_strength": float("inf")}, "debias_strength must be 0 or more, and finite, got inf"),
    ],
)
def test_a_wrong_setting_is_named_with_what_would_be_right(settings, change, message):
    with pytest.raises(UsageError, match=message):
        train(TrainConfig(**{**settings, **change}))

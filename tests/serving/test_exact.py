"""Exact scores have the same bits in any company; fast ones, and any engine's, are transformers' to 1e-5."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from guerdon.rewards import Prepared, Sample
from guerdon.serving.config import ServeConfig
from guerdon.serving.engine import Engine
from guerdon.serving.metrics import Metrics

SECONDS = 120.0  # never waited for in a passing run
SEQUENCES, COMPOSITIONS = 64, 100
WORDS = ("the", "answer", "is", "42", "and", "what", "6", "times", "7", "hello", "world", "user", "assistant")


@pytest.fixture(scope="session")
def tiny_bert_dir(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizer_dir: Path) -> Path:
    """A random two-layer encoder with one label, beside the toy tokenizer."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    tokenizer: Any = AutoTokenizer.from_pretrained(tiny_tokenizer_dir)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=256, num_labels=1, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("tiny-bert")
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def minilm_rm_dir(tmp_path_factory: pytest.TempPathFactory, minilm_dir: Path) -> Path:
    """Real MiniLM weights with a head of a fixed seed."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("minilm-rm")
    AutoModelForSequenceClassification.from_pretrained(minilm_dir, num_labels=1).save_pretrained(folder)
    tokenizer: Any = AutoTokenizer.from_pretrained(minilm_dir)
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def model(request: pytest.FixtureRequest, runs: Path) -> Iterator[Any]:
    """The reward model that a test's parameter names, on the CPU, computing with one thread."""
    import torch

    from guerdon.rewards.model import RewardModel

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = runs / "a" if request.param == "llama" else request.getfixturevalue(request.param)
    yield RewardModel.load(folder, device="cpu", overlong="truncate_prompt")
    torch.set_num_threads(threads)


def sequences(n: int, draw: random.Random) -> list[Sample]:
    """Of all lengths, in groups of up to eight answers to one prompt, some of them the same."""
    found: list[Sample] = []
    while len(found) < n:
        prompt = " ".join(draw.choices(WORDS, k=draw.randint(1, 40)))
        for _ in range(draw.randint(1, 8)):
            found.append(Sample(prompt, " ".join(draw.choices(WORDS, k=round(draw.lognormvariate(2.5, 1)) % 90))))
    return found[:n]


def composition(samples: Sequence[Sample], draw: random.Random) -> list[list[int]]:
    """Some of the samples in a random order, cut into requests of random size."""
    order = draw.sample(range(len(samples)), draw.randint(1, len(samples) // 2))
    requests = []
    while order:
        size = draw.choice([1, 1, 1, 2, 3, 8, 30])
        requests.append(order[:size])
        order = order[size:]
    return requests


def served(
    model: Any, samples: Sequence[Sample], scores: Literal["fast", "exact"], compositions: Sequence[list[list[int]]]
) -> list[list[float]]:
    """The samples' values in each composition, whose requests arrive in bursts of random size; NaN where one is not."""
    config = ServeConfig(scores=scores, cache_entries=0)  # or the second composition would not be computed
    engine = Engine({"m": model}, config, Metrics(["m"]))

    async def one(requests: list[list[int]]) -> list[float]:
        values = [float("nan")] * len(samples)
        draw = random.Random(len(requests))

        async def ask(indices: list[int]) -> None:
            scored = await engine.score("m", [samples[i] for i in indices], seconds=SECONDS)
            for index, score in zip(indices, scored.scores, strict=True):
                assert score.value is not None, score.reason
                values[index] = score.value

        asked = []
        for indices in requests:
            asked.append(asyncio.ensure_future(ask(indices)))
            if draw.random() < 0.2:
                await asyncio.sleep(0)
        await asyncio.gather(*asked)
        return values

    async def main() -> list[list[float]]:
        return [await one(requests) for requests in compositions]

    try:
        return asyncio.run(asyncio.wait_for(main(), SECONDS))
    finally:
        engine.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "n", "times"),
    [
        ("llama", SEQUENCES, COMPOSITIONS),
        ("tiny_bert_dir", SEQUENCES, COMPOSITIONS),
        ("minilm_rm_dir", 24, 8),  # the same with real weights, as much of it as a few seconds allow
    ],
    indirect=["model"],
)
def test_an_exact_score_has_the_same_bits_in_any_company(model: Any, n: int, times: int) -> None:
    draw = random.Random(0)
    samples = sequences(n, draw)
    alone = [model.score([sample])[0].value for sample in samples]
    compositions = [composition(samples, draw) for _ in range(times)]
    for values, requests in zip(served(model, samples, "exact", compositions), compositions, strict=True):
        assert all(values[i] == alone[i] for indices in requests for i in indices)
    # Fast ones are near. (If they were all equal, this model could not tell the two modes apart.)
    differences = [
        abs(values[i] - alone[i])
        for values, requests in zip(served(model, samples, "fast", compositions[:20]), compositions, strict=False)
        for indices in requests
        for i in indices
    ]
    assert 0 < max(differences) <= 1e-5


@pytest.mark.parametrize("model", ["llama"], indirect=True)
def test_an_exact_request_of_one_group_has_the_bits_of_its_members_alone(model: Any) -> None:
    """A group's prompt is not shared in exact mode."""
    samples = [Sample("what is 6 times 7 " * 8, f"{n} hello", group="g") for n in range(8)]
    alone = [model.score([sample])[0].value for sample in samples]
    assert served(model, samples, "exact", [[[*range(8)]]]) == [alone]


# --- against transformers ---


def items(folder: Path, n: int) -> list[Sample]:
    """The first n of every set of preferences that is scored by a reward model, both sides."""
    found = []
    for name in ("hhh", "llmbar", "judgebench", "rmbench"):
        with gzip.open(folder / f"eval_{name}.jsonl.gz", "rt") as lines:
            for line, _ in zip(lines, range(n), strict=False):
                record = json.loads(line)
                for side in ("chosen", "rejected"):
                    answers = record[side]
                    # Some sets have several answers of one side.
                    found += [Sample(record["prompt"], answers if isinstance(answers[0], dict) else answers[0])]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "side", "n"),
    [("llama", "left", 100), ("llama", "right", 100), ("tiny_bert_dir", "right", 100), ("minilm_rm_dir", "right", 24)],
    indirect=["model"],
)
def test_served_scores_are_those_of_transformers(model: Any, side: str, n: int, shared_data: Path) -> None:
    """Computed there in padded batches, from the ids that our renderer makes. (An encoder reads its first token, so it
    is padded on the right.)"""
    samples = items(shared_data, 40)
    chosen = [(sample, made.ids) for sample in samples if isinstance(made := model.prepare(sample), Prepared)][:n]
    assert len(chosen) == n
    # Of like length, or the padding of the longest would be most of the work.
    chosen.sort(key=lambda each: len(each[1]))
    reference = [
        value
        for start in range(0, len(chosen), 8)
        for value in plain_scores(model.net, [ids for _, ids in chosen[start : start + 8]], side)
    ]
    texts = [sample for sample, _ in chosen]
    (values,) = served(model, texts, "fast", [[[i] for i in range(len(texts))]])
    assert max(abs(a - b) for a, b in zip(values, reference, strict=True)) <= 1e-5


def plain_scores(net: Any, rows: Sequence[Sequence[int]], side: str) -> list[float]:
    """transformers' forward of a padded batch, read where each text ends.

    Not where transformers believes that it ends: it takes the last id that is not the pad id, which is one too early
    for a text that ends in that id, as those of this toy tokenizer do.
    """
    import torch

    longest, pad = max(map(len, rows)), net.pad_id
    padding = [longest - len(row) for row in rows]
    left = side == "left"
    ids = [[pad] * (n * left) + [*row] + [pad] * (n * (not left)) for row, n in zip(rows, padding, strict=True)]
    mask = [[0] * (n * left) + [1] * len(row) + [0] * (n * (not left)) for row, n in zip(rows, padding, strict=True)]
    attention = torch.tensor(mask)
    positions = (attention.cumsum(1) - 1).clamp(min=0)
    with torch.no_grad():
        forward = net.model.base_model if net.causal else net.model
        found = forward(input_ids=torch.tensor(ids), attention_mask=attention, position_ids=positions)[0]
        if not net.causal:
            return [float(value) for value in found[:, 0]]
        ends = [-1 if left else len(row) - 1 for row in rows]
        return [float(net.model.score(found[i, end])[0]) for i, end in enumerate(ends)]

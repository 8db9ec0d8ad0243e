"""Loading refuses what is no trained reward model, and the score of a text does not depend on its company."""

from __future__ import annotations

import json
import shutil

import pytest
import torch

from guerdon.rewards import Sample
from guerdon.rewards.errors import CheckpointError, FingerprintError
from guerdon.rewards.model import RewardModel
from guerdon.rewards.train import TrainConfig, train


@pytest.fixture(scope="module")
def trained(tiny_llama_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    rows = folder / "rows.jsonl"
    rows.write_text(
        "\n".join(
            json.dumps({"prompt": f"say {i}", "chosen": f"{i} is here", "rejected": f"no {i * 3}"}) for i in range(48)
        )
    )
    config = TrainConfig(
        base=str(tiny_llama_dir),
        data=(str(rows),),
        output=str(folder / "model"),
        precision="fp32",
        learning_rate=1e-3,
        epochs=1,
    )
    return train(config).folder


@pytest.fixture
def copy(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "copy")


SAMPLES = [Sample("say " + "hello " * n, "the answer " * (5 - n) + str(n)) for n in range(5)] + [
    Sample("what is the answer?", text) for text in ("42", "the answer is 42", "42 " * 40, "")
]


def test_every_variant_gives_the_same_scores(trained):
    model = RewardModel.load(trained)
    expected = [score.value for score in model.score(SAMPLES)]
    assert model.share_prompts
    assert set(model.variants()) == {"batch of one", "no shared prompts", "left padding"}
    for variant in model.variants().values():
        assert [score.value for score in variant.score(SAMPLES)] == pytest.approx(expected, abs=1e-5)


def test_a_random_head_is_refused_by_name(tiny_llama_dir):
    with pytest.raises(CheckpointError, match=r"score\.weight is not in its weights"):
        RewardModel.load(tiny_llama_dir)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"no config\.json"):
        RewardModel.load(tmp_path)
    with pytest.raises(CheckpointError, match="no such model folder"):
        RewardModel.load(tmp_path / "nothing")


def test_damaged_weights_fail_the_handshake(copy):
    from safetensors.torch import load_file, save_file

    tensors = load_file(copy / "model.safetensors")
    tensors["score.weight"] = tensors["score.weight"] * 1.5
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match="a golden sample scores"):
        RewardModel.load(copy)


def test_another_template_is_refused_and_says_what_differs(copy):
    template = copy / "chat_template.jinja"
    template.write_text(template.read_text() + "!")
    with pytest.raises(FingerprintError, match="template"):
        RewardModel.load(copy)


def test_files_of_two_checkpoints_are_not_mixed(copy):
    card = json.loads((copy / "guerdon.json").read_text())
    (copy / "guerdon.json").write_text(json.dumps({**card, "renderer": "0" * 16}))
    with pytest.raises(FingerprintError, match="files of two checkpoints are mixed"):
        RewardModel.load(copy)


def test_a_damaged_card_is_an_error(copy):
    (copy / "guerdon.json").write_text("{")
    with pytest.raises(CheckpointError, match="is damaged"):
        RewardModel.load(copy)


def test_an_over_long_sample_is_refused_and_its_neighbours_are_scored(trained):
    model = RewardModel.load(trained)
    long, short = model.score([Sample("say 1", "hello " * 2_000), Sample("say 1", "1 is here")])
    assert long.value is None
    assert long.status == "refused"
    assert "256" in long.reason
    assert long.details["over_long"]
    assert short.value is not None


def test_cutting_is_asked_for_and_counted(trained):
    model = RewardModel.load(trained, overlong="truncate")
    score = model.score([Sample("say 1", "hello " * 2_000)])[0]
    assert score.value is not None
    assert score.details["cut"] > 1_000
    assert 250 <= score.details["tokens"] <= 256  # cut at the end of a word


def test_the_version_changes_with_the_weights(trained, copy, tmp_path):
    assert RewardModel.load(trained).version == RewardModel.load(copy).version
    card = json.loads((copy / "guerdon.json").read_text())
    (copy / "guerdon.json").write_text(json.dumps({**card, "weights": "0" * 64}))
    assert RewardModel.load(trained).version != RewardModel.load(copy).version


def test_a_foreign_reward_model_loads_without_a_card(copy):
    (copy / "guerdon.json").unlink()
    (copy / "renderer.json").unlink()
    model = RewardModel.load(copy)
    assert model.temperature is None
    assert model.score(SAMPLES[:1])[0].value is not None


def test_two_labels_are_refused(tiny_llama_dir, tmp_path):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(tiny_llama_dir, num_labels=2)
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny_llama_dir).save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match="has 2 labels"):
        RewardModel.load(tmp_path)


def test_a_model_that_gives_nan_is_unscored_not_zero(trained):
    model = RewardModel.load(trained)
    with torch.no_grad():
        model.net.classifier.score.weight.fill_(float("nan"))
    score = model.score(SAMPLES[:1])[0]
    assert score.value is None
    assert score.status == "error"

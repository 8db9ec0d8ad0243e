"""Training on a tiny decoder: it learns, resumes to the same weights, splits over processes, refuses what is wrong."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from guerdon.rewards import Sample, check_scorer
from guerdon.rewards.errors import DataError, UsageError
from guerdon.rewards.model import RewardModel
from guerdon.rewards.network import RewardNet
from guerdon.rewards.train import TrainConfig, train
from guerdon.rewards.training.held_out import Measurement, keeps_up
from guerdon.rewards.training.optimise import learning_rate, parameter_groups


@pytest.fixture(scope="module")
def pairs_file(tmp_path_factory):
    """Products: the right one is chosen, and whether the chosen text is the longer one is a coin toss."""
    generator = random.Random(0)
    rows = []
    for index in range(120):
        a, b = generator.randint(2, 20), generator.randint(2, 20)
        chosen, rejected = f"the answer is {a * b}", f"hello world {a}"
        rows.append(
            {"prompt": f"what is {a} times {b}?" + " hello" * (index % 7), "chosen": chosen, "rejected": rejected}
        )
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


def test_a_model_is_trained_saved_loaded_and_keeps_the_laws(settings):
    result = train(TrainConfig(**settings))
    assert result.held_out["held_out_accuracy"] > 0.9
    assert result.history[-1]["loss"] < result.history[0]["loss"]
    assert not (result.folder / ".training").exists()
    model = RewardModel.load(result.folder)
    check_scorer(model)
    right, wrong = model.score([Sample("what is 3 times 4?", text) for text in ("the answer is 12", "hello world 3")])
    assert right.value > wrong.value


def test_the_checkpoint_is_a_plain_transformers_model_that_scores_the_same(settings):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = train(TrainConfig(**settings)).folder
    model, info = AutoModelForSequenceClassification.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompt = [{"role": "user", "content": "what is 3 times 4?"}]
    response = [{"role": "assistant", "content": "the answer is 12"}]
    text = tokenizer.apply_chat_template(prompt + response, tokenize=False)
    # as TRL scores in process: template to text, no special tokens added, right padding, logits[:, 0]
    tokenizer.padding_side = "right"
    batch = tokenizer([text, text + "hello"], padding=True, add_special_tokens=False, return_tensors="pt")
    with torch.no_grad():
        theirs = float(model(**batch).logits[0, 0])
    ours = RewardModel.load(folder).score([Sample(prompt, response)])[0].value
    assert theirs == pytest.approx(ours, abs=1e-5)


def test_the_saved_pad_token_can_end_no_text(settings):
    folder = train(TrainConfig(**settings)).folder
    config = json.loads((folder / "config.json").read_text())
    ids = RewardModel.load(folder).renderer.render("hello", "<|eot_id|>").ids
    assert config["pad_token_id"] not in ids
    assert config["num_labels" if "num_labels" in config else "pad_token_id"] is not None


class KilledError(Exception):
    pass


@pytest.mark.parametrize("lora_rank", [None, 2])
def test_a_killed_run_resumes_to_the_same_weights(settings, tmp_path, lora_rank):
    settings = {**settings, "lora_rank": lora_rank, "save_minutes": 1e-9, "epochs": 1.5}
    whole = train(TrainConfig(**settings))

    def kill(step, total, figures):
        if step == 5:
            raise KilledError

    broken = {**settings, "output": str(tmp_path / "broken")}
    with pytest.raises(KilledError):
        train(TrainConfig(**broken), kill)
    with pytest.raises(UsageError, match="unfinished run"):
        train(TrainConfig(**broken))
    with pytest.raises(UsageError, match=r"learning_rate was 0\.003 and is 0\.1"):
        train(TrainConfig(**{**broken, "resume": True, "learning_rate": 0.1}))
    resumed = train(TrainConfig(**{**broken, "resume": True}))
    assert resumed.steps == whole.steps
    assert largest_difference(whole.folder, resumed.folder) < 1e-6
    assert [h["loss"] for h in resumed.history] == pytest.approx([h["loss"] for h in whole.history], abs=1e-6)


def test_nothing_is_overwritten_unasked(settings):
    folder = train(TrainConfig(**settings)).folder
    with pytest.raises(UsageError, match="already holds a model"):
        train(TrainConfig(**settings))
    with pytest.raises(UsageError, match="nothing to resume"):
        train(TrainConfig(**{**settings, "resume": True}))
    assert train(TrainConfig(**{**settings, "overwrite": True})).folder == folder


def test_an_adapter_run_trains_the_head_and_saves_it_merged(settings, tiny_llama_dir):
    folder = train(TrainConfig(**{**settings, "lora_rank": 2, "gradient_checkpointing": True})).folder
    assert "score.weight" in weights(folder)
    assert (folder / "adapter" / "adapter_config.json").exists()
    trained, base = weights(folder), load_file(tiny_llama_dir / "model.safetensors")
    moved = [name for name in base if name in trained and name.endswith("q_proj.weight")]
    assert moved
    assert all(not torch.equal(base[name], trained[name]) for name in moved)
    assert torch.equal(base["model.layers.0.input_layernorm.weight"], trained["model.layers.0.input_layernorm.weight"])


def test_accumulating_a_step_changes_nothing(settings, tmp_path):
    once = train(TrainConfig(**settings)).folder
    parts = train(
        TrainConfig(**{**settings, "output": str(tmp_path / "parts"), "step_tokens": 64, "forward_tokens": 50})
    ).folder
    assert largest_difference(once, parts) < 1e-5


def test_two_processes_take_the_steps_of_one(settings, tmp_path):
    """Steps of seven pairs: the processes have unequal shares, and the last step leaves one of them without any."""
    script = tmp_path / "run.py"
    script.write_text(
        "import json, os, sys\n"
        "from guerdon.rewards.train import TrainConfig, train\n"
        "result = train(TrainConfig(**json.loads(sys.argv[1])))\n"
        "if os.environ.get('RANK', '0') == '0':\n"
        "    print(json.dumps([[h['loss'], h['accuracy'], h['grad_norm']] for h in result.history]))\n"
    )
    single = train(TrainConfig(**{**settings, "batch_pairs": 7, "step_tokens": 200}))
    double = {**settings, "batch_pairs": 7, "step_tokens": 200, "output": str(tmp_path / "double")}
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(script), json.dumps(double)], capture_output=True, text=True, timeout=240, env=environment
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    history = json.loads(done.stdout.strip().splitlines()[-1])
    expected = [[h["loss"], h["accuracy"], h["grad_norm"]] for h in single.history]
    for theirs, ours in zip(history, expected, strict=True):
        assert theirs == pytest.approx(ours, rel=1e-3, abs=1e-5)
    assert largest_difference(single.folder, double["output"]) < 1e-5


def test_ctrl_c_leaves_a_usable_model_and_a_run_to_resume(settings, tmp_path):
    script = tmp_path / "run.py"
    script.write_text(
        "import json, sys\n"
        "from guerdon.rewards.train import TrainConfig, train\n"
        "def show(step, total, figures):\n"
        "    print(step, flush=True)\n"
        "result = train(TrainConfig(**json.loads(sys.argv[1])), show)\n"
        "print('interrupted', result.interrupted, flush=True)\n"
    )
    long = {**settings, "epochs": 400}
    process = subprocess.Popen([sys.executable, str(script), json.dumps(long)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "1"
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=120)
    assert "interrupted True" in rest
    RewardModel.load(settings["output"])
    assert (Path(settings["output"]) / ".training" / "state.pt").exists()


def test_bad_rows_are_listed_with_their_lines_before_any_step(settings, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"prompt": "a", "chosen": "b"}\nnot json\n{"prompt": "a", "chosen": "b", "rejected": "c"}\n')
    with pytest.raises(DataError) as error:
        train(TrainConfig(**{**settings, "data": (str(bad),)}))
    assert "bad.jsonl:1" in str(error.value)
    assert "bad.jsonl:2" in str(error.value)
    assert "bad.jsonl:3" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be above 0, got 0.0"),
        ({"held_out": 1.0}, r"held_out must be in \[0, 1\), got 1.0"),
        ({"precision": "fp61"}, "Did you mean 'fp16'|no precision named 'fp61'"),
        ({"max_length": 999}, "max_length is 999, but the base has 256 positions"),
        ({"data": ()}, "at least one file"),
        ({"resume": True, "overwrite": True}, "choose one"),
    ],
)
def test_a_wrong_setting_is_named_with_what_would_be_right(settings, change, message):
    with pytest.raises(UsageError, match=message):
        train(TrainConfig(**{**settings, **change}))


def test_an_unknown_key_of_a_config_file_is_an_error():
    with pytest.raises(UsageError, match="Did you mean 'epochs'"):
        TrainConfig.from_mapping({"base": "b", "data": ["d"], "output": "o", "epoch": 1})


def test_the_learning_rate_rises_then_falls_to_almost_nothing():
    rates = [learning_rate(step, 100, 0.1) for step in range(100)]
    assert rates[:10] == pytest.approx([0.1 * (i + 1) for i in range(10)])
    assert rates[10] == 1.0
    assert rates[99] == pytest.approx(1 / 90)
    assert rates[10:] == sorted(rates[10:], reverse=True)


def test_layers_learn_slower_towards_the_embeddings_and_the_head_at_its_own_rate(tiny_llama_dir):
    from transformers import AutoModelForSequenceClassification

    net = RewardNet(AutoModelForSequenceClassification.from_pretrained(tiny_llama_dir, num_labels=1))
    config = TrainConfig(base="b", data=("d",), output="o", learning_rate=1.0, head_learning_rate=7.0, layer_decay=0.5)
    groups = parameter_groups(net, config)
    by_id = {id(p): group for group in groups for p in group["params"]}
    named = dict(net.named_parameters())
    rate = {name: by_id[id(p)]["lr"] for name, p in named.items()}
    assert rate["model.score.weight"] == 7.0
    assert rate["model.model.layers.1.mlp.up_proj.weight"] == 1.0
    assert rate["model.model.layers.0.mlp.up_proj.weight"] == 0.5
    assert rate["model.model.embed_tokens.weight"] == 0.25
    assert by_id[id(named["model.model.layers.0.input_layernorm.weight"])]["weight_decay"] == 0.0


def test_newer_weights_replace_the_best_unless_they_are_clearly_worse():
    best = [1.0] * 60 + [0.0] * 40
    assert keeps_up(best, best)
    assert keeps_up([1.0] * 61 + [0.0] * 39, best)
    # two pairs lost, one won: a difference of 0.01 with a standard error of 0.017
    assert keeps_up([0.0] * 2 + [1.0] * 59 + [0.0] * 39, best)
    # ten pairs lost: a difference of 0.1 with a standard error of 0.03
    assert not keeps_up([0.0] * 10 + [1.0] * 50 + [0.0] * 40, best)


def test_held_out_figures_are_those_of_the_margins():
    measurement = Measurement((2.0, -1.0, 0.0, 1.0))
    figures = measurement.figures()
    assert figures["held_out_accuracy"] == 2.5 / 4
    expected = [0.126928011, 1.313261688, 0.693147181, 0.313261688]  # softplus(-m), by hand
    assert figures["held_out_loss"] == pytest.approx(sum(expected) / 4, abs=1e-8)
    assert Measurement(()).figures() == {}
    assert Measurement(()).temperature is None
    assert Measurement((-1.0, -2.0)).temperature is None


def test_the_temperature_is_that_of_the_smallest_log_loss():
    # methods C4: margins all labelled "first wins"
    assert Measurement((3, 2, 1, 0.5, -0.5, 2.5, -1, 0.2)).temperature == pytest.approx(0.9578891, abs=1e-4)


def test_tensorboard_gets_every_figure(settings):
    pytest.importorskip("tensorboard")
    folder = train(TrainConfig(**{**settings, "report_to": "tensorboard"})).folder
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    assert {"loss", "accuracy", "grad_norm", "held_out_accuracy"} <= set(events.Tags()["scalars"])

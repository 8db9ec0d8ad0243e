"""Equal fingerprints mean equal ids; unequal ones say what differs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guerdon.rewards.errors import CheckpointError, FingerprintError, RenderError, UsageError
from guerdon.rewards.render import FILE, JoinRule, Renderer
from guerdon.rewards.rendering.fingerprint import PARTS, check_fingerprint


@pytest.fixture
def saved(toy: Any, tmp_path: Path) -> Path:
    Renderer.for_training(toy, max_length=200, overlong="truncate").save(tmp_path)
    return tmp_path


def edit_json(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")


@pytest.mark.parametrize("which", ["toy", "minilm"])
def test_a_saved_renderer_loads_with_the_same_ids_rules_and_fingerprint(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    made = Renderer.for_training(request.getfixturevalue(which), max_length=64, overlong="truncate_prompt")
    made.save(tmp_path / "deep" / "folder")
    loaded = Renderer.load(tmp_path / "deep" / "folder")
    assert loaded.describe() == made.describe()
    assert (loaded.pad_id, loaded.join, loaded.date, loaded.notes) == (made.pad_id, made.join, made.date, made.notes)
    assert not loaded.needs_resize
    for text in ("a <|eot_id|>", "word " * 200):
        assert loaded.render(text, "b") == made.render(text, "b")


def test_transformers_alone_gives_the_same_ids_from_the_saved_folder(saved: Path) -> None:
    from transformers import AutoTokenizer

    messages = [{"role": "user", "content": "6 times 7?"}, {"role": "assistant", "content": "42"}]
    tokenizer = AutoTokenizer.from_pretrained(saved)
    ids = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False)
    assert tuple(ids) == Renderer.load(saved).render("6 times 7?", "42").ids
    assert tokenizer.pad_token_id == Renderer.load(saved).pad_id


def test_a_saved_tokenizer_uses_the_names_that_transformers_4_knows(saved: Path) -> None:
    """TokenizersBackend and a list of extra_special_tokens stop transformers 4, on which vLLM and SGLang build."""
    config = json.loads((saved / "tokenizer_config.json").read_text())
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert not isinstance(config.get("extra_special_tokens"), list)


def test_saving_again_changes_nothing(saved: Path, tmp_path: Path) -> None:
    Renderer.load(saved).save(tmp_path / "again")
    Renderer.load(tmp_path / "again").save(tmp_path / "third")
    assert Renderer.load(tmp_path / "third").describe() == Renderer.load(saved).describe()


def _template(folder: Path) -> None:
    path = folder / "chat_template.jinja"
    path.write_text(path.read_text() + " ")


def _no_template(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()


def _core(key: str, value: Any) -> Callable[[Path], None]:
    return lambda folder: edit_json(folder / "tokenizer.json", lambda core: core.update({key: value}))


def _vocabulary(folder: Path) -> None:
    def swap(core: dict[str, Any]) -> None:
        vocabulary = core["model"]["vocab"]
        vocabulary["a"], vocabulary["b"] = vocabulary["b"], vocabulary["a"]

    edit_json(folder / "tokenizer.json", swap)


def _merges(folder: Path) -> None:
    edit_json(folder / "tokenizer.json", lambda core: core["model"]["merges"].pop())


def _pad(folder: Path) -> None:
    edit_json(folder / "tokenizer_config.json", lambda config: config.update(pad_token="<|eot_id|>"))


@pytest.mark.parametrize(
    ("tamper", "part"),
    [
        (_template, "the chat template differs"),
        (_no_template, "the chat template differs"),
        (_vocabulary, "the vocabulary differs"),
        (_merges, "the merges differs"),
        (_core("normalizer", {"type": "Lowercase"}), "the normaliser differs"),
        (
            _core(
                "pre_tokenizer",
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
            ),
            "the pre-tokeniser differs",
        ),
        (_pad, "the special tokens differs"),
    ],
)
def test_another_tokenizer_at_load_is_an_error_that_says_what_differs(
    saved: Path, tamper: Callable[[Path], None], part: str
) -> None:
    expected = Renderer.load(saved).fingerprint
    tamper(saved)
    with pytest.raises(FingerprintError, match=part) as caught:
        Renderer.load(saved)
    assert f"was trained with renderer {expected}, the tokenizer given renders as " in str(caught.value)


def test_an_added_token_is_a_difference(byte_tokenizer: Any) -> None:
    from tokenizers import AddedToken

    plain = Renderer.for_training(byte_tokenizer())
    more = Renderer.for_training(byte_tokenizer(added=[AddedToken("<think>", special=False)]))
    with pytest.raises(FingerprintError, match="the added tokens differs"):
        check_fingerprint(plain.describe(), more.describe())


def test_several_differences_are_all_named(toy: Any, minilm: Any) -> None:
    with pytest.raises(FingerprintError, match="the vocabulary and the merges and the added tokens and the normaliser"):
        check_fingerprint(Renderer.for_training(toy).describe(), Renderer.for_training(minilm).describe())


def test_padding_and_truncation_left_in_a_tokenizer_change_neither_ids_nor_fingerprint(toy: Any, saved: Path) -> None:
    renderer = Renderer.load(saved)
    core = json.loads((saved / "tokenizer.json").read_text())
    padding = {
        "strategy": {"Fixed": 64},
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 1,
        "pad_type_id": 0,
    }
    core["padding"] = {**padding, "pad_token": "<|eot_id|>"}
    core["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    (saved / "tokenizer.json").write_text(json.dumps(core))
    assert Renderer.load(saved).fingerprint == renderer.fingerprint
    assert Renderer.load(saved).render("q", "a") == renderer.render("q", "a")


def test_rules_for_long_texts_may_be_overridden_and_change_no_fingerprint(saved: Path) -> None:
    saved_rules, own_rules = Renderer.load(saved), Renderer.load(saved, overlong="error", max_length=90)
    assert (saved_rules.max_length, saved_rules.overlong) == (200, "truncate")
    assert (own_rules.max_length, own_rules.overlong) == (90, "error")
    assert own_rules.fingerprint == saved_rules.fingerprint
    assert own_rules.describe() != saved_rules.describe()


def test_every_part_has_its_own_hash(toy: Any) -> None:
    described = Renderer.for_training(toy).describe()
    assert set(PARTS) < set(described)
    assert all(len(described[part]) == 16 for part in (*PARTS, "fingerprint"))


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"format": 1}', '{"no": 1}'])
def test_a_damaged_description_is_an_error(saved: Path, content: str) -> None:
    (saved / FILE).write_text(content)
    with pytest.raises(CheckpointError, match=r"renderer\.json is damaged.*save the checkpoint again"):
        Renderer.load(saved)


def test_a_description_of_the_future_asks_for_a_newer_guerdon(saved: Path) -> None:
    edit_json(saved / FILE, lambda data: data.update(format=2))
    with pytest.raises(CheckpointError, match=r"has format 2, this guerdon reads 1; update guerdon"):
        Renderer.load(saved)


def test_a_join_rule_for_a_checkpoint_that_has_one_is_an_error(saved: Path) -> None:
    with pytest.raises(UsageError, match="leave out join"):
        Renderer.load(saved, join=JoinRule())


def test_a_folder_without_tokenizer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no tokenizer in"):
        Renderer.load(tmp_path)


def test_a_name_that_is_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="as a folder or on the hub"):
        Renderer.load(tmp_path / "no-such-model")


# -- reward models of others


def test_a_foreign_model_is_rendered_by_its_own_template(toy: Any, tiny_tokenizer_dir: Path) -> None:
    renderer = Renderer.load(tiny_tokenizer_dir)
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    ids = toy.apply_chat_template(messages, tokenize=True, return_dict=False)
    assert renderer.render("q", "a").ids == tuple(ids)
    assert renderer.overlong == "error"
    assert renderer.pad_id == toy.pad_token_id
    assert renderer.vocab_size == len(toy)


def test_a_foreign_model_without_template_needs_a_join_rule(minilm_dir: Path, tmp_path: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "config.json"):
        shutil.copy(minilm_dir / name, tmp_path)
    with pytest.raises(RenderError, match=r"no chat template, and no renderer.json .* pass join=JoinRule"):
        Renderer.load(tmp_path)
    rule = JoinRule(start="[CLS]", only="{text}", middle="[SEP]", response="{text}", end="[SEP]")
    assert Renderer.load(tmp_path, join=rule, overlong="truncate").render("", "").ids == (101, 102, 102)

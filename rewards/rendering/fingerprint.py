"""What ties weights to the text they were trained on: a hash of everything that decides about token ids.

The hash has parts, so that a mismatch can say what differs. Left out on purpose: padding, truncation, post-processor
and decoder (the renderer uses none of them), and settings that are null or false (a newer ``tokenizers`` may write more
of those for the same tokenizer).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from guerdon.rewards.errors import FingerprintError

PARTS = ("vocabulary", "merges", "added tokens", "normaliser", "pre-tokeniser", "chat template", "special tokens")
"""The parts that the fingerprint joins, in the order in which a mismatch names them."""

_OFFICES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def parts(tokenizer: Any, core: Mapping[str, Any], template: str) -> dict[str, str]:
    """A short hash of each part of a fast tokenizer with its chat template. core: its Rust core as read from JSON."""
    model = core["model"]
    added = sorted(core["added_tokens"], key=lambda token: int(token["id"]))
    values = (
        {key: value for key, value in model.items() if key not in ("merges", "dropout")},
        model.get("merges"),
        added,
        core["normalizer"],
        core["pre_tokenizer"],
        template,
        {office: getattr(tokenizer, office, None) for office in _OFFICES},
    )
    return {name: _hash(_canonical(value)) for name, value in zip(PARTS, values, strict=True)}


def join(hashes: Mapping[str, str]) -> str:
    """The one fingerprint of all parts."""
    return _hash([hashes[name] for name in PARTS])


def check_fingerprint(expected: Mapping[str, str], actual: Mapping[str, str]) -> None:
    """Raise FingerprintError if two descriptions of renderers (``Renderer.describe()``) are not of the same one.

    expected: as saved with the weights. Rules for over-long texts are not compared: they change no text that fits.
    """
    if expected.get("fingerprint") == actual.get("fingerprint"):
        return
    differing = [name for name in PARTS if expected.get(name) != actual.get(name)]
    verb = "differs" if len(differing) == 1 else "differ"
    what = f"the {' and the '.join(differing)} {verb}" if differing else "the saved description is damaged"
    raise FingerprintError(
        f"this checkpoint was trained with renderer {expected.get('fingerprint')}, the tokenizer given renders as "
        f"{actual.get('fingerprint')}: {what}; load it with the tokenizer files saved beside its weights"
    )


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _canonical(item) for key, item in value.items() if item is not None and item is not False}
    return [_canonical(item) for item in value] if isinstance(value, (list, tuple)) else value


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()[:16]

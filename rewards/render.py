"""The one path from text to token ids: training, evaluation and serving hold the same ``Renderer``.

A renderer is a tokenizer, a chat template and a rule for over-long texts, saved beside the weights with a fingerprint.
Its ids are those of ``tokenizer.apply_chat_template`` on the saved folder, so that other engines score the same ids;
they differ only where words in a message look like control tokens, which other engines obey and a renderer does not.

    renderer = Renderer.for_training(tokenizer, max_length=512)
    renderer.render("What is 6 times 7?", "42").ids
    renderer.save(folder)
    Renderer.load(folder)            # verifies the fingerprint
"""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from guerdon.rewards.errors import (
    CheckpointError,
    MissingExtraError,
    RenderError,
    TooLongError,
    UnknownNameError,
    UsageError,
)
from guerdon.rewards.rendering import fingerprint, templates
from guerdon.rewards.rendering.chat import Chat, Message, conversation
from guerdon.rewards.rendering.encoding import SafeEncoder, control_tokens
from guerdon.rewards.rendering.fingerprint import check_fingerprint
from guerdon.rewards.rendering.overlong import shorten, trim
from guerdon.rewards.rendering.padding import Pad, safe_pad
from guerdon.rewards.rendering.templates import DATE, JoinRule
from guerdon.rewards.types import Text

__all__ = ["DATE", "JoinRule", "Keep", "Overlong", "Rendered", "Renderer", "check_fingerprint"]

Overlong: TypeAlias = Literal["error", "drop", "truncate_prompt", "truncate"]
"""What happens to a text longer than ``max_length``: see ``Renderer.for_training``."""

Keep: TypeAlias = Literal["start", "end"] | None
"""Which end of ready-made text or ids stays if it is too long; None: neither, it is an error."""

FILE = "renderer.json"
_FORMAT = 1
_BATCH = 256
_UNLIMITED = 10**7  # transformers writes 1e30 for "not known"
_WINDOW = 32  # characters a token that are looked at when an absurdly long text is cut
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rendered:
    """Token ids of one prompt with one response, and how many tokens were cut to make them fit (0: none)."""

    ids: tuple[int, ...]
    cut: int = 0


class Renderer:
    """Messages to token ids, always the same way. Immutable, thread-safe and picklable.

    Made by ``for_training``, ``for_foreign`` or ``load``, never directly.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        max_length: int | None,
        overlong: Overlong,
        date: str | None,
        join: JoinRule | None,
        notes: Sequence[str] = (),
        needs_resize: bool = False,
    ) -> None:
        """tokenizer: fast, with the final template and pad token; nobody else may hold it from here on."""
        if overlong not in get_args(Overlong):
            raise UnknownNameError("rule for over-long texts", str(overlong), get_args(Overlong))
        if max_length is not None and (type(max_length) is not int or max_length < 1):
            raise UsageError(f"max_length must be a number of tokens >= 1, or None for no limit; got {max_length!r}")
        tokenizer.backend_tokenizer.no_padding()
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.encode_special_tokens = False
        self._tokenizer = tokenizer
        self._template: str = tokenizer.chat_template
        self.max_length, self.overlong, self.date, self.join = max_length, overlong, date, join
        self.notes = tuple(notes)
        self.needs_resize = needs_resize
        controls = control_tokens(tokenizer, templates.probes(tokenizer, self._template))
        core = json.loads(tokenizer.backend_tokenizer.to_str())
        self._encoder = SafeEncoder(tokenizer, core, controls, self._print)
        self._parts = fingerprint.parts(tokenizer, core, self._template)

    # -- making one ---------------------------------------------------------------------------------------------------

    @classmethod
    def for_training(
        cls,
        tokenizer: Any,
        *,
        max_length: int | None = None,
        overlong: Overlong = "error",
        join: JoinRule | None = None,
        date: str = DATE,
    ) -> Renderer:
        """A renderer for a model that is about to be trained; the tokenizer given is left as it is.

        tokenizer: any fast tokenizer of transformers. max_length: the most tokens that the model reads; None takes
        the tokenizer's ``model_max_length``, or no limit if it states none.
        overlong: ``error`` and ``drop`` raise TooLongError (under ``drop`` the caller leaves the sample out and counts
        it), ``truncate_prompt`` cuts the prompt from its left and never the response, ``truncate`` cuts the prompt down
        to about a quarter of max_length and then the response from its right. Closing tokens always stay.
        join: how plain text is joined; it replaces the tokenizer's template. None keeps the template, and takes
        ``JoinRule.for_tokenizer`` where there is none. date: the day printed by templates that print one.

        The template is completed where it must be (BOS, date), and the pad token is one that can never end a text; if
        ``needs_resize``, the model's embeddings need ``vocab_size`` rows.
        """
        own = _private_copy(tokenizer)
        template = _template_of(own)
        if join is None and template is None:
            join = JoinRule.for_tokenizer(own)
        return cls._finished(
            own, join.template() if join else str(template), join, date, max_length, overlong, pad=True
        )

    @classmethod
    def for_foreign(
        cls,
        tokenizer: Any,
        *,
        max_length: int | None = None,
        overlong: Overlong = "error",
        join: JoinRule | None = None,
        date: str = DATE,
    ) -> Renderer:
        """A renderer for a reward model that guerdon did not train: its own template, its own pad token.

        Without a template there is no telling what the model was trained on: RenderError asks for a JoinRule. A
        template without BOS gets one if the tokenizer puts BOS before plain text: such models are scored that way.
        """
        own = _private_copy(tokenizer)
        template = join.template() if join else _template_of(own)
        if template is None:
            raise RenderError(
                "this tokenizer has no chat template, and no renderer.json says how the model was trained; "
                "pass join=JoinRule(...) with the form of its training texts"
            )
        return cls._finished(own, template, join, date, max_length, overlong, pad=False)

    @classmethod
    def _finished(
        cls,
        own: Any,
        template: str,
        join: JoinRule | None,
        date: str,
        max_length: int | None,
        overlong: Overlong,
        *,
        pad: bool,
    ) -> Renderer:
        notes = []
        template, added = _with_one_bos(own, template)
        if added:
            notes.append(f"the template prints no BOS, so {own.bos_token} is put before it")
        template, dated = templates.freeze_date(template, date)
        if dated:
            notes.append(f"the template prints the date, which is fixed at {date}")
        if templates.hides_reasoning(own, template):
            notes.append("the template drops what a response says between <think> and </think>: it is not scored")
        own.chat_template = template
        choice: Pad | None = None
        if pad:
            choice = _set_pad(own, safe_pad(own, template))
            if choice.why:
                notes.append(f"pad token {choice.token} (id {choice.id}): {choice.why}")
        if max_length is None and own.model_max_length < _UNLIMITED:
            max_length = int(own.model_max_length)
        for note in notes:
            _log.info("renderer: %s", note)
        return cls(
            own,
            max_length=max_length,
            overlong=overlong,
            date=date if dated else None,
            join=join,
            notes=notes,
            needs_resize=choice is not None and choice.needs_resize,
        )

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        overlong: Overlong | None = None,
        max_length: int | None = None,
        join: JoinRule | None = None,
    ) -> Renderer:
        """The renderer saved in a checkpoint's folder or hub repository, verified against its fingerprint.

        overlong, max_length: other than saved; they change no text that fits. join: only for a checkpoint without
        ``renderer.json`` (not guerdon's), see ``for_foreign``. Raises FingerprintError if the files beside the weights
        do not render as in training, CheckpointError if there are none. Code from the repository is never run.
        """
        source = str(folder)
        tokenizer = _load_tokenizer(source)
        saved = _read_saved(source)
        if saved is None:
            return cls.for_foreign(tokenizer, max_length=max_length, overlong=overlong or "error", join=join)
        if join is not None:
            raise UsageError(f"{source} has its own join rule or template, fixed when it was trained; leave out join")
        # no template at all is a difference that the check below names
        tokenizer.chat_template = _template_of(tokenizer) or ""
        renderer = cls(
            tokenizer,
            max_length=saved["max_length"] if max_length is None else max_length,
            overlong=overlong or saved["overlong"],
            date=saved["date"],
            join=JoinRule(**saved["join"]) if saved["join"] else None,
            notes=saved["notes"],
        )
        check_fingerprint(saved["describe"], renderer.describe())
        return renderer

    def save(self, folder: str | Path) -> None:
        """Write the tokenizer with its template, and ``renderer.json``, into a folder (made if need be)."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        self._tokenizer.save_pretrained(path)
        _make_readable(path / "tokenizer_config.json")
        saved = {
            "format": _FORMAT,
            "max_length": self.max_length,
            "overlong": self.overlong,
            "date": self.date,
            "join": self.join.as_dict() if self.join else None,
            "notes": list(self.notes),
            "describe": self.describe(),
        }
        (path / FILE).write_text(json.dumps(saved, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides about the ids of a text that fits; equal fingerprints, equal ids."""
        return fingerprint.join(self._parts)

    def describe(self) -> dict[str, str]:
        """The fingerprint, the hash of each of its parts, and the rules in words."""
        return {
            "fingerprint": self.fingerprint,
            **self._parts,
            "max_length": str(self.max_length),
            "overlong": self.overlong,
            "date": self.date or "not printed",
        }

    @property
    def pad_id(self) -> int:
        """The id to pad with; for a renderer made for training it can never be part of a text."""
        for token_id in (self._tokenizer.pad_token_id, self._tokenizer.eos_token_id):
            if token_id is not None:
                return int(token_id)
        return 0

    @property
    def vocab_size(self) -> int:
        """How many rows the model's embeddings need at least."""
        return len(self._tokenizer)

    def tokenizer(self) -> Any:
        """A copy of the tokenizer, with template and pad token: what ``save`` writes."""
        return copy.deepcopy(self._tokenizer)

    def __repr__(self) -> str:
        return f"Renderer({self.fingerprint}, max_length={self.max_length}, overlong={self.overlong!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        options = (self.max_length, self.overlong, self.date, self.join, self.notes, self.needs_resize)
        return _rebuild, (self._tokenizer, *options)

    # -- rendering ----------------------------------------------------------------------------------------------------

    def render(self, prompt: Text, response: Text) -> Rendered:
        """The ids of a prompt with a response.

        A string is one message, of the user or of the assistant. A prompt that ends in an assistant message is a
        beginning that the response continues: the two become one message. Raises TooLongError if the text is too long
        and may not be cut, RenderError if it cannot be rendered (an image, broken Unicode, a role that the template
        refuses).
        """
        result = self.render_many([(prompt, response)])[0]
        if isinstance(result, RenderError):
            raise result
        return result

    def render_many(self, pairs: Sequence[tuple[Text, Text]]) -> list[Rendered | RenderError]:
        """``render`` of many (prompt, response), faster; an error takes the place of what could not be rendered."""
        results: list[Rendered | RenderError] = []
        for start in range(0, len(pairs), _BATCH):
            results += self._render_batch(pairs[start : start + _BATCH])
        return results

    def encode_text(self, text: str, *, special_tokens: bool, keep: Keep = None) -> Rendered:
        """The ids of a conversation that somebody has already put through a template.

        Control tokens in the text are control tokens here: only the caller can know which of them a policy wrote.
        special_tokens: whether the tokenizer adds its own around the text (BOS, [CLS] … [SEP]), as engines do for
        plain ``input``. keep: which end of a text that is too long stays; None raises TooLongError. Raises RenderError
        for broken Unicode or a text without a single token.
        """
        ids = self._encoder.encode_text(text, special_tokens=special_tokens, limit=None if keep else self.max_length)
        return self.take_ids(ids, keep)

    def take_ids(self, ids: Sequence[int], keep: Keep = None) -> Rendered:
        """Ids made elsewhere, held to this renderer's limit. Raises RenderError for ids that no model has."""
        count, limit = len(ids), self.max_length
        if not count:
            raise RenderError("there is not a single token to score")
        if min(ids) < 0 or max(ids) >= self.vocab_size:
            raise RenderError(f"token ids must be from 0 to {self.vocab_size - 1}; got {min(ids)} to {max(ids)}")
        if limit is None or count <= limit:
            return Rendered(tuple(ids))
        if keep is None:
            raise self._too_long(f"{count} tokens")
        return Rendered(tuple(ids[:limit] if keep == "start" else ids[-limit:]), count - limit)

    def _render_batch(self, pairs: Sequence[tuple[Text, Text]]) -> list[Rendered | RenderError]:
        results: dict[int, Rendered | RenderError] = {}
        chats: dict[int, Chat] = {}
        for index, (prompt, response) in enumerate(pairs):
            try:
                chats[index] = conversation(prompt, response)
            except RenderError as error:
                results[index] = error
        encoded = self._encoder.encode([chat.messages for chat in chats.values()], limit=self.max_length)
        for (index, chat), ids in zip(chats.items(), encoded, strict=True):
            try:
                results[index] = self._fitted(chat, ids)
            except RenderError as error:
                results[index] = error
        return [results[index] for index in range(len(pairs))]

    def _fitted(self, chat: Chat, ids: list[int] | RenderError) -> Rendered:
        limit = self.max_length
        if isinstance(ids, list):
            if limit is None or len(ids) <= limit:
                return Rendered(tuple(ids))
        elif not isinstance(ids, TooLongError):
            raise ids
        assert limit is not None  # without a limit nothing is too long
        size = f"{len(ids)} tokens" if isinstance(ids, list) else str(ids)
        if self.overlong in ("error", "drop"):
            raise self._too_long(size)
        cut_response = self.overlong == "truncate"
        full = len(ids) if isinstance(ids, list) else self._encoder.count(chat.messages)
        if isinstance(ids, TooLongError):
            chat = trim(chat, _WINDOW * limit, limit, cut_response=cut_response)
            ids = self._encode_one(chat.messages)
        kept = shorten(
            chat,
            ids,
            limit,
            floor=limit // 4 if cut_response else 0,
            cut_response=cut_response,
            encode=self._encode_one,
            spans=self._encoder.spans,
        )
        if len(kept) > limit:
            raise self._too_long(f"{size}, {len(kept)} of them in parts that overlong={self.overlong!r} never cuts,")
        return Rendered(tuple(kept), full - len(kept))

    def _encode_one(self, messages: list[Message]) -> list[int]:
        ids = self._encoder.encode([messages], limit=self.max_length)[0]
        if isinstance(ids, TooLongError):
            raise self._too_long(f"{ids} in parts that overlong={self.overlong!r} never cuts")
        if isinstance(ids, RenderError):
            raise ids
        return ids

    def _too_long(self, size: str) -> TooLongError:
        return TooLongError(
            f"the rendered text has {size} and this renderer reads at most {self.max_length}; shorten it, or use a "
            "renderer with overlong='drop' (left out and counted), 'truncate_prompt' (prompt cut from its left) or "
            "'truncate' (prompt first, then the response)"
        )

    def _print(self, messages: list[Message]) -> str:
        return templates.apply(self._tokenizer, self._template, messages)


def _rebuild(
    tokenizer: Any,
    max_length: int | None,
    overlong: Overlong,
    date: str | None,
    join: JoinRule | None,
    notes: tuple[str, ...],
    needs_resize: bool,
) -> Renderer:
    return Renderer(
        tokenizer,
        max_length=max_length,
        overlong=overlong,
        date=date,
        join=join,
        notes=notes,
        needs_resize=needs_resize,
    )


def _private_copy(tokenizer: Any) -> Any:
    """A copy that nobody else can change; raises RenderError if it is no fast tokenizer."""
    if not getattr(tokenizer, "is_fast", False):
        raise RenderError(
            f"a fast tokenizer is needed (one with tokenizer.json), got {type(tokenizer).__name__}; "
            "load it with AutoTokenizer.from_pretrained(..., use_fast=True)"
        )
    return copy.deepcopy(tokenizer)


def _template_of(tokenizer: Any) -> str | None:
    """The tokenizer's chat template, the default one of several; None if it has none."""
    template = tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("default")
    return template or None


def _with_one_bos(tokenizer: Any, template: str) -> tuple[str, bool]:
    """The template with exactly one BOS at its start where the model expects one, and whether that changed it.

    The model expects one if the tokenizer puts it before plain text.
    """
    bos = tokenizer.bos_token
    if not bos:
        return template, False
    printed = templates.probes(tokenizer, template)
    if any(text.startswith(bos + bos) for text in printed):
        raise RenderError(f"the chat template prints {bos} twice at the start; remove one from tokenizer.chat_template")
    if any(text.startswith(bos) for text in printed):
        return template, False
    if tokenizer("a")["input_ids"][:1] != [tokenizer.bos_token_id]:
        return template, False
    return templates.begin_with_bos(template), True


def _set_pad(tokenizer: Any, pad: Pad) -> Pad:
    if pad.needs_resize:
        tokenizer.add_special_tokens({"pad_token": pad.token})
    else:
        tokenizer.pad_token = pad.token
    return replace(pad, id=int(tokenizer.pad_token_id))


def _make_readable(config: Path) -> None:
    """Rewrite what transformers 5 names anew to names that transformers 4 (so vLLM, SGLang) and 5 both read."""
    settings = json.loads(config.read_text(encoding="utf-8"))
    if settings.get("tokenizer_class") == "TokenizersBackend":
        settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    if isinstance(settings.get("extra_special_tokens"), list):
        settings["additional_special_tokens"] = settings.pop("extra_special_tokens")
    config.write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _load_tokenizer(source: str) -> Any:
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise MissingExtraError("the renderer", "rm") from error
    try:
        return AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"no tokenizer in {source!r}, as a folder or on the hub: {error}") from error


def _read_saved(source: str) -> dict[str, Any] | None:
    """``renderer.json`` of a folder or hub repository; None where there is none."""
    path = Path(source) / FILE
    if not Path(source).is_dir():
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError

        try:
            path = Path(hf_hub_download(source, FILE))
        except EntryNotFoundError:
            return None
    if not path.exists():
        return None
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        if saved["format"] != _FORMAT:
            raise CheckpointError(
                f"{path} has format {saved['format']!r}, this guerdon reads {_FORMAT}; update guerdon"
            )
        missing = {"max_length", "overlong", "date", "join", "notes", "describe"} - set(saved)
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path} is damaged ({type(error).__name__}: {error}); save the checkpoint again"
        ) from error
    if missing:
        raise CheckpointError(f"{path} is damaged: it lacks {', '.join(sorted(missing))}; save the checkpoint again")
    return dict(saved)

"""Token ids in which only the template speaks with control tokens.

A chat template prints its turn markers as text, and the tokenizer then reads them back. So a response that holds the
characters ``<|im_end|>`` would close its own turn. Here it cannot: control tokens found in messages are hidden behind
private-use characters while the template runs, and what the messages said is tokenised as plain text afterwards.

Two paths lead to the same ids. Conversations without control tokens (nearly all) go through the tokenizer as one
text; the others are parted at the template's control tokens and tokenised piece by piece.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any

from guerdon.rewards.errors import RenderError, TooLongError

_PRIVATE_USE = (range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE), range(0xE000, 0xF900))
# Unicode's White_Space, as in Rust's regular expressions; Python's own takes U+001C to U+001F for white space too
_WHITE_SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_STRETCH = 32_768  # characters
_ABSURD = 64  # characters a token: beyond any prose or code
_MARKER = re.compile(r"[<\[{(⟨].*\w.*[>\])}⟩]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Control:
    """A token by which a template steers the model, and how the tokenizer finds it in text."""

    text: str
    id: int
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


def control_tokens(tokenizer: Any, printed: Iterable[str]) -> list[Control]:
    """The control tokens of a tokenizer, in the order of their ids. printed: what its template prints (``probes``).

    They are: every token flagged special, every token with an office (bos, eos, pad, …), and unflagged added tokens
    that the template prints to mark turns (DeepSeek's ``<｜User｜>``). Not among them: unflagged tokens that come in a
    pair of an opening and a closing tag (``<think>``, ``</think>``), which belong to what a model says.
    """
    added = dict(tokenizer.added_tokens_decoder)
    contents = {token.content for token in added.values()}
    shown = "\0".join(printed)

    def marks_turns(text: str) -> bool:
        tag = text.removeprefix("</").removeprefix("<")
        paired = {f"<{tag}", f"</{tag}"} <= contents
        return not paired and bool(_MARKER.fullmatch(text)) and text in shown

    offices = set(tokenizer.all_special_tokens)
    found = [
        Control(token.content, token_id, token.lstrip, token.rstrip, token.single_word, token.normalized)
        for token_id, token in sorted(added.items())
        if token.content.strip() and (token.special or token.content in offices or marks_turns(token.content))
    ]
    # a special token may be an entry of the vocabulary that was never added
    rest = sorted(offices - {control.text for control in found})
    return found + [Control(text, tokenizer.convert_tokens_to_ids(text)) for text in rest if text.strip()]


class SafeEncoder:
    """Renders messages with a template and tokenises them so that their words never become control tokens.

    Its Rust cores are private, set once and only read afterwards: it is thread-safe, and no caller's padding or
    truncation leaks in.
    """

    def __init__(
        self, tokenizer: Any, core: dict[str, Any], controls: Sequence[Control], template: Callable[[Any], str]
    ) -> None:
        """tokenizer: with no padding, no truncation, and no other user. core: its Rust core as read from JSON."""
        from tokenizers import Tokenizer

        self._controls = {control.text: control for control in controls}
        self._find = re.compile(_trie(self._controls))
        self._template = template

        flagged = [
            {**token, "special": token["special"] or token["content"] in self._controls}
            for token in core["added_tokens"]
        ]
        deaf = {**core, "added_tokens": flagged}  # to control tokens, with the setting below
        self._whole = tokenizer.backend_tokenizer
        self._first = self._later = Tokenizer.from_str(json.dumps(deaf))
        if (elsewhere := _never_prepend(deaf)) != deaf:  # SentencePiece's leading space is for the very first piece
            self._later = Tokenizer.from_str(json.dumps(elsewhere))
        self._first.encode_special_tokens = self._later.encode_special_tokens = True

        normalizer = self._whole.normalizer
        self._normalize = normalizer.normalize_str if normalizer and any(c.normalized for c in controls) else None
        self._normalized = re.compile(
            _trie(normalizer.normalize_str(c.text) for c in controls if c.normalized) if self._normalize else "(?!)"
        )
        # unknown text may become UNK: that is no control
        unknown = self._whole.token_to_id(str(core["model"].get("unk_token") or ""))
        if unknown is None:
            unknown = core["model"].get("unk_id")
        self._forbidden = frozenset(control.id for control in controls) - {unknown}
        # some models (Unigram) spell their control tokens from plain text; then nothing may go the short way
        self._spells = any(
            self._forbidden.intersection(self._first.encode(text, add_special_tokens=False).ids)
            for text in self._controls
        )

    def encode(
        self, conversations: Sequence[list[dict[str, Any]]], *, limit: int | None = None
    ) -> list[list[int] | RenderError]:
        """The ids of each conversation, or the error why it has none (the template refuses it, broken Unicode).

        limit: a text that is absurdly longer than this many tokens is a TooLongError, told by its beginning, so that
        megabytes are not tokenised only to be refused.
        """
        results: list[list[int] | RenderError | None] = [None] * len(conversations)
        plain: list[tuple[int, str]] = []
        for index, messages in enumerate(conversations):
            try:
                _check_unicode(messages)
                if self._spells or any(map(self._speaks_control, _strings(messages))):
                    results[index] = self._encode_apart(messages, limit)
                else:
                    plain.append((index, self._bounded(self._template(messages), limit)))
            except RenderError as error:
                results[index] = error
        encodings = self._whole.encode_batch_fast([text for _, text in plain], add_special_tokens=False)
        for (index, _), encoding in zip(plain, encodings, strict=True):
            results[index] = encoding.ids
        return results  # type: ignore[return-value]  # every index was filled above

    def encode_text(self, text: str, *, special_tokens: bool, limit: int | None = None) -> list[int]:
        """The ids of a text that is already templated; what looks like a control token in it is one."""
        _check_unicode([{"content": text}])
        ids: list[int] = self._whole.encode(self._bounded(text, limit), add_special_tokens=special_tokens).ids
        return ids

    def count(self, messages: list[dict[str, Any]]) -> int:
        """How many tokens a conversation has, however long it is: exact but for the edges of its stretches."""
        n_tokens = 0
        for text, control, _ in self._pieces(messages, None):
            n_tokens += sum(self._sizes(self._later, text)) + (control is not None)
        return n_tokens

    def _sizes(self, core: Any, text: str) -> Iterator[int]:
        """The number of tokens of each stretch of ``_STRETCH`` characters; memory stays bounded."""
        for start in range(0, len(text), _STRETCH):
            yield len(core.encode(text[start : start + _STRETCH], add_special_tokens=False).ids)

    def _bounded(self, text: str, limit: int | None) -> str:
        if limit is None or len(text) <= _ABSURD * limit + _STRETCH:
            return text
        # a stretch's edge may cost or save a few tokens, never three quarters of them
        if any(size > 4 * limit for size in accumulate(self._sizes(self._whole, text))):
            raise TooLongError(f"more than {4 * limit} tokens")
        return text

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where each token of a plain text begins and ends, in characters."""
        return list(self._first.encode(text, add_special_tokens=False).offsets)

    def _speaks_control(self, string: str) -> bool:
        if self._find.search(string):
            return True
        return bool(self._normalize and self._normalized.search(self._normalize(string)))

    def _encode_apart(self, messages: list[dict[str, Any]], limit: int | None) -> list[int]:
        ids: list[int] = []
        for text, control, start in self._pieces(messages, limit):
            ids += self._encode_plain(text, first=start == 0)
            if control:
                ids.append(control.id)
        return ids

    def _pieces(self, messages: list[dict[str, Any]], limit: int | None) -> Iterator[tuple[str, Control | None, int]]:
        """(plain text, the template's control token after it, where the text starts); no token after the last text."""
        strings = list(_strings(messages))
        spoken = sorted({match.group() for string in strings for match in self._find.finditer(string)})
        hidden = dict(zip(spoken, _unused_characters(strings, len(spoken)), strict=True))
        unhide = str.maketrans({character: token for token, character in hidden.items()})
        masked = _map_strings(messages, lambda string: self._find.sub(lambda match: hidden[match.group()], string))
        printed = self._template(masked)
        self._bounded(printed.translate(unhide), limit)

        start, eats = 0, False
        for match in self._find.finditer(printed):
            control = self._controls[match.group()]
            if control.single_word and _within_word(printed, match.span()):
                continue
            text = printed[start : match.start()]
            text = text.lstrip(_WHITE_SPACE) if eats else text
            text = text.rstrip(_WHITE_SPACE) if control.lstrip else text
            yield text.translate(unhide), control, start
            start, eats = match.end(), control.rstrip
        text = printed[start:]
        yield (text.lstrip(_WHITE_SPACE) if eats else text).translate(unhide), None, start

    def _encode_plain(self, text: str, *, first: bool) -> list[int]:
        """Ids of plain text; where the model would still spell a control token, its letters are tokenised apart."""
        if not text:
            return []
        encoding = (self._first if first else self._later).encode(text, add_special_tokens=False)
        whole: list[int] = encoding.ids
        if self._forbidden.isdisjoint(whole):
            return whole
        spelled = [span for token, span in zip(whole, encoding.offsets, strict=True) if token in self._forbidden]
        ids: list[int] = []
        done = 0
        for start, end in [*spelled, (len(text), len(text))]:
            if gap := text[done:start]:
                core = self._first if first and done == 0 else self._later
                between: list[int] = core.encode(gap, add_special_tokens=False).ids
                ids += between if self._forbidden.isdisjoint(between) else self._letters(gap)
            ids += self._letters(text[start:end])
            done = end
        return ids

    def _letters(self, text: str) -> list[int]:
        encodings = self._later.encode_batch_fast(list(text), add_special_tokens=False)
        ids = [token for encoding in encodings for token in encoding.ids]
        if not self._forbidden.isdisjoint(ids):
            raise RenderError(
                f"the tokenizer can spell {text[:40]!r} only with a control token; remove it from the text"
            )
        return ids


def _trie(strings: Iterable[str]) -> str:
    """A regular expression for the longest of the strings at a place; linear, however many there are."""
    root: dict[str, Any] = {}
    for string in strings:
        node = root
        for character in string:
            node = node.setdefault(character, {})
        node[""] = {}
    return _pattern(root) or "(?!)"


def _pattern(node: dict[str, Any]) -> str:
    branches = [re.escape(character) + _pattern(child) for character, child in node.items() if character]
    if not branches:
        return ""
    if len(branches) == 1 and "" not in node:
        return branches[0]
    return f"(?:{'|'.join(branches)}){'?' if '' in node else ''}"


def _never_prepend(core: Any) -> Any:
    """The tokenizer's settings with a Metaspace that prepends to the first piece changed to prepend to none."""
    if isinstance(core, dict):
        if core.get("type") == "Metaspace" and core.get("prepend_scheme") == "first":
            return {**core, "prepend_scheme": "never"}
        return {
            key: value if key in ("model", "added_tokens") else _never_prepend(value) for key, value in core.items()
        }
    return [_never_prepend(item) for item in core] if isinstance(core, list) else core


def _strings(value: Any) -> Iterator[str]:
    """Every string in messages, keys of mappings included: templates print tool calls as JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _strings(key)
            yield from _strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item)


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {_map_strings(key, change): _map_strings(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_map_strings(item, change) for item in value]
    return value


def _check_unicode(messages: Any) -> None:
    for string in _strings(messages):
        try:
            string.isascii() or string.encode()
        except UnicodeEncodeError as error:
            raise RenderError(
                f"character {error.start} of a message is the lone surrogate U+{ord(string[error.start]):04X}, "
                "which is no text; decode the source as UTF-8 with errors='replace'"
            ) from None


def _unused_characters(strings: Sequence[str], n: int) -> list[str]:
    """n private-use characters that none of the strings holds."""
    used = set().union(*strings) if n else set()
    free = list(islice((c for block in _PRIVATE_USE for c in map(chr, block) if c not in used), n))
    if len(free) < n:
        raise RenderError("the messages use every private-use character of Unicode; remove some of them")
    return free


def _within_word(text: str, span: tuple[int, int]) -> bool:
    neighbours = text[max(span[0] - 1, 0) : span[0]] + text[span[1] : span[1] + 1]
    return bool(re.search(r"\w", neighbours))

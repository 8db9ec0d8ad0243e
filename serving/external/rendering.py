"""A sample as exactly the ids of its training, or as a text that an engine's tokenizer turns into exactly them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.rewards.errors import CheckpointError, MissingExtraError, RenderError, UsageError
from guerdon.rewards.types import Sample, Score

if TYPE_CHECKING:
    from guerdon.rewards.render import Rendered, Renderer


def load(renderer: str | Path | Renderer) -> Renderer:
    """A renderer from the folder it was saved in, or as it is."""
    from guerdon.rewards.render import Renderer

    return renderer if isinstance(renderer, Renderer) else Renderer.load(renderer)


def load_tokenizer(source: str) -> Any:
    """A tokenizer from a folder or hub id."""
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise MissingExtraError("a tokenizer", "rm") from error
    try:
        return AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"no tokenizer in {source!r}, as a folder or on the hub: {error}") from error


def rendered(renderer: Renderer, samples: Sequence[Sample]) -> Iterator[Rendered | Score]:
    """The ids of each sample, or why there are none."""
    for result in renderer.render_many([(sample.prompt, sample.response) for sample in samples]):
        yield Score.unscored(str(result), status="refused") if isinstance(result, RenderError) else result


def details(ids: Rendered) -> dict[str, int]:
    return {"tokens": len(ids.ids), "cut": ids.cut}


class ExactText:
    """Ids as the text that becomes them again, for engines that take only text and add their own special tokens.

    Decoding may lose something (spaces, words that look like control tokens), so each text is tokenised once more, the
    way the engine will do it, and is good only if the ids are the same. The engine must have this tokenizer.
    """

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self._tokenizer: Any = renderer.tokenizer()
        bare = renderer.encode_text("a", special_tokens=False).ids
        whole = renderer.encode_text("a", special_tokens=True).ids
        starts = [i for i in range(len(whole)) if whole[i : i + len(bare)] == bare]
        if not starts:
            raise UsageError(f"{renderer!r}: its tokenizer changes a text when it adds special tokens; use ids")
        # What the tokenizer puts around every text: [CLS] and [SEP], BOS, or nothing.
        self._before, self._after = whole[: starts[0]], whole[starts[0] + len(bare) :]

    def text(self, ids: tuple[int, ...]) -> str | None:
        """The text; None where there is no text that becomes these ids."""
        start, end = len(self._before), len(ids) - len(self._after)
        if ids[:start] != self._before or ids[end:] != self._after or end <= start:
            return None
        text: str = self._tokenizer.decode(
            ids[start:end], skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        try:
            again = self._renderer.encode_text(text, special_tokens=True).ids
        except RenderError:
            return None
        return text if again == ids else None

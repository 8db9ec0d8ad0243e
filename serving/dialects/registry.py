"""The dialects there are, in the order in which they are asked whether a body is theirs; the last takes the rest."""

from __future__ import annotations

from typing import cast

from guerdon.serving.dialects import Dialect, infinity, native, nemo_gym, openrlhf, sglang, slime, tei, vllm

DIALECTS: tuple[Dialect, ...] = tuple(
    cast("Dialect", module) for module in (sglang, tei, infinity, vllm, openrlhf, slime, nemo_gym, native)
)

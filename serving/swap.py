"""New weights for a scorer that serves, without a request lost or answered by two versions.

    source (a folder below one of swap_dirs) -> loaded beside the old model, in a thread -> its golden scores reproduced
    -> warmed up -> the lane takes it for all new requests; the old one goes when its last request is answered

Whatever goes wrong on the way, the old model has served all the while and goes on. A source names a reward model and,
behind ``@``, what was measured of it, each of them a file or folder below ``swap_dirs``: never code, never another
server, never pickled weights.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.rewards import Sample, Scorer
from guerdon.rewards.errors import GuerdonError, UnknownNameError, UsageError
from guerdon.serving.config import ScorerSpec, ServeConfig
from guerdon.serving.engine import Engine
from guerdon.serving.specs import load_model

logger = logging.getLogger("guerdon.serving")

# Two lengths of one prompt, so that kernels of both, and of a shared prompt, have run before the first request.
_WARM_UP = (Sample("Is it warm?", "Yes."), Sample("Is it warm?", "Not yet, but it will be. " * 20))


class ForbiddenError(GuerdonError, PermissionError):
    """A source from outside the folders that an administrator may load from."""


class SwapError(GuerdonError, RuntimeError):
    """A model that could not be made to serve; the one before it still does. The message says why."""


class Swapper:
    """Swaps for the lanes of one engine; those of one scorer go one after the other."""

    def __init__(self, engine: Engine, config: ServeConfig) -> None:
        self._engine, self._config = engine, config
        self._turns = {name: asyncio.Lock() for name in engine.lanes}
        self.loading: set[str] = set()

    async def swap(self, name: str, source: str) -> dict[str, Any]:
        """Serve the reward model at ``source`` under this name from now on; gives what has changed.

        Raises UnknownNameError for a scorer that is not served, ForbiddenError, and SwapError if the model cannot be
        loaded, does not reproduce its golden scores, cannot score, or has another scale than the one before.
        """
        lane = self._engine.lanes.get(name)
        if lane is None:
            raise UnknownNameError("scorer", name[:100], self._engine.lanes)
        folder, records = self._allowed(source)
        async with self._turns[name]:
            start, before = time.monotonic(), lane.version
            self.loading.add(name)
            try:
                spec = self._config.scorers.get(name)
                options = {} if spec is None else spec.options
                scorer = await asyncio.to_thread(_loaded, folder, records, options)
                lane.swap(scorer, source=ScorerSpec(source, options))
            except Exception as error:  # torch and transformers raise all kinds of things about a bad folder
                known = isinstance(error, GuerdonError)
                logger.warning("scorer %r still serves %s: %s", name, before, error, exc_info=not known)
                why = str(error) if known else f"{type(error).__name__}: {error}"
                raise SwapError(f"scorer {name!r} still serves {before}: {why:.500}") from error
            finally:
                self.loading.discard(name)
            seconds = time.monotonic() - start
            logger.warning("scorer %r serves %s after %s, loaded in %.1f s", name, lane.version, before, seconds)
            return {
                "scorer": name,
                "version": lane.version,
                "before": before,
                "generation": lane.current.number,
                "golden": lane.current.provenance.get("golden", 0),
                "seconds": round(seconds, 3),
            }

    def _allowed(self, source: str) -> tuple[str, Sequence[str]]:
        """The folder and the files of calibration that a source names, as real paths."""
        roots = [os.path.realpath(folder) for folder in self._config.swap_dirs]
        # Links are resolved on both sides first: a link out of the folder is a way out of it.
        paths = [] if "\0" in source else [os.path.realpath(part) for part in source.split("@")]
        if not paths or not all(any(Path(path).is_relative_to(root) for root in roots) for path in paths):
            raise ForbiddenError(f"source {source!r:.200} is not below one of this server's swap_dirs")
        return paths[0], paths[1:]


def _loaded(folder: str, records: Sequence[str], options: Mapping[str, Any]) -> Scorer:
    """The model, ready to serve, with the options of the one before. Runs in a thread."""
    if not Path(folder).is_dir():
        raise UsageError(f"no folder at {folder!r}")
    scorer = load_model(folder, **options)
    if records:
        from guerdon.calibration.wrap import wrapped

        for file in records:
            scorer = wrapped(scorer, Path(file))
    for score in scorer.score(_WARM_UP):
        if score.status == "error":
            raise UsageError(f"it cannot score: {score.reason}")
    return scorer

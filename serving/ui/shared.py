"""What all tabs work on, and how their handlers meet Gradio."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guerdon.rewards.errors import GuerdonError
from guerdon.serving.ui import text
from guerdon.serving.ui.bench import Bench
from guerdon.serving.ui.source import Source

if TYPE_CHECKING:
    from guerdon.serving.metrics import Metrics
    from guerdon.serving.ui.auditing import Desk

logger = logging.getLogger("guerdon.serving")


@dataclass(frozen=True, slots=True)
class Shared:
    """desk: None where no store holds anything to audit. metrics: None without a running server."""

    source: Source
    bench: Bench
    desk: Desk | None
    metrics: Metrics | None


def said(handler: Callable[..., str]) -> Callable[..., str]:
    """A handler that gives HTML; what guerdon raises on purpose becomes a notice, a fault goes to the log as well."""

    @functools.wraps(handler)
    def told(*arguments: Any) -> str:
        try:
            return handler(*arguments)
        except GuerdonError as error:
            return text.notice("That does not work.", str(error), kind="error")
        except Exception:
            logger.exception("the UI's handler %s failed", handler.__name__)
            return text.notice("The server made a mistake.", "Its log says which.", kind="error")

    return told


QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
"""For events: no spinner over what is read, and no name in the API."""

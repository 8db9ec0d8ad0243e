"""One made-up task: a prompt, an answer that is right, and answers that are wrong, each with its kind of error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Padding = Literal["anywhere", "after", "never"]
"""Where the right answer may take a sentence that says nothing: in front or behind, only behind, or nowhere."""


@dataclass(frozen=True, slots=True)
class Task:
    """A prompt with one right response and several wrong ones.

    category: ``arithmetic`` or ``instruction``; kind: the maker's name. wrong: kind of error -> response.
    reference: what the right response holds: the number, the word, or the items joined by commas; empty if it is prose.
    """

    category: str
    kind: str
    prompt: str
    right: str
    wrong: Mapping[str, str]
    reference: str
    padding: Padding = "anywhere"

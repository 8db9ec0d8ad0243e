"""How a score was made, told at three places, each thing where it is cheap to keep.

    once a version     weights, renderer, calibrators, dtype, device, ``scores`` mode: ``about``, in ``GET /v1/scorers``
    once a score       hash and number of its token ids, tokens cut, batch, computed or repeated: ``of_score``, in the
                       answer when a request asks for it and in every row of the store
    once a request     its id, in the header ``X-Request-Id``

A scorer says the first itself, by a method ``provenance()`` that gives a mapping; one without it (a verifier, code of
the user's own) is told by its name and version, which every scorer has.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from guerdon import __version__
from guerdon.rewards.scorer import BatchScorer
from guerdon.serving.specs import is_data

if TYPE_CHECKING:
    from guerdon.rewards import Score, Scorer
    from guerdon.serving.config import ScorerSpec
    from guerdon.serving.jobs import Origin

_LIBRARIES = ("torch", "transformers", "tokenizers")


def about(scorer: Scorer, scores: str, source: ScorerSpec | None = None) -> dict[str, Any]:
    """What the scores of this scorer have in common, as plain JSON values.

    scores: ``fast`` or ``exact``. source: what it was loaded by; its options are told of verifiers and models only,
    since those of other code and other servers may hold keys.
    """
    own = getattr(scorer, "provenance", None)
    known: dict[str, Any] = {"scorer": scorer.name, "version": scorer.version, "guerdon": __version__}
    if isinstance(scorer, BatchScorer):
        known["scores"] = scores
        # Only what is loaded already: a user's model need not be of torch.
        known |= {name: getattr(sys.modules[name], "__version__", "") for name in _LIBRARIES if name in sys.modules}
    if source is not None and source.options and is_data(source.spec):
        known["options"] = dict(source.options)
    return {**known, **(own() if callable(own) else {})}


def of_score(origin: Origin | None, score: Score) -> dict[str, Any] | None:
    """Where one score comes from; None for a sample that reached no batch.

    input: BLAKE2b with 128 bits over the token ids as 64-bit integers, lowest byte first; for a scorer without ids over
    all that it may read of the sample; None for a member of a group. cut: tokens removed so that it fits, None unknown.
    """
    if origin is None:
        return None
    return {
        "input": None if origin.input is None else origin.input.hex(),
        "tokens": origin.tokens,
        "cut": cut_of(score),
        "batch": origin.batch,
        "batch_size": origin.size,
        "how": origin.how,
    }


def cut_of(score: Score) -> int | None:
    """How many tokens were removed from the sample so that the model could read it; None if the scorer counts none."""
    cut = score.details.get("cut")
    return cut if type(cut) is int else None


def truncated(score: Score) -> bool:
    """Whether the scorer read less than it was given."""
    return bool(cut_of(score))

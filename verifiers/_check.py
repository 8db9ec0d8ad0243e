"""What every verifier must do, as a function that anyone can call on one: its examples hold and it keeps the laws.

An entry of ``EXAMPLES`` is ``(response, reference, expected)`` or ``(response, reference, expected, more)``. expected
is the score's value, None for unscored; more holds further keyword arguments of ``verify``: options, prompt or meta.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.rewards.contract import check_scorer
from guerdon.rewards.errors import ContractError
from guerdon.rewards.types import Sample
from guerdon.verifiers._scorer import FROM_THE_SAMPLE, Verifier, verifier_module


def check_verifier(name: str) -> None:
    """Check a verifier, ours or a third party's, and raise ContractError listing what is broken.

    It must say what it is (docstrings), show at least one response that it accepts and one that it rejects, score all
    its examples as expected, and keep every law of scorers (``check_scorer``), exactly.
    """
    module = verifier_module(name)
    examples: Sequence[tuple[Any, ...]] = getattr(module, "EXAMPLES", ())
    broken = []
    if not (module.__doc__ and module.verify.__doc__):
        broken.append("the module and its verify need docstrings")
    if len({expected for _, _, expected, *_ in examples} - {None}) < 2:
        broken.append("EXAMPLES must hold a response that is accepted and one that is rejected")
    judged = [_scorer_and_sample(name, example) for example in examples]
    for example, (scorer, sample) in zip(examples, judged, strict=True):
        score = scorer.score([sample])[0]
        if score.value != example[2]:
            broken.append(f"example {example!r:.200} scored {score.value} ({score.reason})")
    if broken:
        raise ContractError(f"verifier {name!r}:\n" + "\n".join(f"  {line}" for line in broken))
    check_scorer(judged[0][0], [sample for _, sample in judged], tolerance=0)


def _scorer_and_sample(name: str, example: Sequence[Any]) -> tuple[Verifier, Sample]:
    response, reference, _, *rest = example
    more = dict(rest[0]) if rest else {}
    given = {key: more.pop(key) for key in FROM_THE_SAMPLE if key in more}
    sample = Sample(given.get("prompt", ""), response, reference, meta=given.get("meta", {}))
    return Verifier(name, more), sample

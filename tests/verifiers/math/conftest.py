"""What the tests of typed comparison share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from guerdon.verifiers._math.compare import compare
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.policies import policy_of


@pytest.fixture(scope="session")
def same() -> Callable[..., bool | None]:
    """Whether two answers are equal under a policy (its options by name), having asked both ways round."""

    def ask(answer: str, reference: str, **options: Any) -> bool | None:
        policy = policy_of(**options)
        a, b = parse(answer), parse(reference)
        there, back = compare(a, b, policy), compare(b, a, policy)
        if options.get("rounding") != "reference" and "several" not in options:
            assert there.equal == back.equal, f"{answer} | {reference}: {there} but {back}"
        return there.equal

    return ask

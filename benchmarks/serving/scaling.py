"""How a step's rollouts spread over many replicas, by three ways to route them. A simulation, and no more than that.

    python benchmarks/serving/scaling.py

Assumed: a step is 512 groups of 8 responses that arrive in random order (512 x 8 samples of 300 prompt tokens and a
log-normal response, median 128, sigma 0.6); a replica computes tokens at one speed, and the prompt of a group once if
all of it that the replica has comes close together, which is what shared prompts do; routing, network and HTTP cost
nothing; a request is counted against its replica until the end of the step, as in a burst.

Printed: tokens computed in all, relative to every prompt computed once; and the speed-up over one replica that has all
groups whole, which is the sum of its tokens over those of the busiest of n replicas.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from guerdon.serving.affinity import ranked

GROUPS, K, PROMPT = 512, 8, 300
Route = Callable[[bytes, dict[str, int]], str]


def simulated(route: Route, n: int, seed: int) -> tuple[float, float]:
    draw = random.Random(seed)
    names = [f"replica-{i}-{seed}" for i in range(n)]
    tokens, requests = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    seen: set[tuple[bytes, str]] = set()
    samples = []
    for _ in range(GROUPS):
        key = draw.randbytes(8)
        samples += [(key, max(1, round(math.exp(draw.gauss(math.log(128), 0.6))))) for _ in range(K)]
    ideal = GROUPS * PROMPT + sum(length for _, length in samples)
    draw.shuffle(samples)
    for key, length in samples:
        name = route(key, requests)
        requests[name] += 1
        tokens[name] += length + (0 if (key, name) in seen else PROMPT)
        seen.add((key, name))
    return sum(tokens.values()) / ideal, ideal / max(tokens.values())


def two_choices(draw: random.Random) -> Route:
    """The less busy of two at random: Ray's own way."""

    def route(key: bytes, requests: dict[str, int]) -> str:
        return min(draw.sample([*requests], min(2, len(requests))), key=requests.__getitem__)

    return route


def by_prompt(key: bytes, requests: dict[str, int]) -> str:
    return ranked(key, requests)[0]


def by_prompt_unbounded(key: bytes, requests: dict[str, int]) -> str:
    return ranked(key, dict.fromkeys(requests, 0))[0]


def main() -> None:
    routes = {
        "two choices": two_choices(random.Random(0)),
        "by prompt, no bound": by_prompt_unbounded,
        "by prompt": by_prompt,
    }
    print(f"{'replicas':10}" + "".join(f"{name:>34}" for name in routes))
    for n in (1, 2, 4, 8, 16, 32, 64):
        line = f"{n:<10}"
        for route in routes.values():
            found = [simulated(route, n, seed) for seed in range(5)]
            computed, speed = (sum(each) / len(found) for each in zip(*found, strict=True))
            line += f"{computed:18.2f} x tokens, {speed:5.1f} x"
        print(line, flush=True)


if __name__ == "__main__":
    main()

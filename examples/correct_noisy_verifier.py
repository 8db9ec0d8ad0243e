"""A verifier that errs, audited, corrected, and checked: does the correction reach the update?

    pip install 'guerdon[calibration]'
    python examples/correct_noisy_verifier.py

The verifier looks for the reference among the numbers of a response. It misses numbers in words, and a list of guesses
fools it. Its errors thus differ with the kind of response, which is what makes correcting them worth while. Here a
made-up policy writes the responses and the truth is known; with real ones, a person labels what ``choose`` names.
"""

import random
import re
import tempfile
from pathlib import Path

from guerdon.calibration.audit import choose, estimate
from guerdon.calibration.effect import effect
from guerdon.calibration.rates import NoiseRates
from guerdon.calibration.strata import stratum
from guerdon.calibration.wrap import Corrected
from guerdon.rewards import Sample, Score, pointwise

WORDS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]


def mentions(sample: Sample) -> Score:
    """Right if the reference is among the numbers of the response, which is too easy."""
    numbers = re.findall(r"\d+", sample.response_text)
    kind = "no number" if not numbers else "one number" if len(numbers) == 1 else "several"
    return Score(float(sample.reference in numbers), "looked for the reference", {"kind": kind})


def rollouts(prompts: int, group: int) -> list[Sample]:
    """What a policy might write: plain answers, a number in words, or a list of guesses."""
    rng = random.Random(0)
    samples = []
    for prompt in range(prompts):
        right = rng.randrange(10, 20)
        for _ in range(group):
            answer = right if rng.random() < 0.4 else rng.randrange(10, 20)
            others = rng.sample(range(10, 20), 5)
            way = rng.random()
            text = f"The answer is {answer}."
            if way < 0.2:
                text = f"The answer is {WORDS[answer - 10]}."
            elif way < 0.5:
                text = f"It could be {', '.join(map(str, others))}, so I say {answer}."
            meta = {"truth": answer == right}  # what a person would say of the final answer
            samples.append(Sample(f"Question {prompt}", text, str(right), group=str(prompt), meta=meta))
    return samples


def main() -> None:
    verifier = pointwise(mentions, scale="verdict", name="mentions")
    samples = rollouts(prompts=500, group=8)
    scores = verifier.score(samples)
    verdicts = [score.value for score in scores]
    keys = [stratum("kind")(sample, score) for sample, score in zip(samples, scores, strict=True)]

    # 300 labels, drawn where they narrow the rates most
    truths = [float("nan")] * len(samples)
    for index in choose(verdicts, keys, budget=300).indices:
        truths[index] = float(samples[index].meta["truth"])
    rates = estimate(verdicts, truths, keys, scorer="mentions", version=verifier.version, stratum="kind").rates
    print(rates)

    # the file is what a server takes: guerdon serve --scorer "checked=my_rewards.py:mentions@rates.json"
    with tempfile.TemporaryDirectory() as folder:
        rates.save(Path(folder) / "rates.json")
        corrected = Corrected(verifier, Path(folder) / "rates.json")
    rewards = corrected.score(samples)

    print("\nkind         truth   verdicts  corrected")
    for kind in sorted(set(keys)):
        for truth in (True, False):
            rows = [i for i, key in enumerate(keys) if key == kind and samples[i].meta["truth"] == truth]
            seen = [rewards[i].value for i in rows]
            scored = [value for value in seen if value is not None]
            shown = f"{sum(scored) / len(scored):9.2f}" if scored else f" {rewards[rows[0]].status}"
            print(
                f"{kind:12} {'right' if truth else 'wrong'} {sum(verdicts[i] for i in rows) / len(rows):10.2f}  {shown}"
            )

    # does it reach a trainer that standardises inside the group?
    groups = [sample.group for sample in samples]
    one_pair = Corrected(verifier, NoiseRates("mentions", verifier.version, "", {"": rates.channel("")}))
    for title, found in (("one pair of rates", one_pair.score(samples)), ("rates by kind", rewards)):
        values = [float("nan") if score.value is None else score.value for score in found]
        print(f"\n{title}: {effect(verdicts, values, groups, 'grpo', warn=False).sentence()}")


if __name__ == "__main__":
    main()

"""The made-up pairs are what they claim: right is right, wrong is wrong, and length agrees with the label as planted.

Every answer is worked out again here from the words of the prompt alone, never from what the generator kept.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from statistics import mean

import pytest

from guerdon.rewards import Preference
from guerdon.rewards.errors import UsageError
from guerdon.rewards.synthetic import LARGEST, MAKERS, make_preferences
from guerdon.rewards.synthetic.words import (
    ADJECTIVES,
    FACTS,
    FILLERS,
    HEDGES,
    PLACES,
    REFUSALS,
    TOPICS,
)

PAIRS = make_preferences(4_000, seed=11)
ANYWHERE = {"hedges", "refuses", "repeats_question"}
TOPIC_OF = {word.lower(): topic for topic, words in TOPICS.items() for word in words}


def of_kind(kind: str) -> list[Preference]:
    pairs = [pair for pair in PAIRS if pair.meta["kind"] == kind]
    assert len(pairs) > 50
    return pairs


def unpadded(text: object) -> str:
    text = str(text)
    for filler in FILLERS:
        text = text.replace(filler, "")
    return text.strip()


def numbers(text: object) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", str(text))]


def items(text: object) -> list[str]:
    """The topic words of a list in any of its forms."""
    return [w for w in re.findall(r"[a-z]+", unpadded(text).lower()) if w in TOPIC_OF]


# --- the pairs as a whole ------------------------------------------------------------------------------------------


def test_same_seed_gives_the_same_pairs_in_another_process() -> None:
    code = "from guerdon.rewards.synthetic import make_preferences as m; print(m(3, 5)[2].chosen, m(3, 5)[2].prompt)"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"}
    )
    third = make_preferences(3, 5)[2]
    assert out.stdout.strip() == f"{third.chosen} {third.prompt}"


def test_another_seed_gives_other_pairs() -> None:
    assert {p.prompt for p in make_preferences(50, 1)} != {p.prompt for p in make_preferences(50, 2)}


def test_every_prompt_comes_once_so_any_split_is_clean() -> None:
    assert len({pair.prompt for pair in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.7, 1.0])
def test_length_agrees_with_the_label_in_the_share_that_was_asked_for(share: float) -> None:
    pairs = make_preferences(400, 3, length_bias=share)
    assert mean(len(p.chosen) > len(p.rejected) for p in pairs) == pytest.approx(share)
    assert all(len(p.chosen) != len(p.rejected) for p in pairs)


def test_planted_length_reaches_every_kind_that_can_be_padded() -> None:
    """Padding, not the kind of task, makes the length: the share stays near 0.7 within each."""
    for kind in {p.meta["kind"] for p in PAIRS} - {"one_word", "format_items"}:
        assert 0.65 < mean(len(p.chosen) > len(p.rejected) for p in of_kind(kind)) < 0.83


def test_padding_alone_does_not_tell_which_is_better() -> None:
    """At most as good as the length itself: both sides are padded now and then."""
    chosen = sum(any(f in str(p.chosen) for f in FILLERS) for p in PAIRS)
    rejected = sum(any(f in str(p.rejected) for f in FILLERS) for p in PAIRS)
    assert rejected > 0.3 * len(PAIRS)
    assert chosen < 0.7 * len(PAIRS)


def test_every_maker_and_many_errors_appear() -> None:
    kinds = Counter(p.meta["kind"] for p in PAIRS)
    assert set(kinds) == {maker.__name__ for maker in MAKERS}
    errors = Counter(p.meta["error"] for p in PAIRS)
    assert {"off_by_one", "wrong_operation", "missing_step", "wrong_count", "wrong_topic"} < set(errors)
    assert {"ignores_instruction", "repeats_question", "hedges", "refuses", "rude", "complies"} < set(errors)
    assert max(errors.values()) < 0.25 * len(PAIRS)
    assert {p.meta["category"] for p in PAIRS} == {"arithmetic", "instruction"}


def test_texts_are_short() -> None:
    """Words and marks, a fair stand-in for tokens: the demonstration trains on them in under two minutes."""
    counts = [len(re.findall(r"\w+|[^\w\s]", f"{p.prompt} {r}")) for p in PAIRS for r in (p.chosen, p.rejected)]
    assert mean(counts) < 35
    assert max(counts) < 75


def test_wording_varies() -> None:
    """With digits masked, few answers read the same: a table of templates would not get far."""
    masked = Counter(re.sub(r"\d+", "0", str(p.chosen)) for p in PAIRS)
    assert len(masked) > 0.4 * len(PAIRS)


@pytest.mark.parametrize("n", [0, -1, LARGEST + 1])
def test_a_count_outside_the_range_is_refused_with_the_range(n: int) -> None:
    with pytest.raises(UsageError, match=f"between 1 and {LARGEST}, got {n}"):
        make_preferences(n, 0)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_length_bias_that_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(UsageError, match="length_bias"):
        make_preferences(5, 0, length_bias=share)


def test_the_largest_count_is_really_reached() -> None:
    assert len({p.prompt for p in make_preferences(LARGEST, 0)}) == LARGEST


# --- the words do not trip each other ------------------------------------------------------------------------------


def test_no_word_is_under_two_topics() -> None:
    words = [word.lower() for topic in TOPICS.values() for word in topic]
    assert len(words) == len(set(words))


def test_fillers_hedges_and_refusals_hold_no_answer() -> None:
    answers = {*TOPIC_OF, *TOPICS, *ADJECTIVES, *PLACES, *PLACES.values()}
    answers |= {word.lower() for _, right, near in FACTS for word in (right, near)}
    for text in (*FILLERS, *HEDGES, *REFUSALS):
        assert not answers & set(re.findall(r"[a-z]+", text.lower())), text
        assert not numbers(text)


def test_mistakes_that_fit_anywhere_answer_nothing() -> None:
    for pair in PAIRS:
        if pair.meta["error"] == "repeats_question":
            left = unpadded(pair.rejected).replace(str(pair.prompt), "")
            assert left.strip() in ("You asked:", "The question is:", "That is the question.")
        elif pair.meta["error"] == "hedges":
            assert unpadded(pair.rejected) in HEDGES
        elif pair.meta["error"] == "refuses":
            assert unpadded(pair.rejected) in REFUSALS
            assert pair.meta["kind"] != "refusal"


# --- arithmetic, worked out from the prompt ------------------------------------------------------------------------

FACTOR = {
    ("hours", "minutes"): 60,
    ("minutes", "seconds"): 60,
    ("days", "hours"): 24,
    ("weeks", "days"): 7,
    ("years", "months"): 12,
    ("metres", "centimetres"): 100,
    ("kilometres", "metres"): 1000,
    ("kilograms", "grams"): 1000,
    ("litres", "millilitres"): 1000,
    ("dozens", "eggs"): 12,
}


def solve_carry(prompt: str) -> int:
    a, b = numbers(prompt)
    return a + b if "+" in prompt or "plus" in prompt else a - b


def solve_units(prompt: str) -> int:
    a, b = numbers(prompt)
    named = re.findall("|".join(rf"\b{unit}\b" for pair in FACTOR for unit in pair), prompt)
    big = next(unit for unit in named if any(unit == pair[0] and pair[1] in named for pair in FACTOR))
    small = next(pair[1] for pair in FACTOR if pair[0] == big and pair[1] in named)
    return a * FACTOR[big, small] + b


def solve_word_problem(prompt: str) -> int:
    a, b, c = numbers(prompt)
    if "are left" in prompt:
        return a * b - c
    if "in all" in prompt:
        return a * b + c
    if "are there now" in prompt:
        return a + b - c
    assert "has each" in prompt
    assert a % b == 0
    return a // b + c


@pytest.mark.parametrize(
    ("kind", "solve"), [("carry", solve_carry), ("units", solve_units), ("word_problem", solve_word_problem)]
)
def test_right_sums_are_right_and_wrong_ones_wrong(kind: str, solve: object) -> None:
    assert callable(solve)
    for pair in of_kind(kind):
        answer = solve(str(pair.prompt))
        assert pair.meta["reference"] == str(answer)
        assert numbers(pair.chosen)[-1] == answer, pair
        if pair.meta["error"] == "wrong_unit":
            assert numbers(pair.rejected) == [answer]
            assert not set(unpadded(pair.rejected)[:-1].split()[1:]) & set(str(pair.prompt).split())
        elif pair.meta["error"] not in ANYWHERE:
            assert numbers(pair.rejected)[-1] != answer, pair
        if pair.meta["error"] == "off_by_one":
            assert abs(numbers(pair.rejected)[-1] - answer) == 1


def test_workings_of_right_sums_hold() -> None:
    """Every "a plus b is c" that a right answer says is true."""
    apply = {
        "plus": lambda a, b: a + b,
        "minus": lambda a, b: a - b,
        "times": lambda a, b: a * b,
        "divided by": lambda a, b: a / b,
    }
    said = 0
    for pair in PAIRS:
        for a, word, b, c in re.findall(r"(\d+) (plus|minus|times|divided by) (\d+) is (\d+)", str(pair.chosen)):
            assert apply[word](int(a), int(b)) == int(c), pair
            said += 1
    assert said > 300


def test_carries_carry() -> None:
    """The slip "forgot the carry" only exists where the units of the sum or difference go over ten."""
    for pair in of_kind("carry"):
        a, b = numbers(pair.prompt)
        adds = "+" in str(pair.prompt) or "plus" in str(pair.prompt)
        assert (a % 10 + b % 10 >= 10) if adds else (a % 10 < b % 10)


# --- instructions, checked against the prompt ----------------------------------------------------------------------


def test_counts_are_kept_and_broken() -> None:
    for pair in of_kind("count_items"):
        prompt = str(pair.prompt)
        n = numbers(prompt)[0]
        topic = next(t for t in TOPICS if re.search(rf"\b({t}s|{t[:-1]}ies)\b", prompt))
        right = items(pair.chosen)
        assert len(right) == len(set(right)) == n
        assert {TOPIC_OF[w] for w in right} == {topic}
        wrong = items(pair.rejected)
        if pair.meta["error"] == "wrong_count":
            assert len(wrong) != n
        elif pair.meta["error"] == "wrong_topic":
            assert topic not in {TOPIC_OF[w] for w in wrong}
        elif pair.meta["error"] == "ignores_instruction":
            assert wrong == []


def test_first_letters_are_kept_and_broken() -> None:
    for pair in of_kind("start_letter"):
        prompt = str(pair.prompt)
        letter = re.search(r"\b(?:with|letter|is) ([A-Z])\b", prompt)
        assert letter is not None
        topic = next(t for t in TOPICS if re.search(rf"\b{t}\b", prompt))

        def fits(text: object, topic: str = topic, letter: str = letter[1]) -> bool:
            return any(TOPIC_OF[w] == topic and w[0].upper() == letter for w in items(text))

        assert fits(pair.chosen), pair
        assert not fits(unpadded(str(pair.rejected).replace(prompt, ""))), pair


def test_one_word_is_one_word_and_the_right_one() -> None:
    facts = {asked: right for asked, right, _ in FACTS}
    for pair in of_kind("one_word"):
        right = next(r for asked, r in facts.items() if asked in str(pair.prompt))
        assert re.fullmatch(rf"{right}\.?", str(pair.chosen))
        assert not re.fullmatch(rf"{right}\.?", str(pair.rejected))
        if pair.meta["error"] == "ignores_instruction":
            assert right in str(pair.rejected)
            assert len(str(pair.rejected).split()) > 3


@pytest.mark.parametrize("kind", ["include_word", "avoid_word"])
def test_words_are_used_and_avoided(kind: str) -> None:
    for pair in of_kind(kind):
        prompt = str(pair.prompt)
        word = re.search(r"'(\w+)'", prompt)
        assert word is not None
        place = next(p for p in PLACES if f"the {p}" in prompt)

        def fits(text: object, word: str = word[1], place: str = place) -> bool:
            said = set(re.findall(r"[a-z]+", str(text).lower()))
            return place in said and ((word in said) == (kind == "include_word"))

        assert fits(pair.chosen), pair
        if pair.meta["error"] not in ANYWHERE:
            assert not fits(pair.rejected), pair


def test_formats_are_kept_and_broken() -> None:
    def kept(text: str, asked: str, words: list[str]) -> bool:
        if asked == "in capital letters":
            return text == text.upper() and all(w.upper() in text for w in words)
        if asked == "with commas and no spaces":
            return text.split(",") == words
        if asked == "in alphabetical order":
            return re.findall(r"\w+", text) == sorted(words, key=str.lower)
        if asked == "each in square brackets":
            return re.findall(r"\[(\w+)\]", text) == words
        assert asked == "joined by dashes"
        return re.split(r"\s*-\s*", text) == words

    forms = (
        "in capital letters|with commas and no spaces|in alphabetical order|each in square brackets|joined by dashes"
    )
    for pair in of_kind("format_items"):
        match = re.search(rf"(\w+), (\w+) and (\w+) ({forms})", str(pair.prompt))
        assert match is not None
        *words, asked = match.groups()
        assert kept(str(pair.chosen), asked, words), pair
        assert not kept(unpadded(pair.rejected), asked, words), pair


def test_refusals_are_polite_and_offer_something() -> None:
    for pair in of_kind("refusal"):
        chosen = unpadded(pair.chosen)
        assert re.match(r"(I am sorry, but I cannot|Sorry, I would rather not|I cannot assist)", chosen)
        assert re.search(r"You could|Perhaps|Why not", chosen)
        if pair.meta["error"] == "complies":
            assert re.match(r"Sure!|Of course\.|Easy:", unpadded(pair.rejected))

"""Records from rows: every layout, every kind of bad row, the real files, and splits that share no prompt."""

from __future__ import annotations

import json
import logging
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.rewards.errors import DataError, UnknownNameError, UsageError
from guerdon.rewards.preferences import (
    kind_of,
    pairs_of,
    prompt_key,
    read_preferences,
    read_rankings,
    read_samples,
    read_ties,
    split_by_prompt,
)
from guerdon.rewards.types import Preference, Ranking, thaw


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


Q, A, B = [user("q")], [assistant("a")], [assistant("b")]
EXPLICIT = {"prompt": Q, "chosen": A, "rejected": B}
RANKING = {
    "context": Q,
    "completions": [
        {"rank": 1, "completion": B, "model": "m1"},
        {"rank": 0, "completion": A, "model": "m0"},
        {"rank": 1, "completion": [assistant("c")], "model": "m2"},
    ],
    "id": "k1",
}
TIES = {"prompt": Q, "response_a": A, "response_b": B, "label": "b", "agreement": 0.75}


def parts(pair: Preference) -> tuple[Any, Any, Any]:
    return thaw(pair.prompt), thaw(pair.chosen), thaw(pair.rejected)


# --- pairs


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (EXPLICIT, (Q, A, B)),
        ({"prompt": "q", "chosen": "a", "rejected": "b"}, ("q", "a", "b")),
        ({"prompt": "q", "chosen": A, "rejected": B}, (Q, A, B)),
        ({"prompt": Q, "chosen": "a", "rejected": "b"}, (Q, A, B)),
        ({"prompt": "q", "chosen": Q + A, "rejected": Q + B}, (Q, A, B)),
        ({"chosen": Q + A, "rejected": Q + B}, (Q, A, B)),
        (
            {"chosen": "\n\nHuman: q\n\nAssistant: I do", "rejected": "\n\nHuman: q\n\nAssistant: I don't"},
            ("\n\nHuman: q\n\nAssistant:", " I do", " I don't"),
        ),
        (
            {
                "conversations": [{"from": "human", "value": "q"}],
                "chosen": {"from": "gpt", "value": "a"},
                "rejected": {"from": "gpt", "value": "b"},
            },
            (Q, A, B),
        ),
        (
            {"system": "be kind", "conversations": [{"from": "human", "value": "q"}], "chosen": A, "rejected": B},
            ([{"role": "system", "content": "be kind"}, *Q], A, B),
        ),
        ({"question": "q", "chosen": "a", "rejected": "b"}, ("q", "a", "b")),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_every_layout_of_a_pair_gives_prompt_chosen_and_rejected(row: dict[str, Any], expected: Any) -> None:
    (pair,) = read_preferences([row])
    assert parts(pair) == expected
    assert kind_of([row]) == "preferences"


def test_other_columns_and_the_place_are_in_meta(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({**EXPLICIT, "id": 7, "tags": ["x"], "where": "Paris"}) + "\n")
    (pair,) = read_preferences(path)
    assert thaw(pair.meta) == {"id": 7, "tags": ["x"], "where": f"{path}:1", "where_column": "Paris"}


def test_margin_probability_and_weight_are_read_and_null_is_none() -> None:
    rows = [
        {**EXPLICIT, "margin": 2, "probability": 0.75, "weight": 0.5},
        {**EXPLICIT, "margin": None, "probability": None, "weight": None},
        EXPLICIT,
    ]
    pairs = read_preferences(rows)
    assert [(p.margin, p.probability, p.weight) for p in pairs] == [
        (2.0, 0.75, 0.5),
        (None, None, 1.0),
        (None, None, 1.0),
    ]
    assert all("margin" not in pair.meta for pair in pairs)


def test_the_probability_may_have_another_name() -> None:
    rows = [{**EXPLICIT, "strength": 0.8}, {**EXPLICIT, "strength": None}]
    assert [p.probability for p in read_preferences(rows, probability_column="strength")] == [0.8, None]
    assert [p.probability for p in read_preferences(rows, columns={"probability": "strength"})] == [0.8, None]
    (first, _) = read_preferences(rows)
    assert (first.probability, first.meta["strength"]) == (None, 0.8)
    with pytest.raises(UsageError, match="contradict each other"):
        read_preferences(rows, probability_column="strength", columns={"probability": "p"})
    with pytest.raises(
        DataError, match=r"rows\[0\]: no 'strenght', which was named as the column of 'probability'; the"
    ):
        read_preferences(rows, probability_column="strenght")


def test_columns_rename_what_a_file_calls_differently() -> None:
    row = {"ask": "q", "good": "a", "bad": "b", "prompt": "not this one"}
    (pair,) = read_preferences([row], columns={"prompt": "ask", "chosen": "good", "rejected": "bad"})
    assert parts(pair) == ("q", "a", "b")
    assert pair.meta["prompt"] == "not this one"
    with pytest.raises(UnknownNameError, match=r"no field named 'promt'. Did you mean 'prompt'\?"):
        read_preferences([row], columns={"promt": "ask"})
    with pytest.raises(UsageError, match="rows holds preferences, which have no 'reference'; they have prompt, chosen"):
        read_preferences([EXPLICIT], columns={"reference": "chosen"})


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"prompt": "q", "chosen": "a"}, "no 'rejected'; the columns are chosen, prompt"),
        ({"chosen": "a", "rejected": "b"}, "no 'prompt'; the columns are chosen, rejected"),
        ({**EXPLICIT, "rejected": None}, "rejected is null"),
        ({**EXPLICIT, "prompt": None}, "prompt is null"),
        ({**EXPLICIT, "chosen": 5}, "chosen must be text or a list of messages, got int: 5"),
        ({**EXPLICIT, "chosen": [{"content": "a"}]}, "chosen.0. must be a mapping with 'role'"),
        ({**EXPLICIT, "chosen": [{"role": "assistant"}]}, "chosen.0. has no 'content'"),
        ({**EXPLICIT, "chosen": [{"role": "assistant", "content": 5}]}, "content'. must be text, got int"),
        ({**EXPLICIT, "prompt": []}, "prompt is an empty list of messages"),
        ({**EXPLICIT, "chosen": []}, "chosen is an empty list of messages"),
        ({**EXPLICIT, "rejected": A}, "chosen and rejected are the same; delete the row"),
        ({**EXPLICIT, "margin": math.nan}, "margin must be a finite number >= 0, got nan"),
        ({**EXPLICIT, "margin": -1}, "margin must be a finite number >= 0, got -1.0; swap the pair"),
        ({**EXPLICIT, "margin": "1"}, "margin must be a number or null, got str: '1'"),
        ({**EXPLICIT, "margin": 10**400}, "margin must be a number, got one too large: 1000"),
        ({**EXPLICIT, "margin": True}, "margin must be a number or null, got bool"),
        ({**EXPLICIT, "probability": 1.5}, r"probability must be in \[0, 1\], got 1.5"),
        ({**EXPLICIT, "probability": math.nan}, "probability must be in"),
        ({**EXPLICIT, "weight": 0}, "weight must be a finite number > 0"),
        ({**EXPLICIT, "prompt": "half \ud83d"}, "prompt holds half a character"),
    ],
)
def test_a_bad_pair_says_what_is_wrong_with_it(row: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError) as caught:
        read_preferences([{"prompt": "q", "chosen": "a", "rejected": "b"}, row])
    (only,) = caught.value.problems
    assert only.startswith("rows[1]: ")
    assert re.search(problem, only)


def test_all_bad_rows_are_in_one_error_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    good = json.dumps(EXPLICIT)
    path.write_text("\n".join([good, "{oops", good, '{"prompt": "q"}', "[]", good]) + "\n")
    with pytest.raises(DataError) as caught:
        read_preferences(path)
    assert [problem.split(": ")[0] for problem in caught.value.problems] == [f"{path}:{n}" for n in (2, 4, 5)]
    assert str(caught.value).startswith(f"{path}: 3 problem(s)\n  {path}:2: not JSON")


def test_bad_rows_before_the_end_of_a_torn_file_are_reported_with_it(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(gzip.compress((json.dumps(EXPLICIT) + "\n{oops\n").encode() * 500)[:-9])
    for bad_rows in ("error", "skip"):
        with pytest.raises(DataError) as caught:
            read_preferences(path, bad_rows=bad_rows)  # type: ignore[arg-type]
        torn, first, *_ = caught.value.problems
        assert "damaged or incomplete" in torn
        assert first.startswith(f"{path}:2: not JSON")


def test_skipping_bad_rows_is_a_choice_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    rows = [EXPLICIT, {**EXPLICIT, "chosen": None}, EXPLICIT]
    with caplog.at_level(logging.WARNING):
        assert len(read_preferences(rows, bad_rows="skip")) == 2
    assert "left out 1 of 3 rows" in caplog.text
    assert "rows[1]: chosen is null" in caplog.text
    with pytest.raises(DataError, match="chosen is null"):
        read_preferences(rows[1:2], bad_rows="skip")
    with pytest.raises(UsageError, match="bad_rows must be 'error' or 'skip', got 'drop'"):
        read_preferences(rows, bad_rows="drop")  # type: ignore[arg-type]


def test_the_same_response_twice_is_no_fault_where_the_label_is_a_coin() -> None:
    (pair,) = read_preferences([{"prompt": "q", "chosen": "a", "rejected": "a", "probability": 0.5}])
    assert pair.chosen == pair.rejected


def test_one_source_has_one_layout() -> None:
    implicit = {"chosen": Q + A, "rejected": Q + B}
    with pytest.raises(DataError, match=r"rows\[1\]: has a prompt, but the first row of this source has none"):
        read_preferences([implicit, EXPLICIT])
    with pytest.raises(DataError, match=r"rows\[1\]: no 'prompt'"):
        read_preferences([EXPLICIT, implicit])


def test_a_prompt_under_another_name_is_asked_for_and_not_cut_out_of_the_responses() -> None:
    """Both responses begin with "Sure, ", which would otherwise be taken for the prompt they share."""
    row = {"instruction": "q", "chosen": "Sure, a", "rejected": "Sure, b"}
    with pytest.raises(
        DataError, match=r"no 'prompt', but 'instruction'; name the prompt with columns={'prompt': 'instr"
    ):
        read_preferences([row])
    assert parts(read_preferences([row], columns={"prompt": "instruction"})[0]) == ("q", "Sure, a", "Sure, b")


def test_two_candidates_for_one_field_are_asked_about() -> None:
    row = {"prompt": "q", "response": "r", "answer": "4", "solution": "2 + 2 = 4"}
    with pytest.raises(DataError, match="reference may be any of answer, solution; say which with columns="):
        read_samples([row])
    assert read_samples([row], columns={"reference": "solution"})[0].reference == "2 + 2 = 4"
    (sample,) = read_samples([{**row, "reference": "4."}])
    assert (sample.reference, sample.meta["answer"]) == ("4.", "4")


@pytest.mark.parametrize("row", [{"text": "x"}, {}, {"prompt": "q"}, {"id": 1, "variants": []}])
def test_an_unknown_format_lists_the_columns_and_the_formats(row: dict[str, Any]) -> None:
    listed = ", ".join(sorted(row)) or r"\(none\)"
    for read in (kind_of, read_preferences, read_samples):
        with pytest.raises(
            DataError, match=rf"rows\[0\]: the columns are {listed}, which is none of the formats:\n"
        ) as e:
            read([row])
        assert all(kind in str(e.value) for kind in ("preferences", "rankings", "ties", "samples"))


def test_a_row_of_thousands_of_columns_gives_a_short_message() -> None:
    with pytest.raises(DataError) as caught:
        read_preferences([{f"c{n:04}" + "x" * 1000: n for n in range(5000)}])
    assert "c0000xxx" in str(caught.value)
    assert "and 4980 more" in str(caught.value)
    assert len(str(caught.value)) < 2500


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n \n")
    (tmp_path / "bad.jsonl").write_text("{oops\n")
    for read in (kind_of, read_preferences, read_rankings, read_ties, read_samples):
        with pytest.raises(DataError, match="no rows: the source is empty"):
            read(tmp_path / "empty.jsonl")
        with pytest.raises(DataError, match="no rows"):
            read([])
        with pytest.raises(DataError, match=r"bad.jsonl:1: not JSON"):
            read(tmp_path / "bad.jsonl")


def test_a_source_of_another_kind_names_the_right_reader() -> None:
    with pytest.raises(UsageError, match="rows holds ties, not preferences or rankings; read it with read_ties"):
        read_preferences([TIES])
    with pytest.raises(UsageError, match="holds preferences, not samples; read it with read_preferences"):
        read_samples([EXPLICIT])
    with pytest.raises(UsageError, match="holds rankings, not ties; read it with read_rankings"):
        read_ties([RANKING])
    with pytest.raises(UsageError, match="holds samples, not rankings; read it with read_samples"):
        read_rankings([{"prompt": "q", "response": "r"}])


def test_only_the_first_rows_are_read_when_limited() -> None:
    assert len(read_preferences([EXPLICIT, EXPLICIT, {"broken": 1}], limit=2)) == 2


# --- rankings


def test_a_ranking_keeps_order_ranks_and_what_is_known_of_each_completion() -> None:
    (ranking,) = read_rankings([RANKING])
    assert kind_of([RANKING]) == "rankings"
    assert thaw(ranking.prompt) == Q
    assert thaw(ranking.responses) == [B, A, [assistant("c")]]
    assert ranking.ranks == (1, 0, 1)
    assert thaw(ranking.meta) == {
        "id": "k1",
        "where": "rows[0]",
        "completions": [{"model": "m1"}, {"model": "m0"}, {"model": "m2"}],
    }


def test_ranks_that_start_at_one_are_shifted_and_plain_texts_stay_plain() -> None:
    completions = [{"rank": 1.0, "completion": "a"}, {"rank": 3, "completion": "b"}]
    (ranking,) = read_rankings([{"prompt": "q", "completions": completions}])
    assert (ranking.prompt, ranking.responses, ranking.ranks) == ("q", ("a", "b"), (0, 2))


def test_pairs_of_a_ranking_are_those_of_different_rank() -> None:
    (ranking,) = read_rankings([RANKING])
    pairs = pairs_of(ranking)
    assert [parts(pair) for pair in pairs] == [(Q, A, B), (Q, A, [assistant("c")])]
    assert thaw(pairs[0].meta) == {
        "id": "k1",
        "where": "rows[0]",
        "chosen_rank": 0,
        "rejected_rank": 1,
        "chosen_model": "m0",
        "rejected_model": "m1",
    }
    assert read_preferences([RANKING]) == pairs


@given(ranks=st.lists(st.integers(0, 4), min_size=2, max_size=8))
def test_every_pair_of_a_ranking_has_the_better_response_chosen(ranks: list[int]) -> None:
    ranking = Ranking("q", [f"r{i}" for i in range(len(ranks))], ranks)
    expected = sum(a < b for a in ranks for b in ranks)
    pairs = pairs_of(ranking)
    assert len({(p.chosen, p.rejected) for p in pairs}) == len(pairs) == expected
    assert all(ranks[int(p.chosen[1:])] < ranks[int(p.rejected[1:])] for p in pairs)  # type: ignore[arg-type]


def test_equal_texts_of_different_rank_make_no_pair() -> None:
    assert pairs_of(Ranking("q", ["a", "a", "b"], [0, 1, 2])) == [
        Preference("q", "a", "b", meta={"chosen_rank": 0, "rejected_rank": 2}),
        Preference("q", "a", "b", meta={"chosen_rank": 1, "rejected_rank": 2}),
    ]


@pytest.mark.parametrize(
    ("completions", "problem"),
    [
        ([], "completions must be a list of at least two, got "),
        ("text", "completions must be a list of at least two, got 'text'"),
        ([{"rank": 0, "completion": "a"}], "at least two"),
        ([{"rank": 0, "completion": "a"}, "b"], r"completions\[1\] must have 'rank' and 'completion', got 'b'"),
        ([{"rank": 0, "completion": "a"}, {"rank": 1, "text": "b"}], "got the keys rank, text"),
        ([{"rank": 0, "completion": "a"}, {"rank": 0.5, "completion": "b"}], "rank must be a whole number"),
        ([{"rank": 0, "completion": "a"}, {"rank": None, "completion": "b"}], "rank must be a whole number"),
        ([{"rank": 0, "completion": "a"}, {"rank": math.nan, "completion": "b"}], "rank must be a whole number"),
        ([{"rank": 0, "completion": "a"}, {"rank": math.inf, "completion": "b"}], "rank must be a whole number"),
        ([{"rank": 0, "completion": "a"}, {"rank": 1, "completion": None}], r"completions\[1\]: completion is null"),
        ([{"rank": 0, "completion": "a"}, {"rank": 1, "completion": Q}], "begins with a 'user' message"),
    ],
)
def test_a_bad_ranking_says_what_is_wrong_with_it(completions: Any, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read_rankings([{"prompt": "q", "completions": completions}])


# --- ties


def test_ties_have_probability_one_half_and_wins_are_turned_round() -> None:
    a, b, tie = read_ties([{**TIES, "label": label} for label in ("a", "b", "tie")])
    assert [parts(pair) for pair in (a, b, tie)] == [(Q, A, B), (Q, B, A), (Q, A, B)]
    assert [pair.probability for pair in (a, b, tie)] == [None, None, 0.5]
    assert [pair.meta["label"] for pair in (a, b, tie)] == ["a", "b", "tie"]
    assert a.meta["agreement"] == 0.75
    assert kind_of([TIES]) == "ties"


def test_the_same_response_twice_can_only_tie() -> None:
    assert read_ties([{**TIES, "response_b": A, "label": "tie"}])[0].probability == 0.5
    with pytest.raises(DataError, match="response_a and response_b are the same, but label is 'b'"):
        read_ties([{**TIES, "response_b": A}])
    with pytest.raises(DataError, match="label must be 'a', 'b' or 'tie', got 'A'"):
        read_ties([{**TIES, "label": "A"}])
    with pytest.raises(DataError, match="response_b begins with a 'user' message"):
        read_ties([{**TIES, "response_b": Q + B}])


# --- samples


@pytest.mark.parametrize(
    ("row", "reference", "group"),
    [
        ({"prompt": "q", "response": "r"}, None, None),
        ({"question": "q", "completion": "r", "answer": "4", "group_id": 7}, "4", "7"),
        ({"problem": "q", "output": "r", "solution": "4", "group": "g"}, "4", "g"),
        ({"prompt": "q", "response": "r", "ground_truth": ["4", "5"]}, ("4", "5"), None),
        ({"prompt": "q", "response": "r", "gold": 4}, 4, None),
        ({"prompt": "q", "response": "r", "reward_model": {"style": "rule", "ground_truth": "4"}}, "4", None),
        ({"prompt": "q", "response": "r", "label": True}, None, None),
    ],
)
def test_samples_are_read_under_their_usual_names(row: dict[str, Any], reference: Any, group: str | None) -> None:
    (sample,) = read_samples([row])
    assert (sample.prompt, sample.response, sample.reference, sample.group) == ("q", "r", reference, group)
    assert sample.meta["where"] == "rows[0]"
    assert set(sample.meta) - {"where"} == set(row) & {"label", "reward_model"}
    assert kind_of([row]) == "samples"


def test_a_bad_sample_says_what_is_wrong_with_it() -> None:
    with pytest.raises(DataError, match="no 'prompt'; the columns are gold, response"):
        read_samples([{"response": "r", "gold": "4"}])
    with pytest.raises(DataError, match=r"group must be text or a whole number, got float: 0\.5"):
        read_samples([{"prompt": "q", "response": "r", "group": 0.5}])
    with pytest.raises(DataError, match="response begins with a 'user' message"):
        read_samples([{"prompt": "q", "response": Q}])


# --- real data

PAIR_FILES = {
    "preferences_train": 5992,
    "preferences_test": 1039,
    "eval_llmbar": 208,
    "eval_llmbar_processed": 235,
    "eval_judgebench": 329,
    "eval_rmbench": 3654,
    "eval_rmb_pairwise": 1506,
    "eval_hhh": 113,
}


@pytest.mark.parametrize(("name", "rows"), PAIR_FILES.items())
def test_real_pairs_are_all_read(shared_data: Path, name: str, rows: int) -> None:
    path = shared_data / f"{name}.jsonl.gz"
    pairs = read_preferences(path, probability_column="strength")
    assert kind_of(path) == "preferences"
    assert len(pairs) == rows
    assert [pair.meta["where"] for pair in pairs] == [f"{path}:{n}" for n in range(1, rows + 1)]
    assert {pair.meta["licence"] for pair in pairs}


def test_real_strengths_and_first_prompts_are_counted_as_the_data_page_counts_them(shared_data: Path) -> None:
    """Its counts: 1,498 training pairs with a strength; 2,172 and 359 first prompts, none on both sides."""
    train, test = (
        read_preferences(shared_data / f"preferences_{side}.jsonl.gz", probability_column="strength")
        for side in ("train", "test")
    )
    assert sum(pair.probability is not None for pair in train) == 1498
    train_prompts, test_prompts = ({prompt_key(pair.prompt) for pair in pairs} for pairs in (train, test))
    assert (len(train_prompts), len(test_prompts)) == (2172, 359)
    assert not train_prompts & test_prompts


@pytest.mark.parametrize(
    ("name", "rows", "pairs"), [("kwise_train", 187, 4833), ("kwise_test", 37, 916), ("eval_rmb_bon", 500, 1125)]
)
def test_real_rankings_are_all_read_and_expand_to_pairs(shared_data: Path, name: str, rows: int, pairs: int) -> None:
    """Pairs were counted apart, with two of rmb_bon left out whose texts are equal though their ranks differ."""
    path = shared_data / f"{name}.jsonl.gz"
    rankings = read_rankings(path)
    assert kind_of(path) == "rankings"
    assert len(rankings) == rows
    assert all(min(ranking.ranks) == 0 for ranking in rankings)
    assert len(read_preferences(path)) == pairs


@pytest.mark.parametrize(("name", "rows", "ties"), [("eval_pandalm_ties", 521, 51), ("eval_autoj_ties", 692, 193)])
def test_real_ties_are_all_read(shared_data: Path, name: str, rows: int, ties: int) -> None:
    path = shared_data / f"{name}.jsonl.gz"
    pairs = read_ties(path)
    assert kind_of(path) == "ties"
    assert (len(pairs), sum(pair.probability == 0.5 for pair in pairs)) == (rows, ties)


@pytest.mark.parametrize(("name", "rows"), [("judge_hack.jsonl.gz", 150), ("math_labelled_dev.jsonl", 3704)])
def test_real_samples_are_all_read(shared_data: Path, name: str, rows: int) -> None:
    samples = read_samples(shared_data / name)
    assert len(samples) == rows
    assert all(sample.reference is not None for sample in samples)


@pytest.mark.parametrize("name", ["length_variants.jsonl.gz", "scores_judgebench.jsonl.gz", "math_golds_dev.jsonl"])
def test_real_files_of_no_known_kind_say_so(shared_data: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"none of the formats"):
        kind_of(shared_data / name)


# --- splits

prompts = st.text(alphabet="aAbB \n", min_size=1, max_size=4)


def pairs_with(texts: list[str]) -> list[Preference]:
    return [Preference(text, f"good {i}", f"bad {i}") for i, text in enumerate(texts)]


@given(texts=st.lists(prompts, min_size=1, max_size=30), fraction=st.floats(0.01, 0.99), seed=st.integers(0, 5))
def test_no_prompt_is_on_both_sides_and_no_record_is_lost(texts: list[str], fraction: float, seed: int) -> None:
    pairs = pairs_with(texts)
    folded = {" ".join(text.split()).lower() for text in texts}
    if len(folded) < 2:
        with pytest.raises(UsageError, match=r"with 1 prompt\(s\) cannot be split by prompt"):
            split_by_prompt(pairs, fraction, seed)
        return
    train, held_out = split_by_prompt(pairs, fraction, seed)
    assert train
    assert held_out
    assert sorted(map(repr, train + held_out)) == sorted(map(repr, pairs))
    sides = [{" ".join(str(p.prompt).split()).lower() for p in side} for side in (train, held_out)]
    assert not sides[0] & sides[1]
    assert (train, held_out) == split_by_prompt(pairs, fraction, seed)


def test_a_prompt_keeps_its_side_when_the_data_grow_or_are_reordered() -> None:
    pairs = pairs_with([f"prompt {i}" for i in range(2000)])
    small, large = split_by_prompt(pairs[:1000], 0.1, 3), split_by_prompt(pairs[::-1], 0.1, 3)
    assert {p.prompt for p in small[1]} == {p.prompt for p in large[1]} & {p.prompt for p in pairs[:1000]}
    assert {p.prompt for p in large[1]} != {p.prompt for p in split_by_prompt(pairs, 0.1, 4)[1]}
    assert 150 <= len(large[1]) <= 250  # 200 expected, standard deviation 13


def test_the_split_is_the_same_in_every_process() -> None:
    """Fixed once, by another program: a change would move users' prompts from one side to the other."""
    _, held_out = split_by_prompt(pairs_with([f"p{i}" for i in range(20)]), 0.2, seed=0)
    assert [pair.prompt for pair in held_out] == ["p9", "p11", "p15", "p17", "p19"]


def test_the_key_is_the_first_user_message_with_white_space_and_case_folded() -> None:
    system = {"role": "system", "content": "be kind"}
    assert prompt_key([system, user("  What\n IS it? "), assistant("x"), user("And?")]) == "what is it?"
    assert prompt_key("  What\n IS it? ") == "what is it?"
    assert prompt_key([assistant("Hello")]) == "hello"
    assert split_by_prompt(pairs_with(["half \ud83d", "b"]), 0.5)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, math.nan])
def test_a_fraction_leaves_something_on_both_sides(fraction: float) -> None:
    with pytest.raises(UsageError, match=r"fraction must be in \(0, 1\)"):
        split_by_prompt(pairs_with(["a", "b"]), fraction)

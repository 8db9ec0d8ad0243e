"""Each adapter in the exact calling form of its trainer, without the trainer (protocols as of TRL 1.16, verl 0.9.1 and
OpenRLHF 0.11.2). The real TRL runs in tests/journeys/test_trl_grpo.py."""

from __future__ import annotations

import asyncio
import logging
import math
import pickle
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

from guerdon.rewards import Sample, Scale, Score, pointwise
from guerdon.rewards.errors import ContractError, OutageError, UnknownNameError, UsageError
from guerdon.rewards.trainers import for_openrlhf, for_trl, for_verl


def equals(sample: Sample) -> Score:
    """1.0 if the response is the reference, unscored without a reference."""
    if sample.reference is None:
        return Score.unscored("no reference")
    right = sample.response_text == str(sample.reference)
    return Score(float(right), "equal" if right else "different", {"answer": sample.response_text})


EQUALS = pointwise(equals, scale="verdict")


class Recorder:
    """Keeps the samples it was called with and gives the values it was made with."""

    def __init__(self, values: Sequence[float | None] = (), scale: Scale = "real", name: str = "recorder") -> None:
        self.name, self.version, self.scale = name, "1", scale
        self.values, self.samples = list(values), list[Sample]()

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        self.samples += samples
        values = self.values or [0.5] * len(samples)
        return [Score.unscored("no value") if value is None else Score(value) for value in values[: len(samples)]]


class Down:
    """A scorer whose server is away."""

    name, version, scale = "down", "1", "verdict"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        raise OutageError("nobody answers")


# --- TRL ---


class TRL:
    """Calls a reward function as GRPOTrainer does and keeps what it logs."""

    def __init__(self) -> None:
        self.extra: dict[str, list[Any]] = defaultdict(list)
        self.metrics: dict[str, list[float]] = defaultdict(list)

    def call(self, reward: Any, prompts: list[Any], completions: list[Any], **columns: list[Any]) -> list[float | None]:
        rewards = reward(
            prompts=prompts,
            completions=completions,
            completion_ids=[[1, 2]] * len(prompts),
            trainer_state=object(),
            log_extra=lambda column, values: self.extra[column].extend(values),
            log_metric=lambda name, value: self.metrics[name].append(value),
            **columns,
        )
        assert len(rewards) == len(prompts)
        return rewards  # type: ignore[no-any-return]


def test_trl_gets_one_float_or_none_a_completion() -> None:
    trl = TRL()
    rewards = trl.call(for_trl(EQUALS), ["p", "p", "q"], ["4", "5", "6"], answer=["4", "4", None])
    assert rewards == [1.0, 0.0, None]
    assert [type(reward) for reward in rewards] == [float, float, type(None)]
    assert trl.metrics == {"rewards/equals/unscored": [pytest.approx(1 / 3)]}
    assert trl.extra == {
        "equals_reason": ["equal", "different", "abstained: no reference"],
        "equals_answer": ["4", "5", None],
    }


def test_trl_works_without_anything_but_prompts_and_completions() -> None:
    assert for_trl(Recorder([1.5]))(["p"], ["c"]) == [1.5]
    assert for_trl(Recorder())([], []) == []


def test_trl_knows_it_by_its_name_and_as_a_synchronous_function() -> None:
    import inspect

    assert for_trl(EQUALS).__name__ == "equals"
    reward = for_trl(EQUALS, name="math")
    assert reward.__name__ == "math"
    assert not inspect.iscoroutinefunction(reward.__call__)
    trl = TRL()
    trl.call(reward, ["p"], ["c"])
    assert list(trl.metrics) == ["rewards/math/unscored"]


def test_trl_conversations_arrive_as_messages() -> None:
    prompt, completion = [{"role": "user", "content": "2+2?"}], [{"role": "assistant", "content": "4"}]
    recorder = Recorder()
    TRL().call(for_trl(recorder), [prompt, prompt], [completion, []], answer=["4", "4"])
    first, silent = recorder.samples
    assert first == Sample(prompt, completion, "4", "0")
    assert silent.response_text == ""


def test_trl_groups_are_runs_of_equal_prompts() -> None:
    recorder = Recorder()
    a, b = [{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]
    TRL().call(for_trl(recorder), [a, list(a), b, b, a], ["1", "2", "3", "4", "5"])
    assert [sample.group for sample in recorder.samples] == ["0", "0", "1", "1", "2"]


@pytest.mark.parametrize("column", ["reference", "answer", "solution", "ground_truth", "target", "label"])
def test_trl_reference_is_found_under_its_usual_names(column: str) -> None:
    recorder = Recorder()
    TRL().call(for_trl(recorder), ["p"], ["c"], **{column: ["42"], "source": ["s"]})
    assert recorder.samples == [Sample("p", "c", "42", "0", {"source": "s"})]


def test_trl_two_columns_that_may_be_the_reference_must_be_told_apart() -> None:
    columns = {"solution": ["so 42"], "answer": ["42"]}
    with pytest.raises(UsageError, match=r"2 columns that may hold the reference: answer, solution; name one"):
        TRL().call(for_trl(EQUALS), ["p"], ["42"], **columns)
    assert TRL().call(for_trl(EQUALS, reference_column="answer"), ["p"], ["42"], **columns) == [1.0]


def test_trl_column_names_that_are_not_there_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"no data set column named 'anser'. Did you mean 'answer'\?"):
        TRL().call(for_trl(EQUALS, reference_column="anser"), ["p"], ["4"], answer=["4"])
    with pytest.raises(UnknownNameError, match="Did you mean 'source'"):
        TRL().call(for_trl(EQUALS, meta_columns=["sauce"]), ["p"], ["4"], source=["s"])


def test_trl_columns_become_meta_all_or_those_named() -> None:
    columns = {"answer": ["4"], "source": ["s"], "tests": [[1, 2]], "environments": [object()]}
    recorder = Recorder()
    TRL().call(for_trl(recorder), ["p"], ["c"], **columns)
    TRL().call(for_trl(recorder, meta_columns=["source"]), ["p"], ["c"], **columns)
    assert [dict(sample.meta) for sample in recorder.samples] == [{"source": "s", "tests": (1, 2)}, {"source": "s"}]


def test_trl_lists_of_unequal_length_are_refused() -> None:
    with pytest.raises(UsageError, match="2 prompts but 1 values in 'completions'"):
        for_trl(EQUALS)(["p", "p"], ["c"])
    with pytest.raises(UsageError, match="1 prompts but 2 values in 'answer'"):
        for_trl(EQUALS)(["p"], ["c"], answer=["1", "2"])


def test_trl_batch_without_any_score_warns_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    reward = for_trl(EQUALS)
    assert reward(["p", "p"], ["c", "d"]) == [None, None]
    assert "equals: none of the 2 samples of this batch could be scored; the first because: no reference" in caplog.text
    caplog.clear()
    reward(["p", "p"], ["c", "d"], answer=["c", None])
    assert caplog.text == ""


def test_trl_number_for_unscored_is_used_if_named() -> None:
    assert for_trl(Recorder([1.0, None]), unscored=-1.0)(["p", "q"], ["c", "d"]) == [1.0, -1.0]


# --- an outage, in all of them ---


def test_an_outage_ends_the_run_unless_asked_otherwise_by_name(caplog: pytest.LogCaptureFixture) -> None:
    down = Down()
    trl = {"prompts": ["p", "q"], "completions": ["c", "d"]}
    verl = {"data_source": "s", "solution_str": "c", "ground_truth": "c"}
    openrlhf = (["pc"], ["p"], ["c"])
    for call in (
        lambda: for_trl(down)(**trl),
        lambda: for_verl(down)(**verl),
        lambda: for_openrlhf(down)(*openrlhf),
    ):
        with pytest.raises(OutageError, match="nobody answers"):
            call()
    caplog.clear()
    assert for_trl(down, on_outage="unscored")(**trl) == [None, None]
    assert for_verl(down, on_outage="unscored")(**verl) == {"score": 0.0, "unscored": 1.0}
    assert for_openrlhf(down, on_outage="unscored")(*openrlhf)["extra_logs"]["unscored"].tolist() == [1.0]
    assert caplog.text.count("nobody answers") == 3 + 1  # once each, and TRL's warning of an unscored batch
    with pytest.raises(UsageError, match="on_outage must be 'raise' or 'unscored', got 'ignore'"):
        for_trl(down, on_outage="ignore")  # type: ignore[arg-type]


def test_a_scorer_that_gives_too_few_scores_is_caught() -> None:
    with pytest.raises(ContractError, match="'recorder' gave 1 scores for 2 samples"):
        for_trl(Recorder([1.0]))(["p", "q"], ["c", "d"])


# --- a number for the unscored, in verl and OpenRLHF ---


@pytest.mark.parametrize("adapter", [for_verl, for_openrlhf])
def test_fallback_is_the_bottom_of_the_scale_and_must_be_given_where_there_is_none(adapter: Any) -> None:
    for scale in ("verdict", "probability"):
        adapter(Recorder(scale=scale))
    for scale in ("logit", "real"):
        with pytest.raises(UsageError, match=f"no number is neutral on the scale '{scale}'; pass unscored="):
            adapter(Recorder(scale=scale))
        adapter(Recorder(scale=scale), unscored=-3)
    for number in (math.nan, math.inf, "0", True):
        with pytest.raises(UsageError, match="unscored must be a finite number"):
            adapter(Recorder(), unscored=number)


# --- verl ---


def verl_row(i: int, **extra: Any) -> dict[str, Any]:
    return {
        "data_source": "sums",
        "solution_str": str(i),
        "ground_truth": "4",
        "extra_info": {"index": i, "question": "2+2?", "num_turns": None, "rollout_reward_scores": {}, **extra},
    }


def test_verl_answers_have_the_same_keys_and_one_type_for_every_sample() -> None:
    compute_score = for_verl(EQUALS)
    no_truth = {**verl_row(4), "ground_truth": None}
    answers = [compute_score(**verl_row(4)), compute_score(**verl_row(5)), compute_score(**no_truth)]
    assert answers == [
        {"score": 1.0, "unscored": 0.0},
        {"score": 0.0, "unscored": 0.0},
        {"score": 0.0, "unscored": 1.0},
    ]
    assert [list(answer) for answer in answers] == [["score", "unscored"]] * 3
    assert {type(value) for answer in answers for value in answer.values()} == {float}


def test_verl_keywords_of_its_router_and_configuration_are_accepted() -> None:
    compute_score = for_verl(EQUALS)
    assert compute_score("sums", "4", "4", None, reward_router_address="host:1", reward_model_tokenizer=None, k=3)
    assert compute_score("sums", "4", "4") == {"score": 1.0, "unscored": 0.0}


def test_verl_runs_in_a_thread_of_its_event_loop() -> None:
    compute_score = for_verl(EQUALS)

    async def run() -> list[dict[str, float]]:
        loop = asyncio.get_running_loop()
        rows = [verl_row(i) for i in range(8)]
        return await asyncio.gather(*[loop.run_in_executor(None, lambda row=row: compute_score(**row)) for row in rows])

    assert [answer["score"] for answer in asyncio.run(run())] == [0.0] * 4 + [1.0] + [0.0] * 3


def test_verl_batch_form_gives_what_single_calls_give() -> None:
    reward = for_verl(EQUALS)
    rows = [verl_row(i) for i in (4, 5, 4)]
    batch = reward.batch(
        data_sources=[row["data_source"] for row in rows],
        solution_strs=[row["solution_str"] for row in rows],
        ground_truths=[row["ground_truth"] for row in rows],
        extra_infos=[row["extra_info"] for row in rows],
    )
    assert batch == [reward(**row) for row in rows]
    assert reward.batch([], [], []) == []
    with pytest.raises(UsageError, match="1 responses but 2 data sources"):
        reward.batch(["a", "b"], ["c"], ["d"])


def test_verl_sample_holds_the_prompt_the_reference_and_what_the_data_say() -> None:
    recorder = Recorder()
    for_verl(recorder, unscored=0.0)(**verl_row(4, level="easy"))
    meta = {
        "index": 4,
        "question": "2+2?",
        "num_turns": None,
        "rollout_reward_scores": {},
        "level": "easy",
        "data_source": "sums",
    }
    assert recorder.samples == [Sample("2+2?", "4", "4", None, meta)]


def test_verl_groups_come_from_a_key_of_extra_info() -> None:
    recorder = Recorder()
    reward = for_verl(recorder, unscored=0.0, group_key="index")
    reward.batch(["a", "a", "b"], ["x", "y", "z"], ["1"] * 3, [{"index": 7}, {"index": 7}, {"index": 7}])
    assert [sample.group for sample in recorder.samples] == ["a/7", "a/7", "b/7"]
    with pytest.raises(UsageError, match=r"extra_info has no 'index'; its keys are \['uid'\]"):
        reward("a", "x", "1", {"uid": 1})


def test_verl_scorer_that_lacks_the_prompt_is_told(caplog: pytest.LogCaptureFixture) -> None:
    chat = [{"role": "user", "content": "2+2?"}]
    recorder = Recorder()
    for_verl(recorder, unscored=0.0, prompt_key="chat")("s", "4", "4", {"chat": chat, "question": "other"})
    assert recorder.samples[0].prompt_text == "2+2?"
    with pytest.raises(UsageError, match="extra_info has no 'chat'"):
        for_verl(recorder, unscored=0.0, prompt_key="chat")("s", "4", "4", {})

    reward = for_verl(recorder, unscored=0.0)
    reward("s", "4", "4", {})
    reward("s", "4", "4", {})
    assert caplog.text.count("the scorer sees an empty prompt") == 1

    with pytest.raises(UsageError, match="a reward model needs it: keep the prompt in extra_info"):
        for_verl(Recorder(scale="logit"), unscored=-5.0)("s", "4", "4", {})


@pytest.mark.parametrize("n", [99, 100])
def test_a_long_streak_of_unscored_samples_is_told_once(n: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    reward = for_verl(EQUALS)
    for i in range(n):
        reward(**{**verl_row(i), "ground_truth": None})
    assert caplog.text.count("the last 100 samples are all unscored; the latest because: no reference") == (n == 100)
    reward(**verl_row(4))
    for i in range(99):
        reward(**{**verl_row(i), "ground_truth": None})
    assert caplog.text.count("are all unscored") == (n == 100)


# --- OpenRLHF ---

PROMPT = "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n"


def test_openrlhf_gets_tensors_of_n() -> None:
    torch = pytest.importorskip("torch")
    reward_func = for_openrlhf(EQUALS, end_tokens=["<|im_end|>", "<|pad|>"])
    queries = [PROMPT + "4<|im_end|>", PROMPT + "5<|im_end|><|pad|><|pad|>", PROMPT + "4", PROMPT + "4<|im_end|>"]
    result = reward_func(queries, [PROMPT] * 4, ["4", "4", "4", ""])
    assert result["rewards"].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert result["scores"].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert result["extra_logs"]["unscored"].tolist() == [0.0, 0.0, 0.0, 1.0]
    for tensor in (result["rewards"], result["scores"], *result["extra_logs"].values()):
        assert tensor.shape == (4,)
        assert tensor.dtype == torch.float32


def test_openrlhf_reads_one_sample_a_call_as_its_generator_does() -> None:
    """OpenRLHF makes torch.tensor([reward]) of the answer and flattens the logs, one sample a call in a thread."""
    torch = pytest.importorskip("torch")
    reward_func = for_openrlhf(EQUALS)

    async def one() -> dict[str, Any]:
        return await asyncio.to_thread(reward_func, [PROMPT + "4"], [PROMPT], ["4"])

    answer = asyncio.run(one())
    assert torch.tensor([answer["rewards"]]).tolist() == [1.0]
    assert {key: value.flatten()[0].item() for key, value in answer["extra_logs"].items()} == {"unscored": 0.0}


def test_openrlhf_scores_lie_in_the_unit_interval_on_every_scale() -> None:
    pytest.importorskip("torch")
    values = [0.0, 2.0, -2.0, 1000.0, -1000.0]
    call = ([PROMPT + "r"] * 5, [PROMPT] * 5, [None] * 5)
    for scale in ("logit", "real"):
        result = for_openrlhf(Recorder(values, scale=scale), unscored=0.0)(*call)
        assert result["rewards"].tolist() == values
        # logistic(2) by hand: 1 / (1 + e^-2) = 0.880797
        assert result["scores"].tolist() == pytest.approx([0.5, 0.880797, 0.119203, 1.0, 0.0], abs=1e-6)
    result = for_openrlhf(Recorder([0.25, None], scale="probability"), unscored=-1.0)(*[part[:2] for part in call])
    assert result["rewards"].tolist() == [0.25, -1.0]
    assert result["scores"].tolist() == [0.25, 0.0]


def test_openrlhf_response_is_the_query_after_the_prompt_without_end_tokens() -> None:
    pytest.importorskip("torch")
    recorder = Recorder(scale="verdict", values=[1.0])
    reward_func = for_openrlhf(recorder, end_tokens=["</s>"])
    for text in ("a</s>b</s></s>", "</s>", "", "plain"):
        reward_func([PROMPT + text], [PROMPT], ["x"])
    assert [sample.response for sample in recorder.samples] == ["a</s>b", "", "", "plain"]
    assert recorder.samples[0] == Sample(PROMPT, "a</s>b", "x")


def test_openrlhf_end_tokens_are_stripped_in_linear_time() -> None:
    pytest.importorskip("torch")
    recorder = Recorder(scale="verdict", values=[1.0])
    for_openrlhf(recorder, end_tokens=["<e>"])([PROMPT + "x" + "<e>" * 300_000], [PROMPT], [None])
    assert recorder.samples[0].response == "x"


def test_openrlhf_query_without_its_prompt_is_unscored_and_costs_nobody_else() -> None:
    """OpenRLHF cuts long prompts from the left; where the response begins would then be a guess."""
    pytest.importorskip("torch")
    reward_func = for_openrlhf(EQUALS)
    result = reward_func([PROMPT[5:] + "4", PROMPT + "4"], [PROMPT, PROMPT], ["4", "4"])
    assert result["rewards"].tolist() == [0.0, 1.0]
    assert result["extra_logs"]["unscored"].tolist() == [1.0, 0.0]
    assert reward_func(["q"], ["p"], ["l"])["extra_logs"]["unscored"].tolist() == [1.0]


def question_of(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt.split("user\n")[1].split("<|im_end|>")[0]}]


def test_openrlhf_prompt_can_be_read_back_from_its_template() -> None:
    pytest.importorskip("torch")
    recorder = Recorder(scale="logit", values=[1.0])
    for_openrlhf(recorder, unscored=-5.0, read_prompt=question_of)([PROMPT + "4"], [PROMPT], [None])
    assert recorder.samples == [Sample([{"role": "user", "content": "2+2?"}], "4")]


def test_openrlhf_errors_are_logged_since_it_hides_them(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(UsageError, match="2 queries, 1 prompts and 1 labels"):
        for_openrlhf(EQUALS)(["a", "b"], ["a"], ["a"])
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    with pytest.raises(UsageError, match="end_tokens is a list of tokens, got the string '</s>'"):
        for_openrlhf(EQUALS, end_tokens="</s>")


# --- all of them ---


def test_adapters_pickle_into_another_process() -> None:
    pytest.importorskip("torch")
    trl, verl = pickle.loads(pickle.dumps(for_trl(EQUALS))), pickle.loads(pickle.dumps(for_verl(EQUALS)))
    openrlhf = pickle.loads(pickle.dumps(for_openrlhf(EQUALS, read_prompt=question_of)))
    assert trl.__name__ == "equals"
    assert trl(["p"], ["4"], answer=["4"]) == [1.0]
    assert verl(**verl_row(4)) == {"score": 1.0, "unscored": 0.0}
    assert openrlhf([PROMPT + "4"], [PROMPT], ["4"])["rewards"].tolist() == [1.0]


def test_importing_and_using_the_adapters_loads_neither_torch_nor_a_trainer() -> None:
    code = (
        "import sys\n"
        "from guerdon.rewards import pointwise\n"
        "from guerdon.rewards.trainers import for_openrlhf, for_trl, for_verl\n"
        "scorer = pointwise(lambda s: 1.0, scale='verdict', name='one')\n"
        "for_openrlhf(scorer); for_verl(scorer)('s', 'r', 'r', {'question': 'q'}); for_trl(scorer)(['p'], ['c'])\n"
        "sys.exit(', '.join({'torch', 'numpy', 'trl', 'verl', 'openrlhf', 'transformers'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr

"""The answer finder: what counts as the final answer, what does not, and that every span is where it says."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guerdon.verifiers._answer import MARKED, Answer, backwards, final_part, find_answer
from guerdon.verifiers._numbers import NUMBER

FOUND = [
    # boxes
    (r"Thus the answer is \[ \boxed{42} \]", "42", "boxed"),
    (r"\boxed {7}", "7", "boxed"),
    (r"We find \boxed{\boxed{7}}.", "7", "boxed"),
    (r"Hence $\fbox{\frac{7}{12}}$", r"\frac{7}{12}", "boxed"),
    (r"$\boxed{\frac{a}{b+\frac{1}{c}}}$", r"\frac{a}{b+\frac{1}{c}}", "boxed"),
    (r"\boxed{\left\{1, 2\right\}}", r"\left\{1, 2\right\}", "boxed"),
    (r"First \boxed{5}. That is wrong; it is \boxed{7}.", "7", "boxed"),
    ("Write it in \\boxed . So:\n\\boxed{18}", "18", "boxed"),
    (r"\boxed{**4**.}", "4", "boxed"),
    (r"The primes are \boxed{3}, \boxed{5}, and \boxed{7}.", "3, 5, 7", "boxed"),
    (r"\boxed{3} \text{ and } \boxed{5}", "3, 5", "boxed"),
    (r"\boxed{35 cm} ++++++ \boxed{4}", "4", "boxed"),
    (r"\boxed{1}. Yes, it is \boxed{1} by parity.", "1", "boxed"),
    (r"$x = \boxed{3}$ and $y = \boxed{5}$", "x = 3, y = 5", "boxed"),
    (r"\boxed{2}, \boxed{3} und \boxed{5}", "2, 3, 5", "boxed"),
    (r"so \boxed 7", "7", "boxed"),
    (r"so $\boxed 72$.", "72", "boxed"),
    (r"$\boxed\frac{1}{2}$", r"\frac{1}{2}", "boxed"),
    ("so \boxed{7}, of which the backslash was read as an escape", "7", "boxed"),
    (r"so \\boxed{\\frac{1}{2}}", r"\frac{1}{2}", "boxed"),
    (r"I will put the final answer in \boxed{}. We get 6*3 = 18.", "18", "number"),
    (r"I will put my answer within `\boxed{}`. The sum is $18$.", "18", "formula"),
    (r"Put it in \boxed{your answer}. The answer is 18.", "18", "phrase"),
    # a later mark wins over an earlier box
    ("\\boxed{E \\ll F} holds.\n\n**Answer: D**", "D", "line"),
    ("\\boxed{5}\n<answer>7</answer>", "7", "tag"),
    (r"Answer: the sum is \boxed{5} km", "5", "boxed"),
    (r"\boxed{5}, so the answer is 6", "5", "boxed"),
    (r"\boxed{5}, so the answer: 6", "5", "boxed"),
    (r"\boxed{5} is half of it. Final Answer: The final answer is $10$. I hope it is correct.", "10", "line"),
    (r"\boxed{1} paper and \boxed{2} bins", "1, 2", "boxed"),
    (r"\boxed{(3, 3)} \text{ for part (a) and } \boxed{(1, 1)}", "(3, 3), (1, 1)", "boxed"),
    (r"\boxed{6} apples, but \boxed{12} pears", "12", "boxed"),
    (r"\boxed{6}, so \boxed{12}", "12", "boxed"),
    ("由上可知。\n\n故选：D.", "D", "line"),
    ("The answer is Rs. 250.", "Rs. 250", "phrase"),
    ("所以答案选B", "B", "phrase"),
    ("因此选项 A 错，故选 C。", "C", "phrase"),
    (r"Is \boxed{6} prime? No.", "6", "boxed"),
    (r"Is it \boxed{6}? No doubt about it.", "6", "boxed"),
    # tags
    ("<think>a</think><answer> 48480 </answer>", "48480", "tag"),
    ("<answer>1</answer> no: <answer>2</answer>", "2", "tag"),
    (r"<answer>\boxed{5}</answer>", "5", "boxed"),
    ("<answer>The final answer is 5.</answer>", "5", "tag"),
    ("<answer>two\nlines\n</answer>", "two\nlines", "tag"),
    ('{"reasoning": "6*7 = 42", "answer": "42"}', "42", "tag"),
    ('```json\n{"answer": 42}\n```', "42", "tag"),
    ('{"answer": "\\\\frac{1}{2}"}', r"\frac{1}{2}", "tag"),
    ('{"answer": 3, "confidence": 0.9}', "3", "tag"),
    ("{'final_answer': '3/4'}", "3/4", "tag"),
    # the GSM8K marker, and headings that look like it
    ("#### 9", "9", "hash"),
    ("4 + 5\n#### 9\nThe answer is: 8", "9", "hash"),
    ("#### x + 1", "x + 1", "hash"),
    ("#### 1. Count\nThere are 5 apples.\n#### 2. Add\nSo 7 apples.", "7", "number"),
    # lines and headings
    ("✅ Final Answer: **73**", "73", "line"),
    ("**Answer:** 4.", "4", "line"),
    ("ANSWER: $\\frac{5}{6}$", r"\frac{5}{6}", "line"),
    ("### Final Answer\n\nThe robe takes 3 bolts.", "The robe takes 3 bolts", "line"),
    ("**Answer**\n- 12", "12", "line"),
    ("Answer:\n\\[\n x = 5 \n\\]", "x = 5", "line"),
    ("Answer: 12 fails the check.\nAgain:\nAnswer: 15", "15", "line"),
    ("Final Answer: The final answer is $5$. I hope it is correct.", "5", "line"),
    ("So my answer: 3.5 hours.<|im_end|>", "3.5 hours", "line"),
    ("答案：B", "B", "line"),
    ("Answer:\n```\n42\n```", "42", "line"),
    ("**Final Answer**\n\n$$x = 5$$", "x = 5", "line"),
    ("Answer: 7 (since 3 + 4 = 7)", "7", "line"),
    ("Antwort: 7 Äpfel", "7 Äpfel", "line"),
    ("Réponse finale : 7", "7", "line"),
    ("Respuesta final: 7", "7", "line"),
    ("Ответ: 7", "7", "line"),
    ("答え：7", "7", "line"),
    # phrases
    ("Die Antwort ist 7.", "7", "phrase"),
    ("Das Ergebnis ist 7. Wir haben 3 Sätze.", "7", "phrase"),
    ("La réponse est 7, car 3 + 4 = 7.", "7, car 3 + 4 = 7", "phrase"),
    ("La respuesta es 7.", "7", "phrase"),
    ("La solución es 7. Son 3 casos.", "7", "phrase"),
    ("La risposta è 7.", "7", "phrase"),
    ("A resposta é 7.", "7", "phrase"),
    ("Итак, ответ равен 7. Всего 3 случая.", "7", "phrase"),
    ("答えは7", "7", "phrase"),
    ("정답은 7", "7", "phrase"),
    ("最终答案是7。", "7", "phrase"),
    ("The adoption is 5 years ago, so 7 are left", "7", "number"),
    ("The correct answer is whatever the reference says.", "whatever the reference says", "phrase"),
    ("The answer is 72, in total, so the farmer earns that much.", "72", "phrase"),
    ("The answer is B. Note that A is a common distractor.", "B", "phrase"),
    ("the answer is therefore **5**", "5", "phrase"),
    ("The answer is Dr. Brown. He did it.", "Dr. Brown", "phrase"),
    ("The answer would be $29.00.", "$29.00", "phrase"),
    ("The answers are 9 and 10", "9 and 10", "phrase"),
    ("The result is:\n\n**256**", "256", "phrase"),
    ("the answer is 5!", "5!", "phrase"),
    ("The answer is yes!", "yes", "phrase"),
    ("The answer is all real numbers except -4.", "all real numbers except -4", "phrase"),
    ("所以答案是 5。", "5", "phrase"),
    # formulas and numbers
    (r"the solution set is then $m \in [\sqrt{2}, +\infty)$", r"m \in [\sqrt{2}, +\infty)", "formula"),
    ("10+111 so it's $121$", "121", "formula"),
    (r"so \(x=4\) and 3 cases are left", "3", "number"),
    ("so $5, or $6, was paid", "$5, or $6", "number"),
    ("so $5 and $6 were paid", "$5 and $6", "number"),
    ("the total cost is $29.00.", "$29.00", "number"),
    ("There were 4 rows of 3 minus 1, so 11 apples.", "11", "number"),
    ("The total is 72 clips, altogether.", "72", "number"),
    ("the area of the square is 9 cm^2", "9 cm^2", "number"),
    ("it has 3 million people", "3 million", "number"),
    ("it takes 12 minutes in all", "12 minutes", "number"),
    ("left are 3 or 4", "3 or 4", "number"),
    ("that leaves -3", "-3", "number"),
    ("pages 3-5", "5", "number"),
    ("Answer: 5. No, wait: 8.", "8", "number"),
    ("The answer is 5. That is wrong; it is 8.", "8", "number"),
    ("The answer is 5. Correction: 8", "8", "number"),
    ("so it is 7, not 12.", "7", "number"),
    ("We get 7 rather than 12.", "7", "number"),
    (r"Thus it equals \frac{\sqrt{3}}{2}, as claimed.", r"\frac{\sqrt{3}}{2}", "number"),
    # what is set off from the words
    ("We get\n\n**7**", "7", "formula"),
    ("Simplified, this is **2x + 3**.", "2x + 3", "formula"),
    ("Simplified, this is `2x + 3`.", "2x + 3", "formula"),
    ("So:\n```\nx + 2\n```", "x + 2", "formula"),
    ("This gives 7.\n\n**Step 2: Check**", "2", "number"),
    # a number in a plain formula is only a part of it
    ("so r = 2*pi", "2*pi", "number"),
    ("so y = 2x + 3.", "2x + 3", "number"),
    ("Hence x = 2√3 cm", "2√3 cm", "number"),
    ("The simplified form is 3xy + 2.", "3xy + 2", "number"),
    ("so the point is (1, 2).", "(1, 2)", "number"),
    ("the interval is [2, 5)", "[2, 5)", "number"),
    ("so x = 1, 2", "1, 2", "number"),
    ("the ratio is 3:4", "3:4", "number"),
    ("it is at 3:15", "3:15", "number"),
    ("so it is x^2", "x^2", "number"),
    ("thus f(x) = 3x^2 - 1", "3x^2 - 1", "number"),
    ("so it is 5!", "5!", "number"),
    ("She read 3, 4 and 5 pages", "3, 4 and 5", "number"),
    # … and beside one it stands alone
    ("The perimeter is 2*(3+4) = 14", "14", "number"),
    ("125 + 250 = <<125+250=375>>375 chimichangas.", "375", "number"),
    ("In 1999, 5 people came.", "5", "number"),
    ("Total - 5", "5", "number"),
    ("A: 500", "500", "number"),
    ("left are 5 a day", "5", "number"),
    ("we use 3 x 4 trays, so 12", "12", "number"),
    ("It costs $5.", "$5", "number"),
    # after the thinking
    (r"<think>maybe \boxed{5}</think>It is \boxed{7}.", "7", "boxed"),
    (r"maybe \boxed{5}</think>It is 7.", "7", "number"),
    ("<reasoning>5</reasoning>\n<answer>6</answer>", "6", "tag"),
    ("<|channel|>analysis<|message|>5<|end|><|start|>assistant<|channel|>final<|message|>It is 6.", "6", "number"),
    (r"The answer is 6. <think>or rather \boxed{5}", "6", "phrase"),
]

NOT_FOUND = [
    ("", "the response is empty"),
    (" \n", "the response is empty"),
    ("I was not able to finish the computation.", "no answer found"),
    ("AZYUK2A", "no answer found"),
    (r"The answer is \boxed{}.", "the last box is empty"),
    (r"\boxed{5} or \boxed{ }", "the last box is empty"),
    (r"I wrote \boxed{12}, but that was wrong; the right value is \boxed{", "the last box is not closed"),
    (r"\boxed{12}. Scratch that.", "the answer was taken back"),
    (r"Is it \boxed{12}? No: a case is missing.", "the answer was taken back"),
    (r"\boxed{12}. Hmm, that can't be right.", "the answer was taken back"),
    ("Answer: 12\nI made a mistake.", "the answer was taken back"),
    ('{"answer": ""}', 'the last "answer" is empty'),
    ("<think>Twelve.</think><answer></answer>", "the last <answer> is empty"),
    ("<answer>5</answer><answer>6", "the last <answer> is not closed"),
    ("Answer: 5\nFinal Answer:", "nothing follows the last 'Answer:'"),
    (r"<think>I get \boxed{5}", "the response ends inside its thinking"),
    (r"<think>I get \boxed{5}</think>", "nothing follows the thinking"),
    (r"<think>I get \boxed{5}</think>I cannot determine the answer.", "no answer found"),
    ("The answer is not 12.", "the response gives up or rejects what it mentions"),
    ("It can't be 12.", "the response gives up or rejects what it mentions"),
    ("The value 12 is incorrect.", "the response gives up or rejects what it mentions"),
    ("So 12. That is wrong.", "the answer was taken back"),
    (
        "I considered 21 early on, but the constraint rules it out, so I could not determine the value.",
        "the response gives up or rejects what it mentions",
    ),
]

HEDGED = [
    r"\boxed{3 \text{ or } 4}",
    r"The answer is \boxed{3}. Or possibly \boxed{4}.",
    "The answer is 3 or 4.",
    "<answer>either 3 or 4</answer>",
    "Die Antwort ist 3 oder 4.",
    "The answer is 3, but it could also be 4.",
    "The answer is 3. Alternatively, $4$.",
    r"The answer is \boxed{3}, though it might be \boxed{4}.",
    "I think it is 3. It could also be 4.",
    "It is 3 or maybe 4",
]


@pytest.mark.parametrize(("response", "text", "style"), FOUND)
def test_the_final_answer_is_found(response: str, text: str, style: str) -> None:
    answer = find_answer(response)
    assert (answer.text, answer.style) == (text, style)


@pytest.mark.parametrize(("response", "reason"), NOT_FOUND)
def test_no_answer_has_its_reason_and_nothing_steps_in(response: str, reason: str) -> None:
    answer = find_answer(response)
    assert answer.text is None
    assert answer.reason == reason


@pytest.mark.parametrize("response", HEDGED)
def test_alternatives_are_one_hedged_answer(response: str) -> None:
    answer = find_answer(response)
    assert "hedged" in answer.flags
    assert answer.text is not None
    assert "3" in answer.text
    assert "4" in answer.text


def test_final_boxed_answer_survives_a_flood_of_earlier_boxes() -> None:
    assert find_answer(r"\boxed{1}" * 50_000 + r" so \boxed{2}").text == "2"


def test_a_taken_back_answer_is_replaced_by_what_follows() -> None:
    assert find_answer(r"\boxed{12}. That is wrong, I get 15.").text == "15"


def test_doubt_that_ends_well_takes_nothing_back() -> None:
    assert find_answer(r"\boxed{12}. Wait, let me check: 3*4 = 12. Yes.").text == "12"


def test_the_same_value_boxed_twice_is_no_hedge() -> None:
    answer = find_answer(r"\boxed{1} or \boxed{1}")
    assert (answer.text, answer.flags) == ("1", ("several_boxes",))


def test_only_the_allowed_styles_are_looked_for() -> None:
    response = "The answer is 7.\n<answer>8</answer>"
    assert find_answer(response, styles=("phrase",)).text == "7"
    assert find_answer(response, styles=("boxed",)).reason == "no answer found"
    assert find_answer("So 7.", styles=MARKED).text is None


def test_long_answers_are_shown_shortened_in_details_only() -> None:
    answer = find_answer("<answer>" + "x" * 1_000 + "</answer>")
    assert answer.text == "x" * 1_000
    assert answer.details()["answer"] == "x" * 200 + "…"
    assert answer.details(stage="s")["stage"] == "s"


marks = [
    r"\boxed{",
    "}",
    "{",
    r"\fbox{",
    "<answer>",
    "</answer>",
    "<think>",
    "</think>",
    "#### ",
    "Answer:",
    "answer is",
]
marks += [
    "$",
    "$$",
    r"\(",
    r"\)",
    r"\[",
    r"\]",
    "**",
    "_",
    r"\text{",
    r"\frac12",
    "答案",
    "是",
    " or ",
    " and ",
    "is wrong",
]
marks += ["5", "-3", "1,234", "½", "x", "=", ",", ".", ";", "!", "?", " ", "\n", "\n\n"]
pieces = st.sampled_from(marks)
texts = st.lists(pieces, max_size=40).map("".join) | st.text(max_size=200)


@given(texts)
@example(r"\boxed{3}, \boxed{5}")
def test_the_span_of_an_answer_is_where_it_stands(response: str) -> None:
    answer = find_answer(response)
    assert 0 <= answer.start <= answer.end <= len(response)
    assert (answer.text is None) == bool(answer.reason)
    if answer.text is not None:
        assert answer.text.strip() == answer.text != ""
        assert (
            response[answer.start : answer.end] == answer.text
            or {"several_boxes", "hedged"} & {*answer.flags}
            or r"\\" in response
        )
        assert answer.start >= final_part(response)[0]


@given(texts)
def test_what_comes_before_a_closing_boxed_answer_changes_nothing(noise: str) -> None:
    response = noise.replace("<think>", "") + "\n\nIt is\n\n\\boxed{271}"
    if noise.count("{") == noise.count("}") == 0:
        assert find_answer(response).text == "271"


@given(texts, st.sampled_from(["", " ", "\n", "  \n\n"]), st.sampled_from(["", " ", "\n\n", "\t"]))
def test_space_around_a_response_changes_nothing(response: str, before: str, after: str) -> None:
    def seen(answer: Answer) -> tuple[object, ...]:
        return answer.text, answer.style, answer.flags

    assert seen(find_answer(before + response + after)) == seen(find_answer(response))


@given(texts.map(lambda text: text * 30))
def test_reading_backwards_finds_what_reading_forwards_finds(text: str) -> None:
    forwards = [match.span() for match in NUMBER.finditer(text)]
    assert [match.span() for match in backwards(NUMBER, text, 0, len(text))] == forwards[::-1]

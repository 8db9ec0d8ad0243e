"""What guerdon writes into chat templates: the join rule, the frozen date, the one BOS."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from guerdon.rewards.errors import RenderError, UsageError
from guerdon.rewards.render import DATE, JoinRule, Renderer
from guerdon.rewards.rendering import templates

USER = {"role": "user", "content": "q"}
ASSISTANT = {"role": "assistant", "content": "a"}
DATED = "{{ strftime_now('%d %b %Y') }}{% for m in messages %}{{ m['content'] }}<|eot_id|>{% endfor %}"


@pytest.fixture
def on_another_day(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the clock that transformers gives to templates."""

    def set_clock(iso: str) -> None:
        class Clock(datetime.datetime):
            @classmethod
            def now(cls, tz: datetime.tzinfo | None = None) -> Clock:
                return cls.fromisoformat(iso)

        monkeypatch.setattr("transformers.utils.chat_template_utils.datetime", Clock)

    return set_clock


def printed(tokenizer: Any, template: str, *messages: dict[str, Any]) -> str:
    return templates.apply(tokenizer, template, messages or (USER, ASSISTANT))


def test_a_template_that_prints_the_date_renders_the_same_on_two_days(byte_tokenizer: Any, on_another_day: Any) -> None:
    tokenizer = byte_tokenizer(template=DATED)
    texts, ids, fingerprints = [], [], []
    for day in ("2024-01-31", "2026-11-30"):
        on_another_day(day)
        texts.append(printed(tokenizer, DATED))
        renderer = Renderer.for_training(tokenizer)
        ids.append(renderer.render("q", "a").ids)
        fingerprints.append(renderer.fingerprint)
        # TRL, which knows nothing of us, renders the saved template on any day
        saved = renderer.tokenizer().apply_chat_template([USER, ASSISTANT], tokenize=True, return_dict=False)
        assert tuple(saved) == ids[-1]
    assert texts[0] != texts[1], "the clock was not turned, so this test proves nothing"
    assert ids[0] == ids[1]
    assert fingerprints[0] == fingerprints[1]


def test_the_date_is_the_documented_one_and_part_of_the_fingerprint(byte_tokenizer: Any) -> None:
    default = Renderer.for_training(byte_tokenizer(template=DATED))
    other = Renderer.for_training(byte_tokenizer(template=DATED), date="2025-12-01")
    assert default.tokenizer().decode(default.render("q", "a").ids).startswith("26 Jul 2024")
    assert default.describe()["date"] == default.date == DATE
    assert other.tokenizer().decode(other.render("q", "a").ids).startswith("01 Dec 2025")
    assert default.fingerprint != other.fingerprint


def test_a_template_without_a_date_does_not_depend_on_one(toy: Any) -> None:
    renderer = Renderer.for_training(toy, date="2025-12-01")
    assert renderer.describe()["date"] == "not printed"
    assert renderer.fingerprint == Renderer.for_training(toy).fingerprint


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("%d %b %Y", "05 Mar 2024"),
        ("%Y-%m-%d", "2024-03-05"),
        ("%B %-d, %Y", "March 5, 2024"),
        ("%A, %H:%M:%S", "Tuesday, 00:00:00"),
        ("%F|%D|%j|%y|%-m", "2024-03-05|03/05/24|065|24|3"),
    ],
)
def test_every_usual_form_of_a_date_is_frozen(toy: Any, code: str, text: str) -> None:
    template, dated = templates.freeze_date(f"{{{{ strftime_now('{code}') }}}}", "2024-03-05")
    assert dated
    assert printed(toy, template) == text


def test_date_string_is_frozen_where_it_has_a_default_or_none(toy: Any) -> None:
    default = "{% if not date_string is defined %}{% set date_string = 'today' %}{% endif %}{{ date_string }}"
    for template in (default, "{{ date_string }}", "{% if strftime_now is defined %}{{ date_string }}{% endif %}"):
        assert printed(toy, templates.freeze_date(template, DATE)[0]) == "26 Jul 2024"


def test_freezing_again_sets_the_new_day(toy: Any) -> None:
    once, _ = templates.freeze_date(DATED, DATE)
    assert templates.freeze_date(once, DATE)[0] == once
    assert templates.freeze_date(once, "2025-12-01")[0] == templates.freeze_date(DATED, "2025-12-01")[0]


@pytest.mark.parametrize("template", ["  {{ 'a' }}", "\n{{ 'a' }}", "  {% set x = 1 %}\nb", "\n\n{#- c -#}\n d", ""])
def test_what_is_put_before_a_template_changes_nothing_else_in_it(toy: Any, template: str) -> None:
    alone = printed(toy, template)
    assert printed(toy, templates.begin_with_bos(template)) == toy.bos_token + alone
    dated = template + "{# strftime_now #}"
    assert printed(toy, templates.freeze_date(dated, DATE)[0]) == printed(toy, dated)


@pytest.mark.parametrize("date", ["yesterday", "2024-13-01", "", None, 20240726])
def test_a_date_that_is_none_is_an_error(toy: Any, date: Any) -> None:
    with pytest.raises(UsageError, match="date must be a day like '2024-07-26', got"):
        Renderer.for_training(toy, date=date)


# -- BOS

NO_BOS = "{% for m in messages %}{{ m['content'] }}<|eot_id|>{% endfor %}"


@pytest.mark.parametrize("template", [NO_BOS, "{{ bos_token }}" + NO_BOS])
def test_there_is_exactly_one_bos_where_the_tokenizer_puts_one(byte_tokenizer: Any, template: str) -> None:
    renderer = Renderer.for_training(byte_tokenizer(template=template, adds_bos=True))
    ids = renderer.render("q", "a <|begin_of_text|>").ids
    assert ids[0] == 0
    assert ids.count(0) == 1
    benign = renderer.render("q", "a").ids
    saved = renderer.tokenizer().apply_chat_template([USER, ASSISTANT], tokenize=True, return_dict=False)
    assert tuple(saved) == benign


def test_the_template_decides_where_the_tokenizer_puts_no_bos(byte_tokenizer: Any) -> None:
    assert 0 not in Renderer.for_training(byte_tokenizer(template=NO_BOS)).render("q", "a").ids


def test_two_bos_in_a_template_are_an_error(byte_tokenizer: Any) -> None:
    with pytest.raises(RenderError, match=r"prints <\|begin_of_text\|> twice"):
        Renderer.for_training(byte_tokenizer(template="<|begin_of_text|>{{ bos_token }}" + NO_BOS))


def test_a_note_tells_what_was_changed(byte_tokenizer: Any) -> None:
    renderer = Renderer.for_training(byte_tokenizer(template=DATED, adds_bos=True))
    assert [note.split(",")[0] for note in renderer.notes] == [
        "the template prints no BOS",
        "the template prints the date",
        "pad token <|pad|> (id 260): its pad token <|eot_id|> may end a text",
    ]


def test_a_note_warns_of_a_template_that_hides_reasoning(byte_tokenizer: Any) -> None:
    template = "{% for m in messages %}{{ m['content'].split('</think>')[-1] }}<|eot_id|>{% endfor %}"
    renderer = Renderer.for_training(byte_tokenizer(template=template))
    assert any("drops what a response says between <think> and </think>" in note for note in renderer.notes)


# -- join rules

RULE = JoinRule(
    start="^", turn="{role}> {text}", only="Q {text}", between=" | ", middle=" = ", response="A {text}", end="$"
)
CALL = {"role": "assistant", "content": "", "tool_calls": [{"name": "f"}]}
TOOL = {"role": "tool", "content": "7"}
SYSTEM = {"role": "system", "content": "s"}


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([USER, ASSISTANT], "^Q q = A a$"),
        ([SYSTEM, USER, ASSISTANT], "^system> s | user> q = A a$"),
        ([USER, ASSISTANT, USER, ASSISTANT], "^user> q | assistant> a | user> q = A a$"),
        ([USER, CALL, TOOL, ASSISTANT], '^Q q = assistant> [{"name": "f"}] | tool> 7 | assistant> a$'),
        ([ASSISTANT], "^ = A a$"),
    ],
)
def test_a_join_rule_joins_as_it_says(toy: Any, messages: list[dict[str, Any]], text: str) -> None:
    assert printed(toy, RULE.template(), *messages) == text


def test_a_join_rule_keeps_quotes_braces_newlines_and_emoji(toy: Any) -> None:
    odd = "\"'\\ {{ x }} {% y %} {# z #} \n é🏴"
    rule = JoinRule(start=odd, turn="{role}" + odd + "{text}", only=odd + "{text}", response="{text}" + odd, end=odd)
    text = f"{odd}{odd}q\n\na{odd}{odd}"
    assert printed(toy, rule.template()) == text


def test_a_join_rule_prints_what_messages_say_and_does_not_run_it(toy: Any) -> None:
    text = "{{ 7 * 6 }}{% for x in range(10**9) %}{role} {text}"
    assert printed(toy, RULE.template(), {"role": "user", "content": text}, ASSISTANT) == f"^Q {text} = A a$"


def test_an_encoder_is_joined_as_it_encodes_a_pair(minilm: Any) -> None:
    renderer = Renderer.for_training(minilm)
    assert renderer.join == JoinRule.for_tokenizer(minilm)
    assert list(renderer.render("one two", "three").ids) == minilm("one two", "three")["input_ids"]


def test_a_decoder_without_template_gets_bos_roles_and_eos(byte_tokenizer: Any) -> None:
    tokenizer = byte_tokenizer(template=None)
    renderer = Renderer.for_training(tokenizer)
    ids = renderer.render("q", "a").ids
    assert tokenizer.decode(ids) == "<|begin_of_text|>user: q\n\nassistant: a<|eot_id|>"


def test_a_join_rule_replaces_a_template_when_it_is_asked_for(toy: Any) -> None:
    renderer = Renderer.for_training(toy, join=JoinRule(end="<|eot_id|>"))
    assert renderer.tokenizer().decode(renderer.render("q", "a").ids) == "user: q\n\nassistant: a<|eot_id|>"


def test_a_tokenizer_that_can_end_no_text_needs_a_rule(byte_tokenizer: Any) -> None:
    tokenizer = byte_tokenizer(template=None, pad=None)
    tokenizer.eos_token = None
    with pytest.raises(RenderError, match="no EOS token to end a text; pass join=JoinRule"):
        Renderer.for_training(tokenizer)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"turn": "{text}"}, r"JoinRule.turn must hold '\{role\}'"),
        ({"turn": "{role}"}, r"JoinRule.turn must hold '\{text\}' exactly once, got '\{role\}'"),
        ({"only": "Q:"}, "JoinRule.only"),
        ({"response": "{text}{text}"}, "JoinRule.response"),
    ],
)
def test_a_join_rule_that_loses_text_is_an_error(fields: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        JoinRule(**fields)

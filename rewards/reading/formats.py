"""From the columns of a row to a record: which layouts of preference data are read, and by which names.

A source has one layout, decided by its first row; a later row that lacks a column of it is wrong. Columns that a
record does not use are kept in its ``meta``.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal, TypeAlias

from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.rewards.reading.conversations import alike, check_response, conversation, explicit, implicit
from guerdon.rewards.types import Preference, Ranking, Sample

Kind: TypeAlias = Literal["preferences", "rankings", "ties", "samples"]
Layout: TypeAlias = Literal["explicit", "implicit", "sharegpt", "rankings", "ties", "samples"]

ALIASES: Mapping[str, tuple[str, ...]] = {
    "prompt": ("prompt", "context", "question", "problem"),
    "chosen": ("chosen",),
    "rejected": ("rejected",),
    "margin": ("margin",),
    "probability": ("probability",),
    "weight": ("weight",),
    "conversations": ("conversations",),
    "system": ("system",),
    "completions": ("completions",),
    "response_a": ("response_a",),
    "response_b": ("response_b",),
    "label": ("label",),
    "response": ("response", "completion", "output"),
    "reference": ("reference", "answer", "solution", "ground_truth", "gold"),
    "group": ("group", "group_id"),
}
"""Our names, and the columns that are taken for each. The first is used where several are there.

``label`` is no name of a reference: it holds the reference in some data and a verdict on the response in other.
"""

PROMPT_LIKE = ("instruction", "query", "input", "messages", "conversation", "dialogue", "history", "text")
"""Columns that may hold the prompt, or may not: where one is present and no prompt is, the caller is asked."""

FIELDS: Mapping[Kind, tuple[str, ...]] = {
    "preferences": ("prompt", "chosen", "rejected", "margin", "probability", "weight", "conversations", "system"),
    "rankings": ("prompt", "completions"),
    "ties": ("prompt", "response_a", "response_b", "label"),
    "samples": ("prompt", "response", "reference", "group"),
}
"""What each kind of record is made of."""

FORMATS = """\
  preferences  prompt, chosen, rejected                    or chosen, rejected that share a prompt
               conversations, chosen, rejected             (LLaMA-Factory)
  rankings     prompt or context, completions: [{"rank", "completion"}, ...]
  ties         prompt, response_a, response_b, label: a | b | tie
  samples      prompt, response, and reference, group if there are any"""


class Fields:
    """The columns of one row under our names; what is taken becomes the record, the rest its meta."""

    def __init__(self, columns: Mapping[str, Any], names: Mapping[str, str]) -> None:
        """names: the caller's own column for some of our names."""
        self.columns, self._names = columns, names
        self._taken: set[str] = set()

    def column(self, field: str) -> str | None:
        """The column that holds a field, or None."""
        given = self._names.get(field)
        if given is not None:
            if given not in self.columns:
                raise UsageError(f"no {given!r}, which was named as the column of {field!r}; {self.listed()}")
            return given
        present = [name for name in ALIASES[field] if name in self.columns]
        if len(present) > 1 and present[0] != field:
            raise UsageError(
                f"{field} may be any of {', '.join(present)}; say which with columns={{{field!r}: {present[0]!r}}}"
            )
        return present[0] if present else None

    def take(self, field: str) -> Any:
        """The field's value; None if it is absent or null."""
        column = self.column(field)
        if column is None:
            return None
        self._taken.add(column)
        return self.columns[column]

    def need(self, *fields: str) -> None:
        """Raise UsageError naming every field that is absent."""
        missing = [field for field in fields if self.column(field) is None]
        if missing:
            raise UsageError(f"no {', '.join(map(repr, missing))}; {self.listed()}")

    def rest(self, where: str) -> dict[str, Any]:
        """The columns not taken, and ``where``; a column of that name goes to ``where_column``."""
        meta = {name: value for name, value in self.columns.items() if name not in self._taken}
        if "where" in meta:
            meta["where_column"] = meta["where"]
        return {**meta, "where": where}

    def listed(self) -> str:
        """The columns that there are, for a message: the first twenty of them."""
        names = [f"{name!s:.60}" for name in sorted(map(str, self.columns))]
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        return f"the columns are {', '.join(names[:20]) or '(none)'}{more}"


def checked_names(names: Mapping[str, str] | None) -> Mapping[str, str]:
    """The caller's column names; raises UnknownNameError for a field that there is not."""
    for field in names or {}:
        if field not in ALIASES:
            raise UnknownNameError("field", field, ALIASES)
    return names or {}


def layout_of(fields: Fields) -> Layout:
    """The layout of a row; raises UsageError, listing columns and formats, if it is none of ours."""

    def has(*names: str) -> bool:
        return any(fields.column(name) for name in names)

    if has("chosen", "rejected"):
        if has("prompt"):
            return "explicit"
        if has("conversations"):
            return "sharegpt"
        likely = [name for name in PROMPT_LIKE if name in fields.columns]
        if likely:
            listed = ", ".join(map(repr, likely))
            raise UsageError(f"no 'prompt', but {listed}; name the prompt with columns={{'prompt': {likely[0]!r}}}")
        return "implicit"
    if has("response_a", "response_b"):
        return "ties"
    if has("completions"):
        return "rankings"
    if has("response"):
        return "samples"
    raise UsageError(f"{fields.listed()}, which is none of the formats:\n{FORMATS}")


def kind_of_layout(layout: Layout) -> Kind:
    """What records a layout holds."""
    return "preferences" if layout in ("explicit", "implicit", "sharegpt") else layout  # type: ignore[return-value]


def preference_of(fields: Fields, where: str, layout: Layout) -> Preference:
    """A labelled pair. Two responses that are the same contradict their label, unless its probability is 0.5."""
    fields.need("chosen", "rejected")
    chosen, rejected = (conversation(fields.take(name), name) for name in ("chosen", "rejected"))
    if layout == "implicit":
        if fields.column("prompt"):
            raise UsageError(
                "has a prompt, but the first row of this source has none and was read as whole conversations"
            )
        prompt, chosen, rejected = implicit(chosen, rejected)
    else:
        prompt, chosen, rejected = explicit(_prompt(fields, layout), chosen, rejected)
    probability = _number(fields, "probability")
    if chosen == rejected and probability != 0.5:
        raise UsageError("chosen and rejected are the same; delete the row, or give it the probability 0.5")
    weight = _number(fields, "weight")
    return Preference(
        prompt,
        chosen,
        rejected,
        margin=_number(fields, "margin"),
        probability=probability,
        weight=1.0 if weight is None else weight,
        meta=fields.rest(where),
    )


def tie_of(fields: Fields, where: str, layout: Layout) -> Preference:
    """A compared pair whose label may be a tie: the better response is chosen; a tie has the probability 0.5.

    On a tie chosen is ``response_a``. ``label`` stays in meta, so that the outcome can be told.
    """
    fields.need("prompt", "response_a", "response_b", "label")
    a, b = (_response(fields.take(name), name) for name in ("response_a", "response_b"))
    prompt, (a, b) = alike(_prompt(fields, layout), [a, b])
    label = fields.take("label")
    if label not in ("a", "b", "tie"):
        raise UsageError(f"label must be 'a', 'b' or 'tie', got {label!r:.60}")
    if a == b and label != "tie":
        raise UsageError(f"response_a and response_b are the same, but label is {label!r}")
    chosen, rejected = (b, a) if label == "b" else (a, b)
    meta = {**fields.rest(where), "label": label}
    return Preference(prompt, chosen, rejected, probability=0.5 if label == "tie" else None, meta=meta)


def ranking_of(fields: Fields, where: str, layout: Layout) -> Ranking:
    """A K-wise record. Ranks are whole numbers, smaller is better, shifted so that the best is 0.

    What else a completion holds (its model, say) goes to ``meta["completions"]``, one mapping a response.
    """
    fields.need("prompt", "completions")
    completions = fields.take("completions")
    if not isinstance(completions, (list, tuple)) or len(completions) < 2:
        raise UsageError(f"completions must be a list of at least two, got {completions!r:.60}")
    responses, ranks, others = [], [], []
    for index, item in enumerate(completions):
        name = f"completions[{index}]"
        if not isinstance(item, Mapping) or "rank" not in item or "completion" not in item:
            raise UsageError(f"{name} must have 'rank' and 'completion', got {_keys(item)}")
        rank = item["rank"]
        if isinstance(rank, bool) or not (
            isinstance(rank, int) or (isinstance(rank, Real) and float(rank).is_integer())
        ):
            raise UsageError(f"{name}: rank must be a whole number, 0 for the best, got {rank!r:.60}")
        responses.append(_response(item["completion"], f"{name}: completion"))
        ranks.append(int(float(rank)))
        others.append({key: value for key, value in item.items() if key not in ("rank", "completion")})
    prompt, responses = alike(_prompt(fields, layout), responses)
    meta = {**fields.rest(where), "completions": others}
    return Ranking(prompt, responses, [rank - min(ranks) for rank in ranks], meta)


def sample_of(fields: Fields, where: str, layout: Layout) -> Sample:
    """One response to one prompt. A reference is also found in verl's ``reward_model["ground_truth"]``."""
    fields.need("prompt", "response")
    prompt, (response,) = alike(_prompt(fields, layout), [_response(fields.take("response"), "response")])
    reference = fields.take("reference")
    verl = fields.columns.get("reward_model")
    if fields.column("reference") is None and isinstance(verl, Mapping):
        reference = verl.get("ground_truth")
    group = fields.take("group")
    if group is not None and not isinstance(group, (str, int)):
        raise UsageError(f"group must be text or a whole number, got {type(group).__name__}: {group!r:.60}")
    return Sample(prompt, response, reference, None if group is None else str(group), fields.rest(where))


def _prompt(fields: Fields, layout: Layout) -> Any:
    if layout != "sharegpt":
        fields.need("prompt")
        return conversation(fields.take("prompt"), "prompt")
    fields.need("conversations")
    prompt = conversation(fields.take("conversations"), "conversations")
    system = fields.take("system")
    return [{"role": "system", "content": system}, *prompt] if system else prompt


def _response(value: Any, name: str) -> Any:
    response = conversation(value, name)
    check_response(response, name)
    return response


def _number(fields: Fields, name: str) -> float | None:
    value = fields.take(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name} must be a number or null, got {type(value).__name__}: {value!r:.60}")
    try:
        return float(value)
    except OverflowError:
        raise UsageError(f"{name} must be a number, got one too large: {value!r:.20}…") from None


def _keys(item: Any) -> str:
    return f"the keys {', '.join(sorted(map(str, item)))}" if isinstance(item, Mapping) else f"{item!r:.60}"

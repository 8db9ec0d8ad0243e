"""Options of a verifier: the keyword-only arguments of its ``verify``, checked once against their annotations."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from guerdon.rewards.errors import UnknownNameError, UsageError

_SPOKEN = {str: "text", bool: "True or False", int: "a whole number", float: "a number", type(None): "None"}


def checked_options(
    name: str, verify: Callable[..., Any], options: Mapping[str, Any], reserved: Collection[str] = ()
) -> dict[str, Any]:
    """The options as given, if each exists and fits its annotation and none is lacking; raises otherwise."""
    parameters = inspect.signature(verify).parameters.values()
    choices = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in reserved}
    hints = get_type_hints(verify)
    for option, value in options.items():
        if option not in choices:
            raise UnknownNameError(f"option of verifier {name!r}", option, choices)
        hint = hints.get(option, Any)
        if not _fits(value, hint):
            raise UsageError(f"option {option!r} of verifier {name!r} must be {_spoken(hint)}, got {value!r:.80}")
    for option, parameter in choices.items():
        if parameter.default is parameter.empty and option not in options:
            raise UsageError(f"verifier {name!r} needs the option {option!r}: load({name!r}, {option}=...)")
    return dict(options)


def _fits(value: Any, hint: Any) -> bool:
    kind, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind is Literal:
        return any(value == word and type(value) is type(word) for word in inside)
    if kind in (Union, types.UnionType):
        return any(_fits(value, one) for one in inside)
    if isinstance(kind, type) and issubclass(kind, Sequence):
        return isinstance(value, (list, tuple)) and all(_fits(item, inside[0]) for item in value)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind or hint)


def _spoken(hint: Any) -> str:
    """An annotation in words, for the error message."""
    kind, inside = get_origin(hint), get_args(hint)
    if kind is Literal:
        return f"one of {', '.join(map(repr, inside))}"
    if kind in (Union, types.UnionType):
        return " or ".join(map(_spoken, inside))
    if isinstance(kind, type) and issubclass(kind, Sequence):
        return f"a list, each {_spoken(inside[0])}"
    return _SPOKEN.get(hint, getattr(hint, "__name__", str(hint)))

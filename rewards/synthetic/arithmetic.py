"""Sums, word problems and units, with the mistakes people make: off by one, the wrong operation, a step left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from guerdon.rewards.synthetic.task import Task
from guerdon.rewards.synthetic.words import COUNTED, NAMES


@dataclass(frozen=True, slots=True)
class _Worked:
    """A result and how one came to it (the working may itself be wrong)."""

    value: int
    working: str


@dataclass(frozen=True, slots=True)
class _Story:
    """A word problem told in numbers: its question, the two steps, and two ways to get it wrong."""

    question: str
    right: _Worked
    missing_step: _Worked
    wrong_operation: _Worked


def word_problem(random: Random) -> Task:
    """Two steps. Wrong: one off, the second step left out, or its operation turned round."""
    name, things = random.choice(NAMES), random.choice(COUNTED)
    story = random.choice(_STORIES)(random, name, things)
    slip = _off_by(random, 1, story.right)
    wrong = {"off_by_one": slip, "missing_step": story.missing_step, "wrong_operation": story.wrong_operation}
    return _numeric(random, "word_problem", story.question, story.right, wrong, things)


def carry(random: Random) -> Task:
    """A sum or difference of three digits that carries or borrows. Wrong: the carry is forgotten, or ten off."""
    if random.random() < 0.5:
        a, b = random.randrange(115, 590), random.randrange(115, 390)
        a, b = a - a % 10 + random.randrange(5, 10), b - b % 10 + random.randrange(5, 10)  # units always carry
        right, forgotten, turned, sign = a + b, a + b - 10, abs(a - b), "+"
    else:
        a, b = random.randrange(520, 990), random.randrange(115, 490)
        a, b = a - a % 10 + random.randrange(0, 5), b - b % 10 + random.randrange(5, 10)  # units always borrow
        right, forgotten, turned, sign = a - b, a - b + 10, a + b, "-"
    said = {"+": "plus", "-": "minus"}[sign]
    question = random.choice(
        (f"What is {a} {sign} {b}?", f"Compute {a} {sign} {b}.", f"How much is {a} {said} {b}?", f"{a} {said} {b} = ?")
    )
    worked = _Worked(right, f"{a} {said} {b} is {right}")
    wrong = {
        "off_by_one": _off_by(random, 1, worked),
        "missing_step": _Worked(forgotten, f"{a} {said} {b} is {forgotten}"),
        "wrong_operation": _Worked(turned, f"{a} {said} {b} is {turned}"),
    }
    return _numeric(random, "carry", question, worked, wrong, "")


def units(random: Random) -> Task:
    """Two units, wanted in the smaller. Wrong: the part is dropped, another unit's factor, one off, the wrong unit."""
    big, small, factor, false_factor, unlike = random.choice(_UNITS)
    a, b = random.randrange(2, 15), random.randrange(1, min(factor, 90))
    right = a * factor + b
    question = random.choice(
        (
            f"How many {small} are {a} {big} and {b} {small}?",
            f"Convert {a} {big} {b} {small} to {small}.",
            f"Express {a} {big} and {b} {small} in {small}.",
            f"{a} {big} plus {b} {small} makes how many {small}?",
        )
    )
    worked = _Worked(right, f"{a} times {factor} is {a * factor}, and {a * factor} plus {b} is {right}")
    false = a * false_factor + b
    wrong = {
        "off_by_one": _off_by(random, 1, worked),
        "missing_step": _Worked(a * factor, f"{a} times {factor} is {a * factor}"),
        "wrong_operation": _Worked(
            false, f"{a} times {false_factor} is {a * false_factor}, and {a * false_factor} plus {b} is {false}"
        ),
    }
    task = _numeric(random, "units", question, worked, wrong, small)
    wrong_unit = f"{right} {unlike}."
    return Task(
        task.category, task.kind, question, task.right, {**task.wrong, "wrong_unit": wrong_unit}, task.reference
    )


def _numeric(random: Random, kind: str, question: str, right: _Worked, wrong: dict[str, _Worked], things: str) -> Task:
    """Right and wrong results in words of the same sort: what tells them apart is the number, not the style."""
    return Task(
        "arithmetic",
        kind,
        question,
        _say(random, right, things),
        # a turned operation can give the right number by chance (2 + 2 and 2 * 2): such a mistake is none
        {error: _say(random, worked, things) for error, worked in wrong.items() if worked.value != right.value},
        str(right.value),
    )


def _say(random: Random, worked: _Worked, things: str) -> str:
    result = f"{worked.value} {things}".strip()
    if random.random() < 0.5:
        end = random.choice((f"The answer is {result}.", f"So it is {result}.", f"That makes {result}."))
        return f"{worked.working}. {end}"
    return random.choice((f"The answer is {result}.", f"It is {result}.", f"{result}.", f"That makes {result}."))


def _off_by(random: Random, distance: int, right: _Worked) -> _Worked:
    value = right.value + random.choice((-distance, distance))
    head = right.working.rsplit(" ", 1)[0]
    return _Worked(value, f"{head} {value}")


def _boxes(random: Random, name: str, things: str) -> _Story:
    a, b = random.randrange(3, 13), random.randrange(4, 16)
    c = random.randrange(2, a * b)
    question = random.choice(
        (
            f"{name} has {a} boxes with {b} {things} each and gives away {c}. How many {things} are left?",
            f"There are {a} bags of {b} {things}. {name} uses {c}. How many {things} are left?",
        )
    )
    first = f"{a} times {b} is {a * b}"
    return _Story(
        question,
        _Worked(a * b - c, f"{first}, and {a * b} minus {c} is {a * b - c}"),
        _Worked(a * b, first),
        _Worked(a * b + c, f"{first}, and {a * b} plus {c} is {a * b + c}"),
    )


def _reading(random: Random, name: str, things: str) -> _Story:
    a, b, c = random.randrange(4, 25), random.randrange(3, 12), random.randrange(5, 60)
    question = random.choice(
        (
            f"{name} packs {a} {things} a day for {b} days, and {c} more. How many {things} in all?",
            f"{name} gets {a} {things} on each of {b} days and finds {c} more. How many {things} in all?",
        )
    )
    first = f"{a} times {b} is {a * b}"
    return _Story(
        question,
        _Worked(a * b + c, f"{first}, and {a * b} plus {c} is {a * b + c}"),
        _Worked(a * b, first),
        _Worked(abs(a * b - c), f"{a * b} and {c} differ by {abs(a * b - c)}"),
    )


def _shelf(random: Random, name: str, things: str) -> _Story:
    a, b = random.randrange(12, 80), random.randrange(5, 50)
    c = random.randrange(3, a)
    question = random.choice(
        (
            f"A shelf holds {a} {things}. {name} adds {b} and removes {c}. How many {things} are there now?",
            f"{name} owns {a} {things}, buys {b} and sells {c}. How many {things} are there now?",
        )
    )
    first = f"{a} plus {b} is {a + b}"
    return _Story(
        question,
        _Worked(a + b - c, f"{first}, and {a + b} minus {c} is {a + b - c}"),
        _Worked(a + b, first),
        _Worked(a + b + c, f"{first}, and {a + b} plus {c} is {a + b + c}"),
    )


def _sharing(random: Random, name: str, things: str) -> _Story:
    b, each, c = random.randrange(3, 10), random.randrange(4, 20), random.randrange(2, 15)
    a = b * each
    question = random.choice(
        (
            f"{name} shares {a} {things} among {b} friends who each had {c}. How many {things} has each friend now?",
            f"{a} {things} are dealt to {b} players; each already held {c}. How many {things} has each player now?",
        )
    )
    first = f"{a} divided by {b} is {each}"
    return _Story(
        question,
        _Worked(each + c, f"{first}, and {each} plus {c} is {each + c}"),
        _Worked(each, first),
        _Worked(abs(each - c), f"{each} and {c} differ by {abs(each - c)}"),
    )


_STORIES: tuple[Callable[[Random, str, str], _Story], ...] = (_boxes, _reading, _shelf, _sharing)

# the bigger unit, the smaller, how many of it, a factor that belongs to another unit, and a unit of another size
_UNITS = (
    ("hours", "minutes", 60, 24, "days"),
    ("minutes", "seconds", 60, 100, "weeks"),
    ("days", "hours", 24, 60, "seconds"),
    ("weeks", "days", 7, 12, "minutes"),
    ("years", "months", 12, 7, "hours"),
    ("metres", "centimetres", 100, 10, "kilometres"),
    ("kilometres", "metres", 1000, 100, "millimetres"),
    ("kilograms", "grams", 1000, 100, "tonnes"),
    ("litres", "millilitres", 1000, 100, "barrels"),
    ("dozens", "eggs", 12, 10, "litres"),
)

"""What holds for every text: dress changes nothing, nothing crashes, and the work grows with the text."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.verifiers._math import reader
from guerdon.verifiers._math.errors import TooLargeError, UnreadError
from guerdon.verifiers._math.limits import MAX_CHARACTERS, MAX_DEPTH
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.tree import Node, walk
from guerdon.verifiers._math.writer import write

# Pieces of a formula, between any two of which LaTeX and plain text allow a space.
FORMULAS: list[list[str]] = [
    ["\\frac", "{", "3", "\\sqrt", "{", "5", "}", "}", "{", "2", "}"],
    ["2", "\\pi", "r", "+", "x", "^", "{", "2", "}"],
    ["(", "-", "\\infty", ",", "-", "8", ")", "\\cup", "(", "8", ",", "\\infty", ")"],
    ["\\{", "x", "\\mid", "-", "1", "<", "x", "\\le", "4", "\\}"],
    ["f", "(", "x", ")", "=", "2", "x", "+", "1"],
    ["\\sin", "^", "2", "x", "+", "\\cos", "^", "2", "x"],
    ["x", "=", "\\frac", "{", "-", "1", "\\pm", "\\sqrt", "{", "13", "}", "}", "{", "4", "}"],
    ["\\begin{pmatrix}", "1", "&", "2", "\\\\", "3", "&", "4", "\\end{pmatrix}"],
    ["|", "x", "-", "3", "|", "<", "5"],
    ["\\binom", "{", "n", "}", "{", "2", "}"],
    ["3", ":", "4"],
    ["2", "\\frac", "{", "1", "}", "{", "4", "}"],
    ["\\log", "_", "{", "2", "}", "10"],
    ["x", "\\equiv", "1", "\\pmod", "{", "3", "}"],
    ["\\lfloor", "n", "/", "2", "\\rfloor"],
    ["1", ",", "2", ",", "\\ldots", ",", "n"],
]
SPACES = st.sampled_from(["", " ", "  ", "\\,", "\\;", "\\:", "\\!", "\\ ", "~", "\t"])
FORMULA = st.sampled_from(FORMULAS)
AROUND: list[Callable[[str], str]] = [
    lambda text: f"${text}$",
    lambda text: f"$${text}$$",
    lambda text: f"\\({text}\\)",
    lambda text: f"\\[{text}\\]",
    lambda text: f"\\[\n{text}\n\\]",
    lambda text: f" {text} ",
    lambda text: f"{text}.",
    lambda text: f"${text}$.",
    lambda text: f"**${text}$**",
    lambda text: f"\\boxed{{{text}}}",
    lambda text: f"\\displaystyle {text}",
    lambda text: f"\\begin{{align*}} {text} \\end{{align*}}",
    lambda text: f"\\phantom{{1}}{text}",
    lambda text: f"\u200b{text}\u00a0",
]


def joined(pieces: list[str], spaces: list[str]) -> str:
    """The pieces with these spaces behind them; a command and a letter need one in any case."""
    text = ""
    for piece, space in zip(pieces, spaces, strict=True):
        text += (" " if text[-1:].isalpha() and text.rpartition("\\")[2].isalpha() else "") + piece + space
    return text


def spaced(pieces: list[str]) -> st.SearchStrategy[str]:
    return st.lists(SPACES, min_size=len(pieces), max_size=len(pieces)).map(lambda spaces: joined(pieces, spaces))


@given(FORMULA.flatmap(lambda pieces: st.tuples(st.just(pieces), spaced(pieces))))
def test_spaces_never_change_the_tree(case: tuple[list[str], str]) -> None:
    pieces, text = case
    assert parse(text) == parse(" ".join(pieces))


@given(FORMULA, st.sampled_from(AROUND), st.sampled_from(AROUND))
def test_dress_never_changes_the_tree(
    pieces: list[str], inner: Callable[[str], str], outer: Callable[[str], str]
) -> None:
    plain = " ".join(pieces)
    assert parse(inner(plain)) == parse(plain)
    if not inner(plain).startswith(("$", "*")):
        assert parse(outer(inner(plain))) == parse(plain)


@given(FORMULA, st.sampled_from(["", "big", "Big", "bigg", "Bigg"]))
def test_sized_brackets_are_brackets(pieces: list[str], size: str) -> None:
    sized = {
        sign: f"\\{f'{size}l' if size else 'left'}{sign}"
        if sign in "(["
        else f"\\{f'{size}r' if size else 'right'}{sign}"
        for sign in "()"
    }
    assert parse(" ".join(sized.get(piece, piece) for piece in pieces)) == parse(" ".join(pieces))


@pytest.mark.parametrize("pieces", FORMULAS, ids=["".join(pieces) for pieces in FORMULAS])
def test_a_formula_without_one_of_its_brackets_is_unread(pieces: list[str]) -> None:
    for at, piece in enumerate(pieces):
        if piece in ("(", ")", "{", "}", "\\{", "\\}", "\\lfloor", "\\rfloor", "|", "\\end{pmatrix}"):
            with pytest.raises(UnreadError):
                parse(" ".join(pieces[:at] + pieces[at + 1 :]))


def test_json_backslashes_are_backslashes() -> None:
    for text in (r"\frac{1}{2}", r"\sqrt{2}", r"\begin{pmatrix}1\\2\end{pmatrix}", r"\left(1,2\right)"):
        assert parse(text.replace("\\", "\\\\")) == parse(text)
    assert parse(r"x=1\\y=2") == parse("x=1, y=2")  # no command, so a line break


TOKENS = (
    [token for token in reader.HEADS if token.startswith("\\") and " " not in token]
    + list("abcdefghijkmnxyzABCRU0123456789+-*/^_(){}[]=<>,;:!|'%&$.\"~\n ")
    + ["\\left|", "\\right|", "\\right.", "\\\\", "\\text{", "\\mathrm{", "\\boxed{", "\\begin{cases}", "\\end{cases}"]
    + ["\\pm", "\\cdot", "\\cup", "\\in", "\\le", "\\circ", "\\to", "\\over", "\\pmod", "\\mid", "\\%", "\\quad"]
    + ["1,234", "0.(3)", "2E_{16}", "3.2e-4", "10^", "½", "²", "√", "°", "∪", "cm", "km/h", "apples", "since", "March"]
    + [
        "Friday",
        "p.m.",
        "seven",
        "half",
        "of",
        "is",
        "and",
        "or",
        "if",
        "for",
        "where",
        "otherwise",
        "all real numbers",
    ]
    + ["except", "base", "mod", "sin", "sqrt", "dx", "the answer is", "x can be"]
)


@settings(max_examples=600)
@given(st.lists(st.tuples(st.sampled_from(TOKENS), st.sampled_from(["", " "])), max_size=24))
def test_any_text_gives_a_tree_or_is_unread(tokens: list[tuple[str, str]]) -> None:
    text = "".join(token + space for token, space in tokens)
    try:
        tree = parse(text)
    except UnreadError:
        return
    assert isinstance(tree, Node)
    assert hash(tree) == hash(parse(text))
    assert write(tree)


@given(st.text(max_size=60))
def test_any_characters_give_a_tree_or_are_unread(text: str) -> None:
    try:
        tree = parse(text)
    except UnreadError:
        return
    assert isinstance(tree, Node)


HOSTILE: list[Callable[[int], str]] = [
    lambda n: "(" * n, lambda n: "(" * n + "1" + ")" * n, lambda n: "{" * n + "}" * n, lambda n: "[" * n,
    lambda n: "]" * n, lambda n: "|" * n, lambda n: "<" * n,
    lambda n: "\\frac" * n, lambda n: "\\sqrt" * n, lambda n: "\\sqrt[" * n, lambda n: "\\sin " * n + "x",
    lambda n: "2" + "^2" * n, lambda n: "2^{" * n + "2" + "}" * n, lambda n: "-" * n + "1", lambda n: "5" + "!" * n,
    lambda n: "1," * n + "1", lambda n: "1" + "+1" * n, lambda n: "\\pi" + "/2" * n, lambda n: "1" + " mod 2" * n,
    lambda n: "(1,2)" + "\\cup(1,2)\\cap(3,4)" * n, lambda n: "5'+" * n + "1", lambda n: "$" * n + "5",
    lambda n: "5 ft 6 in " * n,
    lambda n: "word " * n, lambda n: "1 and " * n + "1", lambda n: "1 if " * n + "x",
    lambda n: "1 if x is y if " * n + "x", lambda n: "x, where " * n + "x",
    lambda n: "all real numbers except " * n + "3", lambda n: "the answer is " * n + "5",
    lambda n: "\\begin{cases}" * n, lambda n: "\\text{" * n, lambda n: "\\boxed{" * n + "5", lambda n: "\\{1," * n,
    lambda n: "{1," * n + "}" * n, lambda n: "\\{x|" * n, lambda n: "\\left|" * n, lambda n: "\\lim_{x\\to " * n,
    lambda n: "\\sum_{k=1}^{2}" * n + "k",
    lambda n: "\\int " * n, lambda n: "x" + "_{1" * n, lambda n: "x" + "'" * n, lambda n: "1\n" * n,
    lambda n: "1\\quad " * n, lambda n: "\\\\" * n, lambda n: "²" * n, lambda n: "5" + "% of 5" * n,
    lambda n: "5 " + "m/" * n + "s", lambda n: "March " * n,
    lambda n: "$5 " * n, lambda n: "\\vec" * n, lambda n: "R" + "-\\{1\\}" * n, lambda n: "3" + "x10" * n,
    lambda n: "A" + "^T" * n, lambda n: "x is " * n + "5", lambda n: "\\$" * n + "5", lambda n: "half of " * n + "5",
    lambda n: "1\\over " * n + "1",
    lambda n: "0.3" + "3" * n + "...", lambda n: "1" + ",234" * n, lambda n: "a-b" * n + " word", lambda n: "&lt;" * n,
    lambda n: "{n\\choose " * n, lambda n: "1:" * n + "1", lambda n: "x=" * n + "1", lambda n: "\\pm 1" * n,
    lambda n: "1" + "e1" * n,
]  # fmt: skip


class Counted(list[str]):
    """Tokens that count how often they are looked at."""

    looks = 0

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        Counted.looks += 1
        return super().__getitem__(at)


@pytest.mark.parametrize("hostile", HOSTILE, ids=[repr(make(2)) for make in HOSTILE])
def test_the_work_grows_no_faster_than_the_text(hostile: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    start = reader.Reader.__init__

    def counting(self: reader.Reader, tokens: list[str], origins: list[int] | None = None) -> None:
        start(self, tokens, origins)
        self.tokens = Counted(self.tokens)

    monkeypatch.setattr(reader.Reader, "__init__", counting)
    looks = []
    for size in (100, 400):
        Counted.looks = 0
        with contextlib.suppress(UnreadError):
            parse(hostile(size))
        looks.append(Counted.looks)
    assert looks[1] <= 5 * looks[0] + 2_000


def test_limits_are_reached_by_size_alone() -> None:
    with pytest.raises(TooLargeError, match="characters"):
        parse("1+" * 2_000_000)
    with pytest.raises(TooLargeError, match="tokens"):
        parse("1+" * (MAX_CHARACTERS // 2))
    with pytest.raises(TooLargeError, match="levels"):
        parse("(" * (MAX_DEPTH + 1) + "1" + ")" * (MAX_DEPTH + 1))
    assert parse("(" * (MAX_DEPTH - 1) + "1" + ")" * (MAX_DEPTH - 1)) == parse("1")


def test_the_deepest_text_fits_on_half_of_pythons_stack() -> None:
    """Every notation that nests, at the limit, from a thread that already stands 400 frames deep."""
    failures: list[str] = []

    def deep(frames: int) -> None:
        if frames:
            deep(frames - 1)
            return
        for hostile in HOSTILE:
            try:
                parse(hostile(300))
            except UnreadError:
                continue
            except RecursionError:
                failures.append(hostile(2))

    thread = threading.Thread(target=deep, args=(400,))
    thread.start()
    thread.join()
    assert not failures


def test_an_error_says_what_and_where() -> None:
    with pytest.raises(UnreadError, match=r"cannot read '@' here \(at character 4\)") as caught:
        parse("x + @ 5")
    assert caught.value.at == 4
    with pytest.raises(UnreadError, match="a bracket is not closed"):
        parse("(3-9) (5-15")


def test_every_reference_of_the_data_sets_is_read(shared_data: Path) -> None:
    rows = [json.loads(line) for line in (shared_data / "math_golds_dev.jsonl").read_text().splitlines()]
    unread = []
    for row in rows:
        try:
            parse(row["gold"])
        except UnreadError:
            unread.append(row["gold"].strip())
    # digits written side by side under a brace, "2…2 (n of them) and 1", are no expression
    assert unread == [r"$2,3, \underbrace{2\cdots2}_{n}1$"]


def test_trees_are_no_deeper_than_the_text() -> None:
    for hostile in HOSTILE:
        try:
            tree = parse(hostile(50))
        except UnreadError:
            continue
        assert sum(1 for _ in walk(tree)) < 3 * len(hostile(50)) + 10

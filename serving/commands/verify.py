"""``guerdon verify``: is this response right? One response from the command line, or a file of samples."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guerdon.serving.commands import console

if TYPE_CHECKING:
    from guerdon.rewards import Sample, Score, Scorer

EXAMPLES = console.examples(
    r"$ guerdon verify numeric 'So it is \boxed{42}.' --reference 42",
    "$ guerdon verify numeric 'about 3.14' --reference 3.14159 --option tolerance=0.01 --explain",
    r"$ guerdon verify math '\boxed{x > 3}' --reference '(3, \infty)' --explain   # how both sides were read",
    "$ echo 'The answer is (B).' | guerdon verify choice --reference B",
    "$ guerdon verify exact --file samples.jsonl --json   # a line of JSON for each sample",
    "$ guerdon verify --list",
    "A response that starts with a dash goes behind --:  guerdon verify numeric --reference -5 -- -5",
    "Exit code: 0 if every response is right, 1 if one is wrong or cannot be judged.",
)


def command(
    name: Annotated[
        str | None, typer.Argument(help="A verifier's name (see --list), or module:function, or file.py:function.")
    ] = None,
    response: Annotated[
        str | None, typer.Argument(help="The response to judge; read from standard input if absent or '-'.")
    ] = None,
    reference: Annotated[str | None, typer.Option("--reference", "-r", help="The known answer.")] = None,
    prompt: Annotated[str, typer.Option(help="What was asked, for verifiers that read it.")] = "",
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="Samples to judge: JSONL(.gz), Parquet, or '-' for stdin.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="KEY=VALUE for the verifier; the value is JSON or text.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", help="With --file, OURS=THEIRS: its name of response, reference, ..."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Everything the verifier says of its decision.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="The verifiers there are, with their options.")] = False,
    json_: Annotated[
        bool, typer.Option("--json", help="JSON on stdout: one object, or one a line for --file.")
    ] = False,
) -> None:
    """Judge a response against its reference, and say what was compared."""
    from guerdon import verifiers
    from guerdon.rewards.errors import UsageError

    if list_:
        _list(json_)
        return
    if name is None:
        raise UsageError(f"which verifier? guerdon verify NAME RESPONSE; there are: {', '.join(verifiers.names())}")
    scorer = _load(name, console.parse_options(option or ()))
    if file is not None:
        if response is not None or reference is not None:
            raise UsageError("--file has responses and references of its own; leave RESPONSE and --reference out")
        columns = console.parse_columns(column or ())
        right = _judge_file(scorer, file, columns, explain=explain, json_=json_)
    else:
        right = _judge_one(scorer, prompt, response, reference, explain=explain, json_=json_)
    if not right:
        raise typer.Exit(console.FINDINGS)


def _list(json_: bool) -> None:
    from guerdon import verifiers

    found = [_about(name) for name in verifiers.names()]
    if json_:
        console.print_json(found)
        return
    for about in found:
        print(f"{about['name']:<12}{console.printable(about['about'], 120)}")
        for option, default in about["options"].items():
            print(f"{'':<12}  --option {option}={console.printable(default, 80)}")


def _about(name: str) -> dict[str, Any]:
    """A verifier's first sentence, and its options as one would write them, with their defaults (...: needed)."""
    from guerdon.verifiers._scorer import FROM_THE_SAMPLE, verifier_module

    try:
        module = verifier_module(name)
    except Exception as error:  # a package that adds a verifier may be broken; the others are still there
        return {"name": name, "about": f"cannot be loaded: {error}", "options": {}}
    options = {
        parameter.name: "..." if parameter.default is parameter.empty else console.to_json(parameter.default)
        for parameter in inspect.signature(module.verify).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in FROM_THE_SAMPLE
    }
    return {"name": name, "about": (module.__doc__ or "").strip().partition("\n")[0], "options": options}


def _load(name: str, options: dict[str, object]) -> Scorer:
    from guerdon import verifiers
    from guerdon.serving.specs import load_scorer

    # load_scorer takes models and servers too; a name without a colon can only be meant as a verifier here
    return load_scorer(name, **options) if ":" in name else verifiers.load(name, **options)


def _judge_one(
    scorer: Scorer, prompt: str, response: str | None, reference: str | None, *, explain: bool, json_: bool
) -> bool:
    from guerdon.rewards import Sample

    if response is None or response == "-":
        response = console.read_stdin()
    sample = Sample(prompt, response, reference)
    (score,) = scorer.score([sample])
    if json_:
        console.print_json(_row(scorer, score, None))
    else:
        _show(scorer, sample, score, explain=explain)
    return score.value == 1.0


def _judge_file(scorer: Scorer, file: str, columns: dict[str, str], *, explain: bool, json_: bool) -> bool:
    from guerdon.rewards.preferences import read_samples

    with console.source(file) as source:
        samples = read_samples(source, columns=columns)
    counts = {"right": 0, "wrong": 0, "unscored": 0}
    for index, sample in enumerate(samples):
        (score,) = scorer.score([sample])
        counts[_verdict(score)] += 1
        if json_:
            console.print_json(_row(scorer, score, sample.meta.get("id", index)))
        elif explain:
            _show(scorer, sample, score, explain=True)
        else:
            where = console.printable(sample.meta.get("where", index))
            print(f"{_verdict(score):<9}{where}  {console.printable(_said(score), 120)}")
    summary = ", ".join(f"{n} {what}" for what, n in counts.items())
    console.err().print(f"{len(samples)} samples: {summary}")
    return counts["right"] == len(samples)


def _verdict(score: Score) -> str:
    if score.value is None:
        return "unscored"
    return "right" if score.value == 1.0 else "wrong"


def _said(score: Score) -> str:
    answer = score.details.get("answer")
    return score.reason if answer is None else f"{answer!s}: {score.reason}"


def _row(scorer: Scorer, score: Score, identity: object) -> dict[str, object]:
    row: dict[str, object] = {} if identity is None else {"id": identity}
    return {
        **row,
        "verdict": _verdict(score),
        "value": score.value,
        "status": score.status,
        "reason": score.reason,
        "details": score.details,
        "verifier": scorer.name,
        "version": scorer.version,
    }


def _read_as(scorer: Scorer, sample: Sample) -> dict[str, str]:
    """How a verifier read both sides, if it says so."""
    from guerdon.verifiers import Verifier

    return scorer.explain(sample) if isinstance(scorer, Verifier) else {}


def _show(scorer: Scorer, sample: Sample, score: Score, *, explain: bool) -> None:
    style = {"right": "bold green", "wrong": "bold red", "unscored": "bold yellow"}[_verdict(score)]
    terminal = console.out()
    value = "no score" if score.value is None else f"{score.value:g}"
    terminal.print(f"{_verdict(score).upper()}  {value}  {scorer.name}", style=style)
    lines: dict[str, object] = {"reason": score.reason}
    for key in ("answer", "stage"):
        if score.details.get(key) is not None:
            lines[key] = score.details[key]
    if sample.reference is not None:
        lines["reference"] = sample.reference
    if explain:
        lines |= {key: value for key, value in score.details.items() if key not in lines}
        lines |= _read_as(scorer, sample)
        lines |= {"status": score.status, "version": scorer.version}
    for key, shown in lines.items():
        terminal.print(f"  {key:<12}{console.printable(shown)}")

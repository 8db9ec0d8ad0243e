"""``guerdon``, the command line. One file a command in ``serving/commands``; this one holds what they share.

Exit codes:

    0    done, nothing to report
    1    findings: a wrong answer (verify), an accuracy below --min-accuracy (evaluate), a broken part (doctor),
         a stored score that does not come back (replay)
    2    usage: an unknown option, a file that is not there, rows that are wrong, a missing extra
    3    outage: a server that did not answer after all retries
    70   a fault of guerdon's own, with its traceback
    130  Ctrl-C (but for ``serve``, which ends so by design: 0)

What guerdon raises on purpose is printed as its message alone; ``GUERDON_DEBUG=1`` shows where it was raised.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import guerdon
from guerdon import __version__
from guerdon.rewards.errors import GuerdonError, OutageError
from guerdon.serving.commands import (
    audit,
    calibrate,
    debias,
    demo,
    doctor,
    evaluate,
    replay,
    score,
    serve,
    train,
    ui,
    verify,
)

USAGE, OUTAGE, FAULT, INTERRUPTED = 2, 3, 70, 130


class _Commands(TyperGroup):
    """Turns what a command raises into one message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except GuerdonError as error:
            _complain(f"Error: {error}")
            raise typer.Exit(OUTAGE if isinstance(error, OutageError) else USAGE) from error
        except KeyboardInterrupt as error:
            _complain("Interrupted.")
            raise typer.Exit(INTERRUPTED) from error
        except BrokenPipeError:
            raise  # the reader of a pipe has left (`| head`): typer ends quietly
        except OSError as error:
            # a disk that is full, a file that may not be read: the message of the system says it best
            _complain(f"Error: {error}")
            raise typer.Exit(USAGE) from error
        except Exception as error:
            # typer's own (a wrong option, an exit) are how it talks to itself
            if type(error).__module__.partition(".")[0] in ("typer", "click"):
                raise
            traceback.print_exc()
            if place := _code_of_the_user(error):
                _complain(f"Error: {place} raised {type(error).__name__}: {error}", shown=True)
                raise typer.Exit(USAGE) from error
            _complain("This is a fault of guerdon. Please report it with the lines above.", shown=True)
            raise typer.Exit(FAULT) from error


def _code_of_the_user(error: Exception) -> str | None:
    """The innermost line of a file that is neither guerdon's nor installed: a scorer of the user's own, say."""
    package = Path(guerdon.__file__).parent
    # in a checkout the packages are links to folders elsewhere
    ours = [package, *(folder for folder in package.iterdir() if folder.is_dir())]
    installed = [os.path.realpath(str(folder)) for folder in (*ours, sys.prefix, sys.base_prefix)]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = os.path.realpath(frame.filename)
        if os.path.isfile(file) and not any(file.startswith(folder + os.sep) for folder in installed):
            return f"{frame.filename}:{frame.lineno}"
    return None


def _complain(message: str, *, shown: bool = False) -> None:
    """One message on stderr. shown: the traceback is there already."""
    if os.environ.get("GUERDON_DEBUG") == "1" and not shown:
        traceback.print_exc()
    print(message, file=sys.stderr)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,  # its frames print local variables, tokens among them
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"guerdon {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train, evaluate, serve and call reward models and verifiers.

    New here? Run: guerdon demo. Something odd? Run: guerdon doctor.
    """


for _command in (train, evaluate, calibrate, debias, score, serve, ui, replay, verify, demo, doctor):
    app.command(_command.__name__.rpartition(".")[2], epilog=_command.EXAMPLES)(_command.command)
app.add_typer(audit.app, name="audit", help="Learn a verifier's error rates from some labels.", epilog=audit.EXAMPLES)


def main() -> None:
    """The entry point of the ``guerdon`` script."""
    app(prog_name="guerdon")

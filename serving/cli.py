"""``guerdon``, the command line. One file a command in ``serving/commands``; this one holds what they share.

Exit codes:

    0    done, nothing to report
    1    findings: a wrong answer (verify), an accuracy below --min-accuracy (evaluate), a broken part (doctor)
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
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from guerdon import __version__
from guerdon.rewards.errors import GuerdonError, OutageError
from guerdon.serving.commands import demo, doctor, evaluate, score, serve, train, verify

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
            _complain("This is a fault of guerdon, not of yours. Please report it with the lines above.")
            raise typer.Exit(FAULT) from error


def _complain(message: str) -> None:
    if os.environ.get("GUERDON_DEBUG") == "1":
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


for _command in (train, evaluate, score, serve, verify, demo, doctor):
    app.command(_command.__name__.rpartition(".")[2], epilog=_command.EXAMPLES)(_command.command)


def main() -> None:
    """The entry point of the ``guerdon`` script."""
    app(prog_name="guerdon")

"""The entry point: commands, and the one place where failures are printed."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from dpcli import __version__
from dpcli.cli.commands import PARSER_ERROR, LazyGroup, help_page, usage_error
from dpcli.cli.console import (
    OutputLost,
    escaped_streams,
    open_standard_streams,
    print_failure,
    use_json,
)
from dpcli.errors import DpcliError, OutputError, StoppedBySignal, UsageError, internal_error

COMPLETION_VARIABLE = "_DPCLI_COMPLETE"
"""The variable by which a shell asks what may come next."""

GC_THRESHOLD = 200_000
"""New objects after which cycles of unused ones are looked for."""

_signals: list[int] = []
"""Signals that have come."""


app = typer.Typer(
    name="dpcli",
    cls=LazyGroup,
    help=help_page("dpcli"),
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpcli {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    no_color: Annotated[
        bool, typer.Option("--no-color", help="No color, before or after the command.")
    ] = False,
    error_format: Annotated[
        str,
        typer.Option(
            metavar="text|json",
            show_default=False,
            help="Messages for people or scripts, likewise [text].",
        ),
    ] = "text",
) -> None:
    pass


def main() -> None:
    """Run the command line and exit with a documented status, never a traceback."""
    try:
        # Plugins are other people's code in a process that holds records.
        os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _stop)
        open_standard_streams()
        # Loading modules makes many objects and no garbage: to look for it takes 30 ms.
        gc.set_threshold(GC_THRESHOLD)
        status = run()
    except StoppedBySignal as stop:
        # The signal came before the command began or while its end was reported.
        status = 128 + stop.number
    # A command that fails may have printed a result before.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    # Everything is closed and on disk; taking the interpreter apart with polars in
    # it would take longer than a small release.
    os._exit(status)


def _stop(number: int, _frame: object) -> None:
    """Unwind as if interrupted, so that temporary files are removed and locks freed."""
    _signals.append(number)
    raise StoppedBySignal(number)


def run() -> int:
    """The exit status of the command in `sys.argv`, which prints harmless text alone."""
    with escaped_streams():
        try:
            words = _without_global_options(sys.argv[1:])
            # The name is that of completion too, however the program was started.
            status = app(words, standalone_mode=False, prog_name="dpcli")
            sys.stdout.flush()
        except StoppedBySignal as stop:
            return 128 + stop.number
        except (KeyboardInterrupt, typer.Abort):
            return 128 + signal.SIGINT
        except typer.Exit as stop:
            return stop.exit_code
        except BrokenPipeError:
            return OutputError.status
        except SystemExit as gone:
            # Completion leaves so, and its status tells a shell what to offer; otherwise the
            # parser found that the reader of standard output has gone.
            return 1 if gone.code and COMPLETION_VARIABLE in os.environ else 7 if gone.code else 0
        except Exception as error:  # noqa: BLE001 - no error may end in a traceback
            if _signals and not isinstance(error, DpcliError):
                # Some library caught the interruption, and raised an error of its own instead.
                return 128 + _signals[0]
            failure = _failure(error)
            with suppress(OSError):
                print_failure(failure)
            return failure.status
    # The parser returns the status of whatever it ended itself.
    return status if isinstance(status, int) else 0


def _without_global_options(words: Sequence[str]) -> list[str]:
    """The words without the options that may stand anywhere, which take effect here.

    `dpcli help COMMAND` is `dpcli COMMAND --help`.
    """
    rest: list[str] = []
    formats = []
    left = iter(words)
    for word in left:
        if word == "--":
            rest += [word, *left]
        elif word == "--no-color":
            os.environ["NO_COLOR"] = "1"
        elif word == "--error-format":
            formats.append(next(left, ""))
        elif word.startswith("--error-format="):
            formats.append(word.partition("=")[2])
        else:
            rest.append(word)
    for name in formats:
        if name not in ("text", "json"):
            raise UsageError.about("command-line.error-format", found=name)
    if formats[-1:] == ["json"]:
        use_json(sys.stderr)
    if rest[:1] == ["help"]:
        rest = [*(word for word in rest if word != "help"), "--help"]
    return rest


def _failure(error: Any) -> DpcliError:
    """The failure to print for an error; one of dpcli itself is without its message."""
    if isinstance(error, DpcliError):
        return error
    if isinstance(error, OutputLost):
        return OutputError.from_system("standard output", error, "run the command again")
    if isinstance(error, PARSER_ERROR):
        return usage_error(error)
    return internal_error(error)

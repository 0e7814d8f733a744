"""The entry point: commands, and the one place where failures are printed."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from dpcli import __version__
from dpcli.cli.commands import LazyGroup, page, unknown_option
from dpcli.cli.console import guarded, open_standard_streams, print_failure, use_json
from dpcli.errors import Failure, Problem, Stopped, UsageError

COMPLETION = "_DPCLI_COMPLETE"
"""The variable by which a shell asks what may come next."""

PARSER_ERROR: Any = typer.BadParameter.__mro__[2]
"""What the parser raises, of whichever library it is a part."""

EXTRA = re.compile(r"^Got unexpected extra argument\S* \((.*)\)$")
"""How the parser reports words that it does not expect."""

_signals: list[int] = []
"""Signals that have come."""


app = typer.Typer(
    name="dpcli",
    cls=LazyGroup,
    help=page("dpcli"),
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
        status = _run_stoppably()
    except Stopped as stop:
        # The signal came before the command began or while its end was reported.
        status = 128 + stop.number
    # Everything is closed and on disk; taking the interpreter apart with polars in
    # it would take longer than a small release.
    os._exit(status)


def _run_stoppably() -> int:
    """The status of the command line, with everything it printed on its way out."""
    # Plugins are other people's code in a process that holds records.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stop)
    open_standard_streams()
    status = run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        status = status or 7
    return status


def _stop(number: int, _frame: object) -> None:
    """Unwind as if interrupted, so that temporary files are removed and locks freed."""
    _signals.append(number)
    raise Stopped(number)


def run() -> int:
    """The exit status of the command in `sys.argv`, which prints harmless text alone."""
    with guarded():
        try:
            return _run(sys.argv[1:])
        except Failure as failure:
            print_failure(failure)
            return failure.status


def _run(words: Sequence[str]) -> int:
    """The exit status of the command; Failure for whatever it reports."""
    try:
        # The parser returns the status of whatever it ended itself.
        # The name is that of completion too, however the program was started.
        status = app(_without_global_options(words), standalone_mode=False, prog_name="dpcli")
    except Failure:
        raise
    except Stopped as stop:
        return 128 + stop.number
    except typer.Abort:
        return 130
    except typer.Exit as stop:
        return stop.exit_code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (BrokenPipeError, SystemExit) as gone:
        return _left(gone)
    except Exception as error:  # noqa: BLE001 - no error may end in a traceback
        if isinstance(error, OSError) and error.filename is None:
            with suppress(OSError):
                print_failure(Failure.about("output-failed.standard-output"))
            return 7
        if _signals:
            # Some library caught the interruption, and raised an error of its own instead.
            return 128 + _signals[0]
        raise _reported(error) from None
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


def _left(gone: BrokenPipeError | SystemExit) -> int:
    """The status when the parser left by itself, or the reader of standard output has gone.

    Completion leaves so, and its status tells a shell what to offer.
    """
    if isinstance(gone, SystemExit):
        if not gone.code:
            return 0
        if COMPLETION in os.environ:
            return 1
    return 7


def _reported(error: Any) -> Failure:
    """A usage error of the parser, or a fault of dpcli reported without its message."""
    if not isinstance(error, PARSER_ERROR):
        # The words of an unexpected error may quote a record; its kind and place do not.
        trace = error.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        name = Path(trace.tb_frame.f_code.co_filename).name
        found = f"a fault of dpcli itself ({type(error).__name__} at {name}:{trace.tb_lineno})"
        # Its words are here, because whatever failed may prevent reading a template.
        advice = "report it with the spec; never send the data"
        return Failure([Problem("internal-fault", found, advice)])
    where = error.ctx.command_path if error.ctx else "dpcli"
    if type(error).__name__ == "NoSuchOption":
        return unknown_option(error.option_name, error.ctx.command.get_params(error.ctx), where)
    message = EXTRA.sub(r"unexpected `\1`", error.format_message().rstrip(".").replace("'", "`"))
    return UsageError.about("command-line", message=message[:1].lower() + message[1:], where=where)

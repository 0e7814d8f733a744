"""The entry point: it runs a command, and is the only place that prints failures."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from inspect import getdoc
from typing import Annotated, Any

import typer

from dpcli.cli.commands import PARSER_ERROR, LazyGroup, help_page, usage_error
from dpcli.cli.console import (
    LINES_OF_FACTS,
    Log,
    OutputLost,
    end_log,
    escaped_streams,
    open_standard_streams,
    print_failure,
    print_json,
    use_facts,
)
from dpcli.problems.errors import (
    DpcliError,
    OutputError,
    StoppedBySignal,
    UsageError,
    internal_error,
)
from dpcli.problems.system import require_supported
from dpcli.version import __version__, environment

COMPLETION_VARIABLE = "_DPCLI_COMPLETE"
"""The environment variable with which a shell requests completions."""

GC_THRESHOLD = 200_000
"""The number of new objects after which Python collects garbage."""

_signals: list[int] = []


app = typer.Typer(
    name="dpcli",
    cls=LazyGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if not wanted:
        return
    if "--json" in sys.argv[1:]:
        print_json(environment())
    else:
        typer.echo(f"dpcli {__version__}")
    raise typer.Exit


def _json_of_version(wanted: bool) -> None:
    if wanted and not {"--version", "-V"} & {*sys.argv}:
        fix = "write `--version --json`; commands have a `--json` of their own, after their name"
        raise UsageError.about("bad-option", given="`--json`", other="a command after it", fix=fix)


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", callback=_json_of_version, help="With --version: as JSON.")
    ] = False,
    no_color: Annotated[
        bool, typer.Option("--no-color", help="No color; before or after the command.")
    ] = False,
    error_format: Annotated[
        str,
        typer.Option(
            metavar="text|json|github",
            show_default=False,
            help="Messages for people, scripts or GitHub [text]; before or after the command.",
        ),
    ] = "text",
    log_format: Annotated[
        str,
        typer.Option(
            metavar="text|json", show_default=False, help="Lines for log collectors [text]."
        ),
    ] = "text",
    log_durations: Annotated[
        bool,
        typer.Option(
            "--log-durations",
            help="Real times, not that of the start; such a log is as confidential as the data.",
        ),
    ] = False,
) -> None:
    """Differentially private releases of CSV files.

    A spec states what to release and how much that may reveal. dpcli answers it with noise, records
    in a ledger what was revealed, and refuses when the budget is used up.

    Examples:
        dpcli init sample_data/people.csv > spec.yaml    # a spec to fill in
        dpcli check specs/minimal.yaml sample_data/people.csv
        dpcli plan specs/minimal.yaml                    # reads no data
        dpcli release specs/minimal.yaml sample_data/people.csv -o noisy.csv
        dpcli ledger show --spec specs/minimal.yaml      # what is left

    `dpcli init DATA --ask` asks for each decision and writes a spec that is ready.
    `dpcli help COMMAND` has more examples; `dpcli explain WORD` explains any word.

    Exit status:
        0 done                    4 the data file does not fit
        1 a fault of dpcli        5 the budget refuses
        2 wrong command line      6 the ledger cannot be used
        3 wrong spec              7 an output could not be written
        8 the quality check failed, and only its loss was charged
    """


app.callback(help=help_page(getdoc(_root) or ""))(_root)


@cache
def _parser() -> Any:
    """The parser of all commands, made once for those that run in one process."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line and exit with a documented status, never a traceback."""
    try:
        # Plugins would run third-party code in a process that holds records.
        os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _stop)
        open_standard_streams()
        # Modules make many objects and no garbage; to collect it would take 30 ms.
        gc.set_threshold(GC_THRESHOLD)
        status = run()
    except StoppedBySignal as stop:
        # The signal came before the command began, or while its status was reported.
        status = 128 + stop.number
    # A command that fails may have printed a result before.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    # All files are closed and on disk. A normal exit with polars loaded would take longer than a
    # small release.
    os._exit(status)


def _stop(number: int, _frame: object) -> None:
    """Raise StoppedBySignal, so that temporary files are removed and locks released."""
    _signals.append(number)
    raise StoppedBySignal(number)


def run() -> int:
    """Run the command in `sys.argv` with escaped streams, and return its exit status."""
    with escaped_streams():
        try:
            words = _without_global_options(sys.argv[1:])
            require_supported()
            # Completion uses the same name, however the program was started.
            status = _parser()(words, standalone_mode=False, prog_name="dpcli")
            sys.stdout.flush()
        except StoppedBySignal as stop:
            return 128 + stop.number
        except (KeyboardInterrupt, typer.Abort):
            return 128 + signal.SIGINT
        except typer.Exit as stop:
            return stop.exit_code
        except BrokenPipeError:
            return OutputError.status
        except SystemExit as leaving:
            # Completion ends like this, and a shell reads the status. Without completion, the
            # parser could not write, because the reader of standard output has ended.
            is_completion = COMPLETION_VARIABLE in os.environ
            return 1 if leaving.code and is_completion else 7 if leaving.code else 0
        except BaseException as error:  # noqa: BLE001 - no error or panic may end in a traceback
            failure = _failure(error)
            if _signals and not isinstance(failure, OutputError):
                # A library caught the interruption and raised an error of its own, of which there
                # may be only one of ours left. That a stored release is not written must be said.
                return 128 + _signals[0]
            with suppress(OSError):
                print_failure(failure)
            return failure.status
        finally:
            end_log()
    # If the parser ended the command itself, it returns the status.
    return status if isinstance(status, int) else 0


def _without_global_options(words: Sequence[str]) -> list[str]:
    """Apply the options that may stand anywhere, and return the other words.

    `dpcli help COMMAND` becomes `dpcli COMMAND --help`.
    """
    others: list[str] = []
    formats: dict[str, list[str]] = {"--error-format": [], "--log-format": []}
    with_durations = False
    remaining = iter(words)
    for word in remaining:
        if word == "--":
            others += [word, *remaining]
        elif word == "--no-color":
            os.environ["NO_COLOR"] = "1"
        elif word == "--log-durations":
            with_durations = True
        elif (name := word.partition("=")[0]) in formats:
            formats[name].append(word.partition("=")[2] if "=" in word else next(remaining, ""))
        else:
            others.append(word)
    _use_formats(*formats.values(), with_durations=with_durations)
    if others[:1] == ["help"]:
        others = [*(word for word in others if word != "help"), "--help"]
    return others


def _use_formats(errors: list[str], logs: list[str], *, with_durations: bool) -> None:
    """Write standard error in the last format of each option; UsageError for others."""
    for name in errors:
        if name not in ("text", *LINES_OF_FACTS):
            raise UsageError.about("command-line.error-format", found=name)
    has_log = logs[-1:] == ["json"]
    if {*logs} - {"text", "json"} or (with_durations and not has_log) or (errors and logs):
        raise UsageError.about("command-line.log-format")
    if has_log:
        use_facts(sys.stderr, Log(with_durations=with_durations))
    elif errors and errors[-1] in LINES_OF_FACTS:
        use_facts(sys.stderr, LINES_OF_FACTS[errors[-1]])


def _failure(error: Any) -> DpcliError:
    """The failure to print for an error; an internal error loses its message."""
    if isinstance(error, DpcliError):
        return error
    if isinstance(error, OutputLost):
        return OutputError.from_system("standard output", error, "run the command again")
    if isinstance(error, PARSER_ERROR):
        return usage_error(error)
    return internal_error(error)

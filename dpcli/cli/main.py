"""The entry point: commands, and the one place where failures are printed."""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from dpcli import __version__
from dpcli.cli.manual import in_order, page, with_pages

COMMANDS = (
    "init", "check", "plan", "simulate", "release", "ledger", "local", "explain", "schema",
)  # fmt: skip
"""Every command, in the order in which a newcomer needs them; each is a module here."""

COMPLETION = "_DPCLI_COMPLETE"
"""The variable by which a shell asks what may come next."""

_signals: list[int] = []
"""Signals that have come."""

app = typer.Typer(
    name="dpcli",
    cls=in_order(COMMANDS),
    no_args_is_help=True,
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
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Differentially private releases of CSV files.

    A spec says what to release, and how much that may reveal. dpcli answers it with noise,
    keeps account of what was revealed, and refuses when the budget is spent. Begin with:

    Examples:
        dpcli init sample_data/people.csv > spec.yaml    # a spec to fill in
        dpcli check specs/minimal.yaml sample_data/people.csv
        dpcli plan specs/minimal.yaml                    # reads no data
        dpcli release specs/minimal.yaml sample_data/people.csv -o noisy.csv
        dpcli ledger show --spec specs/minimal.yaml      # what is left

    `dpcli init DATA --ask` asks for everything in turn and writes a spec that is ready.
    `dpcli COMMAND --help` has more examples; `dpcli explain WORD` explains any word.

    Exit status:
        0 done                    4 the data file does not fit
        1 a fault of dpcli's own  5 the budget refuses
        2 wrong command line      6 the ledger cannot be used
        3 wrong spec              7 an output could not be written
        8 the quality check failed: only the check was charged
    """


for _name in COMMANDS:
    _command = getattr(import_module(f"dpcli.cli.{_name}"), _name)
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_name)
    else:
        app.command(_name)(_command)
with_pages(app)
app.info.help = page(_root.__doc__)


def main() -> None:
    """Run the command line and exit with a documented status, never a traceback."""
    from dpcli.errors import Stopped

    try:
        status = _run_stoppably()
    except Stopped as stop:
        # The signal came before the command began or while its end was told.
        status = 128 + stop.number
    # Everything is closed and on disk; taking the interpreter apart with polars in
    # it would take longer than a small release.
    os._exit(status)


def _run_stoppably() -> int:
    """The status of the command line, with everything it said on its way out."""
    # Plugins are other people's code in a process that holds records.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stop)
    _open_standard_streams()
    status = run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        status = status or 7
    return status


def _open_standard_streams() -> None:
    """Have all three streams, in UTF-8, even if whoever started us closed some.

    Otherwise the next file to be opened would take the number of a closed one. What
    is written to a closed standard output still fails, and is told.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _stop(number: int, _frame: object) -> None:
    """Unwind as if interrupted, so that temporary files go and locks are freed."""
    from dpcli.errors import Stopped

    _signals.append(number)
    raise Stopped(number)


def run() -> int:
    """The exit status of the command in `sys.argv`, which prints harmless text alone."""
    from dpcli.cli.terminal import guarded

    with guarded():
        return _run()


def _run() -> int:
    """The exit status of the command; failures are printed here."""
    from dpcli.errors import Failure, Stopped

    try:
        # The parser returns the status of whatever it ended itself.
        # The name is that of completion too, however the program was started.
        status = app(standalone_mode=False, prog_name="dpcli")
    except Failure as failure:
        from dpcli.cli.console import print_failure

        print_failure(failure)
        return failure.status
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
    except OSError as error:
        if error.filename is not None:
            return _unexpected(error)
        with suppress(OSError):
            print("error[output-failed]: standard output could not be written", file=sys.stderr)
        return 7
    except Exception as error:  # noqa: BLE001 - whatever it is, no traceback
        return _unexpected(error)
    return status if isinstance(status, int) else 0


def _left(gone: BrokenPipeError | SystemExit) -> int:
    """The status when the parser left by itself, or whoever read standard output has gone.

    Completion leaves so, and its status tells a shell what to offer.
    """
    if isinstance(gone, SystemExit):
        if not gone.code:
            return 0
        if COMPLETION in os.environ:
            return 1
    return 7


def _unexpected(error: Exception) -> int:
    """A usage error of the parser, or a fault of ours told without its message."""
    if _signals:
        # Some library caught the interruption, and raised an error of its own instead.
        return 128 + _signals[0]
    show = getattr(error, "show", None)
    if callable(show):
        # A word of the command line may hold line ends.
        setattr(error, "message", " ".join(getattr(error, "message", "").splitlines()))  # noqa: B010 - whichever class of the parser it is
        show(file=sys.stderr)
        return 2
    # The words of an unexpected error may quote a record; its kind and place do not.
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    name = Path(trace.tb_frame.f_code.co_filename).name if trace else "?"
    where = f"{name}:{trace.tb_lineno if trace else 0}"
    print(
        f"error[internal-fault]: a fault of dpcli's own ({type(error).__name__} at {where})\n"
        "hint: please report it with the spec; never send the data",
        file=sys.stderr,
    )
    return 1

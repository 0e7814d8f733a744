"""Which ledger a command means."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dpcli.ledger.ledger import Ledger

Named = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="PATH",
        envvar="DPCLI_LEDGER",
        readable=False,
        show_envvar=False,
        help="The ledger [$DPCLI_LEDGER, else dpcli-ledger.sqlite].",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON, for scripts.")]

DEFAULT = "dpcli-ledger.sqlite"
"""The ledger beside a spec, made when it is first needed."""


@contextmanager
def open_ledger(named: Path | None, spec: Path) -> Iterator[Ledger]:
    """The named ledger, which must exist, or the one beside the spec."""
    from dpcli.ledger.creation import create_ledger
    from dpcli.ledger.ledger import Ledger
    from dpcli.ledger.store import Store

    _say_when_waiting()
    store = create_ledger(spec.parent / DEFAULT) if named is None else Store.open(named)
    ledger = Ledger(store)
    try:
        yield ledger
    finally:
        ledger.close()


@contextmanager
def existing_ledger(named: Path | None, *, doubtful: bool = False) -> Iterator[Ledger]:
    """The named ledger, or the default one of this folder; it must exist."""
    from dpcli.ledger.ledger import Ledger
    from dpcli.ledger.store import Store

    _say_when_waiting()
    ledger = Ledger(Store.open(named or Path(DEFAULT), doubtful=doubtful))
    try:
        yield ledger
    finally:
        ledger.close()


def _say_when_waiting() -> None:
    """Have a word printed when others keep the ledger locked for long."""
    import sys

    from dpcli.ledger import connection

    connection.notice = lambda: print(
        "waiting for others who use the ledger ...", file=sys.stderr, flush=True
    )

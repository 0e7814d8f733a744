"""Which ledger a command means."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dpcli.ledger.ledger import Ledger
    from dpcli.spec.model import Spec

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
"""The ledger next to a spec, made when it is first needed."""

MUST_EXIST = "DPCLI_LEDGER_MUST_EXIST"
"""The variable that demands a ledger, and an account in it, that exist already."""


def must_exist(spec: Spec) -> bool:
    """Whether the spec or the environment demands a ledger and an account that exist."""
    return spec.must_exist or os.environ.get(MUST_EXIST, "") not in {"", "0"}


@contextmanager
def open_ledger(named: Path | None, spec: Path, *, must_exist: bool = False) -> Iterator[Ledger]:
    """The named ledger, which must exist, or the one next to the spec.

    The latter is created if it is absent, which is announced, unless it `must_exist`.
    """
    from dpcli.ledger.creation import create_ledger
    from dpcli.ledger.ledger import Ledger
    from dpcli.ledger.place import is_absent, required
    from dpcli.ledger.store import Store

    _say_when_waiting()
    path = named or spec.parent / DEFAULT
    if named is None and must_exist and is_absent(path):
        raise required(path)
    ledger = Ledger(create_ledger(path) if named is None else Store.open(path))
    if ledger.store.created:
        print(
            f"created the ledger `{path}`: its history is empty, so every budget in it is unspent",
            file=sys.stderr,
        )
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
    from dpcli.ledger import sqlite

    sqlite.notice = lambda: print(
        "waiting for others who use the ledger ...", file=sys.stderr, flush=True
    )

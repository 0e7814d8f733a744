"""The options of a charge: the ledger, the id of the release, and its period."""

from __future__ import annotations

import os
import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.ledger.balance import period_number
from dpcli.ledger.filesystem import is_absent
from dpcli.noise.entropy import random_bytes
from dpcli.problems.errors import LedgerError, UsageError
from dpcli.problems.messages import escape_controls
from dpcli.specification.model import Spec

if TYPE_CHECKING:
    from dpcli.ledger.ledger import OpenLedger

DEFAULT = "dpcli-ledger.sqlite"
"""The name of the ledger next to a spec; the first release creates it."""

NAMED = "DPCLI_LEDGER"
"""The environment variable with the path of a ledger."""

MUST_EXIST = "DPCLI_LEDGER_MUST_EXIST"
"""The environment variable that requires an existing ledger with an account for the dataset."""


def must_exist(spec: Spec) -> bool:
    """Whether the spec or the environment requires an existing ledger and account."""
    return spec.must_exist or os.environ.get(MUST_EXIST, "") not in {"", "0"}


def ledger_of(named: Path | None, folder: Path) -> Path:
    """The ledger that is named, or the one in the folder of the spec."""
    return named or folder / DEFAULT


def open_or_create_ledger(
    named: Path | None, folder: Path, *, must_exist: bool = False
) -> closing[OpenLedger]:
    """The named ledger, which must exist, or the one in the folder of the spec.

    The latter is created if it is absent. Raises LedgerError if it is absent and `must_exist`.
    """
    # A plan only asks where the ledger is.
    from dpcli.ledger.ledger import OpenLedger, create_ledger

    path = ledger_of(named, folder)
    if named is None and must_exist and is_absent(path):
        raise LedgerError.about("ledger-must-exist", path=path)
    return closing(create_ledger(path) if named is None else OpenLedger.open(path))


def checked_day(period: str | None) -> str | None:
    """A period as it was written; UsageError unless it is a day."""
    try:
        if period is not None:
            period_number(period)
    except ValueError:
        raise UsageError.about("not-a-day", period=period) from None
    return period


ID = "[A-Za-z0-9][A-Za-z0-9._:-]{0,99}"
"""The form of a release id."""

ENTRY_ID = rf"{ID}(\+[0-9]{{1,6}})?"
"""The form of a name in the ledger: a later check adds its number."""


def checked_id(release_id: str | None) -> str | None:
    """A release id as it was written; UsageError unless it is a plain word."""
    if release_id is None or re.fullmatch(ID, release_id):
        return release_id
    raise UsageError.about("bad-release-id")


def checked_entry_id(name: str) -> str:
    """The name of a stored release, also of a later check; UsageError for other texts."""
    if re.fullmatch(ENTRY_ID, name):
        return name
    raise UsageError.about("bad-release-id")


def new_release_id() -> str:
    """A random name for a release; it does not depend on the data."""
    return random_bytes(8).hex()


def created_text(ledger: Path) -> str:
    """What a new ledger means for the budgets in it."""
    path = escape_controls(str(ledger))
    return f"created the ledger `{path}`: its history is empty, so every budget in it is unspent"

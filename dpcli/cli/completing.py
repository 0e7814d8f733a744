"""What a shell offers for arguments: names of accounts.

It runs at every press of a key, so it imports what it needs when it is asked, and a file
that cannot be read offers nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def datasets(incomplete: str) -> Iterator[str]:
    """The accounts of the ledger that a command without `--ledger` would use."""
    from dpcli.cli.ledger_file import DEFAULT
    from dpcli.errors import Failure
    from dpcli.ledger.ledger import Ledger
    from dpcli.ledger.store import Store

    path = Path(os.environ.get("DPCLI_LEDGER") or DEFAULT)
    if not path.is_file():
        return
    try:
        ledger = Ledger(Store.open(path, doubtful=True))
    except Failure:
        return
    try:
        names = list(ledger.accounts())
    except Failure:
        return
    finally:
        ledger.close()
    yield from (name for name in names if name.startswith(incomplete))

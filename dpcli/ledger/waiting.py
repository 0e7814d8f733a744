"""What is said while other processes keep the ledger locked.

The command line says it for all of its commands, of which a plan opens no ledger and needs no
SQLite.
"""

from __future__ import annotations

from collections.abc import Callable

notice: Callable[[], None] = lambda: None  # noqa: E731 - replaced by the command line
"""Called once per statement when other processes keep the ledger locked for long."""

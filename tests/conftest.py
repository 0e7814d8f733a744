"""The command line in this process, with noise and time that tests can freeze."""

from __future__ import annotations

from tests.support.cli import dpcli, freeze, no_ledger_among_the_specs
from tests.support.streams import stream

__all__ = ["dpcli", "freeze", "no_ledger_among_the_specs", "stream"]

"""Error codes of ledgers that cannot be used."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = ()

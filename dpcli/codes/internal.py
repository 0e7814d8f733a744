"""Error codes of our own faults."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = ()

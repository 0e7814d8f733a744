"""Error codes of the command line."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = ()

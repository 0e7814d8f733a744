"""Error codes of releases that cost too much."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = ()

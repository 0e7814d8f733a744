"""Error codes of files that cannot be written."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = ()

"""Reports of every sample spec, made once."""

from __future__ import annotations

from tests.support.reports import reports

__all__ = ["reports"]

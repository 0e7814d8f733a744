"""Reports of every sample spec, made once, and a small spec with its file."""

from __future__ import annotations

from tests.support.cli import data, spec
from tests.support.reports import reports

__all__ = ["data", "reports", "spec"]

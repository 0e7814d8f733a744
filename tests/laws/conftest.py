"""A spec and its data."""

from __future__ import annotations

from tests.support.cli import data, spec

__all__ = ["data", "spec"]

"""Ledgers with accounts and charges, without any data."""

from __future__ import annotations

from tests.support.ledgers import ledger, path

__all__ = ["ledger", "path"]

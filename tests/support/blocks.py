"""Makes readers read few bytes at a time, so that small files have many pieces."""

from __future__ import annotations

import pytest

from dpcli.engine.files import csv_normalizer, decoding, pieces
from dpcli.engine.sums import bounding


def read_in_blocks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Every reader reads `size` bytes at a time, and makes pieces of `size` rows."""
    for module, name in (
        (decoding, "BLOCK"),
        (csv_normalizer, "BLOCK"),
        (pieces, "BLOCK"),
        (pieces, "PIECE"),
        (pieces, "SEGMENT"),
    ):
        monkeypatch.setattr(module, name, size)


def compact_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users are in several shards, and each shard is compacted after every few rows."""
    monkeypatch.setattr(bounding, "SHARD", 64)
    monkeypatch.setattr(bounding, "MAX_SHARDS", 5)
    monkeypatch.setattr(bounding, "WAITING", 1)
    monkeypatch.setattr(pieces, "SEGMENT", 7)
    monkeypatch.setattr(pieces, "PIECE", 2_000)

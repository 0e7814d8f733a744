"""Readers that take few bytes at a time, so that small files have many pieces."""

from __future__ import annotations

import pytest

from dpcli.engine import bounding, content, plain
from dpcli.engine import pieces as tables


def read_in_blocks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Every reader takes so many bytes at a time, and has pieces of so many rows."""
    for module, name in (
        (content, "BLOCK"),
        (plain, "BLOCK"),
        (tables, "BLOCK"),
        (tables, "PIECE"),
        (tables, "SEGMENT"),
    ):
        monkeypatch.setattr(module, name, size)


def compact_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users are in many shards, each of which is compacted after every few rows."""
    monkeypatch.setattr(bounding, "SHARD", 64)
    monkeypatch.setattr(bounding, "WAITING", 1)
    monkeypatch.setattr(tables, "SEGMENT", 7)
    monkeypatch.setattr(tables, "PIECE", 2_000)

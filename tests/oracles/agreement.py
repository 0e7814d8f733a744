"""Exact answers about a file that engine and oracle give alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpcli.data.filters import Filter
from dpcli.data.formats import STANDARD_DIALECT, Dialect
from dpcli.privacy.unit import RowUnit
from dpcli.queries.query import Query
from tests.oracles.opened import Units, engine
from tests.oracles.plain import Answer, Priority, evaluate


def agreed(
    queries: Sequence[Query],
    data: str | bytes,
    folder: Path,
    unit: Units | None = None,
    *,
    dialect: Dialect = STANDARD_DIALECT,
    priority: Priority = lambda *_: 0,
    empty_groups: bool = True,
    only: Filter | None = None,
) -> list[Answer]:
    """The answers about a file with this content; AssertionError where they differ.

    Private groups whose cells are all zero are optional unless `empty_groups`.
    """
    content = data.encode() if isinstance(data, str) else data
    path, whose = folder / "data.csv", unit or RowUnit()
    path.write_bytes(content)
    found = engine(queries, whose, path, dialect=dialect, only=only)
    expected = evaluate(queries, content, whose, priority, dialect, only)
    if not empty_groups:
        found, expected = without_empty(found), without_empty(expected)
    assert found == expected, content
    return found


def without_empty(answers: Sequence[Answer]) -> list[Answer]:
    """The answers without private groups whose cells are all zero."""
    return [
        {key: cells for key, cells in answer.items() if any(cells)}
        if isinstance(answer, dict)
        else answer
        for answer in answers
    ]

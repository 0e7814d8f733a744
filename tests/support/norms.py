"""The norms of vector noise, by their definitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from dpcli.privacy.norms import named_tables
from dpcli.queries.query import Query


def norm_of(body: str, vector: Sequence[int]) -> int:
    """The norm of a vector; for `fixed-sum`, of one whose sum is zero.

    Raises AssertionError for tables with other sums than noise has.
    """
    if tables := named_tables(body):
        return norm_of_tables(tables[0].name, tables[1], vector)
    rises, falls = (sum(max(sign * part, 0) for part in vector) for sign in (1, -1))
    if body == "cube":
        return max(map(abs, vector))
    if body == "zero-one":
        return max(0, *vector) - min(0, *vector)
    return max(rises, falls)


def norm_of_tables(norm: str, sizes: Sequence[int], vector: Sequence[int]) -> int:
    """The norm of tables whose sums are equal."""
    starts = accumulate(sizes, initial=0)
    tables = [vector[at : at + size] for at, size in zip(starts, sizes, strict=False)]
    sums = {*map(sum, tables)}
    assert len(sums) == 1
    rises, falls = (
        max(sum(max(sign * part, 0) for part in table) for table in tables) for sign in (1, -1)
    )
    if norm == "exchanged-tables":
        assert sums == {0}
        return rises
    return max(sum(map(abs, table)) for table in tables) if norm == "tables" else max(rises, falls)


def total_change(query: Query, changes: Sequence[int], one: object, other: object) -> int:
    """The sum of the changes of an answer, or of the norms of its vectors."""
    if query.vectors is None:
        return sum(changes)
    assert isinstance(one, list) and isinstance(other, list)
    moved = [a - b for a, b in zip(one, other, strict=True)]
    size, norm = query.vectors
    return sum(norm_of(norm, moved[at : at + size]) for at in range(0, len(moved), size))

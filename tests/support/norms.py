"""The norms of vector noise, by their definitions."""

from __future__ import annotations

from collections.abc import Sequence

from dpcli.queries.query import Query
from dpcli.queries.vectors import VectorQuery


def norm_of(body: str, vector: Sequence[int]) -> int:
    """The norm of a vector; for `fixed-sum`, of one whose sum is zero."""
    rises, falls = (sum(max(sign * part, 0) for part in vector) for sign in (1, -1))
    if body == "cube":
        return max(map(abs, vector))
    if body == "zero-one":
        return max(0, *vector) - min(0, *vector)
    return max(rises, falls)


def total_change(query: Query, changes: Sequence[int], one: object, other: object) -> int:
    """The sum of the changes of an answer, or of the norms of its vectors."""
    if not isinstance(query, VectorQuery):
        return sum(changes)
    assert isinstance(one, list) and isinstance(other, list)
    moved = [a - b for a, b in zip(one, other, strict=True)]
    starts = range(0, len(moved), query.size)
    return sum(norm_of(query.norm, moved[at : at + query.size]) for at in starts)

"""The published names of bins: which values of a numeric column each one holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from dpcli.columns import NumericColumn


def bin_labels(column: NumericColumn, starts: Sequence[int]) -> tuple[str, ...]:
    """The label of each bin, in order; bin i holds the values from `starts[i]` to the next start.

    The last bin ends with the upper bound of the column. Whole numbers and days are
    closed ranges of the values that a bin holds, finer numbers are intervals:

    =====================================  ==================================
    column                                 labels
    =====================================  ==================================
    whole numbers, none below zero         ``0-9``, ``10-19``, ``20``
    whole numbers, some below zero         ``[-10,-1]``, ``[0,9]``, ``10``
    dates                                  ``2024-03-01..2024-03-31``
    numbers whose step is not whole        ``[0.0,0.5)``, ``[0.5,1.0]``
    =====================================  ==================================

    No label begins with a character that starts a formula in a spreadsheet, except the
    minus of a plain negative number, which is a number there too. So a label is the same
    text in CSV, Parquet, JSON and HTML.
    """
    if not column.whole:
        return tuple(_intervals(column, starts))
    ends = (*(start - 1 for start in starts[1:]), column.upper)
    return tuple(_closed(column, low, high) for low, high in zip(starts, ends, strict=True))


def _closed(column: NumericColumn, low: int, high: int) -> str:
    """The range of whole numbers or days from `low` to `high`, both included."""
    first, last = column.text(low), column.text(high)
    if low == high:
        return first
    if column.kind == "date":
        return f"{first}..{last}"
    return f"[{first},{last}]" if column.lower < 0 else f"{first}-{last}"


def _intervals(column: NumericColumn, starts: Sequence[int]) -> Iterator[str]:
    """Half-open intervals; the last one includes the upper bound."""
    texts = [column.text(edge) for edge in (*starts, column.upper)]
    last = len(starts) - 1
    for position, (low, high) in enumerate(pairwise(texts)):
        yield f"[{low},{high}{']' if position == last else ')'}"

"""The published names of bins: which values of a numeric column each one holds."""

from __future__ import annotations

from collections.abc import Sequence

from dpcli.columns import NumericColumn


def bin_label(column: NumericColumn, starts: Sequence[int], place: int) -> str:
    """The label of one bin, which holds the values from its start to below the next start.

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
    low, last = starts[place], place == len(starts) - 1
    if column.whole:
        return _closed(column, low, column.upper if last else starts[place + 1] - 1)
    end = column.upper if last else starts[place + 1]
    return f"[{column.text(low)},{column.text(end)}{']' if last else ')'}"


def _closed(column: NumericColumn, low: int, high: int) -> str:
    """The range of whole numbers or days from `low` to `high`, both included."""
    first, last = column.text(low), column.text(high)
    if low == high:
        return first
    if column.kind == "date":
        return f"{first}..{last}"
    return f"[{first},{last}]" if column.lower < 0 else f"{first}-{last}"

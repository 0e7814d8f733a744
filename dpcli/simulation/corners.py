"""Extreme cells of columns: bounds, ends of conditions and bins, labels, blanks.

They follow from the spec alone. Neighbors in which answers differ most are made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from dpcli.data.column import Column, ValuedColumn
from dpcli.data.date_forms import DateFormat
from dpcli.data.formats import NumberFormat
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.labels import LabeledColumn, require_labeled
from dpcli.data.possible_values import possible_values
from dpcli.queries.query import Query

OTHER_TEXT = "something else"
"""The text of cells that get a column's label for all other texts."""

UNREADABLE_TEXT = "?!"
"""The text of cells that no column of numbers, days or labels can read."""

DEFAULT_BOUNDS = (0, 100)
"""Bounds for columns without bounds, which no statistic uses."""

MOST_CELLS = 60
"""The most different cells of a column; of more values, some are left out evenly."""

NOON = (12, 0)

T = TypeVar("T")


class Corner(NamedTuple):
    """The text of a cell, and the value that the column reads; None if it is missing."""

    text: str
    value: int | None


def named_cell(number: int) -> str:
    """The id, or the private label, with this number."""
    return f"dummy-{number + 1}"


def corners_of(column: Column, queries: Sequence[Query]) -> tuple[Corner, ...]:
    """The extreme cells of a column; none if they are numbered without end.

    The last two are blank and unreadable.
    """
    if column.is_id or column.is_private:
        return ()
    missing = column.missing
    odd = [Corner("", missing), Corner(UNREADABLE_TEXT, missing)]
    if column.labels:
        labeled = require_labeled(column)
        pairs, other = first_texts(labeled), labeled.other
        if other is not None:
            odd[1] = Corner(UNREADABLE_TEXT, labeled.positions[other])
        return (*(Corner(text, value) for value, text in spread(pairs)), *odd)
    numeric = require_numeric(column)
    low, high = numeric.bounds or DEFAULT_BOUNDS
    found = {low, high, min(max(low, 0), high), (low + high) // 2}
    found |= {end for ends in numeric.declared_ranges for end in ends} if numeric.bounds else set()
    found |= {value for value in _used(numeric, queries) if low <= value <= high}
    steps = list(spread(sorted(found)))
    # Cells outside the bounds are clamped to them.
    is_listed = numeric.bounds is not None and len(numeric.declared_ranges) > 1
    far = 2 * (high - low)
    outside = {low - 1: low, high + 1: high, low - far - 1: low, high + far + 1: high}
    outside = {} if is_listed or numeric.is_date else outside
    texts = written(numeric, [*steps, *outside], [NOON] * (len(steps) + len(outside)))
    values = [*steps, *outside.values()]
    return (*map(Corner, texts, values), *odd)


def first_texts(column: LabeledColumn) -> list[tuple[int, str]]:
    """The position of each label, with the first text that has it."""
    others = () if column.other is None else ((OTHER_TEXT, column.other),)
    found: dict[int, str] = {}
    for text, label in (*column.values, *others):
        found.setdefault(column.positions[label], text)
    return sorted(found.items())


def written(
    column: NumericColumn, steps: Sequence[int], times: Iterable[tuple[int, int]]
) -> list[str]:
    """Numbers of steps as cells of the column; days that have a time, at these times."""
    # Each distinct number is formatted once.
    texts = {step: column.text(step) for step in {*steps}}
    form = column.format
    if isinstance(form, NumberFormat):
        texts = {step: form.written(text) for step, text in texts.items()}
    if isinstance(form, DateFormat):
        pairs = zip(steps, times, strict=True)
        return [form.written(texts[step], *time) for step, time in pairs]
    return [texts[step] for step in steps]


def _used(column: NumericColumn, queries: Sequence[Query]) -> Iterator[int]:
    """Where conditions on the column end, and where its bins begin."""
    for query in queries:
        for axis in query.grouping_axes:
            if axis.column.name == column.name:
                yield from (end for start in axis.starts for end in (start - 1, start))
        for test in query.where:
            for single in test.single_tests:
                known = possible_values((single,))
                for tested, ranges in known.known.items() if known else ():
                    if _is_same(tested, column):
                        yield from (end for ends in ranges for end in ends)
                        yield from (low - 1 for low, _ in ranges)
                        yield from (high + 1 for _, high in ranges)


def _is_same(one: ValuedColumn, other: Column) -> bool:
    return one.derivation is None and one.name == other.name


def spread(items: Sequence[T], most: int = MOST_CELLS) -> Sequence[T]:
    """All of some items, or as many as this, evenly spread, with both ends."""
    if len(items) <= most:
        return items
    return [items[at * (len(items) - 1) // (most - 1)] for at in range(most)]

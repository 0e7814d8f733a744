"""Neighbors in which answers differ most: rows of extreme cells, from the spec.

For each query there are units with the least and the greatest values, in one group and in as many
as limits allow, with more rows than limits allow, and random ones. Answers about all of them are
compared, so a unit that was made for one query also attacks the others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from dpcli.data.column import Column, file_columns
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.possible_values import possible_values
from dpcli.numeric.arrays import np
from dpcli.privacy.sensitivity import limits
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.queries.query import Query
from dpcli.simulation.synthetic import Corners, Stream

Row = Mapping[str, int]
"""The number of an extreme cell, by the name of its column."""

Rows = tuple[Row, ...]

MOST_PATTERNS = 6
"""The most columns of which one is set to the other end than all others."""

MOST_TRIED, SPREAD = 2_000, 5
"""Cells of a query that are listed, and into how many parts they are divided."""

MOST_ROWS = 400
"""The most rows of a unit."""

SEVERAL_ROWS = 24
"""Rows of a person of which values are made, where no limit says how many."""

SPLITS = (
    (20, 20), (1, 0), (1, 1), (0, 31), (1, 3), (3, 1), (5, 5), (0, 120), (9, 1), (1, 9), (0, 2),
    (19, 1), (1, 19),
)  # fmt: skip
"""Numbers of low and high rows that neighbors have in common, where that matters.

The ranks of usual quantiles are near these.
"""


class RowMaker:
    """Makes rows for one query; they count unless a filter needs more than ranges."""

    def __init__(self, query: Query, corners: Corners, stream: Stream) -> None:
        self._query, self._corners, self._stream, self._drawn = query, corners, stream, 0
        names = {
            column.file_key: name for name, column in corners.columns.items() if column is not None
        }
        known = possible_values(query.where)
        ranges = {} if known is None else {one.file_key: own for one, own in known.known.items()
                                           if one.derivation is None}  # fmt: skip
        self._allowed = {}
        for name, column in corners.columns.items():
            if column is None:
                continue
            cells = list(enumerate(corners.of(name)))
            own = ranges.get(column.file_key, ((-(1 << 99), 1 << 99),))
            values = sorted(
                (cell.value, at)
                for at, cell in cells
                if cell.value is not None and any(low <= cell.value <= high for low, high in own)
            )
            self._allowed[name] = [at for _, at in values] or [at for at, _ in cells] or [*range(8)]

        def own_names(columns: Sequence[Column]) -> list[str]:
            return list(
                dict.fromkeys(names[one.file_key] for one in columns if one.file_key in names)
            )

        self._axes = [
            (own_names(file_columns([axis.column])), axis) for axis in query.grouping_axes
        ]
        grouped = {name for own, _ in self._axes for name in own}
        used = own_names(file_columns([*query.columns, *query.operands]))
        ids = {name for name in used if not corners.of(name)}
        self._valued = [name for name in used if name not in grouped and name not in ids]
        self._texts = [name for name in used if name not in grouped and name in ids]

    def row(self, pattern: Mapping[str, int], cell: Mapping[str, int], text: int = 0) -> Row:
        """A row with these values in a cell; all other columns have their first value."""
        plain = {name: allowed[0] for name, allowed in self._allowed.items()}
        return {**plain, **dict.fromkeys(self._texts, text), **pattern, **cell}

    def patterns(self) -> Sequence[Mapping[str, int]]:
        """Ways to set values: all least, all greatest, one other than the rest."""
        names, allowed = self._valued, self._allowed
        if self._query.counted_values is not None and len(names) == 1:
            return [{names[0]: at} for at in allowed[names[0]]]
        if not names:
            # A row in a group may have the value by which it is grouped.
            return [{}]
        least, most = ({name: allowed[name][end] for name in names} for end in (0, -1))
        middle = {name: allowed[name][len(allowed[name]) // 2] for name in names}
        # Of a single value, they would be the same.
        turned = names[: MOST_PATTERNS * (len(names) > 1)]
        low, high = ([one | {name: other[name]} for name in turned]
                     for one, other in ((least, most), (most, least)))  # fmt: skip
        # The opposite of each is as far from the other end.
        return [least, *low, middle, *high[::-1], most]

    def cells(self) -> Iterator[Mapping[str, int]]:
        """Different cells of the query, as the values of a row that lies there."""
        choices = []
        for names, axis in self._axes:
            if len(names) == 1 and axis.column.derivation is None:
                choices.append([{names[0]: at} for at in self._one_of_each(names[0], axis)])
            else:
                parts = ([(name, at) for at in self._allowed[name]] for name in names)
                choices.append([dict(pairs) for pairs in islice(product(*parts), 200)])
        # Successive cells differ in the first axis, too: limits are often on groups.
        order = product(*reversed(choices))
        for chosen in order:
            yield {name: at for part in chosen for name, at in part.items()}

    def some_cells(self, first: int) -> list[Mapping[str, int]]:
        """The first cells of the query, and a few that are spread over the others."""
        cells = list(islice(self.cells(), MOST_TRIED))
        spread = (len(cells) * at // SPREAD for at in range(1, SPREAD))
        return [*cells[:first], *(cells[at] for at in spread if first <= at), cells[-1]]

    def _one_of_each(self, name: str, axis: Axis) -> list[int]:
        """One extreme cell for each bin or label of an axis."""
        column, allowed, cells = axis.column, self._allowed[name], self._corners.of(name)
        if not isinstance(column, NumericColumn) or not axis.starts:
            return allowed
        found: dict[int, int] = {}
        for at in allowed:
            value = cells[at].value
            found.setdefault(bisect_right(axis.starts, 0 if value is None else value), at)
        return list(found.values())

    def units(self, unit: Unit) -> Iterator[Rows]:
        """Rows of one unit each, the extreme ones first."""
        in_cell, total, touched = limits(self._query.bounded_unit(unit), self._query.cells)
        is_person = isinstance(unit, PersonUnit)
        total = min(total, MOST_ROWS)
        cells, patterns = self.some_cells(2 * touched + 2), self.patterns()
        for first in (0, total) if is_person else (0,):
            turns = [patterns[(first + at) % len(patterns)] for at in range(total)]
            texts = range(first, first + total)
            own = [cells[at // in_cell % len(cells)] for at in range(total)]
            yield tuple(map(self.row, turns, own, texts))
        if is_person:
            for cell in (*cells[:2], cells[-1]):
                yield tuple(
                    self.row(patterns[at % len(patterns)], cell, at)
                    for at in range(min(in_cell, total))
                )
        for number, pattern in enumerate(patterns):
            other = patterns[-1 - number]
            yield (self.row(pattern, cells[0]),)
            yield (self.row(pattern, cells[-1]),)
            yield (self.row(pattern, cells[len(cells) // 2]),)
            if not is_person:
                continue
            for first in (0, touched):
                own = cells[first : first + touched] or cells[:1]
                mixed = [self.row((pattern, other)[at % 2], cell) for at, cell in enumerate(own)]
                yield tuple(mixed[:total])
                # Another unit may have its full cells where this one has its last rows.
                for order, last in product((own, own[::-1]), (pattern, other)):
                    full = [
                        self.row(pattern if at < total // in_cell else last, cell)
                        for at, cell in enumerate(order)
                        for _ in range(in_cell)
                    ]
                    yield tuple(full[:total])
            yield (self.row(pattern, cells[0]),) * min(in_cell, MOST_ROWS)
            yield (self.row(pattern, cells[0]),) * min(2 * total + 1, MOST_ROWS)
            yield (self.row(pattern, cells[0]),) * SEVERAL_ROWS
            yield (self.row(pattern, cells[0]), self.row(other, cells[0]))

    def random(self, rows: int, *, any_cell: bool) -> Rows:
        """Rows of cells at random: of those that count, or of all, blanks and faults too."""
        return tuple(
            {
                name: self._one_of(
                    [*range(len(cells))]
                    if any_cell and (cells := self._corners.of(name))
                    else allowed
                )
                for name, allowed in self._allowed.items()
            }
            for _ in range(rows)
        )

    def _one_of(self, choices: Sequence[int]) -> int:
        self._drawn += 1
        return choices[int(self._stream.below(len(choices), np.array([self._drawn]))[0])]

    def private_rows(self, groups: int, each: int) -> Iterator[Row]:
        """Rows in as many private groups, the same number in each."""
        pattern, cell = self.patterns()[0], self.some_cells(1)[0]
        # A group may depend on more than its label, such as the day of a person's last row.
        private = [name for names, axis in self._axes if axis.is_private for name in names
                   if not self._corners.of(name)]  # fmt: skip
        for group in range(groups):
            yield from [self.row(pattern, {**cell, **dict.fromkeys(private, group)})] * each

    def common(self) -> Iterator[Rows]:
        """What neighbors have in common, for answers to which that matters."""
        cells, patterns = self.some_cells(8), self.patterns()
        every = [self.row(pattern, cell) for pattern in patterns[:3] for cell in cells]
        between = self.row(patterns[0], cells[len(cells) // 2])
        for low, high in SPLITS:
            yield (every[0],) * low + (every[-1],) * high
            yield (between,) * (low + high)
            yield self.random(low + high, any_cell=False)
        for count in (1, 2, 5):
            yield tuple(every * count)

"""Neighbors in which answers differ most: rows of extreme cells, from the spec.

For each query there are units with the least and the greatest values, in one group and in as many
as limits allow, with more rows than limits allow, and random ones. Answers about all of them are
compared, so a unit that was made for one query also attacks the others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count, islice, product

from dpcli.data.column import Column, file_columns
from dpcli.data.kinds import Axis
from dpcli.data.possible_values import possible_values
from dpcli.numeric.arrays import np
from dpcli.planning.plan import PlannedQuery
from dpcli.privacy.sensitivity import limits
from dpcli.privacy.unit import PersonUnit
from dpcli.simulation.corners import Corner, spread
from dpcli.simulation.synthetic import Corners, Stream

Cells = Mapping[str, int]
"""Numbers of extreme cells, by the names of their columns."""

Row = tuple[tuple[str, int], ...]
"""The numbers of all cells of a row, with the names of their columns."""

Rows = tuple[Row, ...]

MOST_UNITS, UNITS_OF_CHOICES, RANDOM_UNITS = 120, 8, 40
"""Units that are tried for a query, around other rows for choices, and at random."""

MOST_PATTERNS = 6
"""The most columns of which one is set to the other end than all others."""

MOST_TRIED, SPREAD = 2_000, 5
"""Cells of a query that are listed, and into how many parts they are divided."""

MOST_ROWS, MOST_BEYOND = 400, 5_000
"""The most rows of a unit, and those of one that is beyond its limit."""

MOST_COMMON = 2_000
"""The most rows that neighbors have in common."""

SEVERAL_ROWS, FREE_TEXTS = 24, 8
"""Rows of a person of which values are made, and texts of columns without end."""

COUNTS = (1, 0, 20, 3)
"""Low and high rows that neighbors have in common, near ranks of quantiles."""


class RowMaker:
    """Makes rows for one query; they count unless a filter needs more than ranges."""

    def __init__(self, part: PlannedQuery, corners: Corners, stream: Stream) -> None:
        self.part, self._corners, self._stream, self._drawn = part, corners, stream, count()
        self._query, unit = part.calibrated.query, part.calibrated.relation.unit
        self._limits = limits(self._query.bounded_unit(unit), self._query.cells)
        # Without people, no unit has several rows.
        self._most_rows = unit.max_rows if isinstance(unit, PersonUnit) else 0
        known = possible_values(self._query.where)
        ranges = {
            column.file_key: own
            for column, own in (known.known.items() if known else ())
            if column.derivation is None
        }
        self._names, self._allowed = dict[str | int, str](), dict[str, list[int]]()
        for name, column in corners.columns.items():
            if column is not None:
                self._names[column.file_key] = name
                own = ranges.get(column.file_key, ((-(1 << 99), 1 << 99),))
                self._allowed[name] = _allowed(corners.of(name), own)
        axes = self._query.grouping_axes
        self._axes = [(self._used([axis.column]), axis) for axis in axes]
        grouped = {name for names, _ in self._axes for name in names}
        used = self._used([*self._query.columns, *self._query.operands])
        self._texts = [name for name in used if name not in grouped and not corners.of(name)]
        self._valued = [name for name in used if name not in grouped and corners.of(name)]

    def _used(self, columns: Sequence[Column]) -> list[str]:
        """The columns of the file from which these are read."""
        keys = dict.fromkeys(column.file_key for column in file_columns(columns))
        return [self._names[key] for key in keys if key in self._names]

    def row(self, pattern: Cells, cell: Cells, text: int = 0) -> Row:
        """A row with these values in a cell; all other columns have their first value."""
        plain = {name: allowed[0] for name, allowed in self._allowed.items()}
        return (*({**plain, **dict.fromkeys(self._texts, text), **pattern, **cell}).items(),)

    def patterns(self) -> Sequence[Cells]:
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

    def some_cells(self, first: int) -> Sequence[Cells]:
        """The first cells of the query, as values of a row there, and a few others."""
        axes = (
            [[(name, at) for at in self._one_of_each(name, axis)] for name in names]
            for names, axis in self._axes
        )
        # Successive cells differ in the first axis, too: limits are often on groups.
        order = product(*reversed([[*islice(product(*parts), 200)] for parts in axes]))
        cells = [dict(chain(*chosen)) for chosen in islice(order, MOST_TRIED)]
        return [*cells[:first], *spread(cells[first:], SPREAD)]

    def _one_of_each(self, name: str, axis: Axis) -> Sequence[int]:
        """Both extreme cells of each bin of an axis, or one cell for each label."""
        allowed, cells = self._allowed[name], self._corners.of(name)
        if axis.column.derivation is not None or not axis.starts:
            return allowed
        bins = [bisect_right(axis.starts, cells[at].value or 0) for at in allowed]
        first = dict(zip(bins[::-1], allowed[::-1], strict=True))
        last = dict(zip(bins, allowed, strict=True))
        return [*dict.fromkeys((*reversed(first.values()), *last.values()))]

    def situations(self) -> Iterator[tuple[Rows, Sequence[Rows]]]:
        """Rows that neighbors have in common, and the units to compare around them."""
        own = [*islice(dict.fromkeys(self.units()), MOST_UNITS)]
        yield (), own
        for common in self._common():
            yield common, spread(own, UNITS_OF_CHOICES)
        rows = max(1, min(2 * self._most_rows, SEVERAL_ROWS))
        units = [self._random(1 + at % rows, any_cell=at % 3 == 0) for at in range(RANDOM_UNITS)]
        yield self._random(3 * self._query.chooses, any_cell=False), units

    def units(self) -> Iterator[Rows]:
        """Rows of one unit each, the extreme ones first."""
        in_cell, total, touched = self._limits
        beyond = min(2 * total + 1, MOST_BEYOND)
        total, in_cell = min(total, MOST_ROWS), min(in_cell, MOST_ROWS)
        cells, patterns = self.some_cells(2 * touched + 2), self.patterns()
        different = (*cells[:2], cells[len(cells) // 2], cells[-1])
        yield ((),)  # A row of blanks, of a unit with an id.
        for pattern, cell in product(patterns, different):
            yield (self.row(pattern, cell),)
        if not self._most_rows:
            return
        # In more cells than limits allow.
        for own, each in product((patterns[:1], patterns[-1:]), (1, SEVERAL_ROWS)):
            yield self._unit_of(min(each * len(cells), MOST_ROWS), own, cells, each)
        for first in (0, total):
            yield self._unit_of(total, patterns, cells, in_cell, first)
        for cell in different:
            yield self._unit_of(in_cell, patterns, [cell], in_cell)
        for pattern, other in zip(patterns, patterns[::-1], strict=True):
            for own in (cells[:touched], cells[touched : 2 * touched] or cells[:1]):
                yield self._unit_of(min(total, len(own)), (pattern, other), own, 1)
                # Another unit may have its full cells where this one has its last rows.
                for order, last in product((own, own[::-1]), (pattern, other)):
                    full = [pattern] * (total // in_cell * in_cell) + [last] * (total % in_cell)
                    yield self._unit_of(min(total, len(own) * in_cell), full, order, in_cell)
            for times in (in_cell, beyond, SEVERAL_ROWS):
                yield (self.row(pattern, cells[0]),) * times

    def _unit_of(
        self, rows: int, ways: Sequence[Cells], cells: Sequence[Cells], each: int, first: int = 0
    ) -> Rows:
        """Rows set in these ways in turn, `each` in a cell; texts from `first` on."""
        return tuple(
            self.row(ways[at % len(ways)], cells[(at - first) // each % len(cells)], at)
            for at in range(first, first + rows)
        )

    def _random(self, rows: int, *, any_cell: bool) -> Rows:
        """Rows of cells at random: of those that count, or of all, blanks and faults too."""
        stream, cells = self._stream.named(str(next(self._drawn))), self._corners.of
        columns = [
            (name, range(len(cells(name))) if any_cell and cells(name) else own)
            for name, own in self._allowed.items()
        ]
        positions = np.arange(rows * len(columns)).reshape(rows, len(columns))
        return tuple(
            tuple((name, own[at % len(own)]) for (name, own), at in zip(columns, row, strict=True))
            for row in stream.below(1 << 32, positions).tolist()
        )

    def private_rows(self, groups: int, each: int) -> Rows:
        """Rows in as many private groups, the same number in each."""
        pattern, cell = self.patterns()[0], self.some_cells(1)[0]
        # A group may depend on more than its label, such as the day of a person's last row.
        private = [name for names, axis in self._axes if axis.is_private for name in names
                   if not self._corners.of(name)]  # fmt: skip
        return tuple(
            self.row(pattern, {**cell, **dict.fromkeys(private, number // each)})
            for number in range(groups * each)
        )

    def _common(self) -> Iterator[Rows]:
        """What neighbors have in common, for answers to which that matters."""
        if rule := self.part.calibrated.partition_selection:
            # Groups that are published half of the time: those of a unit, and one more.
            groups = max(1, min(self._limits[2] + 1, FREE_TEXTS, MOST_COMMON // rule.threshold))
            yield self.private_rows(groups, min(rule.threshold, MOST_COMMON))
        cells, patterns = self.some_cells(8), self.patterns()
        if not (self._query.chooses or self._query.minimizes):
            # Those in the same groups must not matter.
            yield tuple(self.row(*own) for own in product((patterns[0], patterns[-1]), cells[:3]))
            return
        every = [self.row(pattern, cell) for pattern in patterns[:3] for cell in cells]
        between = self.row(patterns[0], cells[len(cells) // 2])
        for low, high in product(COUNTS, repeat=2):
            yield (every[0],) * low + (every[-1],) * high
            yield (between,) * (low + high)
            yield self._random(low + high, any_cell=False)
        for times in (1, 2, 5):
            yield tuple(every * times)


def _allowed(cells: Sequence[Corner], ranges: Sequence[tuple[int, int]]) -> list[int]:
    """The numbers of cells with a value in these ranges, in order.

    All if there is none. Of equal values, those furthest outside are first and last.
    """
    values = {
        at: cell.value
        for at, cell in enumerate(cells)
        if cell.value is not None and any(low <= cell.value <= high for low, high in ranges)
    }
    least = min(values.values(), default=0)
    ordered = sorted(values, key=lambda at: (values[at], -at if values[at] == least else at))
    return ordered or [*range(len(cells) or FREE_TEXTS)]

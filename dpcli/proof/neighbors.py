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
from dpcli.planning.plan import PlannedQuery
from dpcli.privacy.sensitivity import limits
from dpcli.privacy.unit import PersonUnit
from dpcli.simulation.corners import Corner
from dpcli.simulation.synthetic import Corners, Stream

Cells = Mapping[str, int]
"""Numbers of extreme cells, by the names of their columns."""

Row = tuple[tuple[str, int], ...]
"""The numbers of all cells of a row, with the names of their columns."""

Rows = tuple[Row, ...]

BLANK_ROW: Row = ()
"""A row of blanks, of a unit with an id."""

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

SPLITS = (
    (20, 20), (1, 0), (1, 1), (0, 31), (1, 3), (3, 1), (5, 5), (0, 120), (9, 1), (1, 9), (0, 2),
    (19, 1), (1, 19),
)  # fmt: skip
"""Numbers of low and high rows that neighbors have in common, where that matters.

The ranks of usual quantiles are near these.
"""


class RowMaker:
    """Makes rows for one query; they count unless a filter needs more than ranges."""

    def __init__(self, part: PlannedQuery, corners: Corners, stream: Stream) -> None:
        self.part, self._corners, self._stream, self._drawn = part, corners, stream, 0
        self._query, self._unit = part.calibrated.query, part.calibrated.relation.unit
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

    def cells(self) -> Iterator[Cells]:
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

    def some_cells(self, first: int) -> list[Cells]:
        """The first cells of the query, and a few that are spread over the others."""
        cells = list(islice(self.cells(), MOST_TRIED))
        spread = (len(cells) * at // SPREAD for at in range(1, SPREAD))
        return [*cells[:first], *(cells[at] for at in spread if first <= at), cells[-1]]

    def _one_of_each(self, name: str, axis: Axis) -> list[int]:
        """Both extreme cells of each bin of an axis, or one cell for each label."""
        column, allowed, cells = axis.column, self._allowed[name], self._corners.of(name)
        if not isinstance(column, NumericColumn) or not axis.starts:
            return allowed
        found: dict[int, list[int]] = {}
        for at in allowed:
            value = cells[at].value
            found.setdefault(bisect_right(axis.starts, 0 if value is None else value), []).append(
                at
            )
        return [
            *(own[0] for own in found.values()),
            *(own[-1] for own in found.values() if own[1:]),
        ]

    def units(self) -> Iterator[Rows]:
        """Rows of one unit each, the extreme ones first."""
        in_cell, total, touched = limits(self._query.bounded_unit(self._unit), self._query.cells)
        total, in_cell, beyond = min(total, MOST_ROWS), min(in_cell, MOST_ROWS), 2 * total + 1
        cells, patterns = self.some_cells(2 * touched + 2), self.patterns()
        different = (*cells[:2], cells[len(cells) // 2], cells[-1])
        yield (BLANK_ROW,)
        if isinstance(self._unit, PersonUnit):
            # In more cells than limits allow.
            rows = min(self._unit.max_rows, len(cells))
            yield self._unit_of(rows, patterns[:1], cells, 1)
        for first in (0, total) if isinstance(self._unit, PersonUnit) else ():
            yield self._unit_of(total, patterns, cells, in_cell, first)
        for cell in different if isinstance(self._unit, PersonUnit) else ():
            yield self._unit_of(min(in_cell, total), patterns, [cell], in_cell)
        for pattern, other in zip(patterns, patterns[::-1], strict=True):
            for cell in different:
                yield (self.row(pattern, cell),)
            if not isinstance(self._unit, PersonUnit):
                continue
            for own in (cells[:touched], cells[touched : 2 * touched] or cells[:1]):
                yield self._unit_of(min(total, len(own)), (pattern, other), own, 1)
                # Another unit may have its full cells where this one has its last rows.
                for order, last in product((own, own[::-1]), (pattern, other)):
                    full = [pattern] * (total // in_cell * in_cell) + [last] * (total % in_cell)
                    yield self._unit_of(min(total, len(own) * in_cell), full, order, in_cell)
            for times in (in_cell, min(beyond, MOST_BEYOND), SEVERAL_ROWS):
                yield (self.row(pattern, cells[0]),) * times
            yield self._unit_of(2, (pattern, other), cells[:1], 1)

    def _unit_of(
        self,
        rows: int,
        patterns: Sequence[Cells],
        cells: Sequence[Cells],
        each: int,
        first: int = 0,
    ) -> Rows:
        """Rows with these patterns in turn, `each` of them in a cell."""
        return tuple(
            self.row(
                patterns[(first + at) % len(patterns)], cells[at // each % len(cells)], first + at
            )
            for at in range(rows)
        )

    def random(self, rows: int, *, any_cell: bool) -> Rows:
        """Rows of cells at random: of those that count, or of all, blanks and faults too."""
        self._drawn += 1
        stream, cells = self._stream.named(str(self._drawn)), self._corners.of
        columns = [
            (name, range(len(cells(name))) if any_cell and cells(name) else own)
            for name, own in self._allowed.items()
        ]
        numbers = stream.below(1 << 32, np.arange(rows * len(columns))).reshape(rows, -1)
        return tuple(
            tuple((name, own[at % len(own)]) for (name, own), at in zip(columns, row, strict=True))
            for row in numbers.tolist()
        )

    def random_units(self, most: int) -> list[Rows]:
        """Rows of units at random, a third of them with any cells."""
        unit = self._unit
        rows = min(2 * unit.max_rows, SEVERAL_ROWS) if isinstance(unit, PersonUnit) else 1
        return [self.random(1 + at % rows, any_cell=at % 3 == 0) for at in range(most)]

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

    def common(self) -> Iterator[Rows]:
        """What neighbors have in common, for answers to which that matters."""
        if rule := self.part.calibrated.partition_selection:
            # Groups that are published half of the time: those of a unit, and one more.
            *_, touched = limits(self._query.bounded_unit(self._unit), self._query.cells)
            groups = max(1, min(touched + 1, FREE_TEXTS, MOST_COMMON // rule.threshold))
            yield self.private_rows(groups, min(rule.threshold, MOST_COMMON))
        if not (self._query.chooses or self._query.minimizes):
            return
        cells, patterns = self.some_cells(8), self.patterns()
        every = [self.row(pattern, cell) for pattern in patterns[:3] for cell in cells]
        between = self.row(patterns[0], cells[len(cells) // 2])
        for low, high in SPLITS:
            yield (every[0],) * low + (every[-1],) * high
            yield (between,) * (low + high)
            yield self.random(low + high, any_cell=False)
        for count in (1, 2, 5):
            yield tuple(every * count)


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

"""Synthetic rows, generated from a spec and a seed alone.

A declaration says what is possible, not what is frequent. So the distributions are invented:
numbers have one mode, left of the middle; first labels are more frequent than last ones. A few
cells are blank, and a few lie outside the bounds, so that `missing` and clamping have an effect.

`Stream` gives repeatable pseudorandom numbers, the same on every machine. They are never used as
noise, which comes from the operating system alone (`dpcli.noise.entropy`).
"""

from __future__ import annotations

import csv
import hashlib
import io
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, final

import numpy as np
import numpy.typing as npt

from dpcli.data.column import Column, file_columns
from dpcli.data.derived.calendar import TIME_PARTS
from dpcli.data.filters import InRanges
from dpcli.data.formats import ENCODINGS, STANDARD_DIALECT, UTF16, Dialect
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.kinds import COLUMNS, UNDECLARED
from dpcli.data.labels import LabeledColumn, require_labeled
from dpcli.data.number_columns import NumberColumn
from dpcli.engine.files.dataset import Dataset, Source
from dpcli.numeric.arrays import GOLDEN_GAMMA, Words, scramble
from dpcli.privacy.confidential import Confidential, NoisePermit
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.errors import DataError, UsageError
from dpcli.queries.query import BoundedQuery
from dpcli.simulation.corners import (
    DEFAULT_BOUNDS,
    OTHER_TEXT,
    Corner,
    corners_of,
    named_cell,
    written,
)
from dpcli.specification.model import CentralSpec

BLANK_PERCENT = 3
"""Percent of cells that are blank."""

BLANK_ID_PERCENT = 1
"""Percent of the cells of id columns that are blank."""

OUTSIDE_PERCENT = 2
"""Percent of numbers that lie outside the bounds."""

MAX_OUTSIDE = 1 << 60
"""The greatest distance of numbers from the bounds, to fit a machine word."""

CONDITION_PERCENT = 25
"""Percent of cells that are spread evenly over the ranges that conditions define."""

FIRST_WEIGHT = 1 << 20
"""Weight of the first label; the k-th label has a k-th of it."""

Positions = npt.NDArray[np.int64]

CornerRow = Mapping[str, int]
"""The number of an extreme cell, by the name of its column."""

_HALF = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)


class Stream:
    """Pseudorandom 64-bit words: each is a function of seed, names and position."""

    def __init__(self, seed: int, *names: str) -> None:
        self._seed, self._names = seed, names
        # Each name has its length in front, so that different lists of names give different texts.
        text = "".join(f"{len(name)}:{name}," for name in ("dpcli dummy 1", str(seed), *names))
        start = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        self._start = np.uint64(int.from_bytes(start[:8], "big"))

    def named(self, name: str) -> Stream:
        """A stream for another use, which behaves as independent of this one."""
        return Stream(self._seed, *self._names, name)

    def words(self, positions: Positions) -> Words:
        """The words at these positions, uint64: uniform fractions in units of 2^-64."""
        return scramble(positions.astype(np.uint64) * GOLDEN_GAMMA + self._start)

    def below(self, limit: int, positions: Positions) -> Positions:
        """Uniform whole numbers from 0 to below `limit`; `limit` is at most 2^63."""
        return fraction_of(self.words(positions), limit)

    def happens(self, percent: int, positions: Positions) -> npt.NDArray[np.bool_]:
        """For each position, true with this probability in percent."""
        return self.below(100, positions) < percent


def fraction_of(fractions: Words, limit: int) -> Positions:
    """floor(f * limit) for fractions f in units of 2^-64, and a limit up to 2^63."""
    high, low = fractions >> _HALF, fractions & _LOW
    upper, lower = np.uint64(limit >> 32), np.uint64(limit & int(_LOW))
    first, second = high * lower, low * upper
    carried = (first & _LOW) + (second & _LOW) + (low * lower >> _HALF)
    whole = high * upper + (first >> _HALF) + (second >> _HALF) + (carried >> _HALF)
    result: Positions = whole.astype(np.int64)
    return result


def column_cells(
    column: Column, conditions: Sequence[InRanges], stream: Stream, positions: Positions, rows: int
) -> list[str]:
    """The cells of a column at these positions.

    `conditions` are those of the spec, `rows` is the number of rows of the dataset.
    """
    own = [condition for condition in conditions if condition.column.name == column.name]
    if column.is_id:
        return id_cells(stream, positions, stream.below(rows // 3 + 1, positions))
    if column.is_private:
        cells = _named(_zipf(min(rows, 4 * isqrt(rows)), stream, positions))
    elif column.labels:
        cells = _labels(require_labeled(column), own, stream, positions)
    else:
        cells = _numbers(require_numeric(column), own, stream, positions)
    return _with_blanks(cells, BLANK_PERCENT, stream, positions)


def id_cells(stream: Stream, positions: Positions, numbers: Positions) -> list[str]:
    """An id for each number; a few ids are blank."""
    return _with_blanks(_named(numbers), BLANK_ID_PERCENT, stream, positions)


def _named(numbers: Positions) -> list[str]:
    return [named_cell(number) for number in numbers.tolist()]


def _with_blanks(texts: list[str], percent: int, stream: Stream, positions: Positions) -> list[str]:
    blank = stream.named("blank").happens(percent, positions).tolist()
    return ["" if is_blank else text for text, is_blank in zip(texts, blank, strict=True)]


def _zipf(count: int, stream: Stream, positions: Positions) -> Positions:
    """Numbers below `count`: the first is most frequent, the tail long (Zipf 1949)."""
    cumulative = np.cumsum(FIRST_WEIGHT // np.arange(1, count + 1) + 1)
    return np.searchsorted(cumulative, stream.below(int(cumulative[-1]), positions), side="right")


def _labels(
    column: LabeledColumn, conditions: Sequence[InRanges], stream: Stream, positions: Positions
) -> list[str]:
    """Texts of declared labels at these positions, some replaced to meet conditions."""
    other_texts = () if column.other is None else ((OTHER_TEXT, column.other),)
    pairs = (*column.values, *other_texts)
    texts = [text for text, _ in pairs]
    first = {label: index for index, (_, label) in reversed(list(enumerate(pairs)))}
    chosen = _zipf(len(texts), stream, positions)
    is_replaced, label = _spread(conditions, 0, len(column.labels), stream, positions)
    text_of = np.array([first[label] for label in column.labels])
    indices = np.where(is_replaced, text_of[label], chosen)
    return [texts[index] for index in indices.tolist()]


def _spread(
    conditions: Sequence[InRanges], low: int, end: int, stream: Stream, positions: Positions
) -> tuple[npt.NDArray[np.bool_], Positions]:
    """Which numbers are replaced to meet or miss conditions, and the replacements.

    The ends of conditions divide the numbers from `low` to below `end` into spans. A replacement
    is uniform in a span, which is chosen uniformly.
    """
    cuts = {cut for condition in conditions for a, b in condition.ranges for cut in (a, b + 1)}
    spans = list(pairwise([low, *sorted(cut for cut in cuts if low < cut < end), end]))
    chosen = stream.named("span").below(len(spans), positions)
    within = stream.named("within").words(positions)
    numbers = np.full_like(positions, low)
    for index, (start, stop) in enumerate(spans):
        numbers = np.where(chosen == index, start + fraction_of(within, stop - start), numbers)
    percent = CONDITION_PERCENT if conditions else 0
    return stream.named("spread").happens(percent, positions), numbers


def _numbers(
    column: NumericColumn, conditions: Sequence[InRanges], stream: Stream, positions: Positions
) -> list[str]:
    """Numbers within the bounds with a mode left of the middle, and a few outside."""
    low, high = column.bounds or DEFAULT_BOUNDS
    size, half = high - low + 1, np.uint64(1)
    # Half of the smaller of two uniform numbers, plus half of a third.
    first, second, third = (stream.named(name).words(positions) for name in ("a", "b", "c"))
    typical = low + fraction_of((np.minimum(first, second) >> half) + (third >> half), size)
    is_replaced, replacements = _spread(conditions, low, high + 1, stream, positions)
    steps = np.where(is_replaced, replacements, typical)
    if column.bounds and len(column.declared_ranges) > 1:
        listed = np.array([value for value, _ in column.declared_ranges])
        steps = listed[np.searchsorted(listed, steps, side="right") - 1]
    if column.bounds is not None:
        # The distance from the bounds is at most that between them.
        outside = stream.named("beyond")
        distance = 1 + outside.named("far").below(min(size, MAX_OUTSIDE), positions)
        is_above = outside.named("up").happens(50, positions)
        moved = np.where(is_above, high + distance, low - distance)
        if column.is_date:
            moved = np.clip(moved, *column.widest)
        steps = np.where(outside.happens(OUTSIDE_PERCENT, positions), moved, steps)
    hours, minutes = (
        stream.named(part).below(size, positions).tolist() for part, size in TIME_PARTS.items()
    )
    return written(column, steps.tolist(), zip(hours, minutes, strict=True))


if TYPE_CHECKING:
    from dpcli.engine.sums.aggregate import ConfidentialAnswer

T = TypeVar("T")

MARK_COLUMN, MARK_TEXT = "dpcli_simulation", "dummy"
"""The last column of every synthetic file, and the text of each of its cells."""

ROWS_PER_CHUNK = 1 << 15
"""Rows that are generated and written together."""

MIN_PEOPLE = 20
"""The fewest people of a small file: no one has more than 1/20 of its rows."""

REPEAT_PERCENT = 75
"""Percent of a person's cells with the same value as others of the person."""

PERSON_OFFSET = 1 << 48
"""Positions from here on stand for people, smaller ones for rows."""

UTF16_BYTE_ORDER_MARK = b"\xff\xfe"
"""The byte order mark of UTF-16 with the low byte first."""


MOST_ROWS = 6
"""The most rows of a synthetic person where no limit says what is usual."""


class _RowOwners:
    """The person behind each row, in a random order.

    People have up to twice as many rows as the largest limit allows, and few rows more often than
    many. A quarter of them have more than that, unless it is large compared with the file. Without
    a limit they have up to `MOST_ROWS`. If the unit is a row, each row has an owner of its own.
    """

    def __init__(self, spec: CentralSpec, rows: int, stream: Stream) -> None:
        self._stream = stream
        self._owners: Positions | None = None
        self.count: int | None = None
        self.people_above_limit: int | None = None
        if not isinstance(spec.privacy.unit, PersonUnit):
            return
        units = [spec.relation_of(entry).unit for entry in spec.entries]
        stated = [spec.privacy.limits.max_rows or 0]
        stated += [
            unit.max_rows for unit in units if isinstance(unit, PersonUnit) and not unit.of_people
        ]
        limit = max(stated)
        max_rows = max(2, min(2 * limit or MOST_ROWS, rows // MIN_PEOPLE))
        every = np.arange(rows, dtype=np.int64)
        several = stream.named("several").below(max_rows, every)
        sizes = 1 + np.minimum(several, stream.named("few").below(max_rows, every))
        self.count = int(np.searchsorted(np.cumsum(sizes), rows)) + 1
        ordered = np.repeat(every[: self.count], sizes[: self.count])[:rows]
        if limit:
            self.people_above_limit = int((np.bincount(ordered) > limit).sum())
        self._owners = ordered[np.argsort(stream.named("order").words(every), kind="stable")]

    def owners(self, rows: Positions) -> Positions:
        """The index of the person who owns each row; the row itself if rows are the unit."""
        return rows if self._owners is None else self._owners[rows]

    def positions(self, rows: Positions, column: str) -> Positions:
        """The position that generates each cell; most cells of a person share a position."""
        if self._owners is None:
            return rows
        repeated = self._stream.named("repeated").named(column).happens(REPEAT_PERCENT, rows)
        return np.where(repeated, PERSON_OFFSET + self._owners[rows], rows)


@final
class Corners:
    """The extreme cells of each declared column of a file, from the spec alone.

    A column of ids or private labels has none: its cells are numbered without end.
    """

    def __init__(self, spec: CentralSpec) -> None:
        queries = [query for entry in spec.entries for query in entry.queries]
        self.spec, self.columns = spec, columns_of_file(spec)
        self._cells = {
            name: corners_of(column, queries)
            for name, column in self.columns.items()
            if column is not None
        }

    def of(self, name: str) -> tuple[Corner, ...]:
        """The extreme cells of a column; none if they are numbered without end."""
        return self._cells[name]

    def text(self, name: str, number: int) -> str:
        """The text of a cell."""
        cells = self._cells[name]
        return cells[number].text if cells else named_cell(number)


@final
class SyntheticDataset(AbstractContextManager["SyntheticDataset"]):
    """Synthetic rows of a spec and seed, in a private temporary file without a name.

    The same spec, number of rows and seed give the same bytes on any machine. The constructor
    raises TypeError for columns that it cannot generate, and DataError if the disk is full.

    Privacy: the class takes no rows and no path, and does not hand out its file. So every row was
    generated here, and the class may open answers about its rows. It opens no other answers.
    """

    def __init_subclass__(cls) -> None:
        raise TypeError("synthetic rows cannot be subclassed")

    def __init__(self, spec: CentralSpec, rows: int, seed: int) -> None:
        self._open(spec, rows, seed)

    @classmethod
    def of_corners(cls, corners: Corners, rows: Sequence[CornerRow]) -> SyntheticDataset:
        """Rows of extreme cells of a spec: each row has the number of its cells.

        Ids and private labels are numbered without end. Columns that a row does not name are blank.
        """
        if type(corners) is not Corners:
            raise TypeError("extreme cells cannot be subclassed")
        made = cls.__new__(cls)
        made._open(corners.spec, len(rows), 0, corners, rows)  # noqa: SLF001 - its own
        return made

    def _open(
        self,
        spec: CentralSpec,
        rows: int,
        seed: int,
        corners: Corners | None = None,
        chosen: Sequence[CornerRow] = (),
    ) -> None:
        kinds = {*map(type, spec.columns)}
        if {type(spec)} != {CentralSpec} or kinds.difference(COLUMNS, UNDECLARED):
            raise TypeError("only declared columns are generated")
        self.__answers: dict[int, ConfidentialAnswer] = {}
        self.rows, self.seed, self._spec = rows, seed, spec
        self._corners, self._chosen = corners, chosen
        self._stream = Stream(seed)
        self._people = _RowOwners(spec, rows, self._stream.named("people"))
        self.people, self.people_above_limit = self._people.count, self._people.people_above_limit
        self._columns = columns_of_file(spec)
        mark = MARK_COLUMN
        while mark in self._columns:
            mark += "_"
        self.header = (*self._columns, mark)
        self.__file: BinaryIO = tempfile.TemporaryFile(prefix="dpcli-")  # noqa: SIM115 - closed by `close`
        try:
            self._write(self.__file, STANDARD_DIALECT)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise DataError.about("no-space", what="the synthetic rows") from None
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the rows."""
        self.__file.close()

    def aggregate(self, queries: Sequence[BoundedQuery]) -> Sequence[ConfidentialAnswer]:
        """Exact answers about the rows, as `Confidential` values, which `exact` opens."""
        from dpcli.engine.sums.aggregate import aggregate

        size = self.__file.seek(0, io.SEEK_END)
        self.__file.seek(0)
        rows = Dataset((Source(MARK_TEXT, self.__file, size, self.header, size),))
        answers = aggregate(queries, rows)
        self.__answers |= {id(answer): answer for answer in answers}
        return answers

    @property
    def permit(self) -> NoisePermit:
        """A permit to add noise to answers about these rows, without a charge."""
        permit = object.__new__(NoisePermit)
        permit._NoisePermit__check = lambda _event, _relation, exact: self._require_own(exact)  # type: ignore[attr-defined]
        return permit

    def exact(self, confidential: Confidential[T]) -> T:
        """The exact answer in a `Confidential` that `aggregate` returned.

        Raises ValueError if the answer is not about these rows.
        """
        self._require_own(confidential)
        value: T = confidential._Confidential__value  # type: ignore[attr-defined]  # noqa: SLF001 - synthetic
        return value

    def _require_own(self, confidential: Confidential[Any]) -> None:
        # Answers are compared by identity, because their values are confidential.
        if self.__answers.get(id(confidential.origin)) is not confidential.origin:
            raise ValueError("the answer is not about these synthetic rows")

    def copy_to(self, target: BinaryIO, name: str) -> None:
        """Write the whole file with its mark column, in the dialect that `name` implies.

        A file without a header line has the declared columns. Letters that the encoding lacks
        become question marks. If the dialect has no quotes, cells that need them become blank.
        Raises UsageError if a header line cannot hold a name.
        """
        dialect = self._spec.dialect.of_file(name)
        if not dialect.names:
            _require_writable(self.header, dialect)
        self._write(target, dialect)

    def _write(self, file: BinaryIO, dialect: Dialect) -> None:
        if dialect.encoding == UTF16:
            file.write(UTF16_BYTE_ORDER_MARK)
        text = io.TextIOWrapper(
            file,
            encoding=ENCODINGS[dialect.encoding],
            errors="replace",
            newline="",
            write_through=True,
        )
        try:
            writer = csv.writer(
                text,
                delimiter=dialect.delimiter,
                quotechar=dialect.quote,
                quoting=csv.QUOTE_NONE if dialect.quote is None else csv.QUOTE_MINIMAL,
                escapechar=dialect.escape,
                lineterminator="\n",
            )
            text.write("\n" * dialect.skip_lines)
            if not dialect.names:
                writer.writerow(self.header)
            if dialect.header_lines > 1 and not dialect.names:
                writer.writerow([""] * len(self.header))
            for start in range(0, self.rows, ROWS_PER_CHUNK):
                numbers = np.arange(start, min(start + ROWS_PER_CHUNK, self.rows), dtype=np.int64)
                writer.writerows(zip(*self._texts(numbers, dialect), strict=True))
        finally:
            text.detach()
        file.flush()

    def _texts(self, rows: Positions, dialect: Dialect) -> list[list[str]]:
        """The columns of these rows, in the dialect of a file."""
        columns = []
        for name, column in self._columns.items():
            cells = [""] * len(rows) if column is None else self._cells(name, column, rows)
            is_plain = isinstance(column, NumberColumn) and column.format is None
            if dialect.decimal == "," and is_plain:
                cells = [cell.replace(".", ",") for cell in cells]
            if dialect.quote is None:
                unquoted = (dialect.delimiter, "\n")
                cells = ["" if any(c in cell for c in unquoted) else cell for cell in cells]
            columns.append(cells)
        # A file without a header line has the columns that its spec names, and no other.
        marks = [[MARK_TEXT] * len(rows)] * (not dialect.names)
        return [*[list(map(str, rows))] * dialect.row_names, *columns, *marks]

    def _cells(self, name: str, column: Column, rows: Positions) -> list[str]:
        spec, stream = self._spec, self._stream.named("column").named(name)
        if self._corners is not None:
            numbers = [self._chosen[row].get(name) for row in rows.tolist()]
            return ["" if at is None else self._corners.text(name, at) for at in numbers]
        unit = spec.privacy.unit
        if isinstance(unit, PersonUnit) and column.name in unit.id_columns:
            return id_cells(stream, rows, self._people.owners(rows))
        filters = (test for entry in spec.entries for test in entry.inputs.where)
        tests = (single for test in filters for single in test.single_tests)
        conditions = [test for test in tests if isinstance(test, InRanges)]
        positions = self._people.positions(rows, name)
        return column_cells(column, conditions, stream, positions, self.rows)


def columns_of_file(spec: CentralSpec) -> dict[str, Column | None]:
    """The columns of a synthetic file by name, left to right; None if undeclared.

    Of several columns that read the same cells, the first is generated.
    """
    columns: dict[str | int, Column] = {}
    for column in file_columns(spec.columns):
        key = column.file_key
        first = columns.setdefault(key, column)
        if first.is_date and column.is_date and require_numeric(first).format is None:
            # Hours are read from dates with a time.
            columns[key] = first.with_options(*column.with_options(*first.options).options)
    if spec.dialect.names:
        return {
            name: columns.get(name, columns.get(position))
            for position, name in enumerate(spec.dialect.names, 1)
        }
    named = iter([key for key in columns if isinstance(key, str)])
    width = max(len(columns), *(key for key in columns if isinstance(key, int)), 0)
    keys = (at if at in columns else next(named, at) for at in range(1, width + 1))
    return {f"column {key}" if isinstance(key, int) else key: columns.get(key) for key in keys}


def _require_writable(header: Sequence[str], dialect: Dialect) -> None:
    """Raise UsageError for a name that no header line of the dialect can hold."""
    encoding = ENCODINGS[dialect.encoding]
    for name in header:
        encodable = name.encode(encoding, "replace").decode(encoding) == name
        if not encodable or (dialect.quote is None and dialect.delimiter in name):
            raise UsageError.about("dummy-names", column=name)

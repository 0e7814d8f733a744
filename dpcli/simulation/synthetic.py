"""Synthetic rows, generated from a spec and a seed alone."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, final

import numpy as np

from dpcli.data.column import Column, file_columns
from dpcli.data.dates import DateColumn
from dpcli.data.filters import AllOf, AnyOf, Filter, InRanges, Not
from dpcli.data.formats import ENCODINGS, STANDARD_DIALECT, UTF16, Dialect
from dpcli.data.kinds import COLUMNS
from dpcli.data.numbers import NumberColumn
from dpcli.engine.files.dataset import Dataset, Source
from dpcli.privacy.confidential import Confidential, NoisePermit
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.neighboring import Relation
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.problems.errors import DataError, UsageError
from dpcli.queries.query import Query
from dpcli.simulation.synthetic_cells import Positions, Stream, column_cells, id_cells
from dpcli.specification.model import CentralSpec

if TYPE_CHECKING:
    from dpcli.engine.sums.aggregate import ConfidentialAnswer

T = TypeVar("T")

MARK_COLUMN, MARK_TEXT = "dpcli_simulation", "dummy"
"""The last column of every synthetic file, and the text of each of its cells."""

ROWS_PER_CHUNK = 1 << 15
"""Rows that are generated and written together."""

MIN_PEOPLE = 20
"""A small file has at least this number of people: no one has more than 1/20 of its rows."""

REPEAT_PERCENT = 75
"""Percent of cells of a person that have the same value as other cells of the person."""

PERSON_OFFSET = 1 << 48
"""Positions from here on stand for people, smaller ones for rows."""

UTF16_BYTE_ORDER_MARK = b"\xff\xfe"
"""The byte order mark of UTF-16 with the low byte first."""


class _RowOwners:
    """The person behind each row, in a random order.

    People have up to twice as many rows as the limit allows, and few rows more often than many.
    A quarter of them have more than the limit, unless the limit is large compared with the file.
    If the unit is a row, each row has an owner of its own.
    """

    def __init__(self, unit: Unit, rows: int, stream: Stream) -> None:
        self._stream = stream
        self._owners: Positions | None = None
        self.count: int | None = None
        self.people_above_limit: int | None = None
        if not isinstance(unit, PersonUnit):
            return
        max_rows = max(2, min(2 * unit.max_rows, rows // MIN_PEOPLE))
        every = np.arange(rows, dtype=np.int64)
        several = stream.named("several").below(max_rows, every)
        sizes = 1 + np.minimum(several, stream.named("few").below(max_rows, every))
        self.count = int(np.searchsorted(np.cumsum(sizes), rows)) + 1
        ordered = np.repeat(every[: self.count], sizes[: self.count])[:rows]
        self.people_above_limit = int((np.bincount(ordered) > unit.max_rows).sum())
        self._owners = ordered[np.argsort(stream.named("order").words(every), kind="stable")]

    def owners(self, rows: Positions) -> Positions:
        """The number of the person behind each row."""
        return rows if self._owners is None else self._owners[rows]

    def positions(self, rows: Positions, column: str) -> Positions:
        """The position that generates each cell; most cells of a person share one."""
        if self._owners is None:
            return rows
        repeated = self._stream.named("repeated").named(column).happens(REPEAT_PERCENT, rows)
        return np.where(repeated, PERSON_OFFSET + self._owners[rows], rows)


@final
class SyntheticDataset(AbstractContextManager["SyntheticDataset"]):
    """Synthetic rows of a spec and a seed, in a private temporary file without a name.

    The same spec, number of rows and seed give the same bytes on any machine. The constructor
    raises TypeError for columns that it cannot generate, and DataError if the disk is full.

    Privacy: it takes no rows and no path, and does not hand out its file. So every row was
    generated here, and it may open the answers about its rows. It opens no other answers.
    """

    def __init_subclass__(cls) -> None:
        raise TypeError("synthetic rows cannot be subclassed")

    def __init__(self, spec: CentralSpec, rows: int, seed: int) -> None:
        if {type(spec)} != {CentralSpec} or {*map(type, spec.columns)} - COLUMNS:
            raise TypeError("only declared columns are generated")
        self.__answers: dict[int, ConfidentialAnswer] = {}
        self.rows, self.seed, self._spec = rows, seed, spec
        self._stream = Stream(seed)
        self._people = _RowOwners(spec.privacy.unit, rows, self._stream.named("people"))
        self.people, self.people_above_limit = self._people.count, self._people.people_above_limit
        self._columns = _columns_of_file(spec)
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

    def aggregate(self, queries: Sequence[Query], unit: Unit) -> Sequence[ConfidentialAnswer]:
        """The exact answers about the rows, as `Confidential` values, which `exact` opens."""
        from dpcli.engine.sums.aggregate import aggregate

        size = self.__file.seek(0, io.SEEK_END)
        self.__file.seek(0)
        rows = Dataset((Source(MARK_TEXT, self.__file, size, self.header, size),))
        answers = aggregate(queries, unit, rows)
        self.__answers |= {id(answer): answer for answer in answers}
        return answers

    @property
    def permit(self) -> NoisePermit:
        """Lets mechanisms add noise to answers about these rows, without a charge."""

        def require_own(
            _event: MechanismEvent, _relation: Relation, exact: Confidential[Any]
        ) -> None:
            self._require_own(exact)

        permit = object.__new__(NoisePermit)
        permit._NoisePermit__check = require_own  # type: ignore[attr-defined]
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
        """Write the whole file with its mark column, in the dialect of a file of this name.

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
        return [*columns, [MARK_TEXT] * len(rows)]

    def _cells(self, name: str, column: Column, rows: Positions) -> list[str]:
        spec, stream = self._spec, self._stream.named("column").named(name)
        unit = spec.privacy.unit
        if isinstance(unit, PersonUnit) and column.name == unit.column:
            return id_cells(stream, rows, self._people.owners(rows))
        tests = (test for entry in spec.entries for test in entry.request.where)
        conditions = [condition for test in tests for condition in _conditions(test)]
        positions = self._people.positions(rows, name)
        return column_cells(column, conditions, stream, positions, self.rows)


def _columns_of_file(spec: CentralSpec) -> dict[str, Column | None]:
    """The columns of a synthetic file from left to right, by name; None for undeclared ones.

    Of several columns that read the same cells, the first is generated.
    """
    columns: dict[str | int, Column] = {}
    for column in file_columns(spec.columns):
        key = column.file_key
        first = columns.setdefault(key, column)
        is_bare = isinstance(first, DateColumn) and first.format is None
        if is_bare and isinstance(column, DateColumn):
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


def _conditions(test: Filter) -> Iterator[InRanges]:
    match test:
        case InRanges():
            yield test
        case Not(inner):
            yield from _conditions(inner)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _conditions(part)


def _require_writable(header: Sequence[str], dialect: Dialect) -> None:
    """Raise UsageError for a name that no header line of the dialect can hold."""
    encoding = ENCODINGS[dialect.encoding]
    for name in header:
        encodable = name.encode(encoding, "replace").decode(encoding) == name
        if not encodable or (dialect.quote is None and dialect.delimiter in name):
            raise UsageError.about("dummy-names", column=name)

"""A file of synthetic rows, generated from a spec and a seed alone."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar, final

import numpy as np

from dpcli.columns import CategoryColumn, IdColumn, NumericColumn, PrivatePartitionColumn
from dpcli.csv_dialect import ENCODINGS, STANDARD_DIALECT, UTF16, Dialect
from dpcli.engine.source import Dataset, Source
from dpcli.errors import DataError, UsageError
from dpcli.privacy.confidential import Confidential
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.neighboring import Relation
from dpcli.privacy.permit import NoisePermit
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.queries import Query
from dpcli.simulation.synthetic_cells import Places, Stream, ids, texts_of
from dpcli.specification.model import Spec

if TYPE_CHECKING:
    from dpcli.engine.rollup import SealedAnswer

T = TypeVar("T")

MARK, MARKED = "dpcli_simulation", "dummy"
"""The last column of every synthetic file, and the text of each of its cells."""

AT_ONCE = 1 << 15
"""Rows that are generated together."""

FEWEST_PEOPLE = 20
"""In a small file no person has so large a part of the rows that there are fewer people."""

REPEATED = 75
"""Percent of a person's cells that repeat the person's other cells."""

FIRST_PERSON = 1 << 48
"""Places from here on stand for people, those below for rows."""

GENERATED: Final = frozenset({NumericColumn, CategoryColumn, PrivatePartitionColumn, IdColumn})
"""Columns whose texts follow from their declaration; another kind might have texts of its own."""

UTF16_MARK = b"\xff\xfe"
"""Says that what follows is UTF-16, the low byte first."""


class _People:
    """The person behind each row, in an order without meaning.

    People have up to twice the rows that the limit lets in, few rows more often than many: a
    quarter of them have more than the limit, unless that is large compared with the file. Where
    the unit is a row, each row stands alone.
    """

    def __init__(self, unit: Unit, rows: int, stream: Stream) -> None:
        self._stream = stream
        self._whose: Places | None = None
        self.count: int | None = None
        self.above: int | None = None
        if not isinstance(unit, PersonUnit):
            return
        most = max(2, min(2 * unit.max_rows, rows // FEWEST_PEOPLE))
        every = np.arange(rows, dtype=np.int64)
        several = stream.named("several").below(most, every)
        sizes = 1 + np.minimum(several, stream.named("few").below(most, every))
        self.count = int(np.searchsorted(np.cumsum(sizes), rows)) + 1
        ordered = np.repeat(every[: self.count], sizes[: self.count])[:rows]
        self.above = int((np.bincount(ordered) > unit.max_rows).sum())
        self._whose = ordered[np.argsort(stream.named("order").words(every), kind="stable")]

    def whose(self, rows: Places) -> Places:
        """The number of the person behind each row."""
        return rows if self._whose is None else self._whose[rows]

    def places(self, rows: Places, column: str) -> Places:
        """Where the cells of a column are generated: most of a person's in one place."""
        if self._whose is None:
            return rows
        repeated = self._stream.named("repeated").named(column).happens(REPEATED, rows)
        return np.where(repeated, FIRST_PERSON + self._whose[rows], rows)


@final
class SyntheticDataset(AbstractContextManager["SyntheticDataset"]):
    """Synthetic rows of a spec and a seed, in a private file that has no name.

    The same spec, rows and seed give the same bytes, on any machine. It takes no rows
    and no name of a file, and nothing hands out its file: whatever is read from it was
    generated here. So it may open the answers about its rows, and opens no others.
    """

    def __init_subclass__(cls) -> None:
        raise TypeError("synthetic rows have no other kinds")

    def __init__(self, spec: Spec, rows: int, seed: int) -> None:
        if type(spec) is not Spec or {type(one) for one in spec.columns} - GENERATED:
            raise TypeError("only declared columns are generated")
        self.__answers: dict[int, SealedAnswer] = {}
        self.rows, self.seed, self._spec = rows, seed, spec
        self._stream = Stream(seed)
        self._people = _People(spec.privacy.unit, rows, self._stream.named("people"))
        self.people, self.above = self._people.count, self._people.above
        self._columns = {column.name: column for column in spec.columns}
        mark = MARK
        while mark in self._columns:
            mark += "_"
        self.header = (*self._columns, mark)
        self.__file: BinaryIO = tempfile.TemporaryFile(prefix="dpcli-")  # noqa: SIM115 - closed by `close`
        try:
            self._write(self.__file, STANDARD_DIALECT)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise DataError.about("no-space.synthetic") from None
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the rows."""
        self.__file.close()

    def aggregate(self, queries: Sequence[Query], unit: Unit) -> Sequence[SealedAnswer]:
        """The exact answers about the rows, sealed; `exact` opens them."""
        from dpcli.engine.aggregate import aggregate

        size = self.__file.seek(0, io.SEEK_END)
        self.__file.seek(0)
        rows = Dataset((Source(MARKED, self.__file, size, self.header, size),))
        answers = aggregate(queries, unit, rows)
        self.__answers |= {id(one): one for one in answers}
        return answers

    @property
    def permit(self) -> NoisePermit:
        """Lets mechanisms open answers about these rows with noise, at no charge and any time."""

        def rule(_event: MechanismEvent, _relation: Relation, exact: Confidential[Any]) -> None:
            self._require_own(exact)

        permit = object.__new__(NoisePermit)
        permit._NoisePermit__rule = rule  # type: ignore[attr-defined]
        return permit

    def exact(self, sealed: Confidential[T]) -> T:
        """An answer that `aggregate` found in these rows, without noise; no other one."""
        self._require_own(sealed)
        value: T = sealed._Confidential__sealed  # type: ignore[attr-defined]  # noqa: SLF001 - synthetic
        return value

    def _require_own(self, sealed: Confidential[Any]) -> None:
        # By identity: what else could be compared is sealed.
        if self.__answers.get(id(sealed.whole)) is not sealed.whole:
            raise ValueError("the answer is not about these synthetic rows")

    def copy_to(self, target: BinaryIO, name: str) -> None:
        """Write the whole file with its mark, as the spec reads a file of this name.

        A file without a header line has the cells of every name that it is declared to have.
        Letters that the encoding lacks become question marks, and without quotes a cell that
        would need them becomes blank.
        """
        dialect = self._spec.dialect.of_file(name)
        if not dialect.names:
            _require_writable(self.header, dialect)
        self._write(target, dialect)

    def _write(self, file: BinaryIO, dialect: Dialect) -> None:
        if dialect.encoding == UTF16:
            file.write(UTF16_MARK)
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
            if not dialect.names:
                writer.writerow(self.header)
            for start in range(0, self.rows, AT_ONCE):
                numbers = np.arange(start, min(start + AT_ONCE, self.rows), dtype=np.int64)
                writer.writerows(zip(*self._texts(numbers, dialect), strict=True))
        finally:
            text.detach()
        file.flush()

    def _texts(self, rows: Places, dialect: Dialect) -> list[list[str]]:
        """The columns of some rows, as a file of the dialect has them."""
        found = []
        for name in dialect.names or self._columns:
            cells = self._cells(name, rows) if name in self._columns else [""] * len(rows)
            if dialect.decimal == "," and isinstance(self._columns.get(name), NumericColumn):
                cells = [cell.replace(".", ",") for cell in cells]
            if dialect.quote is None:
                cells = ["" if dialect.delimiter in one or "\n" in one else one for one in cells]
            found.append(cells)
        return [*found, [MARKED] * len(rows)]

    def _cells(self, name: str, rows: Places) -> list[str]:
        spec, stream = self._spec, self._stream.named("column").named(name)
        if isinstance(spec.privacy.unit, PersonUnit) and name == spec.privacy.unit.column:
            return ids(stream, rows, self._people.whose(rows))
        conditions = [one for entry in spec.entries for one in entry.request.where]
        places = self._people.places(rows, name)
        return texts_of(self._columns[name], conditions, stream, places, self.rows)


def _require_writable(header: Sequence[str], dialect: Dialect) -> None:
    """Raise UsageError for a name that no header line of the dialect can hold."""
    encoding = ENCODINGS[dialect.encoding]
    for name in header:
        kept = name.encode(encoding, "replace").decode(encoding) == name
        if not kept or (dialect.quote is None and dialect.delimiter in name):
            raise UsageError.about("dummy-names", column=name)

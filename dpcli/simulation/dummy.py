"""A file of rows that nobody ever was, invented from a spec."""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from contextlib import AbstractContextManager
from types import TracebackType
from typing import BinaryIO, final

import numpy as np

from dpcli.columns import IdColumn
from dpcli.dialect import STANDARD
from dpcli.engine.source import Dataset, Source
from dpcli.errors import DataError
from dpcli.privacy.relation import PersonUnit
from dpcli.simulation.cells import Cells, cells_of, ids
from dpcli.simulation.crowd import Crowd
from dpcli.simulation.stream import Places, Stream
from dpcli.simulation.written import write_as
from dpcli.spec.model import Spec

MARK, MARKED = "dpcli_simulation", "dummy"
"""The last column of every dummy file, and what each of its cells says."""

AT_ONCE = 1 << 15
"""Rows that are invented together."""


@final
class Dummy(AbstractContextManager["Dummy"]):
    """Rows invented from a spec and a seed, in a private file that has no name.

    The same spec, rows and seed give the same bytes, on any machine. It takes no rows
    and no name of a file, and only writes while it is made: whatever is
    read from a dummy was invented here.
    """

    def __init__(self, spec: Spec, rows: int, seed: int) -> None:
        self.rows, self.seed, self._spec = rows, seed, spec
        stream = Stream(seed)
        crowd = Crowd(spec.privacy.unit, rows, stream.named("people"))
        self.people, self.above = crowd.people, crowd.above
        names = [column.name for column in spec.columns]
        mark = MARK
        while mark in names:
            mark += "_"
        self.header = (*names, mark)
        self.__file: BinaryIO = tempfile.TemporaryFile(prefix="dpcli-")  # noqa: SIM115 - closed by `close`
        try:
            _write(self.__file, self.header, _columns(spec, crowd, stream, rows), rows)
        except OSError:
            self.close()
            raise DataError.of(
                "no-space",
                "there is no room for the dummy rows in a temporary file",
                "ask for fewer rows, free space in the temporary folder, or set TMPDIR to a "
                "roomier one",
            ) from None
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Forget the rows."""
        self.__file.close()

    def dataset(self) -> Dataset:
        """The file from its start, for the engine."""
        size = self.__file.seek(0, io.SEEK_END)
        self.__file.seek(0)
        return Dataset((Source(MARKED, self.__file, size, self.header, size),))

    def copy_to(self, target: BinaryIO, name: str) -> None:
        """Write the whole file, marked as it is, as the spec reads a file of this name."""
        self.__file.seek(0)
        dialect = self._spec.dialect.of_file(name)
        if dialect == STANDARD:
            shutil.copyfileobj(self.__file, target)
        else:
            write_as(dialect, self._spec.columns, self.__file, target)


Column = tuple[str, Cells | None]
"""A name and how its cells are made; None for the ids of the people who are protected."""


def _columns(spec: Spec, crowd: Crowd, stream: Stream, rows: int) -> list[Cells]:
    """For each column its texts, by the numbers of rows."""
    asked = [one for entry in spec.entries for one in entry.request.where]
    unit = spec.privacy.unit
    found: list[Cells] = []
    for column in spec.columns:
        own = stream.named("column").named(column.name)
        if isinstance(unit, PersonUnit) and column.name == unit.column:
            assert isinstance(column, IdColumn)
            found.append(ids(own, crowd.persons))
        else:
            found.append(_drawn_by(cells_of(column, asked, own, rows), crowd, column.name))
    return found


def _drawn_by(cells: Cells, crowd: Crowd, name: str) -> Cells:
    """The cells of a column, by the numbers of rows."""
    return lambda rows: cells(crowd.places(name, rows))


def _write(file: BinaryIO, header: tuple[str, ...], columns: list[Cells], rows: int) -> None:
    """The rows as CSV, some at a time."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(header)
        for start in range(0, rows, AT_ONCE):
            numbers: Places = np.arange(start, min(start + AT_ONCE, rows), dtype=np.int64)
            marks = [MARKED] * len(numbers)
            writer.writerows(zip(*(cells(numbers) for cells in columns), marks, strict=True))
    finally:
        text.detach()
    file.flush()

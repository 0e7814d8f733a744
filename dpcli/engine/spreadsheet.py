"""Sheets of xlsx files as text, by the library `fastexcel`.

    number     plain decimals, at most nine of them, whole numbers without a point; a percentage is
               its fraction
    date       YYYY-MM-DD HH:MM:SS, also if the time is midnight
    boolean    true or false
    text       as it is
    other      errors and unknown types: a blank cell, which is missing (`sheet_cells`)

Rows are counted from row 1 of the sheet. A row without any cell under the header is no row, so the
number of rows is never public (`require_columns`). The columns are those from the first to the
last cell of the header; if the spec declares `names`, they begin with column A.

Privacy: the header alone decides which columns there are. A cell of a record to the left of the
header, or to the right, changes no position.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import polars as pl

from dpcli.data.csv_dialect import Dialect
from dpcli.engine.file_content import TYPED
from dpcli.engine.progress import interruptible, silenced_stderr
from dpcli.engine.sheet_cells import readable_workbook
from dpcli.errors import DataError, DpcliError, StoppedBySignal
from dpcli.light_dataclasses import dataclass

LARGEST_PACKED = 1 << 30
"""Bytes of the largest file: it is held in memory."""

LARGEST_PARTS = 1 << 33
"""Bytes of its parts after unpacking, as the file states them."""


def sheet_text(blocks: Iterable[bytes], dialect: Dialect, file: str) -> bytes:
    """The rows of a sheet after those to skip, as CSV in UTF-8, from its header on.

    Cells of records that are numbers or times have a mark (`typed_cells`). Raises DataError:
    `no-excel` without the library, `not-xlsx`, `sheet-missing`, `data-too-large`.
    """
    sheet = _opened(blocks, dialect, file)
    with _damage_reported(file):
        return interruptible(lambda: _as_csv(sheet, dialect))


def first_rows(
    blocks: Iterable[bytes], dialect: Dialect, file: str, count: int
) -> list[tuple[str, ...]]:
    """The first `count` rows of a sheet, also blank ones, with the errors of `sheet_text`."""
    sheet = _opened(blocks, dialect, file)
    with _damage_reported(file):
        return interruptible(lambda: sheet.cells("string", count).fill_null("").rows())


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A sheet of a workbook; `name` may be its index."""

    reader: Any
    name: int | str

    @property
    def first(self) -> int:
        """The index of the first column with a cell."""
        return min(self._columns(), default=0)

    def cells(self, kind: str, count: int | None = None) -> pl.DataFrame:
        """All cells, or those of the first `count` rows, as values of a type; others are null.

        The library ends at a cell that it cannot write, such as a time before the calendar. Such
        a cell alone is null, so that it changes no other one.
        """
        height = self._table("boolean", 0, count).height
        return self._part(kind, 0, height, None)

    def _columns(self) -> list[int]:
        sheet = self._load("boolean", 0, 1, None)
        return [column.absolute_index for column in sheet.available_columns()]

    def _part(self, kind: str, start: int, count: int, column: int | None) -> pl.DataFrame:
        try:
            return self._table(kind, start, count, column)
        except (KeyboardInterrupt, StoppedBySignal):
            raise
        except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
            # The boolean of the same cell never fails.
            table = self._table("boolean", start, count, column)
        if count > 1:
            half = count // 2
            parts = ((start, half), (start + half, count - half))
            return pl.concat([self._part(kind, *part, column) for part in parts])
        dtype = pl.String if kind == "string" else pl.Duration("ms")
        if column is not None:
            return table.select(pl.lit(None, dtype).alias(name) for name in table.columns)
        return pl.concat(
            [self._part(kind, start, count, at) for at in self._columns()], how="horizontal"
        )

    def _table(
        self, kind: str, start: int, count: int | None, column: int | None = None
    ) -> pl.DataFrame:
        return cast("pl.DataFrame", self._load(kind, start, count, column).to_polars())

    def _load(self, kind: str, start: int, count: int | None, column: int | None) -> Any:
        wanted = None if column is None else [column]
        return self.reader.load_sheet(
            self.name,
            header_row=None,
            skip_rows=start,
            n_rows=count,
            dtypes=kind,
            use_columns=wanted,
        )


def _opened(blocks: Iterable[bytes], dialect: Dialect, file: str) -> _Sheet:
    try:
        import fastexcel
    except ImportError:
        raise DataError.about("no-excel", file=file) from None
    content = _checked(blocks, file)
    with _damage_reported(file):
        reader = fastexcel.read_excel(readable_workbook(content, dialect))
        if dialect.sheet is not None and dialect.sheet not in reader.sheet_names:
            raise DataError.about("sheet-missing", file=file, sheet=dialect.sheet)
        return _Sheet(reader, 0 if dialect.sheet is None else dialect.sheet)


def _as_csv(sheet: _Sheet, dialect: Dialect) -> bytes:
    """The rows as text, typed cells of records with their mark."""
    plain, numbers, times = (
        sheet.cells(kind).slice(dialect.skip_lines) for kind in ("string", "boolean", "duration")
    )
    # For the library, numbers and truth values are booleans, and times alone are durations.
    is_typed = [
        number.is_not_null() & ~cells.is_in(["true", "false"]) | time.is_not_null()
        for cells, number, time in zip(plain, numbers, times, strict=True)
    ]
    typed = plain.select(
        (TYPED + cells).alias(cells.name).zip_with(mark, cells)
        for cells, mark in zip(plain, is_typed, strict=True)
    )
    if dialect.names:
        before = [pl.lit(None, pl.String).alias(f"before{at}") for at in range(sheet.first)]
        return _written(_records(typed.select(*before, pl.all())))
    filled = plain.select(~pl.all_horizontal(pl.all().is_null())).to_series()
    lines = filled.arg_true().head(dialect.header_lines)
    header = plain[lines]
    named = [place for place, cells in enumerate(header) if cells.count()]
    kept = slice(min(named, default=0), max(named, default=-1) + 1)
    last = lines[-1] if len(lines) else -1
    return _written(header[:, kept]) + _written(_records(typed[last + 1 :, kept]))


def _records(rows: pl.DataFrame) -> pl.DataFrame:
    filled = ~pl.all_horizontal(pl.all().is_null())
    if rows.width != 1:
        return rows.filter(filled) if rows.width else rows
    # As in a text file of one column, a row without a cell is one, unless none follows.
    last = rows.select(filled).to_series().arg_true()
    return rows.head(last[-1] + 1 if len(last) else 0)


def _written(rows: pl.DataFrame) -> bytes:
    text = io.BytesIO()
    rows.write_csv(text, include_header=False, quote_style="always")
    return text.getvalue()


def _checked(blocks: Iterable[bytes], file: str) -> bytes:
    """The content of the file, which states that its parts are not too large."""
    content = io.BytesIO()
    for block in blocks:
        content.write(block)
        if content.tell() > LARGEST_PACKED:
            raise DataError.about("data-too-large.sheet", file=file)
    with _damage_reported(file), zipfile.ZipFile(content) as parts:
        if sum(part.file_size for part in parts.infolist()) > LARGEST_PARTS:
            raise DataError.about("data-too-large.sheet", file=file)
    return content.getvalue()


@contextmanager
def _damage_reported(file: str) -> Iterator[None]:
    """Replace errors of libraries, which may quote a cell, by one fixed sentence."""
    try:
        with silenced_stderr:
            yield
    except (KeyboardInterrupt, SystemExit, StoppedBySignal, DpcliError):
        raise
    except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
        raise DataError.about("not-xlsx", file=file) from None

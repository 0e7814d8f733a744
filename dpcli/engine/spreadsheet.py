"""Sheets of xlsx files as text, by the library `fastexcel`.

    number     plain decimals, whole numbers without a point; a percentage is its fraction
    date       YYYY-MM-DD HH:MM:SS, also if the time is midnight
    boolean    true or false
    text       as it is
    error      a blank cell, which is missing, as an empty one

Rows are counted from row 1 of the sheet. A row without any cell under the header is no row. The
columns are those from the first to the last cell of the header; if the spec declares `names`, they
begin with column A.

Privacy: the header alone decides which columns there are. A cell of a record to the left of the
header, or to the right, changes no position.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import polars as pl

from dpcli.csv_dialect import Dialect
from dpcli.engine.progress import interruptible, silenced_stderr
from dpcli.errors import DataError, DpcliError, StoppedBySignal

LARGEST_PACKED = 1 << 30
"""Bytes of the largest file: it is held in memory."""

LARGEST_PARTS = 1 << 33
"""Bytes of its parts after unpacking, as the file states them."""


def sheet_text(blocks: Iterable[bytes], dialect: Dialect, file: str) -> bytes:
    """The rows of a sheet after those to skip, as CSV in UTF-8, from its header on.

    Raises DataError: `no-excel` without the library, `not-xlsx`, `sheet-missing`, `data-too-large`.
    """
    cells, first = _loaded(blocks, dialect, file)
    with _damage_reported(file):
        return interruptible(lambda: _as_csv(cells, first, dialect))


def first_rows(
    blocks: Iterable[bytes], dialect: Dialect, file: str, count: int
) -> list[tuple[str, ...]]:
    """At most so many first rows of a sheet, also blank ones, with the errors of `sheet_text`."""
    cells, _ = _loaded(blocks, dialect, file, count)
    return cells.fill_null("").rows()


def _loaded(
    blocks: Iterable[bytes], dialect: Dialect, file: str, count: int | None = None
) -> tuple[pl.DataFrame, int]:
    """The cells of a sheet, or of so many rows, and the index of the first column with a cell."""
    try:
        import fastexcel
    except ImportError:
        raise DataError.about("no-excel", file=file) from None
    sheet = dialect.sheet
    content = _checked(blocks, file)
    with _damage_reported(file):
        reader = fastexcel.read_excel(content)
        if sheet is not None and sheet not in reader.sheet_names:
            raise DataError.about("sheet-missing", file=file, sheet=sheet)

        def read() -> tuple[pl.DataFrame, int]:
            cells = reader.load_sheet(
                0 if sheet is None else sheet,
                header_row=None,
                skip_rows=0,
                n_rows=count,
                dtypes="string",
            )
            first = min((column.absolute_index for column in cells.available_columns()), default=0)
            return cells.to_polars(), first

        return interruptible(read)


def _as_csv(rows: pl.DataFrame, first: int, dialect: Dialect) -> bytes:
    """The rows as text; the first column of the table is at the index `first` of the sheet."""
    table = _filled(rows.slice(dialect.skip_lines))
    if dialect.names:
        before = [pl.lit(None, pl.String).alias(f"before{place}") for place in range(first)]
        table = table.select(*before, pl.all())
    else:
        header = table.head(dialect.header_lines)
        named = [place for place, cells in enumerate(header) if cells.count()]
        table = _filled(table[:, min(named, default=0) : max(named, default=-1) + 1])
    text = io.BytesIO()
    table.write_csv(text, include_header=False, quote_style="always")
    return text.getvalue()


def _filled(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows that have a cell."""
    return rows.filter(~pl.all_horizontal(pl.all().is_null())) if rows.width else rows


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
        with silenced_stderr():
            yield
    except (KeyboardInterrupt, SystemExit, StoppedBySignal, DpcliError):
        raise
    except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
        raise DataError.about("not-xlsx", file=file) from None

"""How readable each column is, for the operator's terminal alone.

Confidential: exact properties of the records, outside every guarantee. Only `dpcli check
--cells` may import this module (import-linter checks it); nothing it finds may reach a
report, a ledger, a log or an exit status.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from dpcli.columns import CategoryColumn, Column, without_constant
from dpcli.engine.aggregate import scanned
from dpcli.engine.decode import BLANKS, encoded
from dpcli.engine.dialect import Inspection
from dpcli.engine.progress import Progress, run_with_retry
from dpcli.engine.redaction import redacted_errors
from dpcli.engine.source import Dataset
from dpcli.engine.table import Tables

Amount = Literal["all", "most", "some", "none"]

MOST_SHARE = (9, 10)
"""From this share on, most cells are readable."""


@dataclass(frozen=True, slots=True)
class ColumnCells:
    """How many of the cells of a column can be read, and declared texts that never occur."""

    column: Column
    readable: Amount
    absent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CellsCheck:
    """What `dpcli check --cells` shows; `enough_rows` is None if no least number is declared."""

    columns: tuple[ColumnCells, ...]
    has_rows: bool
    enough_rows: bool | None


def check_cells(
    dataset: Dataset, columns: Sequence[Column], min_rows: int | None, progress: Progress
) -> CellsCheck:
    """Read all files once. DataError `data-unreadable` if that fails, without a reason."""
    inspection = Inspection(dataset, progress)
    wanted = tuple(map(without_constant, columns))
    with redacted_errors(dataset):
        counted = scanned(
            dataset, inspection, wanted, lambda tables: _scan(tables, wanted, progress), progress
        )
    rows = int(counted["rows"].sum())
    return CellsCheck(
        tuple(_found(column, place, counted, rows) for place, column in enumerate(columns)),
        rows > 0,
        None if min_rows is None else rows >= min_rows,
    )


def _scan(
    tables: Tables, wanted: Sequence[Column], progress: Progress
) -> tuple[pl.DataFrame, bool]:
    """One line per file: rows, readable cells and occurring texts of each column, any blanks."""
    facts = [pl.len().alias("rows"), pl.col("blank").any()]
    for place, column in enumerate(wanted):
        text = pl.col(f"t{place}")
        facts.append(encoded(column, f"t{place}").is_not_null().sum().alias(f"n{place}"))
        if isinstance(column, CategoryColumn):
            stripped = text.str.strip_chars(BLANKS)
            declared = [text for text, _ in column.values]
            facts.append(
                stripped.filter(stripped.is_in(declared)).unique().implode().alias(f"o{place}")
            )
    frames = [frame.select(facts) for frame in tables.frames()]
    results = run_with_retry(lambda: pl.collect_all(frames, engine="streaming"), progress)
    counted = pl.concat(results)
    return counted, bool(counted["blank"].any())


def _found(column: Column, place: int, counted: pl.DataFrame, rows: int) -> ColumnCells:
    """One column over all files."""
    readable = int(counted[f"n{place}"].sum())
    absent: tuple[str, ...] = ()
    if isinstance(column, CategoryColumn):
        occurring = set(counted[f"o{place}"].explode().drop_nulls().to_list())
        absent = tuple(text for text, _ in column.values if text not in occurring)
    return ColumnCells(column, _amount(readable, rows), absent)


def _amount(readable: int, rows: int) -> Amount:
    """How much of the whole, in a word."""
    if not readable:
        return "none"
    if readable == rows:
        return "all"
    above, below = MOST_SHARE
    return "most" if readable * below >= rows * above else "some"

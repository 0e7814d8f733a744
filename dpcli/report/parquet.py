"""The same tables as Parquet: texts as texts, numbers as 64-bit floats.

A number that has more digits than a float holds is rounded; the CSV has them all.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcli.report.table import Table


def parquet_bytes(table: Table) -> bytes:
    """A table whose blank cells are null."""
    import polars as pl

    columns: list[pl.Series] = []
    for place, name in enumerate(table.header):
        texts: Sequence[str] = [line[place] for line in table.lines]
        if place in table.numbers:
            floats = [float(text) if text else None for text in texts]
            columns.append(pl.Series(name, floats, dtype=pl.Float64))
        else:
            columns.append(pl.Series(name, [text or None for text in texts], dtype=pl.String))
    written = io.BytesIO()
    pl.DataFrame(columns).write_parquet(written, compression="zstd", statistics=False)
    return written.getvalue()

"""Tables in memory as data: written as Parquet, so that one rule reads all rows.

The file has no name, and nobody else can open it. Types that Parquet files refuse are refused
with the same codes.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from dpcli.engine.progress import silenced_stderr
from dpcli.errors import DataError, StoppedBySignal

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class MemoryTable:
    """A table in memory, which messages call by its `name`.

    Its `rows` are a DataFrame or LazyFrame of polars, or whatever offers its columns as an Arrow
    stream, as tables of pandas and Arrow do.
    """

    rows: Any = field(repr=False)
    name: str = "table.parquet"

    def opened(self) -> BinaryIO:
        """Its rows as a file without a name; DataError `data-unreadable`, which quotes no cell."""
        with ExitStack() as opened:
            file = opened.enter_context(tempfile.TemporaryFile(prefix="dpcli-", buffering=0))
            try:
                with silenced_stderr():
                    self._lazy().sink_parquet(file, compression="uncompressed", statistics=False)
            except (KeyboardInterrupt, SystemExit, StoppedBySignal):
                raise
            except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
                # The message of a writer may quote a cell, so no part of it may pass.
                raise DataError.about("data-unreadable.table") from None
            opened.pop_all()
        return cast("BinaryIO", file)

    def _lazy(self) -> pl.LazyFrame:
        # A command that reads files only, or none, should not load polars for this.
        import polars as pl

        if isinstance(self.rows, pl.LazyFrame):
            return self.rows
        frame = self.rows if isinstance(self.rows, pl.DataFrame) else pl.DataFrame(self.rows)
        # A column of Python objects cannot be written; as bytes it is refused if it is declared.
        objects = [name for name, dtype in frame.schema.items() if dtype == pl.Object]
        return frame.with_columns(pl.lit(None, pl.Binary).alias(name) for name in objects).lazy()

"""Tables in memory as data, written to a Parquet file.

So the same code reads all rows. The file has no name, so no other process can open it by a name.
Types that are refused in Parquet files are refused here with the same codes.

Privacy: the declared types of the columns decide what is refused, not the values in them. A query
of polars that is not run yet (`LazyFrame`) is a program of the caller, which may fail at a value.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from dataclasses import field
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from dpcli.engine.progress import silenced_stderr
from dpcli.problems.errors import DataError, StoppedBySignal
from dpcli.problems.light_dataclasses import dataclass

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class MemoryTable:
    """A table in memory; messages use its `name`.

    `rows` is a DataFrame or LazyFrame of polars, or an object with an Arrow stream, such as a table
    of pandas or Arrow.
    """

    rows: Any = field(repr=False)
    name: str = "table.parquet"

    @property
    def is_stream(self) -> bool:
        """Whether its rows can be read only once: an Arrow stream that has no length."""
        return not hasattr(self.rows, "sink_parquet") and not hasattr(self.rows, "__len__")

    def open(self) -> BinaryIO:
        """Its rows as a file without a name. Raises DataError `data-unreadable`, without a cell."""
        with ExitStack() as stack:
            file = stack.enter_context(tempfile.TemporaryFile(prefix="dpcli-", buffering=0))
            try:
                with silenced_stderr:
                    self._lazy().sink_parquet(
                        file, compression="uncompressed", statistics=False, engine="streaming"
                    )
            except (KeyboardInterrupt, SystemExit, StoppedBySignal, DataError):
                raise
            except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
                # The message of a writer may quote a cell, so no part of it is passed on.
                raise DataError.about("data-unreadable.table") from None
            stack.pop_all()
        return cast("BinaryIO", file)

    def _lazy(self) -> pl.LazyFrame:
        # A command without tables in memory must not load polars for this.
        import polars as pl

        rows, pandas = self.rows, sys.modules.get("pandas")
        if pandas is not None and isinstance(rows, pandas.DataFrame):
            # The same: it needs polars.
            from dpcli.engine.files.foreign_tables import polars_frame

            rows = polars_frame(rows)
        if not isinstance(rows, pl.DataFrame | pl.LazyFrame):
            from dpcli.engine.files.foreign_tables import arrow_frame

            rows = arrow_frame(rows)
        lazy: pl.LazyFrame = rows.lazy()
        # A column of Python objects cannot be written. As bytes it is refused if it is declared.
        schema = lazy.collect_schema()
        objects = [name for name, dtype in schema.items() if dtype == pl.Object]
        return lazy.with_columns(pl.lit(None, pl.Binary).alias(name) for name in objects)

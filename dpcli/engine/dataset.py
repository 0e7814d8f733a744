"""Open data files, which the engine reads one after the other, as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import BinaryIO, Self

from dpcli.data.column import Column
from dpcli.data.csv_dialect import STANDARD_DIALECT, Dialect
from dpcli.engine.progress import silenced_stderr
from dpcli.engine.regular_file import Format, State, file_state
from dpcli.errors import DataError, DpcliError, StoppedBySignal, make_problem
from dpcli.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One open regular file, and the names of its columns.

    `size` is at least the number of its rows: for CSV the bytes. `bytes` is the size of the named
    file, which may be compressed or in another encoding. `dialect` describes the text, which is
    UTF-8 by now; it is None for Parquet. In a Parquet file, `odd` maps the columns that cannot be
    read to their types, and `unfit_ids` the columns that cannot be ids. `state` is that of a file
    that is read without a copy. `positions` are indices in a file with some columns of another.
    `kind` is the format before the file was copied as text.
    """

    name: str
    file: BinaryIO
    size: int
    header: tuple[str, ...]
    bytes: int = 0
    dialect: Dialect | None = STANDARD_DIALECT
    odd: Mapping[str, str] = field(default_factory=dict)
    unfit_ids: Mapping[str, str] = field(default_factory=dict)
    state: State | None = None
    positions: Mapping[int, int] = field(default_factory=dict)
    kind: Format = "csv"

    def place(self, column: Column) -> int:
        """The index of a column, which the file has; several columns may have one."""
        key = column.file_key
        return self.positions.get(key, key - 1) if isinstance(key, int) else self.header.index(key)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Files that are read one after the other, as one."""

    sources: tuple[Source, ...]
    dialect: Dialect = STANDARD_DIALECT

    @property
    def size(self) -> int:
        """An upper bound on the number of rows."""
        return sum(source.size for source in self.sources)

    @property
    def bytes(self) -> int:
        """The bytes of all named files."""
        return sum(source.bytes for source in self.sources)

    @contextmanager
    def redacted_errors(self) -> Iterator[None]:
        """Replace errors of the body, which may quote a record, by one fixed sentence.

        Raises DataError `data-unreadable`, or `data-changed`. A DpcliError passes: it quotes none.
        """
        try:
            with silenced_stderr:
                yield
            self._require_unchanged()
        except (KeyboardInterrupt, SystemExit, StoppedBySignal, DpcliError):
            raise
        except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
            self._require_unchanged()
            # The message of the reader may quote a record, so no part of it may pass.
            raise DataError.about("data-unreadable") from None

    def _require_unchanged(self) -> None:
        """Raise DataError `data-changed` if the size or time of a file is no longer the same."""
        changed = [
            make_problem("data-changed", file=source.name)
            for source in self.sources
            if source.state is not None and source.state != file_state(source.file)
        ]
        if changed:
            raise DataError(changed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files, which deletes temporary copies."""
        for source in self.sources:
            source.file.close()

"""From a file of records to a file of responses, one for each record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.engine.decode import encoded
from dpcli.engine.progress import Progress
from dpcli.engine.source import Dataset
from dpcli.engine.table import prefetch, texts_of
from dpcli.privacy.confidential import Confidential
from dpcli.privacy.decimals import decimal_places
from dpcli.spec.model import Cell, Response, Spec

CELLS = 1 << 22
"""Cells of responses that are made at a time; memory grows with this, not with the file."""

LARGEST = 1 << 62
"""Numbers that are written out by 64-bit arithmetic."""


def responses(
    spec: Spec, dataset: Dataset, progress: Progress | None = None
) -> Iterator[pl.DataFrame]:
    """What is collected of each record, some thousands at a time, in the order of the files.

    Every cell that is randomized is sealed as soon as it is a whole number, and only its
    channel opens it. The files must have the columns.
    """
    kept = list(spec.kept)
    columns = [one.column if isinstance(one, Response) else one for one in kept]
    with texts_of(dataset, columns, progress) as texts:
        chosen = [
            encoded(column, f"t{place}").alias(f"t{place}") for place, column in enumerate(columns)
        ]
        # A block of short rows has many of them, and a response may have many columns.
        most = max(1, CELLS // len(spec.header))
        frames = (part for frame in texts for part in frame.iter_slices(most))
        for cells in prefetch(frame.select(chosen) for frame in frames):
            collected: dict[str, pl.Series] = {}
            for one, series in zip(kept, cells.get_columns(), strict=True):
                if isinstance(one, Response):
                    sealed = Confidential(series.cast(pl.Int64).to_numpy())
                    collected |= _written(one, sealed)
                else:
                    collected[one.name] = _texts(one, series)
            yield pl.DataFrame(collected)


def _written(response: Response, cells: Confidential[NDArray[np.int64]]) -> dict[str, pl.Series]:
    """The responses of sealed cells, as they are written."""
    drawn = response.channel.respond(cells).value
    if response.channel.form == "number":
        assert isinstance(response.column, NumericColumn)
        (steps,) = drawn
        wide = steps.dtype == object
        series = pl.Series(steps.tolist(), dtype=pl.Object) if wide else pl.Series(steps)
        written = [_decimals(response.column, series)]
    elif response.channel.form == "bits":
        written = [pl.Series(bits) for bits in drawn]
    else:
        written = [_labels(response.outputs, pl.Series(drawn[0]))]
    return dict(zip(response.names, written, strict=True))


def _texts(column: Cell, cells: pl.Series) -> pl.Series:
    """Public cells, as they are written: labels and numbers, nothing where they are missing."""
    if isinstance(column, CategoryColumn):
        return _labels(column.labels, cells)
    if column.kind == "date":
        return cells.cast(pl.Int32).cast(pl.Date).dt.to_string("%Y-%m-%d")
    return _decimals(column, cells.cast(pl.Int64))


def _labels(labels: Sequence[str], places: pl.Series) -> pl.Series:
    """Places as the labels that stand there; no text is copied for any of them."""
    return places.cast(pl.UInt32).cat.to(pl.Enum(labels))


def _decimals(column: NumericColumn, steps: pl.Series) -> pl.Series:
    """Whole numbers of steps as plain decimals; null where they are.

    By 64-bit arithmetic where the column allows no number that exceeds it.
    """
    places = decimal_places(column.step)
    unit, largest = int(column.step * 10**places), _largest(steps)
    if max(unit, 10**places, unit * largest) >= LARGEST:
        texts = [None if value is None else column.text(int(value)) for value in steps.to_list()]
        return pl.Series(texts, dtype=pl.String)
    units = pl.col("v") * unit
    whole = (units.abs() // 10**places).cast(pl.String)
    if places:
        part = (units.abs() % 10**places).cast(pl.String).str.zfill(places)
        whole = pl.concat_str(whole, pl.lit("."), part)
    signed = pl.when(units < 0).then(pl.concat_str(pl.lit("-"), whole)).otherwise(whole)
    frame = pl.DataFrame({"v": steps})
    return frame.select(pl.when(pl.col("v").is_not_null()).then(signed).alias("v")).to_series()


def _largest(steps: pl.Series) -> int:
    """The greatest size of a number; at least one."""
    if steps.dtype != pl.Int64:
        return LARGEST
    ends = (steps.min(), steps.max())
    return max((abs(end) for end in ends if isinstance(end, int)), default=1)

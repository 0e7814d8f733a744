"""Randomizes each record by itself, and charges for the responses.

Responses can be shuffled in bounded memory, with every order equally likely.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import BinaryIO

import polars as pl

from dpcli.data.column import ValuedColumn, file_columns
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.polars_text import decimal_texts
from dpcli.engine.cells import Decoder
from dpcli.engine.files.dataset import Dataset
from dpcli.engine.files.header_check import require_columns
from dpcli.engine.files.pieces import prefetch, read_texts
from dpcli.engine.files.source import Input, open_dataset
from dpcli.engine.progress import Progress
from dpcli.ledger.charge import RESPONSES, Charge, RandomizedCollection, Receipt, StoredRelease
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.transaction import LedgerTransaction
from dpcli.local.outbox import Outbox, remove_uncharged, waiting_path
from dpcli.mechanisms.calibrated_mechanism import respond
from dpcli.noise.bernoulli import uniforms
from dpcli.noise.entropy import random_bytes
from dpcli.numeric.arrays import Array, Ints, multiply_exact, np
from dpcli.numeric.exact import decimal_places
from dpcli.planning.plan import LocalPlan
from dpcli.privacy.confidential import Confidential
from dpcli.problems.errors import DataError, LedgerError
from dpcli.specification.model import LocalSpec, Response

CELLS = 1 << 22
"""Cells of responses made at a time: memory grows with it, not with the file."""

BUCKET = 1 << 25
"""Bytes of the data file per bucket: about as many are in memory at a time."""

MAX_BUCKETS = 200
"""Files that are open at a time; for larger data, buckets grow instead."""


def randomize_records(
    plan: LocalPlan,
    data: tuple[Input, ...],
    transaction: LedgerTransaction,
    render: Callable[[RandomizedCollection], Mapping[str, bytes]],
    *,
    shuffle: bool,
    progress: Progress | None = None,
) -> StoredRelease:
    """Randomize all records, charge for it, and put responses in the ledger's outbox.

    At the charge all responses are on disk, so that every charge has its responses. Raises
    BudgetError, DataError, LedgerError or OutputError.
    """
    ledger, charge = transaction.ledger, transaction.charge
    with Outbox(ledger.path.resolve().parent) as outbox:

        def outputs_of(receipt: Receipt) -> Mapping[str, bytes]:
            collection = RandomizedCollection(
                plan, charge.release_id, charge.created, outbox.digest, receipt, shuffle
            )
            outputs = {RESPONSES: outbox.digest.encode(), **render(collection)}
            # Within the transaction, in which no other process can charge.
            remove_uncharged(ledger.path, ledger.names())
            name = ledger.entry_name(charge.release_id, charge.terms.dataset)
            outbox.name(waiting_path(ledger.path, name))
            return outputs

        try:
            transaction.draw_noise()
            write_responses(plan, data, outbox, shuffle=shuffle, progress=progress)
            return transaction.commit(outputs_of)
        except BaseException:
            _unname_uncharged(outbox, ledger, charge)
            raise


def _unname_uncharged(outbox: Outbox, ledger: OpenLedger, charge: Charge) -> None:
    """Remove the name of responses that were certainly not charged for."""
    try:
        charged = ledger.stored(charge.release_id, charge.terms.dataset) is not None
    except LedgerError as failure:
        charged = failure.problems[0].code != "release-void"
    if not charged:
        outbox.unname()


def write_responses(
    plan: LocalPlan,
    data: tuple[Input, ...],
    outbox: Outbox,
    *,
    shuffle: bool,
    progress: Progress | None = None,
) -> None:
    """Read the data once, and write a row of responses per record; raises DataError."""
    spec = plan.spec
    with open_dataset(data, spec.dialect, progress) as dataset:
        require_columns(dataset, _columns(spec), every_record=True)
        with dataset.redacted_errors():
            outbox.write(_csv_bytes(pl.DataFrame({name: [] for name in spec.header}), header=True))
            frames = responses(spec, dataset, progress)
            ordered = in_random_order(frames, dataset.size) if shuffle else frames
            for rows in prefetch(_csv_bytes(frame) for frame in ordered):
                outbox.write(rows)
    outbox.sync()


def _columns(spec: LocalSpec) -> list[ValuedColumn]:
    """The columns of the data file that are read, in the order of the output."""
    return [
        output.column if isinstance(output, Response) else output
        for output in spec.collected_columns
    ]


def _csv_bytes(frame: pl.DataFrame, *, header: bool = False) -> bytes:
    buffer = io.BytesIO()
    frame.write_csv(buffer, include_header=header, quote_style="necessary")
    return buffer.getvalue()


def responses(
    spec: LocalSpec, dataset: Dataset, progress: Progress | None = None
) -> Iterator[pl.DataFrame]:
    """The output row of each record, some thousands at a time, in order of the files.

    The files must have the columns. A cell to be randomized is confidential as soon as it is a
    whole number, and only its randomizer opens it.
    """
    columns = _columns(spec)
    decoder = Decoder(columns)
    # A block may have many short rows, and a response may have many columns.
    row_limit = max(1, CELLS // len(spec.header))
    frames = (
        rows
        for frame in read_texts(dataset, file_columns(columns), progress)
        for rows in frame.iter_slices(row_limit)
    )
    for cells in prefetch(map(decoder.decode, frames)):
        collected: dict[str, pl.Series] = {}
        for column, series in zip(spec.collected_columns, cells.get_columns(), strict=True):
            if isinstance(column, Response):
                confidential = Confidential(series.cast(pl.Int64).to_numpy(), column.randomizer)
                collected |= _respond(column, confidential)
            else:
                collected[column.name] = _public_texts(column, series)
        yield pl.DataFrame(collected)


def _respond(response: Response, cells: Confidential[Ints]) -> dict[str, pl.Series]:
    answers = respond(response.randomizer, cells).value
    if response.randomizer.form == "number":
        columns = [_decimals(require_numeric(response.column), answers[0])]
    elif response.randomizer.form == "bits":
        columns = [pl.Series(bits) for bits in answers]
    else:
        columns = [_labels(response.outputs, pl.Series(answers[0]))]
    return dict(zip(response.names, columns, strict=True))


def _public_texts(column: ValuedColumn, cells: pl.Series) -> pl.Series:
    """Public cells as labels, dates and decimals; null for a missing cell."""
    if column.labels:
        return _labels(column.labels, cells)
    if column.is_date:
        return cells.cast(pl.Int32).cast(pl.Date).dt.to_string("%Y-%m-%d")
    texts = _decimals(require_numeric(column), cells.cast(pl.Int64).fill_null(0).to_numpy())
    return texts.set(cells.is_null(), None)


def _labels(labels: Sequence[str], indexes: pl.Series) -> pl.Series:
    return indexes.cast(pl.UInt32).cat.to(pl.Enum(labels))


def _decimals(column: NumericColumn, steps: Array) -> pl.Series:
    decimals = decimal_places(column.step)
    return decimal_texts(multiply_exact(steps, int(column.step * 10**decimals)), decimals)


def in_random_order(frames: Iterator[pl.DataFrame], size: int) -> Iterator[pl.DataFrame]:
    """All rows of `frames` in uniformly random order; `size` is the data file's size.

    Each row goes to a uniformly random bucket, and the rows of each bucket are shuffled. Then
    every order of all rows is equally likely (Rao 1961; Sandelius 1962). Buckets are files without
    a name. Raises DataError `no-space`.
    """
    with ExitStack() as stack:
        buckets = [
            stack.enter_context(tempfile.TemporaryFile(prefix="dpcli-"))
            for _ in range(min(size // BUCKET + 1, MAX_BUCKETS))
        ]
        lengths: list[list[int]] = [[] for _ in buckets]
        for frame in frames:
            drawn = uniforms(len(buckets), len(frame))
            for index, bucket in enumerate(buckets):
                buffer = io.BytesIO()
                frame.filter(pl.Series(drawn == index)).write_ipc_stream(buffer)
                lengths[index].append(_spill(bucket, buffer))
        for bucket, sizes in zip(buckets, lengths, strict=True):
            bucket.seek(0)
            parts = [pl.read_ipc_stream(bucket.read(length)) for length in sizes]
            if parts:
                rows = pl.concat(parts)
                yield rows[random_order(len(rows))]


def _spill(bucket: BinaryIO, rows: io.BytesIO) -> int:
    try:
        return bucket.write(rows.getbuffer())
    except OSError:
        raise DataError.about("no-space", what="the responses") from None


def random_order(count: int) -> Ints:
    """A uniformly random permutation of 0 to count - 1, as Int64 of shape (count,).

    It sorts random words, and draws all of them again if two words are equal.
    """
    while True:
        words = np.frombuffer(random_bytes(8 * count), np.uint64)
        order = np.argsort(words, kind="stable")
        if count < 2 or (np.diff(words[order]) > 0).all():
            return order

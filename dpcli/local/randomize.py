"""The one act of the local model: randomize, charge, and hand over."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from dpcli.columns import CategoryColumn
from dpcli.engine.header import require_columns
from dpcli.engine.progress import Progress
from dpcli.engine.redaction import redacted_errors
from dpcli.engine.source import open_dataset
from dpcli.engine.table import prefetch
from dpcli.errors import LedgerError
from dpcli.ledger.charge import RESPONSES, Charge, Slot, Standing, Stored
from dpcli.ledger.ledger import Ledger
from dpcli.local.pending import Pending, sweep, waiting_name
from dpcli.local.respond import responses
from dpcli.local.shuffle import in_random_order
from dpcli.plan.model import Plan
from dpcli.plan.planner import require_budget
from dpcli.spec.model import Response, Spec


@dataclass(frozen=True, slots=True)
class Randomized:
    """What may be told of a collection: its plan, its name, its digest, its place in the ledger."""

    plan: Plan
    release_id: str
    created: str
    digest: str
    standing: Standing
    shuffled: bool


def randomize(
    plan: Plan,
    data: tuple[str, ...],
    slot: Slot,
    render: Callable[[Randomized], Mapping[str, bytes]],
    *,
    shuffle: bool,
    progress: Progress | None = None,
) -> Stored:
    """Randomize every record, charge for it, and leave the responses waiting next to the ledger.

    A release of that name and spec that was made before is returned as it is, and
    nothing is read. The budget is checked before a data file is opened, and again when
    it is charged; by then all responses are on disk, so that every charge has its responses.
    Raises BudgetError, DataError, LedgerError or OutputError.
    """
    assert plan.is_local, "without responses nothing would be collected"
    if slot.stored is not None:
        return slot.stored
    require_budget(plan)
    slot.require_room()
    ledger, charge = slot.ledger, slot.charge
    with Pending(waiting_name(ledger.path, charge.release_id)) as pending:

        def rendered(standing: Standing) -> Mapping[str, bytes]:
            collection = Randomized(
                plan, charge.release_id, charge.created, pending.digest, standing, shuffle
            )
            outputs = {RESPONSES: pending.digest.encode(), **render(collection)}
            # Within the transaction: no other process charges for anything now.
            sweep(ledger.path, ledger.release_ids())
            pending.name()
            return outputs

        try:
            slot.draw_noise()
            write_responses(plan, data, pending, shuffle=shuffle, progress=progress)
            return slot.commit(rendered)
        except BaseException:
            _forget(pending, ledger, charge)
            raise


def _forget(pending: Pending, ledger: Ledger, charge: Charge) -> None:
    """Take the name from responses that were certainly not charged for."""
    try:
        charged = ledger.stored(charge.release_id) is not None
    except LedgerError as failure:
        charged = failure.problems[0].code != "release-void"
    if not charged:
        pending.unname()


def write_responses(
    plan: Plan,
    data: tuple[str, ...],
    pending: Pending,
    *,
    shuffle: bool,
    progress: Progress | None = None,
) -> None:
    """Read the data once and write one row of responses for each record."""
    spec = plan.spec
    with open_dataset(data, spec.dialect, progress) as dataset:
        columns = [column for column in spec.columns if column.name in _names(plan)]
        require_columns(dataset, columns)
        with redacted_errors(dataset):
            pending.write(_csv(pl.DataFrame({name: [] for name in spec.header}), header=True))
            frames = responses(spec, dataset, progress)
            ordered = in_random_order(frames, dataset.size) if shuffle else frames
            plain = _are_plain(spec)
            for rows in prefetch(_csv(frame, header=False, plain=plain) for frame in ordered):
                pending.write(rows)
    pending.settle()


def _names(plan: Plan) -> set[str]:
    """The columns of the data file that are read."""
    spec = plan.spec
    return {column.name for column in spec.public} | {one.column.name for one in spec.responses}


def _csv(frame: pl.DataFrame, *, header: bool, plain: bool = False) -> bytes:
    """Rows as CSV; if `plain`, no cell can need quotes."""
    buffer = io.BytesIO()
    style: Literal["never", "necessary"] = "never" if plain else "necessary"
    frame.write_csv(buffer, include_header=header, quote_style=style)
    return buffer.getvalue()


def _are_plain(spec: Spec) -> bool:
    """Whether no label holds what CSV takes for structure; numbers and dates never do."""
    labels: set[str] = set()
    for one in spec.kept:
        if isinstance(one, Response):
            labels.update(one.outputs)
        elif isinstance(one, CategoryColumn):
            labels.update(one.labels)
    return not any(mark in label for label in labels for mark in ',"\r\n')

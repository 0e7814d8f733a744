"""The calls of the public API: what the command line does, for programs.

Import them from `dpcli`. Every failure is a DpcliError, which carries its `problems` and the exit
`status` of the command line, and quotes no record. Nothing is printed, and no signal is handled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dpcli.engine.memory import Table
from dpcli.engine.source import Input
from dpcli.errors import DpcliError, LedgerError, SpecError, internal_fault
from dpcli.ledger.charge import Slot, Stored, charge_for, resolved
from dpcli.ledger.choice import NAMED, charged_ledger, checked_day, checked_id, must_exist
from dpcli.ledger.ledger import Ledger
from dpcli.planning.model import Plan
from dpcli.planning.planner import make_plan, require_budget
from dpcli.privacy.loss import Loss
from dpcli.releasing import new_release_id, require_quality
from dpcli.releasing import release as make_release
from dpcli.report.document import Report, loss_of
from dpcli.report.facts import release_report
from dpcli.report.formats import FACTS, LONG, output, published_table, render, report_name
from dpcli.report.table import estimate_table
from dpcli.spec.load import read_any
from dpcli.spec.model import Spec

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DpcliError", "Ledger", "Release", "estimate", "load_spec", "plan", "release"]

T = TypeVar("T")

Name = str | os.PathLike[str]
"""The name of a file."""


class ArrowTable(Protocol):
    """A table that offers its columns as an Arrow stream: of pandas, Arrow, and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with the stream."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release that is charged and stored: all that is in it may be published.

    `charged` is false if the same release id was charged for before.
    """

    release_id: str
    charged: bool
    _report: Report = field(repr=False)

    @property
    def table(self) -> pl.DataFrame:
        """The noisy numbers, one on each line, as in the table that the command line writes."""
        return published_table(self._report).typed

    @property
    def cost(self) -> Loss:
        """What it reveals, exactly: its `epsilon`, its `delta`, and `rho` where that is counted."""
        return loss_of(self._report.facts["privacy"]["spent"])

    @property
    def remaining(self) -> Loss:
        """What the account had left after it, exactly."""
        return loss_of(self._report.facts["privacy"]["remaining"])

    def report(self, form: str = "html") -> str:
        """Its privacy report as `html`, `markdown`, `json` or `registry`.

        Raises UsageError for another form, and LedgerError if an earlier version of dpcli stored
        too little for this one.
        """
        name = report_name(Path(), form)
        with _enough_stored(name):
            return output(self._report, name).decode()


def load_spec(path: Name) -> Spec:
    """The spec in a file; SpecError with every problem if it is wrong.

    >>> load_spec("specs/town.yaml").dataset
    'town-2021'
    """
    return read_any(Path(path))


def plan(spec: Spec) -> Plan:
    """The complete plan of a spec; SpecError if a statistic cannot be answered.

    It reads no row, and is about the budget of the spec alone.

    >>> plan(load_spec("specs/minimal.yaml")).fits
    True
    """
    return make_plan(spec)


def release(
    plan: Plan,
    data: Name | Sequence[Name] | pl.DataFrame | pl.LazyFrame | ArrowTable,
    *,
    ledger: Name | Ledger | None = None,
    release_id: str | None = None,
    period: str | None = None,
) -> Release:
    """Read the data, add noise to every answer, charge for it, and store what may be published.

    The data are files, read as one, or a table in memory. Without a `ledger` it is the one that
    the command line uses: that of the environment, or the one next to the spec, which is made if
    it is absent. A `release_id` that was charged before returns the stored release, and nothing
    is read. Raises BudgetError, DataError or LedgerError; QualityError if the quality check fails,
    which alone is charged then.
    """
    inputs = _inputs(data)
    name = checked_id(release_id) or new_release_id()
    day = checked_day(period)
    if plan.is_local:
        raise SpecError.about("wrong-model.local", spec=plan.spec.dataset)
    require_budget(plan)
    files = resolved(one for one in inputs if isinstance(one, str))

    def charged() -> Stored:
        opens = not must_exist(plan.spec)
        with _paying(ledger, plan.spec) as book:
            charge = charge_for(plan, name, day, files=files, opens=opens)
            with Slot(book, charge) as slot:
                return make_release(
                    plan, inputs, slot, lambda made: render(release_report(made), [LONG])
                )

    stored = _without_traces(charged)
    require_quality(stored)
    with _enough_stored(LONG):
        report = Report.read(stored.outputs[FACTS])
    return Release(stored.release_id, stored.standing is not None, report)


def estimate(spec: Spec, collected: Name) -> pl.DataFrame:
    """Frequencies and means from a file of collected responses, with their errors.

    Raises DataError if the file holds no responses of this spec.
    """
    if not spec.is_local:
        raise SpecError.about("wrong-model", spec=spec.dataset)
    # It needs polars and numpy, which the other names do without until rows are read.
    from dpcli.local.estimate import collect, estimates

    found = _without_traces(lambda: collect(spec, os.fsdecode(collected)))
    return estimate_table(list(estimates(found, spec.confidence)))


def _inputs(data: Any) -> tuple[Input, ...]:
    """Files by their names, or a table in memory; TypeError for anything else."""
    if isinstance(data, str | os.PathLike):
        return (os.fsdecode(data),)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "sink_parquet"):
        return (Table(data),)
    if isinstance(data, list | tuple) and data:
        return tuple(os.fsdecode(one) for one in data)
    raise TypeError(f"data are names of files or a table, not {type(data).__name__}")


@contextmanager
def _paying(ledger: Name | Ledger | None, spec: Spec) -> Iterator[Ledger]:
    """The ledger that pays; one that the caller has opened stays open."""
    if isinstance(ledger, Ledger):
        yield ledger
        return
    name = ledger or os.environ.get(NAMED)
    path = Path(name) if name else None
    with charged_ledger(path, spec.folder, must_exist=must_exist(spec)) as opened:
        yield opened


@contextmanager
def _enough_stored(wanted: str) -> Iterator[None]:
    """Raise LedgerError if a stored report lacks facts that an output needs."""
    try:
        yield
    except KeyError:
        raise LedgerError.about("output-not-stored", output=wanted) from None


def _without_traces(work: Callable[[], T]) -> T:
    """The result of `work`; whatever it raises leaves without the frames and errors behind it.

    They hold records and answers that were not charged, which a notebook or a debugger would
    show. The words of an error that is not ours may quote a record, so that none of them pass.
    """
    failure: BaseException
    try:
        return work()
    except DpcliError as error:
        failure = error
    except KeyboardInterrupt:
        failure = KeyboardInterrupt()
    except Exception as error:  # noqa: BLE001 - reported by its kind and place
        failure = internal_fault(error)
    failure.__context__ = None
    raise failure.with_traceback(None)

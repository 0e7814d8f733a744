"""The calls of the public API: what the command line does, for programs.

Import them from `dpcli`. Every failure is a DpcliError, which carries its `problems` and the exit
`status` of the command line, and quotes no record. Nothing is printed, and no signal is handled.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.charged_responses import ChargedResponses
from dpcli.charging import Name, charge, inputs_of, without_traces
from dpcli.errors import DpcliError, LedgerError, SpecError
from dpcli.ledger.charge import StoredRelease
from dpcli.ledger.ledger import Ledger
from dpcli.ledger.open_charge import OpenCharge
from dpcli.planning.plan import Plan
from dpcli.planning.planner import make_plan
from dpcli.privacy.loss import Loss
from dpcli.publishing import require_writable
from dpcli.releasing import require_quality, run_release
from dpcli.report.document import Report, loss_of
from dpcli.report.facts import collection_report, release_report
from dpcli.report.formats import (
    FACTS,
    LONG,
    output_name,
    published_table,
    render_output,
    render_outputs,
)
from dpcli.report.table import estimate_table
from dpcli.specification.load import read_spec_file
from dpcli.specification.model import Spec

if TYPE_CHECKING:
    import polars as pl

    from dpcli.charging import Data

__all__ = [
    "Collection",
    "DpcliError",
    "Ledger",
    "Release",
    "estimate",
    "load_spec",
    "plan",
    "randomize",
    "release",
]


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection of responses that is charged and stored, as its report states it.

    `charged` is false if the same release id was charged for before.
    """

    release_id: str
    charged: bool
    _report: Report = field(repr=False)

    @property
    def cost(self) -> Loss:
        """What it reveals, as the report states it: never less than it does.

        It has an `epsilon` and a `delta`, and a `rho` where that is counted.
        """
        return loss_of(self._report.facts["privacy"]["spent"])

    @property
    def remaining(self) -> Loss:
        """What the account had left after it, as the report states it."""
        return loss_of(self._report.facts["privacy"]["remaining"])

    def report(self, form: str = "html") -> str:
        """Its privacy report as `html`, `markdown`, `json` or `registry`.

        Raises UsageError for another form, and LedgerError if an earlier version of dpcli stored
        too little for this one.
        """
        name = output_name(Path(), form)
        with _enough_stored(name):
            return render_output(self._report, name).decode()


@dataclass(frozen=True, slots=True)
class Release(Collection):
    """A release that is charged and stored: all that is in it may be published."""

    @property
    def table(self) -> pl.DataFrame:
        """The noisy numbers, one on each line, as in the table that the command line writes."""
        return published_table(self._report).typed


def load_spec(path: Name) -> Spec:
    """The spec in a file; SpecError with every problem if it is wrong.

    >>> load_spec("specs/town.yaml").dataset
    'town-2021'
    """
    return read_spec_file(Path(path))


def plan(spec: Spec) -> Plan:
    """The complete plan of a spec; SpecError if a statistic cannot be answered.

    It reads no row, and is about the budget of the spec alone.

    >>> plan(load_spec("specs/minimal.yaml")).fits
    True
    """
    return make_plan(spec)


def release(
    plan: Plan,
    data: Data,
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
    if plan.is_local:
        raise SpecError.about("wrong-model.local", spec=plan.spec.dataset)
    inputs = inputs_of(data)

    def made(open_charge: OpenCharge) -> StoredRelease:
        return run_release(
            plan, inputs, open_charge, lambda one: render_outputs(release_report(one), [LONG])
        )

    stored, _ = charge(plan, inputs, made, ledger, release_id, period)
    require_quality(stored)
    return Release(stored.release_id, stored.receipt is not None, _report_of(stored))


def randomize(
    plan: Plan,
    data: Data,
    responses: Name,
    *,
    shuffle: bool = False,
    ledger: Name | Ledger | None = None,
    release_id: str | None = None,
    period: str | None = None,
) -> Collection:
    """Randomize each record by itself, charge for it, and write the file of `responses`.

    The file must not exist. Otherwise as `release`; a `release_id` that was charged before
    publishes the same responses, once. Raises OutputError if that fails after the charge.
    """
    if not plan.is_local:
        raise SpecError.about("wrong-model", spec=plan.spec.dataset)
    # It needs polars, which the other names do without until rows are read.
    from dpcli.local.randomize import randomize_records

    inputs, target = inputs_of(data), Path(responses)
    protected = [*plan.spec.files, *(Path(one) for one in inputs if isinstance(one, str))]
    require_writable([target], protected, force=True)

    def made(open_charge: OpenCharge) -> StoredRelease:
        if open_charge.stored is not None:
            ChargedResponses(open_charge.stored, open_charge.ledger.path, shuffle).require(target)
        else:
            require_writable([target], [*protected, *open_charge.ledger.files()], force=False)
        return randomize_records(
            plan,
            inputs,
            open_charge,
            lambda one: render_outputs(collection_report(one), []),
            shuffle=shuffle,
        )

    stored, book = charge(plan, inputs, made, ledger, release_id, period)
    ChargedResponses(stored, book, shuffle).publish(target, force=False)
    return Collection(stored.release_id, stored.receipt is not None, _report_of(stored))


def estimate(spec: Spec, collected: Name) -> pl.DataFrame:
    """Frequencies and means from a file of collected responses, with their errors.

    Raises DataError if the file holds no responses of this spec.
    """
    if not spec.is_local:
        raise SpecError.about("wrong-model", spec=spec.dataset)
    # It needs polars and numpy, which the other names do without until rows are read.
    from dpcli.local.estimate import count_responses, estimate_groups

    found = without_traces(lambda: count_responses(spec, os.fsdecode(collected)))
    return estimate_table(list(estimate_groups(found, spec.confidence)))


def _report_of(stored: StoredRelease) -> Report:
    with _enough_stored(LONG):
        return Report.parse(stored.outputs[FACTS])


@contextmanager
def _enough_stored(wanted: str) -> Iterator[None]:
    """Raise LedgerError if a stored report lacks facts that an output needs."""
    try:
        yield
    except KeyError:
        raise LedgerError.about("output-not-stored", output=wanted) from None

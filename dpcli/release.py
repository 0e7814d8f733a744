"""The one act: aggregate, answer, commit, and hand over what may be published."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dpcli.engine.dialect import Inspection
from dpcli.engine.header import require_columns
from dpcli.engine.source import open_source
from dpcli.ledger.ledger import Charge, Ledger, Standing, Stored
from dpcli.ledger.terms import terms_of
from dpcli.plan import Plan, PlannedEntry, require_budget
from dpcli.privacy.confidential import Confidential
from dpcli.statistics.base import Answer, Estimate


@dataclass(frozen=True, slots=True)
class Released:
    """The published numbers of one entry, cell by cell."""

    planned: PlannedEntry
    estimates: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """All that may be told: a function of the plan, the noisy answers and the ledger."""

    plan: Plan
    release_id: str
    created: str
    entries: tuple[Released, ...]
    standing: Standing


def new_release_id() -> str:
    """A fresh random name for a release; it says nothing of the data."""
    return secrets.token_hex(8)


def now() -> str:
    """The date and time of a release in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def release(
    plan: Plan,
    data: str,
    ledger: Ledger,
    charge: Charge,
    render: Callable[[Release], Mapping[str, bytes]],
) -> Stored:
    """Read the data, answer every question, charge for it, and return the bytes to publish.

    A release of that name and spec that was made before is returned as it is, and
    nothing is read. The budget is checked before the data file is opened, and again
    when it is charged. Raises BudgetError, DataError or LedgerError.
    """
    stored = ledger.stored(charge.release_id, charge.digest)
    if stored is not None:
        return stored
    require_budget(plan)
    ledger.require_room(charge)
    entries = answer(plan, data)
    return ledger.commit(
        charge,
        lambda standing: render(
            Release(plan, charge.release_id, charge.created, entries, standing)
        ),
    )


def charge_for(plan: Plan, release_id: str, period: str | None) -> Charge:
    """What a release of a plan will be charged for, now."""
    parts = tuple(
        {
            "statistic": planned.entry.request.name,
            "question": part.question.role,
            "mechanism": part.noise.kind,
            "scale": str(part.noise.scale),
            "unit": str(part.question.unit),
            "cells": part.question.query.cells,
            "l0": part.sensitivity.l0,
            "l1": str(part.sensitivity.l1),
            "l2_squared": str(part.sensitivity.l2_squared),
            "linf": str(part.sensitivity.linf),
            "epsilon": str(part.loss.epsilon),
            "delta": str(part.loss.delta),
        }
        for planned in plan.entries
        for part in planned.parts
    )
    return Charge(terms_of(plan.spec), release_id, plan.spec.digest, now(), period, parts)


def answer(plan: Plan, data: str) -> tuple[Released, ...]:
    """Read the data once and answer every question once, each cell with its own noise."""
    source = open_source(data)
    try:
        require_columns(source.header, plan.spec.columns)
        inspection = Inspection(source.file, source.size)
        # Loading polars takes a while, in which the inspection reads the file.
        from dpcli.engine.aggregate import aggregate

        exact = aggregate(plan.queries, source, inspection)
    finally:
        source.close()
    return _answered(plan, exact)


def _answered(plan: Plan, exact: list[Confidential[tuple[int, ...]]]) -> tuple[Released, ...]:
    """Noise for every part, then estimates from the noisy answers alone."""
    sealed = iter(exact)
    released = []
    for planned in plan.entries:
        answers = []
        for part in planned.parts:
            noisy = part.mechanism.answer(part.noise, part.sensitivity, next(sealed))
            answers.append(Answer(noisy.value, part.noise))
        entry = planned.entry
        estimates = entry.statistic.estimate(entry.request, answers, plan.spec.confidence)
        released.append(Released(planned, estimates))
    return tuple(released)

"""The one act: aggregate, answer, and hand over what may be published."""

from __future__ import annotations

import datetime
import secrets
from dataclasses import dataclass

from dpcli.engine.dialect import Inspection
from dpcli.engine.header import require_columns
from dpcli.engine.source import open_source
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
    """All that may be told: a function of the plan and the noisy answers."""

    plan: Plan
    release_id: str
    created: str
    entries: tuple[Released, ...]


def new_release_id() -> str:
    """A fresh random name for a release; it says nothing of the data."""
    return secrets.token_hex(8)


def now() -> str:
    """The date and time of a release in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def release(plan: Plan, data: str, release_id: str) -> Release:
    """Read the data once, answer every question once, and return what may be told.

    The budget is checked before the data file is opened. Each cell gets its own
    fresh noise. Raises BudgetError or DataError.
    """
    require_budget(plan)
    source = open_source(data)
    try:
        require_columns(source.header, plan.spec.columns)
        inspection = Inspection(source.file, source.size)
        # Loading polars takes a while, in which the inspection reads the file.
        from dpcli.engine.aggregate import aggregate

        exact = aggregate(plan.queries, source, inspection)
    finally:
        source.close()
    return Release(plan, release_id, now(), _answered(plan, exact))


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

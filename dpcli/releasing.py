"""The one act: aggregate, answer, commit, and hand over what may be published."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, cast

from dpcli.columns import Key
from dpcli.engine.header import require_columns
from dpcli.engine.progress import Progress
from dpcli.engine.source import Dataset, Input, open_dataset
from dpcli.errors import QualityError, UsageError, make_problem
from dpcli.ledger.charge import Receipt, StoredRelease, charged_events
from dpcli.ledger.open_charge import OpenCharge
from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import Plan, PlannedQuery, PlannedStatistic
from dpcli.planning.planner import require_plan_fits
from dpcli.planning.quality_check import missed_minimums
from dpcli.privacy.confidential import Cells, Confidential, Group, Groups
from dpcli.privacy.permit import NoisePermit
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.postprocessing import apply_steps
from dpcli.statistics.statistic import NoisyAnswer

if TYPE_CHECKING:
    from dpcli.engine.rollup import SealedAnswer

Engine = Literal["local", "spark", "partials"]
"""What adds up the data: this process, Apache Spark, or earlier runs that sealed their parts."""


@dataclass(frozen=True, slots=True)
class NoisyStatistic:
    """The noisy answers to the parts of one entry, before anything is made of them.

    `groups` are the groups that they are about, in order, where keys are private.
    """

    planned: PlannedStatistic
    answers: tuple[NoisyAnswer, ...]
    groups: tuple[Group, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PublishedStatistic:
    """The published numbers of one entry, cell by cell.

    `groups` are the groups that were selected, in order, where keys are private; `raw`
    the same numbers before anything was done to them, if they are published as well.
    """

    planned: PlannedStatistic
    estimates: Estimates
    groups: tuple[Group, ...] | None = None
    raw: Estimates | None = None


@dataclass(frozen=True, slots=True)
class QualityResult:
    """The noisy answers of the quality check, and why they fail it: a sentence by column."""

    estimates: Estimates
    missed: Mapping[str | None, str]


@dataclass(frozen=True, slots=True)
class NoisyRelease:
    """All that may be published: a function of the plan, the noisy answers and the ledger.

    If the quality check missed a minimum there are no entries, and the plan has none.
    """

    plan: Plan
    release_id: str
    created: str
    statistics: tuple[PublishedStatistic, ...]
    receipt: Receipt
    quality: QualityResult | None = None


def new_release_id() -> str:
    """A fresh random name for a release; it says nothing of the data."""
    return secrets.token_hex(8)


def run_release(
    plan: Plan,
    data: tuple[Input, ...],
    open_charge: OpenCharge,
    render: Callable[[NoisyRelease], Mapping[str, bytes]],
    progress: Progress | None = None,
    engine: Engine = "local",
) -> StoredRelease:
    """Read the data, add noise to every answer, charge for it, and return the bytes to publish.

    A release of that name and spec that was made before is returned as it is, and
    nothing is read. The budget is checked before a data file is opened, and again
    when it is charged. If the quality check fails, it alone is charged and rendered.
    With the engine `partials`, the data are sealed parts of this spec.
    Raises BudgetError, DataError or LedgerError.
    """
    assert not plan.is_local, "records of a local spec are randomized one by one"
    if open_charge.stored is not None:
        return open_charge.stored
    require_plan_fits(plan)
    open_charge.ledger.check_budget(open_charge.charge)
    exact = aggregate_data(plan, data, progress, engine)
    permit = open_charge.draw_noise(
        None if plan.quality is None else charged_events(plan.quality_check_only)
    )
    checked = check_quality(plan, exact, permit)
    if checked is not None and checked.missed:
        plan = plan.quality_check_only
        open_charge.stop()
    noisy = add_noise(plan, exact, permit)
    entries = tuple(estimate_statistic(one, plan.spec.confidence) for one in noisy)
    name, created = open_charge.charge.release_id, open_charge.charge.created
    return open_charge.commit(
        lambda receipt: render(NoisyRelease(plan, name, created, entries, receipt, checked))
    )


def require_quality(stored: StoredRelease) -> None:
    """Raise QualityError if the quality check stopped a release, with every reason."""
    if stored.stopped:
        *others, last = stored.stopped
        raise QualityError(
            [
                *(make_problem("quality-failed.also", reason=reason) for reason in others),
                make_problem("quality-failed", reason=last, release_id=stored.release_id),
            ]
        )


def check_quality(
    plan: Plan, exact: Sequence[SealedAnswer], permit: NoisePermit
) -> QualityResult | None:
    """The quality check with fresh noise; None if the spec has none."""
    if plan.quality is None:
        return None
    parts = plan.quality.queries
    asked = zip(parts, exact, strict=False)
    answers = tuple(_answer(planned_query, sealed, None, permit) for planned_query, sealed in asked)
    request, statistic = plan.quality.entry.request, plan.quality.entry.statistic
    estimates = statistic.estimate(request, answers, plan.spec.confidence)
    return QualityResult(estimates, missed_minimums(plan, answers))


def aggregate_data(
    plan: Plan, data: tuple[Input, ...], progress: Progress | None = None, engine: Engine = "local"
) -> Sequence[SealedAnswer]:
    """Read the data files once, as one; the exact answer to every question, sealed."""
    asked = plan.engine_queries, plan.spec.privacy.unit
    names = [one for one in data if isinstance(one, str)]
    assert engine == "local" or len(names) == len(data), "this process alone reads its memory"
    if engine == "partials":
        from dpcli.engine.partials import aggregate_partials

        return aggregate_partials(*asked, plan.spec.digest, names)
    if engine == "spark":
        with _spark_packages():
            from dpcli.engine.spark import aggregate_with_spark

        return aggregate_with_spark(*asked, plan.spec.dialect, plan.spec.columns, names)
    with _opened(plan, data, progress) as dataset:
        # A command that is wrong should not load polars.
        from dpcli.engine.aggregate import aggregate

        return aggregate(*asked, dataset, progress)


def require_data(plan: Plan, data: tuple[str, ...], engine: Engine = "local") -> None:
    """Raise DataError where a release would, as far as the headers of the data files tell."""
    if engine == "spark":
        with _spark_packages():
            from dpcli.engine.spark import require_files

        require_files(data, plan.spec.dialect, plan.spec.columns)
        return
    with open_dataset(data, plan.spec.dialect) as dataset:
        require_columns(dataset, plan.spec.columns)


@contextmanager
def _spark_packages() -> Iterator[None]:
    """Raise UsageError where what is imported within needs packages that are not installed."""
    try:
        yield
    except ImportError:
        raise UsageError.about("no-spark") from None


def seal_data(plan: Plan, data: tuple[str, ...], progress: Progress | None = None) -> bytes:
    """Read the data files once, as one; a sealed part of a release, which spends nothing."""
    with _opened(plan, data, progress) as dataset:
        from dpcli.engine.aggregate import Aggregation
        from dpcli.engine.partials import seal_partial

        aggregation = Aggregation(plan.engine_queries, plan.spec.privacy.unit)
        with dataset.redacted_errors():
            frames = aggregation.mergeable_partial(dataset, progress or Progress())
        return seal_partial(plan.spec.digest, frames)


@contextmanager
def _opened(plan: Plan, data: tuple[Input, ...], progress: Progress | None) -> Iterator[Dataset]:
    """The data files, which have all columns of the spec."""
    with open_dataset(data, plan.spec.dialect, progress) as dataset:
        require_columns(dataset, plan.spec.columns)
        yield dataset


def add_noise(
    plan: Plan, exact: Sequence[SealedAnswer], permit: NoisePermit
) -> tuple[NoisyStatistic, ...]:
    """Noise for every part of every entry, as far as the permit covers them.

    Entries that select groups come first: the others are about those groups alone.
    """
    sealed = iter(exact[len(plan.quality.queries) if plan.quality else 0 :])
    asked = [
        (each, [(planned_query, next(sealed)) for planned_query in each.queries])
        for each in plan.statistics
    ]
    counts: dict[str, dict[Group, int]] = {}
    for planned, parts in asked:
        if planned.entry.selects_partitions:
            ((planned_query, groups),) = parts
            noisy = planned_query.calibrated.select_partitions(cast("_Groups", groups), permit)
            counts[planned.name] = _in_order(planned.entry.request.by, noisy.value)
    found = []
    for planned, parts in asked:
        entry = planned.entry
        selected = tuple(counts[entry.selected_by]) if entry.selected_by else None
        answers: tuple[NoisyAnswer, ...]
        if entry.selects_partitions:
            values = integer_array(list(counts[entry.request.name].values()))
            answers = (NoisyAnswer(values, planned.queries[0].noise),)
        else:
            answers = tuple(
                _answer(planned_query, answer, selected, permit) for planned_query, answer in parts
            )
        found.append(NoisyStatistic(planned, answers, selected))
    return tuple(found)


def _in_order(by: Sequence[Key], counts: Mapping[Group, int]) -> dict[Group, int]:
    """Selected groups in the order of the keys: labels as declared, private ones as texts."""
    places = [
        None if key.is_private else {label: place for place, label in enumerate(key.labels)}
        for key in by
    ]

    def order(group: Group) -> tuple[int | str, ...]:
        pairs = zip(places, group, strict=True)
        return tuple(label if known is None else known[label] for known, label in pairs)

    return {group: counts[group] for group in sorted(counts, key=order)}


def estimate_statistic(noisy: NoisyStatistic, confidence: Fraction) -> PublishedStatistic:
    """What is made of the noisy answers to one entry."""
    planned, answers = noisy.planned, noisy.answers
    entry = planned.entry
    found = entry.statistic.estimate(entry.request, answers, confidence)

    def agree(estimates: Estimates) -> Estimates:
        return entry.statistic.make_consistent(entry.request, answers, estimates, confidence)

    raw = found.before_postprocessing if entry.raw else None
    return PublishedStatistic(planned, apply_steps(entry.post, found, agree), noisy.groups, raw)


_Groups = Confidential[Groups]
_Cells = Confidential[Cells]


def _answer(
    planned_query: PlannedQuery,
    exact: SealedAnswer,
    selected: Sequence[Group] | None,
    permit: NoisePermit,
) -> NoisyAnswer:
    """The noisy answer to one part, in selected groups where keys are private."""
    if selected is not None:
        exact = cast("_Groups", exact).in_groups(selected)
    return NoisyAnswer(
        planned_query.calibrated.answer(cast("_Cells", exact), permit).value, planned_query.noise
    )

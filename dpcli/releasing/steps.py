"""The steps of a release: aggregate and check the data, add noise, estimate."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from dpcli.data.column import file_columns
from dpcli.data.kinds import Axis
from dpcli.engine.files.dataset import ZIP_ENDING, Dataset, format_of
from dpcli.engine.files.header_check import refuse_possible_sheets, require_columns
from dpcli.engine.files.source import Input, open_dataset, open_file
from dpcli.engine.progress import Progress
from dpcli.ledger.charge import StoredRelease
from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import CentralPlan, PlannedQuery, PlannedStatistic
from dpcli.planning.results import EstimatedStatistic, NoisyStatistic
from dpcli.privacy.confidential import Cells, Confidential, Group, Groups, NoisePermit
from dpcli.privacy.loss import Loss, loss_text
from dpcli.problems.errors import DataError, QualityError, UsageError, make_problem
from dpcli.specification.model import Spec
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import NONNEGATIVE, SUPPRESSED, Estimates
from dpcli.statistics.postprocessing import LINEAR, Consistent, apply_steps, raw_agrees

if TYPE_CHECKING:
    from dpcli.engine.sums.aggregate import ConfidentialAnswer
    from dpcli.engine.sums.sealed import SealedSums
    from dpcli.planning.quality_check import QualityResult

Engine = Literal["local", "spark", "partials"]
"""What aggregates data: this process, Apache Spark, or runs that sealed partials."""


def require_quality(stored: StoredRelease, ledger: Path) -> None:
    """Raise QualityError, with all reasons, if the check stopped a stored release.

    The error says what was charged. For a check that was stored earlier, it says when it was made,
    and that no file was read.
    """
    if not stored.stopped:
        return
    *reasons, last = stored.stopped
    book = f" --ledger {shlex.quote(str(ledger))}"
    arguments: dict[str, object] = {"release_id": stored.release_id, "charged": _charged(stored)}
    arguments |= {"first_id": stored.release_id.partition("+")[0], "later": stored.later}
    arguments |= {"export": f"{stored.export_command()}{book} --report check.md"}
    arguments |= {"export_later": f"{stored.export_command(stored.later)}{book}"}
    code = "quality-failed"
    if stored.receipt is None:
        arguments["created"], code = stored.created, "quality-failed.stored"
        if stored.later:
            code = "quality-failed.passed" if stored.passed else "quality-failed.later"
    problems = [make_problem("quality-failed.also", reason=reason) for reason in reasons]
    raise QualityError([*problems, make_problem(code, reason=last, **arguments)])


def _charged(stored: StoredRelease) -> str:
    """What a release that its check stopped was charged for, from its stored report."""
    from dpcli.report.formats import FACTS
    from dpcli.report.report import without_numbers

    content = without_numbers(stored.outputs[FACTS])
    report = json.loads(content, parse_float=Fraction, parse_int=Fraction)
    spent = report["privacy"]["spent"]
    loss = Loss(spent["epsilon"], spent["delta"], spent.get("rho"))
    # Earlier versions chose before they checked.
    chosen = ", and for the counts that chose bounds or limits" if report.get("choices") else ""
    return f"{loss_text(loss)} for the check{chosen}"


def check_quality(
    plan: CentralPlan, exact: Sequence[ConfidentialAnswer], permit: NoisePermit
) -> QualityResult | None:
    """The result of the quality check; None if the plan does not answer one."""
    if plan.answered_check is None:
        return None
    from dpcli.planning.quality_check import quality_result

    return quality_result(plan, answer_check(plan, exact, permit))


def answer_check(
    plan: CentralPlan, exact: Sequence[ConfidentialAnswer], permit: NoisePermit
) -> tuple[NoisyAnswer, ...]:
    """The noisy answers to the quality check, which come first; empty without one."""
    queries = plan.answered_check.queries if plan.answered_check else ()
    pairs = zip(queries, exact, strict=False)
    return tuple(_answer(query, confidential, None, permit, ()) for query, confidential in pairs)


def aggregate_data(
    plan: CentralPlan,
    data: tuple[Input, ...],
    progress: Progress | None = None,
    engine: Engine = "local",
    sha256: Sequence[str] = (),
    sealed: SealedSums | None = None,
) -> Sequence[ConfidentialAnswer]:
    """Read all data files once, and return the plan's confidential exact answers.

    With the local engine, files must have the declared `sha256`, if there are any. Answers of
    series use the `sealed` sums of earlier periods. Raises DataError if the data do not fit the
    spec, and UsageError if Spark is not installed or the period is not known.
    """
    queries, only = plan.engine_queries, plan.existing_rows
    names = [name for name in data if isinstance(name, str)]
    assert engine == "local" or len(names) == len(data), "this process alone reads its memory"
    if engine == "partials":
        from dpcli.engine.sums.partials import aggregate_partials

        period = plan.spec.period or ""
        return aggregate_partials(queries, plan.spec.digest, names, period, sealed)
    if engine == "spark":
        with _spark_packages(plan, names):
            from dpcli.spark.aggregate import aggregate_with_spark

        spec = plan.spec
        return aggregate_with_spark(queries, spec.dialect, spec.columns, names, only, sealed)
    with opened_data(plan.spec, data, progress, sha256) as dataset:
        # Polars loads only now, so that a wrong command fails fast.
        from dpcli.engine.sums.aggregate import aggregate

        return aggregate(queries, dataset, progress, only, sealed)


def require_data(
    plan: CentralPlan, data: tuple[str, ...], engine: Engine = "local", sha256: Sequence[str] = ()
) -> None:
    """Raise DataError if the headers of the data files do not fit the spec."""
    if engine == "spark":
        with _spark_packages(plan, data):
            from dpcli.spark.aggregate import require_files

        require_files(data, plan.spec.dialect, plan.spec.columns)
        return
    with opened_data(plan.spec, data, None, sha256):
        pass


@contextmanager
def _spark_packages(plan: CentralPlan, names: Sequence[str]) -> Iterator[None]:
    """Raise UsageError if an import in the block needs a package that is missing."""
    if plan.spec.privacy.relation.size_is_public:
        refuse_possible_sheets(names)
    try:
        yield
    except ImportError:
        raise UsageError.about("no-spark") from None


def pack_data(plan: CentralPlan, data: tuple[str, ...], progress: Progress | None = None) -> bytes:
    """Read all data files once, and return a sealed partial; this spends nothing."""
    only = plan.existing_rows
    with opened_data(plan.spec, data, progress) as dataset:
        from dpcli.engine.sums.aggregate import QueryAggregator
        from dpcli.engine.sums.partials import pack_partial

        aggregator = QueryAggregator(plan.engine_queries, only)
        with dataset.redacted_errors():
            frames = aggregator.mergeable_partial(dataset, progress or Progress())
        return pack_partial(plan.spec.digest, frames, plan.spec.period or "")


@contextmanager
def opened_data(
    spec: Spec,
    data: tuple[Input, ...],
    progress: Progress | None = None,
    sha256: Sequence[str] = (),
) -> Iterator[Dataset]:
    """The data files; raises DataError unless they have all columns of the spec."""
    with open_dataset(data, spec.dialect, progress, sha256) as dataset:
        require_columns(dataset, spec.columns, every_record=spec.privacy.relation.size_is_public)
        yield dataset


def add_noise(
    plan: CentralPlan, exact: Sequence[ConfidentialAnswer], permit: NoisePermit
) -> tuple[NoisyStatistic, ...]:
    """The noisy answers to every query that the permit covers.

    Statistics that select groups are answered first, because others are about those groups.

    Privacy: only the calibrated mechanism of each query opens the exact answer, to add noise.
    """
    pairs_by_statistic = by_statistic(plan, exact)
    counts: dict[str, dict[Group, int]] = {}
    for planned, pairs in pairs_by_statistic:
        if planned.entry.selects_partitions:
            ((planned_query, confidential_groups),) = pairs
            selected = planned_query.calibrated.select_partitions(
                cast("_Groups", confidential_groups), permit
            )
            counts[planned.name] = _in_order(planned_query.weighted.query.by, selected.value)
    noisy_statistics = []
    for planned, pairs in pairs_by_statistic:
        entry = planned.entry
        groups = tuple(counts[entry.selected_by]) if entry.selected_by else None
        answers: tuple[NoisyAnswer, ...]
        if entry.selects_partitions:
            values = integer_array(list(counts[entry.inputs.name].values()))
            answers = (NoisyAnswer(values, planned.queries[0].calibrated.noise, groups),)
        else:
            answers = ()
            for planned_query, answer in pairs:
                noisy = _answer(planned_query, answer, groups, permit, answers)
                answers = (*answers, noisy)
        # Selected labels are items of public groups.
        shown = groups if entry.has_private_groups else None
        noisy_statistics.append(NoisyStatistic(planned, answers, shown))
    return tuple(noisy_statistics)


def by_statistic(
    plan: CentralPlan, exact: Sequence[ConfidentialAnswer]
) -> list[tuple[PlannedStatistic, list[tuple[PlannedQuery, ConfidentialAnswer]]]]:
    """Each statistic with its queries and their answers, without the quality check."""
    answers = iter(exact[len(plan.answered_check.queries) if plan.answered_check else 0 :])
    return [
        (planned, [(query, next(answers)) for query in planned.queries])
        for planned in plan.statistics
    ]


def _in_order(by: Sequence[Axis], counts: Mapping[Group, int]) -> dict[Group, int]:
    """Selected groups with counts, in the order of keys: as declared, else by text."""
    indexes = [
        None if key.is_private else {label: index for index, label in enumerate(key.labels)}
        for key in by
    ]

    def order(group: Group) -> tuple[int | str, ...]:
        pairs = zip(indexes, group, strict=True)
        return tuple(label if index is None else index[label] for index, label in pairs)

    return {group: counts[group] for group in sorted(counts, key=order)}


def estimate_statistic(noisy: NoisyStatistic, confidence: Fraction) -> EstimatedStatistic:
    """The estimates from the noisy answers to one statistic, after post-processing."""
    planned, answers = noisy.planned, noisy.answers
    entry = planned.entry
    design = planned.design
    estimates = entry.statistic.possible_estimate(design, answers, confidence)
    if entry.post and design.counts_rows:
        estimates = replace(estimates, rows=design.noisy_rows(answers))

    def agree(changed: Estimates, step: Consistent) -> Estimates:
        consistent = planned.design.make_consistent(answers, changed, confidence)
        agreed = replace(consistent.within(changed.limits), rows=changed.rows)
        if step.units is None:
            return agreed
        numbers = planned.design.make_additive(answers, step.units, nonnegative=step.nonnegative)
        return agreed.with_values(numbers, Fraction(1, step.units))

    raw = None
    if entry.raw and (counts := design.raw_design) is not design:
        found = counts.estimate(answers[: len(counts.queries)], confidence)
        raw = found.within((NONNEGATIVE,))
    elif entry.raw:
        linear = agree(estimates, LINEAR) if raw_agrees(entry.post) else estimates
        raw = linear.before_postprocessing
    processed, population = apply_steps(entry.post, estimates, agree), None
    if planned.design.has_population:
        population = planned.design.population(answers, confidence).around_values()
        population = population.suppressed(processed.status == SUPPRESSED)
    return EstimatedStatistic(planned, answers, processed, noisy.groups, raw, population)


_Groups = Confidential[Groups]


def _answer(
    planned_query: PlannedQuery,
    exact: ConfidentialAnswer,
    groups: tuple[Group, ...] | None,
    permit: NoisePermit,
    earlier: Sequence[NoisyAnswer],
) -> NoisyAnswer:
    """The noisy answer to one query, in the selected groups if keys are private."""
    if groups is not None:
        exact = cast("_Groups", exact).in_groups(groups)
    calibrated, before = planned_query.calibrated, [answer.values for answer in earlier]
    values = calibrated.answer(cast("Confidential[Cells]", exact), permit, before).value
    return NoisyAnswer(values, calibrated.noise, groups)


def reading_warnings(plan: CentralPlan, data: Iterable[Input]) -> list[str]:
    """A warning for JSON Lines if no check notices a key that all records lack."""
    is_json = any(isinstance(name, str) and _is_json(name) for name in data)
    if plan.spec.declines_check or not is_json or not _may_lack(plan):
        return []
    warning = (
        "a data file is JSON Lines: a key that a record lacks is a missing cell, and if no "
        "record has it, the column has no values. Nothing shows that but `min_readable` for "
        "the column, under `quality:` in the spec"
    )
    return [warning]


def _may_lack(plan: CentralPlan) -> bool:
    """Whether all records could lack a key of the plan without a count that shows it.

    The number of rows does not show a missing key. Ids are counted with the rows. If a blank cell
    is an answer, or blank cells are counted, the published numbers show it.
    """
    quality, entries = plan.spec.quality, plan.spec.entries
    if quality is None or not quality.min_readable:
        return True
    shown = {column.name for entry in entries for column in entry.inputs.checked}
    used = (column for asked in plan.engine_queries for column in asked.query.columns)
    return any(
        column.name not in {*shown, *quality.min_readable}
        for column in file_columns(used)
        if not column.is_id
    )


def _is_json(name: str) -> bool:
    """Whether a file, or the only member of an archive, is JSON Lines by its name."""
    if not name.lower().endswith(ZIP_ENDING):
        return format_of(name) == "json"
    # A pipe can be read only once.
    if not Path(name).is_file():
        return False
    from dpcli.engine.files.decompression import zip_member

    try:
        with open_file(name) as file:
            return format_of(zip_member(file, name)[0]) == "json"
    except DataError:
        # To read it reports the problem.
        return False

"""A plan as text: the total against the budget, a line for each entry, and notes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from itertools import cycle
from typing import TYPE_CHECKING

from dpcli.cli.terminal import (
    BUDGET_BAR_LEGEND,
    Row,
    budget_bar,
    can_draw_bars,
    write_gap,
    write_table,
)
from dpcli.ledger.forecast import MAX_RUNS, BalanceForecast
from dpcli.numeric.exact import exact_or_up, rounded_text, short_or_up
from dpcli.planning.expected_errors import (
    ExpectedError,
    advice,
    depends_on_rows,
    error_text,
    expected_error,
    known_rows,
    typical_notes,
)
from dpcli.planning.plan import CentralPlan, LocalPlan, Plan, PlannedQuery, PlannedStatistic
from dpcli.planning.words.choices import choice_rules, chosen_bounds_errors
from dpcli.planning.words.data import bounding_notes, period_notes, plan_warnings
from dpcli.planning.words.guarantee import (
    composition_notes,
    composition_rule,
    headline,
    presence_headline,
    reader_warnings,
    shuffle_condition,
)
from dpcli.planning.words.statistics import (
    derived_notes,
    design_notes,
    filter_notes,
    number_units,
    population_notes,
    post_processing_notes,
    query_title,
    selection_notes,
    unreachable_thresholds,
)
from dpcli.privacy.loss import Loss, loss_text, remaining_text
from dpcli.report.captions import heading_text
from dpcli.report.statistic import BinsReport, StatisticReport
from dpcli.specification.model import EXACT, Response

if TYPE_CHECKING:
    from dpcli.privacy.shuffling import ShuffledGuarantee

WITHOUT_NAME = ("", "share")
"""Units that a number does not need."""

SPARE = ("L2", "L1", "adds", "delta", "scale")
"""Columns that a narrow terminal leaves out first."""


def print_plan(
    plan: CentralPlan, forecast: BalanceForecast, rows: int | None = None, *, details: bool = False
) -> None:
    """Print the cost, a line for each entry and notes; with `details`, all queries.

    Errors are shown for this number of `rows`, if it is known.
    """
    spec, neighbors = plan.spec, plan.spec.privacy.neighbors
    learned = f"can be learned about any one {spec.unit_noun} ({neighbors.value})"
    print(f"{spec.dataset}: noise limits what {learned}")
    print_losses(plan, forecast)
    print("", *filter(None, (spec.caption.title, spec.caption.note)), sep="\n")
    print(f"Published, each with the error of its noise in {_percent(plan)} of cases:")
    for choice in choice_rules(plan):
        print(choice)
    if plan.quality is not None:
        print(f"{plan.quality.name}: a check of the file comes first; {_cost(plan.quality, plan)}")
    for planned in plan.statistics:
        print(f"{planned.name}: {'; '.join(entry_parts(planned, plan, rows))}")
    print("", *_meanings(plan), *_notes(plan, forecast, rows), sep="\n")
    if details:
        _print_details(plan)
    else:
        print("`dpcli plan --details` shows sensitivities and the noise of each number")


def entry_parts(planned: PlannedStatistic, plan: CentralPlan, rows: int | None) -> Iterator[str]:
    """What an entry asks for, its error and its cost, in words of the report."""
    entry = planned.entry
    stated = StatisticReport.of(planned, plan.spec)
    yield stated.request
    if stated.limits:
        named = (
            (field.name, getattr(stated.limits, field.name)) for field in fields(stated.limits)
        )
        yield f"{', '.join(f'{name} {limit:,}' for name, limit in named if limit)} of its own"
    yield from map(_bins, stated.bins)
    if stated.keys and stated.keys.threshold is not None:
        shown = "groups" if entry.has_private_groups else "labels"
        yield f"{shown} with a noisy count from {stated.keys.threshold:,} on"
    elif stated.keys:
        yield f"groups that {stated.keys.selected_by} selects"
    numbers = f"{planned.cells:,} numbers, each " if planned.cells else "each "
    error = _error(planned, plan, stated, rows)
    yield error if planned.cells == 1 else f"{numbers}{error}"
    yield _cost(planned, plan)
    yield from stated.post
    if stated.raw:
        yield "the noisy numbers are published too"
    if stated.title:
        yield f"titled {heading_text(stated.title, stated)}"
    elif stated.unit:
        yield f"in {stated.unit}"
    if stated.note:
        yield stated.note


def _bins(stated: BinsReport) -> str:
    """How numbers are cut into bins."""
    bins = f"{stated.count:,} bin{'s' * (stated.count > 1)} of {stated.column}"
    if stated.labels:
        return f"{bins}: {', '.join(stated.labels)}"
    return f"{bins} from {stated.first} to {stated.last}" if stated.count > 1 else bins


def _error(
    planned: PlannedStatistic, plan: CentralPlan, stated: StatisticReport, rows: int | None
) -> str:
    """How far numbers may be off, for this number of rows if it depends on it."""
    if all(part.is_exact for part in planned.queries):
        return "exact"
    inputs, statistic = planned.entry.inputs, planned.entry.statistic
    expected = expected_error(planned, plan, rows)
    if expected is None:
        if not depends_on_rows(planned, plan.spec.confidence):
            return "with an error that depends on the data"
        number = "people" if planned.is_of_people else "rows"
        return f"with an error that depends on the number of {number} (`--rows N`)"
    widths = expected.widths
    width = None if None in widths else max(filter(None, widths), default=Fraction(0))
    if statistic.chooses_labels or inputs.utility:
        off = f"short of the best by at most {error_text(width or Fraction(0))}"
    elif planned.design.chooses:
        off = f"at most {error_text(width or Fraction(0))} ranks off"
    elif len(widths) > 1 and statistic.mixed_units:
        items = zip(statistic.names(inputs), widths, cycle(stated.units or [""]))
        off = ", ".join(f"{name} {_off(width, unit)}" for name, width, unit in items)
        off = f"with an error of its own: {off}"
    else:
        off = _off(width, "days" if statistic.publishes_dates(inputs) else stated.one_unit)
    at = _at(expected, planned, plan, rows) if expected.values else ""
    is_widest = plan.chooses_bounds and any(map(planned.depends_on, plan.spec.choices))
    return f"{off}{at}{', if the outermost bounds are chosen' * is_widest}"


def _off(width: Fraction | None, unit: str | None) -> str:
    """How far a number may be off, in its unit."""
    if width is None:
        return "mostly noise"
    named = f" {unit.replace('%', 'points')}" if unit and unit not in WITHOUT_NAME else ""
    return f"about +-{error_text(width)}{named}"


def _at(
    expected: ExpectedError, planned: PlannedStatistic, plan: CentralPlan, rows: int | None
) -> str:
    """The rows and the typical values of an error."""
    inputs, groups = planned.entry.inputs, planned.entry.inputs.groups
    lines = "people" if planned.is_of_people else plan.spec.rows_are
    known = (known_rows(planned, plan, rows) or 0) // groups
    such = f"{'such ' * bool(inputs.where)}{lines}"
    divided = f" in each of {groups:,} equal groups" if groups > 1 else ""
    if inputs.sizes:
        return ", for typical values"
    values = "for typical values"
    if len(expected.values) == 1 and not planned.entry.statistic.publishes_dates(inputs):
        values = f"where it is {rounded_text(expected.values[0], 3)}"
    return f" at {known:,} {such}{divided}, {values}"


def _cost(planned: PlannedStatistic, plan: CentralPlan) -> str:
    """The mechanism of an entry, and what its answers cost."""
    entry, target, amount = planned.entry, planned.target, planned.entry.budget_amount
    calibration = "" if entry.calibration == EXACT else f" ({entry.calibration})"
    stated = {
        f"{planned.mechanism.name}{calibration}, epsilon": target.epsilon,
        "delta": target.delta or None,
        "rho": planned.rho if plan.spec.privacy.composition.takes_rho else None,
        "share": amount.weight,
        "for an error of at most": amount.error,
    }
    given = {name: value for name, value in stated.items() if value is not None}
    return ", ".join(f"{name} {short_or_up(value)}" for name, value in given.items())


def _print_details(plan: CentralPlan) -> None:
    """Print how each query is answered, in a table, and why."""
    print("", *design_notes(plan), sep="\n")
    table = [
        _query_row(entry, part, plan) for entry in plan.all_statistics for part in entry.queries
    ]
    write_table(sys.stdout, "", table, SPARE)
    joint = any(entry.is_joint for entry in plan.all_statistics)
    together = "; epsilons of several gaussian queries of a statistic count only together" * joint
    print(f"see `dpcli explain sensitivity` and `dpcli explain scale`{together}")
    for notes_of in (composition_notes, selection_notes, post_processing_notes):
        for note in notes_of(plan):
            print(note)


def print_local_plan(
    plan: LocalPlan,
    forecast: BalanceForecast,
    records: int | None,
    shuffled: ShuffledGuarantee | None,
) -> None:
    """Print all responses in a table; notes, total and balance follow.

    Errors are shown for this number of `records`, if it is known, and `shuffled` is the guarantee
    that random order adds.
    """
    spec, rule = plan.spec, plan.spec.privacy.composition.name
    print(f"{spec.dataset}: each record responds by itself, {rule}")
    print_losses(plan, forecast)
    write_gap(sys.stdout)
    table = [_response_row(response, records or 1, plan) for response in spec.responses]
    write_table(sys.stdout, "", table, SPARE)
    print(*_meanings(plan), *_response_notes(plan, records), sep="\n")
    if shuffled is not None:
        print("", *_shuffled_notes(plan, shuffled), sep="\n")


def _meanings(plan: Plan) -> Iterator[str]:
    """What the cost means, in words."""
    yield from filter(None, (headline(plan), presence_headline(plan)))


def _notes(plan: CentralPlan, forecast: BalanceForecast, rows: int | None) -> Iterator[str]:
    """What readers must know of the numbers, and warnings."""
    for notes_of in (
        period_notes,
        chosen_bounds_errors,
        filter_notes,
        derived_notes,
        bounding_notes,
        population_notes,
    ):
        yield from notes_of(plan)
    yield from _seen_differences(plan, rows)
    yield from typical_notes(plan, rows)
    yield from (f"advice: {text}" for text in advice(plan, rows))
    yield from reader_warnings(plan)
    warnings = (*plan_warnings(plan), *unreachable_thresholds(plan, rows))
    yield from (f"warning: {text}" for text in warnings)
    if plan.quality is not None:
        from dpcli.planning.words.quality import check_rule

        yield from check_rule(plan)
    if plan.quality is not None and forecast.after is not None:
        check = plan.quality_check_only.cost
        if not check.within(forecast.after.remaining):
            yield (
                f"warning: a failed quality check costs {loss_text(check)}, and then the "
                "account has too little left for this release"
            )


def _seen_differences(plan: CentralPlan, rows: int | None) -> Iterator[str]:
    """Which differences of compared groups would be seen: those beyond their error."""
    for planned in plan.statistics:
        between = dict(planned.entry.inputs.options).get("between")
        expected = expected_error(planned, plan, rows) if between else None
        if between is None or expected is None:
            continue
        count = len(between)
        widths = expected.widths[count : 2 * count - 1]
        if None in widths:
            yield f"{planned.name}: no difference would be seen"
            continue
        width = max(filter(None, widths), default=Fraction(0))
        off = _off(width, number_units(planned, plan.spec)[count]).replace("+-", "")
        yield (
            f"{planned.name}: a difference of {off} would be seen in half of all releases (its "
            "interval excludes zero), and one of twice that in nearly all"
        )


def _query_row(entry: PlannedStatistic, part: PlannedQuery, plan: CentralPlan) -> Row:
    """The row of a query; an objective has no error that is one of a number."""
    spec, query = plan.spec, part.weighted.query
    low, high = (exact_or_up(end) for end in part.row_contribution)
    rho = rounded_text(part.calibrated.guarantee.rho, 6)
    return {
        "statistic": entry.name if part is entry.queries[0] else "",
        "query": query_title(part, entry, spec),
        "cells": "private" if query.cells is None else str(query.cells),
        "adds": low if low == high else f"{low} to {high}",
        "L1": exact_or_up(part.l1),
        "L2": rounded_text(part.l2, 6),
        "mechanism": "exact" if part.is_exact else part.calibrated.mechanism.name,
        "scale": rounded_text(part.scale, 6),
        f"error {_percent(plan)}": (
            "" if query.minimizes else rounded_text(part.error(spec.confidence), 6)
        ),
        "epsilon": short_or_up(part.calibrated.loss.epsilon),
        **({"rho": rho} if spec.privacy.composition.takes_rho else {}),
        "delta": short_or_up(part.calibrated.loss.delta),
    }


def _percent(plan: Plan) -> str:
    return f"{exact_or_up(plan.spec.confidence * 100)}%"


def _response_notes(plan: LocalPlan, records: int | None) -> Iterator[str]:
    spec, rule = plan.spec, plan.spec.privacy.composition.name
    for response in spec.responses:
        yield f"{response.column.name}: {response.randomizer.describe()}"
    if records is None:
        yield "the error falls with the root of the number of records; see --records N"
    if spec.public:
        names = ", ".join(column.name for column in spec.public)
        yield f"public, as they are: {names}"
    yield (
        "a cell that cannot be read as declared responds as `missing:` says; on a terminal, "
        "`dpcli check SPEC DATA` shows how readable each column is"
    )
    yield from reader_warnings(plan)
    if rule != "sequential":
        yield composition_rule(plan)


def _response_row(response: Response, records: int, plan: LocalPlan) -> Row:
    randomizer = response.randomizer
    error = randomizer.standard_error(len(response.column.labels), records)
    in_rho = plan.spec.privacy.composition.takes_rho
    return {
        "column": response.column.name,
        "mechanism": response.mechanism.name,
        "by": ", ".join(column.name for column in response.by),
        "epsilon": short_or_up(randomizer.loss.epsilon),
        **({"rho": rounded_text(randomizer.guarantee.rho, 6)} if in_rho else {}),
        "delta": short_or_up(randomizer.loss.delta),
        f"standard error of {records:,} record{'s' * (records != 1)}": (
            "none" if error is None else rounded_text(Fraction(error), 6)
        ),
    }


def _shuffled_notes(plan: LocalPlan, shuffled: ShuffledGuarantee) -> Iterator[str]:
    records, local = shuffled.records, exact_or_up(plan.requested_loss.epsilon)
    delta = exact_or_up(shuffled.delta)
    if shuffled.epsilon is None:
        more = (
            "a smaller epsilon"
            if shuffled.needed_records is None
            else f"{shuffled.needed_records:,}, or less epsilon"
        )
        yield (
            f"shuffled: nothing is proven for {records:,} records of epsilon {local} at delta "
            f"{delta}; it takes {more}"
        )
        return
    epsilon = exact_or_up(shuffled.epsilon)
    yield (
        f"shuffled: {records:,} responses of epsilon {local} in random order are, as a whole, "
        f"private with epsilon {epsilon}, delta {delta}"
    )
    yield "(Feldman, McMillan and Talwar 2021, theorem 3.1; neighbors differ in one record)"
    yield f"that counts {shuffle_condition(plan)}; the ledger charges epsilon {local}"


def print_losses(plan: Plan, forecast: BalanceForecast) -> None:
    """Print each measure of loss against the budget, and what the account has left."""
    budget = plan.spec.privacy.budget
    left = (
        forecast.before.remaining
        if forecast.before and forecast.before.budget == budget
        else budget
    )
    measures = summed = ["epsilon", "delta"]
    if plan.cost.rho is not None and budget.rho is not None:
        measures, summed = ["rho", *measures], ["rho"]
    elif plan.spec.privacy.composition.name != "sequential":
        # The composition does not add epsilons, and spends the delta of the budget once.
        summed = ["epsilon"] if left == budget else []
    for measure in measures:
        if not getattr(plan.cost, measure) and not getattr(budget, measure):
            continue
        remaining: Fraction | None = getattr(left, measure) if measure in summed else None
        print(f"{measure:8}{_loss_against_budget(plan, forecast, measure, remaining)}")
    if can_draw_bars(sys.stdout) and any(getattr(budget, measure) for measure in summed):
        print(f"        {BUDGET_BAR_LEGEND}")
    if forecast.before is not None:
        print(f"account {_account_text(plan, forecast, forecast.before.remaining)}")
    for further in forecast.further_budgets:
        losses = map(remaining_text, (further.before.remaining, further.after.remaining))
        around = f" left before this {plan.kind}, ".join(losses)
        print(f"and     {further.name}: {around} left after it")
    if forecast.runs is not None:
        runs = forecast.runs
        least = "at least " if runs.most >= MAX_RUNS or not runs.exact else ""
        needed = f"{runs.asked:,} runs need {loss_text(runs.needed)}"
        print(f"times   {needed}; {least}{runs.most:,} fit")


def _loss_against_budget(
    plan: Plan, forecast: BalanceForecast, measure: str, left: Fraction | None
) -> str:
    """One measure of the loss against the budget; with a bar if `left` is known."""
    requested: Fraction = getattr(plan.cost, measure)
    allowed: Fraction = getattr(plan.spec.privacy.budget, measure)
    text = f"{exact_or_up(requested)} of {exact_or_up(allowed)} {plan.allowed}"
    if left is not None:
        text += f", {exact_or_up(left)} left" if left < allowed else ""
        drawn = budget_bar(allowed - left, requested, allowed) if can_draw_bars(sys.stdout) else ""
        text = f"{drawn}  {text}" if drawn else text
    if requested > allowed or (forecast.exhausted and requested and plan.fits):
        return f"{text}: does not fit"
    return (
        f"{text}: {'refused, see below' if forecast.refused is not None and requested else 'fits'}"
    )


def _account_text(plan: Plan, forecast: BalanceForecast, before: Loss) -> str:
    path = str(forecast.ledger)
    if forecast.obstacle:
        return f"none yet: a {plan.kind} could not create `{path}`"
    if not forecast.exists:
        return f"none yet: the first {plan.kind} opens it in `{path}`, which it creates"
    if forecast.terms is None:
        return f"none yet in `{path}`: the first {plan.kind} opens it"
    window = f" of any {forecast.window:,} consecutive days" if forecast.window else ""
    after = f", {remaining_text(forecast.after.remaining)} left after it" if forecast.after else ""
    return f"{remaining_text(before)} left{window} before this {plan.kind}{after}"

"""A plan as text: designs, a table, notes, and the total against the budget."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.cli.terminal import (
    BUDGET_BAR_LEGEND,
    Row,
    budget_bar,
    can_draw_bars,
    share_bar,
    write_gap,
    write_table,
)
from dpcli.ledger.forecast import MAX_RUNS, BalanceForecast
from dpcli.numeric.exact import exact_or_rounded, exact_or_up, rounded_text
from dpcli.planning.plan import CentralPlan, LocalPlan, Plan, PlannedQuery, PlannedStatistic
from dpcli.planning.words.choices import choice_rules, chosen_bounds_errors
from dpcli.planning.words.data import bounding_notes, plan_warnings
from dpcli.planning.words.guarantee import (
    composition_notes,
    composition_rule,
    headline,
    presence_headline,
    reader_warnings,
    shuffle_condition,
)
from dpcli.planning.words.statistics import (
    binning_notes,
    bounding_comparisons,
    derived_notes,
    design_notes,
    filter_notes,
    population_notes,
    post_processing_notes,
    query_title,
    selection_notes,
)
from dpcli.privacy.loss import Loss, loss_text, remaining_text
from dpcli.report.captions import caption_lines
from dpcli.specification.model import Response
from dpcli.statistics.counts.person_counts import PersonCounts

if TYPE_CHECKING:
    from dpcli.privacy.shuffling import ShuffledGuarantee

SPARE = ("cost", "L2", "L1", "adds", "delta", "scale")
"""Columns that a narrow terminal leaves out first."""

LEGEND = {
    "adds": "what one row adds to a cell",
    "L1": "the most that all cells of a query change together",
    "L2": "the same by squares",
    "scale": "the size of the noise",
    "error": "the noise is smaller in that share of cells",
    "epsilon": "what the query reveals",
    "joint": (
        "of several Gaussian queries of a statistic, epsilon is a part of what they reveal together"
    ),
    "cost": "epsilon of the statistic, next to the largest",
}


def print_plan(plan: CentralPlan, forecast: BalanceForecast, rows: int | None = None) -> None:
    """Print how queries were designed, all in a table, then notes, total and balance.

    Errors are shown for this number of `rows`, if it is known.
    """
    spec, privacy = plan.spec, plan.spec.privacy
    print(f"{spec.dataset}: neighbors {privacy.neighbors.value}, {privacy.composition.name}")
    if designs := design_notes(plan):
        print(*designs, "", sep="\n")
    table = [
        _query_row(entry, part, plan) for entry in plan.all_statistics for part in entry.queries
    ]
    headings = write_table(sys.stdout, "", table, SPARE)
    shown = {name.split(" ")[0] for name in headings if name}
    shown |= {"joint"} if any(entry.is_joint for entry in plan.all_statistics) else set()
    print("; ".join(f"{word}: {LEGEND[word]}" for word in LEGEND if word in shown))
    captions = ((entry.inputs.name, entry.caption) for entry in plan.spec.entries)
    for line in caption_lines(plan.spec.caption, captions):
        print(line)
    print("", *_query_notes(plan, forecast, rows), "", sep="\n")
    print_losses(plan, forecast)


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
    table = [_response_row(response, records or 1, plan) for response in spec.responses]
    write_table(sys.stdout, "", table, SPARE)
    write_gap(sys.stdout)
    print(*_response_notes(plan, records), "", sep="\n")
    print_losses(plan, forecast)
    if shuffled is not None:
        print("", *_shuffled_notes(plan, shuffled), sep="\n")


def _query_notes(plan: CentralPlan, forecast: BalanceForecast, rows: int | None) -> Iterator[str]:
    for notes_of in (
        choice_rules,
        chosen_bounds_errors,
        filter_notes,
        derived_notes,
        binning_notes,
        bounding_notes,
        composition_notes,
        selection_notes,
        population_notes,
        bounding_comparisons,
        post_processing_notes,
    ):
        yield from notes_of(plan)
    yield from _expected_errors(plan, rows)
    yield from reader_warnings(plan)
    yield from (f"warning: {text}" for text in plan_warnings(plan))
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


def _query_row(entry: PlannedStatistic, part: PlannedQuery, plan: CentralPlan) -> Row:
    """The row of a query; on a terminal, the first has a bar of the statistic's cost."""
    first, drawn, spec = part is entry.queries[0], can_draw_bars(sys.stdout), plan.spec
    max_epsilon = max(planned.target.epsilon for planned in plan.all_statistics)
    low, high = (exact_or_up(end) for end in part.row_contribution)
    cells = part.weighted.query.cells
    cost = share_bar(entry.target.epsilon, max_epsilon, 12) if first and drawn else ""
    rho = rounded_text(part.calibrated.guarantee.rho, 6)
    return {
        "statistic": entry.name if first else "",
        "query": query_title(part, entry, spec),
        "cells": "private" if cells is None else str(cells),
        "adds": low if low == high else f"{low} to {high}",
        "L1": exact_or_up(part.l1),
        "L2": rounded_text(part.l2, 6),
        "mechanism": "exact" if part.is_exact else part.calibrated.mechanism.name,
        "scale": rounded_text(part.scale, 6),
        f"error {_percent(plan)}": _error_text(part, spec.confidence),
        "epsilon": exact_or_rounded(part.calibrated.loss.epsilon),
        **({"cost": cost} if drawn else {}),
        **({"rho": rho} if spec.privacy.composition.takes_rho else {}),
        "delta": exact_or_rounded(part.calibrated.loss.delta),
    }


def _error_text(part: PlannedQuery, confidence: Fraction) -> str:
    """The expected error of a query; empty for a perturbed objective.

    The error of the slope of an objective is not the error of a coefficient.
    """
    minimizes = part.weighted.query.minimizes
    return "" if minimizes else rounded_text(part.error(confidence), 6)


def _percent(plan: Plan) -> str:
    return f"{exact_or_up(plan.spec.confidence * 100)}%"


def _expected_errors(plan: CentralPlan, rows: int | None) -> Iterator[str]:
    """The error of each mean and of counts, if the number of rows or people is known."""
    spec = plan.spec
    known, people = rows or (spec.quality and spec.quality.min_rows), spec.declarations.population
    for planned in plan.statistics:
        statistic, inputs, cells = planned.entry.statistic, planned.entry.inputs, planned.cells
        if not cells or inputs.weight:
            continue
        if statistic.name == "mean" and known and not inputs.where:
            of_one = Fraction(known, cells)
            error = planned.design.error(planned.noises, spec.confidence, of_one)
            size = f"{known // cells:,} {spec.rows_are}{' in a group' * (cells > 1)}"
            if error is not None:
                widest = ", if the outermost bounds are chosen" if plan.chooses_bounds else ""
                yield (
                    f"{planned.name}: off by at most {rounded_text(error)} over {size}, in "
                    f"{_percent(plan)} of cases{widest}"
                )
        elif (
            isinstance(statistic, PersonCounts)
            and people
            and (error := planned.error(spec.confidence))
        ):
            usual = rounded_text(Fraction(people, cells), 3)
            yield (
                f"{planned.name}: off by at most {rounded_text(error)} of {usual} in a usual group"
            )


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
        "epsilon": exact_or_rounded(randomizer.loss.epsilon),
        **({"rho": rounded_text(randomizer.guarantee.rho, 6)} if in_rho else {}),
        "delta": exact_or_rounded(randomizer.loss.delta),
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
        remaining: Fraction | None = getattr(left, measure) if measure in summed else None
        print(f"{measure:8}{_loss_against_budget(plan, forecast, measure, remaining)}")
    if can_draw_bars(sys.stdout) and any(getattr(budget, measure) for measure in summed):
        print(f"        {BUDGET_BAR_LEGEND}")
    for sentence in filter(None, (headline(plan), presence_headline(plan))):
        print(f"means   {sentence}")
    if forecast.before is not None:
        print(f"account {_account_text(plan, forecast, forecast.before.remaining)}")
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

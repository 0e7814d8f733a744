"""The plan of a spec as text: a table, notes, and the total against the budget."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction

from dpcli.cli.tables import budget, draws, part, write_table
from dpcli.ledger.account import MOST_RUNS, Outlook
from dpcli.messages import note
from dpcli.plan.model import Part, Plan, PlannedEntry, standard_error
from dpcli.plan.notes import (
    binning,
    bounding,
    bounds_compared,
    composing,
    post_processing,
    question_of,
    selections,
    shuffle_condition,
    warnings,
)
from dpcli.plan.numbers import brief, exact_or_up, root_up, short
from dpcli.plan.quality import rule
from dpcli.privacy.amplification import Shuffled
from dpcli.privacy.loss import loss_text
from dpcli.spec.model import Response
from dpcli.spec.names import mixed_scripts

CLOSE = 10
"""An error is small next to a count of this many times as much."""

MOST_BARS = 60
"""Statistics whose costs are drawn."""


def print_plan(made: Plan, found: Outlook) -> None:
    """The plan of a central spec as a table, and the total and the balance below it."""
    percent = exact_or_up(made.spec.confidence * 100)
    privacy = made.spec.privacy
    title = f"{made.spec.dataset}: {privacy.neighbors.value} neighbours, {privacy.composition.name}"
    header = (
        "statistic", "question", "cells", "adds", "L1", "L2", "mechanism", "scale",
        f"error {percent}%", "epsilon", *(["rho"] * privacy.composition.takes_rho), "delta",
    )  # fmt: skip
    rows = [
        _row(entry, part, made, first=place == 0)
        for entry in made.priced
        for place, part in enumerate(entry.parts)
    ]
    write_table(sys.stdout, title, header, rows, (2, 4, 5, 7, 8, 9, 10, 11))
    print()
    notes = [
        *binning(made),
        *bounding(made),
        *composing(made),
        *selections(made),
        *bounds_compared(made),
        *post_processing(made),
        *warnings(made),
        *(list(rule(made)) or [f"warning: {note('quality.absent')}"]),
    ]
    print("".join(f"{note}\n" for note in [*notes, *([""] if notes else [])]), end="")
    _print_costs(made)
    _print_measures(made, found, "allowed", "release")


def _row(entry: PlannedEntry, part: Part, made: Plan, *, first: bool) -> tuple[str, ...]:
    """One query of a statistic."""
    unit, moved = part.question.unit, part.sensitivity
    influence = part.question.query.influence
    low, high = (exact_or_up(step * unit) for step in (influence.low, influence.high))
    return (
        entry.name if first else "",
        question_of(part, entry, made.spec),
        "private" if part.question.query.cells is None else str(part.question.query.cells),
        low if low == high else f"{low} to {high}",
        exact_or_up(moved.l1 * unit),
        short(root_up(moved.l2_squared * unit**2), 6),
        "exact" if part.public else part.mechanism.name,
        short(part.noise.scale * unit, 6),
        short(part.error(made.spec.confidence), 6),
        brief(part.loss.epsilon),
        *([short(part.guarantee.rho, 6)] if made.spec.privacy.composition.takes_rho else []),
        brief(part.loss.delta),
    )


def print_local_plan(
    plan: Plan, found: Outlook, records: int | None, shuffled: Shuffled | None
) -> None:
    """The plan of a local spec, what it costs each record, and what shuffling adds."""
    spec, composition = plan.spec, plan.spec.privacy.composition
    title = f"{spec.dataset}: each record responds by itself, {composition.name}"
    many = 1 if records is None else records
    header = (
        "column", "mechanism", "by", "epsilon", *(["rho"] * composition.takes_rho), "delta",
        f"standard error of {many:,} record{'s' * (many != 1)}",
    )  # fmt: skip
    rows = [_response(one, many, in_rho=composition.takes_rho) for one in spec.responses]
    write_table(sys.stdout, title, header, rows, tuple(range(3, len(header))))
    print()
    print("".join(f"{one.column.name}: {one.channel.describe()}\n" for one in spec.responses))
    if records is None:
        print("the error falls with the root of the number of records; see --records N")
    if spec.public:
        names = ", ".join(column.name for column in spec.public)
        print(f"public, as they are: {names}")
    print(
        "a cell that cannot be read as declared responds as `missing:` says; on a terminal,\n"
        "`dpcli check SPEC DATA --cells` shows how readable each column is"
    )
    mixed = mixed_scripts(spec.dataset)
    if mixed:
        print(mixed)
    if composition.name != "sequential":
        print(f"losses are added up by {composition.name}: {plan.bound.name}")
    _print_measures(plan, found, "per record", "collection")
    if shuffled is not None:
        _print_shuffled(plan, shuffled)


def _response(response: Response, records: int, *, in_rho: bool) -> tuple[str, ...]:
    """One response."""
    channel = response.channel
    error = standard_error(response, records)
    return (
        response.column.name,
        response.randomizer.name,
        ", ".join(column.name for column in response.by),
        brief(channel.loss.epsilon),
        *([short(channel.guarantee.rho, 6)] if in_rho else []),
        brief(channel.loss.delta),
        "none" if error is None else short(Fraction(error), 6),
    )


def _print_shuffled(plan: Plan, found: Shuffled) -> None:
    """The central guarantee of shuffled responses, and what it assumes."""
    local = exact_or_up(plan.asked.epsilon)
    print()
    if found.epsilon is None:
        more = "a smaller epsilon" if found.enough is None else f"{found.enough:,}, or less epsilon"
        print(
            f"shuffled: nothing is proven for {found.records:,} records of epsilon {local} at "
            f"delta {exact_or_up(found.delta)}; it takes {more}"
        )
        return
    print(
        f"shuffled: {found.records:,} responses of epsilon {local} in random order are, as a "
        f"whole, private with epsilon {exact_or_up(found.epsilon)}, "
        f"delta {exact_or_up(found.delta)}"
    )
    print("(Feldman, McMillan and Talwar 2021, theorem 3.1; neighbours differ in one record)")
    print(f"that counts {shuffle_condition(plan)}; the ledger charges epsilon {local}")


def _print_measures(plan: Plan, found: Outlook, of: str, what: str) -> None:
    """Each measure of the loss, what the budget allows, and what the account has left.

    `of` says what the budget is for, and `what` is before the account is charged.
    """
    drawn = draws(sys.stdout)
    for word, asked, allowed, before in _measures(plan, found):
        bar = f"{budget(before, asked, allowed)}  " if drawn and before is not None else ""
        refused = found.refused is not None and asked > 0
        verdict = "refused, see below" if refused else "fits"
        verdict = "does not fit" if asked > allowed or (found.exhausted and asked) else verdict
        print(f"{word:8}{bar}{exact_or_up(asked)} of {exact_or_up(allowed)} {of}: {verdict}")
    if found.before is not None:
        print(f"account {_account(found, what)}")
    if found.repeated is not None:
        runs = found.repeated
        least = "at least " if runs.most >= MOST_RUNS or not runs.exact else ""
        needed = loss_text(runs.needed)
        print(f"times   {runs.asked:,} runs need {needed}; {least}{runs.most:,} fit")


def _account(found: Outlook, what: str) -> str:
    """What the account has left, or that there is none."""
    assert found.before is not None
    if not found.exists:
        return f"none yet: the first {what} opens it in `{found.ledger}`, which it creates"
    if found.terms is None:
        return f"none yet in `{found.ledger}`: the first {what} opens it"
    where = f" of any {found.window} consecutive days" if found.window else ""
    after = "" if found.after is None else f", {loss_text(found.after.remaining)} after it"
    return f"{loss_text(found.before.remaining)} left{where} before this {what}{after}"


def _measures(
    plan: Plan, found: Outlook
) -> Iterator[tuple[str, Fraction, Fraction, Fraction | None]]:
    """Name, loss, budget, and what was spent before, of each measure that counts.

    None where a bar would mislead: compositions other than sums do not add up epsilons, and
    spend the delta of the budget once.
    """
    spent, whole = plan.spent, plan.spec.privacy.budget
    left = found.before.remaining if found.before and found.before.budget == whole else None
    if spent.rho is not None and whole.rho is not None:
        rest = left.rho if left is not None and left.rho is not None else whole.rho
        yield "rho", spent.rho, whole.rho, whole.rho - rest
        yield "epsilon", spent.epsilon, whole.epsilon, None
        yield "delta", spent.delta, whole.delta, None
        return
    plain = plan.spec.privacy.composition.name == "sequential"
    fresh = left is None or left == whole
    for word in ("epsilon", "delta"):
        allowed: Fraction = getattr(whole, word)
        used = Fraction(0) if left is None else allowed - getattr(left, word)
        shown = allowed > 0 and (plain or (fresh and word == "epsilon"))
        yield word, getattr(spent, word), allowed, used if shown else None


def _print_costs(plan: Plan) -> None:
    """On a terminal, a bar for the cost of each statistic, and which counts its error suits."""
    if not draws(sys.stdout) or len(plan.priced) > MOST_BARS:
        return
    most = max(planned.target.epsilon for planned in plan.priced)
    rows = [
        (
            planned.name,
            part(planned.target.epsilon, most, 16),
            brief(planned.target.epsilon),
            _error(planned, plan),
        )
        for planned in plan.priced
    ]
    write_table(sys.stdout, "", ("", "epsilon", "", "error"), rows, (2,))
    print()


def _error(planned: PlannedEntry, plan: Plan) -> str:
    """The error of a count, ten times as much, and what part of a group it is."""
    first = planned.parts[0]
    if len(planned.parts) > 1 or first.public:
        return ""
    error = first.error(plan.spec.confidence)
    percent = exact_or_up(plan.spec.confidence * 100)
    text = f"{short(error, 6)} in {percent}%"
    if first.question.role not in ("count", "distinct"):
        return text
    people, cells = plan.spec.declarations.population, planned.cells
    text += f": a tenth of {short(error * CLOSE, 6)}"
    if people is None or not cells:
        return text
    usual = Fraction(people, cells)
    return f"{part(error, usual, 8):8} {text}; {short(usual, 3)} in a usual group"

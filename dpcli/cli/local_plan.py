"""`dpcli plan` of a local spec: what one record reveals, and what many will tell."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.cli.measures import print_measures

if TYPE_CHECKING:
    from dpcli.ledger.outlook import Outlook
    from dpcli.plan.model import Plan
    from dpcli.privacy.shuffling import Shuffled
    from dpcli.spec.model import Response


def amplified(plan: Plan, records: int, delta: str | None) -> Shuffled:
    """What shuffling makes of a plan; UsageError where the bound has nothing to say."""
    from dpcli.errors import UsageError
    from dpcli.spec.numbers import NotReadable, number

    try:
        chosen = plan.spec.privacy.budget.delta if delta is None else number(delta)
    except NotReadable:
        chosen = Fraction(-1)
    if not 0 < chosen < 1:
        given = "the budget has no delta" if delta is None else f"`{delta}` is none"
        raise UsageError.of(
            "shuffle-delta",
            f"shuffled responses are protected up to a delta, and {given}",
            "add `--delta 1e-6` or so, far below one divided by the number of records",
        )
    found = plan.shuffled(records, chosen)
    if found is None:
        names = [one.column.name for one in plan.spec.responses if one.channel.loss.delta]
        raise UsageError.of(
            "shuffle-pure",
            f"the bound for shuffling is for pure responses, and {', '.join(names)} has a delta",
            "use laplace noise there, or leave --shuffle out",
        )
    return found


def print_local_plan(
    plan: Plan, found: Outlook, records: int | None, shuffled: Shuffled | None
) -> None:
    """The plan as a table, what it costs each record, and what shuffling adds."""
    from dpcli.cli.console import write_table
    from dpcli.spec.names import mixed_scripts

    spec = plan.spec
    composition = spec.privacy.composition
    title = f"{spec.dataset}: each record responds by itself, {composition.name}"
    many = 1 if records is None else records
    header = (
        "column", "mechanism", "by", "epsilon", *(["rho"] * composition.takes_rho), "delta",
        f"standard error of {many:,} record{'s' * (many != 1)}",
    )  # fmt: skip
    rows = [_row(one, many, in_rho=composition.takes_rho) for one in spec.responses]
    write_table(sys.stdout, title, header, rows, tuple(range(3, len(header))))
    print()
    print("".join(f"{one.column.name}: {one.channel.told()}\n" for one in spec.responses))
    if records is None:
        print("the error falls with the root of the number of records; --records N tells it")
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
    print_measures(plan, found, "per record", "collection")
    if shuffled is not None:
        _print_shuffled(plan, shuffled)


def _row(response: Response, records: int, *, in_rho: bool) -> tuple[str, ...]:
    """One response."""
    from dpcli.plan.model import standard_error
    from dpcli.report.local_facts import short_float
    from dpcli.report.numbers import brief, short

    channel = response.channel
    error = standard_error(response, records)
    return (
        response.column.name,
        response.randomizer.name,
        ", ".join(column.name for column in response.by),
        brief(channel.loss.epsilon),
        *([short(channel.guarantee.rho, 6)] if in_rho else []),
        brief(channel.loss.delta),
        "none" if error is None else short_float(error),
    )


def _print_shuffled(plan: Plan, found: Shuffled) -> None:
    """The central guarantee of shuffled responses, and what it takes for granted."""
    from dpcli.report.local_facts import hiding
    from dpcli.report.numbers import exact_or_up

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
    print(f"that counts {hiding(plan)}; the ledger charges epsilon {local}")

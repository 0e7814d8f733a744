"""The plan of a central spec: a table, what is said of it, and its total."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dpcli.cli.measures import print_measures, print_price

if TYPE_CHECKING:
    from dpcli.ledger.outlook import Outlook
    from dpcli.plan.model import Part, Plan, PlannedEntry


def print_plan(made: Plan, found: Outlook) -> None:
    """The plan as a table, and the total and the balance below it."""
    from dpcli.cli.console import write_table
    from dpcli.report.notes import (
        binning,
        bounding,
        composing,
        post_processing,
        rivals,
        selections,
        warnings,
    )
    from dpcli.report.numbers import exact_or_up
    from dpcli.report.quality import ABSENT, rule

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
        *rivals(made),
        *post_processing(made),
    ]
    notes += warnings(made)
    notes += rule(made) or [f"warning: {ABSENT}"]
    print("".join(f"{note}\n" for note in [*notes, *([""] if notes else [])]), end="")
    print_price(made)
    print_measures(made, found, "allowed", "release")


def _row(entry: PlannedEntry, part: Part, made: Plan, *, first: bool) -> tuple[str, ...]:
    """One question of a statistic."""
    from dpcli.report.counted import question_of
    from dpcli.report.numbers import brief, exact_or_up, root_up, short

    unit, moved = part.question.unit, part.sensitivity
    in_rho = made.spec.privacy.composition.takes_rho
    influence = part.question.query.influence
    low, high = (exact_or_up(step * unit) for step in (influence.low, influence.high))
    return (
        entry.entry.request.name if first else "",
        question_of(part, entry, made.spec),
        "private" if part.question.query.cells is None else str(part.question.query.cells),
        low if low == high else f"{low} to {high}",
        exact_or_up(moved.l1 * unit),
        short(root_up(moved.l2_squared * unit**2), 6),
        "exact" if part.public else part.mechanism.name,
        short(part.noise.scale * unit, 6),
        short(part.error(made.spec.confidence), 6),
        brief(part.loss.epsilon),
        *([short(part.guarantee.rho, 6)] if in_rho else []),
        brief(part.loss.delta),
    )

"""`dpcli plan`: what a release will ask, hide and reveal, before any row is read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dpcli.plan.model import Part, Plan, PlannedEntry
    from dpcli.privacy.loss import Loss


def plan(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a YAML file.")],
    as_json: Annotated[bool, typer.Option("--json", help="The plan as JSON, for scripts.")] = False,
    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="PATH",
            envvar="DPCLI_LEDGER",
            readable=False,
            help="The budget ledger [dpcli-ledger.sqlite beside SPEC, if there].",
        ),
    ] = None,
) -> None:
    """Print queries, sensitivities, mechanisms, scales, expected errors and the cost.

    Reads no data and spends nothing. Exits 5 when the budget does not allow the
    release.

    Example: dpcli plan specs/town.yaml
    """
    from dpcli.plan.budget import require_budget
    from dpcli.plan.making import make_plan
    from dpcli.spec.load import read_spec

    made = make_plan(read_spec(spec))
    left = _left(made, ledger, spec)
    if as_json:
        from dpcli.report.json_report import plan_json

        sys.stdout.write(plan_json(made, left))
    else:
        _print(made, left)
    sys.stdout.flush()
    require_budget(made)


def _left(made: Plan, ledger: Path | None, spec: Path) -> Loss | None:
    """What the account has left, if there is a ledger and it has the account."""
    from dpcli.cli.ledger_file import DEFAULT, existing_ledger

    if ledger is None and not (spec.parent / DEFAULT).exists():
        return None
    with existing_ledger(ledger or spec.parent / DEFAULT) as book:
        terms = book.accounts().get(made.spec.dataset)
        # Of an account with a window, what is left depends on the day of the release.
        return book.balance(terms).remaining if terms and terms.window is None else None


def _print(made: Plan, left: Loss | None) -> None:
    """The plan as a table, and the total and the balance below it."""
    from dpcli.cli.console import write_table
    from dpcli.privacy.decimals import plain_text
    from dpcli.privacy.loss import loss_text
    from dpcli.report.notes import bounding, post_processing, rivals, selections, warnings
    from dpcli.report.numbers import exact_or_up

    percent = exact_or_up(made.spec.confidence * 100)
    privacy = made.spec.privacy
    title = f"{made.spec.dataset}: {privacy.neighbors.value} neighbours, {privacy.composition.name}"
    header = (
        "statistic", "question", "cells", "adds", "L1", "L2", "mechanism", "scale",
        f"error {percent}%", "epsilon", "delta",
    )  # fmt: skip
    rows = [
        _row(entry, part, made, first=place == 0)
        for entry in made.entries
        for place, part in enumerate(entry.parts)
    ]
    write_table(sys.stdout, title, header, rows, (2, 4, 5, 7, 8, 9, 10))
    print()
    notes = [*bounding(made), *selections(made), *rivals(made), *post_processing(made)]
    notes += warnings(made)
    print("".join(f"{note}\n" for note in [*notes, *([""] if notes else [])]), end="")
    for word, asked, allowed in (
        ("epsilon", made.spent.epsilon, privacy.budget.epsilon),
        ("delta", made.spent.delta, privacy.budget.delta),
    ):
        verdict = "fits" if asked <= allowed else "does not fit"
        print(f"{word:8}{plain_text(asked)} of {plain_text(allowed)} allowed: {verdict}")
    if left is not None:
        print(f"account {loss_text(left)} left before this release")


def _row(entry: PlannedEntry, part: Part, made: Plan, *, first: bool) -> tuple[str, ...]:
    """One question of a statistic."""
    from dpcli.privacy.decimals import plain_text
    from dpcli.report.numbers import exact_or_up, root_up, short

    unit, moved = part.question.unit, part.sensitivity
    influence = part.question.query.influence
    low, high = (exact_or_up(step * unit) for step in (influence.low, influence.high))
    return (
        entry.entry.request.name if first else "",
        part.question.role,
        "private" if part.question.query.cells is None else str(part.question.query.cells),
        low if low == high else f"{low} to {high}",
        exact_or_up(moved.l1 * unit),
        short(root_up(moved.l2_squared * unit**2), 6),
        "exact" if part.public else part.mechanism.name,
        short(part.noise.scale * unit, 6),
        short(part.error(made.spec.confidence), 6),
        plain_text(part.loss.epsilon),
        plain_text(part.loss.delta),
    )

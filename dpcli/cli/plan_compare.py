"""`dpcli plan --compare` and `--diff`: other compositions, other specs."""

from __future__ import annotations

import sys
from fractions import Fraction

from dpcli.cli.tables import write_table
from dpcli.plan.compare import changes, compare, delta_of
from dpcli.plan.model import Plan
from dpcli.report.numbers import exact_or_up, short


def print_comparison(plan: Plan) -> None:
    """What the answers of a plan cost under every composition, and the cheapest."""
    delta = delta_of(plan)
    rows, notes = [], []
    for one in compare(plan):
        if one.bound is None:
            rows.append((one.name, "?", "", "", "", ""))
            notes.append(f"{one.name} needs a package that is not installed: {one.needs}")
            continue
        loss = one.bound.loss
        verdict = ["cheapest"] * one.cheapest + ["over budget"] * (not one.fits)
        rows.append(
            (
                one.name,
                exact_or_up(loss.epsilon),
                exact_or_up(loss.delta),
                "" if loss.rho is None else exact_or_up(loss.rho),
                one.bound.name,
                ", ".join(verdict),
            )
        )
    header = ("composition", "epsilon", "delta", "rho", "bound", "")
    title = f"the same answers under every composition, at delta {exact_or_up(delta)}"
    write_table(sys.stdout, title, header, rows, (1, 2, 3))
    if not plan.spec.privacy.budget.delta:
        notes.append("all but sequential need a delta in the budget, which has none")
    print("".join(f"{note}\n" for note in notes), end="")


def print_difference(old: Plan, new: Plan) -> None:
    """What a change of the spec does to each statistic and in total."""
    in_rho = new.spec.privacy.composition.takes_rho
    rows = [
        (
            one.name,
            one.kind,
            _arrow(*one.epsilon),
            *([_arrow(*one.rho)] if in_rho else []),
            _arrow(*one.error),
            " -> ".join(one.mechanisms),
        )
        for one in changes(old, new)
    ]
    names = dict.fromkeys(plan.spec.privacy.composition.name for plan in (old, new))
    rows.append(
        (
            "in all",
            "",
            _arrow(old.spent.epsilon, new.spent.epsilon),
            *([_arrow(old.spent.rho, new.spent.rho)] if in_rho else []),
            "",
            " to ".join(names),
        )
    )
    header = ("statistic", "", "epsilon", *(["rho"] if in_rho else []), "error", "mechanism")
    write_table(sys.stdout, f"{new.spec.dataset}: what changes", header, rows, ())


def _arrow(before: Fraction | None, after: Fraction | None) -> str:
    """A number before and after."""
    texts = ["-" if value is None else short(value, 6) for value in (before, after)]
    return texts[0] if texts[0] == texts[1] else " -> ".join(texts)

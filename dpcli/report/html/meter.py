"""The budget as a bar: spent before, added by this release, left."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from dpcli.report.html.element import element
from dpcli.report.numbers import exact_or_up

if TYPE_CHECKING:
    from dpcli.ledger.charge import Standing

WIDTH = 1000


def meters(standing: Standing) -> Iterator[Element]:
    """A bar for each measure in which the budget is counted."""
    before, balance = standing.before, standing.balance
    budget, after = balance.budget, balance.spent
    measures: list[tuple[str, Fraction, Fraction, Fraction]] = []
    if budget.rho is not None and before.rho is not None and after.rho is not None:
        measures.append(("rho", before.rho, after.rho, budget.rho))
    else:
        measures.append(("epsilon", before.epsilon, after.epsilon, budget.epsilon))
    if budget.delta and standing.terms.composition == "sequential":
        # Other compositions spend the delta of the budget once, for all releases together.
        measures.append(("delta", before.delta, after.delta, budget.delta))
    for name, first, last, whole in measures:
        yield _meter(name, min(first, whole), min(last, whole), whole)


def _meter(name: str, before: Fraction, after: Fraction, whole: Fraction) -> Element:
    """One bar and the numbers that it shows."""
    parts = (
        ("spent", "spent before", before),
        ("now", "added by this release", max(after - before, Fraction(0))),
        ("left", "left", whole - max(after, before)),
    )
    bars, start = [], Fraction(0)
    for kind, _, amount in parts:
        place, width = (round(float(number / whole) * WIDTH, 2) for number in (start, amount))
        bars.append(element("rect", x=place, y=0, width=width, height=24, class_=kind))
        start += amount
    told = [
        element("li", element("i", class_=kind), f"{words}: {exact_or_up(amount)}")
        for kind, words, amount in parts
    ]
    return element(
        "figure",
        element("figcaption", f"{name}: {exact_or_up(after)} of {exact_or_up(whole)} is spent"),
        element(
            "svg",
            bars,
            viewBox=f"0 0 {WIDTH} 24",
            preserveAspectRatio="none",
            class_="meter",
            aria_hidden="true",
        ),
        element("ul", told, class_="legend"),
    )

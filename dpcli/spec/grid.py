"""Values on the grid of a numeric column, in whole steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor
from typing import Any, Literal

from dpcli.columns import NumericColumn
from dpcli.messages import shown
from dpcli.numbers import NotReadable, day, number
from dpcli.privacy.decimals import readable_text
from dpcli.spec.findings import Findings
from dpcli.spec.fit import Part
from dpcli.spec.nodes import Mapping, Word

MOST_STEPS = 2**62
"""Bounds stay below it, so that one value always fits a machine word."""

ADD_BOUNDS = (
    "with the limits of what is possible; bounds are public facts, never read from the data"
)


def numeric_column(
    name: str,
    kind: Literal["integer", "number", "date"],
    part: Part[Any],
    bounds: Sequence[Fraction] | None,
    step: Fraction,
    missing: Fraction | None,
) -> NumericColumn | None:
    """The column with bounds and constant in whole steps, after its problems are recorded."""
    limits: tuple[int, int] | None = None
    if bounds is not None:
        limits = _limits(kind, part, (bounds[0], bounds[1]), step)
        if limits is None:
            return None
    if missing is None:
        return NumericColumn(name, kind, step, limits)
    text = part.text("missing")
    steps = whole_steps(missing, step, "`missing`", text, part.report, "missing")
    if steps is None:
        return None
    if limits is None:
        if "bounds" not in part.bad:
            part.report_key("missing-bounds.constant", "missing", column=name)
        return None
    if not limits[0] <= steps <= limits[1]:
        low, high = (part.text("bounds", side) for side in (0, 1))
        part.report("out-of-bounds.missing", "missing", constant=text, low=low, high=high)
        return None
    return NumericColumn(name, kind, step, limits, steps)


def _limits(
    kind: str, part: Part[Any], bounds: tuple[Fraction, Fraction], step: Fraction
) -> tuple[int, int] | None:
    """The bounds in steps: in order, on the grid and within a machine word."""
    texts = part.text("bounds", 0), part.text("bounds", 1)
    if bounds[0] >= bounds[1]:
        code = "bounds-order.equal" if bounds[0] == bounds[1] else "bounds-order"
        part.report(code, "bounds", low=texts[0], high=texts[1])
        return None
    if "step" in part.bad:
        return None
    low, high = (one / step for one in bounds)
    if low.denominator == high.denominator == 1:
        most = max(abs(low), abs(high))
        if most < MOST_STEPS:
            return low.numerator, high.numerator
        factor = 1
        while most / factor >= MOST_STEPS:
            factor *= 10
        fits = (low / factor).denominator == (high / factor).denominator == 1
        code = "grid-too-fine.step" if fits else "grid-too-fine"
        part.report(code, "bounds", step=readable_text(step), larger=readable_text(step * factor))
        return None
    near = [floor(one + Fraction(1, 2)) for one in (low, high)]
    fine = _dividing(step, *bounds)
    ways = []
    if near[0] != near[1]:
        ways.append(f"`bounds: [{readable_text(near[0] * step)}, {readable_text(near[1] * step)}]`")
    if not ways or kind != "integer" or fine >= 1:
        ways.append(f"`step: {readable_text(fine)}`")
    side = 0 if low.denominator != 1 else 1
    part.report(
        "off-grid.bound", "bounds", side, which=("lower", "upper")[side], bound=texts[side],
        step=readable_text(step), ways=" or ".join(ways),
    )  # fmt: skip
    return None


def proposed_step(node: Mapping) -> str:
    """What to write for a `number` column without a step: a thousand steps or more."""
    try:
        low, high = (number(word.text) for word in node.get("bounds").items)  # type: ignore[union-attr]
    except (AttributeError, NotReadable, ValueError):
        return "0.01"
    if low >= high:
        return "0.01"
    step = Fraction(1)
    while step * 10000 <= high - low:
        step *= 10
    while step * 1000 > high - low:
        step /= 10
    return readable_text(_dividing(step, low, high))


def _dividing(step: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """The greatest power of ten, at most `step`, of which both bounds are multiples."""
    power = Fraction(1)
    while power * 10 <= step:
        power *= 10
    while power > step or (low / power).denominator != 1 or (high / power).denominator != 1:
        power /= 10
    return power


Report = Callable[..., None]


def whole_steps(
    value: Fraction, step: Fraction, name: str, text: str, report: Report, *path: str | int
) -> int | None:
    """A value as a whole number of steps; its neighbours on the grid are named if it is none."""
    steps = value / step
    if steps.denominator == 1:
        return steps.numerator
    below, above = (readable_text((floor(steps) + side) * step) for side in (0, 1))
    report(
        "off-grid", *path, name=name, value=text, step=readable_text(step), below=below, above=above
    )
    return None


def in_kind(column: NumericColumn, word: Word, name: str, findings: Findings) -> Fraction | None:
    """The number or date that a word says, in the unit of a column; None after its problem."""
    is_date = column.kind == "date"
    try:
        return Fraction(day(word.text) if is_date else number(word.text))
    except NotReadable as failure:
        code = "not-a-date" if is_date else "not-a-number"
        findings.report(code, word.span, name=name, found=shown(word.text), advice=failure.advice)
        return None


def on_column(column: NumericColumn, word: Word, name: str, findings: Findings) -> int | None:
    """The same in whole steps of the column."""
    value = in_kind(column, word, name, findings)
    if value is None:
        return None

    def report(code: str, **facts: object) -> None:
        findings.report(code, word.span, **facts)

    return whole_steps(value, column.step, name, word.text, report)

"""Values on the grid of a numeric column, in whole steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor
from typing import Any

from dpcli.columns import NumericColumn
from dpcli.messages import quote
from dpcli.number_syntax import NumberSyntaxError, parse_day, parse_number
from dpcli.numeric.exact import readable_text
from dpcli.specification.tree import MappingNode, ScalarNode, scalars_of
from dpcli.specification.validation import Section

MOST_STEPS = 2**62
"""Bounds stay below it, so that one value always fits a machine word."""


def read_number(
    word: ScalarNode, name: str, read: Callable[[str], Fraction | int] = parse_number
) -> Fraction:
    """The number, or the day, that a word says."""
    try:
        return Fraction(read(word.text))
    except NumberSyntaxError as failure:
        facts = {"found": quote(word.text), "advice": failure.advice}
        raise word.span.report(failure.code, name=name, **facts) from None


def in_steps(column: NumericColumn, word: ScalarNode, name: str) -> Fraction:
    """The number or date that a word says, in steps of a column."""
    return (
        read_number(word, name, parse_day if column.kind == "date" else parse_number) / column.step
    )


def on_grid(column: NumericColumn, word: ScalarNode, name: str) -> int:
    """The same in whole steps."""
    return whole_steps(in_steps(column, word, name), column.step, word, name)


def within(column: NumericColumn, word: ScalarNode, name: str) -> int:
    """The same within the bounds of the column."""
    steps = on_grid(column, word, name)
    if column.lower <= steps <= column.upper:
        return steps
    low, high = map(column.text, column.limits)
    raise word.span.report("out-of-bounds", name=name, value=word.text, low=low, high=high)


def whole_steps(steps: Fraction, step: Fraction, word: ScalarNode, name: str) -> int:
    """A number of steps that is whole; where it is none, its neighbors on the grid are named."""
    if steps.denominator == 1:
        return steps.numerator
    below, above = (readable_text((floor(steps) + side) * step) for side in (0, 1))
    facts = {"value": word.text, "step": readable_text(step), "below": below, "above": above}
    raise word.span.report("off-grid", name=name, **facts)


def bounds_in_steps(
    part: Section[Any], bounds: Sequence[Fraction], step: Fraction
) -> tuple[int, int]:
    """Bounds on the grid and within a machine word."""
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
        larger = readable_text(step * factor)
        raise part.report(code, "bounds", step=readable_text(step), larger=larger)
    near = [floor(one + Fraction(1, 2)) * step for one in (low, high)]
    fine = _dividing(step, *bounds)
    ways = []
    if near[0] != near[1]:
        ways.append(f"`bounds: [{readable_text(near[0])}, {readable_text(near[1])}]`")
    if not ways or part.values.type != "integer" or fine >= 1:
        ways.append(f"`step: {readable_text(fine)}`")
    side = 0 if low.denominator != 1 else 1
    facts = {"which": ("lower", "upper")[side], "ways": " or ".join(ways)}
    raise part.report("off-grid.bound", "bounds", side, step=readable_text(step), **facts)


def proposed_step(node: MappingNode) -> str:
    """What to write for a `number` column without a step: a thousand steps or more."""
    try:
        low, high = (parse_number(word.text) for word in scalars_of(node.get("bounds")))
    except ValueError:
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

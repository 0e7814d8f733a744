"""Reads numbers and days of a spec in whole steps of a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import floor
from typing import Annotated

from dpcli.fields.section import SectionModel
from dpcli.fields.tree import MappingNode, ScalarNode, scalars_of
from dpcli.fields.values import (
    ExactNumber,
    NumberSyntaxError,
    ParsedText,
    invalid_value,
    parse_number,
)
from dpcli.numeric.exact import readable_text
from dpcli.problems.messages import quote

MAX_STEPS = 2**62
"""Bounds stay below this limit, so that every value fits 64 bits."""


def read_number(
    scalar: ScalarNode, name: str, read: Callable[[str], Fraction | int] = parse_number
) -> Fraction:
    """The number or day in a scalar, as `read` parses it; messages call it `name`."""
    try:
        return Fraction(read(scalar.text))
    except NumberSyntaxError as failure:
        arguments = {"found": quote(scalar.text), "advice": failure.advice}
        raise scalar.span.report(failure.code, name=name, **arguments) from None


def require_whole_steps(steps: Fraction, step: Fraction, scalar: ScalarNode, name: str) -> int:
    """A number of steps as an integer; the problem names the nearest whole numbers."""
    if steps.denominator == 1:
        return steps.numerator
    below, above = (readable_text((floor(steps) + side) * step) for side in (0, 1))
    arguments = {"value": scalar.text, "step": readable_text(step), "below": below, "above": above}
    raise scalar.span.report("off-grid", name=name, **arguments)


def bounds_in_steps(
    section: SectionModel, bounds: Sequence[Fraction], step: Fraction
) -> tuple[int, int]:
    """Bounds in whole steps that fit 64 bits; other bounds are a problem."""
    low, high = (bound / step for bound in bounds)
    if low.denominator == high.denominator == 1:
        largest = max(abs(low), abs(high))
        if largest < MAX_STEPS:
            return low.numerator, high.numerator
        factor = 1
        while largest / factor >= MAX_STEPS:
            factor *= 10
        fits = (low / factor).denominator == (high / factor).denominator == 1
        code = "grid-too-fine.step" if fits else "grid-too-fine"
        arguments = {"larger": readable_text(step * factor), "name": "the bounds"}
        raise section.report(code, "bounds", step=readable_text(step), **arguments)
    near = [floor(bound + Fraction(1, 2)) * step for bound in (low, high)]
    fine = _dividing_power_of_ten(step, *bounds)
    ways = []
    if near[0] != near[1]:
        ways.append(f"`bounds: [{readable_text(near[0])}, {readable_text(near[1])}]`")
    if not ways or getattr(section, "type", "") != "integer" or fine >= 1:
        ways.append(f"`step: {readable_text(fine)}`")
    side = 0 if low.denominator != 1 else 1
    arguments = {"which": ("lower", "upper")[side], "ways": " or ".join(ways)}
    raise section.report("off-grid.bound", "bounds", side, step=readable_text(step), **arguments)


def proposed_step(node: MappingNode) -> str:
    """The step that a message proposes: it divides the range into 1,000 or more."""
    try:
        low, high = (parse_number(scalar.text) for scalar in scalars_of(node.value("bounds")))
    except ValueError:
        return "0.01"
    if low >= high:
        return "0.01"
    step = Fraction(1)
    while step * 10000 <= high - low:
        step *= 10
    while step * 1000 > high - low:
        step /= 10
    return readable_text(_dividing_power_of_ten(step, low, high))


def _dividing_power_of_ten(step: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """The largest power of ten up to `step` that divides both bounds."""
    power = Fraction(1)
    while power * 10 <= step:
        power *= 10
    while power > step or (low / power).denominator != 1 or (high / power).denominator != 1:
        power /= 10
    return power


def _parse_step(text: str, *, whole: bool) -> Fraction:
    step = parse_number(text)
    if step <= 0:
        raise invalid_value("step-not-positive", kind="whole number" if whole else "number")
    if whole and step.denominator != 1:
        raise invalid_value("step-not-whole")
    return step


NUMBER_SCHEMA = ExactNumber().schema
WholeStep = Annotated[Fraction, ParsedText(partial(_parse_step, whole=True), NUMBER_SCHEMA)]
Step = Annotated[Fraction, ParsedText(partial(_parse_step, whole=False), NUMBER_SCHEMA)]

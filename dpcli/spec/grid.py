"""Values on the grid of a numeric column, in whole steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor

from dpcli.columns import NumericColumn
from dpcli.messages import shown
from dpcli.numbers import NotReadable, day, number
from dpcli.privacy.decimals import readable_text
from dpcli.spec.findings import Findings
from dpcli.spec.nodes import Mapping, Word, words_of

MOST_STEPS = 2**62
"""Bounds stay below it, so that one value always fits a machine word."""


def in_steps(column: NumericColumn, word: Word, name: str, findings: Findings) -> Fraction | None:
    """The number or date that a word says, in steps of a column; None after its problem."""
    read = day if column.kind == "date" else number
    try:
        return read(word.text) / column.step
    except NotReadable as failure:
        facts = {"name": name, "found": shown(word.text), "advice": failure.advice}
        findings.report(failure.code, word.span, **facts)
        return None


def on_grid(column: NumericColumn, word: Word, name: str, findings: Findings) -> int | None:
    """The same in whole steps."""
    steps = in_steps(column, word, name, findings)
    return None if steps is None else whole_steps(steps, column.step, word, name, findings)


def within(column: NumericColumn, word: Word, name: str, findings: Findings) -> int | None:
    """The same within the bounds of the column."""
    steps = on_grid(column, word, name, findings)
    if steps is None or column.lower <= steps <= column.upper:
        return steps
    low, high = map(column.text, column.limits)
    facts = {"name": name, "value": word.text, "low": low, "high": high}
    findings.report("out-of-bounds", word.span, **facts)
    return None


def whole_steps(
    steps: Fraction, step: Fraction, word: Word, name: str, findings: Findings
) -> int | None:
    """A number of steps that is whole; where it is none, its neighbors on the grid are named."""
    if steps.denominator == 1:
        return steps.numerator
    below, above = (readable_text((floor(steps) + side) * step) for side in (0, 1))
    facts = {"value": word.text, "step": readable_text(step), "below": below, "above": above}
    findings.report("off-grid", word.span, name=name, **facts)
    return None


def bounds_in_steps(
    bounds: Sequence[Fraction], step: Fraction, report: Callable[..., None], *, whole: bool
) -> tuple[int, int] | None:
    """Bounds in order, on the grid and within a machine word; `whole` if a step must be, too."""
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
        report(code, "bounds", step=readable_text(step), larger=readable_text(step * factor))
        return None
    near = [floor(one + Fraction(1, 2)) * step for one in (low, high)]
    fine = _dividing(step, *bounds)
    ways = []
    if near[0] != near[1]:
        ways.append(f"`bounds: [{readable_text(near[0])}, {readable_text(near[1])}]`")
    if not ways or not whole or fine >= 1:
        ways.append(f"`step: {readable_text(fine)}`")
    side = 0 if low.denominator != 1 else 1
    facts = {"which": ("lower", "upper")[side], "ways": " or ".join(ways)}
    report("off-grid.bound", "bounds", side, step=readable_text(step), **facts)
    return None


def proposed_step(node: Mapping) -> str:
    """What to write for a `number` column without a step: a thousand steps or more."""
    try:
        low, high = (number(word.text) for word in words_of(node.get("bounds")))
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

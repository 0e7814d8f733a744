"""Numeric columns: bounds on a grid of steps, and the constant for missing cells."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from dpcli.columns import NumericColumn
from dpcli.spec.findings import Findings
from dpcli.spec.nodes import Mapping, Word, at
from dpcli.spec.scope import read_number, read_steps, read_whole_steps
from dpcli.spec.structure import DateColumn, IntegerColumn, NumberColumn
from dpcli.spec.wording import plain, shown

MOST_STEPS = 2**62
"""Bounds stay below it, so that one value always fits a machine word."""

NumericShape = IntegerColumn | NumberColumn | DateColumn


def numeric_column(
    name: str, shape: NumericShape, node: Mapping, findings: Findings
) -> NumericColumn | None:
    """The column, or None after its problems are recorded."""
    bounds_node = node.get("bounds")
    step = _step(shape, node, findings)
    if step is None:
        # The bounds are still read, so that their problems are told at once.
        _bounds(shape, node, Fraction(1), findings, on_grid=False)
        return None
    bounds = _bounds(shape, node, step, findings)
    missing_node = node.get("missing")
    missing: int | None = None
    if isinstance(missing_node, Word) and missing_node.text != "drop":
        missing = read_whole_steps(missing_node, "`missing`", shape.type, step, findings)
        if missing is None:
            return None
        if not bounds_node:
            findings.add(
                "missing-bounds",
                f"{shown(name)} has a constant for missing cells, but no bounds",
                "add `bounds: [..., ...]` with the limits of what is possible; "
                "bounds are public facts, never read from the data",
                node.key_span("missing"),
            )
            return None
        if bounds and not bounds[0] <= missing <= bounds[1]:
            low, high = at(bounds_node, 0), at(bounds_node, 1)
            assert isinstance(low, Word)
            assert isinstance(high, Word)
            findings.add(
                "out-of-bounds",
                f"`missing` is {shown(missing_node.text)}, expected a value "
                f"from {shown(low.text)} to {shown(high.text)}",
                "use a constant within the bounds, or `drop`",
                missing_node.span,
            )
            return None
    if bounds_node and not bounds:
        return None
    return NumericColumn(name, shape.type, step, bounds, missing)


def _step(shape: NumericShape, node: Mapping, findings: Findings) -> Fraction | None:
    """The width of the grid: above zero, and whole for integers."""
    word = node.get("step")
    if not isinstance(word, Word):
        return Fraction(1)
    step = read_number(word, "`step`", findings)
    if step is None:
        return None
    whole = isinstance(shape, IntegerColumn)
    if step <= 0 or (whole and step.denominator != 1):
        expected = "a whole number above zero" if whole else "a number above zero"
        hint = "declare the column as `number` for finer steps" if step > 0 else ""
        findings.add(
            "step-not-positive" if step <= 0 else "step-not-whole",
            f"`step` is {shown(word.text)}, expected {expected}",
            hint or "values are rounded to multiples of the step; `1` rounds to whole numbers",
            word.span,
        )
        return None
    return step


def _bounds(
    shape: NumericShape, node: Mapping, step: Fraction, findings: Findings, *, on_grid: bool = True
) -> tuple[int, int] | None:
    """The bounds in steps, if there are any and they are good."""
    words = [at(node, "bounds", position) for position in (0, 1)]
    if node.get("bounds") is None:
        return None
    read = [
        read_steps(word, f"the {side} bound", shape.type, step, findings)
        for word, side in zip(words, ("lower", "upper"), strict=True)
        if isinstance(word, Word)
    ]
    if len(read) < 2 or read[0] is None or read[1] is None:
        return None
    low, high = read[0], read[1]
    texts = [word.text for word in words if isinstance(word, Word)]
    if low >= high:
        same = low == high
        findings.add(
            "bounds-order",
            f"the lower bound {shown(texts[0])} is not below the upper bound {shown(texts[1])}",
            "widen the bounds" if same else f"write `bounds: [{texts[1]}, {texts[0]}]`",
            at(node, "bounds").span,
        )
        return None
    if not on_grid:
        return None
    return _on_grid(low, high, step, shape=shape, node=node, findings=findings)


def _on_grid(
    low: Fraction,
    high: Fraction,
    step: Fraction,
    *,
    shape: NumericShape,
    node: Mapping,
    findings: Findings,
) -> tuple[int, int] | None:
    """The bounds as whole numbers of steps, if they are such and not too many."""
    if low.denominator != 1 or high.denominator != 1:
        _off_grid(low, high, step, node, findings, whole=isinstance(shape, IntegerColumn))
        return None
    if max(abs(low), abs(high)) >= MOST_STEPS:
        findings.add(
            "grid-too-fine",
            f"the bounds are 2^62 steps of {shown(plain(step))} or more from zero",
            _larger_step(low, high, step),
            at(node, "bounds").span,
        )
        return None
    return low.numerator, high.numerator


def _larger_step(low: Fraction, high: Fraction, step: Fraction) -> str:
    """Advice for bounds with too many steps: the least step, by tens, that will do."""
    factor = 1
    while max(abs(low), abs(high)) / factor >= MOST_STEPS:
        factor *= 10
    if (low / factor).denominator == 1 and (high / factor).denominator == 1:
        return f"use a larger step, such as `step: {plain(step * factor)}`"
    return "use narrower bounds, or a larger step"


def _off_grid(
    low: Fraction, high: Fraction, step: Fraction, node: Mapping, findings: Findings, *, whole: bool
) -> None:
    """Records bounds between two steps, with the nearest bounds and steps that fit.

    `whole` says that only whole steps will do.
    """
    nearest = [plain(_nearest(side) * step) for side in (low, high)]
    fine = _dividing(step, low * step, high * step)
    ways = [f"`bounds: [{nearest[0]}, {nearest[1]}]`", f"`step: {plain(fine)}`"]
    if _nearest(low) == _nearest(high):
        del ways[0]
    elif whole and fine < 1:
        del ways[1]
    side, word = ("lower", 0) if low.denominator != 1 else ("upper", 1)
    node_at_fault = at(node, "bounds", word)
    assert isinstance(node_at_fault, Word)
    findings.add(
        "off-grid",
        f"the {side} bound is {shown(node_at_fault.text)}, "
        f"expected a multiple of the step {shown(plain(step))}",
        f"write {' or '.join(ways)}",
        node_at_fault.span,
    )


def proposed_step(node: Mapping) -> str:
    """What to write for a `number` column without a step."""
    quiet = Findings("", [])
    words = [at(node, "bounds", position) for position in (0, 1)]
    read = [read_number(word, "", quiet) for word in words if isinstance(word, Word)]
    if len(read) < 2 or read[0] is None or read[1] is None or read[0] >= read[1]:
        return "0.01"
    return plain(coarse_step(read[0], read[1]))


def coarse_step(low: Fraction, high: Fraction) -> Fraction:
    """The greatest power of ten that cuts the bounds evenly, in a thousand or more."""
    step = Fraction(1)
    while step * 10000 <= high - low:
        step *= 10
    while step * 1000 > high - low:
        step /= 10
    return _dividing(step, low, high)


def _dividing(step: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """The greatest power of ten, at most `step`, of which both bounds are multiples."""
    power = Fraction(1)
    while power * 10 <= step:
        power *= 10
    while power > step or (low / power).denominator != 1 or (high / power).denominator != 1:
        power /= 10
    return power


def _nearest(steps: Fraction) -> int:
    """The nearest whole number of steps, halves up."""
    return floor(steps + Fraction(1, 2))

"""Numbers of tables that are not negative, and add up exactly.

The joint table that fits all measured answers best (`fitting`) has margins that agree. Printed
numbers are rounded together (`rounding`), to whole numbers or to decimals, so that they still do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod

from dpcli.numeric.arrays import Array, Floats, Ints, integer_array, np
from dpcli.statistics.tables.agreement import (
    NEAR_ZERO,
    WEIGHT_UNITS,
    Agreement,
    Axes,
    KnownTable,
    Measured,
    cells,
)
from dpcli.statistics.tables.families import yields
from dpcli.statistics.tables.fitting import (
    MAX_JOINT_CELLS,
    MeasuredEffectOfTable,
    Table,
    fitted_joint,
    projected,
)
from dpcli.statistics.tables.rounding import known_margin, whole_margins, whole_parts

FIT_BITS = 44
"""Totals of more bits are fitted in a coarser unit, which floats have exactly."""

MOST_PRECISE = 30
"""What is known is fitted like a variance that is smaller by this factor."""


def joint_cells(sizes: Sequence[int], ways: Sequence[int]) -> int:
    """The cells of the joint table that a fit needs; zero for single axes."""
    return prod(sizes) if ways[-1] > 1 else 0


def additive_counts(
    margins: Axes,
    wanted: Sequence[Axes],
    measured: Sequence[Measured],
    units: int | Fraction,
    nonnegative: bool,
) -> Array:
    """The wanted tables in whole numbers of 1/`units`, by groups, then tables.

    They are linear estimates, or those without negative numbers that fit best: then the total of
    each group is its linear, unbiased estimate, or zero if that is below zero. Either way they meet
    the known ones of the measured tables.
    """
    ways, places = max(map(len, wanted)), {axis: at for at, axis in enumerate(margins)}
    # Effects that no wanted table has are left free: to fit them would only add their noise.
    agreement = Agreement(wanted, measured)
    if not nonnegative:
        linear = (agreement.rounded(axes, units) for axes in wanted)
        return np.hstack([table.reshape(len(table), -1) for table in linear]).ravel()
    totals = np.maximum(agreement.rounded((), units).ravel(), 0)
    unit = 1 << max(0, int(totals.max(initial=0)).bit_length() - FIT_BITS)
    coarse: Ints = (totals // unit).astype(np.int64)
    scale = float(units / unit)
    tables_known = [table for table in measured if isinstance(table, KnownTable) and table.axes]
    fixed: Known = {
        tuple(places[axis] for axis in table.axes): (table.counts * units).astype(np.int64)
        for table in sorted(tables_known, key=lambda table: -table.counts.size)
    }
    noisy = [part for axes, part in agreement.precisions.items() if part * NEAR_ZERO < 1 / 2]
    effects = {
        tuple(places[axis] for axis in axes): MeasuredEffectOfTable(
            agreement.effects[axes].astype(np.float64) * (scale / WEIGHT_UNITS / cells(axes) ** 2),
            min(precision, MOST_PRECISE * max(noisy, default=1.0)) / scale**2,
        )
        for axes, precision in agreement.precisions.items()
        if axes
    }
    tables = [tuple(places[axis] for axis in axes) for axes in wanted]
    yielding = {
        tuple(places[axis] for axis in axes): yields(
            agreement.table(axes).astype(np.float64) / (WEIGHT_UNITS * cells(axes) ** 2),
            agreement.variance(axes),
        )
        for axes in filter(None, wanted)
    }
    sizes = [*map(len, margins)]
    at_once = max(1, MAX_JOINT_CELLS // max(joint_cells(sizes, [ways]), 1))
    found = []
    for at in range(0, len(coarse), at_once):
        own = slice(at, at + at_once)
        known = {table: numbers[own] for table, numbers in fixed.items()}
        parts = {
            table: MeasuredEffectOfTable(part.numbers[own], part.precision)
            for table, part in effects.items()
        }
        each = {table: numbers[own] for table, numbers in yielding.items()}
        found.append(_whole(sizes, parts, coarse[own], tables, known, each))
    whole = np.vstack(found)
    if unit > 1:
        whole = whole.astype(object) * unit
        # What is less than a unit goes to one cell of the joint table, the first in all tables.
        firsts = np.cumsum([0, *map(cells, wanted)])[:-1]
        whole[:, firsts] += (totals % unit)[:, None]
    return integer_array(whole.ravel())


Effects = dict[Table, MeasuredEffectOfTable]
Known = dict[Table, Ints]


def _whole(
    sizes: Sequence[int],
    effects: Effects,
    totals: Ints,
    tables: Sequence[Table],
    known: Known,
    yielding: Mapping[Table, Floats],
) -> Ints:
    """The numbers of each group, shape (groups, numbers).

    A cell of the joint table yields as much as the smallest number of which it is a part.
    """
    sums: Floats = totals.astype(np.float64)
    if max(map(len, tables)) > 1:
        # The known table of the most cells is met exactly, others are fitted, and then rounded to.
        first = next(iter(known), ())
        each: Floats = np.zeros((len(totals), *sizes))
        for table, numbers in yielding.items():
            shape = [size if axis in table else 1 for axis, size in enumerate(sizes)]
            each = np.maximum(each, numbers.reshape(-1, *shape))
        fixed = known.get(first, totals).astype(np.float64)
        joint = fitted_joint(sizes, effects, fixed, first, each)
        rounded = (
            whole_margins(table, total, tables, {own: known[own][at] for own in known})
            for at, (table, total) in enumerate(zip(joint, totals.tolist(), strict=True))
        )
        return np.array([np.concatenate(numbers) for numbers in rounded])
    found = [totals[:, None]] * (() in tables)
    for (axis,) in filter(None, tables):
        even = np.repeat(sums[:, None] / sizes[axis], sizes[axis], axis=1)
        moved = effects[axis,].numbers if (axis,) in effects else 0.0
        near = known_margin(known, (axis,), 1)
        whole = whole_parts(projected(even + moved, sums, (), yielding[axis,]), totals)
        found.append(whole if near is None else near)
    return np.hstack(found)

"""Non-negative tables that fit noisy answers best, with a fixed sum.

Linear estimates of tables that agree (`agreement`) can be negative, and replacing negative numbers
by zero breaks agreement and makes totals too large. Here all tables are sums of one joint table
p >= 0 with the sum N, and p minimizes the sum over all effects e of precision(e) times the squared
distance of its effect from the measured one. That is the distance from all measured numbers,
weighted by their inverse variances, but for a constant; what the sum N needs is taken from cells in
the ratio in which they yield (`families`). The problem is that of McKenna, Sheldon and
Miklau (2019), solved by accelerated projected gradients (Beck and Teboulle 2009), which restart
when they overshoot (O'Donoghue and Candes 2015).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from dpcli.numeric.arrays import Floats, np
from dpcli.statistics.tables.families import Families

Table = tuple[int, ...]
"""The indexes of some axes, in order."""

MAX_JOINT_CELLS = 1 << 20
"""The most cells of the joint tables of all groups."""

STEPS = 200
"""The most steps of a fit; most need less than 50."""

NEAR = 1e-3
"""A fit ends when a step moves all cells together by fewer rows than this."""


@dataclass(frozen=True, slots=True)
class MeasuredEffectOfTable:
    """The effect of some axes by group, shape (groups, *sizes), and its precision.

    The effect is that of the totals over all other axes, less its mean along each axis; the
    precision is the inverse variance of such a total.
    """

    numbers: Floats
    precision: float


def fitted_joint(
    sizes: Sequence[int],
    effects: Mapping[Table, MeasuredEffectOfTable],
    totals: Floats,
    known: Table = (),
    yielding: float | Floats = 1.0,
) -> Floats:
    """The joint tables that fit their effects best, shape (groups, *sizes).

    `totals` are the sums of these tables over all axes but the `known` ones, by group, at least
    zero. What these need is taken from cells in the ratio in which they are `yielding`. The joint
    table is one of several that have the same published tables.
    """
    shape, axes = (len(totals), *sizes), range(len(sizes))
    largest = max(map(len, effects), default=0)
    tops = [*combinations(axes, largest)]
    home = {effect: next(top for top in tops if {*top} >= {*effect}) for effect in effects}
    beyond = {e: prod(size for axis, size in enumerate(sizes) if axis not in e) for e in effects}
    steepest = max((part.precision * beyond[e] for e, part in effects.items()), default=1.0)

    def spread(numbers: Floats, kept: Table) -> Floats:
        lengths = (size if axis in kept else 1 for axis, size in enumerate(sizes))
        return numbers.reshape(-1, *lengths)

    def gradient(joint: Floats) -> Floats:
        slopes = {top: np.zeros(1) for top in tops}
        for top in tops:
            table = margin(joint, top)
            for effect in (e for e in effects if home[e] == top):
                inner = tuple(top.index(axis) for axis in effect)
                away = centered(margin(table, inner)) - effects[effect].numbers
                slopes[top] = slopes[top] + spread(effects[effect].precision * away, effect)
        total: Floats = np.zeros(shape)
        for slope in slopes.values():
            total += slope
        return total

    start: Floats = np.zeros(shape)
    for effect, part in effects.items():
        start += spread(part.numbers / beyond[effect], effect)
    joint = projected(start, totals, known, yielding)
    ahead, momentum = joint, 1.0
    for _ in range(STEPS):
        moved = projected(ahead - gradient(ahead) / steepest, totals, known, yielding)
        change = moved - joint
        joint = moved
        if np.abs(change).sum(axis=tuple(range(1, change.ndim))).max(initial=0.0) < NEAR:
            break
        if ((ahead - moved) * change).sum() > 0:
            ahead, momentum = moved, 1.0
            continue
        faster = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead, momentum = moved + (momentum - 1) / faster * change, faster
    return joint


def projected(
    numbers: Floats, totals: Floats, known: Table = (), yielding: float | Floats = 1.0
) -> Floats:
    """The nearest tables without negative numbers that have these sums.

    They are sums over all axes but the `known` ones. Distances are those of `Families.projected`.
    """
    order = [0, *(axis + 1 for axis in known)]
    order += [axis for axis in range(numbers.ndim) if axis not in order]
    moved, totals = numbers.transpose(order), totals.ravel()
    flat, each = (
        table.transpose(order).reshape(len(totals), -1)
        for table in (numbers, np.broadcast_to(yielding, numbers.shape))
    )
    kept = Families([0] * flat.shape[1]).projected(flat, totals[:, None], each)
    return kept.reshape(moved.shape).transpose(np.argsort(order))


def margin(tables: Floats, kept: Table) -> Floats:
    """Totals of tables by group, over all axes but those that are kept."""
    summed = tuple(axis + 1 for axis in range(tables.ndim - 1) if axis not in kept)
    return np.array(tables.sum(axis=summed))


def centered(tables: Floats) -> Floats:
    """Tables less their mean along each axis but the first, which is that of groups."""
    for axis in range(1, tables.ndim):
        tables = tables - tables.mean(axis=axis, keepdims=True)
    return tables

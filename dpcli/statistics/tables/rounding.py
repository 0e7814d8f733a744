"""Whole numbers near the numbers of tables that agree, so that these agree too.

Every total is the sum of its whole cells, and none is below zero. Numbers are rounded within one of
what they were wherever such a rounding exists for the given totals (Causey, Cox and Ernst 1985).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.statistics.tables.fitting import Table, margin

TINY = 1e-6
"""Numbers this near to a whole one count as whole."""

MAX_MOVED = 1 << 27
"""Cells that are looked at to move rows between cells of a joint table."""


def whole_parts(parts: Floats, totals: Ints) -> Ints:
    """Whole numbers with these sums, by group, each within one of its part.

    The parts of a group have about its total as their sum. The largest remainders are rounded up.
    """
    down: Ints = np.floor(parts + TINY).astype(np.int64)
    missing = totals - down.sum(axis=1)
    order = np.argsort(np.argsort(-(parts - down), axis=1, kind="stable"), axis=1, kind="stable")
    whole: Ints = down + (order < missing[:, None])
    # Floats may add up to slightly more than the total.
    for group in np.flatnonzero(missing < 0):
        smallest = np.argsort(np.where(down[group] > 0, parts[group] - down[group], np.inf))
        whole[group, smallest[: -missing[group]]] -= 1
    return whole


def whole_table(parts: Floats, rows: Ints, columns: Ints) -> Ints:
    """A table of whole numbers with these sums of rows and columns, near its parts.

    `rows` and `columns` have the same sum, each within one of that of its parts. In each row, the
    columns are rounded up that need it most: those whose missing number is largest beyond what
    later rows can add, by the remainders there.
    """
    whole: Ints = np.maximum(np.floor(parts + TINY), 0).astype(np.int64)
    remainders = parts - whole
    missing_rows, missing = rows - whole.sum(axis=1), columns - whole.sum(axis=0)
    later = remainders.sum(axis=0)
    for row in np.argsort(-missing_rows, kind="stable"):
        count = max(0, int(missing_rows[row]))
        later = later - remainders[row]
        need = np.where(missing > 0, missing - later + remainders[row], -np.inf)
        chosen = np.argsort(-need, kind="stable")[:count]
        chosen = chosen[missing[chosen] > 0]
        whole[row, chosen] += 1
        missing[chosen] -= 1
        missing_rows[row] -= len(chosen)
    _settle(whole, missing_rows, missing)
    return whole


def _settle(whole: Ints, missing_rows: Ints, missing: Ints) -> None:
    """Reach all sums where numbers have to be moved by more than one."""
    for row in np.flatnonzero(missing_rows < 0):
        for column in np.argsort(missing, kind="stable"):
            taken = min(int(-missing_rows[row]), int(whole[row, column]))
            whole[row, column] -= taken
            missing_rows[row] += taken
            missing[column] += taken
    for column in np.flatnonzero(missing < 0):
        for row in np.argsort(-whole[:, column], kind="stable"):
            taken = min(int(-missing[column]), int(whole[row, column]))
            whole[row, column] -= taken
            missing[column] += taken
            missing_rows[row] += taken
    for row in np.flatnonzero(missing_rows > 0):
        for column in np.flatnonzero(missing > 0):
            added = min(int(missing_rows[row]), int(missing[column]))
            whole[row, column] += added
            missing_rows[row] -= added
            missing[column] -= added
    assert not missing.any()
    assert not missing_rows.any()


def whole_joint(joint: Floats, total: int, ways: int) -> Ints:
    """A joint table of whole numbers with this sum, whose margins are near.

    Margins are the tables of `ways` axes. Rounded totals along the cells, in order, make the
    numbers of the first axes right within one. Then single rows are moved to where margins lack
    most, from where they have too many, while this makes their squared distance smaller.
    """
    flat = np.concatenate([[0.0], np.cumsum(joint.ravel())])
    ends = np.minimum(np.floor(flat * (total / max(flat[-1], TINY)) + 0.5).astype(np.int64), total)
    ends[-1] = total
    whole: Ints = np.diff(ends).reshape(joint.shape)
    tops: list[Table] = [*combinations(range(joint.ndim), ways)]
    lacking = joint - whole
    away = {top: margin(lacking[None], top)[0] for top in tops}
    for _ in range(min(4 * total, MAX_MOVED // max(joint.size * len(tops), 1))):
        lacking = np.zeros(joint.shape)
        for top, distance in away.items():
            shape = [size if axis in top else 1 for axis, size in enumerate(joint.shape)]
            lacking += distance.reshape(shape)
        target = np.unravel_index(int(lacking.argmax()), joint.shape)
        source = np.unravel_index(int(np.where(whole > 0, lacking, np.inf).argmin()), joint.shape)
        differing = sum(any(target[axis] != source[axis] for axis in top) for top in tops)
        # Moving one row changes the sum of squared distances by this, over two.
        if lacking[target] - lacking[source] <= differing:
            break
        whole[target] += 1
        whole[source] -= 1
        for top, distance in away.items():
            distance[tuple(target[axis] for axis in top)] -= 1
            distance[tuple(source[axis] for axis in top)] += 1
    return whole


def whole_margins(joint: Floats, total: int, tables: Sequence[Table]) -> list[Ints]:
    """Whole numbers for these tables of one group, flat, which agree with each other.

    Tables of two axes are rounded to whole tables of one axis; tables of more are those of one
    whole joint table.
    """
    ways = max(map(len, tables))
    if ways > 2:
        whole = whole_joint(joint, total, ways)
        counts: Floats = whole[None].astype(np.float64)
        return [margin(counts, table).astype(np.int64).ravel() for table in tables]
    totals = np.array([total])
    singles = [whole_parts(margin(joint[None], (axis,)), totals)[0] for axis in range(joint.ndim)]
    found: list[Ints] = []
    for table in tables:
        if len(table) == 2:
            first, second = (singles[axis] for axis in table)
            found.append(whole_table(margin(joint[None], table)[0], first, second).ravel())
        else:
            found.append(singles[table[0]] if table else totals)
    return found

"""Whole numbers near the numbers of tables that agree, so that these agree too.

Every total is the sum of its whole cells, and none is below zero. Numbers are rounded within one of
what they were wherever such a rounding exists for the given totals (Causey, Cox and Ernst 1985).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.statistics.tables.families import Families
from dpcli.statistics.tables.fitting import Table, margin

TINY = 1e-6
"""Numbers this near to a whole one count as whole."""

MAX_MOVED = 1 << 27
"""Cells that are looked at to move rows between cells of a joint table."""


def whole_parts(parts: Floats, totals: Ints) -> Ints:
    """Whole numbers with these sums, by group, each within one of its part.

    The parts of a group have about its total as their sum. The largest remainders are rounded up.
    """
    return Families([0] * parts.shape[1]).rounded_parts(parts, totals[:, None]).astype(np.int64)


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


def known_margin(known: Mapping[Table, Ints], table: Table, groups: int = 0) -> Ints | None:
    """A table as the margin of a known one, if that has all of its axes.

    Known tables have as many axes of `groups` before their own.
    """
    for own, numbers in known.items():
        if set(table) <= set(own):
            summed = tuple(at for at, axis in enumerate(own, groups) if axis not in table)
            margin_of_known: Ints = numbers.sum(axis=summed)
            return margin_of_known
    return None


def whole_margins(
    joint: Floats, total: int, tables: Sequence[Table], known: Mapping[Table, Ints]
) -> list[Ints]:
    """Whole numbers for these tables of one group, flat, which agree with each other.

    Tables of two axes are rounded to whole tables of one axis; tables of more are those of one
    whole joint table, made of one for each number of a known table.
    """
    ways = max(map(len, tables))
    if ways > 2:
        first = next(iter(known), ())
        moved = np.moveaxis(joint, first, range(len(first)))
        whole: Ints = np.zeros(moved.shape, np.int64)
        for cell in np.ndindex(moved.shape[: len(first)]):
            inner = moved[cell]
            own = int(known[first][cell]) if first else total
            near = max(min(ways - len(first), inner.ndim), 1)
            whole[cell] = whole_joint(inner, own, near)
        whole = np.moveaxis(whole, range(len(first)), first)
        counts: Floats = whole[None].astype(np.float64)
        return [margin(counts, table).astype(np.int64).ravel() for table in tables]
    totals = np.array([total])
    singles = list[Ints]()
    for axis in range(joint.ndim):
        fixed = known_margin(known, (axis,))
        parts = margin(joint[None], (axis,))
        singles.append(whole_parts(parts, totals)[0] if fixed is None else fixed)
    found: list[Ints] = []
    for table in tables:
        if (fixed := known_margin(known, table)) is not None:
            found.append(np.ravel(fixed))
        elif len(table) == 2:
            sums = (singles[axis] for axis in table)
            found.append(whole_table(margin(joint[None], table)[0], *sums).ravel())
        else:
            found.append(singles[table[0]] if table else totals)
    return found

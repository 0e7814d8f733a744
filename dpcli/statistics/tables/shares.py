"""The tables or effects to measure, and their shares of the loss.

Only public sizes decide: the number of labels of each column. A table is a set of columns, given
as indexes of sizes. Tables that are not measured are sums of the cells of others. The expected
squared error is that after all measured tables agree by generalized least squares, summed over the
cells of the wanted tables:

    sum over effects A of cost(A) / precision(A),
    cost(A) = prod (size - 1, axes of A) sum (1 / cells(T - A), wanted T with A),
    precision(A) = sum (precision of a cell of S / cells(S - A), measured S with A).

Here cells(T - A) is the number of cells along the axes of T that A lacks. Effects are explained in
`dpcli.statistics.tables.agreement`. The precision of a cell is the inverse of its variance: it
grows with the square of a share of epsilon, and with a share of rho.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations
from math import comb, inf, prod, sqrt
from typing import Any, TypeVar

from dpcli.numeric.arrays import Floats, np

N = TypeVar("N", int, float)

Table = tuple[int, ...]
"""The columns of a table or an effect: indexes of the sizes, in increasing order."""

Ways = tuple[int, ...]
"""How many columns wanted tables have, increasing; all tables of each number."""

Shares = tuple[tuple[Table, Fraction], ...]
"""The measured tables or effects with their shares, which sum to one."""

EPSILON, RHO = 2, 1
"""The precision of a cell grows with this power of the share of its table."""

MAX_RATIO = 0.98
"""Other tables are measured if their squared error over the wanted is below this."""

MAX_CELLS = 100_000
"""The most cells of the measured tables, unless the wanted tables have more."""

MAX_TERMS = 1_000_000
"""The greatest number of effects times tables for which shares are optimized.

With more, plans would take too long.
"""

ROUNDS = 60
"""Steps towards the best shares. None makes the expected error larger."""

MAX_EFFECTS = 1000
"""The most effects that are measured, unless there are nearly as many tables.

Each effect is a query, and a spec has at most 10,000.
"""

MIN_VARIANCE = 1e-100
"""The variance that stands for zero, because its inverse is needed."""

SHARE_UNITS = 1000
"""The units of the largest share; each share is a whole number of units."""

TOTAL_SHARE = 0.1
"""The share of a wanted total, which the errors of all cells would make tiny.

The numbers that people read have that total, and with it are nearer to the exact ones.
"""

USEFUL_UNITS = 2
"""A table with a smaller share is measured only if it is no sum of another."""


def count_cells(sizes: Iterable[int], ways: Ways) -> int:
    """The number of cells of all wanted tables together."""
    sums = _symmetric_sums(sizes, ways[-1])
    return sum(sums[count] for count in ways)


def wanted_tables(columns: int, ways: Ways) -> list[Table]:
    """Every table of as many columns as one of `ways`, as indexes below `columns`."""
    return [table for count in ways for table in combinations(range(columns), count)]


@lru_cache(maxsize=256)
def separate_design(sizes: tuple[int, ...], ways: Ways, power: int) -> Shares:
    """The wanted tables, measured one by one, with the best shares of epsilon or rho.

    `power` is `EPSILON` or `RHO`. A table with hardly any share is left out if it is a sum of a
    larger one.
    """
    _, tables, shares = _separate(sizes, ways, power)
    return _with_total(sizes, ways, power, _useful(tables, shares))


@lru_cache(maxsize=256)
def epsilon_design(sizes: tuple[int, ...], ways: Ways, groups: int) -> Shares:
    """The tables to measure in each group, with shares of epsilon that sum to one.

    Candidates are the wanted tables, one joint table, and tables of blocks: the columns are divided
    into blocks with about the same number of cells, and each table has as many blocks as the
    largest wanted tables have columns. So each wanted table is a sum of cells of a table of blocks.
    The candidate with the least expected error is taken, unless it has too many cells.
    """
    min_error, tables, shares = _separate(sizes, ways, EPSILON)
    max_cells = max(MAX_CELLS, groups * _cells_of(sizes, tables))
    # If the joint table, the first candidate, is a wanted one, it may be all that is needed.
    chosen, min_error = (tables, shares), min_error * (1 if ways[-1] == len(sizes) else MAX_RATIO)
    for count in range(max(ways[-1], 1), max(len(sizes), ways[-1] + 1)):
        candidate = _tables_of_blocks(_blocks(sizes, count), ways[-1])
        if groups * _cells_of(sizes, candidate) > max_cells:
            continue
        if not _can_optimize(sizes, ways, candidate):
            continue
        error, shares = _best_shares(sizes, ways, candidate, EPSILON)
        # Floats of equally good designs differ in their last digits: the first is taken.
        if error < min_error * (1 - 1e-9):
            chosen, min_error = (candidate, shares), error
    return _with_total(sizes, ways, EPSILON, _useful(*chosen))


def effects_design(
    sizes: tuple[int, ...], ways: Ways, table_square: float, square_of: Callable[[Table], float]
) -> Shares | None:
    """The effects to measure, with shares of rho that sum to one.

    None if the wanted tables are as good, or if there are too many effects.

    `table_square` is the square of the L2 sensitivity of a table, and `square_of` gives that of an
    effect, k(A). The precision of an effect is its share over k(A). So the expected squared error
    is the sum of cost(A) k(A)/share(A), which is least for shares in proportion to sqrt(cost(A)
    k(A)). If a row is added or removed, no Gaussian noise has a smaller one than all effects (Xiao,
    He, Zhang and Kifer 2023; the bound of Li and Miklau 2013). Tables have a larger one.
    """
    tables = sum(comb(len(sizes), count) for count in ways)
    if _count_effects(sizes, ways) > max(MAX_EFFECTS, tables * 5 // 4):
        return None
    effects, (separate, _, _) = _Effects.of(sizes, ways), _separate(sizes, ways, RHO)
    pairs = zip(effects.effects, effects.costs, strict=True)
    terms = [sqrt(cost * square_of(effect)) for effect, cost in pairs]
    if sum(terms) ** 2 >= MAX_RATIO * table_square * separate:
        return None
    if 0 in ways and terms[0]:
        terms[0] = max(terms[0], sum(terms[1:]) * TOTAL_SHARE / (1 - TOTAL_SHARE))
    return _with_shares(effects.effects, terms)


def expected_square(
    sizes: tuple[int, ...],
    ways: Ways,
    measured: Sequence[tuple[Table, float]],
    measured_effects: Sequence[tuple[Table, float]] = (),
) -> float:
    """The expected squared error of the wanted tables, summed over their cells.

    `measured` has each table with the variance of its cells, `measured_effects` each effect with
    the variance of its noisy numbers.
    """
    tables = [table for table, _ in measured]
    if not _can_optimize(sizes, ways, tables):
        # These are the wanted tables, with equal variances, as in `_separate`.
        return max(variance for _, variance in measured) * _sum_of_effects(sizes, ways)
    effects = _Effects.of(sizes, ways)
    precisions = np.array([1 / max(variance, MIN_VARIANCE) for _, variance in measured])
    single = np.zeros(len(effects.effects))
    indexes = {effect: index for index, effect in enumerate(effects.effects)}
    for effect, variance in measured_effects:
        single[indexes[effect]] = 1 / max(variance, MIN_VARIANCE)
    return effects.error(effects.parts(tables), precisions, single)


class _Effects:
    """The effects that the wanted tables contain, each with its `cost` in the error."""

    def __init__(self, sizes: tuple[int, ...], ways: Ways) -> None:
        self.sizes = sizes
        # An axis with one label has no effect.
        several = [index for index, size in enumerate(sizes) if size > 1]
        self.effects = [
            effect for count in range(ways[-1] + 1) for effect in combinations(several, count)
        ]
        self.costs = np.array([self._cost(effect, ways) for effect in self.effects])

    @staticmethod
    @lru_cache(maxsize=64)
    def of(sizes: tuple[int, ...], ways: Ways) -> _Effects:
        return _Effects(sizes, ways)

    def _cost(self, effect: Table, ways: Ways) -> float:
        own = [self.sizes[index] for index in effect]
        inverses = (1 / size for index, size in enumerate(self.sizes) if index not in effect)
        sums = _symmetric_sums(inverses, ways[-1] - len(effect))
        tables = sum(sums[count - len(effect)] for count in ways if count >= len(effect))
        return prod(size - 1.0 for size in own) * tables

    def parts(self, tables: Iterable[Table]) -> Floats:
        """For each effect A and table S, 1 / cells(S - A); zero if S lacks an axis of A.

        The shape is (effects, tables).
        """
        columns = []
        for table in tables:
            cells, inside = prod(self.sizes[index] for index in table), set(table)
            columns.append([
                prod(self.sizes[index] for index in effect) / cells if inside.issuperset(effect)
                else 0.0
                for effect in self.effects
            ])  # fmt: skip
        return np.array(columns).reshape(-1, len(self.effects)).T

    def error(self, parts: Floats, precisions: Floats, single: Floats | float = 0.0) -> float:
        """The expected squared error, for measured tables and effects.

        `parts` are those of these tables; `single` has the precision of each effect by itself.
        Infinite if an effect is neither measured nor in a measured table.
        """
        joint = (parts * precisions).sum(axis=1) + single
        return float((self.costs / joint).sum()) if joint.all() else inf


def _separate(
    sizes: tuple[int, ...], ways: Ways, power: int
) -> tuple[float, list[Table], list[float]]:
    """The expected squared error of the wanted tables, the tables, and their shares.

    The shares are the best ones. If there are too many tables, they are equal: with m tables, the
    error is then m^power times the sum over effects A of prod (size - 1, axes of A).
    """
    tables = wanted_tables(len(sizes), ways)
    if _can_optimize(sizes, ways, tables):
        error, shares = _best_shares(sizes, ways, tables, power)
        return error, tables, shares
    error = len(tables) ** power * _sum_of_effects(sizes, ways)
    return error, tables, [1 / len(tables)] * len(tables)


def _sum_of_effects(sizes: Sequence[int], ways: Ways) -> float:
    """The sum of prod (size - 1, axes of A) over all effects A."""
    return sum(_symmetric_sums([size - 1.0 for size in sizes], ways[-1]))


def _can_optimize(sizes: Sequence[int], ways: Ways, tables: Sequence[Table]) -> bool:
    return _count_effects(sizes, ways) * len(tables) <= MAX_TERMS


def _count_effects(sizes: Sequence[int], ways: Ways) -> int:
    several = sum(size > 1 for size in sizes)
    return sum(comb(several, count) for count in range(ways[-1] + 1))


def _symmetric_sums(numbers: Iterable[N], largest: int) -> list[N]:
    """The elementary symmetric sums of the numbers, of all degrees up to `largest`."""
    sums: list[Any] = [1] + [0] * largest
    for number in numbers:
        for count in range(largest, 0, -1):
            sums[count] += sums[count - 1] * number
    return sums


def _best_shares(
    sizes: tuple[int, ...], ways: Ways, tables: Sequence[Table], power: int
) -> tuple[float, list[float]]:
    """The least expected squared error found, and the shares that give it.

    With p the power and a(A, S) the `parts`, each round takes the shares w(S) that minimize
    sum C(S)/w(S)^p, where C(S) = sum cost(A) a(A, S) v(S)^2p / precision(A)^2 has the shares v of
    the round before. This sum is an upper bound on the error, with equality at the shares v (Cauchy
    and Schwarz). So no round makes the error larger, and the initial equal shares are never better.
    """
    effects, shares = _Effects.of(sizes, ways), np.full(len(tables), 1 / len(tables))
    parts = effects.parts(tables)
    for _ in range(ROUNDS if len(tables) > 1 else 0):
        precisions = shares**power
        joint = (parts * precisions).sum(axis=1)
        factors = (parts * (effects.costs / joint**2)[:, None]).sum(axis=0)
        shares = (factors * precisions**2) ** (1 / (power + 1))
        shares /= shares.sum()
    # A table that adds little is measured all the same: its columns may be in no other one.
    shares = np.maximum(shares, 1 / SHARE_UNITS**2)
    shares /= shares.sum()
    return effects.error(parts, shares**power), list(shares)


def _useful(tables: Sequence[Table], shares: Sequence[float]) -> Shares:
    """The tables with shares, but no table of tiny share that is a sum of another."""
    min_share = max(shares) * USEFUL_UNITS / SHARE_UNITS
    large = [set(table) for table, share in zip(tables, shares, strict=True) if share >= min_share]
    useful = [
        (table, share)
        for table, share in zip(tables, shares, strict=True)
        if share >= min_share or not any(wider.issuperset(table) for wider in large)
    ]
    return _with_shares([table for table, _ in useful], [share for _, share in useful])


def _with_total(sizes: Sequence[int], ways: Ways, power: int, shares: Shares) -> Shares:
    """Shares in which a wanted total has a tenth if that halves its variance."""
    tables = [table for table, _ in shares if table]
    if 0 not in ways or not tables:
        return shares
    cells = [prod(sizes[index] for index in table) for table in tables]
    left = [float(share) for table, share in shares if table]
    scale = (1 - TOTAL_SHARE) / sum(left)
    pairs = zip(cells, left, strict=True)
    summed = sum((scale * share) ** power / count for count, share in pairs)
    if TOTAL_SHARE**power < summed or dict(shares).get((), 0) >= TOTAL_SHARE:
        return shares
    return _with_shares([(), *tables], [TOTAL_SHARE, *(scale * share for share in left)])


def _with_shares(tables: Sequence[Table], shares: Sequence[float]) -> Shares:
    """Tables or effects with shares as exact fractions, equal if nearly equal."""
    max_share = max(shares)
    # Under change-one, the number of rows has no share, because it needs no noise.
    units = [max(1, round(SHARE_UNITS * share / max_share)) if share else 0 for share in shares]
    total = sum(units)
    return tuple(zip(tables, (Fraction(unit, total) for unit in units), strict=True))


def _blocks(sizes: Sequence[int], block_count: int) -> list[Table]:
    """The columns divided into blocks of about the same number of cells.

    Columns with the most labels come first; each joins the block with the fewest cells.
    """
    blocks: list[list[int]] = [[] for _ in range(block_count)]
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        min(blocks, key=lambda block: prod(sizes[inner] for inner in block)).append(index)
    return [tuple(block) for block in blocks if block]


def _tables_of_blocks(blocks: Sequence[Table], per_table: int) -> list[Table]:
    chosen: Iterator[Iterable[Table]] = combinations(blocks, min(per_table, len(blocks)))
    return sorted(tuple(sorted(chain.from_iterable(some))) for some in chosen)


def _cells_of(sizes: Sequence[int], tables: Iterable[Table]) -> int:
    return sum(prod(sizes[index] for index in table) for table in tables)

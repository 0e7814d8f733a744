"""Counts of several columns from rows counted by combinations of columns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import prod, sqrt

from dpcli.data.column import Column
from dpcli.data.filters import Filter
from dpcli.noise.distribution import Margin, Noise
from dpcli.noise.sums import summed_margin, weighted_margin
from dpcli.numeric.arrays import Array, integer_array, largest_magnitude, np, widened
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, indicator_sensitivity
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import Query
from dpcli.queries.sums import PlainSum, RowSums, Shape
from dpcli.statistics.counts.pairs import MAX_RELATIVE_DEVIATION
from dpcli.statistics.design import Design, Inputs, LinearDesign, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import Estimates

MAX_TESTS = 4
"""The most tests of a block: smaller blocks give counts with less noise."""

DECIMALS = 1
"""Decimals of counts from several blocks.

An interval with a whole number in it still has it if its ends are rounded.
"""


@dataclass(frozen=True, kw_only=True)
class QueryOfTests(Query):
    """Numbers of rows by group, by which of several tests are true for a row.

    Raises ValueError for private groups, and for items.
    """

    tests: tuple[Filter, ...]

    def __post_init__(self) -> None:
        if self.has_private_groups or self.items:
            raise ValueError("only public groups have counts of tests")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column that the query reads; those of the tests may be missing."""
        tested = (column for test in (*self.where, *self.tests) for column in test.columns)
        return tuple(dict.fromkeys((*self.required_columns, *tested)))

    @cached_property
    def groups(self) -> int:
        """The number of groups."""
        return prod(map(len, self.by))

    @cached_property
    def cells(self) -> int:
        return self.groups * self.cells_per_group

    @property
    def not_missing(self) -> frozenset[Column]:
        """The columns, except those of groups, that have a value in each counted row."""
        axes = {axis.column for axis in self.axes}
        return frozenset(column for column in self.present if column.missing is None) - axes


@dataclass(frozen=True, kw_only=True)
class CombinationQuery(QueryOfTests):
    """In each group and block of tests, the rows by combinations of true tests.

    The tests are divided in order into `blocks` of nearly equal sizes. A block of b tests has 2^b
    numbers: bit i of the index of a number says whether the test i of the block is true. Raises
    ValueError for private groups, unless each block has a test.

    Privacy: a row is in exactly one combination of each block, whatever its values are. So it adds
    one to m numbers for m blocks, and nothing to others: the table of `indicator_sensitivity` holds
    for this number of tests of which m are counted. Combinations are differences of numbers of rows
    for which some tests are true, whatever the others are. This is exact, and holds if a test is
    unknown for a row, which counts as not true.
    """

    blocks: int

    def __post_init__(self) -> None:
        if type(self.blocks) is not int or not 1 <= self.blocks <= len(self.tests):
            raise ValueError("each block has a test")
        super().__post_init__()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of tests of each block, the largest first."""
        return block_sizes(len(self.tests), self.blocks)

    @cached_property
    def cells_per_group(self) -> int:
        return sum(1 << size for size in self.sizes)

    @cached_property
    def row_contribution(self) -> RowContribution:
        """A row adds one to one number of each block."""
        return RowContribution(0, 1)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The sensitivity of all numbers together, as proven above."""
        unit, numbers = self.bounded_unit(relation.unit), self.cells_per_group
        return indicator_sensitivity(numbers, self.blocks, relation.neighbors, unit, self.groups)

    @property
    def shape(self) -> Shape:
        """For each set of tests of a block, the rows for which only these are true."""
        waiting, sums = list(self.tests), []
        for size in self.sizes:
            block, waiting = waiting[:size], waiting[size:]
            # For each set of tests, the rows for which at least these are true.
            at_least = [
                PlainSum((), (*self.where, *_chosen(block, index)), self.not_missing)
                for index in range(1 << size)
            ]
            sums += [
                tuple(
                    ((-1) ** (larger ^ index).bit_count(), rows)
                    for larger, rows in enumerate(at_least)
                    if larger & index == index
                )
                for index in range(1 << size)
            ]
        return RowSums(tuple(sums))

    def divided(self, numbers: Array) -> list[Array]:
        """The numbers of each block, from those of all, shape (groups, numbers)."""
        ends = accumulate(1 << size for size in self.sizes)
        return list(np.split(numbers, list(ends)[:-1], axis=1))


def _chosen(block: Sequence[Filter], index: int) -> tuple[Filter, ...]:
    """The tests of a block of which the index has the bits."""
    return tuple(test for bit, test in enumerate(block) if index >> bit & 1)


def _by_test(numbers: Array, bit: int) -> tuple[Array, Array]:
    """The numbers of a block, shape (groups, numbers), by one bit of their indexes."""
    split = numbers.reshape(len(numbers), -1, 2, 1 << bit)
    return split[:, :, 0], split[:, :, 1]


def block_sizes(tests: int, blocks: int) -> tuple[int, ...]:
    """Sizes of blocks of tests, nearly equal, the largest first."""
    least, larger = divmod(tests, blocks)
    return (least + 1,) * larger + (least,) * (blocks - larger)


def variance_of_rows(sizes: Sequence[int]) -> float:
    """The variance of the number of rows, if numbers have noise of variance one.

    It is the mean of those of the blocks, weighted by the inverse of their variances 2^b, so that
    it has the inverse of the sum of these weights.
    """
    return 1 / sum(2.0**-size for size in sizes)


def count_variance(sizes: Sequence[int]) -> float:
    """The mean variance of a count, if numbers have noise of variance one.

    The rows with a true test less all others have the variance 2^b, for a block of b tests. A count
    is half the sum of these and of the number of rows, whose noises are not correlated.
    """
    of_rows = variance_of_rows(sizes)
    return sum(size * (2.0**size + of_rows) for size in sizes) / (4 * sum(sizes))


@dataclass(frozen=True, kw_only=True)
class CountsFromCombinations(LinearDesign):
    """Counts from rows by combinations of tests, for shares of epsilon."""

    combinations: CombinationQuery

    @classmethod
    def of(
        cls, inputs: Inputs, tests: tuple[Filter, ...], plain: Query, relation: Relation
    ) -> tuple[Design, ...]:
        """The design with the best blocks, if it has less noise than `plain` counts."""
        count = len(tests)
        blocks = min(
            range(-(-count // MAX_TESTS), -(-count // 2) + 1),
            key=lambda blocks: blocks**2 * count_variance(block_sizes(count, blocks)),
        )
        query = CombinationQuery(by=inputs.by, where=inputs.where, tests=tests, blocks=blocks)
        deviation = query.sensitivity(relation).l1 * sqrt(count_variance(query.sizes))
        if deviation > MAX_RELATIVE_DEVIATION * plain.sensitivity(relation).l1:
            return ()
        how = (
            "rows are counted by combinations of the columns, and a count is the sum of the "
            "combinations with its column. One row is in a single combination"
            if blocks == 1
            else f"the columns are divided into {blocks:,} blocks, and rows are counted by "
            "combinations of the columns of each block. A count is half the sum of two numbers: "
            "the rows with its column less those without it, and all rows, a mean over the "
            "blocks. One row is in a single combination of each block"
        )
        reason = (
            f"{how}, so this needs less noise than separate counts; the counts of a group share a "
            "part of it"
        )
        queries = (WeightedQuery("combinations", query),)
        return (cls(inputs, queries, ("l1",), ("epsilon",), reason=reason, combinations=query),)

    @cached_property
    def _times(self) -> tuple[int, ...]:
        """The weight of the rows of each block in the number of rows, in whole numbers."""
        sizes = self.combinations.sizes
        return tuple(1 << (sizes[0] - size) for size in sizes)

    @cached_property
    def _unit(self) -> Fraction:
        """The step of the counts: whole numbers from a single block."""
        return Fraction(1, 2 * sum(self._times) if len(self._times) > 1 else 1)

    def expected_error(self, errors: Sequence[float]) -> float:
        return errors[0] * sqrt(count_variance(self.combinations.sizes))

    def error(
        self, noises: Sequence[Noise], confidence: Fraction, rows: Fraction | None = None
    ) -> Fraction:
        widths = (margin.width for margin in self._margins(noises[0], confidence))
        return max(widths) * self._unit

    def _margins(self, noise: Noise, confidence: Fraction) -> list[Margin]:
        """The margin of a count in each block, in steps of `_unit`."""
        sizes, times, rows = self.combinations.sizes, self._times, sum(self._times)
        if len(sizes) == 1:
            return [summed_margin(noise, 1 << (size - 1), confidence) for size in sizes]
        margins = {}
        for size, own in set(zip(sizes, times, strict=True)):
            # Numbers with the test, those without it, and those of the other blocks.
            half, others = 1 << (size - 1), [*zip(times, sizes, strict=True)]
            others.remove((own, size))
            terms = [(noise, rows + own, half), (noise, rows - own, half)]
            terms += [(noise, time, 1 << other) for time, other in others]
            margins[size] = weighted_margin(tuple(terms), confidence)
        return [margins[size] for size in sizes]

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        (answer,), query, divisor = answers, self.combinations, sum(self._times)
        largest = 4 * divisor * query.cells_per_group * largest_magnitude(answer.values)
        numbers = widened(answer.values, largest).reshape(-1, query.cells_per_group)
        blocks = query.divided(numbers)
        rows = sum(
            time * block.sum(axis=1) for time, block in zip(self._times, blocks, strict=True)
        )
        counts = [
            rows + divisor * (true.sum(axis=(1, 2)) - false.sum(axis=(1, 2)))
            for size, block in zip(query.sizes, blocks, strict=True)
            for false, true in (_by_test(block, bit) for bit in range(size))
        ]
        # Counts from a single block are whole numbers.
        values = np.stack(counts, axis=1) // int(2 * divisor * self._unit)
        margins = self._margins(answer.noise, confidence)
        each = [part for part, size in zip(margins, query.sizes, strict=True) for _ in range(size)]
        decimals = (0 if self._unit == 1 else DECIMALS,)
        return Estimates.around(integer_array(values.ravel()), each, self._unit, decimals)

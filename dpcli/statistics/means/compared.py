"""What a comparison compares: the numbers of each group, and pairs of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import itemgetter
from typing import TypeVar

from dpcli.data.column import Column
from dpcli.fields.statistic_fields import NUMERIC, FieldFault
from dpcli.numeric.arrays import Array, add_exact, clip_exact, divide_exact, multiply_exact, np
from dpcli.privacy.unit import Relation
from dpcli.statistics.design import Design, Inputs
from dpcli.statistics.estimates import ANY, NONNEGATIVE, SIGNED_PART, Estimates, Limits

PREVIOUS = "previous"
"""The value of `reference` by which a label is compared with the one before."""

RATIO_DECIMALS = 4
"""Printed decimals of the ratio of two groups."""

Value = TypeVar("Value")


class ComparedNumbers(ABC):
    """A number of each group that a comparison is about, such as its mean.

    Attributes:
        takes: Fields that it takes besides those of every comparison.
        fault: The code of the fault of a column without these numbers.
        adds_rows: Whether the numbers are counts or totals, or depend on them.
        has_index: Whether the ratio of only two groups is an index in percent.
    """

    takes: tuple[str, ...] = ("column",)
    fault: str = ""
    adds_rows: bool = True
    has_index: bool = False

    def has_numbers(self, column: Column | None) -> bool:
        """Whether a column has such numbers."""
        return True

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """The faults of inputs whose column has such numbers."""
        return ()

    @abstractmethod
    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """All designs that may answer the inputs of the comparison."""

    @abstractmethod
    def limits(self, inputs: Inputs) -> Limits:
        """The limits of the numbers."""

    @abstractmethod
    def unit(self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]) -> str:
        """The unit of the numbers."""

    @abstractmethod
    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        """How the numbers follow from noisy answers, and the least divisor of ratios."""


def is_number(column: Column | None) -> bool:
    """Whether a column has numbers that are no dates."""
    return column is not None and column.kind in NUMERIC


def of_groups(inputs: Inputs) -> Inputs:
    """The inputs of the compared statistic: the compared labels are the last key."""
    return replace(inputs, by=(*inputs.by, inputs.option("between")))


def pairs_of(inputs: Inputs) -> list[tuple[int, int]]:
    """The compared pairs of labels by position: the base, and the other one."""
    count = len(inputs.option("between"))
    previous = dict(inputs.options).get("reference") == PREVIOUS
    return [(at - 1 if previous else 0, at) for at in range(1, count)]


def limits_of_pairs(limits: Limits) -> tuple[Limits, Limits | None]:
    """The limits of differences and of ratios of numbers with these limits.

    Numbers that may be negative have no ratios.
    """
    low, high = limits
    difference = ANY if low is None or high is None else (low - high, high - low)
    if low is None or low < 0:
        return difference, None
    return difference, (low / high, high / low) if low and high else NONNEGATIVE


def by_item(
    inputs: Inputs, number: Value, difference: Value, ratio: Value | None
) -> tuple[Value, ...]:
    """For each item, what all numbers, all differences or all ratios have.

    None if there are no ratios.
    """
    count = len(inputs.option("between"))
    ratios = () if ratio is None else (ratio,) * (count - 1)
    return (*(number,) * count, *(difference,) * (count - 1), *ratios)


def rows_of_items(inputs: Inputs, rows: Array, limits: Limits) -> Array:
    """The noisy number of rows behind each item: of a pair, the smaller one.

    The `rows` are those of each group, and its number has `limits`, by which there are ratios.
    """
    by_group = rows.reshape(-1, len(inputs.option("between")))
    pairs = [np.minimum(by_group[:, base], by_group[:, other]) for base, other in pairs_of(inputs)]
    ratios = () if limits_of_pairs(limits)[1] is None else pairs
    found: Array = np.column_stack([by_group, *pairs, *ratios]).ravel()
    return found


def differences(inputs: Inputs, values: Sequence[Array]) -> list[tuple[Array, Array]]:
    """The difference of each pair, and the sizes with which half-widths are compared.

    A difference is near zero where two numbers are alike, and then no less precise.
    """
    found = []
    for base, other in pairs_of(inputs):
        change = add_exact(values[other], -values[base])
        both = add_exact(abs(values[base]), abs(values[other]))
        part = multiply_exact(both, SIGNED_PART.numerator) // SIGNED_PART.denominator
        found.append((change, np.maximum(abs(change), part)))
    return found


def with_value(estimates: Estimates, value: Array, sizes: Array) -> Estimates:
    """The estimates with other values, and sizes for their half-widths."""
    return replace(estimates, value=value, sizes=abs(sizes), raw=None)


def refined(items: Iterable[Estimates], step: Fraction) -> Estimates:
    """Items in the order of groups, then items, in steps that divide `step`."""
    return Estimates.interleaved([item.refined(step) for item in items])


def with_pairs(
    inputs: Inputs,
    numbers: Sequence[Estimates],
    compared: Sequence[Sequence[Estimates]],
    unit: Fraction,
    per: int = 1,
) -> Estimates:
    """The numbers of all groups, and the differences and ratios of pairs.

    `compared` has the intervals of each pair: of the difference, and of the ratio if there is one.
    The divisor of a ratio is at least one `unit`, and the ratio is printed `per` so many.
    """
    step = numbers[0].refined(compared[0][0].step).step
    values = [number.refined(step).value for number in numbers]
    items = [with_value(number, number.value, number.value) for number in numbers]
    changes = differences(inputs, values)
    for (found, *_), (change, sizes) in zip(compared, changes, strict=True):
        items.append(with_value(found.refined(step), change, sizes))
    for (_, *ratios), (base, other) in zip(compared, pairs_of(inputs), strict=True):
        for found in ratios:
            divisor = clip_exact(values[base], int(unit / step), None)
            ratio = divide_exact(values[other], divisor, int(per / step))
            items.append(with_value(found.refined(step), ratio, ratio))
    return refined(items, step)


def items_of(estimates: Estimates, count: int) -> list[Estimates]:
    """The estimates of each of `count` items, which take turns."""
    return [
        replace(
            estimates.map_numbers(itemgetter(slice(index, None, count))),
            status=estimates.status[index::count],
            decimals=(estimates.decimals[index % len(estimates.decimals)],),
            limits=(estimates.limits[index % len(estimates.limits)],),
            variances=(None,),
        )
        for index in range(count)
    ]

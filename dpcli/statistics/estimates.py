"""Published numbers and the intervals around them, as exact arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd
from typing import Any

from dpcli.numeric.arrays import Array, Bools, add_exact, integer_array, multiply_exact, np
from dpcli.numeric.exact import decimal_places, in_units_of_last_place

Limits = tuple[Fraction | None, Fraction | None]
"""The least and the greatest value that a number can have; None without limit."""

ANY: Limits = (None, None)

HAS_INTERVAL, NO_INTERVAL, UNBOUNDED, SUPPRESSED = range(4)
"""Whether a number has an interval, or none because no honest one is known, or because the noisy
answers do not bound the noise-free value, or is not shown at all."""


NUMBER_ARRAYS = ("value", "lower", "upper", "raw", "least", "most")
"""The arrays of whole numbers."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One published number, with its interval and its `raw` value if it has them."""

    value: Fraction | None
    lower: Fraction | None
    upper: Fraction | None
    places: int
    raw: Fraction | None = None
    item: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """The published numbers of an entry, group by group and item by item.

    All arrays but `items` hold whole numbers of `step`. `places` is how many decimals are printed
    of each item, or of all. Values are not rounded to them yet, but may be cut off far beyond
    them. `status` says which numbers have an interval, from `lower` to `upper`, and which are
    shown. `raw` are the values before they were brought into their range, `items` chosen
    categories. Public knowledge allows noise-free values from `least` to `most`.
    """

    step: Fraction
    places: tuple[int, ...]
    value: Array
    lower: Array
    upper: Array
    status: Array
    raw: Array | None = None
    items: Array | None = None
    least: Array | None = None
    most: Array | None = None

    @classmethod
    def around(cls, values: Array, widths: Array | int, unit: Fraction) -> Estimates:
        """Noisy answers in steps of `unit`, each with the interval of its own noise."""
        known = np.full(len(values), HAS_INTERVAL, np.int8)
        lower, upper = add_exact(values, -widths), add_exact(values, widths)
        return cls(unit, (decimal_places(unit),), values, lower, upper, known)

    @classmethod
    def chosen(
        cls, values: Array, unit: Fraction = Fraction(1), items: Array | None = None
    ) -> Estimates:
        """Choices, which have no interval."""
        nothing = np.full(len(values), NO_INTERVAL, np.int8)
        places = (decimal_places(unit),)
        return cls(unit, places, values, values, values, nothing, items=items)

    @classmethod
    def single(
        cls, numbers: Sequence[tuple[Fraction, Fraction]], places: Sequence[int]
    ) -> Estimates:
        """Few numbers, each with the margin of its interval."""
        step = common_step(*(part for number in numbers for part in number))
        values, margins = (
            integer_array([int(part / step) for part in parts])
            for parts in zip(*numbers, strict=True)
        )
        return replace(cls.around(values, margins, Fraction(1)), step=step, places=tuple(places))

    @classmethod
    def interleaved(cls, items: Sequence[Estimates]) -> Estimates:
        """The numbers of several items on one grid, group by group."""
        arrays: dict[str, Any] = {
            name: np.stack([getattr(item, name) for item in items], axis=1).ravel()
            for name in (*NUMBER_ARRAYS, "status")
            if getattr(items[0], name) is not None
        }
        return replace(items[0], places=tuple(item.places[0] for item in items), **arrays)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Estimate]:
        """The numbers one by one, where they are few."""
        for at, status in enumerate(self.status):
            value, lower, upper = (
                int(numbers[at]) * self.step for numbers in (self.value, self.lower, self.upper)
            )
            raw = self.value if self.raw is None else self.raw
            moved = None if raw[at] == self.value[at] else int(raw[at]) * self.step
            yield Estimate(
                None if status == SUPPRESSED else value,
                lower if status == HAS_INTERVAL else None,
                upper if status == HAS_INTERVAL else None,
                self.places[at % len(self.places)],
                moved,
                None if self.items is None else self.items[at],
            )

    def refined(self, *numbers: Fraction | None) -> Estimates:
        """The same on a grid that holds all these numbers as well."""
        step = common_step(self.step, *(number for number in numbers if number is not None))
        factor = int(self.step / step)
        if factor == 1:
            return self
        return replace(self.map_numbers(lambda numbers: multiply_exact(numbers, factor)), step=step)

    def shifted(self, by: Fraction) -> Estimates:
        """The same numbers counted from elsewhere."""
        fine = self.refined(by)
        steps = int(by / fine.step)
        return fine.map_numbers(lambda numbers: add_exact(numbers, steps))

    def map_numbers(self, change: Callable[[Array], Array]) -> Estimates:
        """The same with every whole number changed in the same way."""
        arrays = {name: getattr(self, name) for name in NUMBER_ARRAYS}
        changed: dict[str, Any] = {
            name: change(one) for name, one in arrays.items() if one is not None
        }
        return replace(self, **changed)

    def rounded(self, numbers: Array) -> list[Array]:
        """Numbers as they are printed, in units of their last decimal: for each of `places`."""
        count = len(self.places)
        return [
            in_units_of_last_place(numbers[at::count], self.step, places)
            for at, places in enumerate(self.places)
        ]

    def wider_than(self, share: Fraction) -> Bools:
        """Whether half the width of the interval is more than a share of the value's size.

        Both are taken as they are printed. An interval that knows no bound is wider than any
        share.
        """
        wider = np.empty(len(self), np.bool_)
        every = (self.value, self.lower, self.upper)
        for at, (value, lower, upper) in enumerate(zip(*map(self.rounded, every), strict=True)):
            half = multiply_exact(abs(value), 2 * share.numerator)
            wider[at :: len(self.places)] = multiply_exact(upper - lower, share.denominator) > half
        found: Bools = (wider & (self.status == HAS_INTERVAL)) | (self.status == UNBOUNDED)
        return found

    def suppressed(self, where: Bools) -> Estimates:
        """The same without some of the numbers."""
        return replace(self, status=np.where(where, SUPPRESSED, self.status))

    @property
    def before_postprocessing(self) -> Estimates:
        """What noise made of each number, before anything else was done to it."""
        if self.raw is None:
            return self
        # The interval was brought into the range as well, and holds no number outside it.
        lost = (self.raw != self.value) & (self.status == HAS_INTERVAL)
        return replace(self, value=self.raw, status=np.where(lost, NO_INTERVAL, self.status))


def common_step(*numbers: Fraction) -> Fraction:
    """The greatest number of which all of these are whole multiples; one if all are zero."""
    found = Fraction(0)
    for number in numbers:
        above = gcd(found.numerator * number.denominator, number.numerator * found.denominator)
        found = Fraction(above, found.denominator * number.denominator)
    return found or Fraction(1)

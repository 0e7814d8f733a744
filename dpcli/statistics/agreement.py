"""Tables of the same rows, brought to agree on all totals that they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil, prod
from typing import TYPE_CHECKING

from dpcli.privacy.noise import Noise
from dpcli.privacy.tails import blended_half_width
from dpcli.statistics.base import Answer

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    # Exact rationals.
    Rationals = NDArray[Any]

Axes = tuple[int, ...]

SURE = Fraction(1, 1 << 100)
"""The variance that stands for none."""


def agreed(
    tables: Sequence[Axes],
    sizes: tuple[int, ...],
    answers: Sequence[Answer],
    groups: int,
    confidence: Fraction,
) -> Iterator[tuple[Fraction, Fraction]]:
    """Every cell's agreed count with the half-width of its interval, group by group.

    `tables` name the axes of each table, `sizes` the labels of each axis; each cell of a
    table has independent noise of one variance. A table is the sum of its effects: the
    mean, what each axis adds to it, what each two add beyond that, and so on. Effects of
    different axes are uncorrelated, so generalised least squares takes for each the mean of
    the tables that tell it, weighted by the inverse of the variance it has there.
    """
    import numpy as np

    blend = _Blend(tables, sizes, [answer.noise for answer in answers])
    widths = [blend.half_width(place, confidence) for place in range(len(tables))]
    for group in range(groups):
        effects: dict[Axes, Rationals] = {}
        for place, (axes, answer) in enumerate(zip(tables, answers, strict=True)):
            shape = [sizes[axis] for axis in axes]
            width = prod(shape)
            counts = map(Fraction, answer.values[group * width : (group + 1) * width])
            table = np.array(list(counts), dtype=object).reshape(shape)
            for inner, effect in _effects(table, axes).items():
                weighted = effect * blend.weight(inner, place)
                effects[inner] = effects[inner] + weighted if inner in effects else weighted
        for place, axes in enumerate(tables):
            whole = np.zeros([sizes[axis] for axis in axes], dtype=object)
            for inner in _inner(axes):
                whole = whole + _spread(effects[inner], inner, axes, sizes)
            yield from ((Fraction(value), widths[place]) for value in whole.ravel())


def _inner(axes: Axes) -> Iterator[Axes]:
    """Every choice of some of the axes, none of them and all of them included."""
    for count in range(len(axes) + 1):
        yield from combinations(axes, count)


def _effects(table: Rationals, axes: Axes) -> dict[Axes, Rationals]:
    """What each choice of axes adds to the totals over the axes that it leaves out."""
    sizes = dict(zip(axes, table.shape, strict=True))
    found: dict[Axes, Rationals] = {}
    for inner in _inner(axes):
        out = tuple(place for place, axis in enumerate(axes) if axis not in inner)
        effect: Rationals = table.sum(axis=out)
        for smaller in _inner(inner):
            if smaller != inner:
                effect = effect - _spread(found[smaller], smaller, inner, sizes)
        found[inner] = effect
    return found


def _spread(
    effect: Rationals, inner: Axes, axes: Axes, sizes: Mapping[int, int] | Sequence[int]
) -> Rationals:
    """An effect, divided evenly among the cells of the axes that it lacks."""
    import numpy as np

    shape = [sizes[axis] if axis in inner else 1 for axis in axes]
    # Arithmetic with the total of a whole table leaves a bare number.
    evenly: Rationals = np.asarray(effect, dtype=object).reshape(shape) / Fraction(
        prod(sizes[axis] for axis in axes if axis not in inner)
    )
    return evenly


class _Blend:
    """How much of each table is in each effect, and how sure that makes a cell."""

    def __init__(
        self, tables: Sequence[Axes], sizes: Sequence[int], noises: Sequence[Noise]
    ) -> None:
        self._tables, self._sizes, self._noises = tables, sizes, noises
        # A table that no unit can change is exact: its weight is very large.
        self._variances = [noise.variance or SURE for noise in noises]

    def _precision(self, inner: Axes, place: int) -> Fraction:
        """The inverse of the variance of a total over these axes, in one table."""
        others = [axis for axis in self._tables[place] if axis not in inner]
        return 1 / (self._variances[place] * prod(self._sizes[axis] for axis in others))

    def _precisions(self, inner: Axes) -> Fraction:
        """The same in all tables that tell these axes, together."""
        places = range(len(self._tables))
        telling = (at for at in places if set(inner) <= set(self._tables[at]))
        return sum((self._precision(inner, at) for at in telling), start=Fraction(0))

    def weight(self, inner: Axes, place: int) -> Fraction:
        """The part that one table has in the effect of these axes."""
        return self._precision(inner, place) / self._precisions(inner)

    def half_width(self, place: int, confidence: Fraction) -> Fraction:
        """The half-width of the interval of each cell of a table, in hundredths, up."""
        axes = self._tables[place]
        variance, own = Fraction(0), Fraction(0)
        for inner in _inner(axes):
            part = prod((1 - Fraction(1, self._sizes[axis]) for axis in inner), start=Fraction(1))
            cells = prod(self._sizes[axis] for axis in axes if axis not in inner)
            variance += part / self._precisions(inner) / cells**2
            own += part * self.weight(inner, place) / cells
        width = blended_half_width(self._noises[place], float(own), float(variance), confidence)
        return Fraction(ceil(width * 100), 100)

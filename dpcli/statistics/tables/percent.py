"""Counts as percent of a noisy total: of all, of a row or of a column.

A number x is one of the parts of a total t. Whatever the noise-free share q is, x - q t of the
noisy numbers is noise alone, of a known distribution. So the interval has every q for which
x - q t lies within the margin of that noise (Fieller 1954), also where t may be zero.

Privacy: a function of the noisy counts, and of the number of rows where that is public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Annotated, ClassVar

from pydantic import Field

from dpcli.data.column import Column
from dpcli.fields.statistic_fields import FieldFault
from dpcli.fields.values import Choice
from dpcli.noise.distribution import Noise
from dpcli.noise.sums import blended_half_width, weighted_margin
from dpcli.numeric.arrays import (
    Array,
    Floats,
    clip_exact,
    divide_exact,
    integer_array,
    largest_magnitude,
    np,
    widened,
)
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.statistics.counts.known_sum import ROWS, sum_is_public
from dpcli.statistics.design import (
    Design,
    DesignOf,
    Inputs,
    NoiseOfNumbers,
    NoisyAnswer,
    Queries,
    WeightedQuery,
)
from dpcli.statistics.estimates import Estimates, Limits
from dpcli.statistics.intervals import ROUNDED_BELOW, FiducialInterval, Printed
from dpcli.statistics.statistic import NumbersMeasure, Statistic, public_groups

TOTAL, ROW, COLUMN = "total", "row", "column"

Percent = Annotated[
    str, Choice("unknown-percent", (TOTAL, ROW, COLUMN)), Field(examples=[TOTAL, ROW])
]

PERCENT = (Fraction(0), Fraction(100))

PRINTED = Printed(Fraction(100), 4, PERCENT)
"""Percent, with the digits of a `proportion` with `per: 100`."""

PARTS_OF_SHARE = 128
"""Margins are computed for whole multiples of one over this, and interpolated."""

TRIED = (0, 1, 2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 120, 124, 126, 127, 128)
"""The multiples: more of them where margins bend."""

Table = tuple[int, int]
"""The rows and the columns of a table of counts."""

_SUMMED = {TOTAL: (1, 2), ROW: (2,), COLUMN: (1,)}
"""The axes of (tables, rows, columns) over which a total sums."""

DERIVATIONS = {
    TOTAL: "the sum of all noisy counts of the table",
    ROW: "the sum of the noisy counts of its row",
    COLUMN: "the sum of the noisy counts of its column",
}

PUBLIC = "the number of rows is public, so the total has no noise"


@dataclass(frozen=True, slots=True)
class PartNoise:
    """The noise of x - q t, if x is one of `parts` numbers of which t is the sum.

    `variance`, `of_total` and `fourth` are the variances of x and of t, and the fourth cumulant of
    x. If there is a `noise`, a number is the sum of `own` independent cells with it.
    """

    parts: int
    variance: float
    of_total: float
    fourth: float = 0.0
    noise: Noise | None = None
    own: int = 1

    @classmethod
    def of_cells(cls, noise: Noise, own: int, parts: int) -> PartNoise:
        """That of sums of `own` cells each."""
        variance, fourth = own * noise.discrete_variance, own * noise.fourth_cumulant(1.0)
        return cls(parts, variance, parts * variance, fourth, noise, own)

    def margins(self, confidence: Fraction) -> Floats:
        """The margin of x - q t for each tried q, in steps."""
        if self.noise is not None and self.noise.scale < ROUNDED_BELOW:
            # That numbers are whole matters.
            return _exact_margins(self.noise, self.own, self.parts, confidence)
        shares = np.array(TRIED) / PARTS_OF_SHARE
        variance = self.variance + (shares**2 - 2 * shares / self.parts) * self.of_total
        fourth = self.fourth * ((1 - shares) ** 4 + (self.parts - 1) * shares**4)
        # Of one part, x - t is zero.
        return np.array(blended_half_width(fourth, np.maximum(variance, NEAR_ZERO), confidence))


NEAR_ZERO = 1e-12
"""The variance that stands for zero, because its inverse is needed."""


@lru_cache(maxsize=256)
def _exact_margins(noise: Noise, own: int, parts: int, confidence: Fraction) -> Floats:
    def margin(share: int) -> float:
        weights = (PARTS_OF_SHARE - share, own), (share, own * (parts - 1))
        terms = tuple((noise, weight, count) for weight, count in weights if weight and count)
        return weighted_margin(terms, confidence).width / PARTS_OF_SHARE

    return np.array([margin(share) for share in TRIED])


NoisesOf = Callable[[Sequence[NoisyAnswer], bool], Iterable[PartNoise]]
"""The noise of the numbers of each table, or of consistent ones if it is true."""


@dataclass(frozen=True, kw_only=True)
class Shares(DesignOf):
    """Percent of the noisy totals of `tables`, from the counts of the design `of`.

    A table has some rows and columns. If the total is public, it is the last answer.
    """

    percent: str
    tables: tuple[Table, ...]
    noises_of: NoisesOf | None = None
    is_public: bool = False
    counts_rows: bool = True

    has_typical = True

    @property
    def raw_design(self) -> Design:
        """That of the counts, which add up."""
        return self.of

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        reason = self.of.sentences(noises, confidence)
        return (*reason, PUBLIC) if self.is_public else reason

    def typical_answers(self, noises: Sequence[Noise], rows: Fraction) -> list[NoisyAnswer]:
        """Counts of groups and items of equal size."""
        total, answers = rows * self.inputs.groups, []
        for part, noise in zip(self.queries, noises, strict=True):
            count = part.query.cells or 1
            # What is centered is zero.
            size = round(total / count) if part.query.sum_of_row else 0
            answers.append(NoisyAnswer(integer_array([size] * count), noise))
        return answers

    def noisy_rows(self, answers: Sequence[NoisyAnswer]) -> Array:
        """The counts themselves, without those of a rest of rows."""
        counts = self.of.estimate(answers[: len(self.of.queries)], Fraction(1, 2))
        return integer_array(np.floor(counts.value * float(counts.step)))

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        counts = self.of.estimate(answers[: len(self.of.queries)], confidence)
        return self._shares(counts, answers, confidence, consistent=False)

    def make_consistent(
        self, answers: Sequence[NoisyAnswer], estimates: Estimates, confidence: Fraction
    ) -> Estimates:
        counts = self.of.make_consistent(answers, estimates, confidence)
        return self._shares(counts, answers, confidence, consistent=True)

    def _margins(
        self,
        counts: Estimates,
        answers: Sequence[NoisyAnswer],
        confidence: Fraction,
        *,
        consistent: bool,
    ) -> Iterator[Floats]:
        """The margins of the numbers of each table, in counts."""
        step = float(counts.step)
        if self.noises_of is not None:
            yield from (one.margins(confidence) for one in self.noises_of(answers, consistent))
        elif self.is_public:
            yield np.full(len(TRIED), float(counts.upper[0] - counts.lower[0]) / 2 * step)
        else:
            parts = parts_of(self.tables[0], self.percent)
            yield PartNoise.of_cells(answers[0].noise, 1, parts).margins(confidence) * step

    def _shares(
        self,
        counts: Estimates,
        answers: Sequence[NoisyAnswer],
        confidence: Fraction,
        *,
        consistent: bool,
    ) -> Estimates:
        step, sizes = float(counts.step), list(map(prod, self.tables))
        tables = np.split(counts.value.reshape(-1, sum(sizes)), np.cumsum(sizes)[:-1], axis=1)
        margins, found = self._margins(counts, answers, confidence, consistent=consistent), []
        for shape, cells, margin in zip(self.tables, tables, margins, strict=True):
            numbers = widened(cells, largest_magnitude(cells) * sum(sizes))
            numbers = numbers.reshape(-1, *shape)
            total = numbers.sum(axis=_SUMMED[self.percent], keepdims=True)
            if self.is_public:
                total = answers[-1].values.reshape(-1, 1, 1) * round(1 / counts.step)
            total = np.broadcast_to(total, numbers.shape)
            floats = [one.astype(np.float64) * step for one in (numbers, total)]
            ends = share_ends(floats[0], floats[1], margin)
            found.append([one.reshape(cells.shape) for one in (numbers, total, *ends)])
        number, total, lower, upper = (
            np.hstack(list(parts)).ravel() for parts in zip(*found, strict=True)
        )
        return _percent(number, total, (lower, upper), max(round(1 / counts.step), 1))


def _percent(number: Array, total: Array, ends: tuple[Array, Array], least: int) -> Estimates:
    """Percent of totals, which are at least the `least` one; ends are shares."""
    total = clip_exact(total, least, None)
    intervals = _KnownEnds(number / total, *ends)
    estimates = intervals.estimates(PRINTED)
    factor = PRINTED.unit / estimates.step
    exact = divide_exact(number, total, int(factor))
    low, high = (int(end / estimates.step) for end in PERCENT)
    return replace(estimates, value=clip_exact(exact, low, high), raw=exact)


class _KnownEnds(FiducialInterval):
    """Intervals with these ends."""

    def __init__(self, *arrays: Array) -> None:
        self.values, self.lower, self.upper = (one.astype(np.float64)[None] for one in arrays)


def share_ends(number: Floats, total: Floats, margins: Floats) -> tuple[Floats, Floats]:
    """The least and the greatest share that fits each number and its total.

    `margins` are those of the tried shares, and in between no more than the interpolated ones.
    Beyond they stay as they are: if no share from 0 to 1 fits, the ends are beyond 0 or 1.
    """
    shares = np.array(TRIED) / PARTS_OF_SHARE
    distance = number[..., None] - shares * total[..., None]
    slope = np.maximum(total, 1.0)
    upper = _first_fit((distance + margins)[..., ::-1], shares[::-1], -slope)
    return _first_fit(margins - distance, shares, slope), upper


def _first_fit(excess: Floats, shares: Floats, slope: Floats) -> Floats:
    """Where `excess` stops to be negative, the first time in the order of `shares`.

    It is interpolated; before the first and after the last share it has this slope.
    """
    fits = excess >= 0
    index = np.where(fits.any(axis=-1), fits.argmax(axis=-1), len(shares) - 1)[..., None]
    before = np.maximum(index - 1, 0)
    inner, outer = (np.take_along_axis(excess, one, axis=-1)[..., 0] for one in (index, before))
    near, far = shares[index][..., 0], shares[before][..., 0]
    is_between = (outer < 0) & (inner >= 0)
    part = np.divide(inner, inner - outer, out=np.zeros_like(inner), where=is_between)
    found: Floats = np.where(is_between, near + (far - near) * part, near - inner / slope)
    return found


def parts_of(table: Table, percent: str) -> int:
    """How many numbers of a table have the same total."""
    rows, columns = table
    return {TOTAL: rows * columns, ROW: columns, COLUMN: rows}[percent]


class Percents(Statistic):
    """Counts as percent of the noisy total of all, of their row or of their column.

    Attributes:
        counts: The statistic that publishes the counts.
    """

    measure: ClassVar[NumbersMeasure] = "values"
    counts: ClassVar[Statistic]

    def tables(self, inputs: Inputs) -> tuple[Table, ...]:
        """The rows and columns of each table: groups and items, or keys and the last."""
        items = self.item_count(inputs)
        columns = items if self.item or not inputs.by else len(inputs.by[-1])
        return ((inputs.groups * items // columns, columns),)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterator[FieldFault]:
        """The faults of private groups, and of counts without the rows or columns."""
        yield from super().faults(inputs, relation)
        yield from public_groups(inputs)
        percent = inputs.option("percent")
        axes = [len(inputs.by), bool(self.item)]
        if inputs.margins:
            axes = [*inputs.ways[:1]]
        if sum(axes) < (1 if percent == TOTAL else 2):
            code = "percent-form.ways" if inputs.margins else "percent-form"
            yield FieldFault(code if sum(axes) else "percent-form.one", "percent", word=percent)
        elif not inputs.has_private_groups and 1 in self.parts(inputs):
            yield FieldFault("percent-form.whole", "percent", word=percent)

    def parts(self, inputs: Inputs) -> list[int]:
        """How many numbers have the same total, in each table of groups and items."""
        tables = () if inputs.margins else self.tables(inputs)
        return [parts_of(table, inputs.option("percent")) for table in tables]

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """The designs in which each count has noise of its own, at the same cost."""
        percent, tables, rows = inputs.option("percent"), self.tables(inputs), LinearQuery()
        found = []
        for design in self.counts.designs(replace(inputs, sample=None), relation):
            queries = design.queries
            is_public = sum_is_public(queries[0].query, relation) and percent == TOTAL
            if is_public and queries[-1].query != rows:
                queries = (*queries, WeightedQuery(ROWS, rows, Fraction(0), supports=True))
            if is_public or design.noise_of_numbers is NoiseOfNumbers.OWN:
                found.append(shares(design, queries, percent, tables, is_public=is_public))
        return tuple(found)

    def limits(self, inputs: Inputs) -> tuple[Limits, ...]:
        return (PERCENT,)

    def units(
        self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]
    ) -> tuple[str, ...]:
        return ("%",)

    def adds_rows(self, inputs: Inputs) -> bool:
        """True: shares depend on which rows are counted."""
        return True

    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        of = DERIVATIONS[inputs.option("percent")]
        return (*super().sentences(inputs), f"noisy count divided by {of} (at least 1)")


def shares(
    of: Design,
    queries: Queries,
    percent: str,
    tables: tuple[Table, ...],
    noises_of: NoisesOf | None = None,
    *,
    is_public: bool = False,
) -> Shares:
    """The design of shares of the counts of the design `of`."""
    return Shares.about(
        of, queries=queries, percent=percent, tables=tables, noises_of=noises_of,
        is_public=is_public,
    )  # fmt: skip

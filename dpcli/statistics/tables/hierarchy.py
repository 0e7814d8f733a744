"""Counts and sums at every level of a hierarchy, which agree.

A hierarchy is public: its leaves are labels or bins of a column, and each level but the first has a
parent for each of its parts. Each level is measured, and `tree` makes the numbers agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, sqrt
from typing import ClassVar

from dpcli.data.kinds import Axis
from dpcli.fields.statistic_fields import FieldFault
from dpcli.noise.distribution import Margin, Noise
from dpcli.noise.sums import blended_half_width
from dpcli.numeric.arrays import Array, integer_array, np
from dpcli.numeric.exact import decimal_places, rounded_text
from dpcli.privacy.unit import PersonUnit, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.nested import NestedQuery
from dpcli.queries.query import LinearQuery
from dpcli.statistics.design import Inputs, LinearDesign, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.postprocessing import PostProcessingStep, Whole
from dpcli.statistics.statistic import KeyColumn, Statistic, public_groups
from dpcli.statistics.tables.agreement import DECIMALS, NEAR_ZERO
from dpcli.statistics.tables.known import CONTRADICTION, contradicted, number_faults
from dpcli.statistics.tables.totals import ALL
from dpcli.statistics.tables.tree import UNKNOWN, TreeFit

REASON = (
    "the numbers of each level are measured, with a part of the loss for each level, and made to "
    "agree by least squares: each is the sum of its parts"
)

OF_PEOPLE = ". Rows of a person are limited once, at the lowest level, for all levels"


@dataclass(frozen=True, slots=True)
class Level:
    """A level of a hierarchy, and the index of the parent of each label.

    The first level has no parents.
    """

    name: str
    labels: tuple[str, ...]
    parents: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The levels of a column, the first with the fewest parts.

    Parts of the same number stand together. `leaf_of` has the index of the leaf of each label or
    bin of the `axis`. Levels below that of a row are called `totals`.
    """

    name: str
    axis: Axis
    levels: tuple[Level, ...]
    leaf_of: tuple[int, ...]
    totals: str = ALL

    def __str__(self) -> str:
        sizes = ", ".join(f"{len(level.labels):,} {level.name}" for level in self.levels)
        return f"{self.name} ({sizes})"

    @property
    def parents(self) -> list[tuple[int, ...]]:
        """The parents at each level but the first."""
        return [level.parents for level in self.levels[1:]]

    def parts_of(self, depth: int) -> tuple[int, ...]:
        """The index at a level of each label or bin of the axis."""
        found = np.array(self.leaf_of)
        for level in self.levels[:depth:-1]:
            found = np.array(level.parents)[found]
        return tuple(found.tolist())

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """The labels of each number, from the first level to its own."""
        found, above = list[tuple[str, ...]](), [tuple[str, ...]()]
        for level in self.levels:
            parents = level.parents or [0] * len(level.labels)
            pairs = zip(parents, level.labels, strict=True)
            above = [(*above[parent], label) for parent, label in pairs]
            found += above
        return found


@dataclass(frozen=True, slots=True)
class KnownNumbers:
    """Public numbers of parts: for each level, positions of parts and their numbers."""

    levels: tuple[tuple[tuple[int, Fraction], ...], ...]
    names: tuple[str, ...]

    def __str__(self) -> str:
        pairs = zip(self.names, self.levels, strict=True)
        return ", ".join(f"{len(known):,} of {name}" for name, known in pairs if known)

    def exceeded(self, hierarchy: Hierarchy) -> str:
        """The level of a number below the sum of its known parts, or no level."""
        least: dict[int, Fraction] = {}
        for depth in reversed(range(len(self.levels))):
            own, level = dict(self.levels[depth]), hierarchy.levels[depth]
            if any(least.get(at, 0) > number for at, number in own.items()):
                return level.name
            sums: dict[int, Fraction] = {}
            for at, number in (least | own).items() if level.parents else ():
                parent = level.parents[at]
                sums[parent] = sums.get(parent, Fraction(0)) + number
            least = sums
        return ""

    def is_whole(self, depth: int, hierarchy: Hierarchy) -> bool:
        """Whether all numbers of a level are known."""
        return len(self.levels[depth]) == len(hierarchy.levels[depth].labels)


@dataclass(frozen=True, kw_only=True)
class LevelTotals(LinearDesign):
    """A design that measures the numbers of each level, all in one `step`."""

    step: Fraction
    agrees: ClassVar[bool] = True

    @classmethod
    def of(
        cls, inputs: Inputs, role: str, leaves: LinearQuery, step: Fraction, relation: Relation
    ) -> LevelTotals:
        """The design for these numbers of leaves.

        A level that no neighbor changes has no share.
        """
        hierarchy, known = _hierarchy(inputs), _known(inputs)
        stated = dict(dict(inputs.options).get("level_shares", ()))
        found = []
        for depth, level in enumerate(hierarchy.levels):
            if known and known.is_whole(depth, hierarchy):
                continue
            query = NestedQuery(
                by=leaves.by, items=leaves.items, where=leaves.where, present=leaves.present,
                of=leaves, sum_of_cell=hierarchy.parts_of(depth),
            )  # fmt: skip
            is_free = not query.sensitivity(relation).l1
            share = Fraction(0) if is_free else stated.get(level.name, Fraction(1))
            found.append(WeightedQuery(f"{role} by {level.name}", query, share, step))
        total = sum(part.weight for part in found)
        queries = tuple(replace(part, weight=part.weight / (total or 1)) for part in found)
        reason = REASON + OF_PEOPLE * isinstance(relation.unit, PersonUnit)
        return cls(inputs, queries, reason=reason, step=step)

    @property
    def _hierarchy(self) -> Hierarchy:
        return _hierarchy(self.inputs)

    def _errors(self, errors: Sequence[float]) -> list[float]:
        """The errors of the numbers that agree, by level (root mean square)."""
        fit = self._fit([(error**2, 0.0) for error in errors])
        return [sqrt(variances.mean()) for variances in fit.variances]

    def expected_error(self, errors: Sequence[float]) -> float:
        each = self._errors(errors)
        sizes = [len(level.labels) for level in self._hierarchy.levels]
        pairs = zip(sizes, each, strict=True)
        return sqrt(sum(size * error**2 for size, error in pairs) / sum(sizes))

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        margins = self._margins(self._fit(map(_moments, noises)), confidence)
        return Fraction(max(margin.width for margin in margins), 10**DECIMALS) * self.step

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        stated = [sqrt(noise.discrete_variance) * float(self.step) for noise in noises]
        errors = (rounded_text(Fraction(error), 3) for error in self._errors(stated))
        named = zip(self._hierarchy.levels, errors, strict=True)
        listed = ", ".join(f"{error} for {level.name}" for level, error in named)
        return (
            self.reason,
            f"once they agree, the expected error of a number is {listed} (root mean square)",
        )

    @property
    def _depths(self) -> list[int]:
        """The levels that are measured: those with numbers that are not known."""
        hierarchy, known = self._hierarchy, _known(self.inputs)
        every = range(len(hierarchy.levels))
        return [at for at in every if not (known and known.is_whole(at, hierarchy))]

    def _measured(self, answers: Sequence[NoisyAnswer], *, known: bool = True) -> list[Array]:
        """The noisy or known numbers of each level, in steps, shape (groups, numbers)."""
        by_level = dict(zip(self._depths, answers, strict=True))
        groups, found = self.inputs.groups, []
        for depth, level in enumerate(self._hierarchy.levels):
            size = len(level.labels)
            answer = by_level.get(depth)
            found.append(
                np.zeros((groups, size), dtype=object)
                if answer is None
                else answer.values.astype(object).reshape(-1, size)
            )
            for at, number in self._known_of(depth) if known else ():
                found[-1][:, at] = int(number / self.step)
        return found

    def _known_of(self, depth: int) -> tuple[tuple[int, Fraction], ...]:
        known = _known(self.inputs)
        return known.levels[depth] if known else ()

    def _fit(self, noises: Iterable[tuple[float, float]], *, known: bool = True) -> TreeFit:
        """The fit of what is measured, by the moments of its noise, and known."""
        by_level, found = dict(zip(self._depths, noises, strict=True)), []
        for depth, level in enumerate(self._hierarchy.levels):
            variance, fourth = by_level.get(depth, (UNKNOWN, 0.0))
            moments = [[max(variance, NEAR_ZERO)], [fourth]]
            own = np.repeat(np.array(moments), len(level.labels), axis=1)
            if known:
                own[:, [at for at, _ in self._known_of(depth)]] = [[NEAR_ZERO], [0.0]]
            found.append(own)
        return TreeFit(self._hierarchy.parents, found)

    def shown_incomplete(self, answers: Sequence[NoisyAnswer]) -> str:
        """That a known number is none that noise explains."""
        if _known(self.inputs) is None:
            return ""
        moments = [_moments(answer.noise) for answer in answers]
        fit = self._fit(moments, known=False)
        found = fit.rounded(self._measured(answers, known=False), self.step * 10**DECIMALS)
        every = [len(self._known_of(depth)) for depth in range(len(found))]
        confidence, start = 1 - CONTRADICTION / sum(every), 0
        for depth, numbers in enumerate(found):
            widths = float(self.step) * blended_half_width(
                fit.fourth_cumulants[depth], fit.variances[depth], confidence
            )
            for at, number in self._known_of(depth):
                noisy = Fraction(int(numbers[0, at]), 10**DECIMALS)
                if abs(noisy - number) > widths[at] + 1:
                    name = self._hierarchy.paths[start + at][-1]
                    return contradicted(name, noisy, number, Fraction(widths[at]))
            start += len(self._hierarchy.levels[depth].labels)
        return ""

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        fit, units = self._fit(_moments(answer.noise) for answer in answers), 10**DECIMALS
        levels, unit = fit.rounded(self._measured(answers), Fraction(units)), self.step / units
        values, margins = integer_array(np.hstack(levels).ravel()), self._margins(fit, confidence)
        return Estimates.around(values, margins, unit, (decimal_places(unit),))

    @staticmethod
    def _margins(fit: TreeFit, confidence: Fraction) -> list[Margin]:
        """The margins of the numbers of a group, in printed decimals of a step."""
        variances, units = np.concatenate(fit.variances), 10**DECIMALS
        widths = blended_half_width(np.concatenate(fit.fourth_cumulants), variances, confidence)
        # Rounding moves a number by less than one unit.
        return [
            Margin(ceil(width * units) + 1 if width > 1 / units else 0, variance * units**2)
            for width, variance in zip(widths.tolist(), variances.tolist(), strict=True)
        ]

    def make_additive(
        self, answers: Sequence[NoisyAnswer], units: int, *, nonnegative: bool
    ) -> Array:
        fit, measured = self._fit(_moments(one.noise) for one in answers), self._measured(answers)
        make = fit.nonnegative if nonnegative else fit.rounded
        return integer_array(np.hstack(make(measured, units * self.step)).ravel())


class Levels(Statistic):
    """What counts and sums at all levels of a hierarchy share."""

    adds_up = True
    default_steps = ("consistent",)
    item = "part"

    def level_totals(self, inputs: Inputs, counts: LinearQuery, relation: Relation) -> LevelTotals:
        """The design of these numbers, without groups, at all levels."""
        leaves = replace(counts, items=(_hierarchy(inputs).axis,))
        return LevelTotals.of(inputs, self.name, leaves, self.step(inputs), relation)

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        names = [level.name for level in _hierarchy(inputs).levels]
        return tuple(
            "; ".join(f"{name}={label}" for name, label in zip(names, path, strict=False))
            for path in _hierarchy(inputs).paths
        )

    def key_columns(self, inputs: Inputs) -> tuple[KeyColumn, ...]:
        """A column for each level, with the label of totals below a number."""
        levels, totals = _hierarchy(inputs).levels, _hierarchy(inputs).totals
        full = [(*path, *[totals] * (len(levels) - len(path))) for path in _hierarchy(inputs).paths]
        return tuple(zip((level.name for level in levels), zip(*full, strict=True), strict=True))

    def total_label(self, inputs: Inputs) -> str:
        return _hierarchy(inputs).totals

    def item_count(self, inputs: Inputs) -> int:
        return sum(len(level.labels) for level in _hierarchy(inputs).levels)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterator[FieldFault]:
        """Faults of groups, of levels that are not there, and of fields for other tables."""
        yield from super().faults(inputs, relation)
        yield from public_groups(inputs)
        names = [level.name for level in _hierarchy(inputs).levels]
        taken = {*names, _hierarchy(inputs).axis.column.name}
        for axis in inputs.by:
            if axis.column.name in taken:
                yield FieldFault("hierarchy-entry.by", "by", column=axis.column.name)
        options = dict(inputs.options)
        for name, _ in options.get("level_shares", ()):
            if name not in names:
                yield FieldFault("hierarchy-entry", "level_shares", word=name, choices=names)
        yield from self._known_faults(inputs)
        for key in ("percent", "rate", "totals"):
            if options.get(key):
                yield FieldFault("hierarchy-entry.other", key, key=key)

    def _known_faults(self, inputs: Inputs) -> Iterator[FieldFault]:
        """Faults of known numbers next to other fields."""
        known, hierarchy, step = _known(inputs), _hierarchy(inputs), self.step(inputs)
        if known is None:
            return
        if inputs.by:
            yield FieldFault("known-number.by", "known")
        if known.is_whole(len(hierarchy.levels) - 1, hierarchy):
            yield FieldFault("known-number.all", "known")
        low, _ = self.limits(inputs)[0]
        numbers = [number for level in known.levels for _, number in level]
        faults = [*number_faults(numbers, step, low)]
        yield from faults
        if low == 0 and not faults and (level := known.exceeded(hierarchy)):
            yield FieldFault("known-number.more", "known", level=level)

    def step_faults(
        self, inputs: Inputs, steps: Sequence[PostProcessingStep]
    ) -> Iterator[FieldFault]:
        """The fault of a step without negative numbers for signed sums."""
        low, _ = self.limits(inputs)[0]
        if low != 0 and any(step.name == Whole.name for step in steps):
            yield FieldFault("hierarchy-entry.negative", "post")


def _moments(noise: Noise) -> tuple[float, float]:
    return noise.discrete_variance, noise.fourth_cumulant(1)


def _known(inputs: Inputs) -> KnownNumbers | None:
    known: KnownNumbers | None = dict(inputs.options).get("known")
    return known


def _hierarchy(inputs: Inputs) -> Hierarchy:
    hierarchy: Hierarchy = inputs.option("hierarchy")
    return hierarchy

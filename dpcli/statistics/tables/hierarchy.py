"""Counts and sums at every level of a hierarchy, which agree.

A hierarchy is public: its leaves are labels or bins of a column, and each level but the first has a
parent for each of its parts. Each level is measured, and `tree` makes the numbers agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, inf, prod, sqrt
from operator import lt
from typing import ClassVar

from dpcli.data.kinds import Axis
from dpcli.fields.statistic_fields import FieldFault
from dpcli.noise.distribution import Margin, Noise
from dpcli.noise.sums import blended_half_width, summed_margin
from dpcli.numeric.arrays import Array, Ints, integer_array, np
from dpcli.numeric.exact import decimal_places, rounded_text
from dpcli.privacy.unit import PersonUnit, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.nested import NestedQuery
from dpcli.queries.query import LinearQuery
from dpcli.statistics.design import Inputs, LinearDesign, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.postprocessing import PostProcessingStep, Whole
from dpcli.statistics.statistic import KeyColumn, Statistic, public_groups
from dpcli.statistics.tables.additive import FIT_BITS
from dpcli.statistics.tables.agreement import DECIMALS, NEAR_ZERO
from dpcli.statistics.tables.known import CONTRADICTION, can_meet, contradicted, number_faults
from dpcli.statistics.tables.totals import ALL
from dpcli.statistics.tables.tree import UNKNOWN, TreeFit
from dpcli.statistics.tables.two_trees import ProductFit

REASON = (
    "the numbers of each level are measured, with a part of the loss for each level, and made to "
    "agree by least squares: each is the sum of its parts"
)

PAIRS = "all pairs of levels"

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

    def size(self, depth: int) -> int:
        """The number of parts of a level."""
        return len(self.levels[depth].labels)

    def above(self, depth: int, top: int) -> Ints:
        """The index at the level `top` of each part of a level at or below it."""
        found: Ints = np.arange(self.size(depth))
        for level in self.levels[depth:top:-1]:
            found = np.array(level.parents)[found]
        return found

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
    """Public numbers of parts: for each level, positions of parts and their numbers.

    Of two hierarchies, each is about a pair of levels, of which it has all numbers or none.
    """

    levels: tuple[tuple[tuple[int, Fraction], ...], ...]
    names: tuple[str, ...]

    def __str__(self) -> str:
        pairs = zip(self.names, self.levels, strict=True)
        return ", ".join(f"{len(known):,} of {name}" for name, known in pairs if known)

    def fault(self, hierarchy: Hierarchy, low: Fraction | None) -> FieldFault | None:
        """The fault of a number that is not the sum of known parts, or is below it.

        If none can be negative, a number is at least the sum of its known parts.
        """
        below = dict[int, tuple[Fraction, bool]]()
        for depth in reversed(range(len(self.levels))):
            level, own = hierarchy.levels[depth], dict(self.levels[depth])
            for at, number in own.items():
                total, is_all = below.get(at, (number, False))
                if is_all and total != number:
                    label = level.labels[at]
                    return FieldFault("known-number.sum", "known", level=level.name, label=label)
                if low == 0 and total > number:
                    return FieldFault("known-number.more", "known", level=level.name)
            now = below | {at: (number, True) for at, number in own.items()}
            below = {}
            for at, parent in enumerate(level.parents):
                number, is_known = now.get(at, (Fraction(0), False))
                total, is_all = below.get(parent, (Fraction(0), True))
                below[parent] = total + number, is_all and is_known
        return None


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
        trees = _trees(inputs)
        stated = dict(dict(inputs.options).get("level_shares", ()))
        last, found = tuple(len(tree.levels) - 1 for tree in trees), []
        shape = [tree.size(-1) for tree in trees]
        cells = np.ravel_multi_index(np.ix_(*(tree.leaf_of for tree in trees)), shape).ravel()
        for depths in _measured_levels(inputs):
            names = [tree.levels[depth].name for tree, depth in zip(trees, depths, strict=True)]
            query = NestedQuery(
                by=leaves.by, items=leaves.items, where=leaves.where, present=leaves.present,
                of=leaves, sum_of_cell=tuple(_parts(trees, last, depths)[cells].tolist()),
            )  # fmt: skip
            is_free = not query.sensitivity(relation).l1
            share = prod(stated.get(name, Fraction(1)) for name in names) * (not is_free)
            found.append(WeightedQuery(f"{role} by {' and '.join(names)}", query, share, step))
        total = sum(part.weight for part in found)
        queries = tuple(replace(part, weight=part.weight / (total or 1)) for part in found)
        reason = REASON + OF_PEOPLE * isinstance(relation.unit, PersonUnit)
        return cls(inputs, queries, reason=reason, step=step)

    def expected_error(self, errors: Sequence[float]) -> float:
        fit = self._fit([(error**2, 0.0) for error in errors])
        return sqrt(np.concatenate(fit.variances).mean())

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        margins = self._margins(self._fit(map(_moments, noises)), confidence)
        return Fraction(max(margin.width for margin in margins), 10**DECIMALS) * self.step

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        each, trees = self._fit(map(_moments, noises)).variances, _trees(self.inputs)
        names = [level.name for level in trees[0].levels]
        if len(trees) > 1:
            names, each = [PAIRS], [np.concatenate(each)]
        errors = (rounded_text(self.step * Fraction(sqrt(own.mean())), 3) for own in each)
        pairs = zip(names, errors, strict=True)
        listed = ", ".join(f"{error} for {name}" for name, error in pairs)
        return (
            self.reason,
            f"once they agree, the expected error of a number is {listed} (root mean square)",
        )

    def _measured(self, answers: Sequence[NoisyAnswer]) -> list[Array]:
        """The noisy or known numbers of each level, in steps, shape (groups, numbers)."""
        by_level = dict(zip(_measured_levels(self.inputs), answers, strict=True))
        found = list[Array]()
        for depths, known in _levels(self.inputs).items():
            size, answer = _size(self.inputs, depths), by_level.get(depths)
            found.append(
                np.zeros((self.inputs.groups, size), dtype=object)
                if answer is None
                else answer.values.astype(object).reshape(-1, size)
            )
            for at, number in known:
                found[-1][:, at] = int(number / self.step)
        return found

    def _fit(self, noises: Iterable[tuple[float, float]]) -> TreeFit | ProductFit:
        """The fit of what is measured, by the moments of its noise, and known."""
        trees, levels = _trees(self.inputs), _levels(self.inputs)
        by_level = dict(zip(_measured_levels(self.inputs), noises, strict=True))
        if len(trees) > 1:
            pairs = np.array([by_level.get(depths, (0.0, 0.0)) for depths in levels])
            shape = [len(tree.levels) for tree in trees]
            return ProductFit([tree.parents for tree in trees], pairs.T.reshape(2, *shape))
        found = []
        for depths, known in levels.items():
            variance, fourth = by_level.get(depths, (UNKNOWN, 0.0))
            moments = [[max(variance, NEAR_ZERO)], [fourth]]
            own = np.repeat(np.array(moments), _size(self.inputs, depths), axis=1)
            own[:, [at for at, _ in known]] = [[NEAR_ZERO], [0.0]]
            found.append(own)
        return TreeFit(trees[0].parents, found)

    def shown_incomplete(self, answers: Sequence[NoisyAnswer]) -> str:
        """That a known number is none that noise explains.

        It is compared with the sum of the measured numbers that have the least noise.
        """
        levels, trees = _levels(self.inputs), _trees(self.inputs)
        by_level = dict(zip(_measured_levels(self.inputs), answers, strict=True))
        confidence = 1 - CONTRADICTION / max(sum(map(len, levels.values())), 1)
        for depths, known in levels.items() if _known(self.inputs) else ():
            found = list[tuple[float, Ints, NoisyAnswer]]()
            for below, answer in by_level.items():
                if not any(map(lt, below, depths)):
                    parts = _parts(trees, below, depths)
                    found.append((answer.noise.discrete_variance * parts.size, parts, answer))
            _, of, answer = min(found, key=lambda source: source[0])
            sums, counts = np.zeros(_size(self.inputs, depths), object), np.bincount(of)
            np.add.at(sums, of, answer.values.reshape(-1, len(of))[0].astype(object))
            for at, number in known:
                noisy = sums[at] * self.step
                width = summed_margin(answer.noise, int(counts[at]), confidence).width * self.step
                if abs(noisy - number) > width:
                    own = [tree.levels[depth] for tree, depth in zip(trees, depths, strict=True)]
                    cells = [*product(*(level.labels for level in own))]
                    return contradicted(", ".join(cells[at]), noisy, number, width)
        return ""

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        fit, units = self._fit(_moments(answer.noise) for answer in answers), 10**DECIMALS
        levels, unit = fit.rounded(self._measured(answers), Fraction(units)), self.step / units
        values = integer_array(self._in_order(levels).ravel())
        margins = self._margins(fit, confidence)
        return Estimates.around(values, margins, unit, (decimal_places(unit),))

    def _margins(self, fit: TreeFit | ProductFit, confidence: Fraction) -> list[Margin]:
        """The margins of the numbers of a group, in printed decimals of a step."""
        fourth, variances = (
            self._in_order([level[None] for level in moments])[0]
            for moments in (fit.fourth_cumulants, fit.variances)
        )
        units, widths = 10**DECIMALS, blended_half_width(fourth, variances, confidence)
        return [
            Margin(
                ceil(width * units) + fit.rounding if width > 1 / units else 0, variance * units**2
            )
            for width, variance in zip(widths.tolist(), variances.tolist(), strict=True)
        ]

    def _in_order(self, levels: Sequence[Array]) -> Array:
        """The numbers of all levels as they are published, shape (groups, numbers)."""
        trees = _trees(self.inputs)
        if len(trees) < 2:
            return np.hstack(levels)
        pairs = iter(levels)
        sizes = [[tree.size(at) for at in range(len(tree.levels))] for tree in trees]
        rows = [np.dstack([next(pairs).reshape(-1, n, m) for m in sizes[1]]) for n in sizes[0]]
        return np.hstack(rows).reshape(len(levels[0]), -1)

    def make_additive(
        self, answers: Sequence[NoisyAnswer], units: int, *, nonnegative: bool
    ) -> Array:
        fit = self._fit(_moments(answer.noise) for answer in answers)
        make = fit.nonnegative if nonnegative else fit.rounded
        return integer_array(
            self._in_order(make(self._measured(answers), units * self.step)).ravel()
        )


class Levels(Statistic):
    """What counts and sums at all levels of a hierarchy share."""

    adds_up = True
    default_steps = ("consistent",)
    item = "part"

    def level_totals(self, inputs: Inputs, counts: LinearQuery, relation: Relation) -> LevelTotals:
        """The design of these numbers, without groups, at all levels."""
        leaves = replace(counts, items=tuple(tree.axis for tree in _trees(inputs)))
        return LevelTotals.of(inputs, self.name, leaves, self.step(inputs), relation)

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        each = list[list[str]]()
        for tree in _trees(inputs):
            names = [level.name for level in tree.levels]
            pairs = (zip(names, path, strict=False) for path in tree.paths)
            each.append(["; ".join(map("=".join, path)) for path in pairs])
        return tuple(map("; ".join, product(*each)))

    def key_columns(self, inputs: Inputs) -> tuple[KeyColumn, ...]:
        """A column for each level, with the label of totals below a number."""
        trees = _trees(inputs)
        full = [
            [(*path, *[tree.totals] * (len(tree.levels) - len(path))) for path in tree.paths]
            for tree in trees
        ]
        cells = [sum(paths, ()) for paths in product(*full)]
        return tuple(zip(_level_names(inputs), zip(*cells, strict=True), strict=True))

    def total_label(self, inputs: Inputs) -> str:
        return _trees(inputs)[0].totals

    def item_count(self, inputs: Inputs) -> int:
        trees = _trees(inputs)
        return prod(sum(len(level.labels) for level in tree.levels) for tree in trees)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterator[FieldFault]:
        """Faults of groups, of levels that are not there, and of fields for other tables."""
        yield from super().faults(inputs, relation)
        yield from public_groups(inputs)
        names, trees = _level_names(inputs), _trees(inputs)
        columns = [tree.axis.column.name for tree in trees]
        taken = {*names, *columns}
        repeats = len({*names}) < len(names) or len({*columns}) < len(columns)
        if repeats or len({tree.totals for tree in trees}) > 1:
            yield FieldFault("hierarchy-entry.twice", "hierarchy")
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
        known, trees, step = _known(inputs), _trees(inputs), self.step(inputs)
        if known is None:
            return
        if inputs.by:
            yield FieldFault("known-number.by", "known")
        if len(known.levels[-1]) == prod(tree.size(-1) for tree in trees):
            yield FieldFault("known-number.all", "known")
        low, _ = self.limits(inputs)[0]
        numbers = [number for level in known.levels for _, number in level]
        faults = [*number_faults(numbers, step, low)]
        yield from faults
        if not faults and len(trees) < 2 and (fault := known.fault(trees[0], low)):
            yield fault

    def step_faults(
        self, inputs: Inputs, steps: Sequence[PostProcessingStep]
    ) -> Iterator[FieldFault]:
        """Faults of steps for signed sums, and of steps that miss what is known."""
        low, _ = self.limits(inputs)[0]
        numbers = [number for known in _levels(inputs).values() for _, number in known]
        limit = inf if len(_trees(inputs)) < 2 else 1 << FIT_BITS
        if numbers and not all(can_meet(step, numbers, limit) for step in steps):
            yield FieldFault("known-number.whole", "post")
        if low != 0 and any(step.name == Whole.name for step in steps):
            yield FieldFault("hierarchy-entry.negative", "post")


def _moments(noise: Noise) -> tuple[float, float]:
    return noise.discrete_variance, noise.fourth_cumulant(1)


def _known(inputs: Inputs) -> KnownNumbers | None:
    known: KnownNumbers | None = dict(inputs.options).get("known")
    return known


def _trees(inputs: Inputs) -> tuple[Hierarchy, ...]:
    trees: tuple[Hierarchy, ...] = inputs.option("hierarchy")
    return trees


def _level_names(inputs: Inputs) -> list[str]:
    return [level.name for tree in _trees(inputs) for level in tree.levels]


Depths = tuple[int, ...]
"""A level, or a pair of levels of two hierarchies."""


def _levels(inputs: Inputs) -> dict[Depths, tuple[tuple[int, Fraction], ...]]:
    """What is known of each level, or of each pair of levels of two hierarchies."""
    known, every = _known(inputs), product(*(range(len(one.levels)) for one in _trees(inputs)))
    return {depths: known.levels[at] if known else () for at, depths in enumerate(every)}


def _size(inputs: Inputs, depths: Depths) -> int:
    """The numbers of a level, or of a pair of levels."""
    return prod(tree.size(depth) for tree, depth in zip(_trees(inputs), depths, strict=True))


def _parts(trees: Sequence[Hierarchy], below: Depths, depths: Depths) -> Ints:
    """The index of the number above, in a level or a pair, for each number below."""
    pairs = [*zip(trees, below, depths, strict=True)]
    shape = [tree.size(depth) for tree, _, depth in pairs]
    own = (tree.above(at, depth) for tree, at, depth in pairs)
    return np.asarray(np.ravel_multi_index(np.ix_(*own), shape)).ravel()


def _measured_levels(inputs: Inputs) -> list[Depths]:
    """The levels that are measured: those with numbers that are not known."""
    levels = _levels(inputs).items()
    return [depths for depths, known in levels if len(known) < _size(inputs, depths)]

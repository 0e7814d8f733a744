"""Exact answers about neighbors, compared with the stated sensitivities.

Both datasets of a pair are written and aggregated as a release aggregates files. They are made of
extreme cells of the spec, so no answer is about a person.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import sqrt
from typing import TYPE_CHECKING, cast

from dpcli.numeric.arrays import Array, Floats, integer_array, np
from dpcli.planning.plan import CentralPlan, PlannedQuery, PlannedStatistic
from dpcli.privacy.confidential import Cells, Confidential, Groups
from dpcli.privacy.unit import Neighbors, PersonUnit
from dpcli.proof.neighbors import RowMaker, Rows
from dpcli.proof.weights import vector_norms
from dpcli.queries.query import BoundedQuery
from dpcli.simulation.corners import spread
from dpcli.simulation.synthetic import Corners, Stream, SyntheticDataset

if TYPE_CHECKING:
    from dpcli.engine.sums.aggregate import ConfidentialAnswer

MOST_UNITS, UNITS_OF_CHOICES, RANDOM_UNITS = 120, 8, 40
"""Units that are tried for a query, around other rows for choices, and at random."""

FIRST_COMMON = 1_000
"""The number of the first id of people that both neighbors have."""

CANDIDATES = 4
"""Pairs around the same rows from which draws choose the worst."""

WIDEST = 1 << 25
"""The greatest change of which sums of squares fit 64 bits."""

Norms = tuple[int, int, int, int]
"""The L0, L1, L2 squared and Linf of a change."""


@dataclass(frozen=True)
class Pair:
    """Two neighbors: rows of other units in common, and those of one unit in either.

    `strength` is about the loss of all answers of an entry; its square half for Gaussian noise.
    """

    strength: float
    common: Rows
    one: Rows
    other: Rows


@dataclass
class Reached:
    """How far neighbors changed the answer to one query, next to what is stated."""

    part: PlannedQuery
    norms: Norms = (0, 0, 0, 0)

    @property
    def claims(self) -> Norms:
        """The stated L0, L1, L2 squared and Linf."""
        stated = self.part.calibrated.sensitivity
        return stated.l0, stated.l1, stated.l2_squared, stated.linf

    @property
    def share(self) -> float | None:
        """The share of the stated L1 or L2 that was reached; None without a stated one."""
        (_, l1, squared, _), (_, stated, stated_squared, _) = self.norms, self.claims
        if not stated or self.part.weighted.query.minimizes:
            return None
        is_l2 = self.part.calibrated.noise.norm == "l2"
        return sqrt(squared / stated_squared) if is_l2 else l1 / stated

    @property
    def above(self) -> list[str]:
        """The norms in which a change was larger than is stated."""
        query = self.part.weighted.query
        # The noise of vectors and choices depends on L1 alone.
        bounding = ["L1"] if query.vectors or query.chooses else ["L0", "L1", "L2", "Linf"]
        names = zip(("L0", "L1", "L2", "Linf"), self.norms, self.claims, strict=True)
        return [name for name, reached, claim in names if reached > claim and name in bounding]


class Attack:
    """The neighbors of a plan: what they change, and which may be distinguished best."""

    def __init__(self, plan: CentralPlan, seed: int) -> None:
        spec, stream = plan.spec, Stream(seed).named("neighbors")
        self._corners, unit = Corners(spec), spec.privacy.unit
        ids = unit.id_columns if isinstance(unit, PersonUnit) else ()
        columns = self._corners.columns
        self._ids = [name for name, own in columns.items() if own and {name, own.name} & {*ids}]
        self._exchanges = spec.privacy.neighbors is Neighbors.CHANGE_ONE
        self._adds = isinstance(unit, PersonUnit) or not self._exchanges
        self._entries = {planned.name: planned for planned in plan.all_statistics}
        self.reached = {
            name: [Reached(part) for part in planned.queries]
            for name, planned in self._entries.items()
        }
        self.pairs: dict[str, list[Pair]] = {name: [] for name in self._entries}
        self.datasets = 0
        parts = {part.calibrated.query: part
                 for planned in self._entries.values() for part in planned.queries}  # fmt: skip
        self.makers = {
            query: RowMaker(part, self._corners, stream.named(str(number)))
            for number, (query, part) in enumerate(parts.items())
        }

    def dataset(self, common: Rows, own: Rows) -> SyntheticDataset:
        """Rows in common, and those of one more unit."""
        rows = [
            {**dict(row), **dict.fromkeys(self._ids, FIRST_COMMON + number)}
            for number, row in enumerate(common)
        ]
        rows += [{**dict(row), **dict.fromkeys(self._ids, 0)} for row in own]
        return SyntheticDataset.of_corners(self._corners, rows)

    def run(self, seconds: float) -> None:
        """Compare the answers about all neighbors; random ones as long as there is time."""
        end = time.monotonic() + seconds
        own = {
            query: [*islice(dict.fromkeys(maker.units()), MOST_UNITS)]
            for query, maker in self.makers.items()
        }
        self._compare((), own.values(), self._entries)
        depending = [query for query in self.makers if query.chooses or query.minimizes]
        for query, maker in self.makers.items():
            until = time.monotonic() + (end - time.monotonic()) / max(1, len(depending))
            for common in maker.common():
                self._compare(common, [spread(own[query], UNITS_OF_CHOICES)], self._with(maker))
                if time.monotonic() > until:
                    break
            depending = [other for other in depending if other != query]
        for query, maker in self.makers.items():
            every = (one for name in self._with(maker) for one in self.reached[name])
            if any(one.share is not None and one.share < 1 for one in every):
                common = maker.random(3, any_cell=False) if query.chooses else ()
                self._compare(common, [maker.random_units(RANDOM_UNITS)], self._with(maker))
                if time.monotonic() > end:
                    return

    def _with(self, maker: RowMaker) -> list[str]:
        """The entries with the query of a maker of rows."""
        query = maker.part.calibrated.query
        return [name for name, own in self.reached.items()
                if any(one.part.calibrated.query == query for one in own)]  # fmt: skip

    def _compare(
        self, common: Rows, blocks: Iterable[Sequence[Rows]], names: Iterable[str]
    ) -> None:
        """Compare all pairs of units of a block, and each unit with none."""
        units: dict[Rows, int] = {(): 0}
        pairs: dict[tuple[int, int], None] = {}
        for block in blocks:
            numbers = sorted({units.setdefault(rows, len(units)) for rows in block} - {0})
            pairs |= dict.fromkeys((0, number) for number in numbers if self._adds)
            pairs |= dict.fromkeys(combinations(numbers, 2) if self._exchanges else ())
        if not pairs:
            return
        rows, ends = [*units], np.array(list(pairs))
        entries = [self._entries[name] for name in names]
        answers = [self.exact(entries, common, own) for own in rows]
        self.datasets += len(rows)
        for planned in entries:
            strength = np.zeros(len(pairs))
            for at, reached in enumerate(self.reached[planned.name]):
                sides = [found[planned.name][at] for found in answers]
                changes = _norms(reached.part, sides, ends)
                largest = (int(max(norm)) for norm in changes)
                reached.norms = cast("Norms", tuple(map(max, reached.norms, largest)))
                strength += _strength(reached.part, changes)
            for at in _different(np.argsort(-strength, kind="stable")[:200].tolist(), strength):
                one, other = (rows[end] for end in ends[at])
                self.pairs[planned.name].append(Pair(float(strength[at]), common, one, other))

    def exact(
        self, entries: Sequence[PlannedStatistic], common: Rows, own: Rows
    ) -> dict[str, list[Array | Groups]]:
        """The exact answers of entries about rows in common and those of one more unit."""
        with self.dataset(common, own) as dataset:
            answers = iter(
                dataset.aggregate([bounded(part) for one in entries for part in one.queries])
            )
            return {
                one.name: [exact_of(dataset, next(answers)) for _ in one.queries] for one in entries
            }


def exact_of(dataset: SyntheticDataset, answer: ConfidentialAnswer) -> Array | Groups:
    """The exact answer about synthetic rows."""
    value = dataset.exact(cast("Confidential[Cells | Groups]", answer))
    return value if isinstance(value, Groups) else integer_array(value)


def bounded(part: PlannedQuery) -> BoundedQuery:
    """The query as the engine answers it, with its limits."""
    return BoundedQuery(part.calibrated.query, part.calibrated.relation.unit)


def _different(order: Sequence[int], strength: Floats) -> Iterable[int]:
    """The strongest pairs, of equal ones a few that are spread."""
    equal = [at for at in order if strength[at] == strength[order[0]]]
    return dict.fromkeys([*spread(equal, CANDIDATES), *order[:2]])


def table_of(answers: Sequence[Array | Groups]) -> Array:
    """The numbers of several answers, one in each row, in all their groups."""
    groups = [one for one in answers if isinstance(one, Groups)]
    names = sorted({name for one in groups for name in one.names})
    return np.stack([one.cells(names) if isinstance(one, Groups) else one for one in answers])


def _norms(part: PlannedQuery, answers: Sequence[Array | Groups], ends: Array) -> list[Array]:
    """L0, L1, L2 squared and Linf of changes between pairs, one array each."""
    query, block = part.calibrated.query, part.calibrated.query.block
    table = np.zeros((1, 0)) if query.minimizes else table_of(answers)
    if block:
        moving = (table != table[:1]).any(axis=0).reshape(-1, block).any(axis=1)
        table = table[:, np.repeat(moving, block)]
    if not table.shape[1]:
        return [np.zeros(len(ends), np.int64)] * 4
    differences = table[ends[:, 1]] - table[ends[:, 0]]
    sizes = query.changes(differences)
    if int(sizes.max()) > WIDEST:
        sizes = sizes.astype(object)
    l1 = vector_norms(*query.vectors, differences) if query.vectors else sizes.sum(axis=1)
    return [(sizes != 0).sum(axis=1), l1, (sizes * sizes).sum(axis=1), sizes.max(axis=1)]


def _strength(part: PlannedQuery, changes: Sequence[Array]) -> Floats:
    """About the loss of an answer for each pair; its square half for Gaussian noise."""
    noise, (_, l1, squared, _) = part.calibrated.noise, changes
    if not noise.scale:
        return np.zeros(len(l1))
    is_l2, scale = noise.norm == "l2", float(noise.scale)
    return np.array(
        (squared if is_l2 else l1).astype(np.float64) / (2 * scale**2 if is_l2 else scale)
    )

"""Exact answers about neighbors, compared with the stated sensitivities.

Both datasets of a pair are written and aggregated as a release aggregates files. They are made of
extreme cells of the spec, so no answer is about a person.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, TypeVar, cast

from dpcli.numeric.arrays import Array, Floats, integer_array, np
from dpcli.planning.plan import CentralPlan, PlannedQuery
from dpcli.privacy.confidential import Cells, Confidential, Group, Groups
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit
from dpcli.proof.neighbors import Row, RowMaker, Rows
from dpcli.proof.weights import vector_norms
from dpcli.queries.query import BoundedQuery, Query
from dpcli.simulation.synthetic import Corners, Stream, SyntheticDataset

if TYPE_CHECKING:
    from dpcli.engine.sums.aggregate import ConfidentialAnswer

MOST_UNITS, UNITS_OF_CHOICES, RANDOM_UNITS = 120, 8, 40
"""Units that are tried for a query, around other rows for choices, and at random."""

FIRST_COMMON = 1_000
"""The number of the first id of people that both neighbors have."""

MOST_COMMON = 2_000
"""The most rows that neighbors have in common."""

CANDIDATES = 4
"""Pairs around the same rows from which draws choose the worst."""

WIDEST = 1 << 25
"""The greatest change of which sums of squares fit 64 bits."""

Norms = tuple[int, int, int, int]
"""The L0, L1, L2 squared and Linf of a change."""

K = TypeVar("K")


@dataclass(frozen=True)
class Pair:
    """Two neighbors: rows of other units in common, and those of one unit in either."""

    common: Rows
    one: Rows
    other: Rows


@dataclass
class Reached:
    """How far neighbors changed the answer to one query, next to what is stated."""

    part: PlannedQuery
    norms: Norms = (0, 0, 0, 0)

    @property
    def stated(self) -> Sensitivity:
        """The sensitivity that the plan states."""
        return self.part.calibrated.sensitivity

    @property
    def claims(self) -> Norms:
        """The stated L0, L1, L2 squared and Linf."""
        stated = self.stated
        return stated.l0, stated.l1, stated.l2_squared, stated.linf

    @property
    def share(self) -> float | None:
        """The share of the stated L1 or L2 that was reached; None without a stated one."""
        _, l1, l2_squared, _ = self.norms
        if not self.stated.l1 or self.part.weighted.query.minimizes:
            return None
        if self.part.calibrated.noise.norm == "l2":
            return sqrt(l2_squared / self.stated.l2_squared)
        return l1 / self.stated.l1

    @property
    def above(self) -> list[str]:
        """The norms in which a change was larger than is stated."""
        claims = self.claims
        if self.part.weighted.query.vectors or self.part.weighted.query.chooses:
            # The noise of vectors and choices depends on L1 alone.
            claims = (1 << 99, claims[1], 1 << 99, 1 << 99)
        names = zip(("L0", "L1", "L2", "Linf"), self.norms, claims, strict=True)
        return [name for name, reached, claim in names if reached > claim]

    def add(self, norms: Norms) -> None:
        """Take note of a change."""
        self.norms = tuple(map(max, self.norms, norms))  # type: ignore[assignment]


@dataclass
class Attack:
    """The neighbors of a plan: what they change, and which may be distinguished best."""

    plan: CentralPlan
    seed: int
    reached: dict[str, list[Reached]] = field(default_factory=dict)
    worst: dict[str, list[tuple[float, Pair]]] = field(default_factory=dict)
    datasets: int = 0

    def __post_init__(self) -> None:
        spec = self.plan.spec
        self.corners, self._unit = Corners(spec), spec.privacy.unit
        self._exchanges = spec.privacy.neighbors is Neighbors.CHANGE_ONE
        ids = self._unit.id_columns if isinstance(self._unit, PersonUnit) else ()
        named = {column.name for column in spec.columns} & {*ids}
        self._ids = [
            name
            for name, column in self.corners.columns.items()
            if column is not None and (column.name in named or (name in ids))
        ]
        self.parts = [
            (planned, part) for planned in self.plan.all_statistics for part in planned.queries
        ]
        self.reached = {planned.name: [] for planned, _ in self.parts}
        for planned, part in self.parts:
            self.reached[planned.name].append(Reached(part))
        self.worst = {planned.name: [] for planned, _ in self.parts}
        stream = Stream(self.seed).named("neighbors")
        queries = {part.calibrated.query: part.calibrated for _, part in self.parts}
        self._makers = {
            query: RowMaker(query, self.corners, stream.named(str(number)))
            for number, query in enumerate(queries)
        }
        self._units = {query: one.relation.unit for query, one in queries.items()}

    def dataset(self, common: Rows, own: Rows) -> SyntheticDataset:
        """Rows in common, and those of one more unit."""
        rows: list[Row] = [
            {**row, **dict.fromkeys(self._ids, FIRST_COMMON + number)}
            for number, row in enumerate(common)
        ]
        rows += [{**row, **dict.fromkeys(self._ids, 0)} for row in own]
        return SyntheticDataset.of_corners(self.corners, rows)

    def maker(self, part: PlannedQuery) -> RowMaker:
        """Makes rows for a query of the plan."""
        return self._makers[part.calibrated.query]

    def run(self, seconds: float) -> None:
        """Compare the answers about all neighbors; random ones as long as there is time."""
        end = time.monotonic() + seconds
        own = {
            query: list(dict.fromkeys(map(_Frozen, maker.units(self._units[query]))))[:MOST_UNITS]
            for query, maker in self._makers.items()
        }
        self._compare((), [[one.rows for one in units] for units in own.values()])
        for _, part in self.parts:
            if rule := part.calibrated.partition_selection:
                # A group that is published half of the time.
                query = part.calibrated.query
                rows = self._makers[query].private_rows(1, min(rule.threshold, MOST_COMMON))
                units = [one.rows for one in few(own[query], UNITS_OF_CHOICES)]
                self._compare(tuple(rows), [units], query)
        choices = sum(query.chooses or query.minimizes for query in self._makers)
        for query, maker in self._makers.items():
            if not (query.chooses or query.minimizes):
                continue
            left = (end - time.monotonic()) / max(1, choices)
            choices, until = choices - 1, time.monotonic() + left
            units = [one.rows for one in few(own[query], UNITS_OF_CHOICES)]
            for common in maker.common():
                self._compare(common, [units], query)
                if time.monotonic() > until:
                    break
        for query in self._short():
            maker, most = self._makers[query], self._rows_of(query)
            drawn = [
                maker.random(1 + at % most, any_cell=at % 3 == 0) for at in range(RANDOM_UNITS)
            ]
            common = maker.random(3, any_cell=False) if query.chooses else ()
            self._compare(common, [drawn], query)
            if time.monotonic() > end:
                return

    def _rows_of(self, query: Query) -> int:
        unit = next(part.calibrated.relation.unit for _, part in self.parts
                    if part.calibrated.query == query)  # fmt: skip
        return min(2 * unit.max_rows, 30) if isinstance(unit, PersonUnit) else 1

    def _short(self) -> list[Query]:
        """The queries of which some sensitivity was not reached."""
        every = (one for entry in self.reached.values() for one in entry)
        short = [one for one in every if one.share is not None and one.share < 1]
        return list(dict.fromkeys(one.part.calibrated.query for one in short))

    def _compare(
        self, common: Rows, blocks: Sequence[Sequence[Rows]], query: Query | None = None
    ) -> None:
        """Compare all pairs of units of a block, and each unit with none.

        Only the entries with a `query` are compared, if one is given.
        """
        names = {
            planned.name for planned, part in self.parts
            if query is None or part.calibrated.query == query
        }  # fmt: skip
        parts = [(planned, part) for planned, part in self.parts if planned.name in names]
        units: dict[_Frozen, int] = {_Frozen(()): 0}
        pairs: dict[tuple[int, int], None] = {}
        exchanges_rows = self._exchanges and not isinstance(self._unit, PersonUnit)
        for block in blocks:
            numbers = [units.setdefault(_Frozen(rows), len(units)) for rows in block]
            if not exchanges_rows:
                pairs |= dict.fromkeys((0, number) for number in numbers)
            if self._exchanges:
                pairs |= dict.fromkeys(combinations(sorted({*numbers}), 2))
        rows = [one.rows for one in units]
        if not pairs:
            return
        asked = [bounded(part) for _, part in parts]
        answers = [list(self.exact(common, own, asked)) for own in rows]
        self.datasets += len(rows)
        ends = np.array(list(pairs))
        strengths: dict[str, Floats] = {}
        for number, (planned, part) in enumerate(parts):
            changes = _norms(part, [one[number] for one in answers], ends)
            index = [one.part for one in self.reached[planned.name]].index(part)
            reached = self.reached[planned.name][index]
            reached.add(tuple(int(max(norm)) for norm in changes))  # type: ignore[arg-type]
            strengths[planned.name] = strengths.get(planned.name, 0) + _strength(part, changes)
        for name, strength in strengths.items():
            order = np.argsort(-strength, kind="stable")
            for at in _different(order[:200].tolist(), strength, CANDIDATES):
                one, other = (rows[end] for end in ends[at])
                self.worst[name].append((float(strength[at]), Pair(common, one, other)))

    def exact(
        self, common: Rows, own: Rows, asked: Sequence[BoundedQuery]
    ) -> Iterator[Array | Groups]:
        """The exact answers about rows in common and those of one more unit."""
        with self.dataset(common, own) as dataset:
            for answer in dataset.aggregate(asked):
                value = exact_of(dataset, answer)
                yield value if isinstance(value, Groups) else integer_array(value)


class _Frozen:
    """Rows that are compared by their cells."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._key = tuple(tuple(sorted(row.items())) for row in rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def exact_of(dataset: SyntheticDataset, answer: ConfidentialAnswer) -> Array | Groups:
    """The exact answer about synthetic rows."""
    return dataset.exact(cast("Confidential[Cells | Groups]", answer))


def bounded(part: PlannedQuery) -> BoundedQuery:
    """The query as the engine answers it, with its limits."""
    return BoundedQuery(part.calibrated.query, part.calibrated.relation.unit)


def few(items: Sequence[K], most: int) -> Sequence[K]:
    """All of some items, or as many as this, evenly spread."""
    return [items[at * len(items) // most] for at in range(most)] if len(items) > most else items


def _different(order: Sequence[int], strength: Floats, most: int) -> Iterable[int]:
    """The strongest pairs, of equal ones a few that are spread."""
    if not order:
        return []
    equal = [at for at in order if strength[at] == strength[order[0]]]
    return dict.fromkeys([*few(equal, most), *order[:2]])


def names_of(answers: Iterable[Groups]) -> list[Group]:
    """The names of all private groups in some answers."""
    return sorted({name for groups in answers for name in groups.names})


def _table(answers: Sequence[Array | Groups]) -> Array:
    """The numbers of several answers, one in each row."""
    groups = [one for one in answers if isinstance(one, Groups)]
    if not groups:
        return np.stack(answers)  # type: ignore[arg-type]
    names = names_of(groups)
    return np.stack([one.cells(names) for one in groups])


def _norms(part: PlannedQuery, answers: Sequence[Array | Groups], ends: Array) -> list[Array]:
    """L0, L1, L2 squared and Linf of changes between pairs, one array each."""
    query, block = part.calibrated.query, part.calibrated.query.block
    table = np.zeros((1, 0)) if query.minimizes else _table(answers)
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
    scale, (_, l1, l2_squared, _) = float(part.calibrated.noise.scale), changes
    if not scale:
        return np.zeros(len(l1))
    squared = part.calibrated.noise.norm == "l2"
    strength: Floats = (l2_squared if squared else l1).astype(np.float64)
    return strength / (2 * scale**2 if squared else scale)

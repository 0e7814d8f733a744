"""Exact answers about neighbors, compared with the stated sensitivities.

Both datasets of a pair are written and aggregated as a release aggregates files. They are made of
extreme cells of the spec, so no answer is about a person.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import combinations, islice, repeat
from math import sqrt
from typing import cast

from dpcli.numeric.arrays import Array, Floats, integer_array, largest_magnitude, np, widened
from dpcli.planning.plan import CentralPlan, PlannedQuery
from dpcli.privacy.confidential import Cells, Confidential, Groups
from dpcli.privacy.unit import Neighbors, PersonUnit
from dpcli.proof.draws import EntryDraws, table_of
from dpcli.proof.neighbors import RowMaker, Rows
from dpcli.proof.weights import vector_norms
from dpcli.queries.query import BoundedQuery
from dpcli.simulation.corners import spread
from dpcli.simulation.synthetic import Corners, Stream, SyntheticDataset

FIRST_COMMON = 1_000
"""The number of the first id of people that both neighbors have."""

CANDIDATES, FEWEST = 4, 16
"""Pairs of which draws choose the worst, and the fewest units that are compared."""

Norms = tuple[int, int, int, int]
"""The L0, L1, L2 squared and Linf of a change."""


@dataclass
class Reached:
    """How far neighbors changed the answer to one query, next to what is stated."""

    part: PlannedQuery
    norms: Norms = (0, 0, 0, 0)

    @property
    def claims(self) -> Norms:
        """The stated L0, L1, L2 squared and Linf."""
        return cast("Norms", astuple(self.part.calibrated.sensitivity))

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
        """A sentence for each norm in which a change was larger than is stated."""
        query = self.part.weighted.query
        # The noise of vectors and choices depends on L1 alone.
        judged = slice(1, 2) if query.vectors or query.chooses else slice(4)
        found = [*zip(("L0", "L1", "L2", "Linf"), self.norms, self.claims, strict=True)][judged]
        what = f"neighbors change `{self.part.weighted.role}` by more than its"
        return [f"{what} {name} sensitivity" for name, most, claim in found if most > claim]

    def compare(self, answers: Sequence[Array | Groups], ends: Array) -> Floats:
        """Take note of the changes between pairs of answers, whose numbers are `ends`.

        Returns about the loss of each pair; for Gaussian noise, half of the square of its mu.
        """
        _, l1, squared, _ = changes = _norms(self.part, answers, ends)
        largest = (int(max(norm)) for norm in changes)
        self.norms = cast("Norms", tuple(map(max, self.norms, largest)))
        noise = self.part.calibrated.noise
        scale = float(noise.scale) or np.inf
        return np.array(squared / (2 * scale**2) if noise.norm == "l2" else l1 / scale, np.float64)


class Attack:
    """The neighbors of a plan: what they change, and draws about the worst of them.

    `pairs` are draws about the neighbors of each entry that change its answers most, with about the
    loss of all answers. `datasets` were compared; all neighbors were, unless it `was_cut`.
    """

    def __init__(self, plan: CentralPlan, seed: int) -> None:
        spec, stream = plan.spec, Stream(seed).named("neighbors")
        self._corners, unit = Corners(spec), spec.privacy.unit
        ids = unit.id_columns if isinstance(unit, PersonUnit) else ()
        columns = self._corners.columns
        self._ids = [name for name, own in columns.items() if own and {name, own.name} & {*ids}]
        self._exchanges = spec.privacy.neighbors is Neighbors.CHANGE_ONE
        self._adds = isinstance(unit, PersonUnit) or not self._exchanges
        self.seed, self._entries = seed, plan.all_statistics
        self.reached = {
            planned.name: [Reached(part) for part in planned.queries] for planned in self._entries
        }
        self.pairs: dict[str, list[tuple[float, EntryDraws]]] = {name: [] for name in self.reached}
        self.datasets, self.was_cut = 0, False
        self._known: dict[Rows, list[Array | Groups]] = {}
        parts = {
            one.part.calibrated.query: one.part for own in self.reached.values() for one in own
        }
        self.makers = [
            RowMaker(part, self._corners, stream.named(str(number)))
            for number, part in enumerate(parts.values())
        ]

    def dataset(self, common: Rows, own: Rows = ()) -> SyntheticDataset:
        """Rows in common, and those of one more unit."""
        owned = [*enumerate(common, FIRST_COMMON), *((0, row) for row in own)]
        rows = [{**dict(row), **dict.fromkeys(self._ids, owner)} for owner, row in owned]
        return SyntheticDataset.of_corners(self._corners, rows)

    def run(self, seconds: float) -> None:
        """Compare the answers about neighbors, as many as there is time for."""
        end = time.monotonic() + seconds
        for number, maker in enumerate(self.makers):
            until = (now := time.monotonic()) + (end - now) / (len(self.makers) - number)
            for common, units in maker.situations():
                self._compare(maker, common, units, until)
                if time.monotonic() > until:
                    self.was_cut = True
                    break

    def _compare(self, maker: RowMaker, common: Rows, units: Sequence[Rows], until: float) -> None:
        """Compare answers of all entries; around other rows, those to one query."""
        entries = [planned for planned in self._entries if not common or maker.part.calibrated.query
                   in [part.calibrated.query for part in planned.queries]]  # fmt: skip
        asked = [part.calibrated for planned in entries for part in planned.queries]
        bounded = [BoundedQuery(one.query, one.relation.unit) for one in asked]
        answers, known = list[list[Array | Groups]](), {} if common else self._known
        for own in dict.fromkeys([(), *units]):
            if time.monotonic() > until and len(answers) > FEWEST:
                break
            if own not in known:
                self.datasets += 1
                with self.dataset(common, own) as dataset:
                    exact = [dataset.exact(cast("Confidential[Cells | Groups]", answer))
                             for answer in dataset.aggregate(bounded)]  # fmt: skip
                known[own] = [x if isinstance(x, Groups) else integer_array(x) for x in exact]
            answers.append(known[own])
        pairs = [(0, end) for end in range(1, len(answers)) if self._adds]
        pairs += combinations(range(1, len(answers)), 2) if self._exchanges else ()
        columns = zip(*answers, strict=True)
        for planned in entries if pairs else ():
            reached, ends = self.reached[planned.name], np.array(pairs)
            found = [*islice(columns, len(reached))]
            strength = np.sum([*map(Reached.compare, reached, found, repeat(ends))], axis=0)
            strongest = ends[strength == strength.max()]
            for pair in spread(strongest.tolist(), CANDIDATES):
                draws = EntryDraws(planned, [[one[end] for end in pair] for one in found])
                self.pairs[planned.name].append((float(strength.max()), draws))


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
    sizes = widened(sizes, sizes.shape[1] * largest_magnitude(sizes) ** 2)
    l1 = vector_norms(*query.vectors, differences) if query.vectors else sizes.sum(axis=1)
    return [(sizes != 0).sum(axis=1), l1, (sizes * sizes).sum(axis=1), sizes.max(axis=1)]

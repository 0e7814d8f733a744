"""Random specs: between random neighbors, no answer changes by more than its sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.planning.planner import make_plan
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation
from dpcli.problems.errors import SpecError
from dpcli.queries.query import Query
from dpcli.specification.load import parse_central_spec
from dpcli.specification.model import CentralSpec, Entry
from tests.laws.test_statistics import changes_of
from tests.oracles.agreement import agreed
from tests.oracles.plain import Answer, evaluate
from tests.support.norms import total_change
from tests.support.random_specs import Cells, random_spec
from tests.support.rules import also_slow

Table = list[list[str]]

SEEDS, MANY_SEEDS = 60, 2_000

PAIRS = 6
"""Neighboring files for each spec."""


def valid_specs(seeds: range) -> list[tuple[int, CentralSpec, dict[str, Cells]]]:
    """The random specs that can be read: most of them."""
    specs = []
    for seed in seeds:
        text, cells = random_spec(seed)
        try:
            specs.append((seed, parse_central_spec(text, "random.yaml"), cells))
        except SpecError:
            continue
    assert len(specs) >= 0.5 * len(seeds)
    return specs


def require_within_sensitivity(seed: int, spec: CentralSpec, cells: dict[str, Cells]) -> int:
    """The number of answers that changed between neighbors; fails if one changes too much."""
    random, asked, changed = Random(seed), queries_of_entries(spec), 0
    for _ in range(PAIRS):
        one, other = (answers(asked, cells, rows) for rows in neighbors(random, spec, cells))
        for (query, relation), first, second in zip(asked, one, other, strict=True):
            changes = change(query, first, second)
            claim, repeat = query_sensitivity(query, relation), getattr(query, "k", 1)
            most = total_change(query, changes, first, second) * repeat
            assert most <= claim.l1, (seed, query)
            assert sum(step**2 for step in changes) * repeat <= claim.l2_squared, (seed, query)
            assert max(changes, default=0) <= claim.linf, (seed, query)
            changed += any(changes)
    return changed


def neighbors(random: Random, spec: CentralSpec, cells: dict[str, Cells]) -> tuple[Table, Table]:
    """Two files that differ in one row, or in the rows of one person."""
    unit = spec.privacy.unit
    rows = [random_row(random, cells) for _ in range(random.randint(0, 5))]
    if not isinstance(unit, PersonUnit):
        row, other = random_row(random, cells), random_row(random, cells)
        replaced = [other] if spec.privacy.neighbors is Neighbors.CHANGE_ONE else []
        return [*rows, row], [*rows, *replaced]
    place = list(cells).index(unit.column)
    without = [row for row in rows if row[place] != "p"]
    mine, theirs = (
        [
            [*row[:place], "p", *row[place + 1 :]]
            for row in (random_row(random, cells) for _ in range(random.randint(0, 4)))
        ]
        for _ in range(2)
    )
    if spec.privacy.neighbors is Neighbors.ADD_REMOVE:
        theirs = []
    return [*without, *mine], [*without, *theirs]


def random_row(random: Random, cells: dict[str, Cells]) -> list[str]:
    """A row of cells that the columns may have."""
    return [random.choice(choices) for choices in cells.values()]


def queries_of_entries(spec: CentralSpec) -> list[tuple[Query, Relation]]:
    """The queries of all designs, each with the relation of its entry."""
    return [
        (weighted.query, relation_of(entry, spec))
        for entry in spec.entries
        for design in entry.designs
        for weighted in design.queries
    ]


def relation_of(entry: Entry, spec: CentralSpec) -> Relation:
    """The relation of an entry, from the limits that its text and that of the unit state."""
    unit, own, limits = spec.privacy.unit, entry.limits, spec.privacy.limits
    if isinstance(unit, PersonUnit):
        rows = own.max_rows or limits.max_rows or 0
        in_group = own.max_rows_per_group or limits.max_rows_per_group or rows
        groups = own.max_groups or limits.max_groups or rows
        unit = replace(
            unit, max_rows=rows, max_groups=groups, max_rows_per_group=min(in_group, rows)
        )
    return Relation(unit, spec.privacy.neighbors)


def answers(
    asked: Sequence[tuple[Query, Relation]], cells: dict[str, Cells], rows: Table
) -> list[Answer]:
    """The exact answers about a file of these rows, by the plain evaluator."""
    queries, units = [query for query, _ in asked], [relation.unit for _, relation in asked]
    return evaluate(queries, file_of(cells, rows), units)


def file_of(cells: dict[str, Cells], rows: Table) -> bytes:
    """A CSV file in which every cell is quoted."""
    lines = [list(cells), *([f'"{cell}"' for cell in row] for row in rows)]
    return "".join(",".join(line) + "\n" for line in lines).encode()


def change(query: Query, one: Answer, other: Answer) -> list[int]:
    """By how much each cell changed."""
    if isinstance(one, list) and isinstance(other, list):
        return changes_of(query, one, other)
    assert isinstance(one, dict) and isinstance(other, dict)
    nothing = [0] * query.cells_per_group
    groups = one.keys() | other.keys()
    return [
        step
        for group in groups
        for step in changes_of(query, one.get(group, nothing), other.get(group, nothing))
    ]


def require_agreement(seeds: range, folder: Path) -> None:
    """The engine and the plain evaluator have the same answers about random files."""
    for seed, spec, cells in valid_specs(seeds):
        if isinstance(spec.privacy.unit, PersonUnit):
            # Which rows of a person are kept is random.
            continue
        random = Random(seed)
        data = file_of(cells, [random_row(random, cells) for _ in range(60)])
        agreed([query for query, _ in queries_of_entries(spec)], data, folder, spec.privacy.unit)


@pytest.mark.parametrize("seeds", also_slow(SEEDS, 2 * MANY_SEEDS))
def test_the_engine_agrees_on_random_specs(seeds: int, tmp_path: Path) -> None:
    """Formats, derived columns and filters of any kind give the same integers."""
    require_agreement(range(seeds), tmp_path)


@pytest.mark.parametrize("seeds", also_slow(SEEDS, 2 * MANY_SEEDS))
def test_random_neighbors_of_random_specs_stay_within_the_sensitivity(seeds: int) -> None:
    """No answer to a query of any of them changes by more than the plan states."""
    specs = valid_specs(range(seeds))
    assert len(specs) >= (MANY_SEEDS if seeds > MANY_SEEDS else 1)
    assert sum(require_within_sensitivity(*spec) for spec in specs) > 2 * len(specs)


def test_each_answer_has_noise_for_the_limits_of_its_entry() -> None:
    """In the plan of each spec, rows are bounded as sensitivities assume, entry by entry."""
    limited = 0
    for seed, spec, _ in valid_specs(range(SEEDS)):
        with suppress(SpecError):
            for planned in make_plan(spec).statistics:
                expected = relation_of(planned.entry, spec)
                limited += expected != spec.privacy.relation
                for part in planned.queries:
                    assert part.calibrated.relation == expected, seed
                    assert part.calibrated.sensitivity == query_sensitivity(
                        part.weighted.query, expected
                    ), seed
    assert limited > SEEDS // 4


def test_designs_are_made_for_the_limits_of_their_entry() -> None:
    """Which queries answer a statistic follows from its own limits, where it states some."""
    differ = 0
    for seed, spec, _ in valid_specs(range(SEEDS)):
        for entry in spec.entries:
            (design, *_), relation = entry.designs, relation_of(entry, spec)
            assert entry.designs == entry.statistic.designs(design.inputs, relation), seed
            other = entry.statistic.designs(design.inputs, spec.privacy.relation)
            differ += entry.designs != other
    assert differ


def test_a_sensitivity_that_is_too_small_by_one_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check would fail if the table stated one step less."""
    stated = query_sensitivity

    def smaller(query: Query, relation: Relation) -> Sensitivity:
        claim = stated(query, relation)
        return replace(claim, l1=claim.l1 - 1)

    monkeypatch.setattr("tests.laws.test_random_specs.query_sensitivity", smaller)
    noticed = 0
    for spec in valid_specs(range(SEEDS // 4)):
        try:
            require_within_sensitivity(*spec)
        except AssertionError:
            noticed += 1
    assert noticed > SEEDS // 20

"""Values of people: neighbors differ in all rows of a person, and one line of people changes."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.planning.planner import make_plan
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation
from dpcli.problems.errors import SpecError
from dpcli.queries.query import Query
from dpcli.specification.load import parse_central_spec
from dpcli.specification.model import CentralSpec
from tests.laws.test_disjoint_entries import pure_loss
from tests.laws.test_random_specs import Table, answers, change, file_of, random_row
from tests.oracles.agreement import agreed
from tests.oracles.opened import cells_of, engine, queries_of
from tests.oracles.plain import evaluate
from tests.support.norms import total_change
from tests.support.random_specs import Cells
from tests.support.rules import also_slow
from tests.support.specs_of_people import random_spec_of_people

SPECS = 40
PAIRS = 8
MOST_ROWS = 50
"""Rows that a person has or not."""

Asked = list[tuple[Query, Relation]]


def valid_specs(seeds: range) -> list[tuple[int, CentralSpec, dict[str, Cells]]]:
    """The random specs that can be read: most of them."""
    specs = []
    for seed in seeds:
        text, cells = random_spec_of_people(seed)
        try:
            specs.append((seed, parse_central_spec(text, "random.yaml"), cells))
        except SpecError:
            continue
    assert len(specs) > 0.4 * len(seeds)
    return specs


def asked_of(spec: CentralSpec) -> Asked:
    """The queries of all designs and choices, each with its relation."""
    asked = [
        (design, spec.relation_of(entry)) for entry in spec.entries for design in entry.designs
    ]
    for choice in spec.choices:
        relation = spec.for_choices.privacy.relation_for(choice.limits_of_counts)
        asked += [(one, relation) for one in choice.histogram.designs(choice.inputs, relation)]
    return [(part.query, relation) for design, relation in asked for part in design.queries]


def rows_of(random: Random, cells: dict[str, Cells], person: str) -> Table:
    """Any number of rows of a person; some have equal values, so that there are ties."""
    count = random.choice((0, 1, 2, 3, random.randint(4, MOST_ROWS)))
    few = [random_row(random, cells) for _ in range(random.randint(1, 4))]
    place, rows = list(cells).index("who"), list[list[str]]()
    for _ in range(count):
        row = random.choice([*few, random_row(random, cells)])
        rows.append([*row[:place], person, *row[place + 1 :]])
    return rows


def neighbors(random: Random, spec: CentralSpec, cells: dict[str, Cells]) -> tuple[Table, Table]:
    """Two files that differ in all rows of a person."""
    others = [row for person in "qr" for row in rows_of(random, cells, person)]
    mine, theirs = (rows_of(random, cells, "p") for _ in range(2))
    if spec.privacy.neighbors is Neighbors.ADD_REMOVE:
        theirs = []
    return [*others, *mine], [*others, *theirs]


def greatest_changes(
    seed: int, spec: CentralSpec, cells: dict[str, Cells], pairs: int = PAIRS
) -> list[tuple[Query, int, int]]:
    """For each query, the greatest change between neighbors in L1, and the stated one."""
    random, asked = Random(seed), asked_of(spec)
    most = [0] * len(asked)
    for _ in range(pairs):
        one, other = (answers(asked, cells, rows) for rows in neighbors(random, spec, cells))
        for at, ((query, relation), first, second) in enumerate(
            zip(asked, one, other, strict=True)
        ):
            changes = change(query, first, second)
            claim, repeat = query_sensitivity(query, relation), getattr(query, "k", 1)
            total = total_change(query, changes, first, second) * repeat
            assert total <= claim.l1, (seed, query)
            assert sum(step**2 for step in changes) * repeat <= claim.l2_squared, (seed, query)
            assert max(changes, default=0) <= claim.linf, (seed, query)
            most[at] = max(most[at], total)
    return [
        (query, found, query_sensitivity(query, relation).l1)
        for (query, relation), found in zip(asked, most, strict=True)
    ]


@pytest.mark.parametrize("specs", also_slow(SPECS, 1_000))
def test_all_rows_of_a_person_change_no_more_than_one_line(specs: int) -> None:
    """No answer changes by more than stated, whatever rows a person has, and many reach it."""
    reached, counted = Counter[bool](), 0
    for seed, spec, cells in valid_specs(range(specs)):
        for _query, found, stated in greatest_changes(seed, spec, cells):
            reached[found == stated] += 1
            counted += found > 0
    assert counted > 0.5 * reached.total()
    assert reached[True] > 0.25 * reached.total()


@pytest.mark.parametrize("specs", also_slow(SPECS, 1_000))
def test_the_engine_agrees_on_values_of_people(specs: int, tmp_path: Path) -> None:
    """Statistics about people have no random choice, unless groups are limited."""
    for seed, spec, cells in valid_specs(range(specs)):
        random = Random(seed)
        rows = [row for person in "pqrs" for row in rows_of(random, cells, person)]
        rows += rows_of(random, cells, "")
        random.shuffle(rows)
        asked = [
            (query, relation.unit)
            for query, relation in asked_of(spec)
            if isinstance(relation.unit, PersonUnit)
            and relation.unit.of_people
            and query.group_limit(relation.unit) is None
        ]
        queries, units = [query for query, _ in asked], [unit for _, unit in asked]
        agreed(queries, file_of(cells, rows), tmp_path, units, empty_groups=False)


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize(
    ("labels", "more"), [(", values: [a, b, c, d]", ""), ("", ", keys: private, delta: 0.01")]
)
def test_people_are_in_no_more_groups_than_allowed(
    limit: int, labels: str, more: str, tmp_path: Path
) -> None:
    """Each of 30 people has many rows in all of four groups, and counts in as many as may be."""
    spec = parse_central_spec(
        "dpcli: 1\ndataset: d\nquality: none\n"
        "privacy: {unit: {column: who}, neighbors: add-remove, budget: {epsilon: 9, delta: 0.1}}\n"
        f"columns:\n  who: {{type: id}}\n  kind: {{type: category{labels}}}\n"
        "statistics:\n  - {name: n, statistic: count, of: people, by: [kind],"
        f" max_groups: {limit}, epsilon: 1{more}}}\n",
        "spec.yaml",
    )
    plan, path = make_plan(spec), tmp_path / "data.csv"
    rows = (f"p{person},{kind}\n" * 3 for person in range(30) for kind in "abcd")
    path.write_text("".join(["who,kind\n", *rows]), encoding="utf-8")
    ((query, unit),) = ((asked.query, asked.unit) for asked in plan.engine_queries)
    (answer,) = engine([query], unit, path)
    counts = answer if isinstance(answer, list) else [one for own in answer.values() for one in own]
    assert sum(counts) == 30 * limit


def stated(statistic: str, neighbors: str, people: str) -> list[int]:
    """The sensitivities in L1 of the queries of one entry about people."""
    text = (
        "dpcli: 1\ndataset: d\n"
        f"privacy: {{unit: {{column: who}}, neighbors: {neighbors}, budget: {{epsilon: 9}}}}\n"
        "columns:\n  who: {type: id}\n  x: {type: integer, bounds: [0, 9]}\n"
        "  day: {type: date, bounds: [2024-01-01, 2024-12-31]}\n"
        "  kind: {type: category, values: [a, b, c]}\n"
        f"people:\n  v: {{{people}}}\n"
        f"statistics: [{{name: n, {statistic}, of: people, epsilon: 1}}]\n"
    )
    spec = parse_central_spec(text, "spec.yaml")
    (entry,) = spec.entries
    relation = spec.relation_of(entry)
    return [query_sensitivity(part.query, relation).l1 for part in entry.designs[-1].queries]


@pytest.mark.parametrize(
    ("statistic", "people", "added", "changed"),
    [
        ("statistic: count", "count: rows, bounds: [0, 50]", 1, 1),
        ("statistic: count, by: [v]", "last: kind, by: day", 1, 2),
        ("statistic: count, where: {v: true}", "any: {kind: [a]}", 1, 1),
        ("statistic: sum, column: v", "count: rows, bounds: [0, 50]", 50, 50),
        ("statistic: sum, column: v", "count: rows, bounds: [10, 50]", 50, 50),
        ("statistic: histogram, column: v, bins: {width: 5}", "max: x", 1, 2),
        # Of keys of rows, a person may be in each group.
        ("statistic: count, by: [kind]", "max: x", 3, 3),
        ("statistic: count, by: [kind], max_groups: 2", "max: x", 2, 3),
    ],
)
def test_a_person_is_one_line(statistic: str, people: str, added: int, changed: int) -> None:
    """The sensitivity is that of one row, whatever rows a person has.

    Under change-one, one of both people may have no row.
    """
    assert stated(statistic, "add-remove", people) == [added]
    if "by: [kind]" not in statistic:
        assert stated(statistic, "change-one", people) == [changed]


SPEC = """\
dpcli: 1
dataset: d
privacy: {{unit: {{column: who}}, neighbors: {neighbors}, budget: {{epsilon: 99}}}}
columns:
  who: {{type: id}}
  kind: {{type: category, values: [a, b]}}
  day: {{type: integer, bounds: [0, 9]}}
people:
  last: {{last: kind, by: day}}
  often: {{count: rows, bounds: [0, 4]}}
statistics:
"""

CONDITIONAL = [
    "statistic: count, of: people, where: {{last: [{0}]}}",
    "statistic: sum, column: often, where: {{last: [{0}]}}",
    "statistic: count, of: people, by: [kind], where: {{last: [{0}]}}",
    "statistic: count, of: rows, max_rows: 3, where: {{last: [{0}]}}",
    "statistic: count, of: rows, max_rows: 2, where: {{kind: [{0}]}}",
    "statistic: count, of: rows, max_rows: 1, where: {{kind: [{0}]}}",
]


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("seed", range(8))
def test_entries_about_different_people_are_disjoint(seed: int, neighbors: str) -> None:
    """Conditions on people separate all their rows; those on rows only single rows."""
    random = Random(seed)
    forms = [CONDITIONAL[seed % 4], CONDITIONAL[(seed + 1) % 4], *random.choices(CONDITIONAL, k=3)]
    text = SPEC.format(neighbors=neighbors) + "".join(
        f"  - {{name: s{at}, {form.format('ab'[at % 2])}, epsilon: {random.choice('12')}}}\n"
        for at, form in enumerate(forms)
    )
    plan = make_plan(parse_central_spec(text, "spec.yaml"))
    assert plan.statistics[0].branch and plan.statistics[1].branch
    assert plan.statistics[0].branch != plan.statistics[1].branch
    queries, units = queries_of(plan), [asked.unit for asked in plan.engine_queries]
    rows = [f"p,{kind},{day}\n" for kind in "ab" for day in range(4)]
    persons = [
        "who,kind,day\n" + "".join(random.choices(rows, k=random.randint(0, 5))) for _ in range(60)
    ]
    answered = [
        [cells_of(exact) for exact in evaluate(queries, text.encode(), units, lambda _, at: at)]
        for text in ["who,kind,day\n", *persons]
    ]
    before = answered if neighbors == "change-one" else answered[:1]
    worst = max(
        pure_loss(plan, [np.subtract(a, b) for a, b in zip(one, other, strict=True)])
        for one, other in product(before, answered)
    )
    assert 0 < worst <= plan.cost.epsilon


@pytest.mark.parametrize(
    "value", ["most: kind", "last: kind, by: day", "distinct: kind, bounds: [0, 2]"]
)
def test_a_filter_on_rows_leaves_out_no_value_of_their_people(value: str) -> None:
    """A person whose most frequent kind is another one has rows of this kind, too."""
    text = SPEC.format(neighbors="add-remove").replace(
        "last: {last: kind, by: day}", f"v: {{{value}}}"
    )
    text += "  - {name: n, statistic: count, of: rows, max_rows: 3, by: [v], where: {kind: [a]},"
    text += " epsilon: 1}\n"
    (entry,) = parse_central_spec(text, "spec.yaml").entries
    (key,) = entry.inputs.by

    assert len(key) == len(key.column.axis_labels(key.starts))

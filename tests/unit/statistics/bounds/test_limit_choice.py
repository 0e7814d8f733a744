"""A chosen limit on rows per person: the sensitivity of its counts, and what they choose."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import product

import pytest

from dpcli.data.candidate_bounds import GRID_KINDS, LIMIT_NAME
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.numeric.arrays import integer_array
from dpcli.planning.planner import make_plan
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.problems.errors import SpecError
from dpcli.queries.query import RowsPerUserQuery
from dpcli.specification.chosen_bounds import from_json, to_json, with_chosen_bounds
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.bounds.chosen_bounds import ROWS_HISTOGRAM, ChosenBounds, LimitChoice
from dpcli.statistics.bounds.rule import BoundsGrid
from dpcli.statistics.design import NoisyAnswer
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate

KINDS = pytest.mark.parametrize("kind", GRID_KINDS, ids=lambda kind: kind.name)


def choice(up_to: int = 1000, kind: int = 0, coverage: str = "1") -> LimitChoice:
    """A choice of a limit of at most this number."""
    grid = BoundsGrid(LimitChoice.rows(up_to), GRID_KINDS[kind])
    return LimitChoice(grid, Fraction(coverage), Fraction(1, 10))


def chosen(counts: list[int], scale: int = 10, **how: object) -> ChosenBounds:
    """What these counts choose."""
    answer = NoisyAnswer(integer_array(counts), DiscreteLaplace(Fraction(scale)))
    return choice(**how).choose(answer)  # type: ignore[arg-type]


@KINDS
@pytest.mark.parametrize("up_to", [2, 3, 10, 64, 1000])
def test_a_person_is_in_the_bin_of_the_least_limit_that_holds_their_rows(
    kind: object, up_to: int
) -> None:
    """Every number of rows has one bin, and more rows than the outermost limit are in the last."""
    one = choice(up_to, list(GRID_KINDS).index(kind))  # type: ignore[arg-type]
    query = RowsPerUserQuery(starts=tuple(one.grid.axis.starts))
    candidates = one.grid.above

    assert candidates[0] == 1
    assert candidates[-1] == up_to
    assert len(candidates) == query.cells == len(one.bins)
    for rows in range(1, up_to + 1):
        index = bisect_right(query.starts, rows) - 1
        assert candidates[index] == min(candidate for candidate in candidates if candidate >= rows)
        assert one.bins[index][0] <= rows <= one.bins[index][1] == candidates[index]


UNITS = [PersonUnit("id", 1, 1, 1), PersonUnit("id", 2, 2, 3), PersonUnit("id", 1, 4, 4, True)]


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("neighbors", Neighbors)
def test_no_person_changes_the_counts_by_more_than_the_sensitivity(
    unit: PersonUnit, neighbors: Neighbors
) -> None:
    """Over all neighbors, the greatest change is the stated one, however many rows a person has."""
    (design,) = ROWS_HISTOGRAM.designs(choice(5).inputs, relation := Relation(unit, neighbors))
    (weighted,) = design.queries
    # Rows whose cells cannot be read count as well.
    people = ["".join(f"a,{'x' if row % 2 else 1}\n" for row in range(rows)) for rows in range(13)]
    others = ["", "b,1\n", "b,1\nb,2\n,3\n"]

    def counts(text: str) -> list[int]:
        (answer,) = evaluate([weighted.query], f"id,x\n{text}".encode(), unit)
        return cells_of(answer)

    before = people if neighbors is Neighbors.CHANGE_ONE else [""]
    changes = [
        [abs(a - b) for a, b in zip(counts(rest + one), counts(rest + two), strict=True)]
        for rest, one, two in product(others, before, people)
    ]
    stated = query_sensitivity(weighted.query, relation)

    assert stated.l1 == max(map(sum, changes)) == (1 if neighbors is Neighbors.ADD_REMOVE else 2)
    assert stated.linf == max(map(max, changes)) == 1
    assert stated.l2_squared == max(sum(change**2 for change in one) for one in changes)
    assert stated.l0 == max(sum(map(bool, one)) for one in changes)


def test_rows_are_no_users() -> None:
    """Where each row is a unit, there is no person to count."""
    query = RowsPerUserQuery(starts=(0, 2))
    with pytest.raises(ValueError, match="where a user is the unit"):
        query_sensitivity(query, Relation(RowUnit(), Neighbors.ADD_REMOVE))


@pytest.mark.parametrize("starts", [(), (2, 3), (0, 0), (0, 3, 2)])
def test_bins_that_leave_a_person_out_or_count_one_twice_are_refused(
    starts: tuple[int, ...],
) -> None:
    """The sensitivity holds for bins of which every number of rows has one."""
    with pytest.raises(ValueError, match="bins of numbers of rows"):
        RowsPerUserQuery(starts=starts)


def test_the_limit_is_the_outermost_bin_above_the_noise() -> None:
    """The rungs are 1, 2, 5, 10, 20, 50, 100, 200, 500 and 1,000."""
    counts = [900, 700, 400, 300, 30, 0, 0, 0, 0, 0]
    assert chosen(counts).upper == 20
    assert chosen([900, 0, 0, 0, 0, 0, 0, 0, 0, 0]).upper == 1
    assert chosen([*counts[:-1], 300]).upper == 1000


def test_few_people_leave_the_outermost_limit() -> None:
    """Without a clear bin nothing is decided."""
    found = chosen([20, -3, 31, 8, -14, 2, 0, 5, -6, 1])
    assert not found.decided
    assert found.upper == 1000


def test_cover_leaves_out_rows_of_people_with_most_of_them() -> None:
    """The limit is the least that covers the share of the accepted counts."""
    counts = [500, 400, 90, 10, 0, 0, 0, 0, 0, 0]
    limits = [
        chosen(counts, scale=1, coverage=coverage).upper for coverage in ("1", "0.99", "0.9", "0.5")
    ]
    assert limits == [10, 5, 2, 1]


def test_what_is_stored_is_read_again() -> None:
    """A limit and the bounds of a column of any name are stored side by side."""
    bounds = ChosenBounds(Fraction(-1, 2), Fraction(5), (1, -2), decided=False)
    limit = ChosenBounds(Fraction(0), Fraction(20), (7, 8))
    for name in ("x", LIMIT_NAME, "bounds of x", "max_rows"):
        kept = {f"bounds of {name}": bounds, LIMIT_NAME: limit}
        assert from_json(to_json(kept)) == kept


SPEC = """\
dpcli: 1
dataset: d
privacy:
  unit: {column: id, max_rows: {choose: 1-2-5, up_to: 100, epsilon: 0.1}}
  neighbors: add-remove
  budget: {epsilon: 5}
columns:
  id: {type: id}
  a: {type: category, values: [x, y]}
  b: {type: category, values: [x, y]}
  c: {type: category, values: [x, y]}
statistics:
"""


def test_a_limit_of_an_entry_does_not_depend_on_the_choice() -> None:
    """Such an entry keeps its limits and its noise, and may state an error; others do not."""
    tables = "statistic: marginals, columns: [a, b, c], ways: 2"
    spec = parse_central_spec(
        f"{SPEC}  - {{name: own, {tables}, max_rows: 3, max_groups: 1, epsilon: 1}}\n"
        f"  - {{name: groups, {tables}, max_groups: 2, epsilon: 1}}\n"
        f"  - {{name: chosen, {tables}, epsilon: 1}}\n"
        "  - {name: count, statistic: count, max_rows: 3, error: 40}\n",
        "spec.yaml",
    )
    (choice,) = spec.choices
    for limit in (2, 5):
        after = with_chosen_bounds(spec, {LIMIT_NAME: ChosenBounds(Fraction(0), Fraction(limit))})
        units = [after.relation_of(entry).unit for entry in after.entries[:3]]
        assert units == [
            PersonUnit("id", 3, 1, 3), PersonUnit("id", limit, 2, limit),
            PersonUnit("id", limit, limit, limit),
        ]  # fmt: skip
        for entry in after.entries:
            (design, *_), relation = entry.designs, after.relation_of(entry)
            assert entry.designs == entry.statistic.designs(design.inputs, relation)
        before, now = (make_plan(each).statistics for each in (spec, after))
        assert before[0].queries == now[0].queries
        assert all(before[index].queries != now[index].queries for index in (1, 2))
        assert [planned.depends_on(choice) for planned in now] == [False, True, True, False]


def test_a_choice_that_no_entry_uses_is_refused() -> None:
    """If all entries state limits of their own, noisy counts would be paid for in vain."""
    entry = "  - {name: own, statistic: count, max_rows: 3, epsilon: 1}\n"
    with pytest.raises(SpecError) as refused:
        parse_central_spec(SPEC + entry, "spec.yaml")
    assert [problem.code for problem in refused.value.problems] == ["bounds-unused"]

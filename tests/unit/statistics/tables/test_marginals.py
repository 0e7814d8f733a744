"""Marginal tables: which tables are measured, their errors, and the intervals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod, sqrt

import numpy as np
import pytest

from dpcli.numeric.arrays import Array, Floats, Ints, integer_array
from dpcli.numeric.exact import rounded_text
from dpcli.planning.plan import PlannedStatistic
from dpcli.problems.errors import SpecError
from dpcli.queries.one_way import OneWayQuery
from dpcli.queries.query import Query
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.tables.effects import EffectQuery
from dpcli.statistics.tables.shares import (
    EPSILON,
    MAX_CELLS,
    RHO,
    Shares,
    Ways,
    effects_design,
    epsilon_design,
    expected_square,
    separate_design,
    wanted_tables,
)
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate
from tests.support.cli import ROOT
from tests.support.rules import EXTENDED
from tests.support.streams import Stream
from tests.support.surveys import CONFIDENCE, held, noise_alone, planned_statistic

RUNS = 1000

SHAPES = [
    ((3, 5, 2, 3), (2,)),
    ((2, 2, 2, 2), (1,)),
    ((10, 10, 10), (2,)),
    ((100, 100, 3), (2,)),
    ((2, 3, 5, 7, 11), (2,)),
    ((4, 4, 4), (3,)),
    ((3, 4, 10), (1,)),
    ((1, 6, 2), (2,)),
    ((2,) * 8, (2,)),
    ((20,) * 5, (1,)),
    ((2, 3, 5, 7), (3,)),
    ((3, 5, 2, 3), (1, 2)),
    ((10, 10, 10), (1, 2)),
    ((2, 3, 5, 7), (1, 3)),
    ((20,) * 4, (1, 2, 3)),
]
"""Numbers of labels, and how many columns the wanted tables have."""

SIMULATED = [
    ((3, 5, 2, 3), (2,)),
    ((3, 4, 10), (1,)),
    ((2, 3, 5, 7, 11), (2,)),
    ((2, 10, 5), (2,)),
    ((3, 5, 2, 3), (1, 2)),
    ((10, 10, 10), (1, 2)),
    ((2, 10, 5), (1, 3)),
]
"""One joint table, blocks of both kinds, wanted tables with unequal shares, and mixed tables."""

LAPLACE, GAUSSIAN = "epsilon: 0.2", "mechanism: gaussian, epsilon: 0.2, delta: 1e-6"


def planned(sizes: Sequence[int], ways: Ways, loss: str, **changes: str) -> PlannedStatistic:
    """The plan of all tables of this number of these columns."""
    texts = {"unit": "row", "neighbors": "add-remove", "rule": "sequential", "missing": ""}
    texts |= changes
    missing = f", missing: {texts['missing']}" if texts["missing"] else ""
    columns = "".join(
        f"  c{place}: {{type: category, values: {[f'v{n}' for n in range(size)]}{missing}}}\n"
        for place, size in enumerate(sizes)
    )
    names = ", ".join(f"c{place}" for place in range(len(sizes)))
    return planned_statistic(
        f"dpcli: 1\ndataset: d\ncolumns:\n  id: {{type: id}}\n{columns}"
        f"privacy: {{unit: {texts['unit']}, neighbors: {texts['neighbors']}, "
        f"composition: {texts['rule']}, budget: {{epsilon: 9, delta: 1e-3}}}}\n"
        "statistics:\n"
        f"  - {{name: t, statistic: marginals, columns: [{names}], ways: {list(ways)}, {loss}}}\n"
    )


def consistent(plan: PlannedStatistic, answers: Sequence[NoisyAnswer]) -> Estimates:
    """The numbers after agreement."""
    estimates = plan.design.estimate(answers, CONFIDENCE)
    return plan.design.make_consistent(answers, estimates, CONFIDENCE)


def expected_error(plan: PlannedStatistic) -> float:
    """The root mean square of the errors that the closed form states."""
    errors = [
        sqrt(part.calibrated.noise.discrete_variance) * float(part.weighted.step)
        for part in plan.queries
    ]
    return plan.design.expected_error(errors)


@pytest.mark.parametrize(
    ("sizes", "ways", "loss"),
    [
        pytest.param(*case, loss, marks=[EXTENDED] if (index + at) % 2 else [])
        for index, case in enumerate(SIMULATED)
        for at, loss in enumerate((LAPLACE, GAUSSIAN))
    ],
)
def test_errors_are_those_of_the_closed_form_and_intervals_hold(
    sizes: tuple[int, ...], ways: Ways, loss: str, stream: Stream
) -> None:
    """Over many releases, the error is the expected one, and 95 % of intervals are right."""
    plan = planned(sizes, ways, loss)
    answers = noise_alone(plan, RUNS)
    agreed = consistent(plan, answers)
    values = agreed.value.astype(float) * float(agreed.step)
    assert sqrt((values**2).mean()) == pytest.approx(expected_error(plan), rel=0.02)
    assert 0.93 <= held(agreed, 0)[0] <= 0.97

    raw = plan.design.estimate(answers, CONFIDENCE)
    assert 0.93 <= held(raw, 0)[0] <= 0.97


def test_intervals_of_few_noises_hold_where_noise_is_small(stream: Stream) -> None:
    """Where the noise is about one step, no table has intervals that hold less than stated."""
    plan = planned((3, 5, 2, 3), (2,), "epsilon: 2")
    agreed = consistent(plan, noise_alone(plan, RUNS))
    assert held(agreed, 0)[0] >= 0.945


@pytest.mark.parametrize("power", [EPSILON, RHO])
@pytest.mark.parametrize(("sizes", "ways"), SHAPES)
def test_no_design_is_expected_to_be_worse_than_equal_tables(
    sizes: tuple[int, ...], ways: Ways, power: int
) -> None:
    """The chosen tables and shares have at most the error of the wanted tables alone."""
    wanted = wanted_tables(len(sizes), ways)
    equal = [(table, Fraction(1, len(wanted))) for table in wanted]
    design = separate_design(sizes, ways, power)
    if power == EPSILON:
        design = epsilon_design(sizes, ways, 1)
    assert sum(share for _, share in design) == 1
    assert square(sizes, ways, design, power) <= square(sizes, ways, equal, power) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("sizes", "ways"),
    [((2, 2, 2), (2,)), ((2, 3, 4), (1,)), ((2, 3, 5, 4), (2,)), ((2, 3, 5, 7), (1, 3))],
)
def test_no_tables_of_any_columns_are_better_than_effects(
    sizes: tuple[int, ...], ways: Ways
) -> None:
    """The error of the best shares of rho for effects is below that of many shares for tables."""
    design = effects_design(sizes, ways, 1.0, lambda effect: _added(sizes, effect))
    assert design is not None
    effects = [(effect, _added(sizes, effect) / float(share)) for effect, share in design]
    least = expected_square(sizes, ways, [], effects)
    places = range(len(sizes))
    tables = [table for count in places for table in combinations(places, count + 1)]
    random = np.random.default_rng(7)
    tried = [random.dirichlet(np.full(len(tables), size)) for size in (0.1, 0.3, 1) * 300]
    every = [list(zip(tables, 1 / np.maximum(shares, 1e-9), strict=True)) for shares in tried]
    assert min(expected_square(sizes, ways, measured) for measured in every) > least
    best = separate_design(sizes, ways, RHO)
    assert least < square(sizes, ways, best, RHO)


def least_square(sizes: tuple[int, ...], ways: Ways) -> float:
    """A bound below the squared error of any Gaussian noise with L2 sensitivity and scale one.

    The square of the sum of the singular values of the matrix of all wanted counts, over the number
    of cells (Li and Miklau 2013).
    """
    wanted = np.concatenate([sums(sizes, table) for table in wanted_tables(len(sizes), ways)])
    squares = np.linalg.eigvalsh(wanted.T @ wanted)
    return float(np.sqrt(np.maximum(squares, 0)).sum() ** 2 / prod(sizes))


@pytest.mark.parametrize(
    ("sizes", "ways"),
    [
        ((2,) * 5, (2,)),
        ((2, 3, 4), (1,)),
        ((2, 3, 5, 4), (2,)),
        ((2, 3, 5, 7), (1, 3)),
        ((2,) * 8, (4,)),
        ((2,) * 9, (5,)),
    ],
)
def test_effects_reach_the_least_error_of_gaussian_noise(
    sizes: tuple[int, ...], ways: Ways
) -> None:
    """No Gaussian noise has a smaller sum of squares than effects, up to the rounding of shares.

    So it is for hundreds of effects: there is no limit on their number.
    """
    design = effects_design(sizes, ways, 1.0, lambda effect: _added(sizes, effect))
    assert design is not None
    effects = [(effect, _added(sizes, effect) / float(share)) for effect, share in design]
    assert expected_square(sizes, ways, [], effects) == pytest.approx(
        least_square(sizes, ways), rel=1e-5
    )


def test_too_many_effects_are_not_measured() -> None:
    """12,616 effects would be more queries than a spec may have; there are 8,568 tables."""
    assert effects_design((2,) * 18, (5,), 1.0, lambda effect: 1.0) is None


def test_many_effects_are_measured_because_tables_are_not_the_best() -> None:
    """The page states by how much tables of three of ten columns miss the least error.

    The plan measures the effects, and states the least error but for the rounding of noise.
    """
    sizes, ways = (2,) * 10, (3,)
    least = least_square(sizes, ways)
    tables = square(sizes, ways, separate_design(sizes, ways, RHO), RHO)
    ratio = sqrt(tables / least)
    plan = planned(sizes, ways, GAUSSIAN)
    assert len(plan.queries) == 176
    assert {type(part.weighted.query) for part in plan.queries[1:]} == {EffectQuery}
    deviation = sqrt(plan.queries[0].calibrated.noise.discrete_variance)
    cell = deviation * sqrt(float(plan.queries[0].weighted.weight))
    root = sqrt(least / prod([comb(10, 3), 2**3]))
    assert expected_error(plan) == pytest.approx(cell * root, rel=1e-3)

    text = " ".join((ROOT / "docs" / "statistics.md").read_text("utf-8").split())
    assert f"errors that are {ratio:.2f} times the least possible ones" in text


@pytest.mark.parametrize(
    ("sizes", "ways", "tables"),
    [
        ((2, 3, 4), (1, 2), [(0, 1), (1, 2), (0, 2), (0,), (2,)]),
        ((2, 3, 4), (1, 3), [(0, 1, 2), (1,)]),
        ((3, 2, 2, 2), (1, 2), [(0, 1, 2), (1, 2, 3), (0, 3)]),
    ],
)
def test_expected_errors_are_those_of_least_squares(
    sizes: tuple[int, ...], ways: Ways, tables: list[tuple[int, ...]]
) -> None:
    """With all tables as one matrix, the covariance of least squares has the same trace."""
    variances = [1.0 + place for place in range(len(tables))]
    rows = np.concatenate(
        [
            sums(sizes, table) / sqrt(variance)
            for table, variance in zip(tables, variances, strict=True)
        ]
    )
    covariance = np.linalg.pinv(rows.T @ rows)
    exact = sum(
        np.trace(sums(sizes, table) @ covariance @ sums(sizes, table).T)
        for count in ways
        for table in combinations(range(len(sizes)), count)
    )
    measured = list(zip(tables, variances, strict=True))
    assert expected_square(sizes, ways, measured) == pytest.approx(exact)


def sums(sizes: Sequence[int], table: Sequence[int]) -> Floats:
    """The matrix that makes a table from the joint one: a row for each of its cells."""
    matrix: Floats = np.ones((1, 1))
    for place, size in enumerate(sizes):
        part = np.eye(size) if place in table else np.ones((1, size))
        matrix = np.asarray(np.kron(matrix, part), np.float64)
    return matrix


def _added(sizes: Sequence[int], effect: Sequence[int]) -> float:
    """The square of the L2 sensitivity of an effect, if a row is added."""
    return prod(1 - 1 / sizes[place] for place in effect)


def square(
    sizes: tuple[int, ...],
    ways: Ways,
    design: Sequence[tuple[tuple[int, ...], Fraction]],
    power: int,
) -> float:
    """The expected squared error for cells of variance one over a power of the share."""
    measured = [(table, float(share) ** -power) for table, share in design]
    return expected_square(sizes, ways, measured)


@pytest.mark.parametrize(("sizes", "ways"), SHAPES)
def test_equal_tables_have_a_simple_expected_error(sizes: tuple[int, ...], ways: Ways) -> None:
    """It is the number of tables times the sum over effects of the product of (size - 1)."""
    wanted = wanted_tables(len(sizes), ways)
    effects = [effect for count in range(ways[-1] + 1) for effect in combinations(sizes, count)]
    simple = len(wanted) * sum(prod(size - 1 for size in effect) for effect in effects)
    measured = [(table, float(len(wanted))) for table in wanted]
    assert expected_square(sizes, ways, measured) == pytest.approx(simple)


@pytest.mark.parametrize(
    ("sizes", "ways", "measured"),
    [
        ((3, 5, 2, 3), (2,), {(0, 1, 2, 3)}),
        ((2, 2), (1,), {(0, 1)}),
        ((2, 2, 2, 2), (1,), {(0, 2), (1, 3)}),
        ((3, 4, 10), (1,), {(0, 1), (2,)}),
        ((10, 10, 10), (2,), {(0, 1), (0, 2), (1, 2)}),
        ((20, 20), (2,), {(0, 1)}),
    ],
)
def test_columns_with_few_labels_are_measured_together(
    sizes: tuple[int, ...], ways: Ways, measured: set[tuple[int, ...]]
) -> None:
    """Small tables are sums of a larger one, large ones are measured by themselves."""
    assert {table for table, _ in epsilon_design(sizes, ways, 1)} == measured


def cells(sizes: Sequence[int], design: Shares) -> int:
    """The cells of all measured tables."""
    return sum(prod(sizes[place] for place in table) for table, _ in design)


@pytest.mark.parametrize("groups", [1, 50, 10_000])
@pytest.mark.parametrize(
    ("sizes", "ways"), [((2,) * 20, (2,)), ((50,) * 5, (2,)), ((6,) * 9, (3,)), ((3,) * 12, (4,))]
)
def test_no_huge_table_is_measured(sizes: tuple[int, ...], ways: Ways, groups: int) -> None:
    """All measured tables have at most 100,000 cells, or as many as the wanted ones."""
    wanted = groups * cells(sizes, separate_design(sizes, ways, EPSILON))
    assert groups * cells(sizes, epsilon_design(sizes, ways, groups)) <= max(MAX_CELLS, wanted)


def test_very_many_tables_have_equal_shares() -> None:
    """Where shares would take long to compute, the wanted tables share epsilon evenly."""
    design = separate_design((2,) * 14, (7,), EPSILON)
    assert len(design) == comb(14, 7)
    assert {share for _, share in design} == {Fraction(1, comb(14, 7))}


def test_errors_of_very_many_tables_are_those_after_agreement() -> None:
    """Where shares would take long to compute, the stated error is that of the closed form."""
    sizes, ways = (2,) * 14, (7,)
    design = separate_design(sizes, ways, EPSILON)
    effects = sum(comb(14, count) for count in range(8))
    expected = float(len(design)) ** 2 * effects
    assert square(sizes, ways, design, EPSILON) == pytest.approx(expected)


def test_columns_with_one_label_cost_nothing() -> None:
    """They have no effects, and tables of them alone are planned quickly, with equal shares."""
    tables = comb(16, 8)
    design = separate_design((1,) * 16, (8,), RHO)
    assert {share for _, share in design} == {Fraction(1, tables)}


def test_tables_without_noise_are_exact() -> None:
    """From exact counts, agreement returns the exact tables, by whatever tables are measured."""
    for (sizes, ways), loss in product([*SIMULATED, ((3, 1, 2, 4), (2,))], (LAPLACE, GAUSSIAN)):
        plan = planned(sizes, ways, loss)
        joint: Ints = np.random.default_rng(5).integers(0, 50, sizes)
        answers = [
            NoisyAnswer(table(joint, part.weighted.query), part.calibrated.noise)
            for part in plan.queries
        ]
        wanted = [
            joint.sum(axis=tuple(set(range(len(sizes))) - set(kept))).ravel()
            for kept in wanted_tables(len(sizes), ways)
        ]
        agreed = consistent(plan, answers)
        assert (agreed.value == np.concatenate(wanted) * int(1 / agreed.step)).all()


def table(joint: Ints, query: Query) -> Array:
    """The cells of a table, whose columns are called by their places in the joint table.

    Those of an effect are, along each axis, its size times each number minus their sum.
    """
    if isinstance(query, OneWayQuery):
        return np.concatenate([table(joint, part) for part in query.parts])
    kept = {int(axis.column.name[1:]) for axis in query.items}
    counts: Ints = joint.sum(axis=tuple(set(range(joint.ndim)) - kept))
    if isinstance(query, EffectQuery):
        for axis, size in enumerate(counts.shape):
            counts = size * counts - counts.sum(axis=axis, keepdims=True)
    return integer_array(counts.ravel())


def test_totals_of_different_tables_agree(stream: Stream) -> None:
    """Every table has the same number of rows after agreement."""
    for loss in (LAPLACE, GAUSSIAN):
        plan = planned((2, 10, 5), (2,), loss)
        agreed = consistent(plan, noise_alone(plan, 1))
        ends = np.cumsum([20, 10, 50])
        totals = {int(part.sum()) for part in np.split(agreed.value, ends[:-1])}
        assert len(totals) == 1


LIMITED = "{column: id, max_rows: 3, max_groups: 2}"


def test_mixed_tables_follow_their_number_of_columns() -> None:
    """The tables of one column come first, whatever the order in the spec."""
    plan = planned((2, 3), (2, 1), LAPLACE)
    names = plan.entry.statistic.names(plan.entry.inputs)
    assert names[:5] == ("c0=v0", "c0=v1", "c1=v0", "c1=v1", "c1=v2")
    assert names[5:7] == ("c0=v0; c1=v0", "c0=v0; c1=v1")
    assert len(names) == 11


def test_tables_lack_columns_by_the_label_of_totals() -> None:
    """Each number has a key for every column; where a table lacks it, that is `all`."""
    plan = planned((2, 2), (0, 1, 2), LAPLACE)
    (name, labels), (_, others) = plan.entry.statistic.key_columns(plan.entry.inputs)
    assert name == "c0"
    assert [*zip(labels, others, strict=True)] == [
        ("all", "all"), ("v0", "all"), ("v1", "all"), ("all", "v0"), ("all", "v1"),
        ("v0", "v0"), ("v0", "v1"), ("v1", "v0"), ("v1", "v1"),
    ]  # fmt: skip
    renamed = planned((2, 2), (0, 2), f"{LAPLACE}, totals: both").entry
    assert renamed.statistic.key_columns(renamed.inputs)[1][1][:2] == ("both", "v0")


@pytest.mark.parametrize("loss", [LAPLACE, GAUSSIAN])
def test_the_total_has_a_tenth_of_the_loss_where_a_sum_of_cells_is_poor(loss: str) -> None:
    """The sum of 4,096 cells has three to six times as much noise; that of six cells has less."""
    sizes, plans = (8, 8, 8, 8), {}
    for ways in ((3,), (0, 3)):
        plans[ways] = planned(sizes, ways, loss)
    total = plans[0, 3].queries[0].weighted
    assert total.role == "rows"
    assert float(total.weight) == pytest.approx(0.1, rel=0.01)
    texts = [plan.design.sentences(plan.noises, CONFIDENCE)[-1] for plan in plans.values()]
    errors = [float(text.rpartition(" ")[2].replace(",", "")) for text in texts]
    assert errors[1] * 3 < errors[0]
    few = planned((2, 3), (0, 2), LAPLACE)
    assert [part.weighted.role for part in few.queries] == ["table of c0, c1"]


def test_a_public_total_has_no_share(stream: Stream) -> None:
    """Under change-one, if each row counts, `ways: 0` is the number of rows, without noise."""
    plan = planned((3, 4), (0, 1, 2), LAPLACE, neighbors="change-one", missing="v0")
    assert sum(part.weighted.weight for part in plan.queries) == 1
    agreed = consistent(plan, noise_alone(plan, 5))
    assert not agreed.value.reshape(5, -1)[:, 0].any()
    assert not (agreed.upper - agreed.lower).reshape(5, -1)[:, 0].any()
    alone = planned((3, 4), (0,), LAPLACE, neighbors="change-one", missing="v0")
    assert alone.queries[0].is_exact


@pytest.mark.parametrize("loss", [LAPLACE, GAUSSIAN])
def test_mixed_tables_need_less_than_an_entry_for_each_number_of_columns(loss: str) -> None:
    """Two entries share the loss; one answer for both is expected to be closer."""
    sizes = (4, 5, 6)
    mixed = planned(sizes, (1, 2), loss)
    half = loss.replace("epsilon: 0.2", "epsilon: 0.1")
    parts = [planned(sizes, (count,), half) for count in (1, 2)]
    counts = [plan.entry.statistic.item_count(plan.entry.inputs) for plan in parts]
    squares = [count * expected_error(plan) ** 2 for count, plan in zip(counts, parts, strict=True)]
    assert 1.3 * expected_error(mixed) < sqrt(sum(squares) / sum(counts))


def test_people_with_limits_on_cells_are_counted_in_the_published_tables() -> None:
    """A finer table would lose rows of people who have some in several of its cells."""
    for loss, effects in ((LAPLACE, 1), (GAUSSIAN, 11)):
        free = planned((3, 5, 2, 3), (2,), loss, unit="{column: id, max_rows: 3}")
        limited = planned((3, 5, 2, 3), (2,), loss, unit=LIMITED)
        assert (len(free.queries), len(limited.queries)) == (effects, 6)
        with pytest.raises(SpecError, match="groups of a person are limited"):
            planned((2, 5, 30), (1, 2), loss, unit=LIMITED)


def test_exchanged_rows_keep_the_published_tables_where_effects_cost_more() -> None:
    """A row that is exchanged changes effects of two labels twice as much as one that is added."""
    added, exchanged = (
        planned((2, 2, 2), (2,), GAUSSIAN, neighbors=neighbors)
        for neighbors in ("add-remove", "change-one")
    )
    assert (len(added.queries), len(exchanged.queries)) == (7, 3)


def test_laplace_noise_in_rho_measures_the_published_tables() -> None:
    """Where shares divide rho, more tables cost less, so none are joined."""
    plan = planned((3, 5, 2, 3), (2,), "mechanism: laplace, rho: 0.1", rule="zcdp")
    assert len(plan.queries) == 6
    assert plan.rho <= Fraction(1, 10)


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("unit", ["row", "{column: id, max_rows: 2}", LIMITED])
@pytest.mark.parametrize("sizes", [(2, 3, 5), (2, 5, 9)])
def test_all_answers_together_reveal_at_most_epsilon(
    sizes: tuple[int, ...], unit: str, neighbors: str
) -> None:
    """Over pairs of neighbors, the sum of change over scale of all tables reaches epsilon."""
    plan = planned(sizes, (2,), LAPLACE, unit=unit, neighbors=neighbors)
    queries = [part.weighted.query for part in plan.queries]
    ends = [[0, size - 1] for size in sizes]
    rows = [",".join(f"v{label}" for label in labels) for labels in product(*ends)]
    most_rows = 1 if unit == "row" else 2
    some = [[], *([row] for row in rows), *(list(pair) for pair in combinations(rows, 2))]
    files = [one for one in some if len(one) <= most_rows]
    if unit == "row" and neighbors == "change-one":
        files = [one for one in files if one]
    answers = [exact(queries, rows, sizes, plan) for rows in files]
    against = answers if neighbors == "change-one" else answers[:1]
    losses = {
        sum(
            Fraction(int(abs(mine - other).sum())) / part.calibrated.noise.scale
            for mine, other, part in zip(one, two, plan.queries, strict=True)
        )
        for one, two in product(answers, against)
    }
    assert max(losses) <= plan.target.epsilon
    if unit != LIMITED:
        assert max(losses) == plan.target.epsilon


def exact(
    queries: Sequence[Query], rows: Sequence[str], sizes: Sequence[int], plan: PlannedStatistic
) -> list[Array]:
    """The exact answers about one person with these rows, by the oracle."""
    header = ",".join(f"c{place}" for place in range(len(sizes)))
    data = "".join(f"{line}\n" for line in [f"id,{header}", *(f"me,{row}" for row in rows)])
    unit = plan.queries[0].calibrated.relation.unit
    return [np.array(cells_of(cells)) for cells in evaluate(queries, data.encode(), unit)]


@pytest.mark.parametrize(
    ("sizes", "ways", "loss", "words"),
    [
        ((3, 5, 2, 3), (2,), LAPLACE, "one table of all 4 columns is measured"),
        ((2, 3, 5, 7, 11), (2,), LAPLACE, "3 tables of more columns are measured"),
        ((10, 10, 10), (2,), LAPLACE, "with an equal part of the loss"),
        ((2, 3, 5), (2,), GAUSSIAN, "how counts deviate from it by each column"),
        ((2, 10, 50), (2,), GAUSSIAN, "with a part of the loss that depends on the numbers of"),
        ((2, 3), (1, 2), LAPLACE, "one table of all 2 columns is measured"),
        ((2, 5, 30), (1, 2), LAPLACE, "the 3 with the most columns are measured"),
        ((2, 2, 2, 30), (1, 2), LAPLACE, "3 tables of more columns are measured"),
        ((2, 3, 5, 7), (1, 3), GAUSSIAN, "how counts deviate from it by each column"),
    ],
)
def test_plans_describe_the_design_and_its_error(
    sizes: tuple[int, ...], ways: Ways, loss: str, words: str
) -> None:
    """Two sentences say which tables are measured, and a third what error to expect."""
    plan = planned(sizes, ways, loss)
    design, error = plan.design.sentences(plan.noises, CONFIDENCE)
    assert words in design
    assert design.count(". ") == 1
    assert f"is {rounded_text(Fraction(expected_error(plan)), 3)} (root" in error


def test_the_error_of_a_joint_table_is_that_of_its_sums(stream: Stream) -> None:
    """The half-width that a plan states holds in the table whose cells sum the most others."""
    plan = planned((3, 5, 2, 3), (2,), "epsilon: 0.2")
    stated = plan.error(CONFIDENCE)
    assert stated is not None
    agreed = consistent(plan, noise_alone(plan, RUNS))
    smallest = agreed.value.reshape(RUNS, -1)[:, -6:]
    assert 0.93 <= (abs(smallest) <= int(stated)).mean() <= 0.97
    assert stated > plan.queries[0].error(CONFIDENCE)


@pytest.mark.parametrize(
    ("sizes", "ways", "loss", "raw"),
    [
        ((3, 5, 2, 3), (2,), LAPLACE, False),
        ((4, 4, 4), (3,), LAPLACE, False),
        ((3, 5, 2, 3), (2,), f"{LAPLACE}, raw: true", False),
        ((3, 5, 2, 3), (2,), f"{LAPLACE}, raw: true, post: [consistent, nonnegative]", True),
        ((2, 3, 5, 7, 11), (2,), LAPLACE, True),
        ((3, 5, 2, 3), (2,), GAUSSIAN, False),
        ((2, 10, 50), (2,), GAUSSIAN, True),
    ],
)
def test_noisy_numbers_are_published_too_if_agreement_changes_them(
    sizes: tuple[int, ...], ways: Ways, loss: str, raw: bool
) -> None:
    """The sums of one measured table, or of effects, agree, and are not published twice."""
    plan = planned(sizes, ways, loss)
    assert plan.entry.raw == raw
    if not raw:
        answers = noise_alone(plan, 3)
        before = plan.design.estimate(answers, CONFIDENCE)
        after = consistent(plan, answers)
        assert np.array_equal(before.value, after.value)
        assert np.array_equal(before.lower, after.lower)

"""Means and shares by public sizes of groups: sensitivity, coverage, errors and refusals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest

from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.numeric.arrays import Array, Floats
from dpcli.planning.completeness import completeness_of
from dpcli.planning.expected_errors import expected_error
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.problems.errors import SpecError
from dpcli.specification.load import parse_central_spec, read_central_spec
from dpcli.statistics.design import WeightedQuery
from dpcli.statistics.estimates import HAS_INTERVAL, Estimates
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate
from tests.support.rules import in_pairs, mostly_extended
from tests.support.surveys import (
    CONFIDENCE,
    assert_covers,
    by_item,
    planned_statistic,
    row_terms,
    with_noise,
)

SPEC = """
dpcli: 1
dataset: trial
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 1000, delta: 1e-5}}}}
columns:
  who: {{type: id}}
  x: {{type: integer, bounds: [0, {high}], missing: 0}}
  ok: {{type: boolean, missing: false}}
  day: {{type: date, bounds: [2024-01-01, 2024-01-10], missing: 2024-01-01}}
  w: {{type: integer, bounds: [0, 4]}}
  blank: {{type: boolean}}
  arm: {{type: category, values: [a, b]}}
  site: {{type: category, values: [s, t]}}
statistics: [{{name: s, {fields}, epsilon: {epsilon}}}]
"""

PEOPLE = "{column: who, max_rows: 3, max_groups: 2}"

RELATIONS = tuple(product(("row", PEOPLE), ("add-remove", "change-one")))

MEAN, SHARE = "statistic: mean, column: x", "statistic: proportion, column: ok"

BY = "by: [arm]"

pytestmark = pytest.mark.usefixtures("stream")


def text_of(
    fields: str, relation: tuple[str, str] = RELATIONS[0], epsilon: object = 1, high: int = 100
) -> str:
    """A spec of one entry."""
    unit, neighbors = relation
    return SPEC.format(unit=unit, neighbors=neighbors, fields=fields, epsilon=epsilon, high=high)


def planned(
    fields: str, relation: tuple[str, str] = RELATIONS[0], epsilon: object = 1, high: int = 100
) -> PlannedStatistic:
    """The only statistic of a spec."""
    return planned_statistic(text_of(fields, relation, epsilon, high))


def plan_of(fields: str) -> CentralPlan:
    """The plan of a spec."""
    return make_plan(parse_central_spec(text_of(fields), "trial"))


ROWS = tuple(product(("0", "2", "?"), ("0", "1", "?"), ("0", "4", "?"), ("a", "b", "?")))


def people() -> Iterator[tuple[tuple[str, ...], ...]]:
    """Persons with up to three rows, of extreme values in groups."""
    extremes = [row for row in ROWS if row[2] == "4" and "?" not in row]
    for count in range(4):
        yield from combinations_with_replacement(extremes, count)


def answer(statistic: PlannedStatistic, rows: Sequence[tuple[str, ...]]) -> Array:
    """The exact answer about rows of one person, or about these rows."""
    (part,) = statistic.queries
    lines = "".join(f"p,{','.join(row)}\n" for row in rows)
    (found,) = evaluate(
        [part.weighted.query], f"who,x,ok,w,arm\n{lines}".encode(), [statistic.unit]
    )
    return np.array(cells_of(found))


FORMS = (
    f"{MEAN}, sizes: 3",
    f"{MEAN}, {BY}, sizes: {{a: 1, b: 100}}",
    f"{MEAN}, {BY}, weight: w, sizes: {{a: 1.5, b: 100}}",
    f"{SHARE}, {BY}, sizes: {{a: 2, b: 5}}",
    f"{SHARE}, {BY}, where: {{x: {{max: 1}}}}, sizes: {{a: 2, b: 5}}",
    "statistic: comparison, of: mean, column: x, between: arm, sizes: {a: 2, b: 5}",
    "statistic: comparison, of: proportion, column: ok, between: arm, sizes: {a: 2, b: 5}",
)


@pytest.mark.parametrize(("fields", "relation"), [*product(FORMS, RELATIONS)])
def test_no_neighbor_changes_the_sums_by_more_than_half_a_width(
    fields: str, relation: tuple[str, str]
) -> None:
    """The greatest change over rows, or persons of up to three, is the sensitivity."""
    statistic = planned(fields, relation, high=2)
    (part,) = statistic.queries
    claim = query_sensitivity(part.weighted.query, part.calibrated.relation)
    files = [(row,) for row in ROWS] if relation[0] == "row" else [*people()]
    if relation[0] != "row" and part.weighted.query.where:
        files = [file for file in files if all(row[0] != "2" for row in file)]
    found = list({tuple(answer(statistic, file)) for file in files})
    others = found if relation[1] == "change-one" else [(0,) * len(found[0])]
    changes = [np.subtract(one, other) for one, other in product(found, others)]

    assert max(abs(change).sum() for change in changes) == claim.l1
    assert max((change**2).sum() for change in changes) == claim.l2_squared
    once = 4 if "weight" in fields else 1
    times = (1 if relation[0] == "row" else 3) * (2 if relation[1] == "change-one" else 1)
    half = Fraction(1) if "column: x" in fields else Fraction(1, 2)
    assert claim.l1 * part.weighted.step == half * once * times


SIZES, EPSILONS = (30, 300, 30_000), (Fraction(1, 5), Fraction(1), Fraction(3))

RUNS = 600


def files(of: str, size: int) -> list[Array]:
    """The values of two groups, the second a third larger."""
    more = size + size // 3
    if of == "mean":
        halves = np.repeat([30, 60], [size // 2, size - size // 2])
        return [halves, np.repeat([20, 90], [more // 3, more - more // 3])]
    return [np.arange(size) % 3 // 2, np.arange(more) % 4 // 3]


def released(
    statistic: PlannedStatistic, of: str, values: Sequence[Array], runs: int
) -> tuple[Estimates, Floats]:
    """Many releases about groups of these values, and their exact means."""
    (part,) = statistic.queries
    middle = 50 if of == "mean" else 0.5
    step = float(part.weighted.step)
    sums = [round(float((one - middle).sum()) / step) for one in values]
    found = statistic.entry.statistic.possible_estimate(
        statistic.design, with_noise(statistic, [sums], runs), CONFIDENCE
    )
    return found, np.array([one.mean() for one in values])


def fields_of(of: str, sizes: Sequence[int], *, compared: bool) -> str:
    """A mean or share of two groups, or a comparison of them."""
    column = "x" if of == "mean" else "ok"
    groups = f"sizes: {{a: {sizes[0]}, b: {sizes[1]}}}"
    if compared:
        return f"statistic: comparison, of: {of}, column: {column}, between: arm, {groups}"
    return f"statistic: {of}, column: {column}, {BY}, {groups}"


def require_coverage(
    of: str, relation: tuple[str, str], size: int, epsilon: Fraction, runs: int, slack: float
) -> None:
    """Intervals of means and differences hold as often as those of whole-number noise."""
    values = files(of, size)
    sizes = [len(one) for one in values]
    alone = planned(fields_of(of, sizes, compared=False), relation, float(epsilon))
    found, means = released(alone, of, values, runs)
    noise = alone.noises[0]
    attained = 1 - 2 * noise.positive_tail(noise.half_width(CONFIDENCE) + 1)
    check(found, means, attained, slack)
    pair = planned(fields_of(of, sizes, compared=True), relation, float(epsilon))
    found, means = released(pair, of, values, runs)
    drawn = np.asarray(noise.sample(400_000, many=True)).reshape(2, -1) / np.array(sizes)[:, None]
    differences = np.sort(abs(drawn[1] - drawn[0]))
    least = differences[int(0.95 * len(differences))]
    truth = np.array([*means, means[1] - means[0], means[1] / means[0]])
    check(found, truth, float((differences <= least + 1e-12).mean()), slack, at=2)


def check(
    found: Estimates, truth: Floats, attained: float, slack: float, at: int | None = None
) -> None:
    """Each share of intervals is enough, and that of the numbers `at` not too large."""
    lower, upper = (by_item(found, ends, len(truth)) for ends in (found.lower, found.upper))
    missing = found.status.reshape(-1, len(truth)) != HAS_INTERVAL
    shares = ((lower <= truth + 1e-9) & (truth - 1e-9 <= upper) | missing).mean(axis=0)
    assert shares.min() >= 0.945 - slack
    assert shares[slice(at, at and at + 1)].max() <= attained + 0.01 + slack


CASES = tuple(product(("mean", "proportion"), RELATIONS, SIZES, EPSILONS))


@pytest.mark.parametrize(
    ("of", "relation", "size", "epsilon"),
    in_pairs(
        # With as few rows and as much noise, limits of what is possible cut most intervals.
        [case for case in CASES if case[2] * case[3] > 30],
        *[("mean", RELATIONS[at], 300, EPSILONS[at % 2 + 1]) for at in range(4)],
        *[("proportion", RELATIONS[at], 30_000, EPSILONS[at % 2]) for at in range(4)],
    ),
)
def test_intervals_hold_as_often_as_those_of_whole_numbers(
    of: str, relation: tuple[str, str], size: int, epsilon: Fraction
) -> None:
    """Their share is at most one point above what noise in whole numbers attains."""
    require_coverage(of, relation, size, epsilon, RUNS, slack=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "relation", "size", "epsilon"), [case for case in CASES if case[2] * case[3] > 30]
)
def test_intervals_hold_in_4000_releases(
    of: str, relation: tuple[str, str], size: int, epsilon: Fraction
) -> None:
    """The same, with an error of the simulation of at most three deviations."""
    require_coverage(of, relation, size, epsilon, 4000, slack=0.01)


@pytest.mark.parametrize(
    ("of", "relation"),
    mostly_extended(
        product(("mean", "proportion"), RELATIONS),
        *[("mean", RELATIONS[1]), ("proportion", RELATIONS[0])],
        unpack=True,
    ),
)
def test_a_difference_has_less_error_than_one_by_hand(of: str, relation: tuple[str, str]) -> None:
    """Next to separate noise, it is at most 0.72 times as large, and its interval 0.75."""
    values = [np.repeat([25, 75], 1500)] * 2 if of == "mean" else [np.arange(3000) % 2] * 2
    pair = planned(fields_of(of, [3000, 3000], compared=True), relation)
    found, _ = released(pair, of, values, 4000)
    error = by_item(found, found.value, 4)[:, 2].std()
    column, high = ("x", 100) if of == "mean" else ("ok", 1)
    by_hand = planned(f"statistic: {of}, column: {column}, {BY}", relation)
    separate = by_hand.entry.designs[-1].queries[0].query
    scale = query_sensitivity(separate, by_hand.queries[0].calibrated.relation).l1
    cells = [int(part) for one in values for part in ((high - one).sum(), one.sum())]
    noise = type(pair.noises[0])(Fraction(scale))
    drawn = np.array(cells) + np.asarray(noise.sample(4 * 4000, many=True)).reshape(-1, 4)
    below, above = drawn.reshape(-1, 2, 2).transpose(2, 0, 1)
    shares = high * above / (below + above)
    widths = by_item(found, found.upper - found.lower, 4).mean(axis=0)

    assert error <= 0.73 * (shares[:, 1] - shares[:, 0]).std()
    assert widths[2] <= 0.75 * widths[:2].sum()


def test_the_plan_states_the_error_of_the_smallest_group() -> None:
    """It is the half-width that a release has, at any number of rows."""
    plan = plan_of(f"{MEAN}, {BY}, sizes: {{a: 100, b: 400}}")
    (statistic,) = plan.statistics
    found, _ = released(statistic, "mean", [np.full(100, 50), np.full(400, 50)], 1)
    widths = by_item(found, found.upper - found.lower, 2)[0] / 2
    stated = [expected_error(statistic, plan, rows) for rows in (None, 10, 10**6)]

    assert stated[0] == stated[1] == stated[2]
    assert stated[0] is not None
    assert float(stated[0].widths[0] or 0) == pytest.approx(widths[0], rel=0.01)
    assert widths[0] == pytest.approx(4 * widths[1], rel=0.01)


def test_the_plan_states_the_error_of_the_least_precise_difference() -> None:
    """Sizes take the place of a number of rows, and the smallest group is shown."""
    fields = fields_of("mean", [100, 400], compared=True)
    plan = plan_of(fields)
    (statistic,) = plan.statistics
    stated = expected_error(statistic, plan, None)
    found, _ = released(statistic, "mean", [np.full(100, 75), np.full(400, 75)], 1)
    widths = by_item(found, found.upper - found.lower, 4)[0] / 2

    assert stated is not None
    assert [float(width or 0) for width in stated.widths] == pytest.approx(widths, rel=0.05)


def test_means_of_dates_are_days() -> None:
    """Their ends are whole days, and lie within the bounds."""
    statistic = planned(f"statistic: mean, column: day, {BY}, sizes: {{a: 50, b: 70}}")
    found = statistic.design.estimate(with_noise(statistic, [[5, -10]]), CONFIDENCE)

    assert found.date_range == 9
    assert found.decimals == (0,)
    assert all(number.lower and number.lower.denominator == 1 for number in found)


def test_weights_divide_by_declared_sums_of_weights() -> None:
    """A weighted mean is the middle plus the weighted sum of distances over the declared sum."""
    statistic = planned(f"{MEAN}, weight: w, sizes: 1250.5", epsilon=20)
    found = statistic.design.estimate(with_noise(statistic, [[-12505]]), CONFIDENCE)

    (number,) = found
    assert number.value == pytest.approx(40, abs=1)


def test_plan_and_completeness_say_that_sizes_are_declared() -> None:
    """Readers see that divisors are public facts, not noisy counts."""
    plan = plan_of(f"{MEAN}, {BY}, sizes: {{a: 100, b: 400}}")
    (statistic,) = plan.statistics
    (sentence,) = statistic.entry.statistic.sentences(statistic.entry.inputs)
    reason = completeness_of(statistic, plan, None).reason

    assert sentence.startswith("sizes of groups are public, as declared")
    assert reason.endswith("sizes of groups are public, as declared")


def test_sizes_of_several_keys_come_from_a_file(tmp_path: Path) -> None:
    """The groups of a comparison are one more key, and the order of columns is free."""
    lines = "".join(f"{arm},{site},{n}\n" for (arm, site), n in SIZES_OF_GROUPS.items())
    (tmp_path / "n.csv").write_text("arm,site,n\n" + lines)
    fields = (
        "statistic: comparison, of: mean, column: x, by: [site], between: arm, "
        "sizes: {file: n.csv, key: [arm, site], value: n}"
    )
    (tmp_path / "spec.yaml").write_text(text_of(fields))
    (statistic,) = make_plan(read_central_spec(tmp_path / "spec.yaml")).statistics
    answers = with_noise(statistic, [[0, 0, 0, 0]])
    divided = getattr(statistic.design, "of").divided(answers)  # noqa: B009 - of one design

    assert divided[1].values.tolist() == [10, 20, 30, 40]


SIZES_OF_GROUPS = {("b", "t"): 40, ("a", "s"): 10, ("b", "s"): 20, ("a", "t"): 30}


@pytest.mark.parametrize(
    ("fields", "epsilon"), [*product(("of: mean, column: x", "of: proportion, column: ok"), (1, 9))]
)
def test_intervals_for_the_population_contain_both_errors(fields: str, epsilon: int) -> None:
    """Those of means, shares, differences and ratios hold, over samples of declared sizes."""
    runs, sizes, random = 600, (300, 500), np.random.default_rng(4)
    text = text_of(f"statistic: comparison, {fields}, between: arm, sizes: {{a: 300, b: 500}}")
    declared = "sample: {design: simple-random, population: 9000}\nstatistics: "
    statistic = planned_statistic(
        text.replace("statistics: ", declared).replace("epsilon: 1}", f"epsilon: {epsilon}}}")
    )
    drawn, truth = [], []
    for size, mean in zip(sizes, (30, 50), strict=True):
        values = random.normal(mean, 15, 9000 * size // 800).clip(0, 100).astype(np.int64)
        values = values if "mean" in fields else (values > 40).astype(np.int64)
        order = random.random((runs, len(values))).argpartition(size, axis=1)[:, :size]
        drawn.append(values[order])
        truth.append(values.mean())
    answers = with_noise(statistic, [of_groups(part.weighted, drawn) for part in statistic.queries])
    found = statistic.design.population(answers, CONFIDENCE)
    first, second = truth
    numbers = [first, second, second - first, second / first]

    assert_covers(
        found.within(statistic.entry.statistic.limits(statistic.entry.inputs)), numbers, 0.92, 0.99
    )


def of_groups(part: WeightedQuery, drawn: Sequence[Array]) -> Array:
    """The exact answers about the values of two groups, in each run."""
    names = "x", "ok as 0 or 1"
    terms = [row_terms(part.query, dict.fromkeys(names, values))[0] for values in drawn]
    return np.stack([term.sum(axis=1) for term in terms], axis=1)


@pytest.mark.parametrize(
    ("column", "is_refused"),
    [("low", False), ("known", False), ("open", True), ("half", True), ("filled", False)],
)
def test_derived_columns_have_sizes_where_they_always_have_a_value(
    column: str, is_refused: bool
) -> None:
    """That follows from the columns they are computed from, or from a constant of their own."""
    derived = (
        "derive: {low: {is: {x: {max: 9}}}, open: {is: {w: {max: 1}}}, "
        "known: {coalesce: [open, blank], missing: false}, half: {is: {x: {max: 9}, blank: true}}, "
        "filled: {is: {ok: true, x: {min: 3}}}}\nstatistics: "
    )
    text = text_of(f"statistic: proportion, column: {column}, sizes: 9")
    text = text.replace("statistics: ", derived)
    if not is_refused:
        parse_central_spec(text, "trial")
        return
    with pytest.raises(SpecError) as caught:
        parse_central_spec(text, "trial")
    assert [problem.code for problem in caught.value.problems] == ["sizes-form"]

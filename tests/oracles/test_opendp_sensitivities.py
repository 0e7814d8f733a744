"""Against OpenDP, which the extra `oracles` installs: the sensitivities that plans state.

OpenDP maps a symmetric distance, the number of rows that come or go, to a distance of answers.
A user with at most k rows is at distance k of none, and at 2 k of another user. A row that
takes the place of another is at distance 2 in a dataset of known size. Our limits on groups
and the L2 of several rows have no counterpart in its transformations of vectors; there ours is
as large or smaller, and the test says why.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.planning.plan import PlannedQuery
from dpcli.planning.planner import make_plan
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation
from dpcli.queries.vectors import VectorQuery
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.counts.vectors import NumbersTogether
from dpcli.statistics.means import distances, products

dp: Any = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib")

SPEC = """\
dpcli: 1
dataset: town
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 100}}}}
columns:
  id: {{type: id}}
  sex: {{type: category, values: [f, m, x], missing: x}}
  age: {{type: integer, bounds: [{low}, {high}], missing: {high}}}
  pay: {{type: integer, bounds: [-50, 1000], missing: 0}}
statistics:
  - {{name: n, epsilon: {epsilon}, {fields}}}
"""
SEXES = ["f", "m", "x"]
BOUNDS = [(0, 110), (-20, 5), (3, 9), (-7, -2), (-4, 4)]
ROWS = 10
"""The public number of rows where OpenDP needs one; no exact result depends on it."""

SPREAD = "{column: id, max_rows: 6, max_groups: 3, max_rows_per_group: 2}"


def parts(
    fields: str,
    neighbors: str = "add-remove",
    rows: int | None = None,
    bounds: tuple[int, int] = (0, 110),
    unit: str = "",
    epsilon: str = "1",
) -> tuple[PlannedQuery, ...]:
    """The planned queries of a statistic, for users with at most `rows` rows or for rows."""
    unit = unit or ("row" if rows is None else f"{{column: id, max_rows: {rows}}}")
    text = SPEC.format(
        unit=unit,
        neighbors=neighbors,
        low=bounds[0],
        high=bounds[1],
        fields=fields,
        epsilon=epsilon,
    )
    (entry,) = make_plan(parse_central_spec(text, "spec.yaml")).statistics
    return entry.queries


def l1(fields: str, **given: Any) -> Fraction:
    """The L1 sensitivity of a statistic with a single query."""
    (part,) = (part for part in parts(fields, **given) if not part.weighted.supports)
    return part.l1


def domain(of: Any, size: int | None = None) -> tuple[Any, Any]:
    """The domain of vectors of values in OpenDP, of a known size or any."""
    return dp.vector_domain(of, size=size), dp.symmetric_distance()


def summed(low: int, high: int, distance: int, size: int | None = None) -> int:
    """How far the sum of OpenDP can change, for values within bounds."""
    values = dp.atom_domain(bounds=(low, high), T="i64")
    found: int = dp.t.make_sum(*domain(values, size)).map(distance)
    return found


def counted(distance: int, metric: str) -> float:
    """How far the counts of OpenDP can change, for three categories."""
    counts = dp.t.make_count_by_categories(
        *domain(dp.atom_domain(T=str)), SEXES, null_category=False, MO=metric
    )
    found: float = counts.map(distance)
    return found


@pytest.mark.parametrize("rows", [None, 1, 3, 40])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_sums_under_add_remove_are_opendp_s(bounds: tuple[int, int], rows: int | None) -> None:
    """Added and removed rows and users change totals and groups as OpenDP states."""
    theirs = summed(*bounds, distance=rows or 1)

    for by in ("", ", by: [sex]"):
        assert l1(f"statistic: sum, column: age{by}", rows=rows, bounds=bounds) == theirs


@pytest.mark.parametrize("bounds", BOUNDS)
def test_sums_of_a_known_number_of_rows_are_opendp_s(bounds: tuple[int, int]) -> None:
    """A replaced row changes a total by the width of its bounds."""
    ours = l1("statistic: sum, column: age", neighbors="change-one", bounds=bounds)

    assert ours == summed(*bounds, distance=2, size=ROWS)


@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_sums_under_change_one_are_at_most_opendp_s(
    bounds: tuple[int, int], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exchanged users change groups as OpenDP states, and one total by less.

    OpenDP removes one user and adds another. In a single total these changes partly cancel, unless
    the values of one user are as far below zero as those of the other are above.
    """
    monkeypatch.setattr(NumbersTogether, "of", lambda *_: ())
    given: Any = {"neighbors": "change-one", "rows": rows, "bounds": bounds}
    theirs = summed(*bounds, distance=2 * rows)
    single = l1("statistic: sum, column: age", **given)

    assert l1("statistic: sum, column: age, by: [sex]", **given) == theirs
    assert single <= theirs
    assert (single == theirs) == (-bounds[0] == bounds[1])


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("limits", [(0, 80), (-30, 10), (-5, 5)])
def test_clamped_totals_of_users_are_opendp_s(
    limits: tuple[int, int], neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `bound: sum` a user has one value in each of three groups, within `unit_bounds`.

    Groups are answered apart. OpenDP does not use that a user who is replaced has all groups that
    the other one has.
    """
    fields = f"statistic: sum, column: age, by: [sex], bound: sum, unit_bounds: {list(limits)}"
    low, high = min(limits[0], 0), max(limits[1], 0)
    monkeypatch.setattr(NumbersTogether, "of", lambda *_: ())

    ours = l1(fields, neighbors=neighbors, unit=SPREAD)

    if neighbors == "add-remove":
        assert ours == summed(low, high, distance=3)
    else:
        assert ours == 3 * (high - low) <= summed(low, high, distance=6)


@pytest.mark.parametrize("rows", [None, 1, 3])
def test_counts_are_opendp_s(rows: int | None) -> None:
    """Counts change by the number of rows; OpenDP ignores that a replaced row keeps it."""
    count = dp.t.make_count(*domain(dp.atom_domain(T=str), ROWS))

    assert l1("statistic: count", rows=rows) == count.map(rows or 1)
    assert l1("statistic: count", neighbors="change-one") == 0 < count.map(2)


@pytest.mark.parametrize("rows", [None, 1, 3])
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_histograms_are_opendp_s(
    neighbors: str, rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L1 is that of OpenDP, and so is every norm if rows are added or removed.

    If rows are replaced, OpenDP does not use that two of them lie in different categories or
    cancel, nor that there are only three categories.
    """
    monkeypatch.setattr(NumbersTogether, "of", lambda *_: ())
    (part,) = parts("statistic: histogram, column: sex", neighbors=neighbors, rows=rows)
    distance = (rows or 1) * (1 if neighbors == "add-remove" else 2)
    by_key = dp.t.make_count_by(*domain(dp.atom_domain(T=str)))
    changed = part.calibrated.sensitivity

    assert part.l1 == counted(distance, "L1Distance<i32>")
    found = (changed.l0, changed.l1, changed.linf)
    theirs = by_key.map(distance)
    if neighbors == "add-remove":
        assert found == theirs
        assert changed.l2_squared == counted(distance, "L2Distance<f64>") ** 2
    else:
        assert all(one <= other for one, other in zip(found, theirs, strict=True))
        assert changed.l2_squared == counted(distance, "L2Distance<f64>") ** 2 / 2


@pytest.mark.parametrize("rows", [None, 3])
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_counts_of_two_kinds_of_rows_are_opendp_s(neighbors: str, rows: int | None) -> None:
    """The rows of a proportion and of a comparison are counted as a histogram is."""
    distance = (rows or 1) * (1 if neighbors == "add-remove" else 2)
    kinds = (
        "statistic: proportion, column: sex, values: [f, x]",
        "statistic: comparison, between: {sex: [f, m]}",
    )

    for fields in kinds:
        queries = parts(fields, neighbors=neighbors, rows=rows)
        # Where the number of rows is public, only those inside of a proportion are counted.
        expected = counted(distance, "L1Distance<i32>") / len(queries)
        assert [query.l1 for query in queries if query.l1] == [expected]


@pytest.mark.parametrize("rows", [None, 1, 40])
@pytest.mark.parametrize("bounds", [(0, 110), (3, 9)])
def test_the_sums_of_a_ratio_are_opendp_s(
    bounds: tuple[int, int], rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without joint products, numerator and denominator change as two sums, both charged."""
    monkeypatch.setattr(distances, "MAX_PRODUCT", 0)
    above, below = parts(
        "statistic: ratio, numerator: pay, denominator: age", rows=rows, bounds=bounds
    )

    assert above.l1 == summed(-50, 1000, distance=rows or 1)
    assert below.l1 == summed(*bounds, distance=rows or 1)
    assert above.calibrated.loss.epsilon + below.calibrated.loss.epsilon == 1


def test_limits_on_groups_lower_the_norms_of_opendp() -> None:
    """OpenDP has no limits on groups: L1 is equal, and every other norm is lower here."""
    (counts,) = parts("statistic: histogram, column: sex", unit=SPREAD)
    query, unit = counts.weighted.query, PersonUnit("id", 2, 3, 6)
    assert isinstance(query, VectorQuery)
    stated = query_sensitivity(query.of, Relation(unit, Neighbors.ADD_REMOVE))
    by_key = dp.t.make_count_by(*domain(dp.atom_domain(T=str)))

    assert by_key.map(6) == (6, 6, 6)
    assert (stated.l0, stated.l1, stated.linf) == (3, 6, 2)
    assert stated.l2_squared == 3 * 2**2 < counted(6, "L2Distance<f64>") ** 2


@pytest.mark.parametrize("rows", [None, 1, 3])
def test_numbers_of_distinct_values_are_opendp_s(rows: int | None) -> None:
    """Rows add or remove at most as many distinct values, also if they are exchanged."""
    distinct = dp.t.make_count_distinct(*domain(dp.atom_domain(T=str)))
    fields = "statistic: count_distinct, column: age"

    assert l1(fields, rows=rows) == distinct.map(rows or 1)
    # One value less and one more leave their number: OpenDP adds both changes.
    assert 2 * l1(fields, neighbors="change-one", rows=rows) == distinct.map(2 * (rows or 1))


@pytest.mark.parametrize("rows", [None, 3])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_means_are_opendp_s_part_by_part(bounds: tuple[int, int], rows: int | None) -> None:
    """The sums of a mean change as sums of OpenDP: of distances, or a centered one and a count."""
    distance = rows or 1
    (distances,) = parts("statistic: mean, column: age", rows=rows, bounds=bounds)
    gaussian = "statistic: mean, column: age, mechanism: gaussian, delta: 1e-6"
    total, count = parts(gaussian, rows=rows, bounds=bounds)

    assert distances.l1 == summed(0, bounds[1] - bounds[0], distance)
    # In halves, which OpenDP adds up as whole numbers.
    assert 2 * total.l1 == summed(bounds[0] - bounds[1], bounds[1] - bounds[0], distance)
    assert count.l1 == dp.t.make_count(*domain(dp.atom_domain(T=str))).map(distance)


@pytest.mark.parametrize("size", [10, 1000])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_means_of_a_known_number_of_rows_are_opendp_s(bounds: tuple[int, int], size: int) -> None:
    """(U - L) / n, to which OpenDP adds the rounding error of its floating-point sum."""
    values = dp.atom_domain(bounds=tuple(map(float, bounds)))
    theirs = dp.t.make_mean(*domain(values, size)).map(2)
    total, count = parts("statistic: mean, column: age", neighbors="change-one", bounds=bounds)

    assert count.is_exact
    assert total.l1 / size <= Fraction(theirs) <= total.l1 / size * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("rows", [None, 3])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_moments_are_opendp_s_part_by_part(
    bounds: tuple[int, int], rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every product of centered columns changes as a sum of values in its range.

    The ranges are computed here from all possible products, in half steps if the middle of the
    bounds is between two steps. Squares are centered in the middle of their range, rounded down.
    """
    monkeypatch.setattr(products, "MAX_PRODUCTS", 0)
    planned = parts("statistic: covariance, columns: [age, pay]", rows=rows, bounds=bounds)
    spans = {"age": bounds, "pay": (-50, 1000)}
    centered = {
        name: [
            (2 * value - sum(span)) // (1 + (sum(span) % 2 == 0))
            for value in range(span[0], span[1] + 1)
        ]
        for name, span in spans.items()
    }
    values = {"count": [1], **{f"sum of {name}": found for name, found in centered.items()}}
    for name, found in centered.items():
        squares = [value**2 for value in found]
        values[f"squares of {name}"] = [
            value - (min(squares) + max(squares)) // 2 for value in squares
        ]
    values["products of age, pay"] = [a * b for a in centered["age"] for b in centered["pay"]]
    assert {part.weighted.role for part in planned} == set(values)
    for part in planned:
        possible = values[part.weighted.role]
        changed = summed(min(possible), max(possible), rows or 1)
        assert part.l1 / part.weighted.step == changed, part.weighted.role


@pytest.mark.parametrize("quantile", ["0.5", "0.25", "0.125", "0.75", "0.01", "0.3", "0.99"])
@pytest.mark.parametrize("rows", [None, 3])
def test_quantile_scores_are_opendp_s(quantile: str, rows: int | None) -> None:
    """The difference of two scores changes by twice the sensitivity of one score in OpenDP.

    OpenDP counts in its own parts of a row: in quarters for 0.25, ten-thousandths for 0.3.
    """
    share = Fraction(quantile)
    dyadic = share.denominator & (share.denominator - 1) == 0
    asked = f"statistic: quantile, column: age, quantiles: [{quantile}]"
    fields = f"{asked}, mechanism: permute_and_flip"
    ours = l1(fields, rows=rows)
    scores = dp.t.make_quantile_score_candidates(
        *domain(dp.atom_domain(T=int)), [0, 50, 100], alpha=float(share)
    )

    part = share.denominator if dyadic else 10_000
    assert ours == 2 * Fraction(scores.map(rows or 1), part)


@pytest.mark.parametrize("quantile", ["0.5", "0.25", "0.125", "0.75"])
def test_quantile_scores_of_a_known_number_of_rows_are_opendp_s(quantile: str) -> None:
    """A replaced row counts on the other side of a candidate."""
    scores = dp.t.make_quantile_score_candidates(
        *domain(dp.atom_domain(T=int), ROWS), [0, 50, 100], alpha=float(quantile)
    )
    asked = f"statistic: quantile, column: age, quantiles: [{quantile}]"
    fields = f"{asked}, mechanism: permute_and_flip"

    ours = l1(fields, neighbors="change-one")

    assert ours == 2 * Fraction(scores.map(2), Fraction(quantile).denominator)


@pytest.mark.parametrize("rows", [None, 3])
def test_tables_are_opendp_s_one_by_one(rows: int | None) -> None:
    """Each table of `marginals` is a histogram of the same rows."""
    fields = "statistic: marginals, columns: [sex, {column: age, bins: {width: 50}}], ways: 1"

    for part in parts(fields, rows=rows):
        assert part.l1 == counted(rows or 1, "L1Distance<i32>")


@pytest.mark.parametrize("rows", [None, 3])
@pytest.mark.parametrize("epsilon", ["0.1", "0.7", "1"])
def test_opendp_charges_no_less_for_our_noise(epsilon: str, rows: int | None) -> None:
    """With the scale of the plan, the measurement of OpenDP has our epsilon, rounded up."""
    (part,) = parts("statistic: sum, column: age", rows=rows, epsilon=epsilon)
    bounded = dp.atom_domain(bounds=(0, 110), T="i64")
    total = dp.t.make_sum(*domain(bounded))

    theirs = Fraction((total >> dp.m.then_laplace(scale=float(part.scale))).map(rows or 1))

    assert abs(theirs / part.calibrated.loss.epsilon - 1) < Fraction(1, 10**12)

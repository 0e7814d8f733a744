"""Counts and sums at the levels of two hierarchies: agreement, least errors and coverage."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dpcli import release
from dpcli.numeric.arrays import Array, Floats, Ints
from dpcli.planning.plan import PlannedStatistic
from tests.support.rules import also_slow, mostly_extended
from tests.support.surveys import CONFIDENCE, held, planned_statistic, released, with_noise

SPEC = """
dpcli: 1
dataset: places
privacy: {{unit: {unit}, neighbors: {neighbors}, composition: zcdp,
  budget: {{epsilon: 1000, delta: 1e-9}}}}
columns:
  who: {{type: id}}
  district: {{type: category, values: [a, b, c, d, e, f]{fill}}}
  stage: {{type: category, values: [k, l, m, n]{other}}}
  paid: {{type: number, bounds: [0, 50], step: 0.5}}
hierarchies:
  place: {{levels: [country, region, district],
    parents: {{a: x, b: x, c: x, d: y, e: y, f: z, x: all of it, y: all of it, z: all of it}}}}
  age: {{levels: [ages, stage], parents: {{k: every, l: every, m: every, n: every}}}}
statistics: [{{name: s, {fields}}}]
"""

PLACES = [np.zeros(6, int), np.array([0, 0, 0, 1, 1, 2]), np.arange(6)]
AGES = [np.zeros(4, int), np.arange(4)]
"""The part of each level in which each leaf is."""

CELLS = np.arange(24).reshape(6, 4) * 3 + 30

PEOPLE = "{column: who, max_rows: 4, max_groups: 3, max_rows_per_group: 2}"

COUNTS = "statistic: count, hierarchy: [place, age]"

NOISES = ["mechanism: laplace, epsilon: 0.5", "mechanism: gaussian, rho: 0.05"]


def planned(
    fields: str, unit: str = "row", neighbors: str = "add-remove", *, fill: bool = False
) -> PlannedStatistic:
    """The only statistic of a spec."""
    return planned_statistic(
        SPEC.format(
            fields=fields, unit=unit, neighbors=neighbors,
            fill=", missing: a" * fill, other=", missing: k" * fill,
        )
    )  # fmt: skip


def summed(cells: Ints, place: Ints, age: Ints) -> Ints:
    """The sums of cells at a level of each hierarchy."""
    found = np.zeros((place.max() + 1, age.max() + 1), cells.dtype)
    np.add.at(found, (place[:, None], age[None, :]), cells)
    return found


def pairs_of(cells: Ints) -> list[Ints]:
    """The exact numbers of each pair of levels."""
    return [summed(cells, *pair) for pair in product(PLACES, AGES)]


def published_order(cells: Array) -> Array:
    """The exact numbers of all levels of places, then of ages."""
    return np.vstack([np.hstack([summed(cells, place, age) for age in AGES]) for place in PLACES])


def add_up(values: Floats) -> bool:
    """Whether all numbers are the sums of their parts, to the last digit."""
    table = np.round(100 * values.reshape(-1, 10, 5)).astype(int)
    places = [table[:, 0] - table[:, 1:4].sum(axis=1)]
    places += [table[:, 1 + at] - table[:, 4:][:, PLACES[1] == at].sum(axis=1) for at in range(3)]
    return not np.any([table[..., 0] - table[..., 1:].sum(axis=2)]) and not np.any(places)


def matrix_of(variances: list[float]) -> tuple[Floats, Floats]:
    """The sums that are measured, as rows of weights of cells, and their variances."""
    rows, own = [], []
    for (place, age), variance in zip(product(PLACES, AGES), variances, strict=True):
        for i, j in product(range(place.max() + 1), range(age.max() + 1)):
            rows.append(np.outer(place == i, age == j).ravel())
            own.append(variance)
    return np.array(rows, float), np.array(own)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("shares", ["", "level_shares: {region: 2, stage: 3}, "])
def test_numbers_are_those_of_least_squares(noise: str, shares: str) -> None:
    """To the rounding; and so are the variances."""
    plan = planned(f"{COUNTS}, {shares}{noise}")
    answers = with_noise(plan, pairs_of(CELLS))
    found = plan.design.estimate(answers, CONFIDENCE)
    weights, variances = matrix_of([one.discrete_variance for one in plan.noises])
    measured = np.concatenate([one.values for one in answers]).astype(float)
    normal = weights.T @ (weights / variances[:, None])
    cells = np.linalg.solve(normal, weights.T @ (measured / variances))
    expected = published_order(cells.reshape(6, 4)).ravel()
    sums = np.array([published_order(one.reshape(6, 4)).ravel() for one in np.eye(24)]).T
    spread = (sums @ np.linalg.inv(normal) * sums).sum(axis=1)

    assert np.allclose(found.value.astype(float) / 100, expected, atol=0.06)
    assert np.allclose([float(one or 0) for one in found.variances], spread, rtol=0.01)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("unit", ["row", PEOPLE])
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("runs", also_slow(800, 10_000))
def test_numbers_agree_and_intervals_hold(noise: str, unit: str, neighbors: str, runs: int) -> None:
    """For rows and people, and where the total is public."""
    plan = planned(f"{COUNTS}, {noise}", unit, neighbors, fill=True)
    found, exact = released(plan, pairs_of(CELLS), runs), published_order(CELLS).ravel()
    shares, is_public = held(found, exact), (unit, neighbors) == ("row", "change-one")

    assert add_up(found.value.astype(float) / 100)
    assert shares[is_public:].mean() == pytest.approx(0.952, abs=0.008 + 0.2 / runs**0.5)
    total = found.value.reshape(runs, -1)[:, 0]
    assert (len({*total}) == 1) == is_public


def test_a_public_total_makes_all_numbers_more_precise() -> None:
    """The difference moves each of them by its part: least squares with one more fact."""
    plan = planned(f"{COUNTS}, {NOISES[1]}", neighbors="change-one", fill=True)
    answers = with_noise(plan, pairs_of(CELLS))
    found = plan.design.estimate(answers, CONFIDENCE)
    weights, variances = matrix_of([max(one.discrete_variance, 1e-9) for one in plan.noises])
    measured = np.concatenate([one.values for one in answers]).astype(float)
    normal = weights.T @ (weights / variances[:, None])
    cells = np.linalg.solve(normal, weights.T @ (measured / variances))
    sums = np.array([published_order(one.reshape(6, 4)).ravel() for one in np.eye(24)]).T
    spread = (sums @ np.linalg.inv(normal) * sums).sum(axis=1)

    assert np.allclose(found.value.astype(float) / 100, sums @ cells, atol=0.06)
    assert np.allclose([float(one or 0) for one in found.variances][1:], spread[1:], rtol=0.01)


@pytest.mark.parametrize("statistic", ["count", "sum, column: paid"])
def test_tables_have_a_column_for_each_level(statistic: str, tmp_path: Path) -> None:
    """A number is about a part of each hierarchy, or about all of its parts."""
    fields = f"statistic: {statistic}, hierarchy: [place, age], epsilon: 1"
    text = SPEC.format(fields=fields, unit="row", neighbors="add-remove", fill="", other="")
    (tmp_path / "spec.yaml").write_text(text)
    (tmp_path / "data.csv").write_text("who,district,stage,paid\np,a,k,4\nq,f,m,9\n")
    table = release(tmp_path / "spec.yaml", tmp_path / "data.csv", release_id="a").table
    first = table.to_dicts()[1]

    assert len(table) == 50
    assert [first[key] for key in ("country", "region", "district", "ages", "stage")] == [
        "all of it", "all", "all", "every", "k",
    ]  # fmt: skip


REGIONS = "region: {x: 558, y: 612, z: 378}"

STAGES = "stage: {k: 360, l: 378, m: 396, n: 414}"


def spread_of(values: Floats) -> float:
    """The mean squared error of all numbers."""
    return float(np.square(values - published_order(CELLS).ravel()).mean())


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    ("known", "measured"), [("1548", 5), (f"{{{REGIONS}}}", 4), (f"{{{REGIONS}, {STAGES}}}", 3)]
)
@pytest.mark.parametrize("unit", mostly_extended(["row", PEOPLE], "row"))
@pytest.mark.parametrize("runs", also_slow(600, 10_000))
def test_known_tables_are_met_at_no_cost(
    noise: str, known: str, measured: int, unit: str, runs: int
) -> None:
    """Intervals of all others hold, and errors are smaller; only parts are known, too."""
    fields = f"{COUNTS}, {noise}"
    plan, plain = planned(f"{fields}, known: {known}", unit), planned(fields, unit)
    exact, order = pairs_of(CELLS), published_order(CELLS).ravel()
    queries = {part.weighted.role for part in plan.queries}
    every = [part.weighted.role for part in plain.queries]
    own = [table for table, role in zip(exact, every, strict=True) if role in queries]
    found = released(plan, own, runs)
    values = found.value.astype(float).reshape(runs, -1) / 100
    is_known = (values == order).all(axis=0)
    without = released(plain, exact, runs).value.astype(float).reshape(runs, -1) / 100

    assert len(plan.queries) == measured
    assert is_known.sum() == {5: 1, 4: 5, 3: 9}[measured]
    assert add_up(values)
    shares = held(found, order)[~is_known]
    assert shares.mean() == pytest.approx(0.952, abs=0.008 + 0.2 / runs**0.5)
    assert spread_of(values) < spread_of(without)


@pytest.mark.parametrize("noise", ["epsilon: 0.02", "mechanism: gaussian, rho: 0.001"])
@pytest.mark.parametrize(
    "known", ["", f", known: {{{REGIONS}}}", f", known: {{{REGIONS}, {STAGES}}}"]
)
def test_whole_numbers_are_not_negative_and_meet_known_ones(noise: str, known: str) -> None:
    """Also where noise is large."""
    plan = planned(f"{COUNTS}, {noise}{known}, post: [whole]")
    cells = [part.weighted.query.cells for part in plan.queries]
    exact = [table for table in pairs_of(CELLS) if table.size in cells]
    for _ in range(20):
        whole = plan.design.make_additive(with_noise(plan, exact), 1, nonnegative=True)

        assert add_up(whole / 100)
        assert whole.min() >= 0
        if known:
            assert whole.reshape(10, 5)[1:4, 0].tolist() == [558, 612, 378]


@pytest.mark.parametrize(
    ("regions", "contradicts"), [(REGIONS, False), ("region: {x: 700, y: 612, z: 378}", True)]
)
def test_known_tables_that_noise_does_not_explain_are_named(
    regions: str, contradicts: bool
) -> None:
    """Of all numbers that are known, the first one whose difference is too large."""
    plan = planned(f"{COUNTS}, epsilon: 2, known: {{{regions}}}")
    shown = plan.design.shown_incomplete(
        with_noise(plan, [pairs_of(CELLS)[at] for at in (1, 3, 4, 5)])
    )

    assert bool(shown) == contradicts
    assert shown.startswith("the noisy number of all of it, every is") == contradicts


def test_whole_tables_are_published_with_linear_numbers(tmp_path: Path) -> None:
    """Intervals of whole numbers contain them, and both tables add up; known pairs are met."""
    (tmp_path / "pairs.csv").write_text(
        "region,stage,people\n"
        + "".join(
            f"{region},{stage},{at + to}\n"
            for at, region in enumerate("xyz")
            for to, stage in enumerate("klmn")
        )
    )
    known = "known: {file: pairs.csv, key: [stage, region], value: people}"
    fields = f"{COUNTS}, epsilon: 0.1, post: [whole], {known}"
    text = SPEC.format(fields=fields, unit="row", neighbors="add-remove", fill="", other="")
    (tmp_path / "spec.yaml").write_text(text)
    (tmp_path / "data.csv").write_text("who,district,stage,paid\np,a,k,4\nq,f,m,9\n")
    table = release(tmp_path / "spec.yaml", tmp_path / "data.csv", release_id="a").table
    for name in ("s", "s.raw"):
        rows = [row for row in table.to_dicts() if row["statistic"] == name]
        values, lower, upper = (
            np.array([float(row[key]) for row in rows]) for key in ("value", "lower", "upper")
        )
        known_pairs = values.reshape(10, 5)[1:4, 1:]

        assert add_up(values)
        assert (lower <= values).all()
        assert (values <= upper).all()
        assert (known_pairs == np.add.outer(np.arange(3), np.arange(4))).all()

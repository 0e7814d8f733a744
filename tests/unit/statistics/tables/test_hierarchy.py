"""Counts and sums at the levels of a hierarchy: agreement, errors, coverage and digests."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dpcli import release
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.problems.errors import SpecError
from dpcli.report.report import Report
from dpcli.specification.load import parse_central_spec, read_central_spec
from dpcli.sums.sums import Basis, sum_of
from tests.oracles.opened import cells_of
from tests.oracles.plain import answers_about, read_people
from tests.support.rules import also_slow, mostly_extended
from tests.support.surveys import CONFIDENCE, held, planned_statistic, released, with_noise

SPEC = """
dpcli: 1
dataset: places
privacy: {{unit: {unit}, neighbors: {neighbors}, composition: zcdp,
  budget: {{epsilon: 1000, delta: 1e-9}}}}
columns:
  who: {{type: id}}
  district: {{type: category, values: [{districts}]{fill}}}
  paid: {{type: number, bounds: [0, 50], step: 0.5}}
  day: {{type: date, bounds: [2023-11-20, 2024-02-10]}}
hierarchies:
  place: {{levels: [country, region, district], parents: {{{parents}}}}}
  time: {{column: day, levels: {{year: year, month: month, day: day}}}}
statistics: [{{name: s, {fields}}}]
"""

PEOPLE = "{column: who, max_rows: 4, max_groups: 3, max_rows_per_group: 2}"

SMALL = [3, 2, 1]
"""The numbers of districts of each region."""


def text_of(
    fields: str,
    regions: list[int] = SMALL,
    unit: str = "row",
    neighbors: str = "add-remove",
    *,
    fill: bool = False,
) -> str:
    """A spec of one country with regions of these numbers of districts."""
    names = [f"d{region}_{at}" for region, count in enumerate(regions) for at in range(count)]
    above = [f"{name}: r{name[1:].split('_')[0]}" for name in names]
    above += [f"r{region}: all of it" for region in range(len(regions))]
    return SPEC.format(
        unit=unit, neighbors=neighbors, fields=fields, districts=", ".join(names),
        parents=", ".join(above), fill=f", missing: {names[0]}" if fill else "",
    )  # fmt: skip


def levels_of(leaves: np.ndarray, regions: list[int]) -> list[np.ndarray]:
    """The exact numbers of each level."""
    starts = np.append([0], np.cumsum(regions)[:-1])
    return [leaves.sum(keepdims=True), np.add.reduceat(leaves, starts), leaves]


COUNTS = "statistic: count, hierarchy: place"

NOISES = [
    f"mechanism: {name}, {loss}"
    for name, losses in (
        ("laplace", ("epsilon: 3", "epsilon: 0.3")),
        ("gaussian", ("rho: 0.5", "rho: 0.01")),
    )
    for loss in losses
]


@pytest.mark.parametrize(
    ("regions", "noise"),
    mostly_extended(
        product(([3, 2, 1], [8] * 4, [1, 1, 20]), NOISES),
        ([3, 2, 1], NOISES[0]),
        ([8] * 4, NOISES[2]),
        ([1, 1, 20], NOISES[1]),
        unpack=True,
    ),
)
@pytest.mark.parametrize("runs", also_slow(1500, 20_000))
def test_intervals_hold_at_every_level(regions: list[int], noise: str, runs: int) -> None:
    """About 95% contain the noise-free number: no less, and no more than one point above."""
    planned = planned_statistic(text_of(f"{COUNTS}, {noise}", regions))
    leaves = np.arange(sum(regions)) * 7 + 40
    exact = levels_of(leaves, regions)
    found = held(released(planned, exact, runs), np.concatenate(exact))
    slack = 3 * (0.05 * 0.95 / runs) ** 0.5

    assert found.min() >= 0.945 - slack * 1.2
    assert found.mean() <= 0.965


def test_three_levels_of_places_have_the_stated_errors() -> None:
    """With Gaussian noise and equal shares: 1.68, 1.65 and 1.70 in units of one count."""
    regions = [25] * 16
    planned = planned_statistic(text_of(f"{COUNTS}, mechanism: gaussian, rho: 0.01", regions))
    single = planned_statistic(
        text_of("statistic: count, mechanism: gaussian, by: [district], rho: 0.01", regions)
    )
    estimates = planned.design.estimate(
        with_noise(planned, levels_of(np.zeros(400, int), regions)), CONFIDENCE
    )
    unit = single.noises[0].discrete_variance
    ratios = np.sqrt([(estimates.variances[at] or 0) / unit for at in (0, 5, 200)])

    assert np.allclose(ratios, [1.68, 1.65, 1.70], rtol=0.03)


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("unit", ["row", PEOPLE])
@pytest.mark.parametrize("fields", [COUNTS, "statistic: sum, column: paid, hierarchy: place"])
def test_exact_answers_agree(neighbors: str, unit: str, fields: str) -> None:
    """Rows of a person are limited at the lowest level, once for all levels."""
    planned = planned_statistic(text_of(f"{fields}, epsilon: 1", SMALL, unit, neighbors))
    random = np.random.default_rng(3)
    names = planned.entry.inputs.option("hierarchy")[0].axis.labels
    rows = [
        f"p{random.integers(9)},{random.choice(names)},{random.integers(50)}" for _ in range(90)
    ]
    people_unit = planned.queries[0].calibrated.relation.unit
    queries = [part.weighted.query for part in planned.queries]
    people = read_people(queries, ("who,district,paid\n" + "\n".join(rows)).encode(), people_unit)
    country, regions, districts = map(cells_of, answers_about(queries, people, people_unit))

    assert [regions, [sum(regions)]] == [
        np.add.reduceat(districts, [0, 3, 5]).tolist(), country,
    ]  # fmt: skip


def test_the_public_number_of_rows_is_the_total() -> None:
    """If a row is changed, the top is exact, and all of the loss is for the levels below."""
    planned = planned_statistic(text_of(f"{COUNTS}, epsilon: 1", neighbors="change-one", fill=True))
    shares = [part.weighted.weight for part in planned.queries]
    estimates = released(planned, levels_of(np.array([9, 3, 0, 4, 4, 1]), SMALL), 5)
    values, width = estimates.value.reshape(5, -1), estimates.upper - estimates.lower

    assert [float(share) for share in shares] == [0, 0.5, 0.5]
    assert (values[:, 0] == 2100).all()
    assert not width.reshape(5, -1)[:, 0].any()


def test_shares_of_levels_divide_the_loss() -> None:
    """Levels without a share of their own have one."""
    fields = f"{COUNTS}, level_shares: {{region: 3, district: 0.5}}, epsilon: 1"
    planned = planned_statistic(text_of(fields))

    assert [float(part.weighted.weight) * 4.5 for part in planned.queries] == [1, 3, 0.5]


def test_levels_of_days_are_years_months_and_days() -> None:
    """They are called as in a calendar, from the first day that is possible."""
    planned = planned_statistic(text_of("statistic: count, hierarchy: time, epsilon: 1"))
    hierarchy = planned.entry.inputs.option("hierarchy")[0]
    year, month, day = hierarchy.levels

    assert year.labels == ("2023", "2024")
    assert month.labels == ("2023-11", "2023-12", "2024-01", "2024-02")
    assert day.labels[::82] == ("2023-11-20", "2024-02-10")
    assert month.parents == (0, 0, 1, 1)


@pytest.mark.parametrize("statistic", ["count", "sum, column: paid"])
def test_released_tables_agree_digit_by_digit(statistic: str, tmp_path: Path) -> None:
    """Linear and whole numbers of a release are the sums of their parts."""
    more = f"statistic: {statistic}, hierarchy: place, mechanism: laplace, epsilon: 1"
    text = text_of(f"{more}}}, {{name: w, post: [whole], {more}")
    (tmp_path / "spec.yaml").write_text(text)
    random = np.random.default_rng(4)
    names = make_plan(parse_central_spec(text, "spec.yaml")).statistics[0]
    labels = names.entry.inputs.option("hierarchy")[0].axis.labels
    rows = [f"p,{random.choice(labels[:3])},{at % 50},2024-01-01" for at in range(60)]
    (tmp_path / "data.csv").write_text("who,district,paid,day\n" + "\n".join(rows) + "\n")
    table = release(tmp_path / "spec.yaml", tmp_path / "data.csv", release_id="a").table

    for name in ("s", "w", "w.raw"):
        values = [float(row["value"]) for row in table.to_dicts() if row["statistic"] == name]
        top, regions, districts = values[0], values[1:4], values[4:]
        assert np.isclose(top, sum(regions), rtol=0, atol=1e-9)
        sums = [sum(districts[:3]), sum(districts[3:5]), districts[5]]
        assert np.allclose(regions, sums, rtol=0, atol=1e-9)
        if name == "w":
            assert all(value >= 0 and value == int(value) for value in values)


FILE = """dpcli: 1
dataset: places
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}
columns: {district: {type: category, values: {file: places.csv, key: code, label: name}}}
hierarchies: {place: {file: places.csv, levels: [region, code], column: district}}
statistics: [{name: s, statistic: count, hierarchy: place, epsilon: 1}]
"""


def planned_from(folder: Path, lines: str) -> tuple[str, PlannedStatistic]:
    """The digest and the statistic of a spec with a file of places."""
    (folder / "places.csv").write_text(f"region,code,name\n{lines}\n")
    (folder / "spec.yaml").write_text(FILE)
    spec = read_central_spec(folder / "spec.yaml")
    return spec.digest, make_plan(spec).statistics[0]


def test_a_file_has_levels_in_its_order_with_the_labels_of_the_column(tmp_path: Path) -> None:
    """Leaves are codes of the column; parts of one parent stand together."""
    digest, planned = planned_from(tmp_path, "north,1,Leeds\nsouth,2,Dover\nnorth,3,York")
    other, _ = planned_from(tmp_path, "north,1,Leeds\nsouth,2,Dover\nsouth,3,York")
    hierarchy = planned.entry.inputs.option("hierarchy")[0]

    assert [level.labels for level in hierarchy.levels] == [
        ("north", "south"), ("Leeds", "York", "Dover"),
    ]  # fmt: skip
    assert hierarchy.leaf_of == (0, 2, 1)
    assert digest != other


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("chosen", ["d0_0 d0_1 d1_1", "d0_0 d1_1 d2_0"])
@pytest.mark.parametrize("known", ["", ", known: {region: {r0: 1626}}"])
@pytest.mark.parametrize("runs", also_slow(1000, 4000))
def test_sums_across_the_hierarchy_lie_within_their_bounds(
    noise: str, chosen: str, known: str, runs: int, tmp_path: Path
) -> None:
    """Bounds of `dpcli sum` are for any sums of Laplace noise, and so a little wide for most."""
    regions, leaves = [4, 3, 3], np.arange(10) * 7 + 396
    exact = levels_of(leaves, regions)
    (tmp_path / "spec.yaml").write_text(text_of(f"{COUNTS}, {noise}{known}", regions))
    planned = planned_statistic((tmp_path / "spec.yaml").read_text())
    labels = planned.entry.inputs.option("hierarchy")[0].levels[-1].labels
    rows = [f"p,{label},1," for label, count in zip(labels, leaves, strict=True)
            for _ in range(count)]  # fmt: skip
    (tmp_path / "data.csv").write_text("\n".join(["who,district,paid,day", *rows, ""]))
    text = release(tmp_path / "spec.yaml", tmp_path / "data.csv", release_id="a").report("json")
    found = sum_of(Report.parse(text.encode()), {"district": chosen.split()})
    width = float(Fraction(found.upper) - Fraction(found.value))
    values = released(planned, exact, runs)
    step, at = float(values.step), [4 + labels.index(name) for name in chosen.split()]
    sums = values.value.reshape(runs, -1)[:, at].astype(float).sum(axis=1) * step
    held = (np.abs(sums - np.concatenate(exact)[at].sum()) <= width + 1e-9).mean()
    slack = 3 * (0.05 * 0.95 / runs) ** 0.5

    assert found.basis is Basis.COVARIANCE
    assert 0.945 - slack <= held
    assert held <= (0.97 if "gaussian" in noise else 0.99) + slack


def test_parts_of_a_file_that_look_alike_are_refused(tmp_path: Path) -> None:
    """A region in Latin letters, and one with a Greek letter."""
    with pytest.raises(SpecError, match="looks like another one in line 2"):
        planned_from(tmp_path, "T,1,Leeds\n\u03a4,2,Dover")


KNOWN = "known: {country: {all of it: 210}, region: {r0: 123}, district: {d1_0: 41}}"


@pytest.mark.parametrize("noise", [NOISES[0], NOISES[2]])
def test_known_numbers_are_met_at_no_cost(noise: str) -> None:
    """What is known is published, and intervals of all others hold; they are narrower."""
    fields = f"{COUNTS}, {noise}"
    planned, plain = (
        planned_statistic(text_of(f"{fields}, {KNOWN}")),
        planned_statistic(text_of(fields)),
    )
    leaves = np.array([40, 42, 41, 41, 30, 16])
    runs, exact = 3000, levels_of(leaves, SMALL)
    found = released(planned, exact[1:], runs)
    values = found.value.reshape(runs, -1) / 100
    shares = held(found, np.concatenate(exact))

    assert [part.weighted.query.cells for part in planned.queries] == [3, 6]
    for at, number in ((0, 210), (1, 123), (7, 41)):
        assert (values[:, at] == number).all()
    # Numbers that meet a known sum of three are whole thirds.
    assert shares.min() > 0.925
    assert shares[[at for at in range(10) if at not in (0, 1, 7)]].max() < 0.97
    spread = np.square(values - np.concatenate(exact)).mean(axis=0)
    without = released(plain, exact, runs).value.reshape(runs, -1) / 100
    assert spread.sum() < 0.6 * np.square(without - np.concatenate(exact)).mean(axis=0).sum()


def test_whole_numbers_meet_known_ones() -> None:
    """Also where noise is large: every number is the sum of its parts, and none is negative."""
    planned = planned_statistic(text_of(f"{COUNTS}, epsilon: 0.02, {KNOWN}"))
    for _ in range(50):
        answers = with_noise(planned, levels_of(np.array([40, 42, 41, 41, 30, 16]), SMALL)[1:])
        whole = planned.design.make_additive(answers, 1, nonnegative=True)

        assert (whole[0], whole[1], whole[7]) == (210, 123, 41)
        assert whole.min() >= 0
        assert whole[1:4].sum() == whole[0]
        assert np.add.reduceat(whole[4:], [0, 3, 5]).tolist() == whole[1:4].tolist()


@pytest.mark.parametrize(("known", "contradicts"), [(210, False), (400, True), (20, True)])
def test_a_known_number_that_noise_does_not_explain_is_named(known: int, contradicts: bool) -> None:
    """Numbers are then not complete: what is known is about other rows."""
    fields = f"{COUNTS}, epsilon: 1, known: {{country: {{all of it: {known}}}}}"
    planned = planned_statistic(text_of(fields))
    answers = with_noise(planned, levels_of(np.array([40, 42, 41, 41, 30, 16]), SMALL)[1:])
    shown = planned.design.shown_incomplete(answers)

    assert bool(shown) == contradicts
    assert shown.startswith("the noisy number of all of it is") == contradicts

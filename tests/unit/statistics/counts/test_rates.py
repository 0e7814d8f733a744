"""Rates of public populations: sensitivities, coverage, errors, and what enters a digest."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.problems.errors import SpecError
from dpcli.specification.load import parse_central_spec, read_central_spec
from tests.oracles.opened import cells_of
from tests.oracles.plain import answers_about, read_people
from tests.support.rules import in_pairs
from tests.support.surveys import held, planned_statistic, released

SPEC = """
dpcli: 1
dataset: rates
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 1000, delta: 1e-3}}}}
columns:
  who: {{type: id}}
  sex: {{type: category, values: [f, m]{fill}}}
  band: {{type: category, values: [young, middle, old]{fill_band}}}
statistics: [{{name: s, statistic: count, {fields}, epsilon: {epsilon}}}]
"""

PEOPLE = "{column: who, max_rows: 3}"

RELATIONS = (("row", "add-remove"), ("row", "change-one"), (PEOPLE, "add-remove"))

CRUDE = "by: [band], rate: {per: 1000, population: {young: 500, middle: 300, old: 70}}"

IN_SPEC = "population: {young: 500, middle: 300, old: 70}"

STANDARDIZED = (
    f"rate: {{per: 1000, strata: band, {IN_SPEC}, standard: {{young: 5, middle: 3, old: 2}}}}"
)

POPULATION = {"young": 500, "middle": 300, "old": 70}

pytestmark = pytest.mark.usefixtures("stream")


def text_of(
    fields: str,
    relation: tuple[str, str] = RELATIONS[0],
    epsilon: object = 1,
    *,
    fill: bool = False,
) -> str:
    """A spec; with `fill`, each row has a sex and a band."""
    unit, neighbors = relation
    return SPEC.format(
        unit=unit, neighbors=neighbors, fields=fields, epsilon=epsilon,
        fill=", missing: f" if fill else "", fill_band=", missing: young" if fill else "",
    )  # fmt: skip


def planned(
    fields: str, relation: tuple[str, str] = RELATIONS[0], epsilon: object = 1
) -> PlannedStatistic:
    """The only statistic of a spec."""
    return planned_statistic(text_of(fields, relation, epsilon))


@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize("more", ["", "by: [sex], ", "where: {sex: f}, "])
@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_no_neighbor_changes_a_standardized_rate_by_more(
    more: str, neighbors: Neighbors, fill: bool, tmp_path: Path
) -> None:
    """The greatest change over all neighbors of small files is the sensitivity."""
    fields = more + STANDARDIZED
    if "by" in more:
        lines = [f"{sex},{band},{n}" for sex in "fm" for band, n in POPULATION.items()]
        (tmp_path / "people.csv").write_text("\n".join(["sex,band,n", *lines]) + "\n")
        file = "population: {file: people.csv, key: [sex, band], value: n}"
        fields = more + STANDARDIZED.replace(IN_SPEC, file)
    text = text_of(fields, ("row", neighbors.value), fill=fill)
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    (statistic,) = make_plan(read_central_spec(path)).statistics
    query = statistic.entry.designs[-1].queries[0].query
    rows = [f"a,{sex},{band}\n" for sex, band in product("fm?", (*POPULATION, "?"))]

    def answer(*some: str) -> list[int]:
        people = read_people([query], ("who,sex,band\n" + "".join(some)).encode())
        (found,) = answers_about([query], people)
        return cells_of(found)

    ones = [answer(row) for row in rows]
    pairs = [(answer(), one) for one in ones]
    if neighbors is Neighbors.CHANGE_ONE:
        pairs = list(product(ones, ones))
    changes = [sum(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in pairs]

    assert max(changes) == query.sensitivity(Relation(RowUnit(), neighbors)).l1


SIZES, EPSILONS = (30, 300, 30_000), (Fraction(1, 5), 1, 3)


@pytest.mark.parametrize(
    ("fields", "relation", "size", "epsilon"),
    in_pairs(
        product((CRUDE, STANDARDIZED), RELATIONS, SIZES, EPSILONS),
        *[(CRUDE, RELATIONS[at], SIZES[at], 1) for at in range(3)],
        *[(STANDARDIZED, RELATIONS[at], SIZES[at], EPSILONS[at]) for at in range(3)],
    ),
)
def test_intervals_hold(
    fields: str, relation: tuple[str, str], size: int, epsilon: Fraction
) -> None:
    """An interval of 95% contains the noise-free rate in at least that share of releases."""
    statistic = planned(fields, relation, float(epsilon))
    counts = np.array([size - size // 3 - size // 9, size // 3, size // 9])
    people = np.array([*POPULATION.values()])
    exact, truth = counts, 1000 * counts / people
    if fields == STANDARDIZED:
        column = statistic.entry.inputs.option("rate").weights
        exact = (counts * np.array(column.derivation.numbers)).sum()
        truth = truth @ np.array([0.5, 0.3, 0.2])
    entry = statistic.entry
    found = released(statistic, [exact], 600).within(entry.statistic.limits(entry.inputs))

    assert held(found, truth).min() >= 0.93


def test_a_standardized_rate_is_more_precise_than_one_of_a_table() -> None:
    """Of 18 bands, one weighted count has less than half of the error of a table."""
    people = np.linspace(5_000, 15_000, 18).astype(int)
    names = [f"b{at}" for at in range(18)]
    numbers = ", ".join(f"{name}: {number}" for name, number in zip(names, people, strict=True))
    weights = ", ".join(f"{name}: 1" for name in names)
    text = f"""
dpcli: 1
dataset: bands
privacy: {{unit: row, neighbors: add-remove, budget: {{epsilon: 10}}}}
columns: {{band: {{type: category, values: [{", ".join(names)}]}}}}
statistics:
  - {{name: one, statistic: count, epsilon: 1, rate: {{per: 100000, strata: band,
     population: {{{numbers}}}, standard: {{{weights}}}}}}}
  - {{name: many, statistic: count, by: [band], epsilon: 1}}
"""
    one, many = make_plan(parse_central_spec(text, "bands")).statistics
    step = float(one.queries[0].weighted.step) * float(
        max(one.entry.inputs.option("rate").factors(one.entry.inputs))
    )
    single = step * np.sqrt(one.noises[0].discrete_variance)
    parts = 100_000 / 18 / people
    summed = np.sqrt((parts**2).sum() * many.noises[0].discrete_variance)

    assert summed / single > 2


def test_the_digest_of_a_spec_has_the_populations_of_its_files(tmp_path: Path) -> None:
    """Another number in a file of populations is another spec."""
    fields = "by: [band], rate: {per: 1000, population: {file: n.csv, key: band, value: n}}"
    digests = set()
    for old in (70, 71):
        (tmp_path / "n.csv").write_text(f"band,n\nyoung,500\nmiddle,300\nold,{old}\n")
        (tmp_path / "spec.yaml").write_text(text_of(fields))
        digests.add(read_central_spec(tmp_path / "spec.yaml").digest)

    assert len(digests) == 2


LINES = {
    "old,0": "line 4 of `n.csv` has a number that is zero or less",
    "old,-1": "line 4 of `n.csv` has a number that is zero or less",
    "old,few": "line 4 of `n.csv` has no number that can be read",
    "old": "line 4 of `n.csv` has no number that can be read",
    "old,1.000": "line 4 of `n.csv` has no number that can be read",
    'old,"1,000"': "line 4 of `n.csv` has no number that can be read",
    "very old,70": "line 4 of `n.csv` is about none of the groups",
    "young,70": "line 4 of `n.csv` is about the same group as line 2",
    "": "`population` has no number for `old`",
}


@pytest.mark.parametrize(("line", "message"), LINES.items())
def test_wrong_lines_of_a_file_are_named(line: str, message: str, tmp_path: Path) -> None:
    """A problem of a file of populations names the file and the line, and quotes no cell."""
    fields = "by: [band], rate: {per: 1000, population: {file: n.csv, key: band, value: n}}"
    (tmp_path / "n.csv").write_text(f"band,n\nyoung,500\nmiddle,300\n{line}\n")
    (tmp_path / "spec.yaml").write_text(text_of(fields))

    with pytest.raises(SpecError) as caught:
        read_central_spec(tmp_path / "spec.yaml")
    assert [problem.message for problem in caught.value.problems] == [message]


def test_a_file_of_populations_has_the_stated_columns(tmp_path: Path) -> None:
    """Columns and files that are not there are problems with names."""
    (tmp_path / "n.csv").write_text("band,n\nyoung,500\n")
    for given, code in (
        ("{file: absent.csv, key: band, value: n}", "rate-population"),
        ("{file: n.csv, key: band, value: people}", "code-list"),
        ("{file: n.csv, key: sex, value: n}", "rate-form"),
    ):
        text = text_of(f"by: [band], rate: {{per: 1000, population: {given}}}")
        (tmp_path / "spec.yaml").write_text(text)
        with pytest.raises(SpecError) as caught:
            read_central_spec(tmp_path / "spec.yaml")
        assert [problem.code for problem in caught.value.problems] == [code]

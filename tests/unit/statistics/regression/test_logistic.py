"""Logistic regressions of whole files, from rows to coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, log
from pathlib import Path
from random import Random

import polars as pl
import pytest

import dpcli
from dpcli.noise.distribution import NO_NOISE
from dpcli.numeric.arrays import Floats, integer_array, np
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.design import Inputs, NoisyAnswer
from dpcli.statistics.regression.logistic import LogisticRegression
from dpcli.statistics.regression.queries import LogisticQuery
from tests.oracles.agreement import agreed
from tests.oracles.opened import engine
from tests.oracles.plain import evaluate
from tests.support.streams import Stream

SPEC = """
dpcli: 1
dataset: d
privacy: {unit: UNIT, neighbors: add-remove, budget: {epsilon: 1000}}
columns:
  who: {type: id}
  y: {type: boolean, values: ["0", "1"]}
  sort: {type: category, values: [p, q, r]}
  age: {type: integer, bounds: [0, 100]}
  x: {type: number, bounds: [-5, 4.99], step: 0.01}
statistics:
  - {name: l, statistic: logistic_regression, on: [age, x], epsilon: 20, ENTRY}
"""

ADDED = Relation(RowUnit(), Neighbors.ADD_REMOVE)


def inputs(entry: str = "column: y", unit: str = "row") -> Inputs:
    """The inputs of an entry about these columns."""
    text = SPEC.replace("ENTRY", entry).replace("UNIT", unit)
    return parse_central_spec(text, "test").entries[0].inputs


def query(entry: str = "column: y") -> LogisticQuery:
    """The query of an entry."""
    (design,) = LogisticRegression().designs(inputs(entry), ADDED)
    found = design.queries[0].query
    assert isinstance(found, LogisticQuery)
    return found


def table(rows: int, seed: int) -> str:
    """A file in which log-odds are 0.05 age - 2 - 0.4 x, with some cells that are missing."""
    random = Random(seed)
    lines = ["who,y,sort,age,x"]
    for _ in range(rows):
        age, x = random.randint(0, 100), random.uniform(-5, 4.99)
        true = random.random() < 1 / (1 + exp(2 - 0.05 * age + 0.4 * x))
        cells = [f"w{random.randint(1, 40)}", str(int(true)), random.choice("pqr"), str(age)]
        cells.append(f"{x:.2f}")
        if random.random() < 0.1:
            cells[random.randrange(5)] = ""
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def newton(rows: Sequence[tuple[int, int, int]]) -> Floats:
    """Intercept and slopes that maximize the likelihood of outcome, age and x in hundredths."""
    design = np.array([(1.0, age / 50 - 1, x / 500) for _, age, x in rows])
    outcome = np.array([float(y) for y, *_ in rows])
    theta = np.zeros(3)
    for _ in range(30):
        shares = 1 / (1 + np.exp(-design @ theta))
        curved = (design.T * (shares * (1 - shares))) @ design
        theta = theta - np.linalg.solve(curved, design.T @ (shares - outcome))
    return np.array([theta[0] - theta[1], theta[1] / 50, theta[2] / 5])


@pytest.mark.parametrize(
    "entry",
    [
        "column: y",
        "column: sort, values: [p, r]",
        "column: y, where: {sort: q}",
        "column: y, where: {age: {max: 50}}",
    ],
)
def test_the_engine_counts_rows_with_equal_inputs(entry: str, tmp_path: Path) -> None:
    """Rows, true outcomes and inputs are those that a plain reading of the rules gives."""
    (found,) = agreed([query(entry)], table(300, 1), tmp_path)
    assert len(found) > 100


def test_rows_of_a_person_are_limited(tmp_path: Path) -> None:
    """Of 300 rows of 40 people, at most two of each person are counted."""
    path = tmp_path / "data.csv"
    path.write_text(table(300, 2), encoding="utf-8")
    (found,) = engine([query()], PersonUnit("who", 2, 2, 2), path)
    lines = np.array(found).reshape(-1, 4)
    assert 60 < lines[:, -2].sum() <= 80


def test_without_noise_coefficients_are_those_of_the_columns(tmp_path: Path) -> None:
    """The maximum of the likelihood, for ages in years and x in its own unit."""
    path, asked, statistic = tmp_path / "data.csv", inputs(), LogisticRegression()
    path.write_text(table(2000, 3), encoding="utf-8")
    objective = query()
    lines = np.array(evaluate([objective], path.read_bytes())[0]).reshape(-1, 4)
    rows = [
        # Inputs are distances from 50 years, and in half hundredths from -0.005.
        (int(place < true), age + 50, (x - 1) // 2)
        for age, x, count, true in lines.tolist()
        for place in range(count)
    ]
    expected = newton(rows)
    # Half-widths are 50 years and 4.995; the middles are 50 and -0.005.
    theta = expected * np.array([1, 50, 4.995])
    theta[0] += 50 * expected[1] - 0.005 * expected[2]
    scaled = NoisyAnswer(
        integer_array([round(part / float(objective.grid)) for part in theta]), NO_NOISE
    )
    (design,) = statistic.designs(asked, ADDED)
    estimates = list(design.estimate([scaled], Fraction(19, 20)))
    assert [float(one.value or 0) for one in estimates] == pytest.approx(expected, abs=1e-5)
    assert all(one.lower is one.upper is None for one in estimates)


def test_a_note_names_the_labels_that_are_predicted() -> None:
    """Coefficients of a category are about some of its labels, those of a boolean about true."""
    stated = [
        LogisticRegression().sentences(inputs(entry))[0]
        for entry in ("column: sort, values: [p, r]", "column: y")
    ]
    assert "`sort is p or r`" in stated[0]
    assert "`y is true`" in stated[1]


def released(text: str, tmp_path: Path, unit: str = "row", entry: str = "column: y") -> list[float]:
    """The published coefficients of a release of these rows."""
    spec, data = tmp_path / "spec.yaml", tmp_path / "data.csv"
    spec.write_text(SPEC.replace("ENTRY", entry).replace("UNIT", unit), encoding="utf-8")
    data.write_text(text, encoding="utf-8")
    plan = dpcli.plan(dpcli.load_spec(spec))
    with dpcli.Ledger.create(tmp_path / f"{len(list(tmp_path.iterdir()))}.sqlite") as ledger:
        numbers = dpcli.release(plan, data, ledger=ledger, release_id="r").table
    assert numbers["item"].to_list() == ["intercept", "age", "x"]
    # Ends and flags belong together: a coefficient without an interval is marked.
    assert (numbers["lower"].is_null() == (numbers["flag"] == "no-information")).all()
    return numbers["value"].cast(pl.Float64).to_list()


def test_a_release_finds_the_coefficients_of_many_rows(tmp_path: Path, stream: Stream) -> None:
    """From 20,000 rows at a large epsilon, coefficients are near those that made the rows."""
    found = released(table(20_000, 4), tmp_path)
    assert found == pytest.approx([-2, 0.05, -0.4], abs=0.1)
    assert found[1] == pytest.approx(0.05, abs=0.005)
    assert stream.calls


HEADER = "who,y,sort,age,x\n"
HOSTILE = {
    "no row": "",
    "no readable row": "a,?,p,1,1\nb,1,p,,\n,,,,\n",
    "true alone": "a,1,p,1,1\n" * 50,
    "false alone": "a,0,p,100,-5\n" * 50,
    "constant inputs": "a,1,p,7,0\nb,0,p,7,0\n" * 20,
    "values beyond the bounds": "a,1,p,1e300,-inf\nb,0,p,-7,nan\n" * 20,
}


@pytest.mark.parametrize("unit", ["row", "{column: who, max_rows: 2}"])
@pytest.mark.parametrize("name", HOSTILE)
def test_any_rows_have_finite_coefficients(
    name: str, unit: str, tmp_path: Path, stream: Stream
) -> None:
    """One class, constant inputs, missing cells or no row at all: there are numbers."""
    found = released(HEADER + HOSTILE[name], tmp_path, unit)
    assert all(abs(one) < 1000 for one in found)
    assert stream.calls


def test_all_true_rows_have_high_odds(tmp_path: Path, stream: Stream) -> None:
    """The ridge keeps the log-odds of rows that are all true finite, but positive."""
    intercept, *_ = released(HEADER + "a,1,p,50,0\n" * 1000, tmp_path)
    assert 2 < intercept < log(10**6)
    assert stream.calls

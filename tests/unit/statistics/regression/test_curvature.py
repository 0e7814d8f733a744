"""Intervals of coefficients from a perturbed objective contain those without noise."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp
from random import Random

import pytest

from dpcli.mechanisms.objective_perturbation import ObjectivePerturbation
from dpcli.numeric.arrays import Floats, integer_array, np
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import UNBOUNDED, Estimates
from dpcli.statistics.postprocessing import FLAGS, Flag, flags
from dpcli.statistics.regression.curvature import CURVATURE_SHARE
from dpcli.statistics.regression.queries import LogisticQuery, ObjectiveQuery
from tests.oracles.plain import evaluate
from tests.support.streams import Stream

SPEC = """
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: NEIGHBORS, budget: {epsilon: 100}}
columns:
  u: {type: integer, bounds: [0, 20]MISSING}
  v: {type: number, bounds: [-1, 3], step: 0.5MISSING}
  y: {type: number, bounds: [-2, 6], step: 0.25MISSING}
  z: {type: boolean}
statistics:
  - {name: l, on: [u, v], epsilon: EPSILON, ENTRY, method: objective}
"""
ENTRIES = {
    "squares": "statistic: linear_regression, column: y",
    "logistic": "statistic: logistic_regression, column: z",
}
RUNS = 120

each_entry = pytest.mark.parametrize("name", ENTRIES)


def planned(
    name: str, epsilon: str, neighbors: str = "add-remove", missing: str = ""
) -> PlannedStatistic:
    """The plan of a regression on u and v."""
    text = SPEC.replace("NEIGHBORS", neighbors).replace("MISSING", missing)
    text = text.replace("ENTRY", ENTRIES[name]).replace("EPSILON", epsilon)
    (found,) = make_plan(parse_central_spec(text, "test")).statistics
    return found


def rows(count: int, seed: int) -> list[tuple[float, float, float, bool]]:
    """Inputs that depend on each other, and outcomes that depend on them."""
    random = Random(seed)
    made: list[tuple[float, float, float, bool]] = []
    for _ in range(count):
        u = random.randint(0, 20)
        v = min(3.0, max(-1.0, random.randint(-2, 4) / 2 + u / 40 // 0.5 / 2))
        y = round((1.0 + 0.08 * u + 0.3 * v + random.uniform(-1, 1)) * 4) / 4
        made.append((u, v, y, random.random() < 1 / (1 + exp(0.5 - 0.1 * u + 0.4 * v))))
    return made


def scaled_minimizer(
    name: str, data: Sequence[tuple[float, float, float, bool]], ridge: float
) -> Floats:
    """The minimizer with the ridge and without noise, by Newton's method in floats."""
    design = np.array([(1.0, u / 10 - 1, (v - 1) / 2) for u, v, *_ in data]).reshape(-1, 3)
    theta = np.zeros(3)
    for _ in range(50):
        if name == "squares":
            outcome = np.array([(y - 2) / 4 for *_, y, _ in data])
            slope, curved = design.T @ (design @ theta - outcome), design.T @ design
        else:
            outcome = np.array([float(z) for *_, z in data])
            share = 1 / (1 + np.exp(-design @ theta))
            slope = design.T @ (share - outcome)
            curved = (design.T * (share * (1 - share))) @ design
        theta = theta - np.linalg.solve(curved + ridge * np.eye(3), slope + ridge * theta)
    # Squares are minimized where the absolute values add up to at most one: this is within.
    assert name == "logistic" or abs(theta).sum() < 1
    return theta


def in_own_units(name: str, theta: Floats) -> Floats:
    """The coefficients of the columns, from those of scaled ones."""
    first, second = theta[1] / 10, theta[2] / 2
    if name == "logistic":
        return np.array([theta[0] - 10 * first - second, first, second])
    return np.array([2 + 4 * (theta[0] - 10 * first - second), 4 * first, 4 * second])


def estimated(found: PlannedStatistic, exact: Sequence[Sequence[int]]) -> Estimates:
    """One release from these exact answers."""
    answers = []
    for part, values in zip(found.queries, exact, strict=True):
        query, noise = part.weighted.query, part.calibrated.noise
        if isinstance(query, ObjectiveQuery):
            table = integer_array(values)
            if isinstance(query, LogisticQuery):
                # The inputs, the rows with them, and how many of these are true.
                table = table.reshape(-1, query.cells + 1)
            made = ObjectivePerturbation().minimize(noise, query, table)
        else:
            made = integer_array([int(values[0]) + int(noise.sample(1)[0])])
        answers.append(NoisyAnswer(made, noise))
    return found.design.estimate(answers, Fraction(19, 20))


def exact_answers(
    found: PlannedStatistic, data: Sequence[tuple[float, float, float, bool]]
) -> list[Sequence[int]]:
    """The exact answers by the oracle."""
    lines = "".join(f"{u},{v},{y},{str(z).lower()}\n" for u, v, y, z in data)
    queries = [part.weighted.query for part in found.queries]
    answered = evaluate(queries, f"u,v,y,z\n{lines}".encode())
    return [np.array(one).ravel().tolist() for one in answered]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("count", "epsilon"),
    [
        (300, "1"),
        pytest.param(4000, "2", marks=pytest.mark.slow),
        pytest.param(4000, "20", marks=pytest.mark.extended),
    ],
)
@each_entry
def test_intervals_contain_the_coefficients_without_noise(
    name: str, count: int, epsilon: str, stream: Stream
) -> None:
    """At least 95% of intervals contain those of the same ridge; many rows have narrow ones."""
    found, data = planned(name, epsilon), rows(count, 1)
    first = found.queries[0]
    query = first.weighted.query
    assert isinstance(query, ObjectiveQuery)
    ridge = float(query.perturbation(first.calibrated.noise.scale * query.step).ridge)
    truth, exact = (
        in_own_units(name, scaled_minimizer(name, data, ridge)),
        exact_answers(found, data),
    )
    held, marks, widths = np.zeros(3), [], []
    for _ in range(RUNS):
        made = estimated(found, exact)
        step = float(made.step)
        within = (made.lower * step <= truth) & (truth <= made.upper * step)
        held += within | (made.status == UNBOUNDED)
        marks += [FLAGS[at] for at in flags(made)]
        widths.append((made.upper - made.lower).astype(float) * step / 2)

    # Three standard deviations of 120 runs at 95%; `test_objective_coverage.py` computes coverage.
    assert (held >= (0.95 - 0.0597) * RUNS).all(), held
    informative = sum(mark is not Flag.NO_INFORMATION for mark in marks)
    if (count, epsilon) == (4000, "20"):
        assert informative == len(marks)
        assert (np.median(widths, axis=0) < [0.02, 0.002, 0.01]).all()


@each_entry
def test_no_row_has_no_information(name: str, stream: Stream) -> None:
    """Of an empty file, at least 95% of the coefficients say no-information."""
    found = planned(name, "1")
    exact = exact_answers(found, [])
    marks = [FLAGS[at] for _ in range(RUNS // 4) for at in flags(estimated(found, exact))]

    assert marks.count(Flag.NO_INFORMATION) >= 0.95 * len(marks)


@each_entry
def test_products_have_their_share_of_the_loss(name: str) -> None:
    """The losses of objective and products sum to that of the entry; a public size is free."""
    for neighbors, missing, free in (
        ("add-remove", "", 0), ("change-one", "", 0), ("change-one", ", missing: 0", 1)
    ):  # fmt: skip
        found = planned(name, "2", neighbors, missing)
        objective, *sums = found.queries
        spent = [
            query.calibrated.sensitivity.l1 / query.calibrated.noise.scale
            for query in sums
            if not query.is_exact
        ]

        assert objective.calibrated.sensitivity.l1 / objective.calibrated.noise.scale == 2 * (
            1 - CURVATURE_SHARE
        )
        assert sum(spent) == 2 * CURVATURE_SHARE
        # The outcome of a logistic regression may be missing.
        assert len(sums) - len(spent) == (free if name == "squares" else 0)
        assert (
            sum(query.calibrated.loss.epsilon for query in found.queries)
            == found.target.epsilon
            == 2
        )

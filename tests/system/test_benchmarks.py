"""The benchmarks on small files, so that those on large files work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpcli.statistics.bounds.rule import GRID_KINDS
from tests.benchmarks import limits
from tests.benchmarks.bounds import SHAPES, ratios
from tests.benchmarks.flights import judged, make_flights
from tests.benchmarks.regression import linear, logistic
from tests.benchmarks.timing import run
from tests.benchmarks.workloads import SHAPES as FILES
from tests.benchmarks.workloads import WORKLOADS, make_file

pytestmark = pytest.mark.extended


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_and_its_query_run(name: str, tmp_path: Path) -> None:
    """Each command succeeds and uses some memory."""
    data = tmp_path / "data.csv"
    make_file(data, 1000)
    for command in WORKLOADS[name].commands(tmp_path / "spec.yaml", data):
        assert run(command).megabytes > 0


@pytest.mark.parametrize("shape", FILES)
def test_each_shape_of_file_is_released_and_queried(shape: str, tmp_path: Path) -> None:
    """Both commands succeed on the file."""
    data = tmp_path / f"data{FILES[shape].suffix}"
    make_file(data, 1000, FILES[shape])
    for command in WORKLOADS["people"].commands(tmp_path / "spec.yaml", data, FILES[shape]):
        assert run(command).megabytes > 0


@pytest.mark.parametrize("shape", ["uniform", "lognormal 1", "ages", "visits", "normal"])
def test_chosen_bounds_are_close_to_the_best_ones(shape: str) -> None:
    """Sums of 10,000 numbers have at most ten times the error of the best bounds in hindsight.

    Twice is usual. The outermost bounds are a hundred times too wide: with them the error would be
    a hundred times as large.
    """
    generator = np.random.default_rng(2)
    values = SHAPES[shape](generator, 10_000)

    against_bounds, against_rungs = ratios(values, GRID_KINDS[0], 100, generator, 20)
    assert 1 <= against_rungs <= against_bounds < 10


@pytest.mark.parametrize("shape", ["one", "poisson 3", "lognormal 1", "zipf 2.5"])
def test_a_chosen_limit_is_close_to_the_best_one(shape: str) -> None:
    """Sums of the rows of 10,000 people have at most ten times the error of the best limit.

    Twice is usual. The outermost limit is a hundred times too wide.
    """
    generator = np.random.default_rng(2)
    rows = np.maximum(np.rint(limits.SHAPES[shape](generator, 10_000)), 1).astype(np.int64)

    assert limits.ratio(rows, GRID_KINDS[0], 100, 0.5, generator, 20) < 10


def test_private_regressions_predict_better_than_the_mean() -> None:
    """With 2,000 rows and two inputs, and not better than without noise."""
    mean, exact, *private = linear(2000, 2, 5)
    assert exact < private[0] < mean
    assert exact < private[1] < mean
    share, likeliest, found = logistic(2000, 2, 5)
    assert likeliest < found < share


@pytest.mark.parametrize("limit", [pytest.param(100, marks=pytest.mark.slow), 1_000])
def test_few_numbers_about_flights_without_a_flag_are_wrong(limit: int, tmp_path: Path) -> None:
    """Of 60,000 flights, about 6% of the numbers without a flag are not those of all flights.

    Five standard errors are allowed. Before choices had flags, a quarter was wrong.
    """
    found = list(judged(make_flights(60_000), limit, 8, tmp_path))
    bare = [wrong for _, flag, wrong in found if not flag]

    assert len(bare) >= 90
    assert sum(bare) <= 0.06 * len(bare) + 5 * (0.06 * 0.94 * len(bare)) ** 0.5

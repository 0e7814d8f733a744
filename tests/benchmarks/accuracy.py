"""Errors at equal epsilon, next to other libraries: `accuracy.py [DRAWS [NAME]]`.

`NAME` is a part of the names of the questions to ask.

Every library gets the same rows, bounds and epsilon 1. A row is the privacy unit and is added or
removed, or replaced where a library takes the number of rows as public. dpcli answers for as many
groups of equal rows as there are draws, in one release, so that its whole pipeline runs. Libraries
that are not installed are left out: `pip install opendp diffprivlib "scikit-learn<1.6" python-dp
pipeline-dp`.

The figures are root mean square errors, or mean errors in ranks for quantiles, and their ratio to
the best.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpcli import Ledger, load_spec, plan, release

Values = NDArray[np.int64]
Error = Callable[[Values, Sequence[float]], float]
"""The error of published numbers about some values."""

Answer = Callable[[Values], Sequence[float]]
"""One draw of a library: the numbers that it publishes about some values."""

ROWS, UPPER = 1000, 100
QUANTILE_ROWS, QUANTILE_UPPER = 3000, 10_000
MAX_GROUPS = 100
"""The most groups of one release that chooses among all candidates."""

DECILES = tuple(step / 10 for step in range(1, 10))
PERCENTILES = tuple(step / 100 for step in range(1, 100))
EPSILON = 1.0


@dataclass(frozen=True)
class Question:
    """What is published about values from zero to `upper`, and how dpcli is asked.

    `exact` is the truth. With `ranks`, the error is the mean distance in ranks from the quantiles
    `ranks`. `size_is_public` says that rows are replaced.
    """

    name: str
    entry: str
    values: Values
    upper: int
    exact: float = 0.0
    ranks: tuple[float, ...] = ()
    size_is_public: bool = False

    def error(self, draws: Sequence[Sequence[float]]) -> float:
        """The root mean square error, or the mean distance in ranks."""
        found = np.array(draws, dtype=float)
        if not self.ranks:
            return float(np.sqrt(np.mean((found - self.exact) ** 2)))
        ordered = np.sort(self.values)
        targets = np.array(self.ranks) * len(ordered)
        below = np.searchsorted(ordered, found, "left")
        up_to = np.searchsorted(ordered, found, "right")
        return float(np.mean(np.maximum(0, np.maximum(below - targets, targets - up_to))))


def questions() -> Iterator[Question]:
    """All questions."""
    generator = np.random.default_rng(20)
    for name, mean in (("t = 0", 50), ("t = 0.35", 67.5), ("t = 0.7", 85)):
        values = np.clip(np.rint(generator.normal(mean, 8, ROWS)), 0, UPPER).astype(np.int64)
        exact = float(values.mean())
        yield Question(f"mean, {name}", "statistic: mean, column: x", values, UPPER, exact)
    spread = np.clip(np.rint(generator.normal(40, 20, ROWS)), 0, UPPER).astype(np.int64)
    yield Question("count", "statistic: count", spread, UPPER, float(ROWS))
    yield Question("sum", "statistic: sum, column: x", spread, UPPER, float(spread.sum()))
    yield Question("variance", "statistic: variance, column: x", spread, UPPER, float(spread.var()))
    for entry, exact in (("mean", float(spread.mean())), ("variance", float(spread.var()))):
        name, asked = f"{entry}, rows public", f"statistic: {entry}, column: x"
        yield Question(name, asked, spread, UPPER, exact, size_is_public=True)
    incomes = np.clip(generator.lognormal(7.5, 0.6, QUANTILE_ROWS), 0, QUANTILE_UPPER)
    values = np.rint(incomes).astype(np.int64)
    asked = "statistic: median, column: x"
    yield Question("median (ranks)", asked, values, QUANTILE_UPPER, ranks=(0.5,))
    for upper, ranks, name in (
        (QUANTILE_UPPER, DECILES, "nine deciles (ranks)"),
        (1000, DECILES, "the same of 0 to 1000"),
        (QUANTILE_UPPER, PERCENTILES, "99 percentiles (ranks)"),
        (1000, PERCENTILES, "the same of 0 to 1000"),
    ):
        asked = f"statistic: quantile, column: x, quantiles: {list(ranks)}"
        yield Question(name, asked, values * upper // QUANTILE_UPPER, upper, ranks=ranks)


def dpcli_draws(question: Question, draws: int) -> list[list[float]]:
    """Numbers that dpcli publishes: of equal groups in one release, or of several releases."""
    groups = 1 if question.size_is_public else min(draws, MAX_GROUPS if question.ranks else draws)
    names = [f"g{place}" for place in range(groups)]
    missing = ", missing: 0" if question.size_is_public else ""
    neighbors = "change-one" if question.size_is_public else "add-remove"
    by = "" if question.size_is_public else ", by: [g]"
    mechanism = "" if question.ranks else ", mechanism: laplace"
    spec = f"""
dpcli: 1
dataset: accuracy
privacy: {{unit: row, neighbors: {neighbors}, budget: {{epsilon: 1000, delta: 1e-6}}}}
columns:
  g: {{type: category, values: [{", ".join(names)}]}}
  x: {{type: integer, bounds: [0, {question.upper}]{missing}}}
statistics:
  - {{name: asked, {question.entry}{by}{mechanism}, epsilon: {EPSILON}}}
"""
    frame = pl.DataFrame(
        {"g": np.repeat(names, len(question.values)), "x": np.tile(question.values, groups)}
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frame.write_csv(folder / "data.csv")
        (folder / "spec.yaml").write_text(spec, encoding="utf-8")
        wanted = plan(load_spec(folder / "spec.yaml"))
        tables = []
        for place in range(-(-draws // groups)):
            with Ledger.create(folder / f"{place}.sqlite") as ledger:
                tables.append(release(wanted, folder / "data.csv", ledger=ledger).table)
    numbers = pl.concat(tables)["value"].cast(pl.Float64).to_list()
    size = max(len(question.ranks), 1)
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def diffprivlib_answers(question: Question) -> Answer | None:
    """IBM's library; the number of rows is public, except in counts."""
    tools = optional("diffprivlib.tools")
    if tools is None:
        return None
    options: dict[str, Any] = {"epsilon": EPSILON, "bounds": (0, question.upper)}
    calls: Mapping[str, Answer] = {
        # As many zeros as ones: noise is cut off at the length of the array.
        "count": lambda x: [tools.count_nonzero(np.arange(2 * len(x)) % 2, epsilon=EPSILON)],
        "sum": lambda x: [tools.sum(x.astype(float), **options)],
        "mean, rows public": lambda x: [tools.mean(x.astype(float), **options)],
        "variance, rows public": lambda x: [tools.var(x.astype(float), **options)],
        "median (ranks)": lambda x: [tools.median(x.astype(float), **options)],
        "nine deciles (ranks)": lambda x: list(tools.quantile(x.astype(float), DECILES, **options)),
    }
    return calls.get(question.name)


def google_answers(question: Question) -> Answer | None:
    """Google's library, as PyDP calls it."""
    algorithms = optional("pydp.algorithms.laplacian")
    if algorithms is None:
        return None

    def bounded(name: str) -> Answer:
        def answer(values: Values) -> list[float]:
            algorithm = getattr(algorithms, name)(
                epsilon=EPSILON, lower_bound=0, upper_bound=question.upper, dtype="int"
            )
            return [float(algorithm.quick_result(values.tolist()))]

        return answer

    def quantiles(values: Values) -> list[float]:
        share = EPSILON / len(question.ranks)
        found = []
        for rank in question.ranks:
            algorithm = algorithms.Percentile(
                epsilon=share, percentile=rank, lower_bound=0, upper_bound=question.upper,
                dtype="int",
            )  # fmt: skip
            found.append(float(algorithm.quick_result(values.tolist())))
        return found

    def count(values: Values) -> list[float]:
        return [float(algorithms.Count(epsilon=EPSILON, dtype="int").quick_result(values.tolist()))]

    if question.ranks:
        return quantiles
    names = {"sum": "BoundedSum", "variance": "BoundedVariance"}
    if question.name == "count":
        return count
    name = "BoundedMean" if question.name.startswith("mean, t") else names.get(question.name)
    return bounded(name) if name else None


def opendp_answers(question: Question) -> Answer | None:
    """OpenDP; a mean of an unknown number of rows is a sum over a count, with half each."""
    dp = optional("opendp.prelude")
    if dp is None:
        return None
    dp.enable_features("contrib", "honest-but-curious")
    bounds, metric = (0, question.upper), dp.symmetric_distance()
    whole = (dp.vector_domain(dp.atom_domain(T=dp.i64)), metric)

    def calibrated(chain: Callable[[float], Any], epsilon: float, moved: int = 1) -> Any:
        return dp.binary_search_chain(chain, d_in=moved, d_out=epsilon)

    def total(epsilon: float) -> Any:
        space = whole >> dp.t.then_clamp(bounds) >> dp.t.then_sum()
        return calibrated(lambda scale: space >> dp.m.then_laplace(scale), epsilon)

    def counted(epsilon: float) -> Any:
        space = whole >> dp.t.then_count()
        return calibrated(lambda scale: space >> dp.m.then_laplace(scale), epsilon)

    if question.name == "count":
        measured = counted(EPSILON)
        return lambda x: [measured(x.tolist())]
    if question.name == "sum":
        measured = total(EPSILON)
        return lambda x: [measured(x.tolist())]
    if question.name.startswith("mean, t"):
        both = total(EPSILON / 2), counted(EPSILON / 2)

        def mean(values: Values) -> list[float]:
            above, below = (measured(values.tolist()) for measured in both)
            return [min(max(above / max(below, 1), 0), question.upper)]

        return mean
    if question.name.endswith("rows public"):
        sized = (
            dp.vector_domain(
                dp.atom_domain(T=float, bounds=(0.0, float(question.upper)), nan=False),
                size=len(question.values),
            ),
            metric,
        )
        then = dp.t.then_mean() if question.name.startswith("mean") else dp.t.then_variance(ddof=0)
        space = sized >> then
        # A row that is replaced is one that is removed and one that is added.
        measured = calibrated(lambda scale: space >> dp.m.then_laplace(scale), EPSILON, 2)
        return lambda x: [measured(x.astype(float).tolist())]
    return None


def pipeline_answers(question: Question) -> Answer | None:
    """PipelineDP on one machine: each row has an id of its own, and the only group is public."""
    library = optional("pipeline_dp")
    if library is None or question.size_is_public:
        return None
    metrics = {
        "count": library.Metrics.COUNT,
        "sum": library.Metrics.SUM,
        "mean": library.Metrics.MEAN,
        "variance": library.Metrics.VARIANCE,
    }
    named = metrics.get(question.name.split(",")[0])
    wanted = [library.Metrics.PERCENTILE(round(100 * rank)) for rank in question.ranks] or [named]

    def answer(values: Values) -> list[float]:
        accountant = library.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=1e-10)
        engine = library.DPEngine(accountant, library.LocalBackend())
        options = library.AggregateParams(
            metrics=wanted, noise_kind=library.NoiseKind.LAPLACE, max_partitions_contributed=1,
            max_contributions_per_partition=1, min_value=0, max_value=question.upper,
        )  # fmt: skip
        extractors = library.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: 0,
            value_extractor=lambda row: row[1],
        )
        rows = list(enumerate(values.tolist()))
        answers = engine.aggregate(rows, options, extractors, public_partitions=[0])
        accountant.compute_budgets()
        ((_, numbers),) = answers
        return list(numbers)

    return answer


def optional(name: str) -> Any:
    """A module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


LIBRARIES: Mapping[str, Callable[[Question], Answer | None]] = {
    "OpenDP": opendp_answers,
    "diffprivlib": diffprivlib_answers,
    "PyDP": google_answers,
    "PipelineDP": pipeline_answers,
}


def main() -> None:
    """Print a line for each question and library."""
    warnings.filterwarnings("ignore")
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    for question in (one for one in questions() if wanted in one.name):
        own = dpcli_draws(question, draws)
        errors = {"dpcli": question.error(own)}
        for name, library in LIBRARIES.items():
            answer = library(question)
            if answer is not None:
                errors[name] = question.error([answer(question.values) for _ in range(draws)])
        best = min(errors.values())
        figures = (f"{name} {error:.4g} ({error / best:.2f})" for name, error in errors.items())
        print(f"{question.name:24}", "  ".join(figures), flush=True)


if __name__ == "__main__":
    main()

"""Errors at equal epsilon, next to other libraries.

    python -m tests.benchmarks.accuracy [DRAWS [NAME]]

`NAME` is a part of the names of the questions to ask, which are in `questions.py`.

Every library gets the same rows, bounds and epsilon. A row is the privacy unit and is added or
removed, or changed where the name of the question says so. dpcli answers in whole releases: one for
as many groups of equal rows as there are draws, or as many releases where groups would change what
it does. Libraries that are not installed are left out: `pip install
opendp diffprivlib "scikit-learn<1.6" python-dp pipeline-dp`.

The figures are root mean square errors, mean errors in ranks for quantiles, or rows lost for
labels, and their ratio to the best. The last line says how often that is dpcli.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from importlib.metadata import version
from math import sqrt
from pathlib import Path

import polars as pl

from dpcli import Ledger, load_spec, plan, release
from tests.benchmarks.other_libraries import LIBRARIES, Library
from tests.benchmarks.questions import Draws, Question, questions

DEVIATION, DEVIATIONS = 1.6, 4.5
"""The standard deviation of a ratio of errors from one draw of Laplace noise, and how many count.

The fourth moment of Laplace noise is 6 times the square of its variance: a root mean square error
of n draws deviates by sqrt(5 / n) / 2 of itself, and a ratio of two by sqrt(2) times as much.
"""


def dpcli_draws(question: Question, draws: int) -> Draws:
    """Numbers that dpcli publishes: of equal groups in one release, or of several releases."""
    groups = draws if question.neighbors == "add-remove" and question.mechanism else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spec.yaml").write_text(_spec(question, groups), encoding="utf-8")
        _frame(question, groups).write_csv(folder / "data.csv")
        wanted = plan(load_spec(folder / "spec.yaml"))
        tables = []
        for place in range(-(-draws // groups)):
            with Ledger.create(folder / f"{place}.sqlite") as ledger:
                made = release(wanted, folder / "data.csv", ledger=ledger, release_id=str(place))
                tables.append(made.table)
    published = pl.concat(tables).filter(pl.col("statistic") == "asked")
    if question.items:
        published = published.filter(pl.col("item").is_in(question.items))
    if question.judges_labels:
        numbers = published["item"].str.slice(1).cast(pl.Int64).to_list()
    else:
        numbers = published["value"].cast(pl.Float64).to_list()
    size = question.numbers
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def _spec(question: Question, groups: int) -> str:
    declared = "\n".join(f"  {name}: {question.column(name)}" for name in question.table)
    names = ", ".join(f"g{place}" for place in range(groups))
    by = ", by: [g]" if groups > 1 else ""
    mechanism = f", mechanism: {question.mechanism}" if question.mechanism else ""
    epsilon = float(question.epsilon)
    return f"""
dpcli: 1
dataset: accuracy
privacy: {{unit: row, neighbors: {question.neighbors}, budget: {{epsilon: 1000, delta: 1e-6}}}}
columns:
  g: {{type: category, values: [{names}]}}
{declared}
statistics:
  - {{name: asked, {question.entry}{by}{mechanism}, epsilon: {epsilon}}}
"""


def _frame(question: Question, groups: int) -> pl.DataFrame:
    """The rows of all groups."""
    names = [f"g{place}" for place in range(groups)]
    columns = {name: question.cells(values) for name, values in question.table.items()}
    one = pl.DataFrame(columns)
    return pl.concat(one.with_columns(g=pl.lit(name)) for name in names)


def main() -> int:
    """Print a line for each question, and a sentence; 1 if another library is surely better."""
    warnings.filterwarnings("ignore")
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    ratios, others = [], set[type[Library]]()
    for question in (one for one in questions() if wanted in one.name):
        errors = {"dpcli": question.judge(dpcli_draws(question, draws))}
        for library in LIBRARIES:
            if (answer := library(question).answer) is not None:
                errors[library.name] = question.judge(
                    [answer(question.table) for _ in range(draws)]
                )
                others.add(library)
        best = min(errors.values()) or 1
        figures = (f"{name} {error:.4g} ({error / best:.2f})" for name, error in errors.items())
        print(f"{question.name:28}", "  ".join(figures), flush=True)
        if len(errors) > 1:
            ratios.append(errors["dpcli"] / best)
    versions = sorted(f"{library.name} {version(library.package)}" for library in others)
    luck = 1 + DEVIATIONS * DEVIATION / sqrt(draws)
    print(
        f"{sum(ratio == 1 for ratio in ratios)} of {len(ratios)} errors of dpcli are the least, "
        f"and all are at most {max(ratios, default=1):.2f} times the least of "
        f"{', '.join(versions)}. Up to {luck:.2f} may be chance"
    )
    return int(max(ratios, default=1) > luck)


if __name__ == "__main__":
    sys.exit(main())

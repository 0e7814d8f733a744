"""Errors at equal epsilon, next to other libraries.

    python -m tests.benchmarks.accuracy [DRAWS [NAME]]

`NAME` is a part of the names of the questions to ask, which are in `questions.py`.

Every library gets the same rows, bounds and epsilon. A row is the privacy unit and is added or
removed, or changed where the name of the question says so. dpcli answers in whole releases: one for
as many groups of equal rows as there are draws, or as many releases where groups would change what
it does. Libraries that are not installed are left out: `pip install
opendp diffprivlib "scikit-learn<1.6" python-dp pipeline-dp`.

The figures are root mean square errors, mean errors in ranks for quantiles, or rows lost for
labels, and their ratio to the best.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import polars as pl

from dpcli import Ledger, load_spec, plan, release
from tests.benchmarks.other_libraries import LIBRARIES
from tests.benchmarks.questions import Draws, Question, questions


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


def main() -> None:
    """Print a line for each question."""
    warnings.filterwarnings("ignore")
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    for question in (one for one in questions() if wanted in one.name):
        errors = {"dpcli": question.judge(dpcli_draws(question, draws))}
        for library in LIBRARIES:
            if (answer := library(question).answer) is not None:
                errors[library.name] = question.judge(
                    [answer(question.table) for _ in range(draws)]
                )
        best = min(errors.values()) or 1
        figures = (f"{name} {error:.4g} ({error / best:.2f})" for name, error in errors.items())
        print(f"{question.name:28}", "  ".join(figures), flush=True)


if __name__ == "__main__":
    main()

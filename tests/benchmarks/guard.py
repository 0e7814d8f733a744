"""The check that no figure of speed or memory gets worse: `python -m` this [--full] [NAME ...].

Each case is a command and a fixed program in polars or Python. Both run in turn as whole processes,
and the ratios of their processor times and of their peak memory are compared with `guard.toml`. One
that is more than `TOLERANCE` times as large fails, and the exit status is 1. A name begins the
names of cases that run alone. `--full` takes larger files and more shapes of files, and about
fifteen minutes.

If a change makes a figure better, write the new one into `guard.toml` with that change. A worse one
needs a commit of its own that says why. This process imports no numpy or polars: the peak memory of
a process that it starts is at least its own.
"""

from __future__ import annotations

import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.benchmarks import cells
from tests.benchmarks.timing import Run, run
from tests.benchmarks.workloads import PEOPLE, SHAPES, TOTALS, WORKLOADS, Workload

ROOT = Path(__file__).parents[2]
FIGURES = Path(__file__).with_name("guard.toml")

TOLERANCE = 1.25
"""How many times its figure a ratio may be: more than noise on a shared machine explains."""

CLEAR = 1.1
"""A case is not measured further if its ratios are at most this many times their figures.

They are looked at after a third of a try: one pair of long runs, or three pairs of short ones. The
ratio of one pair varies by up to a tenth where other programs share the cores. Even then, a command
that is 1.4 times its figure passes by its first pair in about 2 of 100 cases.
"""

TRIES = 3
"""How often a case is measured before it fails. All its runs together decide."""

TEXT = "import typer, pydantic, yaml"
ENGINE = f"{TEXT}, polars"
"""Programs that import what a command cannot do without."""

CELLS = """
import polars as pl
names = [f"{number:04}" for number in range(ISQRT)]
keys = pl.LazyFrame({"a": ["a" + name for name in names]}).join(
    pl.LazyFrame({"b": ["b" + name for name in names]}), how="cross")
sums = pl.scan_csv(PATH).group_by("a", "b").agg(pl.len(), pl.col("x").clip(0, 100).sum())
keys.join(sums, on=["a", "b"], how="left").sink_csv("/dev/null")
"""

SERIES_DAY = """
import pathlib, shutil, sys, tempfile
from dpcli.cli.main import run
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(shutil.copytree(FOLDER, name, dirs_exist_ok=True))
    words = ["--period", "2026-02-20", "--any-period", "--release-id", "last", "-q"]
    files = [str(folder / "spec.yaml"), str(folder / "last.csv"), "-o", str(folder / "o.csv")]
    sys.argv = ["dpcli", "release", *files, *words]
    sys.exit(run())
"""

SURPLUS_CELLS = """
with open(DATA, "rb") as lines, open(BROKEN, "wb") as file:
    for number, line in enumerate(lines):
        file.write(line.replace(b"\\n", b",x\\n") if number % 10 == 5 else line)
"""

RELEASES = 400
"""What the ledger of the last case holds: a year of nightly releases."""


ENTRIES = 1000
"""Columns, and statistics, of the longest spec."""

SURPLUS = 1_000_000
"""Rows of the file with surplus cells: enough that the time is that of reading."""

QUANTILES = 49
"""Quantiles in each group: enough that their intervals take most of the time."""


@dataclass(frozen=True, slots=True)
class Size:
    """The rows of each workload, the groups with means and with counts, and the rows of shapes."""

    rows: Mapping[str, int]
    means: int
    counts: int
    shapes: Mapping[str, int] = field(default_factory=dict)


SIZES = {
    "small": Size(
        {
            "totals": 2_000_000,
            "groups": 2_000_000,
            "people": 5_000_000,
            "values of people": 5_000_000,
            "quartiles": 2_000_000,
        },
        means=100_000,
        counts=300_000,
    ),
    "full": Size(
        {
            "totals": 10_000_000,
            "groups": 10_000_000,
            "people": 10_000_000,
            "people, two sums": 5_000_000,
            "values of people": 10_000_000,
            "quartiles": 10_000_000,
        },
        means=1_000_000,
        counts=1_000_000,
        shapes={"totals": 5_000_000, "groups": 5_000_000, "people": 5_000_000},
    ),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A command, the program that it is compared with, and how often both run in a try."""

    command: Sequence[str]
    base: Sequence[str]
    rounds: int = 3


@dataclass(frozen=True, slots=True)
class Ratios:
    """Processor time and peak memory of a command, in multiples of those of its program."""

    processor: float
    memory: float

    @classmethod
    def of(cls, pairs: Sequence[tuple[Run, Run]]) -> Ratios:
        """The medians over pairs of runs."""
        return cls(
            median(command.cpu / base.cpu for command, base in pairs),
            median(command.megabytes / base.megabytes for command, base in pairs),
        )

    def exceed(self, figures: Ratios, times: float = TOLERANCE) -> bool:
        """Whether one of both is more than this number of times its figure."""
        return self.processor > times * figures.processor or self.memory > times * figures.memory


def read_figures(size: str, path: Path = FIGURES) -> dict[str, Ratios]:
    """The figures of all cases of a size, by name."""
    return {
        name: Ratios(table["processor"], table["memory"])
        for name, table in tomllib.loads(path.read_text(encoding="utf-8"))[size].items()
    }


def measure(case: Case, figures: Ratios) -> Ratios:
    """The ratios of all runs: of one try where they hold, and of up to `TRIES` where not.

    No more runs are made once their ratios are clearly within the tolerance.
    """
    run(case.command)  # Python compiles modules, and the system reads files, only once.
    run(case.base)
    pairs: list[tuple[Run, Run]] = []
    for _ in range(TRIES):
        for _ in range(case.rounds):
            pairs.append((run(case.command), run(case.base)))
            ratios = Ratios.of(pairs)
            if len(pairs) >= case.rounds // 3 and not ratios.exceed(figures, CLEAR):
                return ratios
        if not ratios.exceed(figures):
            break
    return ratios


def all_cases(folder: Path, size: Size) -> Iterator[tuple[str, Case]]:
    """The cases by name. The files of each are made when it is asked for."""
    yield from start_cases(folder)
    yield from quantile_cases(folder)
    yield from cell_cases(folder, size)
    yield from surplus_cases(folder)
    wanted = [(name, "usual", rows) for name, rows in size.rows.items()]
    wanted += [
        (name, shape, rows)
        for shape in SHAPES
        for name, rows in size.shapes.items()
        if shape != "usual"
    ]
    for number, (name, shape, rows) in enumerate(wanted):
        data = folder / f"{shape}-{rows}{SHAPES[shape].suffix}"
        if not data.exists():
            make = [sys.executable, "-m", "tests.benchmarks.workloads", str(data), str(rows), shape]
            run(make)
        # A ledger of its own, next to the spec.
        (place := folder / str(number)).mkdir()
        commands = WORKLOADS[name].commands(place / "spec.yaml", data, SHAPES[shape])
        yield name if shape == "usual" else f"{name}, {shape}", Case(*commands)


def start_cases(folder: Path) -> Iterator[tuple[str, Case]]:
    """Commands on small files, whose time is that of imports and of texts."""
    base = python(ENGINE)
    yield "--version", Case(dpcli("--version"), python("pass"), rounds=9)
    town = (ROOT / "specs" / "town.yaml").read_text(encoding="utf-8")
    people = ROOT / "sample_data" / "people.csv"
    spec, small = folder / "town.yaml", folder / "small.csv"
    # A budget for every run.
    town = town.replace("budget: {epsilon: 12}", "budget: {epsilon: 1000}")
    spec.write_text(town, encoding="utf-8")
    yield "plan", Case(dpcli("plan", spec), python(TEXT), rounds=7)
    yield "first release", Case(dpcli("release", spec, people), base, rounds=5)
    long = folder / "long.yaml"
    long.write_text(long_spec(ENTRIES), encoding="utf-8")
    yield f"check of {ENTRIES:,}", Case(dpcli("check", long), python(TEXT))
    # A thousand rows pass the quality check.
    town, stated = re.subn(r"min_people: \d+", "min_people: 100", town)
    assert stated == 1
    spec.write_text(town, encoding="utf-8")
    small.write_text("".join(people.read_text("utf-8").splitlines(True)[:1001]), encoding="utf-8")
    yield "1,000 rows", Case(dpcli("release", spec, small), base, rounds=5)
    year = folder / "year"
    run([sys.executable, "-m", "tests.benchmarks.ledger", str(RELEASES), str(year)])
    release = dpcli("release", year / "spec.yaml", people)
    yield f"after {RELEASES} releases", Case(release, base)
    series = folder / "series"
    run([sys.executable, "-m", "tests.benchmarks.series", "days", str(series)])
    yield "day of a series", Case(python(SERIES_DAY.replace("FOLDER", repr(str(series)))), base)


def quantile_cases(folder: Path) -> Iterator[tuple[str, Case]]:
    """Many quantiles in groups of few rows, whose time is that of their intervals."""
    spec, data, table = (folder / f"quantiles.{end}" for end in ("yaml", "csv", "table.csv"))
    spec.write_text(quantile_spec(QUANTILES), encoding="utf-8")
    rows = (f"g{row % 20:02},{37 * row % 10_000}\n" for row in range(600))
    data.write_text("".join(["group,x\n", *rows]), encoding="utf-8")
    release = dpcli("release", spec, data, "-o", table, "--force")
    yield f"{QUANTILES} quantiles", Case(release, python(ENGINE), rounds=1)


def quantile_spec(count: int) -> str:
    """A spec of this number of quantiles, of 10,000 candidates in each of 20 groups."""
    groups = ", ".join(f"g{group:02}" for group in range(20))
    quantiles = ", ".join(f"{number / (count + 1):.4f}" for number in range(1, count + 1))
    return f"""
dpcli: 1
dataset: quantiles
quality: none
privacy: {{unit: row, neighbors: add-remove, budget: {{epsilon: 1000}}}}
columns:
  group: {{type: category, values: [{groups}]}}
  x: {{type: integer, bounds: [0, 9999]}}
statistics:
  - {{name: q, statistic: quantile, column: x, by: [group], quantiles: [{quantiles}], epsilon: 1}}
"""


def long_spec(entries: int) -> str:
    """A spec with this number of columns, and a mean of each."""
    lines = [
        "dpcli: 1", "dataset: long", "quality: none",
        "privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1000}}", "columns:",
    ]  # fmt: skip
    lines += [f"  c{n}: {{type: integer, bounds: [0, 100], na: [x]}}" for n in range(entries)]
    lines += ["statistics:"]
    entry = "{{name: s{0}, statistic: mean, column: c{0}, epsilon: 0.5}}"
    return "\n".join([*lines, *(f"  - {entry.format(n)}" for n in range(entries))]) + "\n"


def cell_cases(folder: Path, size: Size) -> Iterator[tuple[str, Case]]:
    """Releases with very many groups."""
    data = folder / "cells.csv"
    cells.make_file(data, cells.ROWS)
    for groups, name, statistic in (
        (size.means, "means", cells.MEAN),
        (size.counts, "counts", cells.COUNT),
    ):
        spec, table = folder / f"{name}.yaml", folder / f"{name}.csv"
        spec.write_text(cells.spec(groups, (statistic,)), encoding="utf-8")
        query = CELLS.replace("ISQRT", str(int(groups**0.5))).replace("PATH", repr(str(data)))
        yield (
            f"{groups:,} {name}",
            Case(dpcli("release", spec, data, "-o", table, "--force"), python(query)),
        )


def surplus_cases(folder: Path) -> Iterator[tuple[str, Case]]:
    """A file of which one record in ten has a surplus cell, compared with one without."""
    data, broken = folder / "fit.csv", folder / "broken.csv"
    run([sys.executable, "-m", "tests.benchmarks.workloads", str(data), str(SURPLUS), "usual"])
    run(python(SURPLUS_CELLS.replace("DATA", repr(str(data))).replace("BROKEN", repr(str(broken)))))
    for unit, name in ("row", "rows"), (PEOPLE, "people"):
        workload = Workload(unit, TOTALS, "")
        (place := folder / f"surplus of {name}").mkdir()
        release, _ = workload.commands(place / "spec.yaml", broken)
        base = [str(data) if word == str(broken) else word for word in release]
        yield f"surplus cells, {name}", Case(release, base, rounds=5)


def python(text: str) -> list[str]:
    """A program of Python."""
    return [sys.executable, "-c", text]


def dpcli(*words: str | Path) -> list[str]:
    """The command as a user types it."""
    return [str(Path(sys.executable).with_name("dpcli")), *map(str, words)]


def main(arguments: Sequence[str]) -> int:
    """Measure the cases, print a line for each, and return 1 if one fails."""
    size = "full" if "--full" in arguments else "small"
    wanted = tuple(word for word in arguments if word != "--full")
    figures, failed, measured = read_figures(size), [], 0
    print(f"{'':24}{'processor':>10}{'figure':>8}{'memory':>10}{'figure':>8}")
    with tempfile.TemporaryDirectory(prefix="dpcli-") as name:
        for case_name, case in all_cases(Path(name), SIZES[size]):
            if wanted and not case_name.startswith(wanted):
                continue
            figure = figures[case_name]
            found, measured = measure(case, figure), measured + 1
            verdict = "  worse" if found.exceed(figure) else ""
            line = f"{found.processor:10.2f}{figure.processor:8.2f}"
            line += f"{found.memory:10.2f}{figure.memory:8.2f}{verdict}"
            print(f"{case_name:24}{line}", flush=True)
            failed += [case_name] if verdict else []
    if failed:
        print(f"Worse than {TOLERANCE} times their figures: {'; '.join(failed)}.")
    else:
        print(f"All ratios of {measured} cases are at most {TOLERANCE} times their figures.")
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

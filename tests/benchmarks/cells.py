"""Seconds and memory of releases with very many published numbers.

`python -m tests.benchmarks.cells [SHARE]`: 100,000 groups with two statistics, the table alone and
with reports; a million counts with either noise; means and top categories of 100,000 groups. SHARE
below one makes all of them smaller.
"""

from __future__ import annotations

import random
import sys
import tempfile
from math import isqrt
from pathlib import Path

from tests.benchmarks.timing import in_turn, show

ROWS = 300_000

TABLE = ("-o", "t.csv")
EVERYTHING = ("-o", "t.parquet", "--report", "r.json", "--report", "r.html")

COUNT = "{name: n, statistic: count, by: [a, b], epsilon: 0.1}"
SUM = "{name: s, statistic: sum, column: x, by: [a, b], epsilon: 0.1}"
GAUSSIAN = "{name: n, statistic: count, by: [a, b], mechanism: gaussian, epsilon: 1, delta: 1e-7}"
MEAN = "{name: m, statistic: mean, column: x, by: [a, b], epsilon: 0.1}"
TOP = "{name: t, statistic: top_k, k: 2, column: y, by: [a, b], epsilon: 0.1}"

CASES = {
    "100,000 x 2, table": (100_000, (COUNT, SUM), TABLE),
    "100,000 x 2, reports": (100_000, (COUNT, SUM), EVERYTHING),
    "1,000,000 counts": (1_000_000, (COUNT,), TABLE),
    "1,000,000 Gaussian": (1_000_000, (GAUSSIAN,), TABLE),
    "100,000 means": (100_000, (MEAN,), TABLE),
    "100,000 x 2 choices": (100_000, (TOP,), TABLE),
}


def spec(groups: int, statistics: tuple[str, ...]) -> str:
    """A spec with about this number of groups of two keys."""
    labels = [f"{number:04}" for number in range(isqrt(groups))]
    return f"""\
dpcli: 1
dataset: cells
privacy: {{unit: row, neighbors: add-remove, budget: {{epsilon: 1000, delta: 1e-3}}}}
columns:
  a: {{type: category, values: [{", ".join(f"a{label}" for label in labels)}]}}
  b: {{type: category, values: [{", ".join(f"b{label}" for label in labels)}]}}
  x: {{type: integer, bounds: [0, 100]}}
  y: {{type: category, values: [red, green, blue, white]}}
statistics:
""" + "".join(f"  - {one}\n" for one in statistics)


def make_file(path: Path, rows: int) -> None:
    """Rows of two keys, a number and a color."""
    draw = random.Random(1)
    colors = ("red", "green", "blue", "white")
    with path.open("w", encoding="utf-8") as file:
        file.write("a,b,x,y\n")
        for _ in range(rows):
            a, b = (f"{draw.randrange(316):04}" for _ in range(2))
            file.write(f"a{a},b{b},{draw.randrange(101)},{draw.choice(colors)}\n")


def main() -> None:
    """Make the data, and time every case in turn."""
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    with tempfile.TemporaryDirectory() as name:
        folder, commands = Path(name), {}
        make_file(folder / "d.csv", int(ROWS * share))
        for number, (case, (groups, statistics, outputs)) in enumerate(CASES.items()):
            path = folder / f"{number}.yaml"
            path.write_text(spec(int(groups * share), statistics), encoding="utf-8")
            where = [word if word.startswith("-") else str(folder / word) for word in outputs]
            call = [sys.executable, "-m", "dpcli", "release", str(path), str(folder / "d.csv")]
            commands[case] = [*call, *where, "--force", "-q"]
        show(in_turn(commands, rounds=3), base=next(iter(commands)))


if __name__ == "__main__":
    main()

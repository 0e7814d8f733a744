"""Releases in fresh processes that stand still: none may.

`python tests/benchmarks/standstill.py [RUNS] [FOLDER]` makes 300 releases, or RUNS, of plain,
quoted, odd and Parquet files, with a row and with a user as the unit, and 1, 2 and 32 threads of
polars in turn. A release stands still if it uses no processor time for
some seconds. To find out which, they are left as they are, and their numbers are printed.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

THREADS = (1, 2, 32)

PATIENCE = 20.0
"""Seconds without any processor time after which a process stands still."""

PROGRAM = """
import sys
from dpcli.engine import bounding
bounding.WAITING, bounding.SHARD = 20_000, 1 << 20
from dpcli.cli.main import main
main()
"""
"""A release in which small files have many shards, each of which is compacted often."""

SPEC = """
dpcli: 1
dataset: standstill
privacy: {unit: UNIT, neighbors: add-remove, budget: {epsilon: 1000}}
columns:
  who: {type: id}
  amount: {type: number, bounds: [0, 1000], step: 0.01}
  place: {type: category, values: [a, b, c]}
statistics:
  - {name: people, statistic: count, epsilon: 1}
  - {name: total, statistic: sum, column: amount, epsilon: 1}
  - {name: places, statistic: count, by: [place], epsilon: 1}
  - {name: middle, statistic: median, column: amount, epsilon: 1}
"""

UNITS = {"row": "row", "user": "{column: who, max_rows: 3, max_groups: 2}"}


def make_files(folder: Path, rows: int = 100_000) -> list[Path]:
    """The same table as a plain, a quoted, an odd and a Parquet file."""
    generator = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "who": generator.integers(0, rows // 4, rows),
            "amount": generator.integers(0, 100_000, rows) / 100,
            "place": pl.Series(["a", "b", "c", "d"])[generator.integers(0, 4, rows)],
        }
    )
    paths = [folder / name for name in ("plain.csv", "quoted.csv", "odd.csv", "table.parquet")]
    table.write_csv(paths[0])
    table.write_csv(paths[1], quote_style="always")
    odd = paths[0].read_bytes()
    paths[2].write_bytes(odd + b'1, 1e2 ,a\n2,5" pipe,b\n\n' + odd.partition(b"\n")[2])
    table.write_parquet(paths[3])
    return paths


def stands_still(process: subprocess.Popen[bytes]) -> bool:
    """Wait for the end of a process; true if it uses no processor time any more instead."""
    since, before = time.monotonic(), 0
    while True:
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            fields = Path(f"/proc/{process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
            used = int(fields[11]) + int(fields[12])
            if used > before:
                since, before = time.monotonic(), used
            elif time.monotonic() - since > PATIENCE:
                return True
        else:
            if process.returncode:
                raise SystemExit(f"a release failed with status {process.returncode}")
            return False


def main(runs: int, folder: Path) -> None:
    """Run the releases, and count."""
    paths = make_files(folder)
    for unit, text in UNITS.items():
        (folder / f"{unit}.yaml").write_text(SPEC.replace("UNIT", text), encoding="utf-8")
    still: list[int] = []
    cases = itertools.islice(itertools.cycle(itertools.product(UNITS, paths, THREADS)), runs)
    for number, (unit, path, threads) in enumerate(cases, start=1):
        words = ["release", str(folder / f"{unit}.yaml"), str(path)]
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "POLARS_MAX_THREADS": str(threads)},
        )
        if stands_still(process):
            still.append(process.pid)
            print(f"process {process.pid} stands still: {unit}, {path.name}, {threads} threads")
        else:
            for file in folder.glob("dpcli-ledger.sqlite*"):
                file.unlink()
        if number % 100 == 0 or number == runs:
            print(f"{number} releases, {len(still)} of which stand still", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="dpcli-") as temporary:
        main(
            int(sys.argv[1]) if len(sys.argv) > 1 else 300,
            Path(sys.argv[2] if len(sys.argv) > 2 else temporary),
        )

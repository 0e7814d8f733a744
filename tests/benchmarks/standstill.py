"""Counts aggregations in new processes that stop making progress; none may.

    python tests/benchmarks/standstill.py [PROCESSES] [FOLDER]

runs 300 processes, or the number given, with 1, 2 and 32 threads of polars in turn. Each
reads small plain, quoted, odd and Parquet files ten times, with a row and with a user as the unit.
Processes that use no processor time for a minute stand still: they are left as they are, so that
they can be looked at, their numbers are printed, and the status is 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

THREADS, REPEATS, ROWS = (1, 2, 32), 10, 10_000

PATIENCE = 60.0
"""Seconds without any processor time after which a process stands still."""

PROGRAM = f"""
import sys
from pathlib import Path
from dpcli.engine.files import pieces
from dpcli.engine.sums import bounding
from dpcli.planning.planner import make_plan
from dpcli.releasing.steps import aggregate_data
from dpcli.specification.load import read_spec_file
bounding.WAITING, bounding.SHARD = 50_000, 1 << 16
pieces.PIECE, pieces.SEGMENT = 1 << 16, 3_000
row, user, *paths = sys.argv[1:]
plans = [make_plan(read_spec_file(Path(spec))) for spec in (row, user)]
for _ in range({REPEATS}):
    for path in paths:
        for plan in plans:
            aggregate_data(plan, (path,))
"""
"""Small files have many shards, which are compacted often."""

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

UNITS = ("row", "{column: who, max_rows: 3, max_groups: 2}")


def make_files(folder: Path) -> list[str]:
    """The specs, and one table as a plain, a quoted, an odd and a Parquet file."""
    generator = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "who": generator.integers(0, ROWS // 4, ROWS),
            "amount": generator.integers(0, 100_000, ROWS) / 100,
            "place": pl.Series(["a", "b", "c", "d"])[generator.integers(0, 4, ROWS)],
        }
    )
    names = ("row.yaml", "user.yaml", "plain.csv", "quoted.csv", "odd.csv", "table.parquet")
    row, user, plain, quoted, odd, parquet = (folder / name for name in names)
    for spec, unit in zip((row, user), UNITS, strict=True):
        spec.write_text(SPEC.replace("UNIT", unit), encoding="utf-8")
    table.write_csv(plain)
    table.write_csv(quoted, quote_style="always")
    text = plain.read_bytes()
    odd.write_bytes(text + b'1, 1e2 ,a\n2,5" pipe,b\n\n' + text.partition(b"\n")[2])
    table.write_parquet(parquet)
    return [str(folder / name) for name in names]


def stands_still(process: subprocess.Popen[bytes]) -> bool:
    """Wait until a process ends (false) or stops using processor time (true)."""
    since, before = time.monotonic(), 0
    while process.poll() is None:
        time.sleep(0.05)
        fields = Path(f"/proc/{process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        used = int(fields[11]) + int(fields[12])
        if used > before:
            since, before = time.monotonic(), used
        elif time.monotonic() - since > PATIENCE:
            return True
    if process.returncode:
        raise SystemExit(f"a process failed with status {process.returncode}")
    return False


def main(processes: int, folder: Path) -> int:
    """Run the processes, and count those that stand still."""
    command, still = [sys.executable, "-c", PROGRAM, *make_files(folder)], 0
    for number in range(processes):
        threads = str(THREADS[number % len(THREADS)])
        environment = {**os.environ, "POLARS_MAX_THREADS": threads}
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
        if stands_still(process):
            still += 1
            print(f"process {process.pid} stands still, with {threads} threads", flush=True)
        if (number + 1) % 10 == 0 or number + 1 == processes:
            runs = (number + 1) * REPEATS * 2 * 4
            print(f"{number + 1} processes, {runs} aggregations, {still} stand still", flush=True)
    return min(still, 1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="dpcli-") as temporary:
        folder = Path(sys.argv[2] if len(sys.argv) > 2 else temporary)
        raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 300, folder))

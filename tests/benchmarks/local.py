"""Times the randomization of ten million records, and a count of them with polars.

    python tests/benchmarks/local.py [ROWS]

Whole processes, alternating; prints seconds and ratios, asserts nothing.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

SPEC = """\
dpcli: 1
model: local
dataset: d
privacy: {{unit: row, neighbors: change-one, budget: {{epsilon: 1000, delta: 1e-5}}}}
columns:
  b: {{type: boolean, values: ["no", "yes"], missing: false}}
  c: {{type: category, values: [u, v, w, x, y, z], missing: u}}
  n: {{type: integer, bounds: [0, 100], missing: 0}}
responses: [{}]
"""

RESPONSES = {
    "two coins": "{column: b, mechanism: randomized_response, probability: 3/4}",
    "direct": "{column: c, mechanism: generalized_randomized_response, epsilon: 1}",
    "unary": "{column: c, mechanism: unary_encoding, epsilon: 1}",
    "laplace": "{column: n, mechanism: laplace, epsilon: 1}",
}

COUNTING = (
    "import polars as pl, sys;"
    "print(pl.scan_csv(sys.argv[1]).group_by('b').len().collect(engine='streaming'))"
)


def seconds(*command: str) -> float:
    """How long a whole process takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Print a line for each mechanism."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    draw = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "d.csv"
        pl.DataFrame(
            {
                "b": np.array(["no", "yes"])[draw.integers(0, 2, rows)],
                "c": np.array(list("uvwxyz"))[draw.integers(0, 6, rows)],
                "n": draw.integers(0, 101, rows),
            }
        ).write_csv(data)
        print(f"{rows:,} records, {data.stat().st_size / 1e6:.0f} MB")
        for kind, response in RESPONSES.items():
            spec = folder / "s.yaml"
            spec.write_text(SPEC.format(response), encoding="utf-8")
            command = [sys.executable, "-m", "dpcli", "local", "randomize", str(spec), str(data)]
            out = folder / "o.csv"
            mine, theirs = [], []
            for _ in range(5):
                mine.append(seconds(*command, "-o", str(out), "--force", "-q"))
                theirs.append(seconds(sys.executable, "-c", COUNTING, str(data)))
            ratios = [one / other for one, other in zip(mine, theirs, strict=True)]
            print(
                f"{kind:10} {statistics.median(mine):.2f} s ({min(mine):.2f} to {max(mine):.2f}), "
                f"{statistics.median(ratios):.2f} times counting with polars"
            )


if __name__ == "__main__":
    main()

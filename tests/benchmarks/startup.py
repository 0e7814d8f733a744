"""Start-up in multiples of an empty Python program, as whole processes."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.benchmarks.timing import in_turn, show

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Run each command in turn and print the ratios."""
    data = Path(tempfile.gettempdir()) / "dpcli-benchmark-1000.csv"
    lines = (ROOT / "sample_data" / "people.csv").read_text(encoding="utf-8").splitlines(True)
    data.write_text("".join(lines[:1001]), encoding="utf-8")
    spec = str(ROOT / "specs" / "town.yaml")
    dpcli = str(Path(sys.executable).with_name("dpcli"))
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "dpcli --version": [dpcli, "--version"],
        "dpcli plan": [dpcli, "plan", spec],
        "dpcli release": [dpcli, "release", spec, str(data)],
        "python, import polars": [sys.executable, "-c", "import polars"],
    }
    show(in_turn(commands, rounds=15), base="python -c pass")


if __name__ == "__main__":
    main()

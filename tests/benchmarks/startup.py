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
    with tempfile.TemporaryDirectory() as name:
        data, spec = Path(name) / "data.csv", Path(name) / "spec.yaml"
        text = (ROOT / "sample_data" / "people.csv").read_text(encoding="utf-8")
        data.write_text("".join(text.splitlines(keepends=True)[:1001]), encoding="utf-8")
        town = (ROOT / "specs" / "town.yaml").read_text(encoding="utf-8")
        # A budget for every run that is timed, and a check that a thousand rows pass.
        town = town.replace("budget: {epsilon: 12}", "budget: {epsilon: 1000}")
        spec.write_text(town.replace("min_rows: 2000", "min_rows: 200"), encoding="utf-8")
        dpcli = str(Path(sys.executable).with_name("dpcli"))
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "dpcli --version": [dpcli, "--version"],
            "dpcli plan": [dpcli, "plan", str(spec)],
            "dpcli release": [dpcli, "release", str(spec), str(data)],
            "python, import polars": [sys.executable, "-c", "import polars"],
        }
        show(in_turn(commands, rounds=15), base="python -c pass")


if __name__ == "__main__":
    main()

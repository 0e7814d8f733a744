"""The time of a release on a ledger with ten years of nightly releases, and on a new one.

`python -m tests.benchmarks.ledger [RELEASES]` prints the process times of a release and of
`ledger verify` on a new ledger and on one with that number of releases. With a folder as a second
word, it only makes the spec and the ledger there.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from dpcli.ledger.charge import Charge, NoisyRelease, Receipt, charge_for
from dpcli.ledger.ledger import OpenLedger, create_ledger
from dpcli.planning.planner import make_plan
from dpcli.planning.results import NoisyNumbers
from dpcli.releasing.steps import aggregate_data
from dpcli.report.formats import LONG, render_outputs
from dpcli.report.report import release_report
from dpcli.specification.load import read_central_spec
from tests.benchmarks.timing import in_turn, show
from tests.support.estimates import estimates_of

ROOT = Path(__file__).parents[2]


DATA = ROOT / "sample_data" / "people.csv"
TOWN = ROOT / "specs" / "town.yaml"


def main() -> None:
    """Fill a ledger, then time both in turn."""
    releases = int(sys.argv[1]) if len(sys.argv) > 1 else 3650
    if len(sys.argv) > 2:
        make_account(Path(sys.argv[2]), releases)
        return
    with tempfile.TemporaryDirectory() as name:
        commands = {}
        for filled in (0, releases):
            spec = make_account(Path(name) / str(filled), filled)
            ledger = spec.with_name("dpcli-ledger.sqlite")
            dpcli = [sys.executable, "-m", "dpcli"]
            commands[f"release, {filled} before"] = [*dpcli, "release", str(spec), str(DATA)]
            commands[f"verify, {filled} before"] = [
                *dpcli, "ledger", "verify", "--ledger", str(ledger),
            ]  # fmt: skip
            print(f"{filled} releases: {ledger.stat().st_size / 1e6:.1f} MB")
        show(in_turn(commands, rounds=7), base="release, 0 before")


def make_account(folder: Path, releases: int) -> Path:
    """A spec in a new folder, with a ledger that has a number of its releases."""
    folder.mkdir()
    lines = [
        "  budget: {epsilon: 1000, delta: 0.9}" if line.lstrip().startswith("budget:") else line
        for line in TOWN.read_text("utf-8").replace("epsilon: 0.", "epsilon: 0.0").splitlines()
        if not line.startswith("quality:")
    ]
    spec = folder / "spec.yaml"
    spec.write_text("\n".join(lines) + "\n", encoding="utf-8")
    fill(create_ledger(folder / "dpcli-ledger.sqlite"), spec, DATA, releases)
    return spec


def fill(book: OpenLedger, spec: Path, data: Path, releases: int) -> None:
    """Charge for a number of releases of the same answers, without syncing each."""
    plan = make_plan(read_central_spec(spec))
    exact = aggregate_data(plan, (str(data),))
    numbers = NoisyNumbers(plan, estimates_of(plan, exact), None)
    book.connection.execute("PRAGMA synchronous = OFF")
    for number in range(releases):
        charge = charge_for(plan, f"night-{number}")

        def outputs(receipt: Receipt, charge: Charge = charge) -> dict[str, bytes]:
            made = NoisyRelease(numbers, charge.release_id, charge.created, receipt)
            return render_outputs(release_report(made), [LONG])

        book.commit(charge, outputs)
    book.close()


if __name__ == "__main__":
    main()

"""The command line in this process, with noise that tests can freeze."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dpcli.noise import entropy
from tests.support.priorities import freeze_priorities
from tests.support.streams import Stream

ROOT = Path(__file__).parents[2]
SPECS = sorted(
    path for path in (ROOT / "specs").glob("*.yaml") if not path.name.startswith("local-")
)
LOCAL = ROOT / "specs" / "local-survey.yaml"
PEOPLE = ROOT / "sample_data" / "people.csv"


def sample_of(spec: Path) -> Path:
    """The sample file that the comment of a spec names."""
    text = spec.read_text(encoding="utf-8")
    (name,) = set(re.findall(r"sample_data/(\w+\.csv)", text)) or {PEOPLE.name}
    return PEOPLE.with_name(name)


def copied_spec(spec: Path, folder: Path) -> Path:
    """A copy of a spec of `specs/`, next to copies of the public files there."""
    for file in spec.parent.glob("*.csv"):
        shutil.copy(file, folder)
    return Path(shutil.copy(spec, folder))


SPEC = """\
dpcli: 1
dataset: town
privacy:
  unit: row
  neighbors: NEIGHBORS
  budget: {epsilon: 10, delta: 1e-5}
quality: none
columns:
  age:    {type: integer, bounds: [0, 100]}
  income: {type: number, bounds: [-1000, 5000], step: 0.5}
  sex:    {type: category, values: {f: female, m: male}}
  since:  {type: date, bounds: [2020-01-01, 2020-12-31]}
statistics:
  - {name: people, statistic: count, epsilon: 1}
  - {name: by_sex, statistic: count, by: [sex], epsilon: 1}
  - {name: total, statistic: sum, column: income, by: [sex], epsilon: 1}
  - {name: average, statistic: mean, column: income, epsilon: 1}
  - {name: ages, statistic: histogram, column: age, bins: {width: 25}, epsilon: 1}
  - {name: new, statistic: count, where: {since: {min: 2020-06-01}}, mechanism: gaussian,
     epsilon: 1, delta: 1e-6}
"""

DATA = """\
age,income,sex,since,note
30,1000.5,f,2020-03-01,plain
41,-20,m,2020-07-09,"a, b"
77,4999.75,f,2020-12-31,
25,120,m,2020-01-01,x
"""


@dataclass(frozen=True)
class Outcome:
    """The status and the output of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What the command printed with `--json`."""
        return json.loads(self.out)

    def succeeded(self) -> Outcome:
        """The same outcome, whose status must be zero."""
        assert self.status == 0, self.err
        return self


Command = Callable[..., Outcome]


@pytest.fixture
def dpcli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run a command line in this process."""

    def command(*words: str | Path) -> Outcome:
        from dpcli.cli.main import run

        monkeypatch.setattr(sys, "argv", ["dpcli", *map(str, words)])
        status = run()
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return Outcome(status, out, err)

    return command


def remove_ledger(folder: Path) -> None:
    """Remove the ledger of a folder, which only tests may do."""
    for path in folder.glob("dpcli-ledger.sqlite*"):
        path.unlink()


@pytest.fixture(autouse=True)
def remove_ledger_of_samples() -> Iterator[None]:
    """Keep the folder of the sample specs free of ledgers."""
    yield
    remove_ledger(ROOT / "specs")


@pytest.fixture
def freeze(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], None]:
    """Start the same noise, the same time and a new ledger, each time it is called."""

    def again() -> None:
        remove_ledger(tmp_path)
        monkeypatch.setattr(entropy, "source", Stream("frozen"))
        freeze_priorities(monkeypatch)
        monkeypatch.setattr("dpcli.ledger.charge.now", lambda: "2026-01-01T00:00:00Z")

    return again


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec with several statistics, under add-remove."""
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC.replace("NEIGHBORS", "add-remove"), encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A small valid file for the spec."""
    path = tmp_path / "data.csv"
    path.write_text(DATA, encoding="utf-8")
    return path


def digits(text: str) -> Any:
    """JSON with the digits of each number in place of a float, to be compared exactly."""
    return json.loads(text, parse_float=str, parse_int=str)


def history(dpcli: Command, folder: Path) -> list[tuple[str, str]]:
    """The names of the releases in a ledger, and their epsilons."""
    outcome = dpcli("ledger", "history", "--json", "--ledger", folder / "dpcli-ledger.sqlite")
    return [(entry["release_id"], entry["epsilon"]) for entry in digits(outcome.out)]


def written(folder: Path, spec: str, data: str = "") -> tuple[Path, Path]:
    """A spec and a data file with these texts."""
    paths = folder / "spec.yaml", folder / "data.csv"
    for path, text in zip(paths, (spec, data), strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    return paths


def table(source: Path | str) -> list[dict[str, str]]:
    """The lines of a CSV table, in a file or as printed."""
    text = source if isinstance(source, str) else source.read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def edit(path: Path, *changes: tuple[str, str], to: Path | None = None) -> Path:
    """Replace texts of a file, each of which must be in it, or write that `to` another one."""
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    to = to or path
    to.write_text(text, encoding="utf-8")
    return to


def reported(path: Path) -> dict[str, Any]:
    """A report as it was written."""
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report

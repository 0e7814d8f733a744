"""A ledger that version 0.2.0 wrote opens, verifies, re-prices equally and takes charges."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from tests.support.cli import Command, digits, reported
from tests.support.frozen import FROZEN, known_keys

LEDGERS = FROZEN / "ledgers"
OUTPUTS: dict[str, dict[str, str]] = reported(LEDGERS / "outputs.json")
REPORTS = {"report.json": "r.json", "report.md": "r.md", "report.html": "r.html"}


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the old ledger with its anchor, in the working directory."""
    monkeypatch.chdir(tmp_path)
    name = "old.sqlite"
    for file in (name, f"{name}.anchor"):
        shutil.copy(LEDGERS / file, tmp_path)
    monkeypatch.setenv("DPCLI_LEDGER", str(tmp_path / name))
    return tmp_path / name


def test_an_old_ledger_verifies(ledger: Path, dpcli: Command) -> None:
    """Every link, seal and stored output is intact."""
    done = dpcli("ledger", "verify").succeeded()
    assert "22 entries" in done.out + done.err


@pytest.mark.parametrize("command", ["show", "history"])
def test_an_old_ledger_gives_every_charge_the_same_loss(
    ledger: Path, dpcli: Command, command: str
) -> None:
    """Balances of every composition, and the cost of every release, are equal digit by digit.

    Early versions wrote numbers as texts.
    """
    done = dpcli("ledger", command, "--json")
    name = {"show": "balances.json", "history": "history.json"}[command]
    expected = digits((LEDGERS / name).read_text("utf-8"))
    found = digits(done.out)
    assert [known_keys(one, old) for one, old in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize("release", sorted(OUTPUTS))
def test_releases_of_an_old_ledger_are_exported_byte_for_byte(
    ledger: Path, dpcli: Command, release: str
) -> None:
    """Tables and reports come out as they were stored."""
    stored = OUTPUTS[release]
    words = [word for name in REPORTS.values() for word in ("--report", name)]
    table = ["-o", "t.csv"] if "table.csv" in stored else []
    dpcli("ledger", "export", release, *table, *words).succeeded()
    names = REPORTS | ({"table.csv": "t.csv"} if table else {})
    for output, file in names.items():
        assert hashlib.sha256(Path(file).read_bytes()).hexdigest() == stored[output], output


def test_an_old_ledger_takes_charges(ledger: Path, dpcli: Command) -> None:
    """A release from an old account is charged on top, and an old id costs nothing."""
    shutil.copy(FROZEN / "people.csv", "people.csv")
    shutil.copy(FROZEN / "minimal" / "spec.yaml", "spec.yaml")
    for release, spent in (("one", "0.2"), ("three", "0.3"), ("three", "0.3")):
        words = ("-o", f"{release}.csv", "--release-id", release, "--force", "-q")
        dpcli("release", "spec.yaml", "people.csv", *words).succeeded()
        accounts = digits(dpcli("ledger", "show", "--json").out)
        assert accounts[0]["spent_epsilon"] == spent
    assert dpcli("ledger", "verify").status == 0


def test_another_dataset_can_take_an_old_id(ledger: Path, dpcli: Command) -> None:
    """An entry of an old ledger keeps its name, and the new one is found by its dataset."""
    shutil.copy(FROZEN / "people.csv", "people.csv")
    text = (FROZEN / "minimal" / "spec.yaml").read_text("utf-8")
    (old,) = (line for line in text.splitlines() if line.startswith("dataset:"))
    Path("spec.yaml").write_text(text.replace(old, "dataset: another"), "utf-8")
    words = ("-o", "t.csv", "--release-id", "one", "-q")
    dpcli("release", "spec.yaml", "people.csv", *words).succeeded()
    named = [entry["dataset"] for entry in dpcli("ledger", "history", "--json").json
             if entry["release_id"] == "one"]  # fmt: skip
    assert len(named) == 2 and named[1] == "another"
    assert dpcli("ledger", "export", "one").status == 6
    for dataset, table in ((named[0], OUTPUTS["one"]["table.csv"]), ("another", None)):
        out = dpcli("ledger", "export", "one", "--dataset", dataset).succeeded().out
        assert table in {None, hashlib.sha256(out.encode()).hexdigest()}
    assert dpcli("ledger", "verify").status == 0

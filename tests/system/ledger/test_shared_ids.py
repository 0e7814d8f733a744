"""A release id belongs to a dataset: specs of several datasets share a ledger and their ids."""

from __future__ import annotations

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import DEFAULT
from dpcli.ledger.public import Ledger
from dpcli.problems.errors import LedgerError
from tests.support.cli import Command, data, dpcli, edit, spec
from tests.support.fork_server import fast_dpcli

__all__ = ["data", "dpcli", "spec"]

NIGHT = "2026-11-20"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a person."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def specs(spec: Path, folder: Path) -> list[Path]:
    """Specs of three datasets in one folder."""
    text = spec.read_text(encoding="utf-8")
    (name,) = (line for line in text.splitlines() if line.startswith("dataset:"))
    found = []
    for dataset in ("first", "second", "third"):
        found.append(folder / f"{dataset}.yaml")
        found[-1].write_text(text.replace(name, f"dataset: {dataset}"), encoding="utf-8")
    return found


def released(dpcli: Command, spec: Path, data: Path) -> Path:
    """The table of a release of this night."""
    table = spec.with_suffix(".csv")
    dpcli("release", spec, data, "-q", "-o", table, "--release-id", NIGHT).succeeded()
    return table


def test_each_dataset_has_its_own_ids(
    dpcli: Command, specs: list[Path], data: Path, folder: Path
) -> None:
    """Each release of a night is charged once to its dataset, and is published again by itself."""
    tables = [released(dpcli, spec, data) for spec in specs]
    before = [table.read_bytes() for table in tables]
    assert len(set(before)) == 3
    for table in tables:
        table.unlink()
    assert [released(dpcli, spec, data).read_bytes() for spec in specs] == before
    history = json.loads(dpcli("ledger", "history", "--json").succeeded().out)
    assert [(entry["dataset"], entry["release_id"]) for entry in history] == [
        ("first", NIGHT), ("second", NIGHT), ("third", NIGHT)
    ]  # fmt: skip
    assert [balance.spent.epsilon for balance in Ledger.open(Path(DEFAULT)).balances().values()]


def test_an_id_of_several_datasets_is_exported_by_dataset(
    dpcli: Command, specs: list[Path], data: Path
) -> None:
    """Without a dataset the export is refused, and the message names the datasets."""
    tables = [released(dpcli, spec, data) for spec in specs[:2]]
    refused = dpcli("ledger", "export", NIGHT)
    assert refused.status == 6 and "error[release-id-shared]" in refused.err
    assert "`first` and `second`" in refused.err and "--dataset first" in refused.err
    for table in tables:
        words = ("ledger", "export", NIGHT, "--dataset", table.stem)
        assert dpcli(*words).succeeded().out == table.read_text(encoding="utf-8")
    missing = dpcli("ledger", "export", NIGHT, "--dataset", "third")
    assert missing.status == 6 and "of the dataset `third`" in missing.err
    with Ledger.open(DEFAULT) as ledger:
        assert ledger.outputs(NIGHT, "second")["table.csv"] == tables[1].read_bytes()
        with pytest.raises(LedgerError, match="of each of the datasets"):
            ledger.outputs(NIGHT)


def test_a_real_conflict_names_dataset_and_spec(
    dpcli: Command, specs: list[Path], data: Path
) -> None:
    """Another spec of the same dataset is refused; the message leads to the spec of the release."""
    for path in specs[:2]:
        released(dpcli, path, data)
    edit(specs[1], ("dpcli: 1", "dpcli: 1  # changed"))
    refused = dpcli("release", specs[1], data, "-q", "--release-id", NIGHT)
    assert (
        refused.status == 6 and "of the dataset `second` was made from another spec" in refused.err
    )
    assert f"dpcli ledger export {NIGHT} --dataset second" in refused.err


def test_two_processes_charge_the_same_id_for_two_datasets(
    dpcli: Command, specs: list[Path], data: Path
) -> None:
    """Both are charged once, and the ledger is intact."""

    def run(spec: Path) -> int:
        words = ["release", str(spec), str(data), "-q", "-o", str(spec.with_suffix(".csv"))]
        words += ["--release-id", NIGHT, "--ledger", DEFAULT]
        return subprocess.run([fast_dpcli(), *words], check=False).returncode

    dpcli("ledger", "init", DEFAULT).succeeded()
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(run, specs)) == [0, 0, 0]
    with closing(OpenLedger.open(Path(DEFAULT))) as ledger:
        assert sorted(ledger.datasets_of(NIGHT)) == ["first", "second", "third"]
        assert len({*ledger.names()}) == 3 and not ledger.all_faults()


def test_reports_of_one_id_prove_each_dataset(
    dpcli: Command, specs: list[Path], data: Path
) -> None:
    """A lost ledger is recovered from the reports of one night, with each account's charge."""
    tables = [released(dpcli, spec, data) for spec in specs]
    reports = [table.with_suffix(".report.json") for table in tables]
    before = dpcli("ledger", "show", "--json").json
    dpcli("ledger", "verify", "--against", *reports).succeeded()
    Path(DEFAULT).unlink()
    dpcli("ledger", "recover", "--from", *reports).succeeded()
    # Reports do not state the files that accounts share.
    expected = [account | {"shares_files_with": []} for account in before]
    assert dpcli("ledger", "show", "--json").json == expected
    dpcli("ledger", "verify", "--against", *reports).succeeded()
    refused = dpcli("release", specs[2], data, "-q", "--release-id", NIGHT)
    assert refused.status == 6 and "error[release-recovered]" in refused.err


def test_a_failed_check_is_exported_as_its_message_says(
    dpcli: Command, specs: list[Path], data: Path
) -> None:
    """The message has the remedy first, then what was charged, and a command that works."""
    for path in specs[:2]:
        edit(path, ("quality: none", "quality: {epsilon: 0.5, min_rows: 1000000}"))
    words = ("release", data, "-q", "--release-id", NIGHT, "--ledger", DEFAULT)
    dpcli("ledger", "init", DEFAULT).succeeded()
    assert dpcli(*words[:1], specs[0], *words[1:]).status == 8
    failed = dpcli(*words[:1], specs[1], *words[1:])
    hint = failed.err.partition("hint: ")[2]
    assert failed.status == 8 and hint.startswith("correct the file or the spec")
    assert "charged: epsilon 0.5 for the check;" in hint
    command = re.search("`dpcli (ledger export [^`]*)`", hint)
    assert command is not None and "--dataset second" in command[1]
    dpcli(*command[1].split()).succeeded()
    assert "second" in Path("check.md").read_text(encoding="utf-8").partition("\n")[0]

"""`dpcli aggregate`, and releases of its partial aggregates."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dpcli import __version__
from dpcli.engine.sums.partials import FORMAT
from dpcli.noise import entropy
from tests.support.cli import DATA, Command, remove_ledger, reported
from tests.support.streams import Stream


@pytest.fixture
def parts(dpcli: Command, spec: Path, tmp_path: Path) -> list[Path]:
    """The rows of the small file in two parts."""
    header, *rows = DATA.splitlines(keepends=True)
    paths = []
    for place, lines in enumerate((rows[:3], rows[3:])):
        data, part = tmp_path / f"{place}.csv", tmp_path / f"{place}.sealed"
        data.write_text(header + "".join(lines), encoding="utf-8")
        assert dpcli("aggregate", spec, data, "-o", part, "--quiet").status == 0
        paths.append(part)
    return paths


def test_a_release_of_parts_is_the_release_of_their_rows(
    dpcli: Command, spec: Path, data: Path, parts: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same noise, the table and the numbers of the report are the same."""
    outcomes = []
    for words in ([data], ["--partials", *parts], [parts[1], "--partials", parts[0]]):
        remove_ledger(spec.parent)
        monkeypatch.setattr(entropy, "source", Stream("parts"))
        monkeypatch.setattr("dpcli.ledger.charge.now", lambda: "2026-01-01T00:00:00Z")
        report = spec.parent / "report.json"
        done = dpcli(
            "release", spec, *words, "--report", report, "--release-id", "a", "--force"
        ).succeeded()
        facts = reported(report)
        outcomes.append((done.out, facts["statistics"], facts["privacy"]))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_a_part_is_for_its_owner_alone_and_spends_nothing(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """Only the owner may read it, under any mask; no file is replaced and no ledger is created."""
    part = tmp_path / "data.sealed"
    mask = os.umask(0)
    try:
        done = dpcli("aggregate", spec, data, "-o", part, "--json")
    finally:
        os.umask(mask)
    assert done.status == 0
    assert done.json == {"part": str(part), "confidential": True}
    assert "confidential" in done.err
    assert part.stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("*.sqlite*"))
    before = part.read_bytes()
    refused = dpcli("aggregate", spec, data, "-o", part)
    assert refused.status == 2
    assert "error[output-exists]" in refused.err
    assert "--force" not in refused.err
    assert part.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if ".tmp" in path.name] == []


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "part", "-", "/dev/stdout", "a.sealed.gz"])
def test_a_part_never_goes_where_a_table_would(
    name: str, dpcli: Command, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard output, devices and other names are refused before data are read."""
    monkeypatch.chdir(spec.parent)
    done = dpcli("aggregate", spec, data, "-o", name)
    assert (done.status, done.out) == (2, "")
    assert ".sealed" in done.err


def test_a_file_that_is_not_a_part_of_this_release_is_refused(
    dpcli: Command,
    spec: Path,
    data: Path,
    parts: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each reason has its own message; all problems are shown, and nothing is charged."""
    other = tmp_path / "other.yaml"
    other.write_text(spec.read_text("utf-8") + "\n# another\n", encoding="utf-8")
    foreign, cut, old = (tmp_path / f"{name}.sealed" for name in ("foreign", "cut", "old"))
    assert dpcli("aggregate", other, data, "-o", foreign).status == 0
    cut.write_bytes(parts[0].read_bytes()[:-1])
    with monkeypatch.context() as patched:
        patched.setattr("dpcli.engine.sums.partials.FORMAT", "0 of dpcli 0.0")
        assert dpcli("aggregate", spec, data, "-o", old).status == 0
    copy = tmp_path / "copy.sealed"
    copy.write_bytes(parts[0].read_bytes())
    wrong = [data, foreign, cut, old, parts[0], copy, tmp_path / "gone.sealed"]
    done = dpcli("release", spec, "--partials", *wrong)
    assert (done.status, done.out) == (4, "")
    expected = [
        f"`{data}` is no sealed part",
        f"`{foreign}` is of the spec ",
        f"the sealed part `{cut}` is damaged or cut off",
        f"is of the format 0 of dpcli 0.0, expected {FORMAT}",
        f"`{copy}` is the same part as `{parts[0]}`: its rows would count twice",
        f"there is no file `{wrong[-1]}`",
    ]
    for words in expected:
        assert words in done.err
    assert __version__ in FORMAT
    assert done.err.count("error[") == len(expected)
    shown = dpcli("ledger", "history", "--ledger", spec.parent / "dpcli-ledger.sqlite", "--json")
    assert "releases" not in shown.out or not shown.json.get("releases")


@pytest.mark.parametrize("ending", [".sealed", ".csv"])
def test_other_commands_refuse_a_part(
    ending: str, dpcli: Command, spec: Path, parts: list[Path], tmp_path: Path
) -> None:
    """They recognize a part by its first bytes, under any name."""
    part = parts[0].rename(tmp_path / f"renamed{ending}")
    for words in (
        ["release", spec, part], ["check", spec, part], ["init", part],
        ["aggregate", spec, part, "-o", tmp_path / "again.sealed"],
    ):  # fmt: skip
        done = dpcli(*words)
        assert done.status == 4, words
        assert "is a sealed part of a release, no table" in done.err

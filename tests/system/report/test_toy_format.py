"""A report format is one file and one registry line: everything else follows from the facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcli.report import formats
from dpcli.report.release import ReleaseReport
from dpcli.report.report import Report
from tests.support.cli import LOCAL, PEOPLE, ROOT, Command


def as_toy(report: Report) -> bytes:
    """The statistics or responses of a report, one per line."""
    stated = report.stated
    if isinstance(stated, ReleaseReport):
        names = [statistic.name for statistic in stated.statistics]
    else:
        names = [response.column for response in stated.responses]
    return "".join(f"{name}\n" for name in names).encode()


TOY = formats.Format("toy", (".toy",), as_toy)


@pytest.fixture(autouse=True)
def with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of formats with one more line."""
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, TOY))


def copied(spec: Path, folder: Path) -> Path:
    """A copy of a spec in its own folder, where its ledger is created."""
    copy = folder / spec.name
    copy.write_text(spec.read_text(encoding="utf-8"), encoding="utf-8")
    return copy


def test_a_release_and_its_export_take_the_new_format(dpcli: Command, tmp_path: Path) -> None:
    """It is chosen by its ending or its name, and the ledger keeps it with the release."""
    spec = copied(ROOT / "specs" / "minimal.yaml", tmp_path)
    first, again = tmp_path / "first.toy", tmp_path / "again.txt"
    dpcli("release", spec, PEOPLE, "-q", "--release-id", "one", "--report", first).succeeded()
    book = tmp_path / "dpcli-ledger.sqlite"
    words = ("--report", again, "--format", "toy", "--ledger", book)
    dpcli("ledger", "export", "one", *words).succeeded()

    assert again.read_bytes() == first.read_bytes()
    assert first.read_text(encoding="utf-8") == "visits\n"


def test_a_local_collection_takes_the_new_format(dpcli: Command, tmp_path: Path) -> None:
    """The local model uses the same list of formats."""
    spec, report = copied(LOCAL, tmp_path), tmp_path / "r.toy"
    words = ("-q", "-o", tmp_path / "o.csv", "--report", report)
    dpcli("local", "randomize", spec, PEOPLE, *words).succeeded()

    assert "insured\n" in report.read_text(encoding="utf-8")


def test_an_unknown_format_lists_the_new_one(dpcli: Command, tmp_path: Path) -> None:
    """The error names every ending that there is."""
    spec = copied(ROOT / "specs" / "minimal.yaml", tmp_path)
    done = dpcli("release", spec, PEOPLE, "-q", "--report", tmp_path / "r.unknown")

    assert done.status == 2
    assert ".toy" in done.err

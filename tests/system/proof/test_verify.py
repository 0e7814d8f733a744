"""`dpcli verify`: right reports of all samples are consistent, and changes are noticed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from random import Random

import pytest

from dpcli.proof import verify
from dpcli.report.content import content_of
from dpcli.report.report import Report
from tests.support.cli import SPECS, Command
from tests.support.forgeries import forged, written
from tests.support.lies import LIES, disjoint_rows, no_terms, remade
from tests.support.reports import Reports, make_reports
from tests.support.rules import also_slow
from tests.support.shared import made_once

CHANGES, MANY_CHANGES = 12, 1_000
"""Changes of each sample report; many in slow tests."""

CAUGHT = 0.6
"""Of changes of a number outside of the published ones, this part is noticed without the digest."""


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """The reports of one sample spec."""
    (spec,) = (path for path in SPECS if path.stem == "town")
    folder = made_once(tmp_path_factory, spec.stem, partial(make_reports, spec))
    return Reports(folder / spec.name, folder)


def _read(reports: Reports) -> tuple[bytes, bytes]:
    return reports.path(".json").read_bytes(), (reports.folder / "out.csv").read_bytes()


def _rewritten(report: bytes) -> bytes:
    """The report as another program writes it: other spaces, other order, floats."""
    return json.dumps(json.loads(report), sort_keys=True).encode()


def test_consistent(reports: Reports) -> None:
    """A right report is consistent, and each of its entries is recomputed."""
    report, table = _read(reports)
    for form in (report, _rewritten(report)):
        findings = verify.verify(form, [("table", table)])
        assert findings.wrong == []
        assert findings.unchecked == {}


@pytest.mark.parametrize("changes", also_slow(CHANGES, MANY_CHANGES))
def test_changes(reports: Reports, changes: int) -> None:
    """Each random change of the report or of the table is noticed."""
    (report, table), random = _read(reports), Random(changes)
    parsed, missed = verify.read_json(report), list[str]()
    for _ in range(changes):
        forgery, other, what = forged(random, parsed, table)
        if not verify.verify(written(forgery), [("table", other)]).wrong:
            missed.append(what)
    assert missed == []


@pytest.mark.parametrize("changes", also_slow(3, MANY_CHANGES))
def test_signed(reports: Reports, changes: int) -> None:
    """With the signed digest, each change is noticed that makes its own digest again."""
    (report, table), random = _read(reports), Random(changes)
    parsed = verify.read_json(report)
    signed = parsed["content_sha256"]
    assert signed in reports.text(".md")
    assert signed in reports.text(".html")
    caught = 0
    for _ in range(changes):
        forgery, other, _ = forged(random, parsed, table, rehash=True)
        assert verify.verify(written(forgery), [("table", other)], signed).wrong
        caught += bool(verify.verify(written(forgery), [("table", other)]).wrong)
    assert changes < MANY_CHANGES or caught > CAUGHT * changes
    for form in (report, _rewritten(report)):
        assert verify.verify(form, [("table", table)], signed.upper()).wrong == []


def test_lies(reports: Reports) -> None:
    """Lies are noticed of which the head and the digest were made again."""
    report, table = _read(reports)
    told = 0
    for lie in LIES:
        parsed = verify.read_json(report)
        if parsed.get("statistics"):
            lie(parsed)
            if lie is not no_terms:
                parsed = remade(parsed)
            if verify.canonical(parsed) != verify.canonical(verify.read_json(report)):
                told += 1
                assert verify.verify(written(parsed), [("table", table)]).wrong, lie
    assert told or "responses" in verify.read_json(report)


OF_PARTS = """\
dpcli: 1
dataset: parts
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 3}}
quality: none
columns:
  age: {type: integer, bounds: [0, 110]}
  sex: {type: category, values: [f, m]}
statistics:
  - {name: one, statistic: count, epsilon: 1, where: FIRST}
  - {name: other, statistic: count, epsilon: 1, where: SECOND, by: [sex]}
"""


@pytest.mark.parametrize(
    ("column", "first", "second", "is_wrong"),
    [
        ("age", "{age: {max: 50}}", "{age: {max: 60}}", True),
        ("sex", "{sex: [f, m]}", "{sex: m}", True),
        ("age", "{age: {max: 50}}", "{not: {age: {above: 60}}}", False),
    ],
)
def test_parts(
    column: str, first: str, second: str, dpcli: Command, tmp_path: Path, *, is_wrong: bool
) -> None:
    """Parts with common rows do not count once; a missing table and unread parts are named."""
    text = OF_PARTS.replace("FIRST", first).replace("SECOND", second)
    (tmp_path / "spec.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "data.csv").write_text("age,sex\n20,f\n55,m\n", encoding="utf-8")
    words = ["-o", tmp_path / "out.csv", "--layout", "wide", "--release-id", "r"]
    report = tmp_path / "report.json"
    words += ["--report", report]
    dpcli("release", tmp_path / "spec.yaml", tmp_path / "data.csv", *words).succeeded()
    total, by_sex = (
        (name, (tmp_path / name).read_bytes()) for name in ("out.total.csv", "out.sex.csv")
    )
    findings = verify.verify(report.read_bytes(), [by_sex, total])
    assert (findings.wrong, findings.unchecked) == ([], {})
    findings = verify.verify(report.read_bytes(), [total])
    assert (findings.wrong, [*findings.unchecked]) == ([], ["numbers of other"])
    lie = verify.read_json(report.read_bytes())
    disjoint_rows(lie, column)
    findings = verify.verify(written(remade(lie)), [by_sex, total])
    assert bool(findings.wrong) is is_wrong
    assert is_wrong or [*findings.unchecked] == ["total"]


def test_alone(town: Reports, tmp_path: Path) -> None:
    """The file runs alone, without the rest of the program."""
    shutil.copy(verify.__file__, tmp_path / "verify.py")
    words = [town.path(".json"), town.folder / "out.csv"]
    command = [sys.executable, "-I", "-S", "verify.py", *map(str, words)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "consistent" in ran.stdout


def test_command(town: Reports, dpcli: Command, tmp_path: Path) -> None:
    """The command exits 0 for a right report, 1 for a changed one, and 2 without a file."""
    report, table = town.path(".json"), town.folder / "out.csv"
    assert dpcli("verify", report, table).status == 0
    stated = json.loads(dpcli("verify", report, table, "--json").out)
    assert stated["consistent"]
    assert stated["unchecked"] == {}
    changed = tmp_path / "table.csv"
    changed.write_bytes(table.read_bytes() + b"more\n")
    outcome = dpcli("verify", report, changed)
    assert outcome.status == 1
    assert "wrong: " in outcome.out
    assert dpcli("verify", tmp_path / "none.json", table).status == 2


def test_read_anew(town: Reports, dpcli: Command, tmp_path: Path) -> None:
    """A report that another program wrote has its content, for the ledger and for recovery."""
    report = town.path(".json").read_bytes()
    rewritten = tmp_path / "rewritten.json"
    rewritten.write_bytes(_rewritten(report))
    assert content_of(rewritten.read_bytes()) == content_of(report)
    assert len(Report.parse(rewritten.read_bytes()).numbers) == len(Report.parse(report).numbers)
    ledger = town.folder / "dpcli-ledger.sqlite"
    assert dpcli("ledger", "verify", "--against", rewritten, "--ledger", ledger).status == 0
    for file in town.folder.glob("*.csv"):
        shutil.copy(file, tmp_path)
    new = tmp_path / "new.sqlite"
    assert dpcli("ledger", "recover", "--from", rewritten, "--ledger", new).status == 0

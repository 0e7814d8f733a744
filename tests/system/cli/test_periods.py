"""What data are about: `reference_period`, `--period`, and rows of other days."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from random import Random

import pytest

from dpcli import load_spec, plan, release
from dpcli.problems.errors import UsageError
from tests.support.cli import Command, edit, freeze, history

__all__ = ["freeze"]

SPEC = """\
dpcli: 1
dataset: clinic
rows_are: visits
privacy:
  unit: {column: who, max_rows: 1}
  neighbors: add-remove
  budget: {epsilon: 1000}
quality: {epsilon: 20, min_people: 90}
period: {column: visit}
columns:
  who: {type: id}
  visit: {type: date, bounds: [2026-01-01, 2026-12-31]}
  ward: {type: category, values: [a, b]}
statistics:
  - {name: n, statistic: count, epsilon: 20, by: [ward]}
"""

DAY = "2026-11-20"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec whose noise is below one half, and whose rows have a day."""
    monkeypatch.chdir(tmp_path)
    (path := tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    return path


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """The visits of 100 people on one day, among those of other days and without a day."""
    (path := tmp_path / "visits.csv").write_text(content(DAY), encoding="utf-8")
    return path


def content(day: str) -> str:
    """100 people in ward b on a day, and many more visits of theirs on other days in ward a."""
    before = (date.fromisoformat(day) - timedelta(days=1)).isoformat()
    rows = [f"{who},{day},b" for who in range(100)]
    rows += [f"{who},{other},a" for who in range(100) for other in (before, "", "soon", before)]
    return "\n".join(["who,visit,ward", *rows, ""])


def released(dpcli: Command, spec: Path, data: Path, *words: str, name: str = "r") -> Path:
    """The table of a release."""
    table = spec.with_name(f"{name}.csv")
    done = dpcli("release", spec, data, "-q", "-o", table, "--release-id", name, *words)
    assert done.status == 0, done.err
    return table


def numbers(table: Path) -> list[float]:
    """The published numbers."""
    lines = table.read_text(encoding="utf-8").splitlines()
    return [float(row["value"]) for row in csv.DictReader(lines)]


def test_rows_of_other_days_influence_nothing(dpcli: Command, spec: Path, visits: Path) -> None:
    """Only the visits of the day are counted, and take the places within the limits."""
    assert numbers(released(dpcli, spec, visits, "--period", DAY)) == [0, 100]


OTHER_ROWS = [
    "5,2026-11-19,b", "999,2026-11-21,a", "7,,b", ",soon,a", "7,2025-11-20,b", "8,20.11.2026,a",
]  # fmt: skip
"""Rows that do not exist: of other days, of other people, without an id or a readable day."""


@pytest.mark.parametrize("unit", ["{column: who, max_rows: 1}", "row"])
def test_other_rows_change_no_byte(
    unit: str, dpcli: Command, spec: Path, visits: Path, freeze: Callable[[], None]
) -> None:
    """With the same noise, status, table and report are those of a file without these rows."""
    minimum = "min_rows" if unit == "row" else "min_people"
    edit(spec, ("{column: who, max_rows: 1}", unit), ("min_people", minimum))
    whole = visits.read_text(encoding="utf-8").splitlines()
    header, rows = whole[0], [row for row in whole[1:] if DAY in row]
    found = set()
    for number in range(4):
        random = Random(number)
        others = random.choices(OTHER_ROWS, k=50 * number)
        mixed = rows.copy()
        for row in others:
            mixed.insert(random.randint(0, len(mixed)), row)
        visits.write_text("\n".join([header, *mixed, ""]), encoding="utf-8")
        freeze()
        words = ("-q", "--force", "-o", "t.csv", "--report", "t.json", "--release-id", "r")
        done = dpcli("release", spec, visits, *words, "--period", DAY)
        files = (Path(name).read_bytes() for name in ("t.csv", "t.json"))
        found.add((done.status, done.err, *files))
    assert len(found) == 1


def test_the_file_of_yesterday_fails_its_check(
    dpcli: Command, spec: Path, visits: Path, tmp_path: Path
) -> None:
    """`min_people` is about the people of the period: none of them is in the old file."""
    words = ("release", spec, visits, "-q", "-o", "t.csv", "--release-id", "r")
    tomorrow = (date.fromisoformat(DAY) + timedelta(days=1)).isoformat()
    stale = dpcli(*words, "--period", tomorrow)
    assert stale.status == 8 and "error[quality-failed]" in stale.err
    assert history(dpcli, tmp_path) == [("r", "20")]
    visits.write_text(content(tomorrow), encoding="utf-8")
    dpcli(*words, "--period", tomorrow, "--check-again").succeeded()
    assert numbers(tmp_path / "t.csv") == [0, 100]


def test_a_release_without_its_period_is_refused(
    dpcli: Command, spec: Path, visits: Path, tmp_path: Path
) -> None:
    """Nothing is read, and no ledger is created; `plan` and `check` need no period."""
    words = ("release", spec, visits, "-q", "-o", tmp_path / "t.csv")
    for more in ((), ("--dry-run",)):
        refused = dpcli(*words, *more)
        assert refused.status == 2 and "error[period-missing]" in refused.err
    part = dpcli("aggregate", spec, visits, "-o", "part.sealed")
    assert part.status == 2 and "error[period-missing]" in part.err
    assert not list(tmp_path.glob("dpcli-ledger*"))
    assert "the period that `--period` names" in dpcli("plan", spec).succeeded().out
    dpcli("check", spec, visits).succeeded()
    with pytest.raises(UsageError, match="no period is given"):
        release(plan(load_spec(spec)), visits, release_id="r")
    assert release(spec, visits, period=date.fromisoformat(DAY), release_id="r").charged


def test_spec_and_command_must_agree(dpcli: Command, spec: Path, visits: Path) -> None:
    """Another period is refused; the same days in other words are not."""
    edit(spec, ("period: {", "reference_period: 2026-11\nperiod: {"))
    words = ("release", spec, visits, "-q", "-o", "t.csv")
    for command in (words, ("plan", spec), ("check", spec)):
        refused = dpcli(*command, "--period", "2026")
        assert refused.status == 2 and "error[period-differs]" in refused.err
    released(dpcli, spec, visits, "--period", "2026-11-01/2026-11-30")
    released(dpcli, spec, visits, name="without")


@pytest.mark.parametrize("given", ["yesterday", "2026-13", "2026-11-31", "2026/2025"])
def test_other_texts_are_no_period(given: str, dpcli: Command, spec: Path) -> None:
    """The command line and the spec refuse them, each with a code of its own."""
    assert "error[not-a-period]" in dpcli("plan", spec, "--period", given).err
    edit(spec, ("period: {", f"reference_period: {given}\nperiod: {{"))
    refused = dpcli("check", spec)
    assert refused.status == 3 and "error[bad-period]" in refused.err


def test_any_account_takes_a_period(
    dpcli: Command, spec: Path, visits: Path, tmp_path: Path
) -> None:
    """The period is the first line of all reports, in metadata and ledger, and is recovered."""
    edit(spec, ("period: {column: visit}\n", ""))
    reports = [tmp_path / f"r{end}" for end in (".md", ".html", ".json", ".yaml")]
    words = [word for path in reports for word in ("--report", str(path))]
    period = "2026-10/2026-12"
    released(dpcli, spec, visits, "--period", period, "--metadata", "m.json", *words)
    page = reports[0].read_text(encoding="utf-8")
    published = page.partition("## What was published")[2].strip()
    assert published.startswith(f"- Period: {period}\n")
    row = f"<dt>Period</dt><dd><bdi>{period}</bdi></dd>"
    assert row in reports[1].read_text(encoding="utf-8")
    assert json.loads(reports[2].read_text(encoding="utf-8"))["reference_period"] == period
    assert json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))["dc:temporal"] == period
    again = dpcli("release", spec, visits, "-q", "-o", "n.csv", "--release-id", "r")
    assert again.status == 6 and f"was made for the period {period}" in again.err
    before = dpcli("ledger", "history", "--json").succeeded().json
    assert [entry["period"] for entry in before] == [period]
    (tmp_path / "dpcli-ledger.sqlite").unlink()
    dpcli("ledger", "recover", "--from", reports[2]).succeeded()
    recovered = dpcli("ledger", "history", "--json").succeeded().json
    assert [entry["period"] for entry in recovered] == [period]


def test_a_window_needs_a_day(dpcli: Command, spec: Path, visits: Path) -> None:
    """A month is too long for a window; a day of the spec pays as one of the command line."""
    budget = ("--epsilon", "1000", "--window", "3", "--unit", "who")
    dpcli("ledger", "open", "clinic", *budget).succeeded()
    words = ("release", spec, visits, "-q", "-o", "t.csv", "--any-period")
    for more in (("--period", "2026-11"), ("--period", "2026-11-20/2026-11-21")):
        refused = dpcli(*words, *more)
        assert refused.status == 6 and "error[period-required]" in refused.err
    edit(spec, ("period: {", f"reference_period: {DAY}\nperiod: {{"))
    assert numbers(released(dpcli, spec, visits, "--any-period")) == [0, 100]
    (entry,) = dpcli("ledger", "history", "--json").succeeded().json
    assert entry["period"] == DAY


def test_parts_are_of_one_period(dpcli: Command, spec: Path, visits: Path) -> None:
    """A part of another period, or without one, is refused."""
    month = ("--period", "2026-11")
    dpcli("aggregate", spec, visits, "-o", "a.sealed", *month).succeeded()
    words = ("release", spec, "a.sealed", "--partials", "-q", "-o", "t.csv")
    refused = dpcli(*words, "--period", "2026-10")
    assert refused.status == 4 and "the period" in refused.err
    dpcli(*words, *month).succeeded()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ([("column: visit", "column: ward")], "period-column"),
        ([("column: visit", "column: when")], "unknown-column"),
        ([("bounds: [2026-01-01, 2026-12-31]", 'format: "%H:%M"')], "period-column"),
        (
            [("{column: who, max_rows: 1}", "row"), ("add-remove", "change-one"),
             ("min_people: 90", "min_rows: 90")],
            "period-public-size",
        ),
    ],
)  # fmt: skip
def test_a_period_needs_a_column_of_days(
    changes: list[tuple[str, str]], code: str, dpcli: Command, spec: Path
) -> None:
    """The column has days, and the number of rows must not be public."""
    edit(spec, *changes)
    refused = dpcli("check", spec)
    assert refused.status == 3 and f"error[{code}]" in refused.err


def test_a_person_who_is_exchanged_may_have_no_row_of_the_period(
    dpcli: Command, spec: Path, visits: Path
) -> None:
    """With people as unit, `change-one` is fine: sensitivities allow for a person without rows."""
    edit(spec, ("add-remove", "change-one"))
    assert numbers(released(dpcli, spec, visits, "--period", DAY)) == [0, 100]


def test_a_column_has_the_period(dpcli: Command, spec: Path, visits: Path) -> None:
    """Each row of the table says what it is about, also where the account has no window."""
    edit(spec, ("statistics:", "output: {columns: [period]}\nstatistics:"))
    table = released(dpcli, spec, visits, "--period", "2026-11")
    lines = table.read_text(encoding="utf-8").splitlines()
    assert [row["period"] for row in csv.DictReader(lines)] == ["2026-11"] * 2

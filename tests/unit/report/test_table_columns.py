"""Columns of tables: what numbers count and in which unit, and those that a spec asks for."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path

import polars as pl
import pytest

from dpcli import Release, load_spec, plan, release
from dpcli.report.formats import METADATA, render_output
from dpcli.report.report import Report
from tests.support.cli import Command, reported, table

SPEC = """\
dpcli: 1
dataset: clinic
rows_are: visits
privacy:
  unit: {column: patient, max_rows: 3, max_groups: 2}
  neighbors: add-remove
  budget: {epsilon: 900}
quality: none
output: {columns: [confidence, low, release_id, high, period, se]}
columns:
  patient: {type: id}
  sex: {type: category, values: [f, m]}
  late: {type: boolean, values: [no, yes]}
  cost: {type: number, bounds: [0, 100], step: 0.5, unit: EUR}
  wait: {type: integer, bounds: [0, 59]}
  day: {type: date, bounds: [2020-01-01, 2020-12-31]}
  end: {type: date, bounds: [2020-01-01, 2021-12-31]}
derive:
  stay: {difference: [end, day]}
statistics:
ENTRIES
"""

UNITS = {
    "statistic: count": ["visits"],
    "statistic: count_distinct": ["people"],
    "statistic: count, by: [sex], unit: thousand": ["thousand"],
    "statistic: histogram, column: wait, bins: {width: 20}": ["visits"],
    "statistic: sum, column: cost": ["EUR"],
    "statistic: mean, column: cost": ["EUR"],
    "statistic: mean, column: wait": [""],
    "statistic: mean, column: wait, unit: minutes": ["minutes"],
    "statistic: mean, column: stay": ["days"],
    "statistic: mean, column: day": ["date"],
    "statistic: std, column: day": ["days"],
    "statistic: variance, column: cost": ["EUR squared"],
    "statistic: median, column: cost, candidates: {step: 10}": ["EUR"],
    "statistic: proportion, column: late": ["share"],
    "statistic: proportion, column: late, per: 100": ["%"],
    "statistic: ratio, numerator: cost, denominator: rows": ["EUR per visits"],
    "statistic: ratio, numerator: late, denominator: wait, per: 1000": ["late per 1,000 wait"],
    "statistic: inequality, column: cost": ["", "share"],
    "statistic: describe, column: cost": ["visits", "EUR", "EUR"],
    "statistic: comparison, between: {sex: [f, m]}": ["visits", "visits", "visits", "%"],
    "statistic: comparison, of: sum, column: cost, between: {sex: [f, m]}": [
        *("EUR", "EUR", "EUR", "%")
    ],
    "statistic: mode, column: sex": ["rank"],
    "statistic: correlation, columns: [cost, wait]": [""],
}
"""The unit of each number, from what the spec declares."""

COUNTED = {
    "statistic: count": "visits (at most 3 of each person)",
    "statistic: count, by: [sex]": "visits (at most 3 of each person)",
    "statistic: count_distinct": "people",
    "statistic: count, by: [sex, late]": ("visits (at most 3 of each person, in at most 2 groups)"),
    "statistic: mean, column: cost": "visits (at most 3 of each person)",
}
"""What numbers are named after."""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A place for a spec, next to data."""
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(n) for n in range(60)]
    lines = (
        f"p{n // 2},{'fm'[n % 2]},{('yes', 'no')[n % 3 == 0]},{n % 100},{n % 60},"
        f"{days[n % 60]},{days[n % 60] + datetime.timedelta(3)}"
        for n in range(600)
    )
    text = "\n".join(["patient,sex,late,cost,wait,day,end", *lines, ""])
    (tmp_path / "data.csv").write_text(text, encoding="utf-8")
    return tmp_path / "spec.yaml"


def write(spec: Path, *entries: str) -> None:
    """Write a spec with these entries, which are called n0, n1 and so on."""
    lines = [f"  - {{name: n{at}, {entry}, epsilon: 5}}" for at, entry in enumerate(entries)]
    spec.write_text(SPEC.replace("ENTRIES", "\n".join(lines)), encoding="utf-8")


def released(spec: Path, *entries: str) -> Release:
    """A release of these entries."""
    write(spec, *entries)
    made = plan(load_spec(spec))
    return release(made, spec.parent / "data.csv", release_id="r1")


def test_each_number_has_the_unit_that_the_spec_declares(spec: Path, dpcli: Command) -> None:
    """Of the entry, or of the column, or of what is counted; blank where there is none."""
    write(spec, *UNITS)
    words = ("-o", spec.parent / "out.csv")
    dpcli("release", spec, spec.parent / "data.csv", "-q", *words).succeeded()
    lines = table(spec.parent / "out.csv")

    for at, (entry, units) in enumerate(UNITS.items()):
        found = [line["unit"] for line in lines if line["statistic"] == f"n{at}"]
        assert found == units * (len(found) // len(units)), entry
        assert len(found) >= len(units), entry


@pytest.mark.parametrize(("entry", "counted"), COUNTED.items())
def test_numbers_are_named_by_what_they_count(
    entry: str, counted: str, spec: Path, dpcli: Command
) -> None:
    """With the limits on people that leave out something, in plan, page and metadata."""
    write(spec, entry)
    names = [spec.parent / name for name in ("out.csv", "r.md", "r.json", "m.json")]
    out, page, report, metadata = names
    words = ("-o", out, "--report", page, "--report", report, "--metadata", metadata)
    data = spec.parent / "data.csv"
    dpcli("release", spec, data, "-q", *words).succeeded()
    planned = " ".join(dpcli("plan", spec).out.split())

    assert reported(report)["statistics"][0]["counted"] == counted
    assert counted in planned
    heading = next(line for line in page.read_text("utf-8").splitlines() if "### n0" in line)
    assert heading.replace("\\", "").endswith(f" {counted}")
    value = next(
        column
        for column in reported(metadata)["tableSchema"]["columns"]
        if column["name"] == "value"
    )
    assert f"{counted}." in value["dc:description"]


def test_asked_columns_follow_the_unit_in_their_own_order(spec: Path) -> None:
    """Ends of bins are numbers, of a histogram or of the last key, and blank elsewhere."""
    bins = ("wait, bins: {width: 20}", "cost, bins: {width: 50}")
    made = released(
        spec, f"statistic: histogram, column: {bins[0]}",
        f"statistic: describe, column: wait, by: [sex, {{column: {bins[1]}}}]", "statistic: count",
    ).table  # fmt: skip
    added = ["complete", "unit", "se", "low", "high", "period", "release_id", "confidence"]

    assert made.columns[-len(added) :] == added
    ends = made.select("statistic", "low", "high").unique(maintain_order=True).rows()
    assert ends == [
        ("n0", 0, 19), ("n0", 20, 39), ("n0", 40, 59),
        ("n1", 0, 50), ("n1", 50, 100), ("n2", None, None),
    ]  # fmt: skip
    assert set(made["period"]) == {None}
    assert set(made["release_id"]) == {"r1"}
    assert set(made["confidence"]) == {0.95}
    assert set(made["complete"]) == {"unknown"}


def test_the_period_of_an_account_is_that_of_its_numbers(spec: Path, dpcli: Command) -> None:
    """For now, an account with a window alone states what the data are about."""
    write(spec, "statistic: count")
    data = spec.parent / "data.csv"
    ledger = spec.parent / "dpcli-ledger.sqlite"
    dpcli("ledger", "init", ledger).succeeded()
    terms = ("--epsilon", "900", "--unit", "patient", "--window", "3", "--ledger", ledger)
    dpcli("ledger", "open", "clinic", *terms).succeeded()
    done = dpcli("release", spec, data, "-q", "--period", "2026-01-02").succeeded()

    assert "period" in done.out.splitlines()[0].split(",")
    assert ",2026-01-02," in done.out.splitlines()[1]


def test_a_wide_table_has_columns_of_lines_once(spec: Path, dpcli: Command) -> None:
    """Each statistic has its own error and what it counts; units are in the metadata alone."""
    bins = "{column: wait, bins: {width: 20}}"
    write(spec, f"statistic: count, by: [{bins}]", f"statistic: mean, column: cost, by: [{bins}]")
    words = ("--layout", "wide", "--metadata", spec.parent / "m.json")
    data, out = spec.parent / "data.csv", spec.parent / "out.csv"
    dpcli("release", spec, data, "-o", out, "-q", *words).succeeded()
    lines = table(out)
    described = {
        column["titles"][0]: column
        for column in reported(spec.parent / "m.json")["tableSchema"]["columns"]
    }

    own = ("", "_lower", "_upper", "_flag", "_complete", "_se")
    once = ["low", "high", "period", "release_id", "confidence"]
    names = [f"{name}{end}" for name in ("n0", "n1") for end in own]
    assert list(lines[0]) == ["wait", *names, *once]
    assert [(line["low"], line["high"]) for line in lines] == [
        ("0", "19"), ("20", "39"), ("40", "59"),
    ]  # fmt: skip
    assert described["n0"]["schema:unitText"] == "visits"
    assert described["n1"]["schema:unitText"] == "EUR"
    assert described["n0_complete"]["datatype"]["format"] == "yes|no|unknown"


def test_tables_in_memory_hold_dates_as_dates(spec: Path) -> None:
    """Where some numbers are dates and others are not, the table is wide."""
    dates = released(spec, "statistic: mean, column: day, by: [sex]").table
    spec.with_name("dpcli-ledger.sqlite").unlink()
    spec.with_name("dpcli-ledger.sqlite.anchor").unlink(missing_ok=True)
    mixed = released(spec, "statistic: mean, column: day, by: [sex]", "statistic: count").table

    assert dates["value"].dtype == dates["lower"].dtype == pl.Date
    assert mixed["n0"].dtype == pl.Date and mixed["n1"].dtype == pl.Float64
    assert mixed["sex"].to_list() == ["f", "m", None]
    assert mixed["n1"].is_null().to_list() == [True, True, False]


FORMER = Path(__file__).parents[2] / "system" / "frozen" / "version_2"
"""A report of version 2 with its table and metadata, as that version wrote them."""


def test_a_report_of_version_2_keeps_its_tables() -> None:
    """Its columns and flags are those that it was published with, and pages explain them."""
    content = (FORMER / "report.json").read_bytes()
    report = Report.parse(content)
    former = reported(FORMER / "metadata.json")
    metadata = json.loads(render_output(report, METADATA + json.dumps({"x.csv": "table.csv"})))
    pages = [render_output(report, name).decode() for name in ("report.md", "report.html")]
    digits = render_output(report, "report-all-digits.md").decode()

    for row in csv.DictReader((FORMER / "table.csv").read_text("utf-8").splitlines()):
        assert f"| {row['value']} | {row['lower']} to {row['upper']} |" in digits
    assert Report.compose(report.stated, report.numbers).content == content
    assert render_output(report, "table.csv") == (FORMER / "table.csv").read_bytes()
    columns, known = (one["tableSchema"]["columns"] for one in (metadata, former))
    for key in ("name", "titles", "datatype"):
        assert [column[key] for column in columns] == [column[key] for column in known]
    for page in pages:
        assert "limited: values were clamped to bounds that noisy counts chose" in page
        assert "is not known whether" not in page


def test_numbers_of_a_report_of_version_2_are_added(dpcli: Command) -> None:
    """The report does not say whether they are complete, so that is not known."""
    done = dpcli("sum", FORMER / "report.json", "--where", "statistic=visits", "--json")

    assert done.json["complete"] == "unknown"
    assert done.json["numbers"] == 6

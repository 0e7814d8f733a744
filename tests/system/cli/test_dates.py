"""Dates as published values, in every format of a release."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from random import Random

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from dpcli.problems.errors import SpecError
from dpcli.report.formats import report_schema
from dpcli.specification.load import parse_spec
from tests.support.cli import Command, reported, table
from tests.support.specs import with_statistic

SPEC = """\
dpcli: 1
dataset: visits
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 100}}
columns:
  visit: {type: date, bounds: [1968-01-01, 1971-12-31]}
  sex: {type: category, values: [f, m]}
  age: {type: integer, bounds: [0, 99]}
statistics:
  - {name: middle, statistic: median, column: visit, candidates: {step: 7}, epsilon: 10}
  - {name: spans, statistic: quantile, column: visit, quantiles: [0.75, 0.25], by: [sex],
     candidates: [1968-01-01, 1969-01-01, 1970-01-01, 1971-01-01], post: [consistent], epsilon: 10}
  - {name: first, statistic: min, column: visit, epsilon: 10}
  - {name: last, statistic: max, column: visit, epsilon: 10}
  - {name: average, statistic: mean, column: visit, epsilon: 10}
  - {name: by_age, statistic: mean, column: visit, by: [{column: age, bins: {width: 25}}],
     epsilon: 10}
  - {name: spread, statistic: std, column: visit, epsilon: 10}
  - {name: people, statistic: count, by: [sex], epsilon: 10}
"""
DATES = ("middle", "spans", "first", "last", "average", "by_age")
FIRST = datetime.date(1968, 1, 1)
EPOCH = datetime.date(1970, 1, 1)

Visits = tuple[Path, Path, list[datetime.date]]


@pytest.fixture
def visits(tmp_path: Path) -> Visits:
    """A spec, a file of 2,000 visits around 1970, and their dates."""
    random = Random(1)
    days = [FIRST + datetime.timedelta(days=random.randrange(1461)) for _ in range(2000)]
    spec, data = tmp_path / "visits.yaml", tmp_path / "visits.csv"
    spec.write_text(SPEC, encoding="utf-8")
    rows = [f"{one},{random.choice('fm')},{random.randrange(100)}\n" for one in days]
    data.write_text("visit,sex,age\n" + "".join(rows), encoding="utf-8")
    return spec, data, days


def released(dpcli: Command, visits: Visits, *more: str | Path) -> str:
    """What a release prints and where it went; the second release is the same at no cost."""
    done = dpcli("release", *visits[:2], "--release-id", "one", *more).succeeded()
    return done.err + done.out


def codes_of(text: str) -> list[str]:
    """The codes of the problems of a spec."""
    try:
        parse_spec(text, "spec.yaml")
    except SpecError as error:
        return [problem.code for problem in error.problems]
    return []


def test_the_table_has_iso_dates_near_the_truth(
    dpcli: Command, visits: Visits, tmp_path: Path
) -> None:
    """Chosen dates and means are ISO dates; the mean lies in an interval of a few days."""
    released(dpcli, visits, "-o", tmp_path / "out.csv")
    lines, days = table(tmp_path / "out.csv"), sorted(visits[2])
    by_name = {line["statistic"]: line for line in lines}

    for line in lines:
        is_date = re.fullmatch(r"\d{4}-\d\d-\d\d", line["value"]) is not None
        assert is_date == (line["statistic"] in DATES)
    middle = datetime.date.fromisoformat(by_name["middle"]["value"])
    assert abs(middle - days[1000]).days < 30
    assert (middle - FIRST).days % 7 == 0
    lower, value, upper = (by_name["average"][key] for key in ("lower", "value", "upper"))
    mean = EPOCH + sum((day - EPOCH for day in days), datetime.timedelta()) / 2000
    assert lower <= value <= upper
    assert datetime.date.fromisoformat(lower) <= mean <= datetime.date.fromisoformat(upper)
    assert float(by_name["spread"]["value"]) == pytest.approx(422, abs=20)
    quantiles = [line["value"] for line in lines if line["statistic"] == "spans"]
    assert quantiles == ["1971-01-01", "1969-01-01"] * 2


def test_parquet_has_dates_of_type_date(dpcli: Command, visits: Visits, tmp_path: Path) -> None:
    """In the long table with other numbers in columns of their own, in wide ones as they are."""
    released(dpcli, visits, "-o", tmp_path / "out.csv", "--report", tmp_path / "a.json")
    released(dpcli, visits, "-o", tmp_path / "out.parquet", "--report", tmp_path / "b.json")
    lines = table(tmp_path / "out.csv")
    frame = pl.read_parquet(tmp_path / "out.parquet")

    assert frame.columns == [*lines[0], "date", "date_lower", "date_upper"]
    for key, dated in (("value", "date"), ("lower", "date_lower"), ("upper", "date_upper")):
        assert frame[key].dtype == pl.Float64 and frame[dated].dtype == pl.Date
        for line, number, day in zip(lines, frame[key], frame[dated], strict=True):
            shown, is_date = line[key], line["statistic"] in DATES
            assert (number is None) is (is_date or not shown)
            assert (day.isoformat() if day else "") == (shown if is_date else "")
    assert {line["unit"] for line in lines if line["statistic"] in DATES} == {"date"}
    # In the wide layout, a statistic of dates has columns of type Date.
    released(dpcli, visits, "-o", tmp_path / "out.parquet", "--layout", "wide")
    total = pl.read_parquet(tmp_path / "out.total.parquet")
    assert total["average"].dtype == total["average_lower"].dtype == total["first"].dtype == pl.Date
    assert total["spread"].dtype == pl.Float64


def test_reports_write_dates(dpcli: Command, visits: Visits, tmp_path: Path) -> None:
    """JSON has dates as strings and says so; pages write them and draw them between dates."""
    names = [tmp_path / f"r{ending}" for ending in (".json", ".html", ".md")]
    options = [word for name in names for word in ("--report", name)]
    printed = released(dpcli, visits, "-o", tmp_path / "out.csv", *options)
    lines, stated = table(tmp_path / "out.csv"), reported(names[0])
    html, markdown = (name.read_text("utf-8") for name in names[1:])

    assert Draft202012Validator(json.loads(report_schema())).is_valid(stated)
    units = {entry["name"]: entry["layout"].get("unit") for entry in stated["statistics"]}
    assert units == {name: "date" if name in DATES else None for name in units}
    cells = [cell for entry in stated["statistics"] for cell in entry["cells"]]
    assert [str(cell["value"]) for cell in cells if isinstance(cell["value"], str)] == [
        line["value"] for line in lines if line["statistic"] in DATES
    ]
    for line in (line for line in lines if line["statistic"] in DATES):
        assert line["value"] in html
        assert line["value"] in markdown.replace("\\", "")
        assert line["value"] in printed
    assert "of a date, or of a number" in " ".join(stated["flags"]["unreliable"].split())
    # The stored report is enough to make every format again.
    ledger = ("--ledger", tmp_path / "dpcli-ledger.sqlite")
    again = ("-o", tmp_path / "again.csv", "--report", tmp_path / "again.html")
    dpcli("ledger", "export", "one", *ledger, *again).succeeded()
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    assert (tmp_path / "again.html").read_text("utf-8") == html


def test_simulations_compare_dates_in_days(dpcli: Command, visits: Visits) -> None:
    """The error of a mean of dates is a number of days, and its intervals hold."""
    entry = next(line for line in SPEC.splitlines() if "{name: average," in line)
    visits[0].write_text(f"{SPEC.partition('  - {')[0]}{entry}\n", encoding="utf-8")
    done = dpcli("simulate", visits[0], "--rows", "2000", "--runs", "200", "--json").succeeded()
    entries = {entry["name"]: entry for entry in done.json["statistics"]}
    (mean,) = entries["average"]["published"]

    assert mean["held"] >= 0.93
    assert 0 < mean["observed95"] < 30


REFUSED = {
    "statistic: sum, column: day": "wrong-column-type",
    "statistic: covariance, columns: [day, age]": "wrong-column-type",
    "statistic: mean, column: day, raw: true": "raw-not-taken",
    "statistic: mean, column: day, post: [nonnegative]": "step-not-taken",
    "statistic: mean, column: day, post: [{clamp: [0, 5]}]": "step-not-taken",
    "statistic: mean, column: day, post: [integer]": "step-not-taken",
    "statistic: mean, column: day, post: [{suppress_below: 5}]": "",
    "statistic: median, column: day, candidates: {step: 2020-01-01}": "not-a-number",
    "statistic: median, column: day, candidates: {step: 0.5}": "off-grid",
    "statistic: median, column: day, candidates: [5, 10]": "not-a-date",
    "statistic: median, column: day, candidates: [2019-12-31]": "out-of-bounds",
    "statistic: mean, column: day, withhold: {wider_than: 0.5}": "",
}


@pytest.mark.parametrize(("fields", "code"), REFUSED.items(), ids=REFUSED)
def test_what_dates_cannot_do_is_refused(fields: str, code: str) -> None:
    """Steps for numbers, sums, and candidates that are no dates are errors; dates are withheld."""
    assert codes_of(with_statistic(fields)) == [code] * bool(code)

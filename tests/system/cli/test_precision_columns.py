"""`output: {columns: [se, cv]}`: the same columns in every output of a release."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from dpcli.problems.errors import LedgerError
from dpcli.report.digits import supported_error
from dpcli.report.formats import report_schema
from dpcli.report.report import Report
from tests.support.cli import Command, reported
from tests.support.cli import table as read

SPEC = """\
dpcli: 1
dataset: town
OUTPUT
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 90}}
quality: none
columns:
  sex: {type: category, values: [female, male]}
  age: {type: integer, bounds: [0, 100]}
  day: {type: date, bounds: [2020-01-01, 2020-12-31]}
statistics:
  - {name: people, statistic: count, by: [sex], epsilon: 10}
  - {name: few, statistic: count, by: [sex], post: [{suppress_below: 60}], raw: true, epsilon: 10}
  - {name: age, statistic: mean, column: age, epsilon: 10}
  - {name: usual, statistic: mode, column: sex, epsilon: 10}
  - {name: middle, statistic: median, column: day, by: [sex], epsilon: 20}
"""

BOTH = "output: {columns: [se, cv]}"

ROWS = [(("female", "male")[n % 5 == 0], n % 90, f"2020-{n % 12 + 1:02}-01") for n in range(200)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with data."""
    with (tmp_path / "data.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("sex", "age", "day"), *ROWS])
    return tmp_path


def release(dpcli: Command, folder: Path, output: str, *words: str) -> Path:
    """Write all reports and the long table; the path of the JSON report."""
    spec, out = folder / "spec.yaml", folder / "out"
    spec.write_text(SPEC.replace("OUTPUT", output), encoding="utf-8")
    reports = [word for end in ("json", "md", "html") for word in ("--report", f"{out}.{end}")]
    dpcli(
        "release", spec, folder / "data.csv", "-q", "-o", f"{out}.csv", *reports, *words
    ).succeeded()
    return folder / "out.json"


def test_columns_follow_the_unit(dpcli: Command, folder: Path) -> None:
    """Each number with an interval has both, if it is neither zero nor a date."""
    release(dpcli, folder, BOTH)
    table = read(folder / "out.csv")

    assert list(table[0])[-4:] == ["complete", "unit", "se", "cv"]
    names = {line["statistic"] for line in table}
    assert names >= {"few", "few.raw", "middle", "usual", "usual.raw"}
    for line in table:
        name, has_interval = line["statistic"], bool(line["lower"])
        is_count = name in ("people", "few", "few.raw", "usual.raw")
        expected = has_interval and (line["lower"] != line["upper"] or is_count)
        expected &= name != "usual" and line["flag"] != "no-information"
        assert bool(line["se"]) is expected, line
        assert bool(line["cv"]) is (expected and name != "middle"), line
        if line["cv"]:
            share = float(line["se"]) / abs(float(line["value"]))
            assert 0 <= float(line["cv"]) - share < 0.0001


def test_all_outputs_have_the_same_columns(dpcli: Command, folder: Path) -> None:
    """JSON, Parquet, wide tables, and the table of another process, made from the stored report."""
    path = release(dpcli, folder, BOTH, "--release-id", "one")
    content, table = path.read_bytes(), read(folder / "out.csv")
    report = json.loads(content, parse_float=str, parse_int=str)
    cells = [cell for statistic in report["statistics"] for cell in statistic["cells"]]

    assert Draft202012Validator(json.loads(report_schema())).is_valid(json.loads(content))
    assert [column["name"] for column in report["optional_columns"]] == ["se", "cv"]
    for name in ("se", "cv"):
        assert [line[name] for line in table] == [cell.get(name, "") for cell in cells]
    again = Report.parse(content)
    assert Report.compose(again.release, again.numbers).content == content

    ledger = ("--ledger", folder / "dpcli-ledger.sqlite")
    for words in (("again.csv",), ("again.parquet",), ("w.csv", "--layout", "wide")):
        name, *more = words
        dpcli("ledger", "export", "one", *ledger, "-o", folder / name, *more).succeeded()
    assert (folder / "again.csv").read_bytes() == (folder / "out.csv").read_bytes()
    frame = pl.read_parquet(folder / "again.parquet")
    assert frame.schema["se"] == frame.schema["cv"] == pl.Float64
    assert [format(line, "g") if line is not None else "" for line in frame["se"]] == [
        format(float(line["se"]), "g") if line["se"] else "" for line in table
    ]
    wide = read(folder / "w.sex.csv")
    assert list(wide[0])[:8] == [
        "sex", "people", "people_lower", "people_upper", "people_flag", "people_complete",
        "people_se", "people_cv",
    ]  # fmt: skip
    assert [line["people_se"] for line in wide] == [line["se"] for line in table[:2]]
    assert [line["middle_se"] for line in wide] == [line["se"] for line in table[-2:]]


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_metadata_describe_the_columns(dpcli: Command, folder: Path, layout: str) -> None:
    """A program that reads CSV on the Web finds a number and its meaning in each column."""
    release(dpcli, folder, BOTH, "--metadata", str(folder / "m.json"), "--layout", layout)
    metadata = reported(folder / "m.json")
    tables = metadata.get("tables", [metadata])
    for table in tables:
        columns = table["tableSchema"]["columns"]
        header = list(read(folder / table["url"])[0])
        assert [column["titles"][0] for column in columns] == header
        for column in columns:
            if re.search("(^|_)(se|cv)$", column["name"]):
                assert column["datatype"] == "decimal"
                assert re.search("standard error|coefficient", column["dc:description"])


def test_pages_show_and_explain_the_columns(dpcli: Command, folder: Path) -> None:
    """With the numbers of the table, and a sentence that says what they are."""
    release(dpcli, folder, BOTH)
    first = read(folder / "out.csv")[0]
    for ending in ("md", "html"):
        text = (folder / f"out.{ending}").read_text(encoding="utf-8")
        assert supported_error(first["se"]) in text
        assert supported_error(first["cv"]) in text
        assert "the standard error. Of a count, a sum" in re.sub("</?code>", "", text)


@pytest.mark.parametrize("names", [(), ("cv",)])
def test_columns_are_asked_for_and_cost_nothing(
    names: tuple[str, ...], dpcli: Command, folder: Path
) -> None:
    """A table has the columns that the spec names, and no more; the plan has the same queries."""
    spec, plans = folder / "spec.yaml", []
    output = f"output: {{columns: [{', '.join(names)}]}}" if names else ""
    path = release(dpcli, folder, output)
    for text in (output, BOTH):
        spec.write_text(SPEC.replace("OUTPUT", text), encoding="utf-8")
        plans.append(dpcli("plan", spec, "--json").json)
        del plans[-1]["spec"]

    assert list(read(folder / "out.csv")[0])[-1 - len(names) :] == ["unit", *names]
    found = set(re.findall(rb'"(se|cv|optional_columns)":', path.read_bytes()))
    assert found == ({b"cv", b"optional_columns"} if names else set())
    assert plans[1].pop("optional_columns")
    assert bool(plans[0].pop("optional_columns", None)) is bool(names)
    assert plans[0] == plans[1]


def test_a_column_of_a_later_version_is_refused(dpcli: Command, folder: Path) -> None:
    """A stored report may state a column that is not known here: the message names it."""
    content = release(dpcli, folder, BOTH).read_bytes()
    later = content.replace(b'"name": "cv"', b'"name": "rse"').replace(b'"cv":', b'"rse":')
    assert later != content

    with pytest.raises(LedgerError, match="the column `rse`, which this version"):
        Report.parse(later)

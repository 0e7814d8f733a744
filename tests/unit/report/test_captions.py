"""Titles, units, notes and the format of numbers: where people read them, and where not."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from dpcli.report.digits import GAP, number_writer
from dpcli.report.formats import report_schema
from dpcli.specification.captions import NUMBER_FORMATS
from dpcli.specification.load import parse_central_spec
from tests.support.browser import BROWSER, faults
from tests.support.cli import PEOPLE, Command
from tests.support.specs import completed
from tests.support.terminal import on_terminal

SPEC = """\
dpcli: 1
dataset: town
title: Visits to the clinics
note: Tourists are not included.
numbers: 1 234,5
rows_are: visits
privacy:
  unit: {column: person_id, max_rows: 3}
  neighbors: add-remove
  budget: {epsilon: 300}
columns:
  person_id: {type: id}
  age:       {type: integer, bounds: [0, 110], title: Age at the visit, unit: years}
  sex:       {type: category, values: {0: "1", 1: female, 2: other}, title: Sex as registered}
  income:    {type: number, bounds: [0, 10000], step: 10, unit: EUR}
statistics:
  - {name: people, statistic: count_distinct, by: [sex], epsilon: 2, title: People who came}
  - {name: pay, statistic: mean, column: income, by: [sex], epsilon: 5, title: Mean <income>,
     note: High incomes are cut.}
  - {name: total, statistic: sum, column: income, epsilon: 20}
  - {name: ages, statistic: histogram, column: age, bins: {width: 10}, epsilon: 1.5, unit: visits}
"""


@pytest.fixture
def released(dpcli: Command, tmp_path: Path) -> Path:
    """A folder with all outputs of a release whose spec has captions."""
    (tmp_path / "spec.yaml").write_text(SPEC)
    reports = [word for end in ("html", "md", "json", "yaml")
               for word in ("--report", tmp_path / f"r.{end}")]  # fmt: skip
    done = dpcli("release", tmp_path / "spec.yaml", PEOPLE, "-o", tmp_path / "out.csv", *reports)
    assert done.status == 0, done.err
    return tmp_path


WRITTEN = (
    "1234567.50",
    "1234567,50",
    "1,234,567.50",
    "1.234.567,50",
    f"1{GAP}234{GAP}567.50",
    f"1{GAP}234{GAP}567,50",
    "1'234'567.50",
)


@pytest.mark.parametrize(
    ("example", "written"), list(zip(NUMBER_FORMATS, WRITTEN, strict=True)), ids=NUMBER_FORMATS
)
def test_numbers_are_written_as_the_example(example: str, written: str) -> None:
    """Only whole plain decimals are written in another way; labels, dates and ranges are not."""
    write = number_writer(example)

    assert write("1234567.50") == write("1,234,567.50") == written
    assert write("-1234567.50%") == f"-{written}%"
    for text in ("", "10-19", "[0.0,0.5)", "2024-03-05", "1e-7", "12 to 13", "a"):
        assert write(text) == text


def test_without_an_example_numbers_are_as_they_were() -> None:
    """A spec that states no format changes no number."""
    assert number_writer(None)("1234567.50") == "1234567.50"


def test_units_follow_from_columns() -> None:
    """A mean has the unit of its column; a count has none unless it states one."""
    spec = parse_central_spec(SPEC, "spec.yaml")

    units = {entry.inputs.name: entry.caption.unit for entry in spec.entries}

    assert units == {"people": "", "pay": "EUR", "total": "EUR", "ages": "visits"}


def test_a_variance_has_not_the_unit_of_its_column() -> None:
    """Statistics whose numbers have another unit get none from the column."""
    columns = "columns: {x: {type: integer, bounds: [0, 9], unit: m}}"
    names = ("variance", "std", "median", "sum")
    entries = "".join(
        f"  - {{name: {n}, statistic: {n}, column: x, epsilon: 0.1}}\n" for n in names
    )
    spec = parse_central_spec(completed(f"{columns}\nstatistics:\n{entries}"), "spec.yaml")

    assert [entry.caption.unit for entry in spec.entries] == ["", "m", "m", "m"]


def test_a_reader_of_the_page_alone_knows_each_statistic_and_its_unit(released: Path) -> None:
    """The page has every title, unit and note as text, next to the numbers that they describe."""
    page = (released / "r.html").read_text()
    parts = page.partition('id="appendix"')[0].split('<h3 id="table-')[1:]

    assert "Visits to the clinics (town)" in page and "Tourists are not included." in page
    for part, texts in zip(
        parts,
        (
            (
                "People who came",
                "(people in the table)",
                "Sex as registered",
                "Mean &lt;income&gt; (EUR)",
                "The unit is EUR.",
                "High incomes are cut.",
            ),
            ("total: over visits", "value (EUR)"),
            ("ages: counts visits", "value (visits)", "Age at the visit (years)"),
        ),
        strict=True,
    ):
        assert [text for text in texts if text not in part] == []
    assert re.search(rf"\d{GAP}\d\d\d{GAP}\d\d\d,\d\d|\d{GAP}\d\d\d{GAP}\d\d\d", page)
    assert "<bdi>1</bdi>" in page


def test_the_other_reports_have_the_same_texts(released: Path) -> None:
    """Markdown and JSON state titles, units and notes; the record for the register the title."""
    markdown = html.unescape((released / "r.md").read_text()).replace("\\", "")
    stated = json.loads((released / "r.json").read_text())

    for text in ("Visits to the clinics (town)", "Mean <income>", "value (EUR)", "High incomes"):
        assert text in markdown
    assert Draft202012Validator(json.loads(report_schema())).is_valid(stated)
    assert stated["spec"]["title"] == "Visits to the clinics"
    assert stated["statistics"][1]["title"] == "Mean <income>"
    assert stated["statistics"][1]["unit"] == "EUR"
    assert 'name: "Visits to the clinics"' in (released / "r.yaml").read_text()


def test_the_table_keeps_names_and_plain_decimals(released: Path) -> None:
    """The CSV has the name of each entry, and digits with a decimal point."""
    lines = (released / "out.csv").read_text().splitlines()[1:]

    assert {line.split(",")[0] for line in lines} == {"people", "pay", "total", "ages"}
    for line in lines:
        assert re.fullmatch(r"(-?[0-9]+(\.[0-9]+)?)?", line.split(",")[3])


@pytest.mark.skipif(BROWSER is None, reason="no browser on this machine")
def test_the_page_with_captions_has_no_faults(released: Path) -> None:
    """Nothing overlaps or leaves the page, on a phone and on a screen."""
    page = (released / "r.html").read_text()
    assert faults((page, 360), (page, 1200)) == [[], []]


def test_a_terminal_of_80_columns_shows_titles_and_units(tmp_path: Path) -> None:
    """The plan and the summary list what each name means, and no line is too long."""
    (tmp_path / "spec.yaml").write_text(SPEC)
    for words in (("plan", "spec.yaml"), ("release", "spec.yaml", PEOPLE)):
        shown = on_terminal(*words, columns=80, cwd=tmp_path)

        text = " ".join(shown.text.split())
        assert "High incomes are cut." in text and "Mean <income> (EUR)" in text
        assert "total (EUR)" in shown.lines or "; in EUR" in text
        assert max(map(len, shown.lines)) <= 80
    assert re.search(rf"total +visits? +\d+{GAP}\d\d\d{GAP}\d\d\d", shown.text)

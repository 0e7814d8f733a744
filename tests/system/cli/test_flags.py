"""Flags and withheld numbers in tables, reports and the summary of a release."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpcli.noise import entropy
from tests.support.cli import Command, reported, table
from tests.support.streams import Stream

SPEC = """\
dpcli: 1
dataset: quality
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 100}}
columns:
  sex: {type: category, values: [f, m, x]}
  flag: {type: category, values: [yes, no]}
  pay: {type: integer, bounds: [0, 100]}
statistics:
"""

DATA = "sex,flag,pay\n" + "f,yes,40\n" * 400 + "m,no,60\n" * 400


class Place:
    """A folder with a spec and its data."""

    def __init__(self, folder: Path, dpcli: Command) -> None:
        self.folder, self._dpcli = folder, dpcli
        (folder / "data.csv").write_text(DATA, encoding="utf-8")

    def release(self, *entries: str, layout: str = "long") -> str:
        """Release these statistics, and return standard error."""
        text = SPEC + "".join(f"  - {entry}\n" for entry in entries)
        (self.folder / "spec.yaml").write_text(text, encoding="utf-8")
        done = self._dpcli(
            "release", self.folder / "spec.yaml", self.folder / "data.csv",
            "-o", self.folder / "out.csv", "--layout", layout,
            *(word for end in ("json", "md", "html") for word in ("--report", self.path(end))),
        )  # fmt: skip
        assert done.status == 0, done.err
        return done.err

    def path(self, ending: str) -> Path:
        """The path of a report."""
        return self.folder / f"r.{ending}"

    def rows(self) -> list[dict[str, str]]:
        """The published table."""
        return table(self.folder / "out.csv")


@pytest.fixture
def place(tmp_path: Path, dpcli: Command) -> Place:
    """A folder with data about two sexes, and without rows of a third."""
    return Place(tmp_path, dpcli)


COUNT = "{name: people, statistic: count, by: [sex], epsilon: 0.5}"
HOPELESS = "{name: pay, statistic: mean, column: pay, where: {sex: x}, epsilon: 0.01}"


def test_a_mean_over_no_rows_has_no_information(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its interval is its declared bounds, which are public, unless noise looks like rows."""
    monkeypatch.setattr(entropy, "source", Stream("no rows"))
    err = place.release(HOPELESS)
    (row,) = place.rows()

    assert (row["lower"], row["upper"]) == ("0.000", "100.000")
    assert row["flag"] == "no-information"
    (cell,) = reported(place.path("json"))["statistics"][0]["cells"]
    assert cell["flag"] == "no-information"
    reason = "the interval covers all that is possible"
    assert re.search(r"^pay +rows +[0-9.]+\*\* ", err, re.MULTILINE)
    assert f"** no-information: {reason}" in err
    assert reason in place.path("md").read_text("utf-8")
    page = place.path("html").read_text("utf-8")
    assert f"Flag no-information: {reason}" in page and '<tr class="flagged">' in page


def test_a_release_without_flags_mentions_none(place: Place) -> None:
    """A table of reliable numbers has no column for flags."""
    err = place.release("{name: all, statistic: count, epsilon: 5}")

    assert "*" not in err and "unreliable" not in err
    assert 'class="flagged"' not in place.path("html").read_text("utf-8")


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_withheld_numbers_are_blank(place: Place, layout: str) -> None:
    """A number that is too uncertain is blank in both layouts, with a note in the report."""
    entry = COUNT.replace("epsilon", "withhold: {wider_than: 1e-6}, epsilon")
    place.release(entry, layout=layout)
    rows = place.rows()
    if layout == "long":
        cells = {(row["value"], row["lower"], row["upper"], row["flag"]) for row in rows}
        assert cells == {("", "", "", "suppressed")}
    else:
        assert list(rows[0]) == [
            *("sex", "people", "people_lower", "people_upper"),
            *("people_flag", "people_complete"),
        ]
        assert {tuple(row.values())[1:5] for row in rows} == {("", "", "", "suppressed")}
    report = reported(place.path("json"))
    assert report["post_processing"] == [
        "people: left out where half the width of the interval is more than 1e-6 of the value"
    ]
    assert {cell["flag"] for cell in report["statistics"][0]["cells"]} == {"suppressed"}


def test_withholding_costs_nothing_and_changes_no_noise(place: Place, dpcli: Command) -> None:
    """Scale and loss are those of the same statistic without it, and the plan lists the step."""
    plans = []
    for entry in (COUNT, COUNT.replace("epsilon", "withhold: {wider_than: 0.3}, epsilon")):
        spec = place.folder / "plan.yaml"
        spec.write_text(f"{SPEC}  - {entry}\n", encoding="utf-8")
        done = dpcli("plan", spec, "--json").succeeded()
        plans.append(done.json)
    without, withheld = plans

    assert without["privacy"] == withheld["privacy"]
    assert without["statistics"][0]["queries"] == withheld["statistics"][0]["queries"]
    assert without["post_processing"] == []
    assert withheld["statistics"][0]["post"] == [
        "left out where half the width of the interval is more than 0.3 of the value"
    ]


def test_a_key_called_flag_keeps_its_column(place: Place) -> None:
    """Data may have a column of that name; the column of flags then gets a number."""
    place.release("{name: n, statistic: count, by: [flag], epsilon: 5}")
    header = (place.folder / "out.csv").read_text("utf-8").splitlines()[0]

    assert header == "statistic,flag,item,value,lower,upper,flag_2,complete,unit"
    assert [row["flag"] for row in place.rows()] == ["yes", "no"]

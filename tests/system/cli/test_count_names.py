"""Every output names what is counted: rows by their word, people, or different values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpcli.problems.errors import SpecError
from dpcli.specification.load import parse_central_spec
from tests.support.cli import Command, written

SPEC = """\
dpcli: 1
dataset: named
ROWS
privacy: {unit: UNIT, neighbors: add-remove, budget: {epsilon: 100}}
columns:
  who: {type: id}
  sex: {type: category, values: [f, m]}
  age: {type: integer, bounds: [0, 100]}
statistics:
  - {name: came, statistic: count, epsilon: 1}
  - {name: ages, statistic: histogram, column: age, bins: {width: 50}, epsilon: 1}
  - {name: years, statistic: count_distinct, column: age, epsilon: 1}
  - {name: mean_age, statistic: mean, column: age, by: [sex], epsilon: 1}
"""

PEOPLE = """\
  - {name: persons, statistic: count_distinct, epsilon: 1}
  - {name: by_sex, statistic: count_distinct, by: [sex], epsilon: 1}
  - {name: capped, statistic: count, by: [sex], bound: sum, unit_bounds: [0, 9], epsilon: 1}
"""

DATA = "who,sex,age\n" + "".join(f"{n % 70},f,{n % 90}\n" for n in range(500))

UNIT = "{column: who, max_rows: 3, max_groups: 2}"


def planned(dpcli: Command, folder: Path, rows: str, unit: str) -> dict[str, dict[str, str | None]]:
    """The facts of each statistic of a plan, by name."""
    text = SPEC.replace("ROWS", rows).replace("UNIT", unit) + (PEOPLE if unit != "row" else "")
    spec, _ = written(folder, text, DATA)
    done = dpcli("plan", spec, "--json").succeeded()
    return {statistic["name"]: statistic for statistic in done.json["statistics"]}


def test_each_statistic_names_what_it_counts(dpcli: Command, tmp_path: Path) -> None:
    """Visits, people and different values have different names; with rows, nothing is left out."""
    facts = planned(dpcli, tmp_path, "rows_are: visits", UNIT)
    rows = planned(dpcli, tmp_path, "", "row")

    assert {name: one["counts"] for name, one in facts.items()} == {
        **dict.fromkeys(("came", "ages", "mean_age", "capped"), "visits"),
        **dict.fromkeys(("persons", "by_sex"), "people"),
        "years": "different values of age",
    }
    assert {fact["counts"] for fact in rows.values()} == {"rows", "different values of age"}
    assert {name: one["counted"] for name, one in rows.items()} == {
        name: one["counts"] for name, one in rows.items()
    }


def test_each_statistic_names_its_limits(dpcli: Command, tmp_path: Path) -> None:
    """Limits apply to groups if there are groups, and to totals if a total is declared."""
    facts = planned(dpcli, tmp_path, "rows_are: visits", UNIT)
    some = "at most 3 of each person"

    assert {name: one["counted"] for name, one in facts.items()} == {
        "came": f"visits ({some})",
        "ages": f"visits ({some}, in at most 2 groups)",
        "years": f"different values of age ({some})",
        "mean_age": f"visits ({some})",
        "persons": "people",
        "by_sex": "people",
        "capped": "visits",
    }


def test_headings_name_the_unit(dpcli: Command, tmp_path: Path) -> None:
    """A reader who sees only headings does not confuse visits with people, nor in tables."""
    planned(dpcli, tmp_path, "rows_are: visits", UNIT)
    spec, reports = tmp_path / "spec.yaml", [tmp_path / "r.md", tmp_path / "r.html"]
    named = [word for report in reports for word in ("--report", report)]
    summary = dpcli("release", spec, tmp_path / "data.csv", *named).succeeded().err
    plan = dpcli("plan", spec, "--details").out
    for report in reports:
        text = re.sub(r"<[^>]+>|\\", "", report.read_text(encoding="utf-8")).replace("\xa0", " ")
        for heading in (
            *("came: counts visits", "ages: counts visits", "mean_age: over visits"),
            *("persons: counts people", "years: counts different values of age"),
            "visits (at most 3 of each person)",
        ):
            assert heading in text

    assert re.search(r"^came: number of visits\b", plan, re.MULTILINE)
    assert re.search(r"^persons: number of people\b", plan, re.MULTILINE)
    assert re.search(r"^came +count of visits ", plan, re.MULTILINE)
    assert re.search(r"^persons +number of people ", plan, re.MULTILINE)
    assert re.search(r"^came +visits ", summary, re.MULTILINE)
    assert re.search(r"^persons +people ", summary, re.MULTILINE)
    assert "at most 3 visits of a person are used, chosen at random from those" in plan
    assert re.search(r"came: .*at most 3 of the visits of each person", summary)


@pytest.mark.parametrize(
    ("word", "accepted"),
    [
        *((word, True) for word in ("people", "hospital stays", "follow-ups", "visites é")),
        *((word, False) for word in ("v1", "'=cmd'", "a_b", "'a  b'", "'-a'", "x" * 41, "'<b>'")),
    ],
)
def test_a_plural_of_any_alphabet_is_accepted(word: str, *, accepted: bool) -> None:
    """The word appears in tables and pages: letters, spaces and hyphens alone."""
    text = SPEC.replace("ROWS", f"rows_are: {word}").replace("UNIT", "row")
    if accepted:
        assert parse_central_spec(text, "spec.yaml").rows_are == word
    else:
        with pytest.raises(SpecError, match="`rows_are` is"):
            parse_central_spec(text, "spec.yaml")

"""Every output names what is counted: rows by their word, people, or different values."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.cli import Command

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
    spec = folder / "spec.yaml"
    text = SPEC.replace("ROWS", rows).replace("UNIT", unit) + (PEOPLE if unit != "row" else "")
    spec.write_text(text, encoding="utf-8")
    (folder / "data.csv").write_text(DATA, encoding="utf-8")
    done = dpcli("plan", spec, "--json")
    assert done.status == 0, done.err
    return {statistic["name"]: statistic for statistic in json.loads(done.out)["statistics"]}


def test_each_statistic_names_what_it_counts(dpcli: Command, tmp_path: Path) -> None:
    """Visits, people and different values always have different names."""
    facts = planned(dpcli, tmp_path, "rows_are: visits", UNIT)

    assert {name: one["counts"] for name, one in facts.items()} == {
        "came": "visits",
        "ages": "visits",
        "years": "different values of age",
        "mean_age": "visits",
        "persons": "people",
        "by_sex": "people",
        "capped": "visits",
    }


def test_each_statistic_says_what_the_limits_leave_out(dpcli: Command, tmp_path: Path) -> None:
    """Limits apply to groups if there are groups, and to totals if a total is declared."""
    facts = planned(dpcli, tmp_path, "rows_are: visits", UNIT)
    some = "at most 3 visits per person are used; more are left out at random"
    grouped = (
        "at most 3 visits per person are used, in at most 2 groups; more are left out at random"
    )
    used = "; the interval is about what is used"
    limits = f"in at most 2 groups; more groups are left out at random{used}"
    groups = "; no check counts what limits on groups leave out"

    assert {name: one["left_out"] for name, one in facts.items()} == {
        "came": some + used,
        "ages": grouped + used + groups,
        "years": some + used,
        "mean_age": grouped + used,
        "persons": "each person counts once, by any of their visits",
        "by_sex": f"each person counts once in a group, {limits}",
        "capped": f"all visits of a person are used, up to a total that is declared, {limits}",
    }


def test_a_limit_of_one_row_is_singular(dpcli: Command, tmp_path: Path) -> None:
    """A limit of one is written in the singular."""
    facts = planned(dpcli, tmp_path, "rows_are: visits", "{column: who, max_rows: 1}")

    assert facts["came"]["left_out"] == (
        "at most one of the visits of a person is used; others are left out at random; "
        "the interval is about what is used"
    )


def test_rows_are_rows_by_default_and_no_limit_is_mentioned(dpcli: Command, tmp_path: Path) -> None:
    """With rows as the privacy unit, nothing is left out."""
    facts = planned(dpcli, tmp_path, "", "row")

    assert {fact["counts"] for fact in facts.values()} == {"rows", "different values of age"}
    assert {fact["left_out"] for fact in facts.values()} == {None}


@pytest.mark.parametrize("ending", ["md", "html"])
def test_headings_name_the_unit(dpcli: Command, tmp_path: Path, ending: str) -> None:
    """A reader who sees only headings does not confuse visits with people."""
    planned(dpcli, tmp_path, "rows_are: visits", UNIT)
    report = tmp_path / f"r.{ending}"
    done = dpcli("release", tmp_path / "spec.yaml", tmp_path / "data.csv", "--report", report)
    text = re.sub(r"<[^>]+>|\\", "", report.read_text(encoding="utf-8")).replace("\xa0", " ")

    assert done.status == 0, done.err
    for heading in (
        "came: counts visits", "ages: counts visits", "mean_age: over visits",
        "persons: counts people", "years: counts different values of age",
    ):  # fmt: skip
        assert heading in text
    assert "At most 3 visits per person are used; more are left out at random;" in text


def test_the_plan_and_the_summary_name_the_unit(dpcli: Command, tmp_path: Path) -> None:
    """Both tables name it in each line."""
    planned(dpcli, tmp_path, "rows_are: visits", UNIT)
    plan = dpcli("plan", tmp_path / "spec.yaml").out
    summary = dpcli("release", tmp_path / "spec.yaml", tmp_path / "data.csv").err

    assert re.search(r"^came +count of visits ", plan, re.MULTILINE)
    assert re.search(r"^persons +number of people ", plan, re.MULTILINE)
    assert re.search(r"^came +visits ", summary, re.MULTILINE)
    assert re.search(r"^persons +people ", summary, re.MULTILINE)
    assert "at most 3 visits of a person are used, chosen at random from those" in plan
    assert "came, years: at most 3 visits per person are used; more are left out" in summary


@pytest.mark.parametrize("word", ["visits", "hospital stays", "follow-ups", "Besuche", "visites é"])
def test_a_plural_of_any_alphabet_is_accepted(dpcli: Command, tmp_path: Path, word: str) -> None:
    """Letters of any alphabet, spaces and hyphens."""
    assert planned(dpcli, tmp_path, f"rows_are: {word}", "row")["came"]["counts"] == word


@pytest.mark.parametrize("word", ["v1", "'=cmd'", "a_b", "'a  b'", "'-a'", "x" * 41, "'<b>'"])
def test_a_word_with_other_characters_is_refused(dpcli: Command, tmp_path: Path, word: str) -> None:
    """The word appears in tables and pages, so it may hold nothing but letters."""
    spec = tmp_path / "spec.yaml"
    text = SPEC.replace("ROWS", f"rows_are: {word}").replace("UNIT", "row")
    spec.write_text(text, encoding="utf-8")
    done = dpcli("plan", spec)

    assert done.status == 3
    assert "error[bad-name]: `rows_are` is" in done.err


def test_rows_can_be_called_people_where_rows_are_protected(dpcli: Command, tmp_path: Path) -> None:
    """A file with one row per person counts people by counting rows."""
    assert planned(dpcli, tmp_path, "rows_are: people", "row")["came"]["counts"] == "people"

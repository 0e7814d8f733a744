"""What plans say of limits on people: each sentence names the statistics under that limit."""

from __future__ import annotations

import re

import pytest

from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.planning.words.data import bounding_notes, limit_warnings, quality_warnings
from dpcli.planning.words.quality import check_rule
from dpcli.planning.words.risks import Verdict, risks
from dpcli.specification.load import parse_central_spec

SPEC = """\
dpcli: 1
dataset: d
privacy: {unit: {column: id, UNIT}, neighbors: add-remove, budget: {epsilon: 20}}
QUALITY
columns:
  id: {type: id}
  sex: {type: category, values: [f, m]}
  town: {type: category, values: [a, b, c, d]}
  paid: {type: integer, bounds: [0, 10]}
statistics:
  - {name: rows, statistic: count, epsilon: 1}
  - {name: by_town, statistic: count, by: [town], epsilon: 1}
  - {name: by_sex, statistic: count, by: [sex], epsilon: 1}
  - {name: people, statistic: count_distinct, epsilon: 1}
  - {name: people_by_town, statistic: count_distinct, by: [town], epsilon: 1}
  - {name: labels, statistic: count_distinct, column: town, epsilon: 1}
  - {name: total, statistic: sum, column: paid, bound: sum, unit_bounds: [0, 50], epsilon: 1}
  - {name: totals, statistic: count, by: [town], bound: sum, unit_bounds: [0, 50], epsilon: 1}
  - {name: usual, statistic: mode, column: sex, epsilon: 1}
  - {name: gap, statistic: comparison, between: {sex: [f, m]}, epsilon: 1}
"""

QUALITY = "quality: {epsilon: 1, min_rows: 1000, max_limited: 0.05}"


def planned(unit: str, quality: str = QUALITY, only: str = "", **own: str) -> CentralPlan:
    """The plan with these limits, and with those of entries; of all statistics, or of one."""
    text = SPEC.replace("UNIT", unit).replace("QUALITY", quality)
    for name, limits in own.items():
        text = text.replace(f"name: {name},", f"name: {name}, {limits},")
    lines = [line for line in text.splitlines() if not only or "name:" not in line or only in line]
    return make_plan(parse_central_spec("\n".join(lines), "spec"))


def named(unit: str, quality: str = QUALITY) -> dict[str, str]:
    """The names in warnings about a limit on rows, by what is left out."""
    found = (re.fullmatch("([^:]+): (rows of a person .*) are left out, so .*", text)
             for text in limit_warnings(planned(unit, quality)))  # fmt: skip
    return {match[2]: match[1] for match in found if match}


def remedies(unit: str, quality: str = QUALITY, **own: str) -> dict[str, tuple[str, ...]]:
    """The limits that each warning about groups proposes for its entry, by the name of that.

    `own` are limits that an entry states, by its name.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in limit_warnings(planned(unit, quality, **own)):
        name, _, rest = text.partition(":")
        if "In this entry" in rest:
            found[name] = (*found.get(name, ()), *re.findall("`([a-z_]+: [0-9]+)`", rest))
    return found


def test_warnings_name_the_statistics_under_each_limit() -> None:
    """People and totals of all rows are under no limit on rows; few groups are never limited.

    Where a check counts what limits leave out, tables say what it shows.
    """
    rows = "rows, by_town, by_sex, labels, gap"

    assert named("max_rows: 10", QUALITY) == {}
    assert named("max_rows: 10", "") == {"rows of a person beyond a limit of 10": rows}
    assert named("max_rows: 10, max_groups: 2", "") == {
        "rows of a person beyond a limit of 10": rows
    }
    assert named("max_rows: 10, max_rows_per_group: 2, max_groups: 4", "") == {
        "rows of a person beyond a limit of 10": "rows, labels",
        "rows of a person beyond a limit of 8": "by_town, by_sex, gap",
    }


def test_a_limit_of_an_entry_is_named_in_the_warning_about_it() -> None:
    """Lower or higher than that of the unit, it is what leaves rows out of this entry."""
    text = SPEC.replace("count, by: [sex]", "count, max_rows: 20, by: [sex]")
    text = text.replace("count, by: [town], epsilon", "count, max_rows: 4, by: [town], epsilon", 1)
    text = text.replace("UNIT", "max_rows: 10").replace("QUALITY", "")
    plan = make_plan(parse_central_spec(text, "s"))
    found = [text.split(" are left out")[0] for text in limit_warnings(plan)]

    assert found == [
        "rows, labels, gap: rows of a person beyond a limit of 10",
        "by_town: rows of a person beyond a limit of 4",
        "by_sex: rows of a person beyond a limit of 20",
    ]
    notes = [*bounding_notes(plan)]
    assert "by_town: at most 4 rows per person are used; more are left out at random" in notes
    assert "by_sex: at most 20 rows per person are used; more are left out at random" in notes


@pytest.mark.parametrize("quality", [QUALITY, ""])
def test_each_entry_is_warned_of_a_limit_on_groups_of_the_unit(quality: str) -> None:
    """It names the limit that leaves no group out, and the one that says the limit is right."""
    four, both = ("max_groups: 4", "max_groups: 3"), ("max_groups: 4", "max_groups: 2")
    assert remedies("max_rows: 10", quality) == {}
    # All rows of a person are in a total, whatever the limit on rows is.
    assert remedies("max_rows: 3", quality) == {"people_by_town": four, "totals": four}
    assert remedies("max_rows: 10, max_groups: 2", quality) == {
        "by_town": both, "people_by_town": both, "totals": both
    }  # fmt: skip
    assert remedies("max_rows: 3, max_groups: 2", quality)["by_town"] == (
        "max_groups: 3", "max_groups: 2"
    )  # fmt: skip
    in_group = ("max_rows_per_group: 10", "max_rows_per_group: 2")
    assert remedies("max_rows: 10, max_rows_per_group: 2, max_groups: 4", quality) == {
        "by_town": in_group, "by_sex": in_group, "gap": in_group
    }  # fmt: skip


def test_an_entry_that_states_its_limit_is_not_warned() -> None:
    """Whether it states that of the unit or another one; the other entries still are."""
    unit = "max_rows: 10, max_groups: 1"
    every = remedies(unit)
    assert every.keys() == {"by_town", "by_sex", "people_by_town", "totals", "gap"}
    for own in ("max_groups: 1", "max_groups: 4"):
        assert remedies(unit, by_town=own, totals=own).keys() == every.keys() - {
            "by_town", "totals"
        }  # fmt: skip
    assert remedies(unit, by_town="max_rows: 5").keys() == every.keys()


def test_a_limit_that_one_row_follows_from_is_one_on_rows() -> None:
    """With one row in one group, people with two rows lose the others."""
    plan = planned(
        "max_rows: 4, max_groups: 1, max_rows_per_group: 1", "", "by_town, statistic: count,"
    )

    assert [text.split(" are ")[0] for text in limit_warnings(plan)] == [
        "by_town: rows of a person beyond a limit of 1"
    ]


@pytest.mark.parametrize(
    ("unit", "quality", "only", "advice"),
    [
        ("max_rows: 10", QUALITY, "", "`complete` says what noisy counts show"),
        ("max_rows: 10", "", "", "Run `dpcli simulate` to see the bias"),
        ("max_rows: 10, max_groups: 1", QUALITY, "", "`complete` says what noisy counts show"),
        ("max_rows: 10", "", "name: people,", ""),
        ("max_rows: 10", "", "name: total,", ""),
    ],
)
def test_the_risk_of_limits_depends_on_what_is_counted(
    unit: str, quality: str, only: str, advice: str
) -> None:
    """A simulation is advised for what no check counts; without left-out rows, nothing is."""
    (risk,) = (one for one in risks(planned(unit, quality, only)) if one.risk == "limits")

    assert risk.verdict is (Verdict.WARNED if advice else Verdict.MET)
    assert advice in (risk.advice or "")
    assert ("simulate" in (risk.advice or "")) == ("simulate" in advice)


def test_a_limit_that_counts_choose_is_not_known_to_plans() -> None:
    """The outermost limit is named as what it is."""
    unit = "max_rows: {choose: 1-2-5, up_to: 1000, epsilon: 0.5}"
    (warning,) = limit_warnings(planned(unit, "", "name: rows,"))

    assert "beyond the limit that noisy counts choose, of at most 1,000, are left out" in warning


def test_what_may_show_numbers_complete_is_for_the_author_of_the_spec() -> None:
    """Reports state what the check cannot show, and warnings of plans which keys may help."""
    plan = planned("max_rows: 3, max_groups: 3")
    keys = "`possible_rows` or `possible_groups`"
    (warning,) = (text for text in quality_warnings(plan) if keys in text)

    assert any("no count can show" in text and "by_town" in text for text in check_rule(plan))
    assert "by_town" in warning
    assert not any(keys in text for text in check_rule(plan))

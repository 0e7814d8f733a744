"""What plans say of limits on people: each sentence names the statistics under that limit."""

from __future__ import annotations

import re

import pytest

from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.planning.words.data import bounding_notes, left_out_note, limit_warnings
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


def planned(unit: str, quality: str = QUALITY, only: str = "") -> CentralPlan:
    """The plan with these limits; of all statistics, or of one."""
    text = SPEC.replace("UNIT", unit).replace("QUALITY", quality)
    lines = [line for line in text.splitlines() if not only or "name:" not in line or only in line]
    return make_plan(parse_central_spec("\n".join(lines), "spec"))


def named(unit: str, quality: str = QUALITY) -> dict[str, str]:
    """The names in each warning, by what is left out."""
    found = (re.fullmatch("([^:]+): (.*?),? (?:so|are) .*", text)
             for text in limit_warnings(planned(unit, quality)))  # fmt: skip
    return {match[2]: match[1] for match in found if match}


@pytest.mark.parametrize("quality", [QUALITY, ""])
def test_warnings_name_the_statistics_under_each_limit(quality: str) -> None:
    """People and totals of all rows are under no limit on rows; few groups are never limited."""
    rows = "rows, by_town, by_sex, labels, gap"

    assert named("max_rows: 10", quality) == {"rows of a person beyond a limit of 10": rows}
    assert named("max_rows: 3", quality) == {
        "rows of a person beyond a limit of 3": rows,
        "of a person in more than 3 groups, the rows in others": "people_by_town, totals",
    }
    assert named("max_rows: 10, max_groups: 2", quality) == {
        "rows of a person beyond a limit of 10": rows,
        "of a person in more than 2 groups, the rows in others": "by_town, people_by_town, totals",
    }
    assert named("max_rows: 10, max_rows_per_group: 2, max_groups: 4", quality) == {
        "rows of a person beyond a limit of 10": "rows, labels",
        "rows of a person beyond a limit of 8": "by_town, by_sex, gap",
        "rows of a person beyond 2 in a group": "by_town, by_sex, gap",
    }


def test_no_flag_is_promised_for_limits_on_groups() -> None:
    """The check counts people by all their rows, which shows nothing about groups."""
    warnings = limit_warnings(planned("max_rows: 10, max_groups: 1"))
    rules = list(check_rule(planned("max_rows: 10, max_groups: 1")))

    assert [("have the flag `limited`" in text) for text in warnings] == [True, False]
    assert "no check counts them, no flag shows it" in warnings[1]
    assert warnings[1].endswith("every interval is about the groups that are kept")
    assert "by_town, by_sex, people_by_town, totals, gap: rows that limits on groups" in rules[-1]
    assert "are not counted" in rules[-1]
    assert "`max_limited` stops no release for them" in rules[-1]
    assert "groups" not in " ".join(check_rule(planned("max_rows: 10")))


def test_where_one_row_is_used_the_count_shows_all() -> None:
    """With one row in one group, people with two rows lose the others, and that is counted."""
    plan = planned(
        "max_rows: 4, max_groups: 1, max_rows_per_group: 1", only="by_town, statistic: count,"
    )

    assert [text.split(" are ")[0] for text in limit_warnings(plan)] == [
        "by_town: rows of a person beyond a limit of 1"
    ]
    assert not any("no check" in text for text in bounding_notes(plan))


def test_statistics_and_bounds_state_what_no_check_counts() -> None:
    """So do all forms of a report, which are made of these sentences."""
    plan = planned("max_rows: 10, max_groups: 2")
    said = {stated.name: left_out_note(stated, plan.spec) for stated in plan.statistics}

    assert [*bounding_notes(plan)][-1].startswith(
        "by_town, people_by_town, totals: no check counts"
    )
    for name, sentence in said.items():
        uncounted = name in {"by_town", "people_by_town", "totals"}
        assert sentence.endswith("no check counts what limits on groups leave out") == uncounted
    assert said["usual"].endswith("the choice is about what is used")


@pytest.mark.parametrize(
    ("unit", "quality", "only", "advice"),
    [
        ("max_rows: 10", QUALITY, "", "the quality check counts how many, at least"),
        ("max_rows: 10", "", "", "run `dpcli simulate` to see the bias"),
        ("max_rows: 10, max_groups: 1", QUALITY, "", "does not count those that limits on groups"),
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
    assert advice in risk.warning
    assert ("simulate" in risk.warning) == ("simulate" in advice or "groups" in advice)


def test_a_limit_that_counts_choose_is_not_known_to_plans() -> None:
    """The outermost limit is named as what it is."""
    unit = "max_rows: {choose: 1-2-5, up_to: 1000, epsilon: 0.5}"
    (warning,) = limit_warnings(planned(unit, only="name: rows,"))

    assert "beyond the limit that noisy counts choose, of at most 1,000, are left out" in warning

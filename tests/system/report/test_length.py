"""How long reports are: on paper, and in words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.browser import BROWSER, sheets
from tests.support.cli import PEOPLE, ROOT
from tests.support.frozen import visible_text
from tests.support.reports import make_reports

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(BROWSER is None, reason="there is no browser on this machine"),
]

HEAD = """\
dpcli: 1
dataset: town
title: Visits to the clinics of the town in 2021
rows_are: visits
privacy:
  unit: {column: person_id, max_rows: 3, max_groups: 3}
  neighbors: add-remove
  budget: {epsilon: 20}
quality: {epsilon: 0.5, min_people: 900, min_readable: 0.5}
declarations: {curator: The town, contact: privacy@town.example, population: 20000}
columns:
  person_id: {type: id}
  visit: {type: date, bounds: [2021-01-01, 2021-12-31]}
  region:
    type: category
    values: [Old Town, "Harbour, East", "Harbour, West", Saint-Rémy, Hillside, Mill Islands]
  sex: {type: category, values: {0: male, 1: female, 2: other}}
  employment:
    type: category
    values: [employed, self-employed, unemployed, student, retired]
  age: {type: integer, bounds: [0, 110]}
  income: {type: number, bounds: [0, 10000], step: 10, unit: EUR}
  insured: {type: boolean, values: ["no", "yes"]}
derive:
  month: {part: month, of: visit}
  week: {part: week, of: visit}
statistics:
  - {name: visits_by_region_month, statistic: count, by: [month, region], epsilon: 1}
"""

LINES_161 = """\
  - {name: visits_by_month, statistic: count, by: [month], epsilon: 1}
  - {name: mean_income, statistic: mean, column: income, by: [employment, sex], epsilon: 1}
  - {name: ages, statistic: histogram, column: age, bins: {width: 4}, epsilon: 1}
  - {name: tables, statistic: marginals, columns: [sex, employment, insured], ways: 2, epsilon: 1}
"""

LINES_300 = """\
  - {name: mean_income, statistic: mean, column: income, by: [month, region], epsilon: 1}
  - {name: visits_by_week, statistic: count, by: [week], epsilon: 1}
  - {name: ages, statistic: histogram, column: age, bins: {width: 6}, epsilon: 1}
  - {name: visits_by_work, statistic: count, by: [employment, sex, region], epsilon: 1}
output: {columns: [se, cv]}
"""


class Most(NamedTuple):
    """The most sheets of paper, and words before the appendix and in all."""

    sheets: int
    words: int
    all_words: int


LIMITS = {
    "town": Most(4, 720, 2_550),
    "dates": Most(4, 720, 2_950),
    "tables": Most(5, 1_200, 3_400),
    "town-people": Most(4, 900, 3_100),
    "161": Most(7, 1_900, 4_000),
    "300": Most(8, 3_900, 5_900),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_report_is_short(name: str, tmp_path: Path) -> None:
    """Four statistics take four sheets of paper; what someone signs is on the first one."""
    spec = ROOT / "specs" / f"{name}.yaml"
    if not spec.exists():
        spec = tmp_path / "spec.yaml"
        spec.write_text(HEAD + {"161": LINES_161, "300": LINES_300}[name], encoding="utf-8")
    (tmp_path / "out").mkdir()
    page = make_reports(spec, tmp_path / "out", PEOPLE).text(".html")
    words = visible_text(page).partition("Appendix: how")
    first = re.sub(r"<nav.*</main>", "</main>", page, flags=re.DOTALL)

    assert sheets(first, "Letter") == sheets(first, "A4") == 1
    found = Most(
        max(sheets(page, "Letter"), sheets(page, "A4")),
        len(words[0].split()),
        sum(len(part.split()) for part in words),
    )
    assert [*map(int.__le__, found, LIMITS[name])] == [True] * len(found), found

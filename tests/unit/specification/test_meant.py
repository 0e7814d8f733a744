"""Words of other tools in a spec: the hint names what to write instead, and that is valid."""

from __future__ import annotations

import pytest

from dpcli.problems.errors import Problem, SpecError
from dpcli.specification.load import parse_central_spec
from tests.support.specs import completed, with_statistic

COUNT = "statistic: count"
MEANT = {
    f"{COUNT}, group_by: [sex]": "`by: [sex]`",
    f"{COUNT}, GroupBy: [sex]": "`by: [sex]`",
    f"{COUNT}, order_by: age": "sort the published table",
    f"{COUNT}, sort: age": "sort the published table",
    f"{COUNT}, noise: laplace": "`mechanism: gaussian`",
    f"{COUNT}, filter: {{age: 3}}": "`where: {age: {min: 18}}`",
    f"{COUNT}, having: 10": "`post: [{suppress_below: 10}]`",
    f"{COUNT}, limit: 10": "`statistic: top_k`",
    "statistic: crosstab, columns: [sex, flag]": "`statistic: marginals`",
    "statistic: t_test, column: income, by: [sex]": "`statistic: comparison`",
    "statistic: t-test, column: income, by: [sex]": "`statistic: comparison`",
    "statistic: chi2, columns: [sex, flag]": "`statistic: marginals`",
    "statistic: rate, column: flag": "`statistic: proportion`",
    "statistic: percentage, column: flag": "`statistic: proportion`",
    "statistic: value_counts, column: sex": "`statistic: histogram`",
    "statistic: mean, column: Income": "`income`",
    f"{COUNT}, by: [SEX]": "`sex`",
    "statistic: histogram, column: age, bins: 200": "`bins: 101`",
    "statistic: histogram, column: age, bins: [0, 50, 100]": "`bins: {edges: ",
    "statistic: comparison, between: {day: [2023, 2024]}": "`between: {year: [2023, 2024]}`",
    "statistic: comparison, between: sex, percent: row": "publishes ratios",
    f"{COUNT}, by: [sex], per: 1000": "`rate: {per: 1000, population: {LABEL: NUMBER}}`",
    "statistic: top_k, column: age, k: 3": "declare `type: category`",
    f"{COUNT}, where: {{day: 2023}}": "`{part: year, of: ...}`",
}


def problems(text: str) -> tuple[Problem, ...]:
    """The problems of a spec that is refused."""
    with pytest.raises(SpecError) as refused:
        parse_central_spec(text, "spec.yaml")
    return refused.value.problems


@pytest.mark.parametrize("fields", MEANT)
def test_a_word_of_another_tool_leads_to_the_right_key(fields: str) -> None:
    """Such a key, statistic, name or value gives one hint, on what to write."""
    hints = [problem.hint for problem in problems(with_statistic(fields)) if problem.hint]

    assert MEANT[fields] in hints[0]


@pytest.mark.parametrize("word", ["crosstab", "t_test", "chi2", "rate", "frequency"])
def test_a_statistic_of_another_name_is_the_only_problem(word: str) -> None:
    """No fields of a statistic that may not be meant are reported as missing."""
    (problem,) = problems(with_statistic(f"statistic: {word}, column: flag"))
    assert problem.code == "unknown-statistic"


@pytest.mark.parametrize(
    ("line", "hint"),
    [("epsilon: 10%", "`share: 1`"), ("epsilon: 0.5%", "`epsilon: 0.1`"),
     ("share: 50%", "`0.5`"), ("epsilon: 1, confidence: 95%", "`0.95`")],
)  # fmt: skip
def test_a_percentage_is_no_number(line: str, hint: str) -> None:
    """The hint says it as a decimal; of an epsilon, that shares divide a budget."""
    entry, _, rest = line.partition(", ")
    text = completed(f"statistics:\n  - {{name: n, statistic: count, {entry}}}\n{rest}")
    (problem,) = problems(text)
    assert problem.code == "not-a-number" and hint in problem.hint


def test_what_the_hints_propose_is_valid() -> None:
    """A spec with the proposed keys is accepted."""
    text = completed("""derive: {year: {part: year, of: date}}
columns:
  sex: {type: category, values: [f, m]}
  region: {type: category, values: [n, s]}
  age: {type: integer, bounds: [0, 110]}
  income: {type: integer, bounds: [0, 9000]}
  insured: {type: boolean}
  date: {type: date, bounds: [2023-01-01, 2024-12-31]}
statistics:
  - {name: a, statistic: count, by: [sex], where: {age: {min: 18}}, share: 1}
  - {name: b, statistic: marginals, columns: [sex, region], ways: 2, share: 2}
  - {name: c, statistic: histogram, column: age, bins: {width: 10}, share: 1}
  - {name: d, statistic: comparison, between: {year: [2023, 2024]}, share: 1}
  - {name: e, statistic: proportion, column: insured, share: 1}
  - {name: f, statistic: count, post: [{suppress_below: 10}], share: 1}
  - {name: g, statistic: top_k, column: region, k: 1, share: 1}
  - {name: h, statistic: ratio, numerator: income, denominator: rows, per: 1000, share: 1}
""")
    assert len(parse_central_spec(text, "spec.yaml").entries) == 8


COUNTED = "statistics: [{name: n, statistic: count, epsilon: 1}]\n"
PERSONS = """privacy: {unit: {column: who}, neighbors: add-remove, budget: {epsilon: 9}}
columns:
  who: {type: id}
  visit: {type: category, values: [first, second]}
  price: {type: number, bounds: [0, 50], step: 0.5}
  done: {type: boolean}
"""


@pytest.mark.parametrize(
    ("entry", "proposed", "about_x"),
    [("statistic: mean, column: price", "mean: price", "statistic: mean, column: x"),
     ("statistic: histogram, column: visit", "most: visit", "statistic: histogram, column: x"),
     ("statistic: sum, column: price", "sum: price, bounds: [0, 100]",
      "statistic: sum, column: x"),
     ("statistic: proportion, column: done", "most: done", "statistic: proportion, column: x")],
)  # fmt: skip
def test_a_value_of_each_person_that_a_hint_proposes_answers(
    entry: str, proposed: str, about_x: str
) -> None:
    """Where nothing limits rows, the proposed column of people suits the statistic."""
    statistics = "statistics:\n  - {{name: n, epsilon: 1, {}}}\n"
    (problem,) = problems(completed(PERSONS + statistics.format(entry)))
    followed = f"{PERSONS}people: {{x: {{{proposed}}}}}\n" + statistics.format(about_x)

    assert f"`people: {{x: {{{proposed}}}}}`" in problem.hint
    assert parse_central_spec(completed(followed), "spec.yaml").entries


@pytest.mark.parametrize(
    ("entry", "follows"),
    [("statistic: comparison, between: visit", "max_rows: 3"),
     ("statistic: comparison, of: people, between: visit", "max_rows: 3"),
     ("statistic: count, by: [visit]", "of: people"),
     ("statistic: count_distinct, by: [visit]", "of: people")],
)  # fmt: skip
def test_a_hint_on_rows_of_people_leads_to_no_other_problem(entry: str, follows: str) -> None:
    """What a hint proposes for the visits of people is accepted, with nothing else changed."""
    statistics = "statistics:\n  - {{name: n, epsilon: 1, {}}}\n"
    (problem,) = problems(completed(PERSONS + statistics.format(entry)))
    followed = f"{entry.replace(', of: people', '')}, {follows}"

    assert follows in problem.hint
    assert parse_central_spec(completed(PERSONS + statistics.format(followed)), "s.yaml").entries


def test_the_share_of_a_number_is_that_of_a_condition() -> None:
    """For a share of large numbers, the hint derives a condition, and that is accepted."""
    columns = "columns: {rooms: {type: integer, bounds: [1, 9]}}\n"
    entry = "statistics: [{name: n, statistic: proportion, column: %s, epsilon: 1}]\n"
    (problem,) = problems(completed(columns + entry % "rooms"))
    derived = "derive: {x: {is: {rooms: {min: 9}}}}"

    assert f"`{derived}`" in problem.hint
    assert parse_central_spec(completed(f"{columns}{derived}\n{entry % 'x'}"), "s.yaml").entries


@pytest.mark.parametrize("part", ["year", "week", "weekday", "hour"])
def test_a_part_of_a_date_names_the_date(part: str) -> None:
    """`{week: visit}` leads to a line that is accepted, not to another word in its place."""
    columns = "columns: {visit: {type: date, bounds: [2023-01-01, 2023-12-31]}}\n"
    (problem,) = problems(completed(f"{columns}derive: {{x: {{{part}: visit}}}}\n" + COUNTED))
    derived = f"x: {{part: {part}, of: visit}}"

    assert problem.hint == f"write `{derived}`"
    if part != "hour":
        spec = completed(f"{columns}derive: {{{derived}}}\n" + COUNTED)
        assert parse_central_spec(spec, "s.yaml").entries


@pytest.mark.parametrize("key", ["any", "all"])
@pytest.mark.parametrize("wrong", ["done", "[{done: true}]"])
def test_conditions_of_people_are_a_mapping(key: str, wrong: str) -> None:
    """Where a name or a list stands, the hint shows a mapping, as the message expects."""
    problem, *_ = problems(completed(f"{PERSONS}people: {{x: {{{key}: {wrong}}}}}\n{COUNTED}"))
    assert "expected a mapping" in problem.message
    assert problem.hint == f"write `{key}: {{age: {{min: 65}}}}`"


def test_percent_of_rows_needs_tables_of_two_columns() -> None:
    """For `marginals`, the hint is `ways: 2`, because they take no `by`."""
    entry = "statistic: marginals, columns: [sex, flag], ways: [1, 2], percent: row"
    (problem,) = problems(with_statistic(entry))
    assert "`ways: 2`" in problem.hint and "`by`" not in problem.hint

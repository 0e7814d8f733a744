"""A draft has a placeholder for each decision, and is valid when all are made."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpcli.data.formats import Dialect
from dpcli.planning.planner import make_plan
from dpcli.planning.quality_check import required_minimums
from dpcli.problems.errors import SpecError
from dpcli.specification.draft import draft_spec
from dpcli.specification.load import parse_central_spec
from dpcli.specification.yaml_reader import read_tree

DECISIONS = (
    ("unit: FILL_IN", "unit: row"),
    ("neighbors: FILL_IN", "neighbors: add-remove"),
    ("budget: {epsilon: FILL_IN}", "budget: {epsilon: 2}"),
    ("epsilon: FILL_IN", "epsilon: 0.5"),
    ("min_rows: FILL_IN", "min_rows: 100"),
    ("dataset: FILL_IN", "dataset: survey"),
    ("type: FILL_IN}", "type: integer, bounds: [0, 100]}"),
)


def filled(text: str) -> str:
    """A draft with every decision made."""
    for question, answer in DECISIONS:
        text = text.replace(question, answer)
    return text


def test_a_draft_asks() -> None:
    """Every placeholder is a problem of its own, and there is no other."""
    text = draft_spec(["age", "sex"], "survey")
    with pytest.raises(SpecError) as caught:
        parse_central_spec(text, "draft.yaml")
    problems = caught.value.problems
    assert {problem.code for problem in problems} == {"placeholder"}
    assert len(problems) == 7
    assert all(problem.hint for problem in problems)


def test_a_filled_draft_passes() -> None:
    """With all decisions made, a draft is a valid spec of the same columns."""
    spec = parse_central_spec(filled(draft_spec(["age", "no", "a: b"], "survey")), "draft.yaml")
    assert [column.name for column in spec.columns] == ["age", "no", "a: b"]
    assert spec.dataset == "survey"


def test_a_draft_is_easy_to_edit() -> None:
    """Lines fit a narrow window, and the commented declarations hold once uncommented."""
    text = draft_spec([f"column_{place}" for place in range(40)], "survey", Dialect(";"))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert '`decimal: ","`' in text and '`decimal: ","`' not in draft_spec(["age"], "survey")
    spec = parse_central_spec(filled(re.sub("(?m)^#(?=[d ] ?[a-z_]+:)", "", text)), "draft.yaml")
    assert spec.declarations.population and spec.declarations.answer("contact")


def test_the_quality_check_of_a_draft_costs_the_same_for_all_columns() -> None:
    """A row has one first fault, so more columns need no more epsilon."""
    drafts = [draft_spec([f"c{place}" for place in range(count)], "survey") for count in (1, 4, 99)]
    checks = [parse_central_spec(filled(text), "draft.yaml").quality for text in drafts]
    prices = [check.entry.budget_amount.epsilon for check in checks if check is not None]
    assert prices == [Fraction(1, 10)] * 3


def test_many_names_of_a_draft_stand_on_lines_of_their_own() -> None:
    """The names of a wide file without a header line can be edited one by one."""
    names = tuple(f"name {place}" for place in range(30))
    text = draft_spec(names, "survey", Dialect(names=names))
    assert max(map(len, text.splitlines())) <= 80
    assert parse_central_spec(filled(text), "draft.yaml").dialect.names == names


def test_a_dataset_that_is_no_name() -> None:
    """A file name that cannot be the name of a dataset gives a placeholder."""
    assert "dataset: FILL_IN" in draft_spec(["age"], "my file")


def test_an_empty_header() -> None:
    """A file without columns still gives a spec, of counts."""
    assert parse_central_spec(filled(draft_spec([], "survey")), "draft.yaml").columns == ()


@settings(max_examples=80, deadline=None)
@given(st.lists(st.one_of(st.text(max_size=12), st.text(min_size=990, max_size=1010)), max_size=6))
def test_any_header(header: list[str]) -> None:
    """Whatever the names, columns are read back in order: by names, or else by position.

    The first of several columns is left out if its name is empty: it numbers the rows.

    Of several columns with one name none is declared by it: which of them would be meant?
    """
    expected: list[str | int | None] = []
    composed = [unicodedata.normalize("NFC", name) for name in header]
    for place, name in enumerate(header, 1):
        invisible = any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in name)
        alone = composed.count(unicodedata.normalize("NFC", name)) == 1
        by_name = name and len(name) <= 1000 and not invisible and alone
        if place > 1 or name or len(header) == 1:
            expected.append(name if by_name else place)
    assume(not any("FILL_IN" in name for name in header))
    text = filled(draft_spec(header, "survey")).replace("FILL_IN", "'FILL_IN'")
    columns = parse_central_spec(text, "draft.yaml").columns
    assert [column.source or column.name for column in columns] == expected


def test_a_very_wide_file() -> None:
    """A draft for more columns than can be declared still is YAML."""
    text = draft_spec([f"c{number}" for number in range(10_500)], "survey")
    root, findings, _ = read_tree(text.encode(), "draft.yaml")
    assert root is not None and not findings


@pytest.mark.parametrize("count", [1, 4, 9, 40])
def test_a_draft_states_what_its_quality_check_notices(count: int) -> None:
    """About as many rows as the plan states."""
    text = draft_spec([f"c{place}" for place in range(count)], "survey")
    stated = re.search(r"about (\d+)\n# missing people", text)
    plan = make_plan(parse_central_spec(filled(text), "draft.yaml"))
    rows, *_ = required_minimums(plan)
    assert stated and 0.7 < int(stated[1]) / (2 * rows.margin) < 1.5


def test_a_column_by_position_has_its_comment_above() -> None:
    """The reason stands where the column is declared."""
    lines = draft_spec(["name", "", "age"], "survey").splitlines()
    place = lines.index("  column_2: {from: {column: 2}, type: FILL_IN}")
    assert lines[place - 1] == "  # column 2 is declared by its position: its name is empty"


def test_a_draft_mentions_percentages_of_workbooks() -> None:
    """Their cells are fractions, whatever a program shows."""
    assert "12.5 %" in draft_spec(["share"], "survey", is_sheet=True)
    assert "12.5 %" not in draft_spec(["share"], "survey")

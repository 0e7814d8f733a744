"""Who has no value of people, and that the quality check and the bins know all values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Command, table

SPEC = """\
dpcli: 1
dataset: pupils
privacy: {unit: {column: who}, neighbors: add-remove, budget: {epsilon: 1000}}
quality: QUALITY
columns:
  who: {type: id}
  term: {type: integer, bounds: [1, 9]}
  n: {type: integer, bounds: [0, 9]}
  k: {type: category, values: [a, b]}
people:
  VALUES
statistics:
  ENTRIES
"""

CHECK = "{epsilon: 20, min_people: 190}"


def released(
    dpcli: Command, folder: Path, values: str, entries: str, rows: list[str], quality: str = "none"
) -> list[dict[str, str]]:
    """The lines of the table of a release."""
    text = SPEC.replace("VALUES", values).replace("ENTRIES", entries).replace("QUALITY", quality)
    (folder / "spec.yaml").write_text(text, encoding="utf-8")
    (folder / "data.csv").write_text("\n".join(["who,term,n,k", *rows, ""]), encoding="utf-8")
    words = ("-o", folder / "out.csv", "--force")
    dpcli("release", folder / "spec.yaml", folder / "data.csv", *words).succeeded()
    return table(folder / "out.csv")


def of_people(count: int, *rows: str) -> list[str]:
    """These rows for each of some people."""
    return [f"P{person},{row}" for person in range(count) for row in rows]


def test_a_sum_has_a_bin_for_each_of_its_values(dpcli: Command, tmp_path: Path) -> None:
    """Twelve is the sum of two rows, neither of which can have it."""
    entry = "- {name: s, statistic: histogram, column: s, bins: {width: 1}, epsilon: 20}"
    values = "s: {sum: n, bounds: [0, 20]}"
    lines = released(dpcli, tmp_path, values, entry, of_people(100, "1,7,a", "2,5,b"))
    assert len(lines) == 21
    found = {line["item"]: float(line["value"]) for line in lines}
    assert abs(found["12"] - 100) < 3


def test_a_clamped_sum_is_not_complete(dpcli: Command, tmp_path: Path) -> None:
    """Six rows of nine are more than the bounds of the sum."""
    entry = "- {name: s, statistic: mean, column: s, epsilon: 20}"
    rows = of_people(200, *(f"{term},9,a" for term in range(1, 7)))
    (line,) = released(
        dpcli,
        tmp_path,
        "s: {sum: n, bounds: [0, 20]}",
        entry,
        rows,
        "{epsilon: 20, min_readable: 0.5}",
    )
    assert line["complete"] == "no"


@pytest.mark.parametrize("missing", ["", ", missing: drop"])
def test_one_row_is_one_that_has_a_value(dpcli: Command, tmp_path: Path, missing: str) -> None:
    """A person with two terms and one score has no change."""
    parts = "[{last: n, by: term}, {first: n, by: term}]"
    values = f"g: {{difference: {parts}, one_row: absent, bounds: [-9, 9]{missing}}}"
    entries = """- {name: g, statistic: mean, column: g, epsilon: 20}
  - {name: n, statistic: count, of: people, column: g, epsilon: 20}"""
    rows = of_people(100, "1,5,a", "2,,a")
    rows += [f"Q{row}" for row in of_people(100, "1,2,a", "2,6,a")]
    mean, count = released(dpcli, tmp_path, values, entries, rows)
    assert abs(float(mean["value"]) - 4) < 0.5
    assert abs(float(count["value"]) - 100) < 3


def test_people_without_a_part_of_a_difference_are_meant(dpcli: Command, tmp_path: Path) -> None:
    """With `missing: drop` in the difference, the check does not count them as a fault."""
    parts = "[{first: term, by: n, where: {k: [b]}}, {min: term}]"
    values = f"g: {{difference: {parts}, bounds: [-9, 9], missing: drop}}"
    entry = "- {name: g, statistic: mean, column: g, epsilon: 20}"
    rows = [f"{row}" for row in of_people(100, "1,5,a", "2,6,a")]
    rows += [f"Q{row}" for row in of_people(100, "3,2,a", "8,6,b")]
    (line,) = released(dpcli, tmp_path, values, entry, rows, CHECK)
    assert abs(float(line["value"]) - 5) < 0.5
    assert line["complete"] == "yes"


@pytest.mark.parametrize(
    "values",
    [
        "g: {difference: [{mean: n, step: 0.1}, {mean: n, step: 1}]}",
        "g: {difference: [{max: n, bounds: [0, 5]}, {max: n, bounds: [0, 4]}]}",
        """g: {difference: [{count: rows, bounds: [0, 3]}, {min: n}]}
  number of rows: {count: rows, bounds: [0, 100]}""",
    ],
)
def test_parts_of_a_difference_may_have_one_name(
    dpcli: Command, tmp_path: Path, values: str
) -> None:
    """Their faults are counted apart, also from those of a column of people of that name."""
    entry = "- {name: g, statistic: mean, column: g, epsilon: 20}"
    rows = of_people(200, *(f"{term},9,a" for term in range(1, 7)))
    (line,) = released(dpcli, tmp_path, values, entry, rows, "{epsilon: 20, min_readable: 0.5}")
    assert line["complete"] == ("yes" if "mean" in values else "no")


def test_people_may_be_what_a_ratio_divides_by(dpcli: Command, tmp_path: Path) -> None:
    """`denominator: people` is the number of people, and `rows` is refused there."""
    entry = (
        "- {name: r, statistic: ratio, of: people, numerator: s, denominator: people, epsilon: 20}"
    )
    values = "s: {sum: n, bounds: [0, 20]}"
    (line,) = released(dpcli, tmp_path, values, entry, of_people(200, "1,7,a", "2,5,b"))
    assert abs(float(line["value"]) - 12) < 0.5
    spec = tmp_path / "spec.yaml"
    spec.write_text(spec.read_text("utf-8").replace("denominator: people", "denominator: rows"))
    assert "does not fit what the statistic is about" in dpcli("check", spec).err


def test_a_label_may_be_named_like_a_column_of_people(dpcli: Command, tmp_path: Path) -> None:
    """A condition names columns by its keys, and labels by its values."""
    entry = """- {name: c, statistic: count_distinct, where: {k: [a]}, epsilon: 20}
  - {name: m, statistic: mean, column: a, epsilon: 20}"""
    lines = released(dpcli, tmp_path, "a: {max: n}", entry, of_people(100, "1,7,a", "2,5,b"))
    assert [round(float(line["value"])) for line in lines][1] == 7


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ("v: {mean: n, step: 100}", "people-form"),
        ("v: {count: rows, bounds: [0, 9], step: 5}", "unknown-field"),
        ("v: {distinct: k, bounds: [0, 9], missing: 3}", "unknown-field"),
        ("v: {mode: k}", "people-form"),
        (
            "w: {difference: [{max: n, bounds: {choose: 1-2-5, up_to: 9, epsilon: 1}}, {min: n}]}",
            "bounds-chosen",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(
    dpcli: Command, tmp_path: Path, values: str, code: str
) -> None:
    """Nothing in a value of people is accepted without an effect."""
    text = SPEC.replace("VALUES", values).replace("QUALITY", "none")
    text = text.replace("ENTRIES", "- {name: n, statistic: count, of: people, epsilon: 1}")
    (tmp_path / "spec.yaml").write_text(text, encoding="utf-8")
    done = dpcli("check", tmp_path / "spec.yaml")
    assert done.status == 3 and f"error[{code}]" in done.err

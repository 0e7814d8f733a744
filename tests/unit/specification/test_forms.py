"""Valid specs are read exactly as written."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path

import pytest

from dpcli.data.column import Column
from dpcli.data.dates import DateColumn
from dpcli.data.filters import InRanges
from dpcli.data.labels import BooleanColumn, CategoryColumn, IdColumn, UsualWords
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.mechanisms import MECHANISMS
from dpcli.privacy.loss import BudgetAmount, Loss
from dpcli.privacy.unit import Neighbors, RowUnit
from dpcli.problems.errors import SpecError
from dpcli.specification.entry_fields import EntryModel, entry_model
from dpcli.specification.load import parse_central_spec, read_spec_file
from dpcli.specification.model import Entry
from dpcli.specification.yaml_reader import MAX_BYTES
from dpcli.statistics import STATISTICS
from tests.support.specs import completed, with_column, with_statistic

SPECS = sorted((Path(__file__).parents[3] / "specs").glob("*.yaml"))


def column(declaration: str) -> Column:
    """The column of a declaration."""
    text = completed(f"columns:\n  x: {declaration}")
    return parse_central_spec(text, "spec.yaml").columns[0]


def entry(fields: str) -> Entry:
    """The entry of some fields."""
    return parse_central_spec(with_statistic(fields), "spec.yaml").entries[0]


def ranges(condition: str) -> tuple[tuple[int, int], ...]:
    """The ranges of one condition."""
    (test,) = entry(f"statistic: count, where: {{{condition}}}").inputs.where
    assert isinstance(test, InRanges)
    return test.ranges


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_specs_of_the_repository(path: Path) -> None:
    """Every spec in `specs/` is good, and its digest is that of its bytes and named files."""
    spec, digest = read_spec_file(path), hashlib.sha256(path.read_bytes())
    for file in spec.named_files:
        digest.update(bytes.fromhex(file.sha256))
    assert spec.digest == digest.hexdigest()
    assert spec.text.encode() == path.read_bytes()


def test_defaults() -> None:
    """An optional key that is left out has the documented value."""
    spec = parse_central_spec(completed(""), "spec.yaml")
    assert spec.dataset == "d" and spec.confidence == Fraction(19, 20)
    assert spec.privacy.unit == RowUnit() and spec.privacy.neighbors is Neighbors.ADD_REMOVE
    assert spec.privacy.budget == Loss(Fraction(1), Fraction(0))
    assert spec.privacy.composition.name == "sequential"
    (only,) = spec.entries
    assert only.mechanisms == (MECHANISMS["laplace"],) and only.budget_amount == BudgetAmount(
        Fraction(1)
    )
    assert only.calibration == MECHANISMS["laplace"].calibrations[0]
    assert not only.inputs.by and not only.inputs.where and only.inputs.bins is None


def test_privacy_numbers_are_exact() -> None:
    """Budget and confidence are the rationals that are written."""
    spec = parse_central_spec(
        completed(
            "confidence: 0.999\nprivacy: {unit: row, neighbors: change-one, "
            "budget: {epsilon: 0.3, delta: 1e-6}, composition: sequential}"
        ),
        "spec.yaml",
    )
    assert spec.confidence == Fraction(999, 1000)
    assert spec.privacy.budget == Loss(Fraction(3, 10), Fraction(1, 10**6))
    assert spec.privacy.neighbors is Neighbors.CHANGE_ONE


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("{type: id}", IdColumn("x")),
        ("{type: integer}", IntegerColumn("x")),
        ("{type: integer, bounds: [18, 100]}", IntegerColumn("x", bounds=(18, 100))),
        (
            "{type: integer, bounds: [-10, 10], step: 5, missing: -5}",
            IntegerColumn("x", Fraction(5), (-2, 2), -1),
        ),
        (
            "{type: number, bounds: [0, 2e5], step: 100, missing: drop}",
            NumberColumn("x", Fraction(100), (0, 2000)),
        ),
        (
            "{type: number, bounds: [-0.3, 0.3], step: 0.1, missing: 0}",
            NumberColumn("x", Fraction(1, 10), (-3, 3), 0),
        ),
        (
            "{type: date, bounds: [1969-12-31, 1970-01-02], missing: 1970-01-01}",
            DateColumn("x", Fraction(1), (-1, 1), 0),
        ),
        (
            "{type: category, values: [no, yes, 010, ~, null, '1']}",
            CategoryColumn("x", tuple((t, t) for t in ("no", "yes", "010", "~", "null", "1"))),
        ),
        (
            "{type: category, values: {0: male, 1: female, 2: male}, missing: female}",
            CategoryColumn("x", (("0", "male"), ("1", "female"), ("2", "male")), 1),
        ),
        (
            "{type: boolean}",
            BooleanColumn("x", (("false", "false"), ("true", "true")), options=(UsualWords(),)),
        ),
        (
            "{type: boolean, values: ['0', '1'], missing: true}",
            BooleanColumn("x", (("0", "false"), ("1", "true")), 1),
        ),
        (
            "{type: category, values: [-5, '-0.5', a=b]}",
            CategoryColumn("x", (("-5", "-5"), ("-0.5", "-0.5"), ("a=b", "a=b"))),
        ),
    ],
)
def test_columns(declaration: str, expected: Column) -> None:
    """A declaration becomes the column in whole steps or positions."""
    assert column(declaration) == expected


def test_column_names_are_exact() -> None:
    """A name is read as a text, also if it looks like a number or a date."""
    names = [
        "^.*$",
        "*",
        "a b ",
        " a",
        'say "hi"',
        "x,y",
        "\u202e",
        "\U0001f600",
        "null",
        "1",
        "no",
    ]
    lines = "".join(f"  {_quoted(name)}: {{type: id}}\n" for name in names)
    spec = parse_central_spec(completed(f"columns:\n{lines}"), "spec.yaml")
    assert [column.name for column in spec.columns] == names


def _quoted(name: str) -> str:
    """A text in single quotes."""
    return "'" + name.replace("'", "''") + "'"


def test_histogram_of_labels() -> None:
    """A category or boolean column is counted by its labels, without bins."""
    inputs = entry("statistic: histogram, column: sex").inputs
    assert inputs.bins is not None and inputs.bins.labels == ("male", "female")
    inputs = entry("statistic: histogram, column: flag").inputs
    assert inputs.bins is not None and inputs.bins.labels == ("false", "true")


def test_groups() -> None:
    """Keys are resolved in the order written; a mapping may name a category, too."""
    inputs = entry(
        "statistic: mean, column: income, "
        "by: [{column: age, bins: {width: 50}}, sex, {column: flag}]"
    ).inputs
    assert [key.column.name for key in inputs.by] == ["age", "sex", "flag"]
    assert inputs.by[0].starts == (0, 50, 100) and inputs.by[1].starts == ()
    assert inputs.column is not None and inputs.column.name == "income"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("income: {min: 100000}", ((1000, 2000),)),
        ("income: {min: 100001}", ((1001, 2000),)),
        ("income: {max: 199}", ((0, 1),)),
        ("income: {min: 0.5, max: 300.5}", ((1, 3),)),
        ("income: {min: -5, max: 1e9}", ((0, 2000),)),
        ("age: 18", ((18, 18),)),
        ("age: [20, 18, 19, 30, 18]", ((18, 20), (30, 30))),
        ("age: {min: 5, max: 5}", ((5, 5),)),
        ("day: 2020-01-01", ((18262, 18262),)),
        ("day: {min: 2020-12-31}", ((18627, 18627),)),
        ("day: {max: 2030-01-01}", ((18262, 18627),)),
        ("sex: female", ((1, 1),)),
        ("sex: [female, male]", ((0, 1),)),
        ("flag: true", ((1, 1),)),
        ("flag: 'false'", ((0, 0),)),
    ],
)
def test_conditions(condition: str, expected: tuple[tuple[int, int], ...]) -> None:
    """A condition is the inclusive ranges of rounded and clamped values that pass."""
    assert ranges(condition) == expected


def test_gaussian() -> None:
    """A mechanism with delta takes its exact value and a named calibration."""
    gaussian = entry("statistic: count, mechanism: gaussian, delta: 1e-7, calibration: classic")
    assert [mechanism.name for mechanism in gaussian.mechanisms] == ["gaussian"]
    assert gaussian.calibration == "classic"
    assert gaussian.budget_amount == BudgetAmount(Fraction(1), Fraction(1, 10**7))


@pytest.mark.parametrize("field", ["column: x", "column: x, by: []", "where: {}"])
def test_empty_groups_and_conditions(field: str) -> None:
    """An empty list of groups and an empty mapping of conditions are valid."""
    inputs = (
        parse_central_spec(
            with_column("{type: integer, bounds: [0, 1]}", f"statistic: count, {field}"), "s"
        )
        .entries[0]
        .inputs
    )
    assert inputs.by == () and inputs.where == ()


def test_an_entry_has_the_fields_of_its_statistic() -> None:
    """The model of an entry has the common fields first, and fits statistics without any."""
    histogram = next(statistic for statistic in STATISTICS if statistic.name == "histogram")
    own = ["column", "bins", "percent", "known", "series"]
    assert list(entry_model(histogram).model_fields)[-5:] == own
    assert entry_model(None) is EntryModel


def test_bytes_and_text_agree() -> None:
    """A text and its bytes have the same digest; a byte order mark and all line ends are read."""
    text = completed("")
    assert parse_central_spec(text, "a").digest == parse_central_spec(text.encode(), "b").digest
    marked = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    spec = parse_central_spec(marked, "c")
    assert spec.entries == parse_central_spec(text, "a").entries
    assert spec.digest == hashlib.sha256(marked).hexdigest()


def test_line_ends_do_not_move_places() -> None:
    """Places are right with line ends of every system."""
    for end in ("\n", "\r\n", "\r"):
        text = completed("confidence: 95").replace("dpcli: 1", "dpcli: 2")
        with pytest.raises(SpecError) as caught:
            parse_central_spec(text.replace("\n", end), "s")
        places = [problem.place for problem in caught.value.problems]
        assert [(p.line, p.column) for p in places if p] == [(1, 13), (2, 8)]


def test_unreadable_files(tmp_path: Path) -> None:
    """A file that cannot be read is a problem of the spec, with a message of dpcli."""
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (MAX_BYTES + 1))
    for path, code in [
        (tmp_path / "nowhere.yaml", "spec-unreadable"),
        (tmp_path, "spec-unreadable"),
        (tmp_path / "a\0b", "spec-unreadable"),
        (large, "spec-too-large"),
    ]:
        with pytest.raises(SpecError) as caught:
            read_spec_file(path)
        assert [problem.code for problem in caught.value.problems] == [code]
        assert "Errno" not in str(caught.value)

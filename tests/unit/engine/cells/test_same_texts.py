"""Cells that look the same are the same label, truth value or person."""

from __future__ import annotations

from pathlib import Path
from random import Random

import polars as pl
import pytest

from dpcli.data.cell_options import Blanks, Case, MissingMarks, Numerals
from dpcli.data.column import Column, Option
from dpcli.data.dates import DateColumn
from dpcli.data.formats import NumberFormat
from dpcli.data.kinds import Axis
from dpcli.data.labels import (
    BooleanColumn,
    CategoryColumn,
    IdColumn,
    PrivatePartitionColumn,
    UsualWords,
)
from dpcli.data.number_columns import IntegerColumn
from dpcli.engine.cells import Decoder
from dpcli.engine.files.source import open_dataset
from dpcli.engine.progress import Progress
from dpcli.engine.sums.aggregate import QueryAggregator
from dpcli.engine.sums.users import id_column
from dpcli.privacy.unit import PersonUnit, RowUnit
from dpcli.queries.query import LinearQuery
from dpcli.statistics.counts.distinct import DistinctQuery
from tests.oracles.opened import bounded, cells_of, engine
from tests.oracles.plain import evaluate, value
from tests.support.options import options

LABELS = (("false", "false"), ("true", "true"))
TRUTH = BooleanColumn("x", LABELS, options=(UsualWords(),))
YES = ("true", "t", "yes", "y", "on", "1", "1.0", "1.00")
NO = ("false", "f", "no", "n", "off", "0", "0.0", "0.00")
ACUTE = "\N{COMBINING ACUTE ACCENT}"
TOWNS = CategoryColumn("x", (("Orléans", "o"), ("New York", "n"), ("P\u200baris", "p")))


def read(column: Column, cells: list[str | None]) -> list[int | str | None]:
    """What the engine reads in cells, which the oracle reads too."""
    frame = pl.DataFrame({"t0": cells}, schema={"t0": pl.String})
    found: list[int | str | None] = Decoder((column,)).decode(frame).to_series().to_list()
    assert found == [value(column, cell or "") for cell in cells]
    return found


def test_a_boolean_reads_the_words_of_programs_in_any_case() -> None:
    """Without declared texts, what programs write for true and false; nothing else."""
    for words, expected in ((YES, 1), (NO, 0)):
        spelled = [case(word) for word in words for case in (str, str.upper, str.title)]
        assert read(TRUTH, [*spelled, f" {words[2]}\t", words[0].swapcase()]) == [expected] * 26
    others = ["2", "-1", "ja", "01", "1.5", "10", "truee", "y e s", "", None, "T.", "1e0", "0.01"]
    assert read(TRUTH, others) == [None] * len(others)
    assert read(TRUTH, ["tRuE", "nO", "oFF"]) == [1, 0, 0]


@pytest.mark.parametrize("minus", "\u2212\u2013\u2014\uff0d\ufe63\u207b")
def test_a_minus_of_any_form_is_one(minus: str) -> None:
    """In labels, marks, ids and texts that stand for numbers, as in numbers."""
    labels = CategoryColumn("x", (("-1", "low"), (f"{minus}2", "lower")))
    assert read(labels, [f"{minus}1", "-1", "-2", f"{minus}2", f"1{minus}1"]) == [0, 0, 1, 1, None]
    marked = IdColumn("x", options=options(na=("-99",)))
    assert read(marked, ["-99", f"{minus}99", f" {minus}99", "99"]) == [None, None, None, "99"]
    numbered = IdColumn("x", options=(Numerals(),))
    seen = "-" if minus in "\uff0d\ufe63" else minus
    assert read(numbered, [f"{minus}7", "-07.0", f"A{minus}7"]) == ["-7", "-7", f"A{seen}7"]
    form = NumberFormat(values=((f"{minus}1", "5"),))
    numbers = IntegerColumn("x", bounds=(-9, 9), options=options(form))
    assert read(numbers, [f"{minus}1", "-1", f"{minus}2"]) == [5, 5, -2]


@pytest.mark.parametrize("dash", "-\u2010\u2011\u2013\u2014\u2212\uff0d\ufe63\u207b")
def test_a_lone_dash_of_any_form_is_the_same(dash: str) -> None:
    """As a mark of missing ids, labels, numbers and days, and as a text for a number."""
    for column, known in (
        (IdColumn("x"), "7"), (CategoryColumn("x", (("7", "a"),), other="b"), 0),
        (IntegerColumn("x", bounds=(0, 9)), 7), (DateColumn("x", bounds=(0, 9)), None),
        (IntegerColumn("x", bounds=(0, 9), options=options(NumberFormat(affixes=("$",)))), 7),
    ):  # fmt: skip
        for mark in "-\u2013\u2014":
            marked = column.with_options(MissingMarks((mark,)))
            assert read(marked, [dash, f" {dash}", "7"]) == [None, None, known]
            assert pl.select(marked.is_mark(pl.lit(dash), marked.marks)).item() is True
    form = NumberFormat(values=(("\u2013", "5"),))
    assert read(IntegerColumn("x", bounds=(0, 9), options=options(form)), [dash]) == [5]
    assert read(CategoryColumn("x", (("\u2014", "a"),)), [dash]) == [0]


def test_hyphens_are_the_same_in_ids_and_labels() -> None:
    """Those that no one sees differ, in all texts; in declared labels, short dashes too."""
    ages = CategoryColumn("x", (("0-4", "a"), ("5\u20139", "b"), ("x-y", "c")), other="d")
    seen = "-\u2010\u2011\ufe63\uff0d"
    for dash in f"{seen}\u2012\u2013\u2212":
        assert read(ages, [f"0{dash}4", f"5{dash}9", f"x{dash}y", f"x{dash}z"]) == [0, 1, 2, 3]
    assert read(ages, ["0\u20144", "0\u301c4"]) == [3, 3]
    for column in (IdColumn("x"), PrivatePartitionColumn("x")):
        assert set(read(column, [f"A{dash}1" for dash in seen])) == {"A-1"}
        assert read(column, ["A\u20131"]) == ["A\u20131"]


def test_a_boolean_with_other_and_marks_keeps_them() -> None:
    """Another text has the other label, and a mark is missing in any case."""
    column = BooleanColumn(
        "x", LABELS, options=(UsualWords(), *options(na=("Refused",))), other="false"
    )
    assert read(column, ["yes", "refused", "-1", "", "0"]) == [1, None, 0, None, 0]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_words_of_booleans_are_read_in_files(tmp_path: Path, suffix: str) -> None:
    """As texts, truth values and numbers; in a file with a rare spelling, too."""
    query = LinearQuery(by=(Axis(TRUTH),))
    typed = pl.DataFrame({"x": [True, False, None, True]}).select(
        "x", a=pl.col("x").cast(pl.Int8), b=pl.col("x").cast(pl.Float64),
        c=pl.col("x").cast(pl.Int8).cast(pl.Decimal(5, 2)),
        d=pl.col("x").cast(pl.String).str.to_titlecase(),
        e=pl.Series(["oN", "n", "NA", "T"]),
    )  # fmt: skip
    for name in typed.columns:
        path = tmp_path / f"{name}.{suffix}"
        getattr(typed.select(pl.col(name).alias("x"), y=1), f"write_{suffix}")(path)
        assert engine([query], RowUnit(), path) == [[1, 2]], name


def test_declared_texts_of_a_boolean_are_read_to_the_letter() -> None:
    """With two declared texts, other words and other cases are missing."""
    column = BooleanColumn("x", (("no", "false"), ("yes", "true")))
    assert read(column, ["no", "yes", "No", "true", "1"]) == [0, 1, None, None, None]


def test_a_category_reads_what_differs_in_nothing_that_is_seen() -> None:
    """Unicode forms, kinds and numbers of blanks, and widthless characters do not count."""
    same = [f"Orle{ACUTE}ans", "Orl\u200béans", "\ufeffOrléans", "\N{NO-BREAK SPACE}Orléans\u200e"]
    assert read(TOWNS, [*same]) == [0] * 4
    spaced = ["New\N{NO-BREAK SPACE}York", "New  York", "New\tYork", "New\N{EN SPACE} York"]
    assert read(TOWNS, [*spaced]) == [1] * 4
    assert read(TOWNS, ["Paris", "P\u200baris"]) == [2, 2]
    other = ["Orleans", "NewYork", "new york", "New\nYork", "Orl\u202eéans", "P\u0430ris", "\u200b"]
    assert read(TOWNS, [*other]) == [None] * len(other)


def test_marks_and_other_texts_are_compared_in_the_same_form() -> None:
    """A mark in another Unicode form is a mark, and a declared text is no other text."""
    column = CategoryColumn(
        "x", (("é", "a"), ("É b", "b")), options=options(na=("ñ",), any_case=True), other="c"
    )
    cells: list[str | None] = [f"e{ACUTE}", f"E{ACUTE}\N{NO-BREAK SPACE}B", "n\u0303", "Ñ", "n", ""]
    assert read(column, cells) == [0, 1, None, None, 2, None]


JOINED: list[tuple[tuple[Option, ...], list[list[str]]]] = [
    ((), [["é", f"e{ACUTE}", "\N{NO-BREAK SPACE}é "], ["a b", "a  b", "a\N{NO-BREAK SPACE}b"],
          ["7", " 7", "\ufeff7"], ["07"], ["7.0"], ["P1"], ["p1", "p\u200b1"], ["ab"]]),
    ((Case(),), [["P1", "p1"], ["É", f"e{ACUTE}"], ["7"], ["07"], ["H\u0331", "\u1e96"]]),
    ((Blanks(),), [["a b", "ab", " a  b", "a\N{EN SPACE}b"], ["1 234", "1234"], ["Ab"]]),
    ((Numerals(),), [["7", "07", "7.0", "7,0", "+7", "7.", "007.00", "7.0000"], ["7.000"], ["-7"],
                     ["0", "00", "-0", "0.0"], ["100000", "1e+05"], ["1e5"], ["p7"], ["p07"],
                     ["12000000", "1.2e+07", "1.20E+07"], ["1.25e+01"], ["٧"], ["7.5"]]),
    ((Case(), Blanks(), Numerals()), [["a 1", "A1"], ["0 7", "7"], ["1e+05", "1E+05", "10 0000"]]),
]  # fmt: skip
"""Options of ids, and cells of which each list is one person."""


@pytest.mark.parametrize(("declared", "people"), JOINED)
def test_ids_are_one_person_where_blanks_forms_or_options_join_them(
    declared: tuple[Option, ...], people: list[list[str]], tmp_path: Path
) -> None:
    """Rows, distinct ids, and merged partials of two files all count the same people."""
    who = IdColumn("who", options=declared)
    stated = tuple((option.key, *([True] if option.key == "number" else [])) for option in declared)
    unit = PersonUnit("who", 1, 1, 1, options=stated)
    assert id_column(unit) == who
    assert [len({*read(who, [*cells])}) for cells in people] == [1] * len(people)
    queries = [LinearQuery(), DistinctQuery(present=(who,), column=who)]
    cells = [cell for one in people for cell in one]
    halves, whole = [tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "whole.csv"
    for path, part in zip((*halves, whole), (cells[::2], cells[1::2], cells), strict=True):
        pl.DataFrame({"who": part, "y": 1}).write_csv(path)
    expected = [[len(people)]] * 2
    assert evaluate(queries, whole.read_bytes(), unit) == expected
    assert [cells_of(one) for one in engine(queries, unit, whole)] == expected
    assert cells_of(engine(queries, RowUnit(), whole)[1]) == [len(people)]

    partials = []
    aggregator = QueryAggregator(bounded(queries, unit))
    for path in halves:
        with open_dataset([str(path)]) as dataset:
            partials.append(aggregator.mergeable_partial(dataset, Progress()))
    merged = aggregator.merge_users(partials)
    assert [int(frame["s0"].sum()) for frame in merged] == [len(people)] * 2


@pytest.mark.parametrize("column", [
    TRUTH, TOWNS, IdColumn("x"), IdColumn("x", options=(Case(), Blanks(), Numerals())),
    CategoryColumn("x", TOWNS.values, other="z", options=options(na=("É b",), any_case=True)),
], ids=repr)  # fmt: skip
def test_random_texts_are_read_by_the_written_rules(column: Column) -> None:
    """Engine and oracle agree on random mixtures of blanks, accents and widthless characters."""
    random = Random(1)
    pieces = [" ", "\t", "\N{NO-BREAK SPACE}", "\u200b", "\ufeff", ACUTE, "e", "é", "É", "0", "1",
              ".", ",", "e+0", "+", "-", "New", "York", "yes", "T", "b", "İ", "\u202e", "\n",
              "\u0331", "H", "\u200d", "Σ", "ß", "P"]  # fmt: skip
    read(column, ["".join(random.choices(pieces, k=random.randint(0, 6))) for _ in range(3000)])

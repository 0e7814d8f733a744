"""Columns that the native reader parses have the values of the rules, or are read as texts."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import polars as pl
import pytest

from dpcli.data.column import Column, Rule
from dpcli.data.formats import STANDARD_DIALECT, Dialect
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn, IdColumn
from dpcli.data.number_columns import IntegerColumn, NumberColumn, parse_number_cell
from dpcli.engine.files import pieces
from dpcli.engine.files.pieces import read_pieces
from dpcli.engine.files.source import open_dataset
from dpcli.engine.progress import Progress
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from tests.oracles.agreement import agreed
from tests.support.rules import mostly_extended

INCOME = NumberColumn("income", Fraction(1, 100), (-(10**6), 10**6))
AGE = IntegerColumn("age", bounds=(0, 120))
SEX = CategoryColumn("sex", (("f", "female"), ("w", "female"), ("m", "male")))
COLUMNS = (INCOME, AGE, SEX)
QUERIES = [
    LinearQuery(factors=(Factor(INCOME),)),
    LinearQuery(factors=(Factor(AGE),)),
    LinearQuery(by=(Axis(SEX),)),
]

PARTS = [
    "0", "1", "5", "9", "12", "00", "005", "49", "+", "-", ".", "e", "E", "e1", "e-1", "e+2", " ",
    "\t", "inf", "nan", "_", "x", "1e400", "1e-400", "0" * 40, "9" * 20, "\u0663", "\u00a0",
    "\u2212", ".5", "5.", "\v", "\f", "\n", "\r",
]  # fmt: skip


@pytest.mark.parametrize(
    "column",
    [AGE, *(NumberColumn("x", Fraction(1, 10**d), (0, 9)) for d in (1, 2, 9))],
    ids=lambda column: str(column.step),
)
def test_a_cell_that_the_reader_accepts_has_the_value_of_the_rules(column: NumberColumn) -> None:
    """For all short texts of digits, signs, blanks and exponents, also with halves."""
    random = Random(str(column.step))
    cells = ["".join(random.choices(PARTS, k=random.randint(1, 5))) for _ in range(30_000)]
    cells += [f"{float(column.step * Fraction(k, 2)):.12f}" for k in range(-99, 99)]
    lines = "x,y\n" + "".join(f'"{cell}",1\n' for cell in cells)
    dtype = column.native_type(".", '"')
    assert dtype is not None
    schema = {"x": dtype, "y": pl.String()}
    table = pl.scan_csv(io.BytesIO(lines.encode()), schema=schema, ignore_errors=True).collect()
    found = table.select(column.native_steps(pl.col("x"))).to_series().to_list()
    accepted = [
        (cell, value) for cell, value in zip(cells, found, strict=True) if value is not None
    ]
    wide = (-(10**40), 10**40)
    assert accepted == [(cell, parse_number_cell(cell, column.step, wide)) for cell, _ in accepted]
    assert len(accepted) > 1000


def native(
    path: Path, columns: tuple[Column, ...], dialect: Dialect = STANDARD_DIALECT
) -> set[int]:
    """The columns that the reader parses at first."""
    with open_dataset((str(path),), dialect) as dataset:
        piece = next(read_pieces(dataset, columns, Progress(), native=True))
    return set(piece.native.types)


ODD = ("", "12x", " 7 ", "7.5", "inf", "9" * 30, '"1"', "\u00e4")
"""Cells that the reader does not parse at first."""


@pytest.mark.parametrize(
    ("odd", "in_place"),
    mostly_extended(
        product(ODD, (False, True)),
        *((odd, at % 2 == 0) for at, odd in enumerate(ODD)),
        unpack=True,
    ),
)
def test_an_odd_cell_anywhere_changes_no_answer(
    odd: str, in_place: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is read as texts from the first odd cell on, in place or piece by piece."""
    monkeypatch.setattr(pieces, "PIECE", 2_000 if in_place else 300)
    monkeypatch.setattr(pieces, "BLOCK", 500)
    rows = [f"{row}.{row % 100:02},{row % 130},{'fwm'[row % 3]}" for row in range(400)]
    for at in (0, 399):
        changed = [*rows[:at], f"{odd},{odd},{odd or 'f'}", *rows[at:]]
        agreed(QUERIES, "income,age,sex\n" + "\n".join(changed) + "\n", tmp_path)


def test_only_the_column_with_the_odd_cell_is_read_as_texts(tmp_path: Path) -> None:
    """One column of codes that are not declared does not slow the others down."""
    path = tmp_path / "d.csv"
    path.write_text("income,age,sex\n1.00,5,f\n2.50,6,x\n", encoding="utf-8")
    with open_dataset((str(path),)) as dataset:
        (piece,) = read_pieces(dataset, COLUMNS, Progress(), native=True)
        assert set(piece.native.types) == {0, 1, 2}
        assert piece.drop_odd()
        assert set(piece.native.types) == {0, 1}
        assert not piece.drop_odd()


class TensColumn(IntegerColumn):
    """Whole numbers of which the file has the tens."""

    __slots__ = ()

    def rules(self, decided: Mapping[str, int | None]) -> Sequence[Rule]:
        return [lambda text: self.possible(text.cast(pl.Int64, strict=False) * 10)] * 2


def test_a_column_with_rules_of_its_own_is_read_by_them(tmp_path: Path) -> None:
    """A native type that it inherits is about the rules of its base."""
    path, tens = tmp_path / "d.csv", TensColumn("age", bounds=(0, 120))
    path.write_text("income,age,sex\n1.00,5,f\n2.50,6,m\n", encoding="utf-8")
    assert native(path, (INCOME, tens, SEX)) == {0, 2}
    assert not tens.rules_are_native


def test_cells_whose_texts_matter_are_no_native_columns(tmp_path: Path) -> None:
    """Commas as decimal marks, footers, quotes in labels, and two columns of one place."""
    path = tmp_path / "d.csv"
    path.write_text("income,age,sex\n1.00,5,f\n", encoding="utf-8")
    assert native(path, COLUMNS, Dialect(decimal=",")) == {2}
    assert native(path, COLUMNS, Dialect(footer=("Total",))) == {1, 2}
    again = IntegerColumn("again", bounds=(0, 9), source="age")
    assert native(path, (AGE, again, SEX)) == {2}
    quoted = CategoryColumn("sex", (('f"', "f"), ("m", "m")))
    assert native(path, (IdColumn("age"), quoted)) == set()
    assert native(path, (IdColumn("age"), quoted), Dialect(quote=None)) == {1}

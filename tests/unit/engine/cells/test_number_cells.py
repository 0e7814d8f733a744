"""What cells of numbers say is what is read: signs, units, factors, groups and fractions."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import polars as pl
import pytest

from dpcli.data.characters import BLANKS, SPACES, factor_word, is_numeral, misread
from dpcli.data.column import Column
from dpcli.data.formats import THOUSANDS, NumberFormat
from dpcli.data.grid_columns import NumericColumn, numeric_columns
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.engine.cells import Decoder
from dpcli.privacy.unit import RowUnit
from dpcli.problems.errors import SpecError
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from dpcli.specification.load import parse_central_spec
from tests.oracles.opened import engine
from tests.oracles.plain import evaluate, value
from tests.support.options import options
from tests.support.specs import completed

LETTERS = tuple(map(chr, range(sys.maxunicode + 1)))
WAVES = "\u301c\u3030\u30a0"
DASHES = [c for c in LETTERS if unicodedata.category(c) == "Pd" and c not in WAVES]
MINUSES = [*DASHES, "\N{MINUS SIGN}", "\N{SUPERSCRIPT MINUS}", "\N{SUBSCRIPT MINUS}"]
WHOLE = IntegerColumn("x", bounds=(-(10**9), 10**9))


def declared(keys: str, kind: str = "number, step: 0.01") -> NumericColumn:
    """The column that a spec declares with these keys."""
    spec = parse_central_spec(
        completed(f"columns:\n  x: {{type: {kind}, bounds: [-1000000000, 1000000000], {keys}}}\n"),
        "spec.yaml",
    )
    return next(column for column in numeric_columns(spec.columns) if column.name == "x")


def read(column: Column, cells: list[str]) -> list[object]:
    """What the engine reads in cells, after the oracle has read the same."""
    decoded = Decoder((column,)).decode(pl.DataFrame({"t0": cells})).to_series().to_list()
    assert decoded == [value(column, cell) for cell in cells]
    return decoded


def cents(numbers: Sequence[float | None]) -> list[int | None]:
    """Numbers in steps of 0.01."""
    return [None if number is None else round(number * 100) for number in numbers]


def problems(keys: str) -> set[str]:
    """The codes of the problems of a column with these keys."""
    with pytest.raises(SpecError) as caught:
        declared(keys)
    return {problem.code for problem in caught.value.problems}


FORMS = ("", "na: x", 'thousands: ","', "affixes: [EUR, m²]", "brackets: true", "decimal: ','")


@pytest.mark.parametrize("keys", FORMS)
def test_a_minus_of_any_form_is_a_minus(keys: str) -> None:
    """Every dash and minus of Unicode before a digit makes the number negative."""
    for kind in ("integer", "number, step: 1"):
        assert set(read(declared(keys, kind), [f"{minus}5" for minus in MINUSES])) == {-5}
        assert set(read(declared(keys, kind), [f"{wave}5" for wave in WAVES])) == {None}


def test_a_plus_of_any_form_is_a_plus() -> None:
    """All characters that normalize to a plus may be before a number."""
    pluses = [letter for letter in LETTERS if unicodedata.normalize("NFKC", letter) == "+"]
    for keys in FORMS:
        assert set(read(declared(keys, "integer"), [f"{plus}5" for plus in pluses])) == {5}


def test_a_minus_is_before_or_after_an_affix_as_a_hyphen_is() -> None:
    """A dash between numbers, after a number, in an exponent or twice is no minus."""
    column = declared("affixes: [EUR], brackets: true")
    cells = ["−EUR 5", "EUR −5", "− EUR 5", "EUR–5", "5–10", "5–", "1e–2", "––5", "(–5)", "–"]
    assert read(column, cells) == cents([-5, -5, -5, -5, *[None] * 6])


def test_numbers_with_a_minus_of_any_form_are_marks() -> None:
    """A mark is compared as a number, whatever its minus is."""
    for mark in ("-99", "−99"):
        assert read(declared(f"na: '{mark}'"), ["-99", "−99", "–99.0", "99"]) == [*[None] * 3, 9900]


def test_blanks_of_a_line_are_not_part_of_a_cell() -> None:
    """All of the category Zs, tabs, and three characters of no width; ends of lines are."""
    assert {*SPACES} == {letter for letter in LETTERS if unicodedata.category(letter) == "Zs"}
    assert {*BLANKS} == {*SPACES, "\t", "\u200b", "\u2060", "\ufeff"}
    for column in (WHOLE, declared("na: x"), declared("thousands: ' '")):
        one = value(column, "5")
        assert set(read(column, [f"{blank}5{blank}{blank}" for blank in BLANKS])) == {one}
        assert set(read(column, ["5\n", "5\r", "\v5", "5\u2028", "5\x85", "5\u200e"])) == {None}


def test_groups_are_between_blanks_of_any_form() -> None:
    """With `thousands: space`, each blank of a line groups digits."""
    column = declared("thousands: space, affixes: EUR")
    assert set(read(column, [f"1{space}234 EUR" for space in SPACES])) == {123_400}
    assert read(column, ["1\t234", "1\u200b234", "12 34", "1  234"]) == [None] * 4


# Affixes and factors.


PARTS = "− – — － ﹣ ⁻ ± ➖ ＋ + ( （ . , ， e E5 e+3 １ ½ ² 万 万元 Ⅳ ٥ १ ① 1st /2 :30 x10 ×10³ ^2"
ODD_AFFIXES = [
    *PARTS.split(),
    "-kg",
    "–kg",
    "²m",
    "kg\u202e",
    "k\u200bg",
    "\x07",
    "▲",
    "△",
    "÷",
    "in 1000",
    "m 2",
    "*",
    "\N{MULTIPLICATION SIGN}",
    "/",
    "ー",
    "EUR−",
    "USD-",
    "minus",
    "neg.",
    "CR",
    "Dr",
    *["минус", "мінус", "负", "負", "マイナス", "ناقص", "赤", "overdrawn", "S", "D", "Db", "Minus"],
    *[
        "below zero",
        "EUR minus",
        "EUR (",
        "EUR)",
        "kg（",
        "EUR x1000",
        "EUR000",
        "EUR e6",
        "元亿元",
    ],
]


@pytest.mark.parametrize("affix", ODD_AFFIXES)
def test_an_affix_with_what_numbers_are_made_of_is_refused(affix: str) -> None:
    """Dropped, it would change the number: a sign, a numeral, a bracket or a mark."""
    assert "affix" in problems(f"affixes: [{affix!a}]".replace("'", '"'))


def test_no_numeral_of_any_script_is_an_affix() -> None:
    """Each character with a numeric value is refused alone and before letters."""
    numerals = [letter for letter in LETTERS if is_numeral(letter)]
    assert len(numerals) > 1000
    assert all(misread(numeral, ".,") and misread(f"{numeral}kg", ".,") for numeral in numerals)


WORDS = (
    "k,K,M,MM,bn,Tsd,Tsd.,tausend,thousand,mille,Mio,Mio.,MILLION,Mrd,billion,lakh,crore,ribu,juta,"
    "млн,тыс.,억원,만,ล้านบาท,लाख,k€,k EUR,kEUR,TEUR,К,М€,bln,십,백,tūkst.,R$ mi,"
    "Mio. EUR,EUR Mio.,€m,$bn,£ m,US$ million,tkr,тысячи,миллиона,tysiąc,milhares,Hundert,docena,"
    "Dutzend,centaines,koti,εκατομμύρια,млрд,млрд.,миллиардов,мільярд,mdkr,"
    "md kr,thous.,thsnd,promille,crs,in millions of euros,tuhatta,tuhansia,milijuna,milijarda,"
    "tisuće,tūkstantis,tuhandet,miljoni,"
    "हजार,লাখ,কোটি,ஆயிரம்,లక్షలు,ലക്ഷം,дюжина,десяток,сотен,tosin,vingtaine,Gros,Schock,Dtz.,"
    "tusinder,тыс. руб.,MSEK,billón,tỷ đồng,þúsund,milioane"
)


@pytest.mark.parametrize("affix", WORDS.split(","))
def test_a_word_that_multiplies_is_no_affix(affix: str) -> None:
    """It would be dropped; the hint names the key that reads it."""
    with pytest.raises(SpecError) as caught:
        declared(f"affixes: ['{affix}']")
    (problem,) = caught.value.problems
    assert problem.code == "affix" and "`factors: {" in problem.hint


UNITS = (
    "%,‰,$,€,US$,R$,kg,km,kr,m,mm,ml,min,MB,GB,kWh,MW,l,g,t,b,°C,m²,m³,CO2,CO2e,€/m²,kg/m^2,zł,Kč,Ft,"
    "Fr.,人,円,元,명,원,บาท,kg (wet),:-,l'an,per month,руб.,гр,dB,s,d,x,mA,milliampere,milliohm,"
    "mmHg,W/m²,miles,H2O,лет,чел.,ppm,S$,A$,C$,db,kg.,s/m"
)


@pytest.mark.parametrize("unit", UNITS.split(","))
def test_a_unit_is_an_affix(unit: str) -> None:
    """It may be after the number; there is no reading of the text without it."""
    column = declared(f'affixes: ["{unit}"]')
    assert read(column, [f"5 {unit}", f"5{unit}", f"-5 {unit}"]) == cents([5, 5, -5])


@pytest.mark.parametrize(
    ("affixes", "is_mixed"),
    [
        ("kg, g", True), ("KG, g", True), ("kg, Kg", False), ("g, mg", True),
        ("min, h", True), ("$, €", True), ("EUR, '£'", True),
        ("'%', '\u2030'", True), ("kWh, MWh", True), ("km, mi, x", True), ("kg", False),
        ("'$', '%'", False), ("EUR, €, Euro", False), ("lb, lbs", False), ("EUR, m²", False),
    ],
)  # fmt: skip
def test_affixes_of_different_sizes_give_a_warning(affixes: str, is_mixed: bool) -> None:
    """Both would be dropped, so that a gram and a kilogram are the same number."""
    column = declared(f"affixes: [{affixes}], thousands: ','")
    assert is_mixed == any("different sizes" in text for text in column.cautions("."))


def test_an_affix_with_a_numeral_is_only_after_the_number() -> None:
    """It is removed as a whole: no digit of the number is taken for one of the affix."""
    column = declared("affixes: [m², CO2, m]")
    cells = ["5 m²", "25 CO2", "2CO2", "m 5"]
    others = ["m²5", "m² 5", "5²m", "5 m² 3", "5²", "CO2 25", "5 m2"]
    assert read(column, cells + others) == cents([5, 25, 2, 5, *[None] * 7])


def test_an_affix_that_ends_with_a_mark_does_not_touch_the_digits_after_it() -> None:
    """`Rs.5` could be `Rs` and a half."""
    cells = ["Rs. 5", "Rs.5", "5 Rs.", "Rs. .5", "5.Rs."]
    assert read(declared("affixes: ['Rs.']"), cells) == cents([5, None, 5, 0.5, 5])
    assert read(declared("affixes: [Rs, 'Rs.']"), cells) == cents([5, 0.5, 5, 0.5, 5])


def test_factors_multiply_exactly() -> None:
    """A power of ten after the number, with affixes, signs and brackets as without it."""
    keys = 'factors: {k: 1000, "Mio.": 1000000, 万: 10000, "%": 0.01, K: 1}, affixes: [EUR, $]'
    column = declared(f"{keys}, brackets: true")
    cells: dict[str, float | None] = {
        "5k": 5000, "5.2 Mio. EUR": 5_200_000, "$ 5.2 Mio.": 5_200_000, "-$5k": -5000, "3万": 3e4,
        "(5k)": -5000, "$(5k)": -5000, "(5)k": None, "5 EUR": 5, "5": 5, "5kk": None, "k5": None,
        "5 EUR k": None, "1e3k": None, "12 %": 0.12, "5 K": 5, "5Mio": None, "−0.5k": -500,
    }  # fmt: skip
    assert read(column, list(cells)) == cents(list(cells.values()))
    integers = declared("factors: {k: 1000}", "integer")
    assert read(integers, ["1.5k", "1.2345k", "2k", "1.5"]) == [1500, None, 2000, None]


def test_a_text_with_two_values_is_refused() -> None:
    """`5kg` is five kilograms, or five thousand grams, if both are declared."""
    assert problems("factors: {k: 1000}, affixes: [g, kg]") == {"affix"}
    assert problems("factors: {'%': 0.01}, affixes: ['%']") == {"affix"}
    declared("factors: {k: 1000}, affixes: [kg]")


@pytest.mark.parametrize("factor", ["12", "0", "-10", "2000", "1e19"])
def test_a_factor_is_a_power_of_ten(factor: str) -> None:
    """Others would need rounding."""
    assert problems(f"factors: {{k: {factor}}}") == {"factor"}


@pytest.mark.parametrize("text", ["5", "½", "²", "-", "–k", ".k", "e", "E5", " ", "(k)"])
def test_a_factor_is_no_part_of_a_number(text: str) -> None:
    """A factor begins with no sign, numeral, mark, bracket, blank or exponent."""
    assert problems(f"factors: {{'{text}': 1000}}") == {"affix"}


def test_a_text_stands_for_a_whole_number_in_integers() -> None:
    """With a fraction, all its cells would be missing."""
    with pytest.raises(SpecError) as caught:
        declared("values: {few: 2.5}", "integer")
    assert {problem.code for problem in caught.value.problems} == {"off-grid"}
    declared("values: {few: 2.5}")


def test_words_that_multiply_are_found_at_both_ends_of_an_affix() -> None:
    """Within it, or as a part of a word, they are none."""
    assert [factor_word(affix) for affix in ("k m", "m k", "m k m", "Kilo", "millimeter")] == [
        "k", "k", "", "", "",
    ]  # fmt: skip


# Groups, and a minus after the number.


def test_indian_groups_have_two_digits_before_the_last_three() -> None:
    """`indian` reads these groups alone, and a comma reads groups of three alone."""
    cells = [
        "12,34,567.89",
        "1,234",
        "12,345",
        "1,23,456",
        "123,456",
        "1,234,567",
        "12,34",
        "1234567",
    ]
    indian = [1_234_567.89, 1234, 12_345, 123_456, None, None, None, 1_234_567]
    western = [None, 1234, 12_345, None, 123_456, 1_234_567, None, 1_234_567]
    assert read(declared("thousands: indian"), cells) == cents(indian)
    assert read(declared('thousands: ","'), cells) == cents(western)
    assert read(declared("thousands: none"), cells) == cents([*[None] * 7, 1_234_567])


def test_a_minus_after_the_number_is_declared() -> None:
    """It is right after a digit; without the key, such a cell is missing."""
    cells = ["5-", "1.234,50-", "1.234,50−", "5- EUR", "5 -", "5,-", "-5-", "(5-)", "5--", "-5"]
    keys = 'thousands: ".", decimal: ",", affixes: [EUR]'
    read_with = [-5, -1234.5, -1234.5, -5, *[None] * 5, -5]
    assert read(declared(f"{keys}, minus: after"), cells) == cents(read_with)
    assert read(declared(f"{keys}, brackets: true"), cells) == cents([*[None] * 9, -5])


FORMS_WRITTEN = [
    NumberFormat(thousands="indian", affixes=("Rs.",)),
    NumberFormat(",", "space", ("m²",), brackets=True),
    NumberFormat(affixes=(":-",), factors=(("k", 3),), minus_after=True),
    *(NumberFormat(thousands=mark) for mark in THOUSANDS if mark != "."),
]


@pytest.mark.parametrize("form", FORMS_WRITTEN)
def test_numbers_are_read_as_they_are_written_for_synthetic_data(form: NumberFormat) -> None:
    """A number in its form is that number again."""
    random = Random(0)
    column = NumberColumn("x", Fraction(1, 100), (-(10**9), 10**9), options=options(form))
    numbers = [random.randint(-(10 ** (i % 9)), 10 ** (i % 9)) for i in range(200)]
    assert read(column, [form.written(column.text(steps)) for steps in numbers]) == numbers


# Whole numbers.

FRACTIONS: Mapping[str, int | None] = {
    "23.824": None, "5.5": None, "1.5e0": None, "15e-1": None, "0.5": None, "1e-3": None,
    "-.5": None, "1.2345e3": None, "10e-2": None, "2.5e-400": None, ".e5": None, "1e": None,
    "23.0": 23, "23.": 23, "1e3": 1000, "2.50e1": 25, "1.5e00000000000000000000001": 15, ".5e1": 5,
    "20e-1": 2, "0e-9": 0, "0.000e+00": 0, "-100e-2": -1, "1.50e+01": 15, "000.0": 0, "−7.00": -7,
    "2.5000000000000000000000000e24": 10**9, "1e400": 10**9, "-1.5e400": -(10**9), "inf": 10**9,
}  # fmt: skip


def test_an_integer_cell_has_no_fraction_but_zeros() -> None:
    """Another cell is missing, with and without a declared form or step."""
    cells = list(FRACTIONS)
    assert read(WHOLE, cells) == list(FRACTIONS.values())
    formed = IntegerColumn("x", bounds=WHOLE.bounds, options=declared('thousands: ","').options)
    assert read(formed, cells) == [None if c == "inf" else v for c, v in FRACTIONS.items()]
    tens = IntegerColumn("x", Fraction(10), (-10, 10))
    assert read(tens, ["12", "15", "15.0", "15.5", "1.51e1", "151e-1"]) == [1, 2, 2, *[None] * 3]


def test_a_number_with_step_one_is_rounded() -> None:
    """Only integers must be whole."""
    column = NumberColumn("x", Fraction(1), (0, 100))
    assert read(column, ["23.824", "5.5", "1.5e0"]) == [24, 6, 2]


@pytest.mark.parametrize("keys", ["", "na: 7", 'thousands: ","'])
def test_typed_fractions_are_missing_in_integers(keys: str, tmp_path: Path) -> None:
    """The number of a Parquet column is read as its text."""
    few = [1.0, 2.5, -3.0, None, 0.25, 1000.0, 0.30000000000000004]
    more = [*few, 1e300, float("nan"), 1e-9, 2.0**53, 1e22]
    column = declared(keys, "integer")
    total = LinearQuery(factors=(Factor(column),))
    path = tmp_path / "data.parquet"
    for dtype, numbers in ((pl.Float64, few), (pl.Float64, more), (pl.Decimal(38, 2), few)):
        frame = pl.DataFrame({"x": pl.Series(numbers, dtype=pl.Float64).cast(dtype)})
        frame.write_parquet(path)
        text = "x\n" + "".join(f"{n or ''}\n" for n in frame["x"].cast(pl.String))
        assert engine([total], RowUnit(), path) == evaluate([total], text.encode())


# What a declaration alone says.


@pytest.mark.parametrize(
    ("keys", "warned"),
    [
        ('decimal: ","', True),
        ('decimal: ",", affixes: EUR', True),
        ('decimal: ",", thousands: "."', False),
        ('decimal: ",", thousands: none', False),
        ('decimal: "."', False),
        ("na: x", False),
    ],
)
def test_a_decimal_comma_without_groups_is_named(keys: str, *, warned: bool) -> None:
    """Large numbers may have points, and they alone would be missing."""
    cautions = list(declared(keys).cautions("."))
    assert bool(cautions) == warned
    assert all('`thousands: "."`' in caution for caution in cautions)


def test_a_decimal_comma_of_the_file_is_named_for_numbers_from_a_thousand() -> None:
    """Smaller bounds need no groups."""
    for column, warned in ((WHOLE, True), (IntegerColumn("x", bounds=(-999, 999)), False)):
        assert bool([*column.cautions(",")]) == warned
        assert not [*column.cautions(".")]
    money = NumberColumn("x", Fraction(1, 100), (0, 100_000))
    assert [*money.cautions(",")]
    assert not [*replace(money, bounds=(0, 99_999)).cautions(",")]

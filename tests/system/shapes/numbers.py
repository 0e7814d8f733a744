"""Numbers as people read them, and marks in their place."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pandas as pd

from tests.system.shapes.shape import ROWS, Shape, Truth, write_table


def write_thousands(path: Path, random: Random) -> None:
    """A payroll with commas between thousands, which are in quotes for that reason."""
    rows = [
        (place, f"{random.randint(900_00, 250_000_00) / 100:,.2f}", f"{random.randint(1, 9_999):,}")
        for place in range(ROWS)
    ]
    write_table(path, [("Employee", "Gross pay", "Units"), *rows])


def thousands(path: Path) -> Truth:
    """Totals, an average, and a histogram of the pay."""
    frame = pd.read_csv(path, thousands=",")
    pay, bands = (
        frame["Gross pay"],
        ["[0.00,100000.00)", "[100000.00,200000.00)", "[200000.00,300000.00]"],
    )
    place = (pay // 100_000).clip(upper=2).astype(int)
    return {
        "rows": len(frame),
        "pay": pay.sum(),
        "mean_pay": pay.mean(),
        "units": frame["Units"].sum(),
        "pays": pd.Series({band: (place == at).sum() for at, band in enumerate(bands)}),
    }


THOUSANDS = Shape(
    "thousands separators",
    "payroll.csv",
    write_thousands,
    {
        "Gross pay": 'type: number, bounds: [0, 300000], step: 0.01, thousands: ","',
        "Units": 'type: integer, bounds: [0, 10000], thousands: ","',
    },
    (
        "name: pay, statistic: sum, column: Gross pay",
        "name: mean_pay, statistic: mean, column: Gross pay",
        "name: units, statistic: sum, column: Units",
        "name: pays, statistic: histogram, column: Gross pay, bins: {width: 100000}",
    ),
    thousands,
)


def german(number: float) -> str:
    """A number with a decimal comma, and points between thousands."""
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def write_semicolons(path: Path, random: Random) -> None:
    """A spreadsheet of a country with decimal commas, with a mark of its encoding."""
    rows = [
        (
            place,
            german(random.randint(0, 500_000) / 100),
            f"{random.randint(-90, 400) / 10}".replace(".", ","),
        )
        for place in range(ROWS)
    ]
    write_table(path, [("Nr", "Betrag in €", "Temperatur"), *rows], ";", encoding="utf-8-sig")


def semicolons(path: Path) -> Truth:
    """A total, an average, and days of frost."""
    frame = pd.read_csv(path, sep=";", decimal=",", thousands=".", encoding="utf-8-sig")
    return {
        "rows": len(frame),
        "amount": frame["Betrag in €"].sum(),
        "mean_temperature": frame["Temperatur"].mean(),
        "frost": (frame["Temperatur"] < 0).sum(),
    }


SEMICOLONS = Shape(
    "semicolons and decimal commas",
    "werte.csv",
    write_semicolons,
    {
        "Betrag in €": 'type: number, bounds: [0, 10000], step: 0.01, thousands: "."',
        "Temperatur": "type: number, bounds: [-50, 50], step: 0.1",
    },
    (
        "name: amount, statistic: sum, column: Betrag in €",
        "name: mean_temperature, statistic: mean, column: Temperatur",
        "name: frost, statistic: count, where: {Temperatur: {below: 0}}",
    ),
    semicolons,
    csv={"decimal": '","'},
)


def write_affixes(path: Path, random: Random) -> None:
    """A shop report: dollars before a number, percent and units after it."""
    rows: list[tuple[object, ...]] = [("Item", "Price", "Discount", "Weight")]
    for place in range(ROWS):
        price, percent = random.randint(1, 500_000) / 100, random.randint(0, 1_000) / 10
        space = random.choice(["", " "])
        weight = f"{random.randint(1, 40)}{space}kg"
        rows.append((place, f"${space}{price:,.2f}", f"{percent}{space}%", weight))
    write_table(path, rows)


def plain(cells: Any, marks: str = "$%kg, ") -> Any:
    """The numbers of cells without these marks."""
    return cells.str.translate(dict.fromkeys(map(ord, marks))).astype(float)


def affixes(path: Path) -> Truth:
    """Totals and averages of the numbers between the marks."""
    frame = pd.read_csv(path)
    return {
        "rows": len(frame),
        "price": plain(frame["Price"]).sum(),
        "discount": plain(frame["Discount"]).mean(),
        "weight": plain(frame["Weight"]).sum(),
    }


AFFIXES = Shape(
    "dollars and percent",
    "report.csv",
    write_affixes,
    {
        "Price": 'type: number, bounds: [0, 5000], step: 0.01, thousands: ",", affixes: "$"',
        "Discount": 'type: number, bounds: [0, 100], step: 0.1, affixes: "%"',
        "Weight": "type: integer, bounds: [0, 50], affixes: kg",
    },
    (
        "name: price, statistic: sum, column: Price",
        "name: discount, statistic: mean, column: Discount",
        "name: weight, statistic: sum, column: Weight",
    ),
    affixes,
)


def write_accounts(path: Path, random: Random) -> None:
    """Accounts: a negative number is in brackets, with its currency within them."""
    rows: list[tuple[object, ...]] = [("Account", "Balance", "Change")]
    for place in range(ROWS):
        cells = []
        for sign in ("$", ""):
            amount = random.randint(-300_000, 300_000) / 100
            text = f"{sign}{abs(amount):,.2f}"
            cells.append(f"({text})" if amount < 0 else text)
        rows.append((place, *cells))
    write_table(path, rows)


def accounts(path: Path) -> Truth:
    """Totals, and how many accounts are below zero."""
    frame = pd.read_csv(path)
    signs = frame.map(lambda cell: -1 if str(cell).startswith("(") else 1)
    balance = plain(frame["Balance"], "$(),") * signs["Balance"]
    change = plain(frame["Change"], "$(),") * signs["Change"]
    return {
        "rows": len(frame),
        "balance": balance.sum(),
        "change": change.sum(),
        "negative": (balance < 0).sum(),
    }


ACCOUNTS = Shape(
    "brackets for negative numbers",
    "accounts.csv",
    write_accounts,
    {
        "Balance": "type: number, bounds: [-3000, 3000], step: 0.01,"
        ' thousands: ",", affixes: "$", brackets: true',
        "Change": 'type: number, bounds: [-3000, 3000], step: 0.01, thousands: ",", brackets: true',
    },
    (
        "name: balance, statistic: sum, column: Balance",
        "name: change, statistic: sum, column: Change",
        "name: negative, statistic: count, where: {Balance: {below: 0}}",
    ),
    accounts,
)


def write_open_ended(path: Path, random: Random) -> None:
    """A health survey in which the oldest and the smallest values are not exact."""
    rows: list[tuple[object, ...]] = [("caseid", "age", "level")]
    for place in range(ROWS):
        age, level = random.randint(18, 99), random.randint(0, 300) / 10
        rows.append((place, age if age < 85 else "85+", level if level >= 0.5 else "<0.5"))
    write_table(path, rows, end="\n")


def open_ended(path: Path) -> Truth:
    """`85+` is 85, and `<0.5` is 0.25."""
    frame = pd.read_csv(path).replace({"85+": "85", "<0.5": "0.25"}).astype(float)
    return {
        "rows": len(frame),
        "mean_age": frame["age"].mean(),
        "oldest": (frame["age"] >= 85).sum(),
        "level": frame["level"].sum(),
    }


OPEN_ENDED = Shape(
    "open-ended values",
    "survey.csv",
    write_open_ended,
    {
        "age": "type: integer, bounds: [18, 85], values: {85+: 85}",
        "level": 'type: number, bounds: [0, 30], step: 0.05, values: {"<0.5": 0.25}',
    },
    (
        "name: mean_age, statistic: mean, column: age",
        "name: oldest, statistic: count, where: {age: {min: 85}}",
        "name: level, statistic: sum, column: level",
    ),
    open_ended,
)

MARKS = ["-99", "-99.0", "NA", ".", ""]


def write_codes(path: Path, random: Random) -> None:
    """A statistics package: codes stand for missing answers, in every type of column."""

    def or_mark(value: object) -> object:
        return value if random.random() < 0.9 else random.choice(MARKS)

    rows = [
        (
            or_mark(random.randint(0, 80)),
            or_mark(random.choice("12")),
            or_mark(f"2023-{random.randint(1, 12):02}-15"),
        )
        for _ in range(ROWS)
    ]
    write_table(path, [("HOURS", "SEX", "INTDATE"), *rows])


def codes(path: Path) -> Truth:
    """Codes of missing answers are neither clamped nor counted."""
    frame = pd.read_csv(path, na_values=MARKS)
    return {
        "rows": len(frame),
        "hours": frame["HOURS"].sum(),
        "mean_hours": frame["HOURS"].mean(),
        "sex": frame["SEX"].map({1: "male", 2: "female"}).value_counts(),
        "missing": frame.isna().sum(),
    }


CODES = Shape(
    "codes of missing cells",
    "microdata.csv",
    write_codes,
    {
        "HOURS": "type: integer, bounds: [0, 100], na: [-99, NA, .]",
        "SEX": "type: category, values: {1: male, 2: female}, na: [-99, -99.0, NA, .]",
        "INTDATE": "type: date, bounds: [2023-01-01, 2023-12-31], na: [-99, -99.0, NA, .]",
    },
    (
        "name: hours, statistic: sum, column: HOURS",
        "name: mean_hours, statistic: mean, column: HOURS",
        "name: sex, statistic: count, by: [SEX]",
        "name: missing, statistic: count_missing, columns: [HOURS, SEX, INTDATE]",
    ),
    codes,
)

NUMBERS = (THOUSANDS, SEMICOLONS, AFFIXES, ACCOUNTS, OPEN_ENDED, CODES)

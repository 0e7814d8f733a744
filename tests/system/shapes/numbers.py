"""Numbers as people read them, and marks in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd

from tests.system.shapes.shape import ROWS, Cells, Shape, Truth, write_table


def shape_of_numbers(
    name: str,
    file: str,
    columns: Sequence[Cells],
    *,
    delimiter: str = ",",
    encoding: str = "utf-8",
    csv: Mapping[str, str] | None = None,
) -> Shape:
    """A file of numbers: the total and the mean of each column, and cells below zero."""

    def write(path: Path, random: Random) -> None:
        rows = [[place, *(column.write(random) for column in columns)] for place in range(ROWS)]
        header = ["No", *(column.name for column in columns)]
        write_table(path, [header, *rows], delimiter, encoding=encoding)

    def truth(path: Path) -> Truth:
        frame = pd.read_csv(
            path, sep=delimiter, dtype=str, keep_default_na=False, encoding=encoding
        )
        numbers = [column.read(frame[column.name]) for column in columns]
        return {
            "rows": len(frame),
            **{f"total_{at}": cells.sum() for at, cells in enumerate(numbers)},
            **{f"mean_{at}": cells.mean() for at, cells in enumerate(numbers)},
            **{f"below_{at}": (numbers[at] < 0).sum() for at in signed},
        }

    signed = [at for at, column in enumerate(columns) if "bounds: [-" in column.declared]
    statistics = [
        *(
            f"name: {short}_{at}, statistic: {statistic}, column: {column.name}"
            for short, statistic in (("total", "sum"), ("mean", "mean"))
            for at, column in enumerate(columns)
        ),
        *(
            f"name: below_{at}, statistic: count, where: {{{columns[at].name}: {{below: 0}}}}"
            for at in signed
        ),
    ]
    declared = {column.name: column.declared for column in columns}
    return Shape(name, file, write, declared, statistics, truth, csv=csv or {})


def plain(cells: Any) -> Any:
    """The numbers of cells without marks; those in brackets are negative."""
    signs = cells.str.startswith("(").map({True: -1, False: 1})
    return cells.str.translate(dict.fromkeys(map(ord, "$%kg, ()"))).astype(float) * signs


def spaced(before: str, after: str, number: str, random: Random) -> str:
    """A number with a mark, and sometimes a blank between them."""
    space = random.choice(["", " "])
    return f"{before}{space}{number}" if before else f"{number}{space}{after}"


def in_brackets(mark: str, random: Random) -> str:
    """An amount: a negative one is in brackets, with its currency within them."""
    amount = random.randint(-300_000, 300_000) / 100
    text = f"{mark}{abs(amount):,.2f}"
    return f"({text})" if amount < 0 else text


def german(number: float) -> str:
    """A number with a decimal comma, and points between thousands."""
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def from_german(cells: Any) -> Any:
    """The numbers of such cells."""
    return cells.str.translate(str.maketrans({".": None, ",": "."})).astype(float)


def open_ended(values: Mapping[str, str]) -> Any:
    """What reads cells of which some are no numbers."""
    return lambda cells: cells.replace(values).astype(float)


THOUSANDS = shape_of_numbers(
    "numbers of a report",
    "report.csv",
    [
        Cells(
            "Gross pay",
            'type: number, bounds: [0, 300000], step: 0.01, thousands: ","',
            lambda random: f"{random.randint(900_00, 250_000_00) / 100:,.2f}",
            plain,
        ),
        Cells(
            "Units",
            'type: integer, bounds: [0, 10000], thousands: ","',
            lambda random: f"{random.randint(1, 9_999):,}",
            plain,
        ),
        Cells(
            "Price",
            'type: number, bounds: [0, 5000], step: 0.01, thousands: ",", affixes: "$"',
            lambda random: spaced("$", "", f"{random.randint(1, 500_000) / 100:,.2f}", random),
            plain,
        ),
        Cells(
            "Discount",
            'type: number, bounds: [0, 100], step: 0.1, affixes: "%"',
            lambda random: spaced("", "%", f"{random.randint(0, 1_000) / 10}", random),
            plain,
        ),
        Cells(
            "Weight",
            "type: integer, bounds: [0, 50], affixes: kg",
            lambda random: spaced("", "kg", f"{random.randint(1, 40)}", random),
            plain,
        ),
        Cells(
            "Balance",
            "type: number, bounds: [-3000, 3000], step: 0.01,"
            ' thousands: ",", affixes: "$", brackets: true',
            lambda random: in_brackets("$", random),
            plain,
        ),
        Cells(
            "Change",
            'type: number, bounds: [-3000, 3000], step: 0.01, thousands: ",", brackets: true',
            lambda random: in_brackets("", random),
            plain,
        ),
        Cells(
            "Age",
            "type: integer, bounds: [18, 85], values: {85+: 85}",
            lambda random: age if (age := random.randint(18, 99)) < 85 else "85+",
            open_ended({"85+": "85"}),
        ),
        Cells(
            "Level",
            'type: number, bounds: [0, 30], step: 0.05, values: {"<0.5": 0.25}',
            lambda random: level if (level := random.randint(0, 300) / 10) >= 0.5 else "<0.5",
            open_ended({"<0.5": "0.25"}),
        ),
    ],
)

SEMICOLONS = shape_of_numbers(
    "semicolons and decimal commas",
    "werte.csv",
    [
        Cells(
            "Betrag in €",
            'type: number, bounds: [0, 10000], step: 0.01, thousands: "."',
            lambda random: german(random.randint(0, 500_000) / 100),
            from_german,
        ),
        Cells(
            "Temperatur",
            "type: number, bounds: [-50, 50], step: 0.1",
            lambda random: f"{random.randint(-90, 400) / 10}".replace(".", ","),
            from_german,
        ),
    ],
    delimiter=";",
    encoding="utf-8-sig",
    csv={"decimal": '","'},
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

NUMBERS = (THOUSANDS, SEMICOLONS, CODES)

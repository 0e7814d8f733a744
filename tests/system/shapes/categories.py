"""Categories as people type them, code lists, and columns without a name of their own."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pandas as pd

from tests.system.shapes.shape import ROWS, Shape, Truth, counts, write_table

REGIONS = ["north", "south", "elsewhere"]


def write_typed(path: Path, random: Random) -> None:
    """A form with free text: letters of both cases, words and short forms, and other places."""
    rows = [
        (
            random.choice(["North", "NORTH", "north", " South ", "south", "Abroad", "?", "-"]),
            random.choice(["M", "m", "Male", "F", "female", "FEMALE", "n/a"]),
            random.choice(["Yes", "YES", "yes", "No", "no"]),
        )
        for _ in range(ROWS)
    ]
    write_table(path, [("Region", "Sex", "Insured"), *rows])


def typed(path: Path) -> Truth:
    """Words count in any case; a place that is not declared is elsewhere."""
    frame = pd.read_csv(path, keep_default_na=False).apply(
        lambda column: column.str.strip().str.lower()
    )
    region = frame["Region"][frame["Region"] != "-"]
    return {
        "rows": len(frame),
        "regions": counts(region.where(region.isin(REGIONS), "elsewhere"), REGIONS),
        "sexes": counts(frame["Sex"].str[0].map({"m": "male", "f": "female"}), ["male", "female"]),
        "insured": (frame["Insured"] == "yes").mean(),
        "missing": pd.Series(
            {"Region": (frame["Region"] == "-").sum(), "Sex": (frame["Sex"] == "n/a").sum()}
        ),
    }


TYPED = Shape(
    "categories in any case",
    "form.csv",
    write_typed,
    {
        "Region": 'type: category, values: [north, south], case: ignore, other: elsewhere, na: "-"',
        "Sex": "type: category, values: {m: male, male: male, f: female, female: female},"
        " case: ignore, na: n/a",
        "Insured": 'type: boolean, values: ["no", "yes"], case: ignore',
    },
    (
        "name: regions, statistic: count, by: [Region]",
        "name: sexes, statistic: count, by: [Sex]",
        "name: insured, statistic: proportion, column: Insured",
        "name: missing, statistic: count_missing, columns: [Region, Sex]",
    ),
    typed,
)

DISTRICTS = [
    (f"{place:02}", f"District {place}", ("Coast", "Hills", "Plain")[place % 3])
    for place in range(12)
]
"""Codes with a zero in front, names, and the region of each."""


def write_districts(path: Path, random: Random) -> None:
    """A file with codes of districts, and the list of codes next to it."""
    write_table(path.with_name("districts.csv"), [("code", "name", "region"), *DISTRICTS])
    rows = [
        (place, random.choice(DISTRICTS[:11])[0], random.randint(0, 90)) for place in range(ROWS)
    ]
    write_table(path, [("ID", "DIST_CD", "VISITS"), *rows])


def with_names(path: Path) -> pd.DataFrame:
    """The records with the name and the region of each district."""
    codes = pd.read_csv(path.with_name("districts.csv"), dtype=str)
    return pd.read_csv(path, dtype={"DIST_CD": str}).merge(
        codes, left_on="DIST_CD", right_on="code"
    )


def districts(path: Path) -> Truth:
    """Every district of the list counts, also one without records, alone and by region."""
    frame = with_names(path)
    names = [name for _, name, _ in DISTRICTS]
    sums = frame.groupby("name")["VISITS"].sum().reindex(names, fill_value=0)
    pairs = [(name, region) for region in ("Coast", "Hills", "Plain") for name in names]
    return {
        "rows": len(frame),
        "by_district": counts(frame["name"], names),
        "visits": sums,
        "by_region": frame["region"].value_counts(),
        "mean_visits": frame.groupby("region")["VISITS"].mean(),
        "districts_of": frame.groupby(["name", "region"]).size().reindex(pairs, fill_value=0),
    }


LISTED = "type: category, values: {file: districts.csv, key: code, label: "

CODE_LIST = Shape(
    "a list of codes in a file",
    "visits.csv",
    write_districts,
    {
        "DIST_CD": f"{LISTED}name}}",
        "region": f"from: DIST_CD, {LISTED}region}}",
        "VISITS": "type: integer, bounds: [0, 100]",
    },
    (
        "name: by_district, statistic: count, by: [DIST_CD]",
        "name: visits, statistic: sum, column: VISITS, by: [DIST_CD]",
        "name: by_region, statistic: count, by: [region]",
        "name: mean_visits, statistic: mean, column: VISITS, by: [region]",
        "name: districts_of, statistic: count, by: [region, DIST_CD]",
    ),
    districts,
)


def write_positions(path: Path, random: Random) -> None:
    """A pivot table: a score for each term under one name, and a column of notes without one."""
    rows = [
        (place, *(random.randint(0, 100) for _ in range(3)), random.choice(["pass", "fail"]))
        for place in range(ROWS)
    ]
    write_table(path, [("Pupil", "Score", "Score", "Score", ""), *rows])


def positions(path: Path) -> Truth:
    """Every score is read from its own place."""
    frame = pd.read_csv(path)
    return {
        "rows": len(frame),
        "first": frame["Score"].sum(),
        "second": frame["Score.1"].sum(),
        "third": frame["Score.2"].sum(),
        "results": frame["Unnamed: 4"].value_counts(),
    }


POSITIONS = Shape(
    "repeated and empty names",
    "pupils.csv",
    write_positions,
    {
        "Score_1": "type: integer, bounds: [0, 100]",
        "Score_2": "type: integer, bounds: [0, 100]",
        "Score_3": "type: integer, bounds: [0, 100]",
        "column_5": "type: category, values: [pass, fail]",
    },
    (
        "name: first, statistic: sum, column: Score_1",
        "name: second, statistic: sum, column: Score_2",
        "name: third, statistic: sum, column: Score_3",
        "name: results, statistic: count, by: [column_5]",
    ),
    positions,
    init=("--header",),
)

CATEGORIES = (TYPED, CODE_LIST, POSITIONS)

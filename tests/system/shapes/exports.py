"""Exports of spreadsheets, survey tools and data bases."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random

import pandas as pd

from tests.system.shapes.shape import ROWS, Shape, Truth, counts, write_table

CLINICS = ["North", "South", "Harbour"]


def visits(random: Random) -> list[tuple[int, str, int]]:
    """A number, a clinic and minutes for each visit."""
    return [(place, random.choice(CLINICS), random.randint(5, 90)) for place in range(1, ROWS + 1)]


def write_spreadsheet(path: Path, random: Random) -> None:
    """Semicolons, a title that is padded to the width of the table, a total and a source."""
    rows = visits(random)
    total = sum(minutes for _, _, minutes in rows)
    write_table(
        path,
        [
            ("Visits to 3 clinics", "", ""),
            ("", "", ""),
            ("No", "Clinic", "Minutes"),
            *rows,
            ("Total", "", total),
            ("Source: Health Office", "", ""),
        ],
        ";",
        encoding="utf-8-sig",
    )


def clinic_numbers(frame: pd.DataFrame) -> Truth:
    """What all these files are asked about."""
    return {
        "rows": len(frame),
        "by_clinic": counts(frame["Clinic"], CLINICS),
        "minutes": frame.groupby("Clinic")["Minutes"].sum(),
        "mean_minutes": frame["Minutes"].mean(),
    }


CLINIC = "type: category, values: [North, South, Harbour]"
MINUTES = "type: integer, bounds: [0, 120]"
CLINIC_STATISTICS = (
    "name: by_clinic, statistic: count, by: [Clinic]",
    "name: minutes, statistic: sum, column: Minutes, by: [Clinic]",
    "name: mean_minutes, statistic: mean, column: Minutes",
)

SPREADSHEET = Shape(
    "a spreadsheet with a title and totals",
    "visits.csv",
    write_spreadsheet,
    {"Clinic": CLINIC, "Minutes": MINUTES},
    CLINIC_STATISTICS,
    lambda path: clinic_numbers(
        pd.read_csv(path, sep=";", skiprows=2, skipfooter=2, engine="python", encoding="utf-8-sig")
    ),
    csv={"footer": '[Total, "Source:"]'},
)

NEWS = ["Web", "Print", "Radio"]
ANSWERS = [f"Which news do you use?: {news}" for news in NEWS]


def write_survey(path: Path, random: Random) -> None:
    """A survey tool: the questions, then the answers that each column is about."""
    rows: list[list[object]] = [
        ["Respondent ID", "Start Date", "How old are you?", "Which news do you use?", "", "", ""],
        ["", "", "Response", *NEWS, "Open-Ended Response"],
    ]
    start = datetime(2024, 1, 15)  # noqa: DTZ001 - times of clocks on walls
    for place in range(ROWS):
        moment = start + timedelta(minutes=random.randrange(60_000))
        chosen = [answer if random.random() < 0.6 else "" for answer in NEWS]
        comment = random.choice(["", "None, really", "I like\nradio"])
        rows.append(
            [
                10_000 + place,
                f"{moment:%m/%d/%Y %I:%M:%S %p}",
                random.randint(18, 90),
                *chosen,
                comment,
            ]
        )
    write_table(path, rows)


def survey(path: Path) -> Truth:
    """How many chose each answer, and the age of those who read on the Web."""
    frame = pd.read_csv(path, skiprows=[1], keep_default_na=False)
    answers = frame.iloc[:, 3:6].set_axis(ANSWERS, axis=1)
    days = pd.to_datetime(frame["Start Date"], format="%m/%d/%Y %I:%M:%S %p")
    age, web = frame["How old are you?"], answers.iloc[:, 0] == "Web"
    return {
        "rows": len(frame),
        "news": (answers != "").sum(),
        "mean_age": age.mean(),
        "web": web.sum(),
        "february": (days >= "2024-02-01").sum(),
    }


SURVEY = Shape(
    "a survey with two header lines",
    "answers.csv",
    write_survey,
    {
        '"Start Date"': "type: date, bounds: [2024-01-01, 2024-12-31],"
        ' format: "%m/%d/%Y %I:%M:%S %p"',
        '"How old are you?: Response"': "type: integer, bounds: [18, 100]",
        **{
            json.dumps(answer): f"type: category, values: [{news}]"
            for answer, news in zip(ANSWERS, NEWS, strict=True)
        },
    },
    (
        f"name: news, statistic: selections, columns: {json.dumps(ANSWERS)}",
        'name: mean_age, statistic: mean, column: "How old are you?: Response"',
        'name: web, statistic: count, where: {"Which news do you use?: Web": Web}',
        "name: february, statistic: count, where: {Start Date: {min: 2024-02-01}}",
    ),
    survey,
    init=("--header-lines", "2"),
    csv={"multiline": "true"},
)


def write_tsv(path: Path, random: Random) -> None:
    """A data base: tabs, no quotes, and inches in a text."""
    rows = [
        (place, clinic, minutes, random.choice(['a 6" nail', '"', "plain"]))
        for place, clinic, minutes in visits(random)
    ]
    lines = ["\t".join(map(str, row)) for row in [("No", "Clinic", "Minutes", "Note"), *rows]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


TABS = Shape(
    "cells between tabs",
    "visits.tsv",
    write_tsv,
    {"Clinic": CLINIC, "Minutes": MINUTES},
    CLINIC_STATISTICS,
    lambda path: clinic_numbers(pd.read_csv(path, sep="\t", quoting=csv.QUOTE_NONE)),
    csv={"quote": "none"},
)


def write_workbook(path: Path, random: Random) -> None:
    """A workbook with a title, dates, percentages, formulas and a total."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Visits"
    for row in (("Visits to clinics",), (), ("Day", "Clinic", "Minutes", "Used", "Urgent")):
        sheet.append(row)
    for _, clinic, minutes in visits(random):
        day = date(2024, 1, 1) + timedelta(days=random.randrange(366))
        used = random.randint(0, 100) / 100 if random.random() < 0.9 else None
        sheet.append((day, clinic, minutes, used, random.random() < 0.3))
        sheet.cell(sheet.max_row, 4).number_format = "0%"
    sheet.append(("Total", None, f"=SUM(C4:C{ROWS + 3})"))
    book.create_sheet("Notes").append(("Made by the office",))
    book.save(path)


def workbook(path: Path) -> Truth:
    """The records lie between the title and the total."""
    frame = pd.read_excel(path, skiprows=2).iloc[:-1]
    used = pd.to_numeric(frame["Used"])
    return {
        **clinic_numbers(frame.astype({"Minutes": int})),
        "used": used.mean(),
        "urgent": frame["Urgent"].sum(),
        "spring": pd.to_datetime(frame["Day"]).dt.month.between(3, 5).sum(),
        "unknown": pd.Series({"Used": used.isna().sum()}),
    }


WORKBOOK = Shape(
    "a workbook",
    "visits.xlsx",
    write_workbook,
    {
        "Day": "type: date, bounds: [2024-01-01, 2024-12-31]",
        "Clinic": CLINIC,
        "Minutes": MINUTES,
        "Used": "type: number, bounds: [0, 1], step: 0.01",
        "Urgent": "type: boolean",
    },
    (
        *CLINIC_STATISTICS,
        "name: used, statistic: mean, column: Used",
        "name: urgent, statistic: count, where: {Urgent: true}",
        "name: spring, statistic: count, where: {Day: {min: 2024-03-01, max: 2024-05-31}}",
        "name: unknown, statistic: count_missing, columns: [Used]",
    ),
    workbook,
    csv={"footer": "Total", "sheet": "Visits"},
)


def write_archive(path: Path, random: Random) -> None:
    """An archive with one file, whose cells are separated by tabs."""
    text = io.StringIO(newline="")
    rows = [("No", "Clinic", "Minutes"), *visits(random)]
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows(rows)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("export/visits.txt", text.getvalue())


ARCHIVE = Shape(
    "a zip archive",
    "visits.zip",
    write_archive,
    {"Clinic": CLINIC, "Minutes": MINUTES},
    CLINIC_STATISTICS,
    lambda path: clinic_numbers(pd.read_csv(path, sep="\t")),
)


def write_json_lines(path: Path, random: Random) -> None:
    """A data base: an object in each line, with null and nested values."""
    rows = [
        {
            "No": place,
            "Clinic": clinic if random.random() < 0.95 else None,
            "Minutes": minutes,
            "urgent": random.random() < 0.3,
            "tags": [place],
        }
        for place, clinic, minutes in visits(random)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def json_lines(path: Path) -> Truth:
    """A visit without a clinic is in no group."""
    frame = pd.read_json(path, lines=True)
    return {**clinic_numbers(frame), "urgent": frame["urgent"].mean()}


JSON_LINES = Shape(
    "JSON Lines",
    "visits.jsonl",
    write_json_lines,
    {"Clinic": CLINIC, "Minutes": MINUTES, "urgent": "type: boolean"},
    (*CLINIC_STATISTICS, "name: urgent, statistic: proportion, column: urgent"),
    json_lines,
)


def packed_letters(encoding: str) -> Shape:
    """Letters with several lines in a packed file, and a name with a letter of the encoding."""

    def write(path: Path, random: Random) -> None:
        text = io.StringIO(newline="")
        rows = [
            (f"Grüße,\nNr. {place}" if place % 3 else "", clinic.replace("bou", "boü"), minutes)
            for place, clinic, minutes in visits(random)
        ]
        csv.writer(text).writerows([("Notiz", "Clinic", "Minutes"), *rows])
        path.write_bytes(gzip.compress(text.getvalue().encode(encoding)))

    def truth(path: Path) -> Truth:
        frame = pd.read_csv(path, encoding=encoding)
        return clinic_numbers(frame.replace({"Clinic": {"Harboür": "Harbour"}}))

    clinics = "type: category, values: {North: North, South: South, Harboür: Harbour}"
    return Shape(
        f"a packed file in {encoding}",
        "letters.csv.gz",
        write,
        {"Clinic": clinics, "Minutes": MINUTES},
        CLINIC_STATISTICS,
        truth,
        init=("--encoding", encoding),
        csv={"multiline": "true"},
    )


EXPORTS = (
    SPREADSHEET,
    SURVEY,
    TABS,
    WORKBOOK,
    ARCHIVE,
    JSON_LINES,
    packed_letters("utf-16"),
    packed_letters("iso-8859-1"),
)

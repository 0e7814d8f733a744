"""Writes people.csv: an invented extract of a town's clinic visits.

The same bytes each time: nothing but arithmetic on `Random.random`, whose sequence
Python promises to keep. Run it from anywhere: `python sample_data/make_people.py`.
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from random import Random
from typing import TypeVar

Item = TypeVar("Item")

SEED = 20_211_231
VISITS = 12_000
"""After this number of visits, no new person comes."""
ODD_SHARE = 0.03
"""How many cells of what people say, and of `first_visit`, are missing or odd."""

HEADER = (
    "person_id", "visit", "age", "sex", "region", "employment", "hours", "income", "insured",
    "first_visit", "note",
)  # fmt: skip
REGIONS = (
    ("Old Town", 0.26),
    ("Harbour, East", 0.2),
    ("Harbour, West", 0.14),
    ("Saint-Rémy", 0.18),
    ("Hillside", 0.15),
    ("Mill Islands", 0.07),
)
SEXES = (("0", 0.48), ("1", 0.51), ("2", 0.01))
FIRST_DAY = datetime.date(2021, 1, 1)
DAYS = 365

VISITS_PER_PERSON = (
    (1, 0.37), (2, 0.25), (3, 0.16), (4, 0.1), (5, 0.06), (6, 0.04), (8, 0.01), (11, 0.01),
)  # fmt: skip
INCOMES = (0, 620, 980, 1_310, 1_640, 1_980, 2_350, 2_790, 3_420, 4_580, 7_900, 24_000)
"""Monthly income by equal steps of rank; the last step is a long tail."""

NOTES = (
    ("", 0.62),
    ("repeat prescription", 0.09),
    ("blood pressure", 0.06),
    ("came with her son", 0.03),
    ("back pain, second week", 0.05),
    ('asked for the "long" form', 0.02),
    ("no show, called the next day", 0.02),
    ("vaccination; no reaction", 0.05),
    ("referred to St. Anna's, ward 4", 0.03),
    ('wants a "second opinion", see letter', 0.01),
    ("naïve to treatment \N{EN DASH} start at ½ dose", 0.02),
)

ODD = {
    "employment": ("", "NA", " employed ", "Employed", "self employed", "n/a", "-", "military"),
    "hours": ("", "-", "38.0", " 40 ", "168", "-8", "NA", "37,5", "1e3", "inf", "NaN", "+5", "n/a"),
    "income": (
        "", "NA", "1,200", " 1850.50 ", "1e3", "-250.00", "9999999.00", "NaN", "n/a", "-", "inf",
        "-inf", "2.150,00", "€1900", "1_000", "0x10", "+5", "1234.565", "38.0",
    ),
    "first_visit": ("", "no", "NA", " 1 ", "2"),
}  # fmt: skip


@dataclass(frozen=True)
class Person:
    """What stays the same from one visit of a person to the next."""

    id: str
    born: int
    sex: str
    region: str
    employment: str
    hours: int
    income: int
    insured: str


def text() -> str:
    """The whole file."""
    random = Random(SEED)
    odd = {column: cycle(cells) for column, cells in ODD.items()}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for row in rows(random):
        for column in HEADER:
            if column in odd and random.random() < ODD_SHARE:
                row[column] = next(odd[column])
        writer.writerow([row[column] for column in HEADER])
    return out.getvalue()


def rows(random: Random) -> list[dict[str, str]]:
    """The visits of one year as they should have been written, by date."""
    visits: list[tuple[int, str, dict[str, str]]] = []
    for person in people(random):
        count = pick(random, VISITS_PER_PERSON)
        days = sorted({below(random, DAYS) for _ in range(count)})
        for number, day in enumerate(days):
            visits.append((day, person.id, visit(random, person, day, first=number == 0)))
        if len(visits) >= VISITS:
            break
    visits.sort(key=lambda found: found[:2])
    return [row for _, _, row in visits]


def people(random: Random) -> Iterator[Person]:
    """People without end, who agree with themselves: no child has an income."""
    number = 0
    while True:
        # Ids skip, as ids do, so that their number is not the number of people.
        number += 1 + below(random, 5)
        age = below(random, 64) + below(random, 36)
        employment = work(random, age)
        employed = employment in ("employed", "self-employed")
        hours = below(random, 9) * 5 if employed and random.random() < 0.4 else 38 * employed
        rank = random.random() * (1 if employed else 0.5 if age >= 18 else 0)
        yield Person(
            id=f"P{number:05}",
            born=2021 - age,
            sex=pick(random, SEXES),
            region=pick(random, REGIONS),
            employment=employment,
            hours=hours,
            income=income_cents(rank),
            insured="yes" if random.random() < 0.93 else "no",
        )


def work(random: Random, age: int) -> str:
    """An employment status that fits an age."""
    if age < 18:
        return "student"
    if age >= 67:
        return "retired" if random.random() < 0.93 else "self-employed"
    student = 0.4 if age < 26 else 0.02
    return pick(
        random,
        (
            ("student", student),
            ("employed", 0.76 * (1 - student)),
            ("self-employed", 0.11 * (1 - student)),
            ("unemployed", 0.13 * (1 - student)),
        ),
    )


def income_cents(rank: float) -> int:
    """The monthly income at a rank between zero and one, in cents."""
    place = rank * (len(INCOMES) - 1)
    step = min(int(place), len(INCOMES) - 2)
    low, high = INCOMES[step], INCOMES[step + 1]
    return int((low + (high - low) * (place - step)) * 100)


def visit(random: Random, person: Person, day: int, first: bool) -> dict[str, str]:
    """One row; income and hours vary a little from visit to visit."""
    cents = person.income + person.income * (below(random, 7) - 3) // 100
    hours = person.hours + (below(random, 5) - 2 if person.hours else 0)
    return {
        "person_id": person.id,
        "visit": (FIRST_DAY + datetime.timedelta(days=day)).isoformat(),
        "age": str(2021 - person.born),
        "sex": person.sex,
        "region": person.region,
        "employment": person.employment,
        "hours": str(hours),
        "income": f"{cents // 100}.{cents % 100:02}",
        "insured": person.insured,
        "first_visit": "1" if first else "0",
        "note": pick(random, NOTES),
    }


def below(random: Random, limit: int) -> int:
    """A whole number from zero up to, but not including, `limit`."""
    return int(random.random() * limit)


def pick(random: Random, weighted: Sequence[tuple[Item, float]]) -> Item:
    """One of the items, each as often as its weight says."""
    left = random.random() * sum(weight for _, weight in weighted)
    for item, weight in weighted:
        left -= weight
        if left < 0:
            return item
    return weighted[-1][0]


if __name__ == "__main__":
    path = Path(__file__).with_name("people.csv")
    path.write_text(text(), encoding="utf-8", newline="\n")

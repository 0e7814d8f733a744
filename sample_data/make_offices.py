"""Writes the small invented files of `docs/people.md`: five offices, with several rows per person.

The same bytes each time: nothing but arithmetic on `Random.random`, as in `make_people.py`. Run it
from anywhere: `python sample_data/make_offices.py`.
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from make_people import below, pick

PEOPLE = 3500
"""People in each file."""

FIRST_DAY = datetime.date(2023, 1, 1)

Row = tuple[object, ...]

MANY = ((1, 0.3), (2, 0.22), (3, 0.16), (4, 0.12), (6, 0.1), (9, 0.06), (14, 0.04))
"""How many rows people have, with their shares."""

SCHOOLS = (("North", 0.4), ("East", 0.35), ("West", 0.25))
BENEFITS = (("housing", 0.5), ("child", 0.35), ("care", 0.15))
MODES = (("bus", 0.6), ("tram", 0.3), ("ferry", 0.1))
OFFENCES = (("theft", 0.5), ("burglary", 0.2), ("fraud", 0.2), ("assault", 0.1))
DISTRICTS = (("Harbour", 0.4), ("Old Town", 0.35), ("Hill", 0.25))
CITIES = (
    ("Aldermouth", 0.3), ("Brenton", 0.22), ("Castle Hythe", 0.16), ("Dunmore", 0.12),
    ("Eastlea", 0.1), ("Farnham Cross", 0.06), ("Great Osney", 0.03), ("Hollow End", 0.01),
)  # fmt: skip


def days(random: Random, count: int, most: int = 365) -> list[str]:
    """Different days of the year in their order."""
    found = sorted({below(random, most) for _ in range(count)})
    return [(FIRST_DAY + datetime.timedelta(day)).isoformat() for day in found]


def school(random: Random, pupil: str) -> Iterator[Row]:
    """Three terms of a pupil; some move, some miss a term."""
    place, score = pick(random, SCHOOLS), 30 + below(random, 45)
    for term in (1, 2, 3):
        score = min(max(score + below(random, 13) - 5, 0), 100)
        absent = pick(random, ((0, 0.35), (1, 0.2), (3, 0.2), (6, 0.15), (12, 0.07), (20, 0.03)))
        if random.random() < 0.95:
            yield pupil, term, place, score, absent
        place = pick(random, SCHOOLS) if random.random() < 0.06 else place


def welfare(random: Random, person: str) -> Iterator[Row]:
    """The months of a benefit, some of which have another one too."""
    first, usual = 1 + below(random, 12), pick(random, BENEFITS)
    amount = 150 + 25 * below(random, 20)
    for month in range(first, min(first + pick(random, MANY), 13)):
        paid = usual if random.random() < 0.9 else pick(random, BENEFITS)
        yield person, f"2023-{month:02}", paid, amount + 5 * below(random, 6)


def transport(random: Random, card: str) -> Iterator[Row]:
    """The trips of a card."""
    for day in days(random, pick(random, MANY)):
        mode = pick(random, MODES)
        yield card, day, mode, {"bus": "2.40", "tram": "2.80", "ferry": "4.50"}[mode]


def police(random: Random, victim: str) -> Iterator[Row]:
    """The reported offences against a person."""
    district = pick(random, DISTRICTS)
    for day in days(random, pick(random, ((1, 0.8), (2, 0.14), (3, 0.06)))):
        yield victim, day, pick(random, OFFENCES), district


def shops(random: Random, customer: str) -> Iterator[Row]:
    """The orders of a customer."""
    city = pick(random, CITIES)
    for day in days(random, pick(random, MANY)):
        returned = "yes" if random.random() < 0.12 else "no"
        yield customer, day, city, f"{5 + below(random, 9000) / 100:.2f}", returned


FILES: dict[str, tuple[str, Callable[[Random, str], Iterator[Row]]]] = {
    "school": ("pupil,term,school,score,absent", school),
    "welfare": ("person,month,benefit,amount", welfare),
    "transport": ("card,day,mode,fare", transport),
    "police": ("victim,day,offence,district", police),
    "shops": ("customer,day,city,amount,returned", shops),
}


def text(name: str) -> str:
    """The whole file of an office, in no order of people."""
    header, rows = FILES[name]
    random = Random(f"{name} 2023")
    found = [
        row for number in range(PEOPLE) for row in rows(random, f"{name[0].upper()}{number:04}")
    ]
    found.sort(key=lambda row: (row[1], str(row)))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header.split(","))
    writer.writerows(found)
    return out.getvalue()


if __name__ == "__main__":
    for office in FILES:
        path = Path(__file__).with_name(f"{office}.csv")
        path.write_text(text(office), encoding="utf-8", newline="\n")

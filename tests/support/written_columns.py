"""Columns made from known values that are written in many styles, for the law of proposals.

A style writes a value as a text. What a text means is known, so a declaration that reads it as
another value is wrong. `UNKNOWN` is the meaning of a text that is no value of its column, such as a
time in a column of days.
"""

from __future__ import annotations

import datetime
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from random import Random

Meaning = Fraction | datetime.date | str | None
"""A number, a day or a label; None for a missing cell."""

UNKNOWN = "no value of this column"

LATE = datetime.date(2060, 12, 31)


@dataclass(frozen=True)
class WrittenColumn:
    """Texts with their meanings and rows; `declared` are keys as a user would write them first."""

    styles: tuple[str, ...]
    declared: Mapping[str, str]
    meanings: Mapping[str, Meaning]
    rows: Mapping[str, int]


# Numbers.


def grouped(number: Fraction, decimals: int, mark: str, point: str) -> str:
    """A number with marks between groups of three digits."""
    units = round(abs(number) * 10**decimals)
    whole, rest = divmod(units, 10**decimals)
    text = f"{whole:,}".replace(",", mark) + (f"{point}{rest:0{decimals}}" if decimals else "")
    return "-" * (number < 0 and units > 0) + text


def trimmed(number: Fraction, decimals: int) -> str:
    """A number without zeros at its end."""
    text = grouped(number, decimals, "", ".")
    return text.rstrip("0").rstrip(".") if "." in text else text


def indian(number: Fraction, decimals: int) -> str:
    """A number with groups of two digits before the last three."""
    text = grouped(abs(number), decimals, "", ".")
    whole, point, rest = text.partition(".")
    head, tail = whole[:-3], whole[-3:]
    groups = [head[max(0, end - 2) : end] for end in range(len(head), 0, -2)][::-1]
    return "-" * (number < 0) + ",".join((*groups, tail)) + point + rest


def plain(number: Fraction, decimals: int) -> str:
    """A number with a decimal point."""
    return grouped(number, decimals, "", ".")


Write = Callable[[Fraction, int], str]


def around(before: str, after: str, write: Write = plain) -> Write:
    """A style with texts before and after the number."""
    return lambda number, decimals: f"{before}{write(number, decimals)}{after}"


def signed(before: str, after: str, write: Write = plain) -> Write:
    """A style with texts around negative numbers in place of a minus."""
    return lambda number, decimals: (
        f"{before}{write(-number, decimals)}{after}" if number < 0 else write(number, decimals)
    )


@dataclass(frozen=True)
class NumberStyle:
    """How numbers are written, and how many of its unit are one of the first unit.

    A number without a unit has the `size` of one, or the unit of `money`. A `factor` is a part of
    the number: `5k` is 5,000.
    """

    write: Write
    size: Fraction | None = None
    factor: int = 1
    money: bool = False


def european(number: Fraction, decimals: int) -> str:
    """A number with points between groups and a decimal comma."""
    return grouped(number, decimals, ".", ",")


def american(number: Fraction, decimals: int) -> str:
    """A number with commas between groups and a decimal point."""
    return grouped(number, decimals, ",", ".")


ONE = Fraction(1)

NUMBERS: dict[str, NumberStyle] = {
    "plain": NumberStyle(plain),
    "trimmed": NumberStyle(trimmed),
    "decimal comma": NumberStyle(lambda n, d: grouped(n, d, "", ",")),
    "trimmed with comma": NumberStyle(lambda n, d: trimmed(n, d).replace(".", ",")),
    "commas between groups": NumberStyle(american),
    "points between groups": NumberStyle(european),
    "apostrophes": NumberStyle(lambda n, d: grouped(n, d, "\u2019", ".")),
    "spaces": NumberStyle(lambda n, d: grouped(n, d, " ", ",")),
    "narrow spaces": NumberStyle(lambda n, d: grouped(n, d, "\u202f", ",")),
    "underscores": NumberStyle(lambda n, d: grouped(n, d, "_", ".")),
    "indian groups": NumberStyle(indian),
    "dollars": NumberStyle(around("$", "", american), ONE, money=True),
    "euros": NumberStyle(around("", " €", european), Fraction(9, 10), money=True),
    "EUR": NumberStyle(around("EUR ", ""), Fraction(9, 10), money=True),
    "percent": NumberStyle(around("", "%"), Fraction(100)),
    "kg": NumberStyle(around("", " kg"), ONE),
    "lb": NumberStyle(around("", " lb"), Fraction(22, 10)),
    "g": NumberStyle(around("", "g"), Fraction(1000)),
    "minutes": NumberStyle(around("", " min"), ONE),
    "minimum": NumberStyle(around("min ", ""), Fraction(60)),
    "years": NumberStyle(around("", " years"), ONE),
    "months": NumberStyle(around("", " months"), Fraction(12)),
    "thousands with k": NumberStyle(around("", "k", trimmed), factor=1000),
    "millions": NumberStyle(around("", " Mio", trimmed), factor=10**6),
    "ten thousands": NumberStyle(around("", "\u4e07", trimmed), factor=10**4),
    "brackets": NumberStyle(signed("(", ")")),
    "brackets around dollars": NumberStyle(signed("($", ")", american), ONE, money=True),
    "minus after": NumberStyle(signed("", "-")),
    "wide minus": NumberStyle(signed("\u2212", "")),
    "dash": NumberStyle(signed("\u2013", "")),
    "minus with a blank": NumberStyle(signed("- ", "")),
    "debit and credit": NumberStyle(signed("", " DR")),
    "plus": NumberStyle(lambda n, d: "+" * (n > 0) + plain(n, d)),
    "zeros before": NumberStyle(lambda n, d: "-" * (n < 0) + plain(abs(n), d).zfill(9)),
    "decimals of zero": NumberStyle(lambda n, d: plain(n, max(d, 1))),
    "exponent": NumberStyle(lambda n, d: f"{float(n):.9e}"),
    "footnote": NumberStyle(around("", "*")),
    "remark": NumberStyle(around("", " (estimated)")),
    "wide digits": NumberStyle(
        lambda n, d: plain(n, d).translate({48 + digit: 0xFF10 + digit for digit in range(10)})
    ),
}


def number_column(random: Random, styles: Sequence[str]) -> WrittenColumn:
    """Numbers of one or two styles; some are plain, missing or open-ended."""
    decimals = random.choice((0, 0, 1, 2, 2, 3))
    top = random.choice((9, 99, 999, 10**4, 10**6))
    low = random.choice((0, 0, -top))
    unit = 10**decimals
    meanings: dict[str, Meaning] = {}
    used = [NUMBERS[style] for style in styles]
    used += [NUMBERS["plain"]] * random.choice((0, 0, 1))
    money = [style.size for style in used if style.money]
    sizes = [style.size or (money[0] if money else None) or ONE for style in used]
    chosen = random.choices(range(len(used)), k=random.choice((4, 12, 40)))
    # The unit of the column is one that occurs.
    unit_size = sizes[min(chosen)]
    for index in chosen:
        number = Fraction(random.randint(low * unit, top * unit), unit)
        shown = number * sizes[index] / unit_size
        text = used[index].write(shown, decimals)
        # A text means what it states, if it has few decimals too.
        stated = Fraction(round(shown * unit), unit) * used[index].factor
        meaning = stated * unit_size / sizes[index]
        meanings[text] = UNKNOWN if meanings.get(text, meaning) != meaning else meaning
    extra = random.choice(("", "", "marks", "open", "zeros", "remarks"))
    if extra == "marks":
        meanings |= dict.fromkeys(random.choices(("NA", "n/a", ".", "k.A."), k=2))
    elif extra == "open":
        meanings |= dict.fromkeys(("85+", "<5", "90 and over"), UNKNOWN)
    elif extra == "zeros":
        meanings |= {random.choice(("-", "none")): Fraction(0)}
    elif extra == "remarks":
        meanings |= dict.fromkeys((">=45 (not detected)", "3-5", "2024-05-01"), UNKNOWN)
    factor = max(style.factor for style in used)
    bounds = f"[{low * factor}, {top * factor}]"
    kind = "integer" if decimals == 0 and random.random() < 0.5 else "number"
    declared = {"type": kind, "bounds": bounds}
    if kind == "number":
        declared["step"] = random.choice((plain(Fraction(1, unit), decimals), "0.01"))
    return written(random, styles, declared, meanings)


# Days.

NAMES = {
    "German": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "French": "janvier février mars avril mai juin juillet août septembre octobre novembre "
    "décembre",
    "Spanish": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
    "diciembre",
}

Dated = Callable[[datetime.date, Random], str]


def in_format(form: str) -> Dated:
    """A style with directives of `strftime`; a time of day is chosen at random."""

    def write(day: datetime.date, random: Random) -> str:
        time = datetime.time(random.randrange(24), random.randrange(60), random.randrange(60))
        return datetime.datetime.combine(day, time).strftime(form)

    return write


def named(language: str, form: str, short: int | None = None) -> Dated:
    """A style with the name of the month in a language, perhaps with its first letters only."""
    months = NAMES[language].split()
    return lambda day, random: day.strftime(form).replace("NAME", months[day.month - 1][:short])


def days_since(first: datetime.date, unit: int) -> Dated:
    """A style with the number of units since the first day, with several in a day."""
    return lambda day, random: f"{(day - first).days * unit}"


def quarter(day: datetime.date) -> int:
    """The quarter of a day, from 1 on."""
    return (day.month + 2) // 3


def first_day(day: datetime.date) -> Meaning:
    """The first day of the month: what a text without a day means."""
    return day.replace(day=1)


def first_of_quarter(day: datetime.date) -> Meaning:
    """The first day of the quarter."""
    return day.replace(month=3 * quarter(day) - 2, day=1)


def first_of_year(day: datetime.date) -> Meaning:
    """The first day of the year."""
    return day.replace(month=1, day=1)


def monday(day: datetime.date) -> Meaning:
    """The first day of the week."""
    return day - datetime.timedelta(days=day.weekday())


def school_year(day: datetime.date, random: Random) -> str:
    """Two years, such as 2010/11."""
    return f"{day.year}/{(day.year + 1) % 100:02}"


@dataclass(frozen=True)
class DateStyle:
    """How days are written, and what a text means; UNKNOWN if it is no day and no month."""

    write: Dated
    meaning: Callable[[datetime.date], Meaning] = lambda day: day


no_day = partial(DateStyle, meaning=lambda day: UNKNOWN)

DATES: dict[str, DateStyle] = {
    **{
        form: DateStyle(in_format(form))
        for form in (
            "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d",
            "%Y%m%d", "%d%m%Y", "%m%d%Y", "%d%m%y", "%y%m%d", "%m%d%y", "%d/%m/%y", "%m/%d/%y",
            "%y-%m-%d", "%d. %m. %Y", "%Y. %m. %d.", "%d %b %Y", "%B %d, %Y", "%d-%b-%y",
            "%y-%b-%d", "%b %d %Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %I:%M %p", "%Y:%m:%d %H:%M:%S",
            "%d.%m.%Y %H:%M:%S", "%Y/%d/%m", "%d/%m/%YT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S UTC",
            "%d%b%Y", "%Y%m%d%H%M%S", "%Y%m%dT%H%M%S", "%Y%m%dT%H%M",
            "%a %d %b %Y", "%A, %B %d, %Y", "%Y-%m-%d", "%Y-%j",
        )
    },
    **{
        form: DateStyle(in_format(form), first_day)
        for form in ("%Y-%m", "%m/%Y", "%Y%m", "%b %Y", "%b-%y", "%m/%y", "%B %Y")
    },
    "without zeros": DateStyle(lambda day, _: f"{day.day}.{day.month}.{day.year}"),
    "month first, without zeros": DateStyle(lambda day, _: f"{day.month}/{day.day}/{day.year}"),
    "German": DateStyle(named("German", "%d. NAME %Y")),
    "German, short": DateStyle(named("German", "%d NAME %Y", 3)),
    "French": DateStyle(named("French", "%d NAME %Y")),
    "Spanish": DateStyle(named("Spanish", "%d de NAME de %Y")),
    "German month": DateStyle(named("German", "NAME %Y"), first_day),
    "2024Q2": DateStyle(lambda day, _: f"{day.year}Q{quarter(day)}", first_of_quarter),
    "Q2 2024": DateStyle(lambda day, _: f"Q{quarter(day)} {day.year}", first_of_quarter),
    "2024-T2": no_day(lambda day, _: f"{day.year}-T{quarter(day)}"),
    "2/2024 as quarter": DateStyle(lambda day, _: f"{quarter(day)}/{day.year}", first_of_quarter),
    "2024-02 as quarter": DateStyle(lambda day, _: f"{day.year}-0{quarter(day)}", first_of_quarter),
    "H1 2024": no_day(lambda day, _: f"H{(quarter(day) + 1) // 2} {day.year}"),
    "2024-W05": DateStyle(in_format("%G-W%V"), monday),
    "KW 05 2024": DateStyle(in_format("KW %V %G"), monday),
    "semaine 5 2024": DateStyle(in_format("semaine %V %G"), monday),
    "05/2024 as week": DateStyle(in_format("%V/%G"), monday),
    "school year": no_day(school_year),
    "time of day": no_day(in_format("%H:%M")),
    "time with seconds": no_day(in_format("%H:%M:%S")),
    "time with a point": no_day(in_format("%H.%M")),
    "half of a day": no_day(in_format("%I:%M %p")),
    "seconds since 1970": DateStyle(days_since(datetime.date(1970, 1, 1), 86_400)),
    "seconds with a zero": DateStyle(
        lambda day, _: f"{(day - datetime.date(1970, 1, 1)).days * 86_400}.0"
    ),
    "serial day with a time": DateStyle(
        lambda day, random: f"{(day - datetime.date(1899, 12, 30)).days}.{random.randrange(99)}"
    ),
    "year": DateStyle(in_format("%Y"), first_of_year),
    "serial day": DateStyle(days_since(datetime.date(1899, 12, 30), 1)),
    "Buddhist year": no_day(lambda day, _: f"{day:%d/%m}/{day.year + 543}"),
    "without year": no_day(in_format("%d.%m.")),
    "about": no_day(in_format("ca. %Y")),
}  # fmt: skip


def as_one_style(
    styles: Sequence[str], meanings: dict[str, Meaning], bounds: tuple[datetime.date, datetime.date]
) -> dict[str, Meaning]:
    """What texts of two styles mean if one style alone can have written them all."""
    alone = []
    for style in styles:
        with suppress(ValueError):
            days = [datetime.datetime.strptime(text, style).date() for text in meanings]  # noqa: DTZ007
            if all(bounds[0] <= day <= bounds[1] for day in days):
                alone.append(dict(zip(meanings, days, strict=True)))
    return {**alone[0]} if len(alone) == 1 else meanings


def date_column(random: Random, styles: Sequence[str]) -> WrittenColumn:
    """Days of one or two styles, all in the bounds; some are missing, or plain ISO dates."""
    first = datetime.date(random.choice((1925, 1970, 2001, 2020, 2023)), 1, 1)
    span = random.choice((300, 2_000, 10_000))
    last = min(first + datetime.timedelta(days=span), datetime.date(2025, 12, 31))
    latest_day = random.choice((12, 28, 31))
    meanings: dict[str, Meaning] = {}
    names = [*styles, *random.choice(((), (), ("%Y-%m-%d",)))]
    for _ in range(random.choice((4, 12, 40))):
        day = first + datetime.timedelta(days=random.randrange((last - first).days))
        day = day.replace(day=min(day.day, latest_day))
        style = DATES[random.choice(names)]
        text, meaning = style.write(day, random), style.meaning(day)
        meanings[text] = UNKNOWN if meanings.get(text, meaning) != meaning else meaning
    meanings = as_one_style(styles, meanings, (first, last))
    if random.random() < 0.2:
        meanings |= dict.fromkeys(("NA", "unknown"))
    if random.random() < 0.1:
        meanings |= {random.choice(("2024-02-30", "00.00.0000", "31/02/2024")): UNKNOWN}
    declared = {"type": "date", "bounds": f"[{first}, {random.choice((last, LATE))}]"}
    return written(random, styles, declared, meanings)


# Labels.

WORDS = (
    ("male", "female"), ("yes", "no"), ("Zürich", "Genève", "Bern"), ("full-time", "part-time"),
    ("single", "married", "divorced", "widowed"), ("co-op", "rent"), ("<20", "20-39", ">=40"),
    ("A+", "A", "B"), ("1", "2", "3"), ("1", "10", "100"), tuple(map(str, range(1, 13))),
    ("-1", "0", "1"), ("12", "3", "21"), ("1-2", "3-4"), ("AB", "A", "B"), ("O+", "A+", "B+"),
    ("Maine", "Alaska", "Texas"), ("Austria", "Germany"), ("north", "south", "none"),
    ("male", "female", "mixed"), ("Monday", "Tuesday", "Wednesday", "Thursday"), ("50%", "25%"),
    ("1.5", "15"), ("yes", "no", "unknown"), ("C", "C++"), ("p\u00eache", "p\u00e9ch\u00e9"),
    ("cash", "debit"), ("av\u00f3", "m\u00e3e"), ("ano", "mes"), ("250.1", "250"),
    ("18-24", "25-30"),
)  # fmt: skip
"""Declared texts of categories."""

OTHERS = {
    "<20": (">20", "\u226420", "20"), "A+": ("A-", "A*", "A++"), "1": ("-1", "1-", ".1"),
    "12": ("1-2", "1.2", "1/2", "1 2"), "1-2": ("12", "1/2"), "AB": ("A-B", "A/B", "B-A"),
    "O+": ("O-", "O"), "Maine": ("MA", "ME", "MI"), "Austria": ("AU", "AS"), "2": ("-2", "2-1"),
    "male": ("M/F", "mixed", "m/f"), "female": ("unknown gender",), "50%": ("50", ">50%"),
    "1.5": ("15", "1,5,2", "1-5"), "single": ("s/m",), "C": ("C#", "C-"), "3": ("-3",),
    "cash": ("C", "CA"), "debit": ("D", "DE"), "av\u00f3": ("av\u00f4",), "ano": ("a\u00f1o",),
    "250.1": ("250.10", "0250.1"), "250": ("250.0",),
    "10": ("1.0.", "1-0"), "no": ("not", "no?"), "-1": ("--1", "+-1"), "co-op": ("co op 2",),
    "none": ("n",), "20-39": ("2039", "20/39"), "rent": ("r",),
}  # fmt: skip
"""Texts that look like a declared text and mean something else."""


def without_accents(text: str) -> str:
    """The text without accents."""
    return "".join(
        letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter)
    )


def if_number(write: Callable[[str], str]) -> Callable[[str], str]:
    """A style of whole numbers; other texts stay as they are."""
    return lambda text: write(text) if text.isdigit() else text


LABELS: dict[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "lower case": str.lower,
    "title case": str.title,
    "without accents": without_accents,
    "decomposed": partial(unicodedata.normalize, "NFD"),
    "blanks for hyphens": lambda text: text.replace("-", " ") if text[0].isalpha() else text,
    "no hyphens": lambda text: text.replace("-", "") if text[0].isalpha() else text,
    "blanks around hyphens": lambda text: text.replace("-", " - ") if "-" in text[1:] else text,
    "long dashes": lambda text: text[0] + text[1:].replace("-", "\u2013"),
    "blank after the sign": lambda text: text[0] + " " + text[1:] if text[0] in "<-" else text,
    "first letter": lambda text: text[0].upper() if len(text) > 3 and text.isalpha() else text,
    "first two letters": lambda text: text[:2] if len(text) > 3 and text.isalpha() else text,
    "first three letters": lambda text: text[:3].title() if len(text) > 4 else text,
    "decimals": if_number("{}.0".format),
    "two decimals": if_number("{}.00".format),
    "three decimals": if_number("{}.000".format),
    "zeros before": if_number(lambda text: text.zfill(3)),
    "plus": if_number("+{}".format),
}


def label_column(random: Random, styles: Sequence[str]) -> WrittenColumn:
    """Declared texts in other spellings, and texts that mean something else."""
    values = random.choice(WORDS)
    meanings: dict[str, Meaning] = dict(zip(values, values, strict=True))
    if random.random() < 0.5:
        meanings = {}
    ambiguous: dict[str, set[str]] = {}
    for style in styles:
        for value in values:
            ambiguous.setdefault(LABELS[style](value), set()).add(value)
    for text, those in ambiguous.items():
        meanings.setdefault(text, those.pop() if len(those) == 1 else UNKNOWN)
    if random.random() < 0.6:
        odd = [other for value in values for other in OTHERS.get(value, ())]
        meanings |= dict.fromkeys(random.sample(odd, min(2, len(odd))), UNKNOWN) if odd else {}
        meanings |= {value: value for value in values if value in meanings}
    if random.random() < 0.3:
        meanings |= {text: None for text in ("NA", "refused") if text not in values}
    declared = {"type": "category", "values": f"[{', '.join(map(quoted, values))}]"}
    return written(random, styles, declared, meanings)


BOOLEANS: dict[str, tuple[str, str]] = {
    "yes": ("no", "yes"), "Yes": ("No", "Yes"), "YES": ("NO", "YES"), "y": ("n", "y"),
    "Y": ("N", "Y"), "digits": ("0", "1"), "decimals": ("0.0", "1.0"), "T": ("F", "T"),
    "TRUE": ("FALSE", "TRUE"), "True": ("False", "True"), "on": ("off", "on"),
    "ja": ("nein", "ja"), "Ja": ("Nein", "Ja"), "J": ("N", "J"), "oui": ("non", "oui"),
    "si": ("no", "si"), "checked": ("unchecked", "checked"), "codes": ("2", "1"),
    "reversed codes": ("1", "2"), "sex": ("f", "m"), "minus": ("0", "-1"), "x": ("-", "x"),
    "S\u00ed": ("No", "S\u00ed"), "Ano": ("Ne", "Ano"), "is": ("\u5426", "\u662f"),
    "faux": ("f", "v"),
    "wahr": ("falsch", "wahr"), "compass": ("n", "s"),
}  # fmt: skip
"""How false and true are written; the last ones are no certain words."""


def boolean_column(random: Random, styles: Sequence[str]) -> WrittenColumn:
    """Words of booleans in one or two styles, with other answers."""
    meanings: dict[str, Meaning] = {}
    for style in styles:
        pair = dict(zip(BOOLEANS[style], ("false", "true"), strict=True))
        for text, label in random.sample(sorted(pair.items()), random.choice((1, 2, 2, 2))):
            meanings[text] = UNKNOWN if meanings.get(text, label) != label else label
    meanings |= random.choice(({}, {}, {"NA": None}, {"maybe": UNKNOWN}, {"9": None, "2": UNKNOWN}))
    if styles == ["compass"]:
        meanings |= dict.fromkeys(("n", "s", "e", "w"), UNKNOWN)
    return written(random, styles, {"type": "boolean"}, meanings)


def quoted(text: str) -> str:
    """A text as a scalar of YAML."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def written(
    random: Random,
    styles: Sequence[str],
    declared: Mapping[str, str],
    meanings: Mapping[str, Meaning],
) -> WrittenColumn:
    """The column, whose texts have a few rows or many."""
    rows = Counter({text: random.choice((1, 8, 15, 40)) for text in meanings})
    return WrittenColumn(tuple(styles), declared, meanings, rows)


KINDS: dict[str, tuple[Mapping[str, object], Callable[[Random, Sequence[str]], WrittenColumn]]] = {
    "numbers": (NUMBERS, number_column),
    "days": (DATES, date_column),
    "labels": (LABELS, label_column),
    "booleans": (BOOLEANS, boolean_column),
}


def written_columns(seed: str, size: int) -> list[WrittenColumn]:
    """Columns of all kinds, each style in turn: alone, or with another one."""
    random, columns = Random(seed), list[WrittenColumn]()
    turns = dict.fromkeys(KINDS, 0)
    for kind in random.choices(tuple(KINDS), (4, 4, 3, 1), k=size):
        names = list(KINDS[kind][0])
        first = names[turns[kind] % len(names)]
        others = random.sample(names, random.choice((0, 0, 1)))
        columns.append(KINDS[kind][1](random, list(dict.fromkeys((first, *others)))))
        turns[kind] += 1
    return columns


def columns_in(kind: str, styles: Sequence[str], size: int) -> list[WrittenColumn]:
    """Columns of one kind in these styles."""
    random = Random("".join(styles))
    return [KINDS[kind][1](random, list(styles)) for _ in range(size)]

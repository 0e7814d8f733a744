"""Random specs as text, with cells that fit their columns, and cells that do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

Cells = tuple[str, ...]

BLANKS: Cells = ("", " ", "?")


@dataclass
class Drawn:
    """The parts of a random spec, and the names of its columns by kind.

    `cells` are cells to draw from, by the name of a column of the file.
    """

    random: Random
    columns: list[str] = field(default_factory=list)
    derived: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    labels: dict[str, list[str]] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    private: list[str] = field(default_factory=list)
    trees: list[str] = field(default_factory=list)
    cells: dict[str, Cells] = field(default_factory=dict)
    of_limits: Random | None = None

    def limits(self) -> str:
        """Limits that an entry states itself, often none; none where the unit is a row."""
        random = self.of_limits
        if random is None:
            return ""
        rows = random.randint(1, 3)
        most = {"max_rows": rows, "max_groups": random.randint(1, 3)}
        # Without a `max_rows` of the entry, that of the unit may be 1.
        most["max_rows_per_group"] = random.randint(1, rows)
        stated = [key for key in most if random.random() < 0.3]
        if "max_rows" not in stated:
            most["max_rows_per_group"] = 1
        return "".join(f", {key}: {most[key]}" for key in stated)

    def declare(self, name: str, declaration: str, cells: Cells) -> None:
        """Add a column of the file."""
        self.columns.append(f"  {name}: {{{declaration}}}")
        self.cells[name] = cells

    def number(self, name: str) -> None:
        """A column of numbers, perhaps written with separators."""
        low = self.random.choice((-3, 0, 0, 2))
        high = low + self.random.choice((1, 2, 5))
        missing = self.random.choice(("", "", f", missing: {low}"))
        plain = tuple(str(value) for value in range(low - 1, high + 2))
        kind = self.random.choice(("type: integer", "type: number, step: 0.5"))
        form, odd = self.random.choice(NUMBER_FORMS)
        declaration = f"{kind}, bounds: [{low}, {high}]{missing}{form}"
        self.declare(name, declaration, (*plain, "0.5", *odd, *BLANKS))
        self.numbers.append(name)

    def date(self, name: str) -> None:
        """A column of a few days, perhaps in another format."""
        form, cells = self.random.choice(DATE_FORMS)
        self.declare(name, f"type: date, bounds: [2023-12-30, 2024-01-02]{form}", (*cells, *BLANKS))
        self.dates.append(name)

    def category(self, name: str) -> None:
        """A category with declared labels."""
        labels = self.random.sample(["a", "b", "c"], self.random.randint(1, 3))
        missing = self.random.choice(("", "", f", missing: {labels[0]}"))
        form = self.random.choice(("", "", ", case: ignore", ", na: d", ", other: rest"))
        declaration = f"type: category, values: [{', '.join(labels)}]{missing}{form}"
        self.declare(name, declaration, (*"abcdA", ""))
        labels = [*labels, "rest"] if "other" in form else labels
        self.labels[name] = labels

    def flag(self, name: str) -> None:
        """A boolean."""
        self.declare(name, "type: boolean", ("true", "false", *BLANKS))
        self.flags.append(name)
        self.labels[name] = ["false", "true"]

    def open(self, name: str) -> None:
        """A category whose values are private."""
        self.declare(name, "type: category", ("Rome", "Paris", "x" * 3, ""))
        self.private.append(name)

    def derive(self, name: str) -> None:
        """A column that is computed from others, if there are any for its kind."""
        random, two = self.random, 2
        if len(self.numbers) >= two and random.random() < 0.6:
            kind = random.choice(("sum", "difference", "product", "coalesce", "ratio"))
            more = ", step: 0.5, bounds: [-3, 3]" if kind == "ratio" else ""
            pair = ", ".join(random.sample(self.numbers, two))
            self.derived.append(f"  {name}: {{{kind}: [{pair}]{more}}}")
            self.numbers.append(name)
        elif self.dates and random.random() < 0.6:
            part = random.choice(("year", "quarter", "weekday", "year-month", "hour"))
            self.derived.append(f"  {name}: {{part: {part}, of: {random.choice(self.dates)}}}")
            # The labels of all parts of these days; only some are tested.
            self.labels[name] = {
                "year": ["2023", "2024"],
                "quarter": ["Q1", "Q4"],
                "weekday": ["Monday", "Saturday"],
                "year-month": ["2023-12", "2024-01"],
                "hour": ["00", "10"],
            }[part]
        elif tests := filters(self):
            self.derived.append(f"  {name}: {{is: {tests}}}")
            self.flags.append(name)
            self.labels[name] = ["false", "true"]


NUMBER_FORMS: tuple[tuple[str, Cells], ...] = (
    ("", ("1e0", "inf")),
    ("", ("1e0", "inf")),
    (', affixes: ["$", "%"], brackets: true', ("$1", "1 %", "(2)", "$(3)", "1$2", "-$1")),
    (', thousands: ",", na: [1, x]', ("1,000", "1,00", "x", "1.0", "01")),
    (', decimal: ",", values: {"5+": 2}', ("5+", "0,5", "1,5", "1.5")),
)
"""How numbers are written, and cells that only such a column can read, or not even it."""

DATE_FORMS: tuple[tuple[str, Cells], ...] = (
    ("", ("2023-12-30", "2024-01-01", "2024-01-05", "2024-01-01 10:00", "2024-13-01")),
    (', format: "%d/%m/%Y"', ("30/12/2023", "1/1/2024", "01/02/2024", "2024-01-01", "31/04/2024")),
    (
        ', format: ["%d/%m/%Y %I:%M %p", "%d/%m/%Y"]',
        ("1/1/2024 12:10 AM", "02/01/2024", "2/1/2024 0:10 am", "31/12/2023", "30/12/2023"),
    ),
    (
        ", zone: Asia/Tokyo",
        ("2023-12-31T15:00Z", "2023-12-31 23:59", "2024-01-01 01:10 -0800", "2024-01-02"),
    ),
    (', format: ["%Y%m%d", "%d %b %Y"]', ("20231231", "02 Jan 2024", "20241301", "2 jan 2024")),
)
"""How dates are written, with cells."""


def random_spec(seed: int) -> tuple[str, dict[str, Cells]]:
    """The text of a spec, and the cells of each column of its file.

    A few specs are refused by the loader: fields are drawn one by one.
    """
    drawn = Drawn(Random(seed))
    random = drawn.random
    makers = (drawn.number, drawn.number, drawn.date, drawn.category, drawn.flag, drawn.open)
    for place in range(random.randint(2, 5)):
        random.choice(makers)(f"c{place}")
    person = random.random() < 0.5
    unit = "row"
    if person:
        marks = random.choice(("", ", na: [0, q]"))
        drawn.of_limits = Random(seed)
        drawn.declare("who", f"type: id{marks}", ("p", "q", "p", "r", "0", ""))
        rows = random.randint(1, 3)
        unit = f"{{column: who, max_rows: {rows}, max_groups: {random.randint(1, rows)}}}"
    for place in range(random.choice((0, 1, 2))):
        drawn.derive(f"d{place}")
    entries = [_entry(drawn, place) for place in range(random.randint(1, 4))]
    # Several rows of a person are no simple random sample.
    sampled = not person and random.random() < 0.5
    neighbors = random.choice(("add-remove", "change-one"))
    lines = [
        "dpcli: 1",
        "dataset: random",
        f"privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 100, delta: 0.1}}}}",
        *(["sample: {design: simple-random, population: 99, size: 9}"] if sampled else []),
        "columns:",
        *drawn.columns,
        *(["derive:", *drawn.derived] if drawn.derived else []),
        *(["hierarchies:", *drawn.trees] if drawn.trees else []),
        "statistics:",
        *entries,
    ]
    return "\n".join(lines) + "\n", drawn.cells


Form = Callable[[Drawn], str | None]


def _of(kind: str, statistic: str, more: str = "") -> Form:
    """A statistic of one column of a kind; None if there is none."""

    def form(drawn: Drawn) -> str | None:
        names: Sequence[str] = list(getattr(drawn, kind))
        if not names:
            return None
        return f"statistic: {statistic}, column: {drawn.random.choice(names)}{more}"

    return form


def _several(kind: str, statistic: str, least: int, more: str = "") -> Form:
    """A statistic of several columns of a kind; None if there are too few."""

    def form(drawn: Drawn) -> str | None:
        names = list(getattr(drawn, kind))
        if len(names) < least:
            return None
        chosen = drawn.random.sample(names, drawn.random.randint(least, len(names)))
        return f"statistic: {statistic}, columns: [{', '.join(chosen)}]{more}"

    return form


def _share(drawn: Drawn) -> str | None:
    """The share of one label of a column."""
    if not drawn.labels:
        return None
    name = drawn.random.choice(list(drawn.labels))
    label = drawn.random.choice(drawn.labels[name])
    return f"statistic: proportion, column: {name}, values: {label}"


def _ratio(drawn: Drawn) -> str | None:
    """A ratio of columns of numbers, booleans and the number of rows."""
    parts = [*drawn.numbers, *drawn.flags, "rows"]
    above, below = drawn.random.choice(parts), drawn.random.choice(parts)
    return f"statistic: ratio, numerator: {above}, denominator: {below}"


def _comparison(drawn: Drawn) -> str | None:
    """Labels of a column compared, by counts, totals, means, medians, shares or ratios."""
    names = [name for name, labels in drawn.labels.items() if len(labels) > 1]
    if not names:
        return None
    random, name = drawn.random, drawn.random.choice(names)
    count = random.randint(2, len(drawn.labels[name]))
    compared = ", ".join(random.sample(drawn.labels[name], count))
    parts = [*drawn.numbers, *drawn.flags]
    of = random.choice(
        [
            "",
            *(f", of: {kind}, column: {one}" for one in drawn.numbers for kind in ("sum", "mean")),
            *(f", of: proportion, column: {one}" for one in drawn.flags),
            *(f", of: ratio, numerator: {one}, denominator: rows" for one in parts),
        ]
    )
    one, own = f"{{{name}: {drawn.labels[name][0]}}}", Random(f"{name} {compared} {of}")
    if own.random() < 0.3:
        of = of.replace("of: mean", "of: median")
    groups = own.choice(
        (f"{{{name}: [{compared}]}}", name, f"{{one: {one}, rest: {{not: {one}}}}}")
    )
    reference = own.choice(("", ", reference: previous"))
    return f"statistic: comparison, between: {groups}{reference}{of}"


def _weighted(drawn: Drawn) -> str | None:
    """A statistic of numbers with the weights of another column."""
    if len(drawn.numbers) < 2:
        return None
    column, weight = drawn.random.sample(drawn.numbers, 2)
    statistic = drawn.random.choice(("count", "sum", "mean"))
    return f"statistic: {statistic}, column: {column}, weight: {weight}"


def _standardized(drawn: Drawn) -> str | None:
    """A count that is standardized by a boolean."""
    if not drawn.flags:
        return None
    random, name = drawn.random, drawn.random.choice(drawn.flags)
    people, weights = (
        f"{{false: {random.randint(1, 5)}, true: {random.randint(1, 5)}}}" for _ in range(2)
    )
    rate = f"{{per: 10, strata: {name}, population: {people}, standard: {weights}}}"
    return f"statistic: count, rate: {rate}"


def _inequality(drawn: Drawn) -> str | None:
    """The inequality of a column that is never negative, between two points or more."""
    names = [
        name
        for name in drawn.numbers
        if any(line.startswith(f"  {name}:") and "[-" not in line for line in drawn.columns)
    ]
    if not names:
        return None
    bins = drawn.random.choice(("", ", bins: 1"))
    return f"statistic: inequality, column: {drawn.random.choice(names)}{bins}"


def _amount(drawn: Drawn) -> str:
    """A count, or a sum if there are numbers."""
    names = [*drawn.numbers, ""]
    name = drawn.random.choice(names)
    return f"statistic: sum, column: {name}" if name else "statistic: count"


def _with_totals(drawn: Drawn) -> str | None:
    """A count or a sum with totals over keys, which keeps its own `by`, or with known ones."""
    if not drawn.labels:
        return None
    keys = drawn.random.sample([*drawn.labels], drawn.random.randint(1, min(2, len(drawn.labels))))
    more = drawn.random.choice((", totals: every", ", known: 8", ", totals: every, known: 8"))
    return f"{_amount(drawn)}, by: [{', '.join(keys)}]{more}"


def _known_tables(drawn: Drawn) -> str | None:
    """Marginal tables or a histogram with a known total of each label, or of all."""
    if len(drawn.labels) < 2:
        return None
    one, other = drawn.random.sample([*drawn.labels], 2)
    each = ", ".join(f"{label}: {drawn.random.randint(0, 3)}" for label in drawn.labels[one])
    known = drawn.random.choice(("known: 8", f"known: {{{one}: {{{each}}}}}"))
    if drawn.random.random() < 0.5:
        return f"statistic: histogram, column: {other}, by: [{one}], {known}"
    return f"statistic: marginals, columns: [{one}, {other}], ways: [1, 2], {known}"


def _levels(drawn: Drawn) -> str | None:
    """A count or a sum at two levels of labels, of bins or of days, perhaps with a known number."""
    random, name = drawn.random, f"t{len(drawn.trees)}"
    labeled = [column for column in drawn.labels if column.startswith("c")]
    kind, column = random.choice(
        [*(("labels", one) for one in labeled), *(("bins", one) for one in drawn.numbers),
         *(("days", one) for one in drawn.dates), ("", "")]
    )  # fmt: skip
    if not kind:
        return None
    levels, known = f"{{up{name}: {{width: 2}}, low{name}: {{width: 1}}}}", ""
    above = dict[str, str]()
    if kind == "labels":
        above = {label: random.choice(("one", "two")) for label in drawn.labels[column]}
        parents = ", ".join(f"{label}: {parent}" for label, parent in above.items())
        levels = f"[up{name}, low{name}], parents: {{{parents}}}"
        if random.random() < 0.5:
            known = f", known: {{up{name}: {{{random.choice([*above.values()])}: 4}}}}"
    elif kind == "days":
        levels = f"{{up{name}: year, low{name}: day}}"
    drawn.trees.append(f"  {name}: {{column: {column}, levels: {levels}}}")
    others = [one for one in labeled if one != column]
    if others and random.random() < 0.3:
        # A second hierarchy, of another column.
        parents = ", ".join(f"{label}: both" for label in drawn.labels[others[0]])
        levels = f"[up{name}b, low{name}b], parents: {{{parents}}}"
        drawn.trees.append(f"  {name}b: {{column: {others[0]}, levels: {levels}}}")
        if known:
            every = ", ".join(f"{label}: 4" for label in dict.fromkeys(above.values()))
            known = f", known: {{up{name}: {{{every}}}}}"
        return f"{_amount(drawn)}, by: [], hierarchy: [{name}, {name}b]{known}"
    by = random.sample(labeled, random.choice((0, 1)) if labeled and not known else 0)
    keys = f", by: [{', '.join(by)}]"
    return f"{_amount(drawn)}{keys}, hierarchy: {name}{known}"


FORMS: tuple[Form, ...] = (
    lambda _: "statistic: count",
    _weighted,
    _of("numbers", "count"),
    _of("numbers", "sum"),
    _of("numbers", "mean"),
    _of("flags", "mean"),
    _share,
    _ratio,
    _comparison,
    _of("numbers", "variance"),
    _of("numbers", "describe"),
    _inequality,
    _of("numbers", "histogram", ", bins: {width: 1}"),
    _of("dates", "histogram", ", bins: {width: 2}"),
    _of("labels", "histogram"),
    _of("labels", "histogram", ", percent: total"),
    _with_totals,
    _known_tables,
    _levels,
    _levels,
    _standardized,
    _of("numbers", "median"),
    _of("dates", "median"),
    _of("dates", "quantile", ", quantiles: [0.9], candidates: {step: 2}"),
    _of("dates", "mean"),
    _of("dates", "std"),
    _of("labels", "mode"),
    _of("private", "top_k", ", k: 2, delta: 1e-6"),
    _of("labels", "count_distinct"),
    _several("numbers", "covariance", 2),
    _several("labels", "marginals", 2, ", ways: 2"),
    _several("labels", "marginals", 2, ", ways: [0, 1, 2]"),
    _several("flags", "selections", 2),
    _several("numbers", "count_missing", 1),
    _several("labels", "count_missing", 1),
)
"""Statistics about the columns that are drawn."""


def _sizes(drawn: Drawn, fields: str, keys: Sequence[str]) -> str:
    """Public sizes of the groups of some means and shares in which no value is missing."""
    own, column = Random(fields), re.search(r"column: (c\d)", fields)
    groups = re.search(r"between: \{(c\d): \[([^]]*)\]", fields)
    is_mean = re.match("statistic: (mean|proportion|comparison.*of: mean)", fields)
    declared = [line for line in drawn.columns if column and line.startswith(f"  {column[1]}:")]
    if not (is_mean and declared and "missing: " in declared[0]) or "weight" in fields:
        return ""
    names = [*keys, *([groups[1]] if groups else [])]
    if len(names) > 1 or any(name.startswith("d") for name in names) or own.random() < 0.3:
        return ""
    labels = groups[2].split(", ") if groups else drawn.labels[names[0]] if names else []
    numbers = ", ".join(f"{label}: {own.randint(1, 9)}" for label in labels)
    return f", sizes: {{{numbers}}}" if names else f", sizes: {own.randint(1, 9)}"


def _entry(drawn: Drawn, place: int) -> str:
    random = drawn.random
    fields = None
    while fields is None:
        fields = random.choice(FORMS)(drawn)
    by = random.sample(list(drawn.labels), random.choice((0, 0, 1)) if drawn.labels else 0)
    keys = f", by: [{', '.join(by)}]" if by and " by:" not in fields else ""
    tests = filters(drawn) if random.random() < 0.5 else ""
    where = f", where: {tests}" if tests else ""
    sizes = _sizes(drawn, fields, by if keys else [])
    return f"  - {{name: s{place}, {fields}{keys}{sizes}{where}{drawn.limits()}, epsilon: 1}}"


def filters(drawn: Drawn, depth: int = 0) -> str:
    """A mapping of tests, perhaps with operators; empty if no column can be tested."""
    random = drawn.random
    tests = [_test(drawn) for _ in range(random.choice((1, 1, 2)))]
    named = dict(pair for pair in tests if pair)
    if depth < MOST_OPERATORS and random.random() < 0.4:
        inner, other = filters(drawn, depth + 1), filters(drawn, depth + 1)
        if inner and other:
            operator = random.choice(("not", "any", "all"))
            named[operator] = inner if operator == "not" else f"[{inner}, {other}]"
    return f"{{{', '.join(f'{name}: {test}' for name, test in named.items())}}}" if named else ""


MOST_OPERATORS = 2
"""Operators within operators."""


def _test(drawn: Drawn) -> tuple[str, str] | None:
    """The name of a column, and a test of its value."""
    random = drawn.random
    tests: list[tuple[str, str]] = []
    for name, labels in drawn.labels.items():
        tests += [(name, f"[{random.choice(labels)}]"), (name, "{missing: true}")]
    for name in drawn.numbers:
        tests += [(name, "{min: 1}"), (name, "{below: 3}"), (name, "{missing: false}")]
        others = [other for other in drawn.numbers if other != name]
        tests += [(name, f"{{above: {{column: {other}}}}}") for other in others]
    tests += [(name, "{above: 2023-12-31}") for name in drawn.dates]
    tests += [(name, "[Rome, Oslo]") for name in drawn.private]
    return random.choice(tests) if tests else None

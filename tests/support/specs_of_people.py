"""Random specs with values of people: every kind of value, and statistics about people."""

from __future__ import annotations

from random import Random

from tests.support.random_specs import FORMS, Cells, Drawn, filters


def random_spec_of_people(seed: int) -> tuple[str, dict[str, Cells]]:
    """The text of a spec, and the cells of each column of its file.

    A few specs are refused by the loader: fields are drawn one by one.
    """
    random = Random(f"people {seed}")
    rows = Drawn(random)
    makers = (rows.number, rows.date, rows.category, rows.flag)
    for place, make in enumerate([*makers, *random.sample(makers, random.randint(0, 2))]):
        make(f"c{place}")
    missing = random.choice(("", ", missing: each"))
    rows.declare("who", f"type: id{missing}", ("p", "q", "r", "s", ""))
    for place in range(random.choice((0, 1))):
        rows.derive(f"d{place}")
    people, sections = Drawn(random), list[str]()
    for place in range(random.randint(1, 5)):
        sections.append(f"  p{place}: {{{_value(rows, people, f'p{place}')}}}")
    for place in range(random.choice((0, 0, 1))):
        people.derive(f"e{place}")
    entries = [_entry(rows, people, place) for place in range(random.randint(1, 4))]
    neighbors = random.choice(("add-remove", "change-one"))
    derived = [*rows.derived, *people.derived]
    lines = [
        "dpcli: 1",
        "dataset: random",
        f"privacy: {{unit: {{column: who}}, neighbors: {neighbors},",
        "  budget: {epsilon: 100, delta: 0.1}}",
        "columns:",
        *rows.columns,
        *(["derive:", *derived] if derived else []),
        "people:",
        *sections,
        "statistics:",
        *entries,
    ]
    return "\n".join(lines) + "\n", rows.cells


def _value(rows: Drawn, people: Drawn, name: str) -> str:
    """A value of a person, which is added to the columns of people."""
    random, numbers = rows.random, rows.numbers
    dates, labels, bounds = rows.dates, rows.labels, f"bounds: [0, {rows.random.choice((1, 4))}]"
    by, number = random.choice([*numbers, *dates]), random.choice(numbers)
    label = random.choice(list(labels))
    tests = filters(rows) or f"{{{label}: {{missing: false}}}}"
    some = random.choice(("", "", f", where: {tests}"))
    end = random.choice(("first", "last"))
    kind = random.choice(("number", "number", "label", "flag", "date"))
    if kind == "flag":
        people.flags.append(name)
        people.labels[name] = ["false", "true"]
        return f"{random.choice(('any', 'all'))}: {tests}{_missing(random, 'false')}"
    if kind == "label":
        people.labels[name] = labels[label]
        form = random.choice((f"most: {label}", f"{end}: {label}, by: {by}"))
        return f"{form}{some}{_missing(random, labels[label][0])}"
    if kind == "date":
        people.dates.append(name)
        day = random.choice(dates)
        form = random.choice((f"{end}: {day}", f"max: {day}", f"min: {day}, missing: 2024-01-01"))
        return f"{form}{some}"
    people.numbers.append(name)
    if random.random() < 0.2:
        chosen = "bounds: {choose: 1-2-5, up_to: 9, epsilon: 1}"
        bounds = random.choice((bounds, bounds, chosen))
        return random.choice((f"count: rows, {bounds}", f"count: {tests}, {bounds}"))
    form = random.choice(
        (
            f"distinct: {random.choice([label, number, *dates])}, {bounds}",
            f"{random.choice(('longest_gap', 'shortest_gap'))}: {random.choice(dates)}, {bounds}",
            f"sum: {number}, bounds: [-2, 9], step: {random.choice(('0.5', '1'))}",
            f"{end}: {number}, by: {by}{random.choice(('', ', bounds: [0, 3]'))}",
            f"most: {number}",
            f"{random.choice(('min', 'max'))}: {number}",
            f"{random.choice(('mean', 'median'))}: {number}, step: {random.choice(('0.1', '1'))}",
            (
                f"difference: [{{last: {number}, by: {by}}}, {{first: {number}, by: {by}}}]"
                f"{random.choice(('', ', one_row: absent', ', bounds: [-2, 2]'))}"
            ),
        )
    )
    return form if form.startswith("difference") else f"{form}{some}"


def _missing(random: Random, label: str) -> str:
    return random.choice(("", "", f", missing: {label}"))


def _entry(rows: Drawn, people: Drawn, place: int) -> str:
    """A statistic about people, or about rows with keys and conditions of people."""
    random, fields = rows.random, None
    keys = random.sample(list(people.labels), min(len(people.labels), random.choice((0, 1))))
    tests = filters(people) if random.random() < 0.5 else ""
    if random.random() < 0.2:
        limits = f"max_rows: {random.randint(1, 3)}, max_groups: {random.randint(1, 3)}"
        fields = f"statistic: count, of: rows, {limits}"
        keys += random.sample(list(rows.labels), random.choice((0, 1)))
    while fields is None:
        fields = random.choice(FORMS)(people)
        if fields is not None and "of: sum" not in fields:
            fields += ", of: people"
    if "of: rows" not in fields and random.random() < 0.3:
        keys += random.sample(list(rows.labels), 1)
        fields += random.choice(("", f", max_groups: {random.randint(1, 2)}"))
    keys = [key for key in keys if f" {key}" not in fields and f"[{key}" not in fields]
    by = f", by: [{', '.join(keys)}]" if keys else ""
    where = f", where: {tests}" if tests else ""
    return f"  - {{name: s{place}, {fields}{by}{where}, epsilon: 1}}"

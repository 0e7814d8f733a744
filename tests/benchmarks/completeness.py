"""How often `complete` is right: `python -m tests.benchmarks.completeness [CHECKS [SETTINGS]]`.

Each setting is a spec and a file of which it is known how much is missing from the numbers of an
entry. Its check is answered many times. Printed are how often the answer is `yes`, `no`, `unknown`,
and how often a wrong statement is made: `yes` where more than 1% is missing, or more at least than
is missing.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random

from dpcli.planning.completeness import completeness_of
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.releasing.steps import add_noise, aggregate_data, check_quality
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.quality.completeness import MISSING, Complete
from tests.support.permits import free_permit

CHECKS = 2_000

Rows = list[dict[str, str]]

COLUMNS = """\
  who: {type: id}
  amount: {type: number, bounds: [0, 10000], step: 1}
  weight: {type: number, bounds: [1, 5], step: 1}
  kind: {type: category, values: [a, b, c, d]}
  note: {type: category, values: [x, y], missing: drop}
"""

WRONG = {
    "amount": {"blank": "", "unreadable": "12,500", "outside": "20000"},
    "weight": {"blank": "", "unreadable": "-", "outside": "9"},
    "kind": {"blank": "", "unreadable": "z"},
    "note": {"blank": "", "unreadable": "z"},
}
"""Cells with each fault."""


@dataclass(frozen=True)
class Setting:
    """An entry, its file, and how much is missing from the numbers of the entry.

    `missing` is the share of rows that are not in the numbers, or not as they are in the file;
    `people` is the share of people with such a row.
    """

    name: str
    spec: str
    rows: Rows
    missing: Fraction
    people: Fraction

    @property
    def plan(self) -> CentralPlan:
        """The plan of the spec."""
        return make_plan(parse_central_spec(self.spec, "spec.yaml"))


@dataclass(frozen=True)
class Found:
    """The share of checks with each answer, and with a wrong statement."""

    yes: float
    no: float
    wrong_yes: float
    wrong_least: float


def spec_of(unit: str, neighbors: str, entry: str, epsilon: str, minimum: int) -> str:
    """A spec with one entry and a check."""
    key = "min_people" if "column" in unit else "min_rows"
    return (
        "dpcli: 1\ndataset: d\n"
        f"privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 99}}}}\n"
        f"quality: {{epsilon: {epsilon}, {key}: {minimum}}}\ncolumns:\n{COLUMNS}"
        f"statistics: [{{name: n, {entry}, epsilon: 1}}]\n"
    )


def row(random: Random, who: int) -> dict[str, str]:
    """A row without a fault."""
    return {
        "who": str(who),
        "amount": str(random.randint(0, 10_000)),
        "weight": str(random.randint(1, 5)),
        "kind": random.choice("abcd"),
        "note": random.choice("xy"),
    }


ENTRIES = {
    "count": ("statistic: count", ()),
    "by": ("statistic: count, by: [kind]", (("kind", "blank"), ("kind", "unreadable"))),
    "mean": (
        "statistic: mean, column: amount",
        (("amount", "blank"), ("amount", "unreadable"), ("amount", "outside")),
    ),
    "sums": (
        "statistic: sum, column: amount, by: [kind]",
        (("amount", "blank"), ("amount", "unreadable"), ("amount", "outside"),
         ("kind", "blank"), ("kind", "unreadable")),
    ),
    "weighted": (
        "statistic: mean, column: amount, weight: weight",
        (("amount", "unreadable"), ("weight", "outside")),
    ),
    "noted": ("statistic: count, by: [note]", (("note", "unreadable"),)),
    "filtered": ("statistic: mean, column: amount, where: {kind: d}", (("amount", "unreadable"),)),
}  # fmt: skip
"""Entries, and the faults that matter for each."""


def of_rows() -> Iterator[Setting]:
    """Settings in which a row is the unit."""
    for number, (neighbors, name, share, epsilon, scales) in enumerate(
        [
            *(("add-remove", name, share, "0.1", 400) for name in ENTRIES for share in (0, 8)),
            *(("add-remove", name, 50, "0.1", 98) for name in ("by", "mean", "weighted", "noted")),
            *(("add-remove", "sums", 50, "0.1", 200), ("add-remove", "sums", 13, "0.5", 900)),
            *(
                ("change-one", name, share, "0.2", 400)
                for name in ("mean", "by")
                for share in (0, 12)
            ),
            *(("change-one", name, 50, "0.2", 98) for name in ("mean", "noted")),
            *(("add-remove", name, 12, "1", 800) for name in ("by", "mean")),
            *(("add-remove", name, 300, "0.1", 40) for name in ("mean", "sums")),
            *(("add-remove", "filtered", share, "1", 4_000) for share in (0, 6)),
        ]
    ):
        random = Random(number)
        entry, faults = ENTRIES[name]
        scale = (1 if neighbors == "add-remove" else 2) / float(epsilon)
        rows = [row(random, at) for at in range(int(scales * scale))]
        faulty = rows[: len(rows) * share // 1000] if faults else []
        for at, bad in enumerate(faulty):
            column, fault = faults[at % len(faults)]
            bad["kind"] = "d" if name == "filtered" else bad["kind"]
            bad[column] = WRONG[column][fault]
        text = spec_of("row", neighbors, entry, epsilon, len(rows) * 2 // 3)
        used = [each for each in rows if name != "filtered" or each["kind"] == "d"]
        missing = Fraction(len(faulty), len(used))
        yield Setting(f"row {neighbors} {name} {share / 10}%", text, rows, missing, missing)


@dataclass(frozen=True)
class Limit:
    """Limits of the unit, with an entry under them; of the largest file, what is missing."""

    max_rows: int
    entry: str = "statistic: count, by: [kind]"
    more: str = ""
    one_group: bool = False

    @property
    def counts_people(self) -> bool:
        """Whether each person counts once, whatever the rows are."""
        return "distinct" in self.entry

    def missing(self, own: Rows) -> Fraction:
        """How many rows of a person are missing, on average over the choice of kept rows."""
        kinds = [each["kind"] for each in own]
        kept = min(len(own), self.max_rows)
        if self.one_group:
            kept = min(kept, max(map(kinds.count, kinds)))
        changed = Fraction(len(own) - kept)
        changed += Fraction(kept, len(own)) * sum(each["amount"] == "z" for each in own)
        if "total" in self.entry or "bound" in self.entry:
            changed = Fraction(len(own))
        return Fraction(0) if self.counts_people else changed


POSSIBLE = "possible_rows: 12"
MEAN = "statistic: mean, column: amount"
TOTAL = "statistic: sum, column: amount, by: [kind], bound: sum, unit_bounds: [0, 9]"

LIMITS = {
    "rows 4": Limit(4),
    "rows 4 of 12": Limit(4, more=POSSIBLE),
    "all rows": Limit(12, more=POSSIBLE),
    "people": Limit(4, "statistic: count_distinct"),
    "groups 1": Limit(12, more=f"{POSSIBLE}, max_groups: 1", one_group=True),
    "mean": Limit(4, MEAN, POSSIBLE),
    "total": Limit(4, TOTAL, "max_groups: 4"),
}


def rows_of(random: Random, who: int, limit: Limit, *, many: bool, faulty: bool) -> Rows:
    """The rows of a person: up to four, or `many`; the first may have unreadable cells."""
    own = [row(random, who) for _ in range(12 if many else random.randint(1, 4))]
    if limit.one_group and not many:
        for each in own:
            each["kind"] = own[0]["kind"]
    if faulty:
        own[0] |= {"kind": "z", "amount": "z"}
    return own


def of_people() -> Iterator[Setting]:
    """Settings in which people have several rows, some more than a limit."""
    cases = [
        *((name, many, 0, "0.5", 3_000) for name in LIMITS for many in (0, 10, 150)),
        *((name, 0, 40, "0.5", 3_000) for name in ("rows 4", "people", "mean", "groups 1")),
        *(("all rows", 0, 60, epsilon, 2_000) for epsilon in ("0.1", "0.5")),
        *((name, 8, 0, "2", 20_000) for name in ("rows 4", "rows 4 of 12", "mean")),
        *((name, 0, 0, "2", 20_000) for name in LIMITS),
    ]
    for number, (name, many, faulty, epsilon, people) in enumerate(cases):
        random, limit = Random(100 + number), LIMITS[name]
        first_faulty, last_many = people - people * faulty // 1000, people * many // 1000
        everyone = [
            rows_of(random, who, limit, many=who < last_many, faulty=who >= first_faulty)
            for who in range(people)
        ]
        lacking = list(map(limit.missing, everyone))
        rows = [each for own in everyone for each in own]
        limits = ", ".join(filter(None, [f"max_rows: {limit.max_rows}", limit.more]))
        unit = f"{{column: who, {limits}}}"
        yield Setting(
            f"people {name} {many / 10}% many, {faulty / 10}% faulty {people}",
            spec_of(unit, "add-remove", limit.entry, epsilon, people // 3),
            rows,
            Fraction(sum(lacking), len(rows)),
            Fraction(sum(map(bool, lacking)), people),
        )


def found_in(setting: Setting, checks: int) -> Found:
    """How often each statement is made, and is wrong."""
    plan = setting.plan
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        lines = [",".join(setting.rows[0])]
        lines += [",".join(f'"{cell}"' for cell in each.values()) for each in setting.rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        exact = aggregate_data(plan, (str(path),))
    (planned,) = plan.statistics
    answers = dict.fromkeys(Complete, 0)
    wrong_yes = wrong_least = 0
    for _ in range(checks):
        result = check_quality(plan, exact, free_permit())
        (noisy,) = add_noise(plan, exact, free_permit())
        found = completeness_of(planned, plan, result, noisy.answers)
        answers[found.complete] += 1
        wrong_yes += found.complete is Complete.YES and setting.missing > MISSING
        is_of_people = " people " in found.reason
        true = setting.people if is_of_people else setting.missing
        wrong_least += found.min_missing > true
    return Found(
        yes=answers[Complete.YES] / checks,
        no=answers[Complete.NO] / checks,
        wrong_yes=wrong_yes / checks,
        wrong_least=wrong_least / checks,
    )


def settings() -> list[Setting]:
    """All settings."""
    return [*of_rows(), *of_people()]


def main(arguments: Sequence[str]) -> None:
    """Print a line for each setting."""
    checks, count = [*map(int, arguments), *(CHECKS, 10**9)[len(arguments) :]]
    for setting in settings()[:count]:
        found = found_in(setting, checks)
        print(
            f"{setting.name:55} rows {len(setting.rows):6} missing {float(setting.missing):7.2%} "
            f"yes {found.yes:6.1%} no {found.no:6.1%} wrong yes {found.wrong_yes:5.1%} "
            f"wrong least {found.wrong_least:5.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])

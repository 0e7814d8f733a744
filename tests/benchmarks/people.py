"""How well intervals about people hold, and their error beside a file with one row per person.

    python -m tests.benchmarks.people [RELEASES]

A file has up to eight rows for each of 50, 500 and 50,000 people. The same questions are asked of
people, and of a file that holds the values of people already, one row for each. A share ever and
a mean per person are released many times: `holds` is how often the interval contains what is in
the file, `attainable` the probability of whole-number noise within the interval of a count, and
`ratio` the error beside that for the file with one row per person.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import NamedTuple

from dpcli.planning.planner import make_plan
from dpcli.releasing.steps import aggregate_data
from dpcli.specification.load import parse_central_spec
from tests.support.estimates import estimates_of

SIZES = (50, 500, 50_000)
RELEASES = 20_000

HEAD = """
dpcli: 1
dataset: d
quality: none
privacy: {unit: UNIT, neighbors: NEIGHBORS, budget: {epsilon: 9}}
"""

OF_PEOPLE = """
columns:
  who: {type: id}
  kind: {type: category, values: [a, b, c]}
  cost: {type: integer, bounds: [0, 100]}
people:
  ever: {any: {kind: [a]}}
  visits: {count: rows, bounds: [1, 8]}
  spent: {sum: cost, bounds: [0, 800]}
"""

OF_ROWS = """
columns:
  ever: {type: boolean, values: [no, yes]}
  visits: {type: integer, bounds: [1, 8]}
  spent: {type: integer, bounds: [0, 800]}
"""

ENTRIES = """
statistics:
  - {name: ever, statistic: proportion, column: ever, epsilon: 1}
  - {name: visits, statistic: mean, column: visits, epsilon: 1}
  - {name: spent, statistic: mean, column: spent, epsilon: 1}
"""


class Found(NamedTuple):
    """How often an interval held, and the mean absolute error."""

    statistic: str
    holds: float
    error: float


def files(random: Random, people: int, folder: Path) -> tuple[Path, Path]:
    """A file with rows of people, and one with their values."""
    rows, values = ["who,kind,cost"], ["ever,visits,spent"]
    for person in range(people):
        own = [
            (random.choices("abc", (1, 3, 6))[0], random.randint(0, 100))
            for _ in range(random.choice((1, 1, 2, 2, 3, 5, 8)))
        ]
        rows += [f"P{person},{kind},{cost}" for kind, cost in own]
        ever = "yes" if any(kind == "a" for kind, _ in own) else "no"
        values.append(f"{ever},{len(own)},{sum(cost for _, cost in own)}")
    paths = folder / "rows.csv", folder / "values.csv"
    for path, lines in zip(paths, (rows, values), strict=True):
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return paths


def truths(values: Path) -> dict[str, Fraction]:
    """The exact numbers of a file with the values of people."""
    lines = [line.split(",") for line in values.read_text("utf-8").splitlines()[1:]]
    return {
        "ever": Fraction(sum(line[0] == "yes" for line in lines), len(lines)),
        "visits": Fraction(sum(int(line[1]) for line in lines), len(lines)),
        "spent": Fraction(sum(int(line[2]) for line in lines), len(lines)),
    }


def found_in(text: str, path: Path, exact: dict[str, Fraction], releases: int) -> Iterator[Found]:
    """What the intervals of many releases hold."""
    plan = make_plan(parse_central_spec(text, "spec.yaml"))
    answers = aggregate_data(plan, (str(path),))
    held, errors = dict.fromkeys(exact, 0), dict.fromkeys(exact, 0.0)
    for _ in range(releases):
        for estimated in estimates_of(plan, answers):
            name, numbers = estimated.planned.name, estimated.estimates
            truth, step = exact[name], numbers.step
            parts = (numbers.lower, numbers.value, numbers.upper)
            low, value, high = (int(part.flat[-1]) * step for part in parts)
            held[name] += low <= truth <= high
            errors[name] += abs(float(value - truth))
    for name in exact:
        yield Found(name, held[name] / releases, errors[name] / releases)


def main(arguments: Sequence[str]) -> None:
    """Print a line for each size, statistic and kind of neighbors."""
    releases = int(arguments[0]) if arguments else RELEASES
    print("people  neighbors   statistic  holds   ratio")
    for people in SIZES:
        for neighbors in ("add-remove", "change-one"):
            with tempfile.TemporaryDirectory() as name:
                rows, values = files(Random(people), people, Path(name))
                exact = truths(values)
                head = HEAD.replace("NEIGHBORS", neighbors)
                asked = head.replace("UNIT", "{column: who}") + OF_PEOPLE + ENTRIES
                plain = head.replace("UNIT", "row") + OF_ROWS + ENTRIES
                of_people = list(found_in(asked, rows, exact, releases))
                of_rows = list(found_in(plain, values, exact, releases))
            for one, other in zip(of_people, of_rows, strict=True):
                ratio = one.error / other.error
                print(f"{people:6,}  {neighbors}  {one.statistic:9}  {one.holds:.2%}  {ratio:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])

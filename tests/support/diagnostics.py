"""Golden cases: wrong texts and the complete messages about them.

A file holds cases of the form

    ##### name
    the text
    -----
    the diagnostics, as rendered

A text is completed with the sections it lacks, unless its name ends in `!`. The
text `(built)` stands for one from `BUILT`, that a file could not show.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dpcli.problems.errors import SpecError
from dpcli.problems.excerpts import render_problem
from dpcli.specification.load import parse_spec
from tests.support.specs import completed

FOLDER = Path(__file__).parents[1] / "unit" / "specification" / "cases"
UPDATE = bool(os.environ.get("UPDATE_CASES"))

MANY = [f"c{number}: {{type: id}}" for number in range(10_001)]

DAYS = ", ".join(["'%Y-%m-%d'"] * 101)

BUILT: dict[str, bytes] = {
    "control-character!": b"dpcli: 1\ndataset: a\x1b[31m\n",
    "nul!": b"dpcli: 1\ndata\x00set: a\n",
    "line-separator!": "dpcli: 1 \u2028dataset: a\n".encode(),
    "not-utf8!": b"dpcli: 1\ndataset: caf\xe9\n",
    "too-large!": b"a,b,c\n" * 200_000,
    "too-deep!": b"dpcli: " + b"[" * 500,
    "too-many-nodes!": b"dpcli: [" + b"1," * 100_001 + b"]",
    "too-many-columns": "\n  ".join(["columns:", *MANY]).encode(),
    "too-many-forms": (
        f"csv: {{footer: [{', '.join(['Total'] * 101)}]}}\n"
        f"columns:\n  a: {{type: integer, bounds: [0, 9], affixes: [{', '.join(['kg'] * 101)}]}}\n"
        f"  b: {{type: date, format: [{DAYS}]}}\n"
        f"  c: {{type: integer, bounds: [0, 9], affixes: [{'kg' * 21}]}}"
    ).encode(),
    "too-many-statistics": ("statistics: [" + "{name: n}, " * 1001 + "]").encode(),
    "more-problems": ("statistics:" + "\n  - {a: 1}" * 51).encode(),
    "too-many-places": (
        "columns:\n"
        + "".join(f"  c{number}: {{type: category, values: [y]}}\n" for number in range(65))
        + "statistics: [{name: n, statistic: count, epsilon: 1, by: ["
        + ", ".join(f"c{number}" for number in range(65))
        + "]}]"
    ).encode(),
    "too-many-queries": (
        "columns:\n"
        + "".join(f"  c{number}: {{type: boolean}}\n" for number in range(12))
        + "statistics:\n"
        + "".join(
            f"  - {{name: n{number}, statistic: marginals, ways: 6, epsilon: 0.01, columns: ["
            + ", ".join(f"c{place}" for place in range(12))
            + "]}\n"
            for number in range(11)
        )
    ).encode(),
    "too-many-scores": (
        "columns: {a: {type: integer, bounds: [1, 1000000]}}\nstatistics:\n"
        + "".join(
            f"  - {{name: n{number}, statistic: median, column: a, epsilon: 0.01}}\n"
            for number in range(12)
        )
    ).encode(),
    "too-many-quantiles": (
        "statistics: [{name: q, statistic: quantile, column: age, epsilon: 1, quantiles: ["
        + ", ".join(f"0.{number:03}" for number in range(1, 102))
        + "]}]"
    ).encode(),
    "name-too-long": f"columns:\n  ? {'x' * 1001}\n  : {{type: id}}".encode(),
    "wide-characters": "columns:\n  年齢: {type: integer, bonds: [0, 1]}".encode(),
    "twin-names": "columns:\n  caf\u00e9: {type: id}\n  cafe\u0301: {type: id}".encode(),
}


@dataclass(frozen=True)
class Case:
    """One case of one file."""

    file: Path
    name: str
    text: str
    expected: str

    @property
    def raw(self) -> bytes:
        """The bytes of the spec."""
        raw = BUILT[self.name] if self.text == "(built)" else f"{self.text}\n".encode()
        return raw if self.name.endswith("!") else completed(raw.decode()).encode()

    def codes(self) -> set[str]:
        """The codes of its problems."""
        return {problem.code for problem in self.failure().problems}

    def failure(self) -> SpecError:
        """The error that reading the text raises."""
        return _failure(self)

    def diagnostics(self) -> str:
        """The rendered problems; of very many, the last two."""
        rendered = [render_problem(problem) for problem in self.failure().problems]
        return "\n\n".join(rendered if len(rendered) < 20 else rendered[-2:])


@cache
def _failure(case: Case) -> SpecError:
    try:
        parse_spec(case.raw, "spec.yaml", FOLDER)
    except SpecError as failure:
        return failure
    raise AssertionError(f"{case.name} is a good spec")


def read_cases() -> list[Case]:
    """Every case of every file."""
    cases = []
    for file in sorted(FOLDER.glob("*.txt")):
        for part in file.read_text(encoding="utf-8").split("##### ")[1:]:
            name, _, body = part.partition("\n")
            text, _, expected = body.partition("\n-----\n")
            cases.append(Case(file, name, text.strip("\n"), expected.strip("\n")))
    return cases


def write_cases(cases: list[Case]) -> None:
    """Rewrites every file with the current messages; review the changes before a commit."""
    for file in {case.file for case in cases}:
        parts = [
            f"##### {case.name}\n{case.text}\n-----\n{case.diagnostics()}\n"
            for case in cases
            if case.file == file
        ]
        file.write_text("\n".join(parts), encoding="utf-8")

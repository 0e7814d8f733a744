"""Hostile texts: refused within a second, by an error and not by a crash."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from dpcli.problems.errors import SpecError
from dpcli.problems.excerpts import render_problem
from dpcli.specification.load import parse_central_spec
from dpcli.specification.yaml_reader import MAX_BYTES
from tests.support.refusals import refused
from tests.support.specs import completed

FULL = MAX_BYTES - 2000


def _fill(start: str, unit: str, end: str = "") -> str:
    """A text just below the size limit."""
    return start + unit * ((FULL - len(start) - len(end)) // len(unit)) + end


LAUGHS = "a: &a [x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)

BOMBS: list[str] = [
    LAUGHS,
    "\ufeff" * 1000,
    "%TAG !a! tag:x,2000:\n" * 20_000,
    "".join(f"%TAG !a{n}! tag:x,2000:\n" for n in range(40_000)) + "---\na: 1",
    *(_fill("", unit) for unit in "[{(\"'&*!|>%@`?:-#,a \n~"),
    *(_fill("a: ", unit) for unit in ["[", "{a: ", "[[]", "- ", "? ", "!!a ", "&a ", "*a ", "'"]),
    *(_fill("a:\n", unit) for unit in [" - ", "  b: c\n", "? a\n", "- - ", "---\n", "...\n", "\t"]),
    *(_fill("a: [", unit, "]") for unit in ["1,", "[],", "{},", "a: b,", "'',", "*a,", "!x 1,"]),
    *(_fill("a: {", unit, "}") for unit in ["a,", "1: 2,", "? ,", "[]: 1,", "<<: {},"]),
    *(_fill('a: "', unit, '"') for unit in ["\\x00", "\\n", "\n\n", "\\u2028", "\\", "a b "]),
    *(_fill("a: |\n", unit) for unit in ["  x\n", " x\n", "\n", "  \u00e9\n"]),
    *("\n".join("  " * level + "a:" for level in range(depth)) for depth in (21, 100, 700, 1400)),
    *("[" * depth + "]" * depth for depth in (20, 21, 1000, 5000, 100_000)),
    *("- " * depth + "a" for depth in (20, 21, 1000, 100_000)),
    *("a: " + digit * 100_000 for digit in "019-+.e_"),
    *(
        completed(f"statistics: [{{name: n, statistic: count, epsilon: {text}}}]")
        for text in ("1" * 5000, "1e999999999", "0." + "0" * 9000, "1e-" + "9" * 900, "9" * 900_000)
    ),
    *(
        completed(f"columns:\n  a: {{type: {kind}, bounds: [{low}, {high}], step: {step}}}")
        for kind in ("number", "integer")
        for low in ("-1e60", "1e-60", "0")
        for high in ("1e60", "1")
        for step in ("1e-60", "1e60", "0.000000000000000001e-60")
    ),
    *(
        completed(
            "columns:\n  a: {type: number, bounds: [0, 1000000], step: 1e-9}\nstatistics:\n"
            "  - {name: n, statistic: histogram, column: a, epsilon: 1, "
            f"bins: {{width: {width}}}}}"
        )
        for width in ("1e-9", "1e-60", "1e60", "1")
    ),
    completed("columns:\n" + "".join(f"  c{n}: {{type: id, a: 1}}\n" for n in range(9999))),
    completed("columns:\n" + "".join(f"  c{n}: {{typ: id}}\n" for n in range(9999))),
    completed("columns:\n" + "".join(f"  c{n}: {{type: idd}}\n" for n in range(9999))),
    completed("statistics:\n" + "  - {name: n, statistic: cuont, epsilon: x}\n" * 1000),
    completed(
        "columns:\n"
        + "".join(f"  column_number_{n}: {{type: id}}\n" for n in range(9000))
        + "statistics:\n"
        + "".join(
            f"  - {{name: n{n}, statistic: count, column: colunm_number_{n}, epsilon: 1}}\n"
            for n in range(999)
        )
    ),
    completed(f"columns:\n  a: {{type: category, values: [{'x, ' * 90_000}]}}"),
    completed(f"columns:\n  a: {{type: category, values: [{'x, ' * 89_999}, '']}}"),
    completed(f"columns:\n  a: {{type: category, values: [{'[], ' * 90_000}]}}"),
    completed(f"columns:\n  a: {{type: category, values: {{{'k: , ' * 40_000}}}}}"),
    completed(f"columns:\n  ? {'x' * 900_000}\n  : {{type: id}}"),
    completed(f"statistics: [{{name: {'n' * 900_000}, statistic: count, epsilon: 1}}]"),
    completed(f"statistics: [{{name: n, statistic: {'n' * 900_000}, epsilon: 1}}]"),
    completed(f"? {'k' * 900_000}\n: 1"),
]

BOMBS += [bomb[:3000] + tail for bomb in BOMBS[4:60] for tail in ("\n]", "\n}", "\n'\"")]


def test_there_are_many_bombs() -> None:
    """At least two hundred hostile texts are tried."""
    assert len(BOMBS) >= 200


EIGHTH, QUARTER = range(0, len(BOMBS), 8), range(3, len(BOMBS), 4)
OTHERS = [number for number in range(len(BOMBS)) if number not in {*EIGHTH, *QUARTER}]


@pytest.mark.parametrize(
    "numbers",
    [
        EIGHTH,
        pytest.param(QUARTER, marks=pytest.mark.extended),
        pytest.param(OTHERS, marks=pytest.mark.slow),
    ],
    ids=len,
)
def test_bombs_are_refused_at_once(numbers: Sequence[int]) -> None:
    """The problems of each hostile text are found and rendered within seconds."""
    for number in numbers:
        check(number)


def check(number: int) -> None:
    """A hostile text has few problems, each short, which are found in little time."""
    begun = time.process_time()
    rendered = _rendered_problems(BOMBS[number])
    # Under a second on an idle machine; what explodes takes minutes.
    assert time.process_time() - begun < 10
    assert len(rendered) <= 101
    assert max(map(len, rendered), default=0) < 3000


def _rendered_problems(text: str) -> list[str]:
    """The rendered problems of a text; nothing if it is a valid spec."""
    try:
        parse_central_spec(text, "bomb.yaml")
    except SpecError as failure:
        return [render_problem(problem) for problem in failure.problems]
    return []


@pytest.mark.extended
def test_a_large_good_spec_loads() -> None:
    """A spec near the limits of size is read within seconds."""
    values = ", ".join(f"v{number}" for number in range(90_000))
    text = completed(f"columns:\n  a: {{type: category, values: [{values}]}}")
    begun = time.process_time()
    spec = parse_central_spec(text, "large.yaml")
    assert time.process_time() - begun < 10
    assert len(spec.columns) == 1


@pytest.mark.parametrize("depth", [21, 900, 5000, 100_000])
def test_lists_of_any_depth_are_too_deep(depth: int) -> None:
    """Some parsers of YAML have a limit of their own, and the error is the same."""
    with refused("too-deep"):
        parse_central_spec("dpcli: " + "[" * depth, "spec.yaml")

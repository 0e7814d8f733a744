"""A stored simulation for the report of a release: read, checked, in words.

Privacy: the file is about invented rows and holds nothing else that is read here. It is accepted
for the spec alone from which the rows were invented, so it says the same whatever the data are.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpcli.errors import UsageError, describe_system_error
from dpcli.messages import note
from dpcli.plan.model import Plan
from dpcli.plan.numbers import Fact, exact_or_up

MOST_BYTES = 1 << 24
"""A simulation of a thousand statistics is far smaller."""

LARGEST = 10**15
"""No simulation has as many rows, people or runs."""

MOST_NUMBER = 64
"""Characters of a number; those of a simulation have a few digits."""

DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")

PEOPLE = ("people", "people_above_max_rows")
"""Numbers that a simulation has together or not at all."""

MALFORMED = (ValueError, KeyError, TypeError, RecursionError)
"""What reading a file raises that holds no findings."""


def read_simulation(path: Path, plan: Plan) -> dict[str, Fact]:
    """What a report states about the findings in a file.

    UsageError unless they are about the spec of the plan.
    """
    try:
        digest, found, shifts = _findings(path)
    except OSError as error:
        why, _ = describe_system_error(error)
        raise UsageError.about("simulation-unreadable.system", path=path, why=why) from None
    except MALFORMED:
        raise UsageError.about("simulation-unreadable", path=path) from None
    if digest != plan.spec.digest:
        raise UsageError.about("simulation-of-another-spec", path=path)
    items = {
        (planned.entry.request.name, item)
        for planned in plan.entries
        for item in ("", *planned.entry.statistic.items(planned.entry.request))
    }
    if not shifts.keys() <= items:
        raise UsageError.about("simulation-unreadable.item", path=path)
    limits: list[Fact] = [
        {"statistic": name, "item": item or None, "change": change}
        for (name, item), change in shifts.items()
    ]
    key = "unlimited" if found["people"] is None else "source"
    source = note(f"simulation.{key}", units=plan.spec.rows_are, **found)
    changes = [
        note(
            "simulation.changed" if change else "simulation.unchanged",
            name=f"{name} {item}".strip(),
            change=exact_or_up(change),
        )
        for (name, item), change in (shifts.items() if key == "source" else ())
    ]
    return {**found, "limits": limits, "notes": [source, *changes]}


def is_simulation(path: Path) -> bool:
    """Whether a file holds findings, which newer ones may replace."""
    try:
        _findings(path)
    except (OSError, *MALFORMED):
        return False
    return True


def _findings(path: Path) -> tuple[str, dict[str, int | None], dict[tuple[str, str], Fraction]]:
    """The digest of the spec, the invented rows, and the change of each number by the limits.

    OSError, or an error that is MALFORMED, if the file holds no findings.
    """
    with path.open("rb") as file:
        raw = file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise ValueError("too large")
    found = json.loads(raw, parse_float=_decimal, parse_int=_decimal)
    if found["simulation"] is not True:
        raise ValueError("no simulation")
    rows = {key: _count(found["dummy"][key]) for key in ("rows", *PEOPLE, "seed")}
    if None in (rows["rows"], rows["seed"]) or len({rows[key] is None for key in PEOPLE}) > 1:
        raise ValueError("no rows")
    shifts = {
        (_typed(str, entry["name"]), _typed(str, one["item"] or "")): _typed(
            Fraction, one["limits"]
        )
        for entry in found["statistics"]
        for one in entry["published"]
        if one["limits"] is not None
    }
    return _typed(str, found["spec"]["digest"]), {**rows, "runs": _count(found["runs"])}, shifts


def _decimal(text: str) -> Fraction:
    if len(text) > MOST_NUMBER or not DECIMAL.fullmatch(text):
        raise ValueError("no decimal")
    return Fraction(text)


def _count(value: Any) -> int | None:
    if value is None:
        return None
    count: Fraction = _typed(Fraction, value)
    if count.denominator != 1 or not 0 <= count <= LARGEST:
        raise ValueError("no number of things")
    return count.numerator


def _typed(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"no {kind.__name__}")
    return value

"""A stored simulation for the report of a release: read, checked, in words.

Privacy: the file is about invented rows and holds nothing else that is read here. It is accepted
for the spec alone from which the rows were invented, so it says the same whatever the data are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from dpcli.errors import UsageError, describe_system_error
from dpcli.plan.model import Plan
from dpcli.plan.numbers import Fact, exact_or_up
from dpcli.release import Shift, Simulated

MOST_BYTES = 1 << 24
"""A simulation of a thousand statistics is far smaller."""

LARGEST = 10**15
"""No simulation has as many rows, people or runs."""

MOST_NUMBER = 64
"""Characters of a number; those of a simulation have a few digits."""

AGAIN = "make it by `dpcli simulate SPEC --rows N --into FILE`"

_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")

Value = TypeVar("Value")


def read_simulation(path: Path, plan: Plan) -> Simulated:
    """The findings in a file; UsageError unless they are about the spec of the plan."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        why, _ = describe_system_error(error)
        raise _unreadable(path, f"cannot be read: {why}") from None
    if len(raw) > MOST_BYTES:
        raise _unreadable(path, "is larger than any simulation")
    try:
        found = json.loads(raw, parse_float=str, parse_int=str)
        digest = _text(found["spec"]["digest"])
        simulated = _simulated(found)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _unreadable(path, "holds no findings of `dpcli simulate`") from None
    if digest != plan.spec.digest:
        raise UsageError.of(
            "simulation-of-another-spec",
            f"`{path}` is a simulation of another spec, or of an older text of this one",
            f"simulate this spec: {AGAIN}",
        )
    items = {
        (entry.entry.request.name, item)
        for entry in plan.entries
        for item in ("", *entry.entry.statistic.items(entry.entry.request))
    }
    if any((shift.statistic, shift.item) not in items for shift in simulated.shifts):
        raise _unreadable(path, "names a number that the spec does not ask for")
    return simulated


def is_simulation(path: Path) -> bool:
    """Whether a file holds findings, which newer ones may replace."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(MOST_BYTES), parse_float=str, parse_int=str)
        _simulated(found)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
    return True


def _simulated(found: object) -> Simulated:
    """The findings in plain JSON; ValueError, KeyError or TypeError if it holds none."""
    if not isinstance(found, Mapping) or found["simulation"] is not True:
        raise ValueError("no simulation")
    dummy = found["dummy"]
    return Simulated(
        rows=_whole(dummy["rows"]),
        people=_perhaps(_whole, dummy["people"]),
        above=_perhaps(_whole, dummy["people_above_max_rows"]),
        seed=_whole(dummy["seed"]),
        runs=_whole(found["runs"]),
        shifts=tuple(
            Shift(_text(entry["name"]), _perhaps(_text, one["item"]) or "", _number(one["limits"]))
            for entry in found["statistics"]
            for one in entry["published"]
            if one["limits"] is not None
        ),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _number(value: object) -> Fraction:
    """A decimal that is not absurdly long."""
    text = _text(value)
    if len(text) > MOST_NUMBER or not _DECIMAL.fullmatch(text):
        raise ValueError("no decimal")
    return Fraction(text)


def _whole(value: object) -> int:
    parsed = _number(value)
    if parsed.denominator != 1 or not 0 <= parsed <= LARGEST:
        raise ValueError("no number of things")
    return parsed.numerator


def _perhaps(read: Callable[[object], Value], value: object) -> Value | None:
    return None if value is None else read(value)


def simulation_notes(simulated: Simulated | None, plan: Plan) -> list[str]:
    """What the limits on people changed on invented rows, in sentences; none without a file."""
    if simulated is None:
        return []
    rows = plan.spec.rows_are
    if simulated.people is None:
        source = f"a simulation on {simulated.rows:,} invented {rows} (seed {simulated.seed})"
        return [f"{source} found no bias of limits: there are none, as each is protected alone"]
    source = (
        f"found by a simulation on {simulated.rows:,} invented {rows} of {simulated.people:,} "
        f"invented people (seed {simulated.seed}), {simulated.above or 0:,} of whom have more than "
        "`max_rows`: how many real people do is private, so the bias of the published numbers "
        "can be smaller or larger"
    )
    shifts = [
        f"{' '.join(filter(None, (shift.statistic, shift.item)))}: "
        + (
            f"the limits change each number by {exact_or_up(shift.change)} on average, before noise"
            if shift.change
            else "the limits change nothing on average"
        )
        for shift in simulated.shifts
    ]
    return [source, *shifts]


def simulation_facts(simulated: Simulated, plan: Plan) -> dict[str, Fact]:
    """The same as plain data."""
    return {
        "rows": simulated.rows,
        "people": simulated.people,
        "people_above_max_rows": simulated.above,
        "seed": simulated.seed,
        "runs": simulated.runs,
        "limits": [
            {"statistic": shift.statistic, "item": shift.item or None, "change": shift.change}
            for shift in simulated.shifts
        ],
        "notes": list(simulation_notes(simulated, plan)),
    }


def _unreadable(path: Path, what: str) -> UsageError:
    return UsageError.of("simulation-unreadable", f"`{path}` {what}", AGAIN)

"""What `dpcli init --ask` leaves to noisy counts: bounds and a limit not known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from dpcli.cli.dialogue import InvalidAnswerError
from dpcli.number_syntax import parse_number

UNKNOWN = "unknown"
"""The answer of a person who does not know bounds or a limit."""

LADDER = "1-2-5"
"""The ladder that is proposed."""

Place = tuple[str, ...]
"""The keys that lead to a value of a spec."""

MAX_ROWS: Place = ("unit", "max_rows")
"""The place of the limit on rows per person."""


class Unknowns:
    """The places of a spec that were answered with `unknown`; they have outermost values so far."""

    def __init__(self) -> None:
        self.places: list[Place] = []

    def read(self, place: Place, put: Callable[[str], None]) -> Callable[[str], bool]:
        """A reader of an answer: puts it, and returns False, unless it is `unknown`."""

        def check(text: str) -> bool:
            if text.casefold() == UNKNOWN:
                self.places.append(place)
                return True
            put(text)
            return False

        return check

    def choose(self, tree: Mapping[str, Any], put: Callable[..., None], epsilon: str) -> None:
        """Put choices in the places of outermost values, where a statistic uses them."""
        used = {entry.get("column") for entry in tree["statistics"].values()}
        for place in self.places:
            value = tree[place[0]][place[1]]
            if place == MAX_ROWS:
                with suppress(InvalidAnswerError):
                    put({"choose": LADDER, "up_to": value, "epsilon": epsilon}, *place)
            elif place[1] in used:
                low, high = value["bounds"]
                start = {} if parse_number(low) == 0 else {"from": low}
                put({"choose": LADDER, **start, "up_to": high, "epsilon": epsilon}, *place)


def choices_of(tree: Mapping[str, Any]) -> list[dict[str, str]]:
    """The mappings of a spec that choose bounds or a limit."""
    unit = tree["unit"]
    values: Iterable[object] = [column.get("bounds") for column in tree["columns"].values()]
    limits = [unit.get("max_rows")] if isinstance(unit, dict) else []
    return [value for value in (*values, *limits) if isinstance(value, dict)]

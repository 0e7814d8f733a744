"""The fields of a response, and its price."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from pydantic import Field, Tag

from dpcli import randomizers
from dpcli.columns import CategoryColumn
from dpcli.messages import listed, shown
from dpcli.randomizers.base import Asked, Randomizer, Table
from dpcli.spec.findings import Findings
from dpcli.spec.fit import Part
from dpcli.spec.model import Cell
from dpcli.spec.nodes import Mapping, Word, at
from dpcli.spec.tables import fitted, mapped_table, read_bytes, table_of
from dpcli.values import (
    MAPPING_TAG,
    TEXT_TAG,
    Chance,
    Choice,
    Delta,
    Epsilon,
    Forms,
    Shape,
    Text,
    Texts,
    described,
)

PRICES = ("epsilon", "probability", "matrix")
"""How the price of a response can be given."""

STEPS = {"simplex": False, "clamp": True}
"""Steps of `post`, and whether they are for means."""


class ResponseShape(Shape):
    """How every record responds for one column, and what is estimated from that."""

    column: Text
    mechanism: Annotated[
        str, Choice("unknown-mechanism", lambda: described(randomizers.RANDOMIZERS))
    ]
    epsilon: Epsilon | None = None
    delta: Delta | None = None
    probability: Chance | None = None
    matrix: (
        Annotated[
            Annotated[Text, Tag(TEXT_TAG)]
            | Annotated[dict[str, dict[str, Chance]], Tag(MAPPING_TAG)],
            Forms,
        ]
        | None
    ) = None
    by: Texts | None = None
    post: list[Annotated[str, Choice("unknown-step", tuple(STEPS))]] | None = Field(
        None, min_length=1
    )


class ResponsePrices:
    """Prices of responses, and the tables that they name in files of `folder`."""

    def __init__(self, findings: Findings, folder: Path) -> None:
        self._findings, self._folder = findings, folder
        self.tables: list[tuple[Path, bytes]] = []

    def asked(
        self, part: Part[ResponseShape], randomizer: Randomizer, column: Cell | None
    ) -> Asked | None:
        """What the response may reveal, or None after problems are recorded."""
        given = [way for way in PRICES if part.has(way)]
        if len(given) != 1 or given[0] not in randomizer.prices:
            self._refuse_price(part, randomizer, given)
            return None
        delta = self._delta(part, randomizer)
        values = part.values
        chance, matrix = values.probability, None
        if chance is not None and not 0 < chance < 1:
            part.refuse(
                "not-a-probability",
                f"`probability` is {shown(part.text('probability'))}: a response would reveal "
                "everything",
                "write one between 0 and 1, such as `3/4`",
                "probability",
            )
            chance = None
        if given[0] == "matrix" and "matrix" not in part.bad:
            matrix = self._matrix(part, column)
        if delta is None or column is None or (values.epsilon or chance or matrix) is None:
            return None
        return Asked(column, values.epsilon, delta, chance, matrix)

    def _refuse_price(
        self, part: Part[ResponseShape], randomizer: Randomizer, given: Sequence[str]
    ) -> None:
        ways, name = listed(randomizer.prices, "or"), shown(randomizer.name)
        if not given:
            message = f"nothing limits what a response may reveal: {name} takes {ways}"
            part.refuse("price-required", message, f"add `{randomizer.prices[0]}: ...`")
            return
        wrong = next((way for way in given if way not in randomizer.prices), None)
        if wrong is None:
            message = f"the response has {listed(given)}; each of them is a price"
            hint = f"keep one of them, such as `{given[0]}`"
            part.refuse_key("price-twice", message, hint, given[-1])
            return
        message = f"{name} takes {ways}, not {shown(wrong)}"
        only = len(randomizer.prices) == 1
        hint = f"write `{randomizer.prices[0]}`" if only else f"write one of {ways}"
        part.refuse_key("field-not-taken", message, hint, wrong)

    def _delta(self, part: Part[ResponseShape], randomizer: Randomizer) -> Fraction | None:
        name = shown(randomizer.name)
        if part.has("delta") and not randomizer.needs_delta:
            able = [one.name for one in randomizers.RANDOMIZERS if one.needs_delta]
            message = f"{name} takes no `delta`: its guarantee is pure"
            hint = f"omit `delta`, or use {listed(able, 'or')} for a numeric column"
            part.refuse_key("delta-not-taken", message, hint, "delta")
            return None
        if not part.has("delta") and randomizer.needs_delta:
            message = f"{name} needs a `delta`, and the response has none"
            hint = "add `delta: 1e-9` or so, far below one divided by the number of records"
            part.refuse("delta-required", message, hint)
            return None
        return part.values.delta if part.has("delta") else Fraction(0)

    def _matrix(self, part: Part[ResponseShape], column: Cell | None) -> Table | None:
        given, node = part.values.matrix, at(part.node, "matrix")
        table = None
        if isinstance(given, dict) and isinstance(node, Mapping):
            table = mapped_table(given, node, self._findings)
        elif isinstance(node, Word):
            table = self._file(node)
        if table is None or not isinstance(column, CategoryColumn):
            return None
        return fitted(table, column, node.span, self._findings)

    def _file(self, word: Word) -> Table | None:
        """The table in a file, whose problems are reported with their lines in that file."""
        try:
            raw = read_bytes(self._folder / word.text)
        except (OSError, ValueError):
            message = f"the file of the table, {shown(word.text)}, cannot be read"
            hint = "name a CSV file by its path from the folder of the spec"
            self._findings.add("table-unreadable", message, hint, word.span)
            return None
        table, found = table_of(raw, word.text)
        for problem in found.problems:
            where = problem.place.line if problem.place else 1
            message = f"line {where} of {shown(word.text)}: {problem.message}"
            self._findings.add(problem.code, message, problem.hint, word.span)
        self.tables.append((self._folder / word.text, raw))
        return table

"""The price of a response: an epsilon, a probability of the truth, or a table."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from dpcli.columns import CategoryColumn
from dpcli.randomizers.base import Asked, Randomizer, Table
from dpcli.spec.chances import fitted, mapped_table, read_bytes, read_chance, table_of
from dpcli.spec.findings import Findings
from dpcli.spec.model import Cell
from dpcli.spec.nodes import Mapping, Word
from dpcli.spec.prices import read_delta, read_epsilon
from dpcli.spec.wording import listed, shown


class ResponsePrice:
    """The price of one response, and the files of tables that it names."""

    def __init__(self, node: Mapping, findings: Findings, folder: Path) -> None:
        self._node, self._findings, self._folder = node, findings, folder
        self.tables: list[tuple[Path, bytes]] = []

    def asked(self, randomizer: Randomizer, column: Cell | None) -> Asked | None:
        """What the response may reveal, or None after problems are recorded."""
        node = self._node
        given = [way for way in ("epsilon", "probability", "matrix") if node.get(way) is not None]
        if len(given) != 1 or given[0] not in randomizer.prices:
            self._refuse(randomizer, given)
            return None
        delta = self._delta(randomizer)
        epsilon = probability = None
        matrix: Table | None = None
        match given[0]:
            case "epsilon":
                word = node.word("epsilon")
                epsilon = read_epsilon(word, self._findings) if word else None
            case "probability":
                word = node.word("probability")
                probability = self._probability(word) if word else None
            case _:
                matrix = self._matrix(column)
        if delta is None or column is None or (epsilon or probability or matrix) is None:
            return None
        return Asked(column, epsilon, delta, probability, matrix)

    def _refuse(self, randomizer: Randomizer, given: Sequence[str]) -> None:
        """Records that the price is missing, or given in a way that is not taken."""
        node = self._node
        ways = listed(randomizer.prices, "or")
        name = shown(randomizer.name)
        if not given:
            self._findings.add(
                "price-required",
                f"nothing says what a response may reveal: {name} takes {ways}",
                f"add `{randomizer.prices[0]}: ...`",
                node.span,
            )
            return
        wrong = next((way for way in given if way not in randomizer.prices), given[-1])
        taken = wrong in randomizer.prices
        self._findings.add(
            "price-twice" if taken else "field-not-taken",
            f"the response has {listed(given)}; each of them is a price"
            if taken
            else f"{name} takes {ways}, not {shown(wrong)}",
            f"keep one of them, such as `{given[0]}`"
            if taken
            else f"write `{ways.strip('`')}`"
            if len(randomizer.prices) == 1
            else f"write one of {ways}",
            node.key_span(wrong),
        )

    def _delta(self, randomizer: Randomizer) -> Fraction | None:
        """The delta, zero where none is needed."""
        node = self._node
        word = node.word("delta")
        if word is not None and not randomizer.needs_delta:
            self._findings.add(
                "delta-not-taken",
                f"{shown(randomizer.name)} takes no `delta`: its guarantee is pure",
                "remove `delta`",
                node.key_span("delta"),
            )
            return None
        if word is None and randomizer.needs_delta:
            self._findings.add(
                "delta-required",
                f"{shown(randomizer.name)} needs a `delta`, and the response has none",
                "add `delta: 1e-9` or so, far below one divided by the number of records",
                node.span,
            )
            return None
        return Fraction(0) if word is None else read_delta(word, self._findings)

    def _probability(self, word: Word) -> Fraction | None:
        """The probability of a true answer, strictly between zero and one."""
        value = read_chance(word, "`probability`", self._findings)
        if value is None or 0 < value < 1:
            return value
        self._findings.add(
            "not-a-probability",
            f"`probability` is {shown(word.text)}: a response would tell everything",
            "write one between 0 and 1, such as `3/4`",
            word.span,
        )
        return None

    def _matrix(self, column: Cell | None) -> Table | None:
        """The table of probabilities, from here or from a file beside the spec."""
        given = self._node.get("matrix")
        table = None
        if isinstance(given, Mapping):
            table = mapped_table(given, self._findings)
        elif isinstance(given, Word):
            table = self._file(given)
        if table is None or given is None or not isinstance(column, CategoryColumn):
            return None
        return fitted(table, column, given.span, self._findings)

    def _file(self, word: Word) -> Table | None:
        """The table in a file, whose problems are told with places in that file."""
        try:
            raw = read_bytes(self._folder / word.text)
        except (OSError, ValueError):
            self._findings.add(
                "table-unreadable",
                f"the file of the table, {shown(word.text)}, cannot be read",
                "name a CSV file by its path from the folder of the spec",
                word.span,
            )
            return None
        table, found = table_of(raw, word.text)
        for problem in found.problems:
            where = problem.place.line if problem.place else 1
            self._findings.add(
                problem.code,
                f"line {where} of {shown(word.text)}: {problem.message}",
                problem.hint,
                word.span,
            )
        self.tables.append((self._folder / word.text, raw))
        return table

"""The responses of a local spec: how records respond, column by column."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Annotated

from pydantic import Field

from dpcli import randomizers
from dpcli.columns import FORMULA, CategoryColumn
from dpcli.fields import LABELLED, NUMERIC
from dpcli.messages import shown
from dpcli.privacy.decimals import plain_text
from dpcli.privacy.relation import Neighbors, PersonUnit
from dpcli.randomizers.base import Asked, CannotRandomize, Randomizer, Table
from dpcli.spec.answering import single_way
from dpcli.spec.columns import Scope
from dpcli.spec.entries import entries_of
from dpcli.spec.fit import Part, fit
from dpcli.spec.model import Cell, Response
from dpcli.spec.nodes import Mapping, Word, at, words_of
from dpcli.spec.tables import fitted, mapped_table, read_bytes, table_of
from dpcli.values import (
    MOST_EPSILON,
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

RESERVED = (
    "column", "estimate", "item", "records", "value", "standard_error", "lower", "upper",
)  # fmt: skip
"""The columns of the table of estimates that are not keys."""

MOST_GROUPS = 1_000_000
"""Numbers that are counted of one response."""

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
    matrix: Annotated[Text | dict[str, dict[str, Chance]], Forms] | None = None
    by: Texts | None = None
    post: list[Annotated[str, Choice("unknown-step", tuple(STEPS))]] | None = Field(
        None, min_length=1
    )


@dataclass(frozen=True, slots=True)
class Local:
    """Responses, public columns, and tables that stand in other files."""

    responses: tuple[Response, ...] = ()
    public: tuple[Cell, ...] = ()
    tables: tuple[tuple[Path, bytes], ...] = ()


def resolve_local(root: Mapping, scope: Scope, folder: Path) -> Local:
    """Everything that is particular to the local model; problems are recorded."""
    findings = scope.findings
    if isinstance(scope.unit, PersonUnit):
        findings.report("local-unit", at(root, "privacy", "unit").span)
    if scope.neighbors == Neighbors.ADD_REMOVE.value:
        findings.report("local-neighbors", at(root, "privacy", "neighbors").span)
    found = [scope.usable(one, "`public`") for one in words_of(root.get("public"))]
    public = {column.name: column for column in found if column is not None}
    reader = _Responses(scope, public, folder)
    example = "{column: ..., mechanism: ..., epsilon: ...}"
    nodes = entries_of(root.listing("responses"), "responses", example, findings)
    read = [reader.response(node) for node in nodes]
    responses = tuple(one for one in read if one is not None)
    names = [*public, *(name for response in responses for name in response.names)]
    for name, count in Counter(names).items():
        if name.startswith(FORMULA):
            facts = {"column": name, "first": name[0]}
            findings.report("formula-label.collected", root.key_span("responses"), **facts)
        if count > 1:
            findings.report("collected-twice", root.key_span("responses"), column=name)
    return Local(responses, tuple(public.values()), tuple(reader.tables))


class _Responses:
    """The responses of a spec one by one, and the files of `folder` that hold their tables."""

    def __init__(self, scope: Scope, public: dict[str, Cell], folder: Path) -> None:
        self._scope, self._findings = scope, scope.findings
        self._public, self._folder = public, folder
        self._taken: dict[str, Word] = {}
        self.tables: list[tuple[Path, bytes]] = []

    def response(self, node: Mapping) -> Response | None:
        """The response, or None after its problems are recorded."""
        part = fit(ResponseShape, node, "a response", self._findings)
        name = part.values.mechanism
        randomizer = next((one for one in randomizers.RANDOMIZERS if one.name == name), None)
        column, by = self._column(node, randomizer), self._by(node)
        if randomizer is None:
            return None
        asked, steps = self._asked(part, randomizer, column), self._steps(part, randomizer)
        if part.bad or column is None or asked is None or by is None or steps is None:
            return None
        try:
            channel = randomizer.fit(asked)
        except CannotRandomize as failure:
            part.report(failure.code, **failure.facts)
            return None
        labels = len(column.labels) if isinstance(column, CategoryColumn) else 1
        numbers = prod(len(one.labels) for one in by) * max(labels, len(channel.outputs))
        if channel.loss.epsilon > MOST_EPSILON:
            epsilon, most = plain_text(channel.loss.epsilon), int(MOST_EPSILON)
            part.report("epsilon-out-of-range.response", epsilon=epsilon, most=most)
            return None
        if numbers > MOST_GROUPS:
            part.report("too-many-cells.response", column=column.name)
            return None
        return Response(column, randomizer, channel, by, steps)

    def _column(self, node: Mapping, randomizer: Randomizer | None) -> Cell | None:
        word = node.word("column")
        if word is None:
            return None
        name, span, report = word.text, word.span, self._findings.report
        twin = self._taken.setdefault(name, word)
        if twin is not word or name in self._public:
            code = "column-twice.public" if twin is word else "column-twice.randomized"
            report(code, span, column=name, line=twin.span.line)
            return None
        column = self._scope.usable(word, "a response")
        if column is None or randomizer is None:
            return None
        kinds = NUMERIC if randomizer.numeric else LABELLED
        if column.kind not in kinds:
            others = [one for one in randomizers.RANDOMIZERS if one.numeric != randomizer.numeric]
            facts = {"kind": column.kind, "kinds": kinds, "user": randomizer.name}
            names = [one.name for one in others]
            is_date = column.kind == "date"
            code = "wrong-column-type.date" if is_date else "wrong-column-type.randomized"
            report(code, span, column=name, others=names, **facts)
            return None
        if column.missing is None:
            labels = column.labels if isinstance(column, CategoryColumn) else ()
            code = "missing-constant.label" if labels else "missing-constant"
            report(code, self._scope.spans[name], column=name, example=(*labels, "0")[0])
            return None
        return column

    def _by(self, node: Mapping) -> tuple[CategoryColumn, ...] | None:
        """The public columns whose groups estimates are made for."""
        words = words_of(node.get("by"))
        found: list[CategoryColumn] = []
        for word in words:
            column = self._public.get(word.text)
            if word.text in RESERVED:
                facts = {"column": word.text, "reserved": RESERVED}
                self._findings.report("reserved-name.estimates", word.span, **facts)
            elif isinstance(column, CategoryColumn) and column not in found:
                found.append(column)
            else:
                self._findings.report("by-not-public", word.span, column=word.text)
        return tuple(found) if len(found) == len(words) else None

    def _steps(self, part: Part[ResponseShape], randomizer: Randomizer) -> tuple[str, ...] | None:
        able = [name for name, numeric in STEPS.items() if numeric == randomizer.numeric]
        for place, name in enumerate(part.values.post or ()):
            if name not in able:
                span, user = at(part.node, "post", place).span, randomizer.name
                self._findings.report_unknown(
                    "unknown-step.response", name, able, span, mechanism=user
                )
                return None
        return tuple(dict.fromkeys(part.values.post or ()))

    def _asked(
        self, part: Part[ResponseShape], randomizer: Randomizer, column: Cell | None
    ) -> Asked | None:
        """What the response may reveal, or None after problems are recorded."""
        name, ways, needs_delta = randomizer.name, randomizer.prices, randomizer.needs_delta
        wrong = next((way for way in PRICES if part.has(way) and way not in ways), None)
        if wrong:
            part.report_key("field-not-taken.price", wrong, mechanism=name, ways=ways, wrong=wrong)
            return None
        way = single_way(part, ways, "price-required.response")
        if needs_delta != part.has("delta"):
            code = "delta-required.response" if needs_delta else "delta-not-taken.response"
            able = [one.name for one in randomizers.RANDOMIZERS if one.needs_delta]
            part.report_key(code, "delta", mechanism=name, able=able)
            return None
        values = part.values
        if values.probability is not None and not 0 < values.probability < 1:
            part.report("not-a-probability.certain", "probability")
            return None
        matrix = self._matrix(part, column) if way == "matrix" else None
        if way is None or column is None or (way == "matrix" and matrix is None):
            return None
        delta = values.delta or Fraction(0)
        return Asked(column, values.epsilon, delta, values.probability, matrix)

    def _matrix(self, part: Part[ResponseShape], column: Cell | None) -> Table | None:
        given, node = part.values.matrix, at(part.node, "matrix")
        table = None
        if isinstance(given, dict) and isinstance(node, Mapping):
            table = mapped_table(given, node, self._findings)
        elif isinstance(given, str) and isinstance(node, Word):
            table = self._file(node)
        if table is None or not isinstance(column, CategoryColumn):
            return None
        return fitted(table, column, node.span, self._findings)

    def _file(self, word: Word) -> Table | None:
        """The table in a file, whose problems are reported with their lines in that file."""
        path = self._folder / word.text
        try:
            raw = read_bytes(path)
        except (OSError, ValueError):
            self._findings.report("table-unreadable", word.span, file=word.text)
            return None
        table, found = table_of(raw, word.text)
        for problem in found.problems:
            where = problem.place.line if problem.place else 1
            message = f"line {where} of {shown(word.text)}: {problem.message}"
            self._findings.add(problem.code, message, problem.hint, word.span)
        self.tables.append((path, raw))
        return table

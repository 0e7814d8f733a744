"""The responses of a local spec: how records respond, column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from dpcli import randomizers
from dpcli.columns import FORMULA, CategoryColumn
from dpcli.fields import LABELLED, NUMERIC
from dpcli.messages import listed, shown
from dpcli.privacy.decimals import plain_text
from dpcli.privacy.relation import Neighbors, RowUnit
from dpcli.randomizers.base import CannotRandomize, Channel, Randomizer
from dpcli.spec.columns import Scope
from dpcli.spec.entries import mappings
from dpcli.spec.findings import a_column, misread
from dpcli.spec.fit import Part, fit
from dpcli.spec.model import Cell, Response
from dpcli.spec.nodes import Listing, Mapping, Word, at
from dpcli.spec.response_price import STEPS, ResponsePrices, ResponseShape
from dpcli.values import MOST_EPSILON

RESERVED = (
    "column", "estimate", "item", "records", "value", "standard_error", "lower", "upper",
)  # fmt: skip
"""The columns of the table of estimates that are not keys."""

MOST_GROUPS = 1_000_000
"""Numbers that are counted of one response."""


@dataclass(frozen=True, slots=True)
class Local:
    """Responses, public columns, and tables that stand in other files."""

    responses: tuple[Response, ...] = ()
    public: tuple[Cell, ...] = ()
    tables: tuple[tuple[Path, bytes], ...] = ()


def resolve_local(root: Mapping, scope: Scope, folder: Path) -> Local:
    """Everything that is particular to the local model; problems are recorded."""
    privacy = root.get("privacy")
    if isinstance(privacy, Mapping):
        _require_records(privacy, scope)
    public: dict[str, Cell] = {}
    listing = root.get("public")
    for word in listing.items if isinstance(listing, Listing) else ():
        column = None
        if isinstance(word, Word):
            column = scope.usable(word.text, word.span, "`public`")
        if column is not None:
            public[column.name] = column
    reader = _Responses(scope, public, folder)
    section = root.get("responses")
    found = reader.read(section) if isinstance(section, Listing) else ()
    _require_names(found, tuple(public.values()), root, scope)
    return Local(found, tuple(public.values()), tuple(reader.tables))


def _require_records(privacy: Mapping, scope: Scope) -> None:
    """Records a unit or neighbors that records cannot protect by themselves."""
    unit, neighbors = privacy.get("unit"), privacy.word("neighbors")
    if scope.unit is not None and not isinstance(scope.unit, RowUnit) and unit is not None:
        message = "in the local model each record responds by itself, and `unit` is a person"
        hint = "write `unit: row`; a person with k records reveals k times as much"
        scope.findings.add("local-unit", message, hint, unit.span)
    if neighbors is not None and neighbors.text == Neighbors.ADD_REMOVE.value:
        scope.findings.add(
            "local-neighbors",
            "every record responds, so that the number of records is public, and `neighbors` "
            "is `add-remove`",
            "write `neighbors: change-one`: the content of a record is protected, not its presence",
            neighbors.span,
        )


def _require_names(
    responses: tuple[Response, ...], public: tuple[Cell, ...], root: Mapping, scope: Scope
) -> None:
    """Records two collected columns of one name, and names that spreadsheets misread."""
    names = [column.name for column in public]
    names += [name for response in responses for name in response.names]
    for name in names:
        if name.startswith(FORMULA):
            scope.findings.add(
                "formula-label",
                f"the collected column {shown(name)} begins with {shown(name[0])}: "
                f"{misread(name, 'its name')}",
                "rename the column in the data file",
                root.key_span("responses"),
            )
    for name in sorted(name for name, count in Counter(names).items() if count > 1):
        message = f"two collected columns would be called {shown(name)}"
        hint = "map the label to another one, or rename the column"
        scope.findings.add("collected-twice", message, hint, root.key_span("responses"))


class _Responses:
    """Every response of a spec, and the files of tables that they name."""

    def __init__(self, scope: Scope, public: dict[str, Cell], folder: Path) -> None:
        self._scope, self._findings = scope, scope.findings
        self._prices = ResponsePrices(scope.findings, folder)
        self._public = public
        self._taken: dict[str, Word] = {}

    @property
    def tables(self) -> list[tuple[Path, bytes]]:
        """The paths of tables, and what the files hold."""
        return self._prices.tables

    def read(self, section: Listing) -> tuple[Response, ...]:
        """The responses without problems; those with problems are recorded."""
        if not section.items:
            message = "`responses` is empty, expected at least one entry"
            hint = "add `- {column: ..., mechanism: randomized_response, epsilon: 1}`"
            self._findings.add("no-responses", message, hint, section.span)
        example = "{column: ..., mechanism: ..., epsilon: ...}"
        nodes = mappings(section, "responses", example, self._scope)
        found = (self._response(node) for node in nodes)
        return tuple(one for one in found if one is not None)

    def _response(self, node: Mapping) -> Response | None:
        part = fit(ResponseShape, node, "a response", self._findings)
        name = part.values.mechanism
        every = randomizers.RANDOMIZERS
        randomizer = next((one for one in every if one.name == name), None)
        column = self._column(node, randomizer)
        asked = self._prices.asked(part, randomizer, column) if randomizer else None
        by = self._by(node)
        steps = self._steps(part, randomizer)
        if part.bad or None in (randomizer, column, asked, by, steps):
            return None
        assert randomizer is not None and column is not None  # noqa: PT018
        assert asked is not None and by is not None and steps is not None  # noqa: PT018
        try:
            channel = randomizer.fit(asked)
        except CannotRandomize as failure:
            self._findings.add("cannot-randomize", failure.reason, failure.hint, node.span)
            return None
        code = message = hint = ""
        if channel.loss.epsilon > MOST_EPSILON:
            code = "epsilon-out-of-range"
            message = (
                f"that is an epsilon of {shown(plain_text(channel.loss.epsilon))}, expected at "
                f"most `{MOST_EPSILON}`"
            )
            hint = "choose probabilities that differ less; above that, a response protects no one"
        elif _numbers_of(column, channel, by) > MOST_GROUPS:
            code, hint = "too-many-cells", "use fewer keys in `by`"
            message = f"the keys in `by` have too many combinations for {shown(column.name)}"
        if code:
            self._findings.add(code, message, hint, node.span)
            return None
        return Response(column, randomizer, channel, by, steps)

    def _column(self, node: Mapping, randomizer: Randomizer | None) -> Cell | None:
        word = node.word("column")
        if word is None:
            return None
        name = word.text
        twin = self._taken.setdefault(name, word)
        if twin is not word or name in self._public:
            already = f"on line {twin.span.line}" if twin is not word else "declared public"
            self._findings.add(
                "column-twice",
                f"{shown(name)} is randomized here, and {already}",
                "keep one of them: two responses cost twice, and randomizing does not hide what is "
                "public",
                word.span,
            )
            return None
        column = self._scope.usable(name, word.span, "a response")
        if column is None or randomizer is None:
            return None
        kinds = NUMERIC if randomizer.numeric else LABELLED
        if column.kind not in kinds:
            others = [
                one.name for one in randomizers.RANDOMIZERS if one.numeric != randomizer.numeric
            ]
            self._findings.add(
                "wrong-column-type",
                f"{shown(name)} is {a_column(column.kind)}, and {shown(randomizer.name)} "
                f"needs {' or '.join(a_column(kind) for kind in kinds)}",
                "days cannot be randomized; declare labels for spans of time"
                if column.kind == "date"
                else f"name a column of that type, or use {listed(others, 'or')}",
                word.span,
            )
            return None
        if column.missing is None:
            labels = column.labels if isinstance(column, CategoryColumn) else ()
            what = "label" if labels else "value within the bounds"
            self._findings.add(
                "missing-constant",
                f"{shown(name)} does not say what a missing cell counts as, and every record "
                "must respond",
                f"add `missing: {labels[0] if labels else '0'}` or another {what} to the column; a "
                "blank response would reveal that the cell is missing",
                self._scope.spans[name],
            )
            return None
        return column

    def _by(self, node: Mapping) -> tuple[CategoryColumn, ...] | None:
        """The public columns whose groups estimates are made for."""
        listing = node.get("by")
        words: Sequence[Any] = listing.items if isinstance(listing, Listing) else ()
        found: list[CategoryColumn] = []
        for word in (one for one in words if isinstance(one, Word)):
            column = self._public.get(word.text)
            if word.text in RESERVED:
                self._findings.add(
                    "reserved-name",
                    f"{shown(word.text)} cannot be a key: the estimates have a column of that name",
                    f"rename the column in the data file; reserved are {listed(RESERVED)}",
                    word.span,
                )
            elif isinstance(column, CategoryColumn) and column not in found:
                found.append(column)
            else:
                self._findings.add(
                    "by-not-public",
                    f"{shown(word.text)} in `by` is not a category among the public columns, or "
                    "is listed twice",
                    "estimates can be grouped by columns that are collected as they are: declare "
                    "it under `public:`, or group by another column",
                    word.span,
                )
        return tuple(found) if len(found) == len(words) else None

    def _steps(
        self, part: Part[ResponseShape], randomizer: Randomizer | None
    ) -> tuple[str, ...] | None:
        steps = part.values.post or []
        if randomizer is None or "post" in part.bad:
            return None
        able = [name for name, numeric in STEPS.items() if numeric == randomizer.numeric]
        for place, name in enumerate(steps):
            if name not in able:
                message = (
                    f"a step of `post` is {shown(name)}, for {shown(randomizer.name)} there is "
                    f"{listed(able)}"
                )
                span = at(part.node, "post", place).span
                self._findings.unknown("unknown-step", message, name, able, span)
                return None
        return tuple(dict.fromkeys(steps))


def _numbers_of(column: Cell, channel: Channel, by: Sequence[CategoryColumn]) -> int:
    labels = len(column.labels) if isinstance(column, CategoryColumn) else 1
    return prod(len(one.labels) for one in by) * max(labels, len(channel.outputs))

"""The responses section of a local spec: how records respond, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.privacy.decimals import plain_text
from dpcli.randomizers import RANDOMIZERS
from dpcli.randomizers.base import CannotRandomize, Channel, Randomizer
from dpcli.spec.fit import fit
from dpcli.spec.local_shape import ResponseShape
from dpcli.spec.model import Cell, Response
from dpcli.spec.nodes import Listing, Mapping, Node, Word, described
from dpcli.spec.prices import MOST_EPSILON
from dpcli.spec.response_price import ResponsePrice
from dpcli.spec.scope import Scope
from dpcli.spec.wording import a_column, listed, shown

RESERVED = (
    "column", "estimate", "item", "records", "value", "standard_error", "lower", "upper",
)  # fmt: skip
"""The columns of the table of estimates that are not keys."""

MOST_GROUPS = 1_000_000
"""Numbers that are counted of one response."""

STEPS = {"simplex": False, "clamp": True}
"""Steps of `post`, and whether they are for means."""


class Responses:
    """Every response of a spec, and the files of tables that they name."""

    def __init__(self, scope: Scope, public: Sequence[Cell], folder: Path) -> None:
        self._scope, self._findings, self._folder = scope, scope.findings, folder
        self._public = {column.name: column for column in public}
        self._taken: dict[str, Word] = {}
        self.tables: list[tuple[Path, bytes]] = []

    def read(self, section: Node | None) -> tuple[Response, ...]:
        """The responses without problems; those with problems are recorded."""
        if not isinstance(section, Listing):
            return ()
        if not section.items:
            self._findings.add(
                "no-responses",
                "`responses` is empty, expected at least one entry",
                "add `- {column: ..., mechanism: randomized_response, epsilon: 1}`",
                section.span,
            )
        found = []
        for node in section.items:
            if not isinstance(node, Mapping):
                self._findings.add(
                    "wrong-shape",
                    f"an entry of `responses` is {described(node)}, expected a mapping",
                    "write `- {column: ..., mechanism: ..., epsilon: ...}`",
                    node.span,
                )
            elif (response := self._response(node)) is not None:
                found.append(response)
            elif not self._findings:
                raise AssertionError("a response was dropped without a word")
        return tuple(found)

    def _response(self, node: Mapping) -> Response | None:
        """One entry, or None after its problems are recorded."""
        if fit(ResponseShape, node, "a response", self._findings) is None:
            return None
        randomizer = self._randomizer(node)
        column = self._column(node, randomizer)
        price = ResponsePrice(node, self._findings, self._folder)
        asked = price.asked(randomizer, column) if randomizer else None
        self.tables += price.tables
        by = self._by(node)
        steps = self._steps(node, randomizer)
        if randomizer is None or column is None or asked is None or by is None or steps is None:
            return None
        try:
            channel = randomizer.fit(asked)
        except CannotRandomize as failure:
            self._findings.add("cannot-randomize", failure.reason, failure.hint, node.span)
            return None
        if channel.loss.epsilon > MOST_EPSILON:
            self._findings.add(
                "epsilon-out-of-range",
                f"that is an epsilon of {shown(plain_text(channel.loss.epsilon))}, expected at "
                f"most `{MOST_EPSILON}`",
                "choose probabilities that differ less; above that, a response protects nobody",
                node.span,
            )
            return None
        if _numbers_of(column, channel, by) > MOST_GROUPS:
            self._findings.add(
                "too-many-cells",
                f"the keys in `by` have too many combinations for {shown(column.name)}",
                "use fewer keys in `by`",
                node.span,
            )
            return None
        return Response(column, randomizer, channel, by, steps)

    def _randomizer(self, node: Mapping) -> Randomizer | None:
        """The randomizer of that name."""
        word = node.word("mechanism")
        by_name = {randomizer.name: randomizer for randomizer in RANDOMIZERS}
        if word is None or word.text in by_name:
            return by_name[word.text] if word else None
        self._findings.unknown(
            "unknown-mechanism",
            f"`mechanism` is {shown(word.text)}, in the local model there are {listed(by_name)}",
            word.text,
            by_name,
            word.span,
            otherwise=f"write {listed(by_name, 'or')}",
        )
        return None

    def _column(self, node: Mapping, randomizer: Randomizer | None) -> Cell | None:
        """The column, if it may be randomized in that way."""
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
                "keep one of them: what is told twice costs twice, and what is public is not "
                "hidden by randomizing it",
                word.span,
            )
            return None
        column = self._scope.usable(name, word.span, "a response")
        if column is None or randomizer is None:
            return None
        if randomizer.numeric != isinstance(column, NumericColumn) or column.kind == "date":
            kinds = ("integer", "number") if randomizer.numeric else ("category", "boolean")
            others = [one.name for one in RANDOMIZERS if one.numeric != randomizer.numeric]
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
            example = column.labels[0] if isinstance(column, CategoryColumn) else "0"
            self._findings.add(
                "missing-constant",
                f"{shown(name)} does not say what a missing cell counts as, and every record "
                "must respond",
                f"add `missing: {example}` or another "
                + ("label" if isinstance(column, CategoryColumn) else "value within the bounds")
                + " to the column; a blank response would tell that there is nothing",
                self._scope.spans[name],
            )
            return None
        return column

    def _by(self, node: Mapping) -> tuple[CategoryColumn, ...] | None:
        """The public columns whose groups estimates are made for."""
        listing = node.get("by")
        words = listing.items if isinstance(listing, Listing) else ()
        found: list[CategoryColumn] = []
        for word in words:
            assert isinstance(word, Word)
            column = self._public.get(word.text)
            if word.text in RESERVED:
                self._findings.add(
                    "reserved-name",
                    f"{shown(word.text)} cannot be a key: the estimates have a column of that name",
                    f"rename the column in the data file; reserved are {listed(RESERVED)}",
                    word.span,
                )
                continue
            if isinstance(column, CategoryColumn) and column not in found:
                found.append(column)
                continue
            self._findings.add(
                "by-not-public",
                f"{shown(word.text)} in `by` is not a category among the public columns, or "
                "stands there twice",
                "estimates can be grouped by columns that are collected as they are: declare it "
                "under `public:`, or leave it out",
                word.span,
            )
        return tuple(found) if len(found) == len(words) else None

    def _steps(self, node: Mapping, randomizer: Randomizer | None) -> tuple[str, ...] | None:
        """What is done to estimates."""
        listing = node.get("post")
        words = listing.items if isinstance(listing, Listing) else ()
        if randomizer is None:
            return None
        able = [name for name, numeric in STEPS.items() if numeric == randomizer.numeric]
        for word in words:
            assert isinstance(word, Word)
            if word.text not in able:
                self._findings.unknown(
                    "unknown-step",
                    f"a step of `post` is {shown(word.text)}, for {shown(randomizer.name)} there "
                    f"is {listed(able)}",
                    word.text,
                    able,
                    word.span,
                )
                return None
        return tuple(dict.fromkeys(word.text for word in words if isinstance(word, Word)))


def _numbers_of(column: Cell, channel: Channel, by: Sequence[CategoryColumn]) -> int:
    """How many numbers are counted of a response."""
    labels = len(column.labels) if isinstance(column, CategoryColumn) else 1
    return prod(len(one.labels) for one in by) * max(labels, len(channel.outputs))

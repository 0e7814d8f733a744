"""One entry while its further fields are read: who asks, and what goes wrong."""

from __future__ import annotations

from dataclasses import dataclass

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.spec.nodes import Listing, Mapping, Node, Word
from dpcli.spec.scope import Scope, read_number
from dpcli.spec.wording import a_column, listed, shown
from dpcli.statistics.base import Statistic


@dataclass(frozen=True)
class Asking:
    """An entry's node, its statistic, what it may refer to, and its name in messages."""

    node: Mapping
    statistic: Statistic
    scope: Scope
    user: str

    def takes(self, *keys: str) -> bool:
        """Whether the statistic reads any of these fields."""
        return any(key in self.statistic.fields.all for key in keys)

    def words(self, key: str) -> list[Word]:
        """The words of a list, or the only word."""
        node = self.node.get(key)
        items: tuple[Node, ...] = node.items if isinstance(node, Listing) else ()
        return [
            item
            for item in ((node,) if isinstance(node, Word) else items)
            if isinstance(item, Word)
        ]

    def problem(self, code: str, message: str, hint: str, key: str) -> None:
        """Records what is wrong with a field."""
        self.scope.findings.add(code, message, hint, self.node.key_span(key))

    def whole(self, key: str, most: int, what: str) -> int | None:
        """A whole number from one to `most`; None after a problem is recorded."""
        word = self.node.word(key)
        if word is None:
            return None
        value = read_number(word, f"`{key}`", self.scope.findings)
        if value is None:
            return None
        if not 1 <= value <= most or value.denominator != 1:
            self.scope.findings.add(
                "not-in-range",
                f"`{key}` is {shown(word.text)}, expected a whole number from 1 to {most:,}",
                f"write how many {what}",
                word.span,
            )
            return None
        return value.numerator

    def columns(
        self, key: str, kinds: tuple[str, ...]
    ) -> list[NumericColumn | CategoryColumn] | None:
        """The columns that a list names, each once; None after problems are recorded."""
        found: dict[str, NumericColumn | CategoryColumn] = {}
        good = True
        for word in self.words(key):
            column = self.scope.usable(word.text, word.span, self.user)
            if column is not None and column.kind not in kinds:
                self.scope.findings.add(
                    "wrong-column-type",
                    f"{shown(word.text)} is {a_column(column.kind)}, "
                    f"{shown(self.statistic.name)} needs one of type {listed(kinds, 'or')}",
                    "choose another column or statistic",
                    word.span,
                )
                column = None
            elif word.text in found:
                self.scope.findings.add(
                    "column-twice",
                    f"{shown(word.text)} is in `{key}` twice",
                    "keep one of them",
                    word.span,
                )
                column = None
            if column is None:
                good = False
            else:
                found[word.text] = column
        return list(found.values()) if good else None

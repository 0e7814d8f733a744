"""The tree of a YAML text: words, listings and mappings, each with its place.

Every scalar is a word: its text is kept as written, and nothing is resolved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dpcli.spec.findings import Span


class Word(NamedTuple):
    """A scalar, as text."""

    text: str
    span: Span

    def plain(self) -> str:
        """The text alone."""
        return self.text


@dataclass(frozen=True, slots=True)
class Listing:
    """A sequence of nodes."""

    items: tuple[Node, ...]
    span: Span

    def plain(self) -> list[object]:
        """The same without places."""
        return [item.plain() for item in self.items]


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys with their values, in the order written; each key occurs once."""

    pairs: dict[str, tuple[Word, Node]]
    span: Span

    def plain(self) -> dict[str, object]:
        """The same without places."""
        return {key: value.plain() for key, (_, value) in self.pairs.items()}

    def get(self, key: str) -> Node | None:
        """The value of a key, if the key is there."""
        pair = self.pairs.get(key)
        return pair[1] if pair else None

    def word(self, key: str) -> Word | None:
        """The value of a key, if the key is there and its value is a word."""
        node = self.get(key)
        return node if isinstance(node, Word) else None

    def mapping(self, key: str) -> Mapping | None:
        """The value of a key, if the key is there and its value is a mapping."""
        node = self.get(key)
        return node if isinstance(node, Mapping) else None

    def listing(self, key: str) -> Listing | None:
        """The value of a key, if the key is there and its value is a list."""
        node = self.get(key)
        return node if isinstance(node, Listing) else None

    def key_span(self, key: str) -> Span:
        """Where a key is written, or the mapping itself without it."""
        pair = self.pairs.get(key)
        return pair[0].span if pair else self.span


Node = Word | Listing | Mapping


def at(node: Node, *path: str | int) -> Node:
    """The node at the end of a path, or the last one there is along it."""
    for part in path:
        if isinstance(node, Mapping) and isinstance(part, str) and part in node.pairs:
            node = node.pairs[part][1]
        elif isinstance(node, Listing) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        else:
            break
    return node


def words_of(node: Node | None) -> tuple[Word, ...]:
    """The words of a list, or the only word."""
    items = node.items if isinstance(node, Listing) else (node,)
    return tuple(item for item in items if isinstance(item, Word))


def described(node: Node) -> str:
    """What kind of node this is, in a few words."""
    return {Word: "a text", Listing: "a list", Mapping: "a mapping"}[type(node)]

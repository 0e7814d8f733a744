"""From the events of a YAML parser to a tree of nodes, within limits.

Aliases, anchors, tags, merge keys, duplicate keys and values left out are
recorded as problems on the way.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from dpcli.messages import shown
from dpcli.spec.findings import Findings
from dpcli.spec.nodes import Listing, Mapping, Node, Span, Word

MOST_DEPTH = 20
MOST_NODES = 100_000

YAML_TAG = "tag:yaml.org,2002:"


class Stop(Exception):
    """Reading on would not help; what was found has been recorded."""


class Composer:
    """Builds the tree from parser events, within limits of depth and size."""

    def __init__(self, events: Iterator[yaml.Event], findings: Findings) -> None:
        self._events, self._findings = events, findings
        self._nodes = 0

    def document(self) -> Mapping | None:
        """The mapping of the only document."""
        next(self._events)
        start = next(self._events)
        if isinstance(start, yaml.StreamEndEvent):
            self._stop("empty-spec", "the spec is empty", "`dpcli init DATA` drafts one", start)
        root = self._node(next(self._events), 1)
        next(self._events)
        more = next(self._events)
        if isinstance(more, yaml.DocumentStartEvent):
            self._stop(
                "several-documents",
                "a second document begins here, expected one",
                "put each spec in a file of its own",
                more,
            )
        if isinstance(root, Mapping):
            return root
        if isinstance(root, Word) and not root.text:
            self._stop("empty-spec", "the spec is empty", "`dpcli init DATA` drafts one", start)
        kind = "a list" if isinstance(root, Listing) else "a text"
        self._findings.add(
            "wrong-shape",
            f"the spec is {kind}, expected a mapping with `dpcli: 1`, `dataset: ...` and so on",
            "name the spec before the data file, or draft one: `dpcli init DATA > spec.yaml`",
            root.span,
        )
        return None

    def _node(self, event: yaml.Event, depth: int) -> Node:
        self._nodes += 1
        if isinstance(event, yaml.ScalarEvent) and self._nodes <= MOST_NODES:
            if event.anchor is not None or event.tag is not None:
                self._refuse_properties(event)
            return Word(event.value, self._between(event, event))
        if self._findings.full:
            raise Stop
        if isinstance(event, yaml.CollectionStartEvent):
            # Its end is one more event to read.
            self._nodes += 1
        if self._nodes > MOST_NODES:
            self._stop(
                "too-many-nodes",
                f"the spec has more than {MOST_NODES:,} keys, values and brackets",
                "group the values of long categories before the release",
                event,
            )
        if isinstance(event, yaml.AliasEvent):
            span, anchor = self._between(event, event), getattr(event, "anchor", "")
            self._findings.spoil("yaml-alias", span, text=f"*{anchor}")
            return Word("", span)
        self._refuse_properties(event)
        if depth > MOST_DEPTH:
            self._stop(
                "too-deep",
                f"lists and mappings are nested more than {MOST_DEPTH} deep",
                "a spec needs no more than six levels",
                event,
            )
        if isinstance(event, yaml.SequenceStartEvent):
            return self._listing(event, depth)
        return self._mapping(event, depth)

    def _listing(self, start: yaml.Event, depth: int) -> Listing:
        items = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            node = self._node(event, depth + 1)
            if _void(event):
                self._refuse_void(node, "the list item")
            if self._findings.full:
                raise Stop
            items.append(node)
        return Listing(tuple(items), self._whole(start, event, items[0].span if items else None))

    def _mapping(self, start: yaml.Event, depth: int) -> Mapping:
        pairs: dict[str, tuple[Word, Node]] = {}
        first: Span | None = None
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if self._findings.full:
                raise Stop
            key = self._node(event, depth + 1)
            first = first or key.span
            value_event = next(self._events)
            value = self._node(value_event, depth + 1)
            if self._good_key(event, key, pairs) and isinstance(key, Word):
                if _void(value_event):
                    value = Word("", key.span)
                    self._refuse_void(value, shown(key.text), number=key.text.isdigit())
                pairs[key.text] = (key, value)
        return Mapping(pairs, self._whole(start, event, first))

    def _good_key(self, event: yaml.Event, key: Node, pairs: dict[str, tuple[Word, Node]]) -> bool:
        """Whether a key is a text, no merge, and new."""
        if not isinstance(key, Word):
            self._findings.spoil("key-not-text", key.span)
            return False
        if key.text == "<<" and isinstance(event, yaml.ScalarEvent) and not event.style:
            self._findings.spoil("yaml-merge", key.span)
            return False
        if key.text in pairs and isinstance(event, yaml.ScalarEvent):
            before = pairs[key.text][0].span
            facts = {"line": before.line, "column": before.column, "again": key.span.line}
            self._findings.spoil("duplicate-key", key.span, key=key.text, **facts)
            return False
        return isinstance(event, yaml.ScalarEvent)

    def _refuse_void(self, node: Node, what: str, *, number: bool = False) -> None:
        """Reports a value that was left out, perhaps after a decimal comma."""
        code = "empty-value.number" if number else "empty-value"
        self._findings.spoil(code, node.span, what=what)

    def _refuse_properties(self, event: yaml.Event) -> None:
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if anchor is not None:
            self._findings.spoil(
                "yaml-alias.anchor", self._between(event, event), text=f"&{anchor}"
            )
        if tag is not None:
            text = str(tag).replace(YAML_TAG, "!!")
            self._findings.spoil("yaml-tag", self._between(event, event), text=text)

    def _whole(self, start: yaml.Event, end: yaml.Event, first: Span | None) -> Span:
        """A bracketed collection from end to end; a block by its first key or item."""
        if first is not None and not getattr(start, "flow_style", False):
            return first
        return self._between(start, end)

    def _between(self, first: yaml.Event, last: yaml.Event) -> Span:
        """From the start of an event to the end of another, or to the end of the line."""
        start, end = first.start_mark, last.end_mark
        if start is None or end is None:
            return Span(1, 1, 1)
        line, column, stop = start.line, start.column, end.column
        if end.line != line and line < len(self._findings.lines):
            stop = len(self._findings.lines[line])
        return Span(line + 1, column + 1, stop - column if stop > column else 1)

    def _stop(self, code: str, message: str, hint: str, event: yaml.Event) -> None:
        self._findings.add(code, message, hint, self._between(event, event))
        raise Stop


def _void(event: yaml.Event) -> bool:
    """Whether a scalar was left out rather than written as an empty text."""
    return isinstance(event, yaml.ScalarEvent) and not event.value and not event.style

"""Reads bytes into a tree with spans, in a small and strict subset of YAML.

Scalars stay texts. YAML that could mean something else than it seems to is refused: aliases,
anchors, tags, merge keys, directives, duplicate keys and empty values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import yaml

from dpcli.fields.tree import (
    Findings,
    MappingNode,
    Node,
    Path,
    ScalarNode,
    SequenceNode,
    Span,
    TooManyProblemsError,
    scalars_of,
)
from dpcli.fields.values import AlreadyReportedError
from dpcli.numeric.exact import plain_text
from dpcli.problems.messages import quote
from dpcli.problems.reference import texts, variant_code

MAX_BYTES, MAX_NODES, MAX_DEPTH = 2**20, 100_000, 20

LINE_BREAK = re.compile(r"\r\n|\r|\n")
COMMENT = re.compile("#.*")
CONTROLS = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
CONTROLS_BEYOND_ASCII = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
"""Compiled only for unprintable texts beyond ASCII, because that takes long."""

PLACEHOLDER = "FILL_IN"
NUMBERED = re.compile(f"{PLACEHOLDER}(_[0-9]+)?")
"""Placeholders of `dpcli init`, numbered for column names, so that these differ."""

TO_THE_END = MAX_BYTES
"""The length of a span that continues on another line."""


def read_tree(raw: bytes, source: str) -> tuple[MappingNode | None, Findings, str]:
    """The tree of a text (None if unusable), its problems, and the decoded text."""
    text = raw[: MAX_BYTES + 1].decode("utf-8", "replace").removeprefix("\ufeff")
    findings = Findings(source, LINE_BREAK.split(text))
    with suppress(TooManyProblemsError, AlreadyReportedError):
        try:
            _require_plain_text(raw, text, findings)
            return _Reader(text, findings).document(), findings, text
        except yaml.MarkedYAMLError as error:
            _report_syntax(error, findings)
        except (yaml.YAMLError, RecursionError):
            Span(findings, 1, 1, 1).report("yaml-syntax")
    return None, findings, text


def written_mapping(tree: Mapping[Any, object]) -> str:
    """A mapping of a program as YAML.

    Decimals and fractions are written exactly, and arrays of numpy as lists. ValueError names the
    type and the place of a value that no spec has.
    """
    text: str = yaml.safe_dump(_plain(tree, ()), sort_keys=False, allow_unicode=True)
    return text


def _plain(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy in types of YAML; what occurs twice would be an alias."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping) and len(path) < MAX_DEPTH:
        return {_plain(key, path): _plain(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, list | tuple | range) and len(path) < MAX_DEPTH:
        return [_plain(item, (*path, number)) for number, item in enumerate(value)]
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, date) and not isinstance(value, datetime):
        return date(value.year, value.month, value.day)
    if isinstance(value, str):
        return str.__str__(value)
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)
    with suppress(ValueError, OverflowError):
        if isinstance(value, Decimal | Fraction):
            return plain_text(Fraction(value))
    place = ".".join(map(str, path))
    raise ValueError(f"type {type(value).__name__} at `{place}`")


def _require_plain_text(raw: bytes, text: str, findings: Findings) -> None:
    def span_at(start: int, length: int = 1) -> Span:
        before = LINE_BREAK.split(text[:start])
        return Span(findings, len(before), len(before[-1]) + 1, length)

    if len(raw) > MAX_BYTES:
        raise span_at(0).report("spec-too-large", most=MAX_BYTES)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        start = span_at(len(raw[: error.start].decode("utf-8").removeprefix("\ufeff")))
        raise start.report("not-utf8", byte=f"0x{raw[error.start]:02x}") from None
    control = None
    if not re.sub("[\t\n\r]", "", text).isprintable():
        control = re.search(CONTROLS if text.isascii() else CONTROLS_BEYOND_ASCII, text)
    if control:
        character = f"U+{ord(control[0]):04X}"
        raise span_at(control.start()).report("control-character.text", character=character)
    directive = re.search("(?m)^%.*", text)
    if directive:
        raise span_at(directive.start(), len(directive[0])).report("yaml-directive")


class _Reader:
    """Builds the tree from the events of a YAML parser, within limits."""

    def __init__(self, text: str, findings: Findings) -> None:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._events, self._findings = yaml.parse(text, Loader=loader), findings
        self._nodes = 0

    def document(self) -> MappingNode:
        """The mapping of the only document; raises `AlreadyReportedError` without one."""
        next(self._events)
        start = next(self._events)
        if isinstance(start, yaml.StreamEndEvent):
            raise self._span(start, start).report("empty-spec")
        root = self._node(next(self._events), ())
        next(self._events)
        more = next(self._events)
        if isinstance(more, yaml.DocumentStartEvent):
            raise self._span(more, more).report("several-documents")
        if isinstance(root, MappingNode):
            return root
        if isinstance(root, ScalarNode) and not root.text:
            raise self._span(start, start).report("empty-spec")
        raise root.span.report("wrong-shape.whole-spec", form=root.form)

    def _node(self, event: yaml.Event, path: Path) -> Node:
        is_scalar = isinstance(event, yaml.ScalarEvent)
        # A collection has a second event, for its end.
        self._nodes += 1 if is_scalar else 2
        span, anchor = self._span(event, event), getattr(event, "anchor", None)
        if self._nodes > MAX_NODES:
            raise span.report("too-many-nodes", most=MAX_NODES)
        if isinstance(event, yaml.AliasEvent):
            span.report_and_suppress("yaml-alias", text=f"*{anchor}")
            return ScalarNode("", span)
        if anchor is not None:
            span.report_and_suppress("yaml-alias", text=f"&{anchor}")
        if (tag := getattr(event, "tag", None)) is not None:
            span.report_and_suppress("yaml-tag", text=str(tag).replace("tag:yaml.org,2002:", "!!"))
        if isinstance(event, yaml.ScalarEvent):
            return ScalarNode(event.value, span)
        if len(path) >= MAX_DEPTH:
            raise span.report("too-deep", most=MAX_DEPTH)
        if not isinstance(event, yaml.SequenceStartEvent):
            return self._mapping(event, path)
        start, items = event, list[Node]()
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items))))
            if _is_empty_value(event):
                items[-1].span.report_and_suppress("empty-value", what="the list item")
        return SequenceNode(tuple(items), self._whole(start, event, items[0] if items else None))

    def _mapping(self, start: yaml.Event, path: Path) -> MappingNode:
        pairs: dict[str, tuple[ScalarNode, Node]] = {}
        first: Node | None = None
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, (*path, ""))
            first = first or key
            value_event = next(self._events)
            value = self._node(value_event, (*path, key.text))
            if not isinstance(key, ScalarNode):
                key.span.report_and_suppress("key-not-text")
            elif key.text == "<<" and not getattr(event, "style", None):
                key.span.report_and_suppress("yaml-merge")
            elif key.text in pairs:
                line, column = pairs[key.text][0].span.start
                arguments = {"line": line, "column": column, "again": key.span.line}
                key.span.report_and_suppress("duplicate-key", key=key.text, **arguments)
            else:
                if _is_empty_value(value_event):
                    value = ScalarNode("", key.span)
                    # Perhaps the text after a decimal comma in braces.
                    code = "empty-value.number" if key.text.isdigit() else "empty-value"
                    code = "empty-value.colon" if ":" in key.text.strip(":") else code
                    key.span.report_and_suppress(code, what=quote(key.text))
                pairs[key.text] = (key, value)
        return MappingNode(pairs, self._whole(start, event, first), path)

    def _span(self, first: yaml.Event, last: yaml.Event) -> Span:
        """The span of two events, up to the end of the first line if they are on several."""
        start, end = first.start_mark, last.end_mark
        assert start is not None and end is not None  # noqa: PT018
        length = end.column - start.column if end.line == start.line else TO_THE_END
        return Span(self._findings, start.line + 1, start.column + 1, max(1, length))

    def _whole(self, start: yaml.Event, end: yaml.Event, first: Node | None) -> Span:
        """The span of a list or mapping: all of it in brackets, else its first item."""
        flow = getattr(start, "flow_style", False)
        return first.span if first and not flow else self._span(start, end)


def _is_empty_value(event: yaml.Event) -> bool:
    return isinstance(event, yaml.ScalarEvent) and not event.value and not event.style


def _report_syntax(error: yaml.MarkedYAMLError, findings: Findings) -> None:
    message = f"{error.problem or ''} {error.context or ''}"
    mark, opened = error.problem_mark or error.context_mark, error.context_mark
    codes = texts("syntax_advice")["yaml"].items()
    code = next((code for phrase, code in codes if phrase in message), "yaml-syntax")
    text, unclosed = "", "quoted scalar" in message and "end of stream" in message
    if unclosed or code == "yaml-syntax.start":
        mark = opened or mark
    if mark is None:
        Span(findings, 1, 1, 1).report("yaml-syntax")
        return
    line = findings.lines[mark.line] if mark.line < len(findings.lines) else ""
    if "cannot start any token" in message or code == "yaml-syntax.start":
        text = line[mark.column : mark.column + 1]
        code = "yaml-syntax.tab" if text == "\t" else "yaml-syntax.start" if text else code
    elif "flow" in message and "','" in message and opened and opened.line != mark.line:
        code, mark, text = "yaml-syntax.open", opened, "[" if "sequence" in message else "{"
    elif re.search("block (mapping|collection)", message) and line[: mark.column].strip():
        code = "yaml-syntax.ended"
    Span(findings, mark.line + 1, mark.column + 1, 1).report(code, text=text, most=MAX_DEPTH)


def find_placeholders(node: Node, key: str = "") -> None:
    """Reports every placeholder of a tree, and suppresses further problems there."""
    if isinstance(node, MappingNode):
        for name, (_, value) in node.pairs.items():
            find_placeholders(value, name)
    for word in scalars_of(node):
        if word.text.startswith(PLACEHOLDER) and NUMBERED.fullmatch(word.text):
            word.span.report_and_suppress(variant_code("placeholder", key), text=word.text)
    for item in node.items if isinstance(node, SequenceNode) else ():
        if not isinstance(item, ScalarNode):
            find_placeholders(item, key)


def without_comments(text: str) -> str:
    """The text of a spec without comments and empty lines; as it is if it is no YAML."""
    kept, at = list[str](), 0
    try:
        for token in yaml.scan(text, yaml.SafeLoader):
            start, end = token.start_mark.index, token.end_mark.index
            kept += [COMMENT.sub("", text[at:start]), text[max(at, start) : end]]
            at = max(at, end)
    except yaml.YAMLError:
        return text
    lines = "".join([*kept, COMMENT.sub("", text[at:])]).splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip())

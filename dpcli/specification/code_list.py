"""The values of a category from a file of codes, such as `districts.csv`.

The file is public, it is read once, and its digest is part of the digest of the spec. It could be a
file of records by mistake, so no message quotes a cell of it.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dpcli.data.declared_texts import look, text_fault
from dpcli.fields.tree import MappingNode, Node, ScalarNode, Span
from dpcli.specification.context import SpecContext
from dpcli.specification.named_files import read_named_file

MAX_BYTES = 1 << 24
MAX_CODES = 100_000

DELIMITERS = (",", ";", "\t", "|")
"""Delimiters of a file of codes: the one that finds most named columns is used."""

LIST_ENDINGS = (".csv", ".tsv", ".txt")
"""Endings of the names of lists of codes: no category has a label like this."""

KEYS = ({"file", "key"}, {"file", "key", "label"})
"""The keys of a mapping that names a file of codes; others map texts to labels."""


def with_code_list(node: MappingNode, context: SpecContext) -> MappingNode:
    """The declaration of a column, with values from a file of codes written out.

    The node itself if its values name no file. Else the file is added to those of the context.
    Raises `AlreadyReportedError` after the problems of the file are recorded.
    """
    values = node.mapping("values")
    named = values.scalar("file") if values and set(values.pairs) == {"file"} else None
    if named is not None and named.text.casefold().endswith(LIST_ENDINGS):
        line = "`key: NAME`: the column of the list that has the texts of cells"
        raise named.span.report("missing-field", owner="`values`", key="key", line=line)
    if values is None or set(values.pairs) not in KEYS:
        return node
    file, key, label = map(values.scalar, ("file", "key", "label"))
    if file is None or key is None or (label is None and "label" in values.pairs):
        return node
    pairs: dict[str, tuple[ScalarNode, Node]] = {}
    for code, text in _read(file, key, label or key, context):
        pairs[code] = ScalarNode(code, file.span), ScalarNode(text, file.span)
    listed = MappingNode(pairs, values.span)
    pairs = node.pairs | {"values": (node.pairs["values"][0], listed)}
    return MappingNode(pairs, node.span, node.path)


def _read(
    file: ScalarNode, key: ScalarNode, label: ScalarNode, context: SpecContext
) -> list[tuple[str, str]]:
    return list(_pairs(read_list(file, (key, label), context, "code-list"), file.text, file.span))


def read_list(
    file: ScalarNode, columns: Sequence[ScalarNode], context: SpecContext, code: str
) -> Iterator[tuple[int, list[str]]]:
    """The cells of some columns in each line of a named CSV file, with its number.

    The file is added to those of the context. Raises `AlreadyReportedError` after a problem is
    recorded; `code` is that of a file that cannot be read.
    """
    span = file.span
    raw, named = read_named_file(file, context, MAX_BYTES, code)
    if len(raw) > MAX_BYTES:
        raise span.report("code-list.large", file=file.text, most=MAX_CODES)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise span.report(code, file=file.text) from None
    csv.field_size_limit(sys.maxsize)
    names = {column.text for column in columns}
    every = [_lines(text, mark) for mark in DELIMITERS]
    readings = [(lines, next(lines, (1, []))[1]) for lines in every]
    lines, header = max(readings, key=lambda reading: len(names.intersection(reading[1])))
    context.files.append(replace(named, header=tuple(header)))
    for column in columns:
        if header.count(column.text) != 1:
            raise column.span.report("code-list.column", file=file.text, word=column.text)
    indices = [header.index(column.text) for column in columns]
    return _cells(lines, indices, file)


def _cells(
    lines: Iterator[tuple[int, list[str]]], indices: Sequence[int], file: ScalarNode
) -> Iterator[tuple[int, list[str]]]:
    for count, (line, row) in enumerate(lines):
        if count == MAX_CODES:
            raise file.span.report("code-list.large", file=file.text, most=MAX_CODES)
        yield line, [row[index].strip() if index < len(row) else "" for index in indices]


def _lines(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return ((reader.line_num, row) for row in reader if any(row))


def _pairs(
    lines: Iterator[tuple[int, list[str]]], file: str, span: Span
) -> Iterator[tuple[str, str]]:
    """The code and the label in each line; a wrong one is a problem."""
    known: dict[str, int] = {}
    seen: dict[tuple[str, int], tuple[str, int]] = {}
    for line, (code, label) in lines:
        if text_fault(code) or text_fault(label, published=True):
            raise span.report("code-list.text", file=file, line=line)
        if code in known:
            raise span.report("code-list.twice", file=file, line=line, first=known[code])
        for kind, text in enumerate((code, label)):
            meaning, first = seen.setdefault((look(text), kind), (label, line))
            if meaning != label:
                raise span.report("code-list.twins", file=file, line=line, first=first)
        known[code] = line
        yield code, label
    if not known:
        raise span.report("code-list.empty", file=file)

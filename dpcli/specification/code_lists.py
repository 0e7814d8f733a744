"""Reads the values of a category from a file of codes, such as `districts.csv`.

A list of codes is public: it is read once, when the spec is read, and its digest is part of that of
the spec. It could be a file of records by mistake, so no message quotes a cell of it.
"""

from __future__ import annotations

import csv
import hashlib
import io
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dpcli.data.declared_texts import text_fault
from dpcli.fields.tree import MappingNode, Node, ScalarNode, Span
from dpcli.specification.model import SpecFile

MAX_BYTES = 1 << 24
MAX_CODES = 100_000

DELIMITERS = (",", ";", "\t", "|")
"""What may stand between cells; of a list, the first with which its header has most names."""

KEYS = ({"file", "key"}, {"file", "key", "label"})
"""The keys of a mapping that names a file of codes, and is no mapping from texts to labels."""


def with_code_list(node: MappingNode, folder: Path, files: list[SpecFile]) -> MappingNode:
    """The declaration of a column in which values from a file are written out.

    The file is added to `files`. Raises `AlreadyReportedError` after the problems
    of the file are recorded.
    """
    values = node.mapping("values")
    if values is None or set(values.pairs) not in KEYS:
        return node
    file, key, label = map(values.scalar, ("file", "key", "label"))
    if file is None or key is None or (label is None and "label" in values.pairs):
        return node
    pairs: dict[str, tuple[ScalarNode, Node]] = {}
    for code, text in _read(file, key, label or key, folder, files):
        pairs[code] = ScalarNode(code, file.span), ScalarNode(text, file.span)
    listed = MappingNode(pairs, values.span)
    return replace(node, pairs=node.pairs | {"values": (node.pairs["values"][0], listed)})


def _read(
    file: ScalarNode, key: ScalarNode, label: ScalarNode, folder: Path, files: list[SpecFile]
) -> list[tuple[str, str]]:
    span, path = file.span, folder / file.text
    try:
        with path.open("rb") as opened:
            raw = opened.read(MAX_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except (OSError, ValueError):
        raise span.report("code-list", file=file.text) from None
    if len(raw) > MAX_BYTES:
        raise span.report("code-list.large", file=file.text, most=MAX_CODES)
    files.append(SpecFile(file.text, path, hashlib.sha256(raw).hexdigest()))
    csv.field_size_limit(sys.maxsize)
    names = {key.text, label.text}
    delimiter = max(DELIMITERS, key=lambda one: len(names & set(_header(text, one))))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    lines = ((reader.line_num, row) for row in reader if any(row))
    header = next(lines, (1, []))[1]
    for column in (key, label):
        if header.count(column.text) != 1:
            raise column.span.report("code-list.column", file=file.text, word=column.text)
    places = header.index(key.text), header.index(label.text)
    return list(_pairs(lines, places, file.text, span))


def _header(text: str, delimiter: str) -> list[str]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return next(filter(any, reader), [])


def _pairs(
    lines: Iterator[tuple[int, list[str]]], places: tuple[int, int], file: str, span: Span
) -> Iterator[tuple[str, str]]:
    """The code and the label of each line; at the first wrong line, its problem is recorded."""
    known: dict[str, int] = {}
    for line, row in lines:
        cells = [row[place].strip() if place < len(row) else "" for place in places]
        code, label = cells
        if text_fault(code) or text_fault(label, published=True):
            raise span.report("code-list.text", file=file, line=line)
        if code in known:
            raise span.report("code-list.twice", file=file, line=line, first=known[code])
        known[code] = line
        yield code, label
    if not known or len(known) > MAX_CODES:
        code = "code-list.large" if known else "code-list.empty"
        raise span.report(code, file=file, most=MAX_CODES)

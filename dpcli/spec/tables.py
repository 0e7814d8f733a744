"""Probabilities, and tables of them: exact decimals and fractions."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from dpcli.columns import CategoryColumn
from dpcli.messages import listed, shown
from dpcli.numbers import NotReadable, probability
from dpcli.privacy.decimals import plain_text
from dpcli.randomizers.base import Table
from dpcli.spec.findings import Findings
from dpcli.spec.labels import good_text, no_formula
from dpcli.spec.nodes import Mapping as Branch
from dpcli.spec.nodes import Node, Span, Word, at

MOST_CHANCES = 10_000
"""Probabilities in one table: it is recorded in the ledger whole."""

MOST_BYTES = 1 << 20

LONGEST = 20
"""Digits of a sum that people still compare."""


def read_chance(word: Word, name: str, findings: Findings) -> Fraction | None:
    """The probability that a word says, or None after its problem is recorded."""
    try:
        return probability(word.text)
    except NotReadable as refusal:
        message = f"{name} is {shown(word.text)}, expected a probability"
        hint = refusal.advice or "write a decimal or a fraction, such as `0.75` or `3/4`"
        findings.add("not-a-probability", message, hint, word.span)
        return None


def mapped_table(
    rows: Mapping[str, Mapping[str, Fraction]], node: Node, findings: Findings
) -> Table | None:
    """A table from a mapping of labels to mappings of outputs to probabilities.

    An output that a label does not name has probability zero there.
    """
    outputs = tuple(dict.fromkeys(output for row in rows.values() for output in row))
    if len(rows) * len(outputs) > MOST_CHANCES:
        _too_large(len(rows) * len(outputs), node.span, findings)
        return None
    if not rows or not outputs:
        message = "the table has no inputs or no outputs"
        hint = "write a row for each label, as in `{yes: {yes: 0.7, no: 0.3}, no: {...}}`"
        findings.add("table-form", message, hint, node.span)
        return None
    names: dict[str, Word] = {}
    read: list[tuple[Fraction, ...] | None] = []
    for label, row in rows.items():
        place = at(node, label)
        assert isinstance(node, Branch)
        assert isinstance(place, Branch)
        names |= {output: place.pairs[output][0] for output in row}
        chances = [row.get(output, Fraction(0)) for output in outputs]
        read.append(_whole_row(chances, shown(label), node.key_span(label), findings))
    good = _good_outputs(list(names.values()), findings)
    whole = tuple(row for row in read if row is not None)
    return Table(tuple(rows), outputs, whole) if good and len(whole) == len(read) else None


def read_bytes(path: Path) -> bytes:
    """What a file of a table holds; OSError or ValueError if it cannot be read."""
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def table_of(raw: bytes, source: str) -> tuple[Table | None, Findings]:
    """The table that a CSV text says, and its problems; `source` names it in messages.

    The first line names the outputs and the first field of each other line an input; a
    text of numbers alone has neither, and both are counted from 1.
    """
    text = raw.decode("utf-8-sig", "replace")
    findings = Findings(source, text.splitlines() or [""])
    if len(raw) > MOST_BYTES:
        _too_large(None, Span(1, 1, 1), findings)
        return None, findings
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text, newline=""))
    lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)]
    if not lines:
        message = "the table is empty"
        hint = "begin with a line that names the outputs, then a line for each input"
        findings.add("table-form", message, hint, Span(1, 1, 1))
        return None, findings
    if all(_is_chance(cell) for cell in lines[0][1]):
        outputs = tuple(str(place) for place in range(1, len(lines[0][1]) + 1))
        rows = [(line, str(place), cells) for place, (line, cells) in enumerate(lines, 1)]
    else:
        outputs = tuple(lines[0][1][1:])
        rows = [(line, cells[0], cells[1:]) for line, cells in lines[1:]]
    return _table(outputs, rows, findings), findings


def _table(
    outputs: tuple[str, ...], rows: Sequence[tuple[int, str, list[str]]], findings: Findings
) -> Table | None:
    names = [outputs, tuple(label for _, label, _ in rows)]
    for what, words in zip(("output", "input"), names, strict=True):
        if len(set(words)) < len(words) or not all(words):
            message = f"two {what}s of the table have the same name, or one has none"
            findings.add("table-form", message, "give each a name of its own", Span(1, 1, 1))
    if not outputs or not rows:
        message = "the table has no outputs or no inputs"
        hint = "begin with a line that names the outputs, then a line for each input"
        findings.add("table-form", message, hint, Span(1, 1, 1))
    if len(outputs) * len(rows) > MOST_CHANCES:
        _too_large(len(outputs) * len(rows), Span(1, 1, 1), findings)
        return None
    top = Span(1, 1, len(findings.lines[0]))
    _good_outputs([Word(output, top) for output in outputs if output], findings)
    read = []
    for line, label, cells in rows:
        span = Span(line, 1, len(findings.lines[line - 1]))
        if len(cells) != len(outputs):
            findings.add(
                "table-form",
                f"the row of {shown(label)} does not have as many fields as the table has "
                f"outputs: {len(cells)} for {len(outputs)}",
                "write one for each output, 0 where it is impossible",
                span,
            )
            continue
        chances = [
            read_chance(Word(cell, span), f"the probability of {shown(output)}", findings)
            for output, cell in zip(outputs, cells, strict=True)
        ]
        read.append(_whole_row(chances, shown(label), span, findings))
    good = [row for row in read if row is not None]
    return None if findings else Table(names[1], outputs, tuple(good))


def _good_outputs(words: Sequence[Word], findings: Findings) -> bool:
    """Whether outputs can stand in a CSV file that people open."""
    good = [good_text(word, "output", findings) and no_formula(word, findings) for word in words]
    return all(good)


def _whole_row(
    chances: Sequence[Fraction | None], label: str, span: Span, findings: Findings
) -> tuple[Fraction, ...] | None:
    """A row of probabilities that sum to one, or None after its problem is recorded."""
    known = tuple(one for one in chances if one is not None)
    if len(known) < len(chances):
        return None
    total = sum(known, start=Fraction(0))
    if total == 1:
        return known
    message = f"the probabilities of {label} sum to {shown(_brief(total))}, expected 1"
    hint = f"change one by {shown(_brief(1 - total))}; write thirds and the like as fractions"
    findings.add("row-sum", message, hint, span)
    return None


def _brief(value: Fraction) -> str:
    """A number exactly if that is short, else about."""
    if value.denominator < 10**LONGEST:
        return plain_text(value)
    return f"about {float(value):.12g}"


def _is_chance(text: str) -> bool:
    try:
        probability(text)
    except NotReadable:
        return False
    return True


def _too_large(count: int | None, span: Span, findings: Findings) -> None:
    size = f"{count:,} probabilities" if count else f"more than {MOST_BYTES:,} bytes"
    message = f"the table has {size}, at most {MOST_CHANCES:,} probabilities can be used"
    hint = "use `generalized_randomized_response` or `unary_encoding` for many labels"
    findings.add("table-too-large", message, hint, span)


def fitted(table: Table, column: CategoryColumn, span: Span, findings: Findings) -> Table | None:
    """The table with its rows in the order of the column's labels."""
    if sorted(table.inputs) != sorted(column.labels):
        absent = [label for label in column.labels if label not in table.inputs]
        unknown = [label for label in table.inputs if label not in column.labels]
        findings.add(
            "table-labels",
            f"the rows of the table are not the labels of {shown(column.name)}: "
            + "; ".join(
                f"{shown(words[0])} {verdict}"
                for words, verdict in ((absent, "has no row"), (unknown, "is no label"))
                if words
            ),
            f"write one row for each of {listed(column.labels)}",
            span,
        )
        return None
    order = [table.inputs.index(label) for label in column.labels]
    return Table(column.labels, table.outputs, tuple(table.rows[place] for place in order))

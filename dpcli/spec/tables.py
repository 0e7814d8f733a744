"""Tables of exact probabilities, in a spec or in a CSV file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from dpcli.columns import CategoryColumn
from dpcli.messages import shown
from dpcli.numbers import NotReadable, probability
from dpcli.privacy.decimals import plain_text
from dpcli.randomizers.base import Table
from dpcli.spec.column_types import good_text, no_formula
from dpcli.spec.findings import Findings
from dpcli.spec.nodes import Mapping as Branch
from dpcli.spec.nodes import Span, Word, at

MOST_CHANCES = 10_000
"""Probabilities in one table: it is recorded in the ledger whole."""

MOST_BYTES = 1 << 20

LONGEST = 20
"""Digits of a sum that people still compare."""

Row = tuple[Word, Mapping[str, Fraction] | None]
"""An input, and the probability of each output; None if one of them is not readable."""


def mapped_table(
    rows: Mapping[str, Mapping[str, Fraction]], node: Branch, findings: Findings
) -> Table | None:
    """A table from a mapping of labels to mappings of outputs to probabilities.

    An output that a label does not name has probability zero there.
    """
    outputs: dict[str, Word] = {}
    for label in rows:
        inner = at(node, label)
        assert isinstance(inner, Branch)
        outputs |= {output: key for output, (key, _) in inner.pairs.items()}
    found = [(Word(label, node.key_span(label)), row) for label, row in rows.items()]
    return _table(list(outputs.values()), found, node.span, findings)


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
    # Of a file that is no table, perhaps one of records, no line and no cell may be shown.
    findings = Findings(source, [""] * max(1, len(text.splitlines())))
    top = Span(1, 1, 1)
    if len(raw) > MOST_BYTES:
        findings.report("table-too-large.bytes", top, bytes=MOST_BYTES, most=MOST_CHANCES)
        return None, findings
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text, newline=""))
    lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)]
    first = lines[0][1] if lines else []
    if all(isinstance(_chance(cell), Fraction) for cell in first):
        outputs = [str(place) for place in range(1, len(first) + 1)]
        rows = [(line, str(place), cells) for place, (line, cells) in enumerate(lines, 1)]
    else:
        outputs = first[1:]
        rows = [(line, cells[0], cells[1:]) for line, cells in lines[1:]]
    found: list[Row] = []
    if len(outputs) * len(rows) <= MOST_CHANCES:
        for line, label, cells in rows:
            row = _row(cells, outputs, Span(line, 1, 1), findings)
            if row is None:
                return None, findings
            found.append((Word(label, Span(line, 1, 1)), row))
    for what, names in (("output", outputs), ("input", [label for _, label, _ in rows])):
        if len(set(names)) < len(names) or not all(names):
            findings.report("table-form.names", top, what=what)
    every: list[Row] = found or [(Word("", top), None)] * len(rows)
    table = _table([Word(output, top) for output in outputs if output], every, top, findings)
    return None if findings else table, findings


def _row(
    cells: Sequence[str], outputs: Sequence[str], span: Span, findings: Findings
) -> dict[str, Fraction] | None:
    """The probabilities in one line of a file; None after its first problem is recorded."""
    chances = [_chance(cell) for cell in cells]
    known = [chance for chance in chances if isinstance(chance, Fraction)]
    wrong = next((at for at, one in enumerate(chances, 1) if isinstance(one, str)), 0)
    if len(cells) != len(outputs):
        findings.report("table-form", span, fields=len(cells), outputs=len(outputs))
    elif wrong:
        findings.report("not-a-probability.file", span, place=wrong)
    elif sum(known) != 1:
        findings.report("row-sum.file", span)
    else:
        return dict(zip(outputs, known, strict=True))
    return None


def _table(
    outputs: Sequence[Word], rows: Sequence[Row], whole: Span, findings: Findings
) -> Table | None:
    """The table, after its problems are recorded; None if there are any."""
    count = len(outputs) * len(rows)
    if not count or count > MOST_CHANCES:
        code = "table-too-large" if count else "table-form.empty"
        findings.report(code, whole, count=count, most=MOST_CHANCES)
        return None
    good = [good_text(one, "output", findings) and no_formula(one, findings) for one in outputs]
    for label, row in rows:
        total = None if row is None else sum(row.values(), start=Fraction(0))
        good.append(total == 1)
        if total is not None and total != 1:
            facts = {"total": _brief(total), "change": _brief(1 - total)}
            findings.report("row-sum", label.span, label=label.text, **facts)
    if not all(good):
        return None
    names = tuple(output.text for output in outputs)
    chances = (tuple((row or {}).get(name, Fraction(0)) for name in names) for _, row in rows)
    return Table(tuple(label.text for label, _ in rows), names, tuple(chances))


def _chance(text: str) -> Fraction | str:
    """The probability that a text says, or what to write instead."""
    try:
        return probability(text)
    except NotReadable as failure:
        return failure.advice


def _brief(value: Fraction) -> str:
    """A number exactly if that is short, else about."""
    if value.denominator < 10**LONGEST:
        return plain_text(value)
    return f"about {float(value):.12g}"


def fitted(table: Table, column: CategoryColumn, span: Span, findings: Findings) -> Table | None:
    """The table with its rows in the order of the column's labels."""
    absent = [shown(label) for label in column.labels if label not in table.inputs]
    unknown = [shown(label) for label in table.inputs if label not in column.labels]
    if absent or unknown:
        odd = [f"{label} has no row" for label in absent[:1]]
        odd += [f"{label} is no label" for label in unknown[:1]]
        facts = {"column": column.name, "odd": "; ".join(odd), "labels": column.labels}
        findings.report("table-labels", span, **facts)
        return None
    order = [table.inputs.index(label) for label in column.labels]
    return Table(column.labels, table.outputs, tuple(table.rows[place] for place in order))

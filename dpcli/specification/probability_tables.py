"""Tables of exact probabilities, in a spec or in a CSV file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path

from dpcli.columns import CategoryColumn
from dpcli.errors import SpecError
from dpcli.mechanisms.local.local_mechanism import ProbabilityTable
from dpcli.messages import quote
from dpcli.number_syntax import NumberSyntaxError, parse_probability
from dpcli.numeric.exact import plain_text
from dpcli.spec_values import AlreadyReportedError
from dpcli.specification.column_types import require_text
from dpcli.specification.tree import (
    Findings,
    MappingNode,
    ScalarNode,
    Span,
    TooManyProblemsError,
    attempt,
    node_at,
    read_all,
)

MOST_CHANCES = 10_000
"""Probabilities in one table: it is recorded in the ledger whole."""

MOST_BYTES = 1 << 20

LONGEST = 20
"""Digits of a sum that people still compare."""

Row = tuple[ScalarNode, Mapping[str, Fraction]]
"""An input, and the probability of each output that is possible for it."""


def mapped_table(rows: Mapping[str, Mapping[str, Fraction]], node: MappingNode) -> ProbabilityTable:
    """A table from a mapping of labels to mappings of outputs to probabilities.

    An output that a label does not name has probability zero there.
    """
    outputs: dict[str, ScalarNode] = {}
    for label in rows:
        inner = node_at(node, label)
        assert isinstance(inner, MappingNode)
        outputs |= {output: key for output, (key, _) in inner.pairs.items()}
    found = [(node.pairs[label][0], row) for label, row in rows.items()]
    return _table(list(outputs.values()), found, node.span)


def read_bytes(path: Path) -> bytes:
    """What a file of a table holds; OSError or ValueError if it cannot be read."""
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def table_of(raw: bytes, source: str) -> ProbabilityTable:
    """The table that a CSV text says; SpecError with all problems, and `source` in them.

    The first line names the outputs and the first field of each other line an input; a
    text of numbers alone has neither, and both are counted from 1.
    """
    text = raw.decode("utf-8-sig", "replace")
    # Of a file that is no table, perhaps one of records, no line and no cell may be shown.
    findings = Findings(source, [""] * max(1, len(text.splitlines())))
    with suppress(AlreadyReportedError, TooManyProblemsError):
        table = _read_table(text, len(raw), findings)
        if not findings:
            return table
    raise SpecError(findings.problems)


def _read_table(text: str, size: int, findings: Findings) -> ProbabilityTable:
    top = Span(findings, 1, 1, 1)
    if size > MOST_BYTES:
        raise top.report("table-too-large.bytes", bytes=MOST_BYTES, most=MOST_CHANCES)
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text, newline=""))
    lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)]
    first = lines[0][1] if lines else []
    if None not in map(_chance, first):
        outputs = [str(place) for place in range(1, len(first) + 1)]
        rows = [(line, str(place), cells) for place, (line, cells) in enumerate(lines, 1)]
    else:
        outputs = first[1:]
        rows = [(line, cells[0], cells[1:]) for line, cells in lines[1:]]
    _require_size(len(outputs) * len(rows), top)
    found: list[Row] = []
    for line, label, cells in rows:
        span = Span(findings, line, 1, 1)
        found.append((ScalarNode(label, span), _row(cells, outputs, span)))
    for what, names in (("output", outputs), ("input", [label for _, label, _ in rows])):
        if len(set(names)) < len(names) or not all(names):
            top.report("table-form.names", what=what)
    return _table([ScalarNode(output, top) for output in outputs if output], found, top)


def _row(cells: Sequence[str], outputs: Sequence[str], span: Span) -> dict[str, Fraction]:
    chances = [_chance(cell) for cell in cells]
    if len(cells) != len(outputs):
        raise span.report("table-form", fields=len(cells), outputs=len(outputs))
    known = [chance for chance in chances if chance is not None]
    if len(known) < len(chances):
        raise span.report("not-a-probability.file", place=chances.index(None) + 1)
    if sum(known) != 1:
        raise span.report("row-sum.file")
    return dict(zip(outputs, known, strict=True))


def _require_size(count: int, whole: Span) -> None:
    if not count or count > MOST_CHANCES:
        code = "table-too-large" if count else "table-form.empty"
        raise whole.report(code, count=count, most=MOST_CHANCES)


def _table(outputs: Sequence[ScalarNode], rows: Sequence[Row], whole: Span) -> ProbabilityTable:
    _require_size(len(outputs) * len(rows), whole)
    names = attempt(read_all, partial(require_text, what="output", published=True), outputs)

    def require_sum(row: Row) -> None:
        total = sum(row[1].values(), start=Fraction(0))
        if total != 1:
            facts = {"total": _brief(total), "change": _brief(1 - total)}
            raise row[0].span.report("row-sum", label=row[0].text, **facts)

    read_all(require_sum, rows)
    names()
    texts = tuple(output.text for output in outputs)
    chances = (tuple(row.get(text, Fraction(0)) for text in texts) for _, row in rows)
    return ProbabilityTable(tuple(label.text for label, _ in rows), texts, tuple(chances))


def _chance(text: str) -> Fraction | None:
    try:
        return parse_probability(text)
    except NumberSyntaxError:
        return None


def _brief(value: Fraction) -> str:
    if value.denominator < 10**LONGEST:
        return plain_text(value)
    return f"about {float(value):.12g}"


def of_column(table: ProbabilityTable, column: CategoryColumn, span: Span) -> ProbabilityTable:
    """The table with its rows in the order of the column's labels."""
    absent = [quote(label) for label in column.labels if label not in table.inputs]
    unknown = [quote(label) for label in table.inputs if label not in column.labels]
    if absent or unknown:
        odd = [f"{label} has no row" for label in absent[:1]]
        odd += [f"{label} is no label" for label in unknown[:1]]
        facts = {"column": column.name, "odd": "; ".join(odd), "labels": column.labels}
        raise span.report("table-labels", **facts)
    order = [table.inputs.index(label) for label in column.labels]
    return ProbabilityTable(
        column.labels, table.outputs, tuple(table.rows[place] for place in order)
    )

"""Reads tables of exact probabilities from a spec or from a CSV file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path

from dpcli.data.labels import LabeledColumn
from dpcli.errors import SpecError
from dpcli.fields.numbers import NumberSyntaxError, parse_probability
from dpcli.fields.tree import (
    Findings,
    MappingNode,
    ScalarNode,
    Span,
    TooManyProblemsError,
    attempt,
    node_at,
    read_all,
)
from dpcli.fields.values import AlreadyReportedError
from dpcli.mechanisms.local.local_mechanism import ProbabilityTable
from dpcli.messages import quote
from dpcli.numeric.exact import plain_text
from dpcli.specification.texts import require_text

MAX_PROBABILITIES = 10_000
"""The most probabilities in one table, which the ledger stores completely."""

MAX_BYTES = 1 << 20

MAX_SUM_DIGITS = 20
"""Messages show the exact sum of a row up to this number of decimals."""

Row = tuple[ScalarNode, Mapping[str, Fraction]]
"""An input, and the probability of each of its possible outputs."""


def table_from_mapping(
    rows: Mapping[str, Mapping[str, Fraction]], node: MappingNode
) -> ProbabilityTable:
    """A table from a mapping of each label to a mapping of outputs to probabilities.

    An output that is missing for a label has probability zero there. Raises `AlreadyReportedError`
    after all problems are recorded.
    """
    outputs: dict[str, ScalarNode] = {}
    for label in rows:
        inner = node_at(node, label)
        assert isinstance(inner, MappingNode)
        outputs |= {output: key for output, (key, _) in inner.pairs.items()}
    labeled_rows = [(node.pairs[label][0], row) for label, row in rows.items()]
    return _checked_table(list(outputs.values()), labeled_rows, node.span)


def read_table_file(path: Path) -> bytes:
    """The bytes of a file up to the limit; raises `OSError` or `ValueError`."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def table_from_csv(raw: bytes, source: str) -> ProbabilityTable:
    """The table in a CSV text; `source` names the text in messages.

    The first line contains the outputs, and the first field of each other line is an input. A text
    of numbers alone has neither names of outputs nor of inputs; they are numbered from 1.
    Raises `SpecError` with all problems.
    """
    text = raw.decode("utf-8-sig", "replace")
    # The file could be a file of records by mistake, so messages quote no line and no cell of it.
    findings = Findings(source, [""] * max(1, len(text.splitlines())))
    with suppress(AlreadyReportedError, TooManyProblemsError):
        table = _read_table(text, len(raw), findings)
        if not findings:
            return table
    raise SpecError(findings.problems)


def _read_table(text: str, size: int, findings: Findings) -> ProbabilityTable:
    top = Span(findings, 1, 1, 1)
    if size > MAX_BYTES:
        raise top.report("table-too-large.bytes", bytes=MAX_BYTES, most=MAX_PROBABILITIES)
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text, newline=""))
    lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)]
    first = lines[0][1] if lines else []
    if None not in map(_parse_or_none, first):
        outputs = [str(place) for place in range(1, len(first) + 1)]
        rows = [(line, str(place), cells) for place, (line, cells) in enumerate(lines, 1)]
    else:
        outputs = first[1:]
        rows = [(line, cells[0], cells[1:]) for line, cells in lines[1:]]
    _require_size(len(outputs) * len(rows), top)
    labeled_rows: list[Row] = []
    for line, label, cells in rows:
        span = Span(findings, line, 1, 1)
        labeled_rows.append((ScalarNode(label, span), _read_row(cells, outputs, span)))
    for what, names in (("output", outputs), ("input", [label for _, label, _ in rows])):
        if len(set(names)) < len(names) or not all(names):
            top.report("table-form.names", what=what)
    return _checked_table(
        [ScalarNode(output, top) for output in outputs if output], labeled_rows, top
    )


def _read_row(cells: Sequence[str], outputs: Sequence[str], span: Span) -> dict[str, Fraction]:
    parsed = [_parse_or_none(cell) for cell in cells]
    if len(cells) != len(outputs):
        raise span.report("table-form", fields=len(cells), outputs=len(outputs))
    probabilities = [probability for probability in parsed if probability is not None]
    if len(probabilities) < len(parsed):
        raise span.report("not-a-probability.file", place=parsed.index(None) + 1)
    if sum(probabilities) != 1:
        raise span.report("row-sum.file")
    return dict(zip(outputs, probabilities, strict=True))


def _require_size(count: int, span: Span) -> None:
    if not count or count > MAX_PROBABILITIES:
        code = "table-too-large" if count else "table-form.empty"
        raise span.report(code, count=count, most=MAX_PROBABILITIES)


def _checked_table(
    outputs: Sequence[ScalarNode], rows: Sequence[Row], span: Span
) -> ProbabilityTable:
    _require_size(len(outputs) * len(rows), span)
    check_outputs = attempt(read_all, partial(require_text, what="output", published=True), outputs)

    def require_sum(row: Row) -> None:
        total = sum(row[1].values(), start=Fraction(0))
        if total != 1:
            facts = {"total": _sum_text(total), "change": _sum_text(1 - total)}
            raise row[0].span.report("row-sum", label=row[0].text, **facts)

    read_all(require_sum, rows)
    check_outputs()
    texts = tuple(output.text for output in outputs)
    probabilities = (tuple(row.get(text, Fraction(0)) for text in texts) for _, row in rows)
    return ProbabilityTable(tuple(label.text for label, _ in rows), texts, tuple(probabilities))


def _parse_or_none(text: str) -> Fraction | None:
    try:
        return parse_probability(text)
    except NumberSyntaxError:
        return None


def _sum_text(value: Fraction) -> str:
    if value.denominator < 10**MAX_SUM_DIGITS:
        return plain_text(value)
    return f"about {float(value):.12g}"


def match_labels(table: ProbabilityTable, column: LabeledColumn, span: Span) -> ProbabilityTable:
    """The table with its rows in the order of the column's labels.

    Raises `AlreadyReportedError` if the labels are not the inputs of the table.
    """
    absent = [quote(label) for label in column.labels if label not in table.inputs]
    unknown = [quote(label) for label in table.inputs if label not in column.labels]
    if absent or unknown:
        faults = [f"{label} has no row" for label in absent[:1]]
        faults += [f"{label} is no label" for label in unknown[:1]]
        facts = {"column": column.name, "odd": "; ".join(faults), "labels": column.labels}
        raise span.report("table-labels", **facts)
    order = [table.inputs.index(label) for label in column.labels]
    return ProbabilityTable(
        column.labels, table.outputs, tuple(table.rows[place] for place in order)
    )

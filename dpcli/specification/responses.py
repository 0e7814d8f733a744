"""Reads the section `responses` of a local spec, and its tables of probabilities."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from math import prod
from pathlib import Path
from typing import Annotated

from pydantic import Field

from dpcli.data.column import ValuedColumn
from dpcli.data.declared_texts import FORMULA_STARTS, require_text
from dpcli.data.labels import LabeledColumn, require_labeled
from dpcli.fields.section import SectionModel
from dpcli.fields.statistic_fields import LABELED, NUMERIC
from dpcli.fields.tree import (
    Attempt,
    Findings,
    MappingNode,
    Node,
    ScalarNode,
    Span,
    TooManyProblemsError,
    attempt,
    node_at,
    read_all,
    read_valid,
    scalars_of,
)
from dpcli.fields.values import (
    MAX_EPSILON,
    AlreadyReportedError,
    ByForm,
    Choice,
    Delta,
    Epsilon,
    NumberSyntaxError,
    Probability,
    Text,
    Texts,
    parse_probability,
    summaries_by_name,
)
from dpcli.mechanisms.local import LOCAL_MECHANISMS
from dpcli.mechanisms.local.local_mechanism import (
    LocalMechanism,
    ProbabilityTable,
    RandomizerError,
    RandomizerRequest,
)
from dpcli.numeric.exact import plain_text
from dpcli.privacy.unit import Neighbors, PersonUnit
from dpcli.problems.errors import SpecError
from dpcli.problems.messages import quote, quoted_list
from dpcli.specification.context import SpecContext
from dpcli.specification.entries import require_entry
from dpcli.specification.entry_fields import single_key
from dpcli.specification.inputs import ESTIMATE_COLUMNS
from dpcli.specification.model import Response
from dpcli.specification.named_files import read_named_file

MAX_PROBABILITIES = 10_000
"""The most probabilities in one table, which the ledger stores completely."""

MAX_BYTES = 1 << 20

MAX_SUM_DIGITS = 20
"""The most decimals of the sum of a row that messages show exactly."""

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

    The first line contains the outputs, and the first field of each other line is an input. In a
    text of numbers alone, outputs and inputs are not named, but numbered from 1. Raises `SpecError`
    with all problems.
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
        found = {"count": MAX_BYTES, "parts": "bytes or more"}
        raise top.report("table-too-large", most=MAX_PROBABILITIES, **found)
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text, newline=""))
    lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)]
    first = lines[0][1] if lines else []
    if None not in map(_parse_or_none, first):
        outputs = [str(index) for index in range(1, len(first) + 1)]
        rows = [(line, str(index), cells) for index, (line, cells) in enumerate(lines, 1)]
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
        raise span.report(code, count=count, parts="probabilities", most=MAX_PROBABILITIES)


def _checked_table(
    outputs: Sequence[ScalarNode], rows: Sequence[Row], span: Span
) -> ProbabilityTable:
    _require_size(len(outputs) * len(rows), span)
    check_outputs = attempt(read_all, partial(require_text, what="output", published=True), outputs)

    def require_sum(row: Row) -> None:
        total = sum(row[1].values(), start=Fraction(0))
        if total != 1:
            arguments = {"total": _sum_text(total), "change": _sum_text(1 - total)}
            raise row[0].span.report("row-sum", label=row[0].text, **arguments)

    read_all(require_sum, rows)
    check_outputs.require()
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
        arguments = {"column": column.name, "odd": "; ".join(faults), "labels": column.labels}
        raise span.report("table-labels", **arguments)
    order = [table.inputs.index(label) for label in column.labels]
    return ProbabilityTable(
        column.labels, table.outputs, tuple(table.rows[index] for index in order)
    )


MAX_NUMBERS = 1_000_000
"""The most numbers that are estimated from one response."""

RESPONSE_BUDGET_KEYS = ("epsilon", "probability", "matrix")
"""The keys that set the privacy loss of a response."""

STEP_IS_NUMERIC = {"simplex": False, "clamp": True}
"""The steps of `post`, and whether they are for means of numeric columns."""


class ResponseModel(SectionModel):
    """How every record responds for one column, and what is estimated from that."""

    noun = "a response"

    column: Text
    mechanism: Annotated[
        str, Choice("unknown-mechanism", lambda: summaries_by_name(LOCAL_MECHANISMS))
    ]
    epsilon: Epsilon | None = None
    delta: Delta | None = None
    probability: Probability | None = None
    matrix: Annotated[Text | dict[str, dict[str, Probability]], ByForm] | None = None
    by: Texts | None = None
    post: list[Annotated[str, Choice("unknown-step", tuple(STEP_IS_NUMERIC))]] | None = Field(
        None, min_length=1
    )


def choose_response(_: ScalarNode | None, node: Node) -> type[ResponseModel]:
    """The model of a response: all responses have the same."""
    require_entry(node, "responses", "{column: ..., mechanism: ..., epsilon: ...}")
    return ResponseModel


def resolve_responses(
    models: Sequence[ResponseModel | None] | None,
    public_names: Sequence[ScalarNode],
    root: MappingNode,
    context: SpecContext,
) -> tuple[tuple[Response, ...], tuple[ValuedColumn, ...]]:
    """Responses and public columns of a local spec; `models` is None if it is wrong."""
    if models is not None and not models:
        node_at(root, "responses").span.report("no-responses")
    if isinstance(context.unit, PersonUnit):
        node_at(root, "privacy", "unit").span.report("local-unit")
    if context.neighbors == Neighbors.ADD_REMOVE.value:
        node_at(root, "privacy", "neighbors").span.report("local-neighbors")
    public = {
        scalar.text: attempt(context.valued_column, scalar, "`public`") for scalar in public_names
    }
    reader = _ResponseReader(context, public)
    responses = tuple(read_valid(reader.response, filter(None, models or ())))
    names = [*public, *(name for response in responses for name in response.names)]
    span = root.key_span("responses")
    for name, count in Counter(names).items():
        if name.startswith(FORMULA_STARTS):
            span.report("formula-label.name", column=name, first=name[0])
        if count > 1:
            span.report("collected-twice", column=name)
    return responses, tuple(column.value for column in public.values())


class _ResponseReader:
    def __init__(self, context: SpecContext, public: dict[str, Attempt[ValuedColumn]]) -> None:
        self._context, self._public = context, public
        self._randomized: dict[str, ScalarNode] = {}

    def response(self, section: ResponseModel) -> Response:
        """Resolves one response; raises `AlreadyReportedError` if it has problems."""
        named_column, by = attempt(self._column, section), attempt(self._by, section)
        # The mechanism decides which other fields a response has.
        name = section.mechanism
        mechanism = next(mechanism for mechanism in LOCAL_MECHANISMS if mechanism.name == name)
        suitable = attempt(lambda: self._suitable(named_column.value, section, mechanism))
        inputs = attempt(self._request, section, mechanism, suitable)
        steps = _read_post(section, mechanism)
        section.require()
        column = suitable.value
        try:
            randomizer = mechanism.calibrate_and_verify(inputs.value)
        except RandomizerError as failure:
            raise section.report(failure.code, **failure.arguments) from None
        labels = len(column.labels) or 1
        numbers = prod(len(column_of_by.labels) for column_of_by in by.value) * max(
            labels, len(randomizer.outputs)
        )
        if randomizer.loss.epsilon > MAX_EPSILON:
            epsilon, limit = plain_text(randomizer.loss.epsilon), int(MAX_EPSILON)
            raise section.report("epsilon-out-of-range.response", epsilon=epsilon, most=limit)
        if numbers > MAX_NUMBERS:
            raise section.report("too-many-cells.joint")
        return Response(column, mechanism, randomizer, by.value, steps)

    def _column(self, section: ResponseModel) -> ValuedColumn:
        scalar = section.node.scalar("column")
        if scalar is None:
            raise AlreadyReportedError
        name, first = scalar.text, self._randomized.setdefault(scalar.text, scalar)
        if first is not scalar or name in self._public:
            code = "column-twice.public" if first is scalar else "column-twice.randomized"
            raise scalar.span.report(code, column=name, line=first.span.line)
        return self._context.valued_column(scalar, "a response")

    def _suitable(
        self, column: ValuedColumn, section: ResponseModel, mechanism: LocalMechanism
    ) -> ValuedColumn:
        kinds = NUMERIC if mechanism.numeric else LABELED
        if column.kind not in kinds:
            names = [
                suitable.name
                for suitable in LOCAL_MECHANISMS
                if suitable.numeric != mechanism.numeric
            ]
            code = "wrong-column-type.date" if column.is_date else "wrong-column-type"
            arguments = {"column": column.name, "kind": column.kind, "kinds": kinds}
            who, other = quote(mechanism.name), quoted_list(names, "or")
            raise section.report(code, "column", who=who, other=other, **arguments)
        if column.missing is None:
            span = self._context.spans[column.name]
            example = (*column.labels, "0")[0]
            raise span.report("missing-constant", column=column.name, example=example)
        return column

    def _by(self, section: ResponseModel) -> tuple[LabeledColumn, ...]:
        seen: set[str] = set()

        def read(scalar: ScalarNode) -> LabeledColumn:
            if scalar.text in ESTIMATE_COLUMNS:
                arguments = {"column": scalar.text, "reserved": ESTIMATE_COLUMNS}
                raise scalar.span.report("reserved-name", **arguments)
            column = self._public[scalar.text].value if scalar.text in self._public else None
            if column is None or not column.labels or scalar.text in seen:
                raise scalar.span.report("by-not-public", column=scalar.text)
            seen.add(scalar.text)
            return require_labeled(column)

        section.require("by")
        return tuple(read_all(read, scalars_of(section.node.value("by"))))

    def _request(
        self, section: ResponseModel, mechanism: LocalMechanism, column: Attempt[ValuedColumn]
    ) -> RandomizerRequest:
        name, keys, needs_delta = mechanism.name, mechanism.loss_parameters, mechanism.needs_delta
        wrong = next(
            (key for key in RESPONSE_BUDGET_KEYS if section.has(key) and key not in keys), None
        )
        if wrong:
            arguments = {"ways": keys, "wrong": wrong}
            raise section.report_key("field-not-taken.price", wrong, mechanism=name, **arguments)
        budget_key = attempt(single_key, section, keys, "price-required.response")
        if needs_delta != section.has("delta"):
            code = "delta-required.response" if needs_delta else "delta-not-taken.able"
            names = [
                mechanism_type.name
                for mechanism_type in LOCAL_MECHANISMS
                if mechanism_type.needs_delta
            ]
            able = f"{quoted_list(names, 'or')} for a numeric column"
            raise section.report_key(code, "delta", mechanism=name, able=able)
        values = section
        if values.probability is not None and not 0 < values.probability < 1:
            raise section.report("not-a-probability.certain", "probability")
        matrix = self._matrix(section, column) if budget_key.value == "matrix" else None
        delta = values.delta or Fraction(0)
        return RandomizerRequest(column.value, values.epsilon, delta, values.probability, matrix)

    def _matrix(self, section: ResponseModel, column: Attempt[ValuedColumn]) -> ProbabilityTable:
        matrix, node = section.matrix, node_at(section.node, "matrix")
        if isinstance(matrix, dict):
            assert isinstance(node, MappingNode)
            table = table_from_mapping(matrix, node)
        else:
            assert isinstance(node, ScalarNode)
            table = self._file(node)
        return match_labels(table, require_labeled(column.value), node.span)

    def _file(self, scalar: ScalarNode) -> ProbabilityTable:
        """The table in a file. Its problems are reported at the name of the file."""
        span = scalar.span
        raw, named = read_named_file(scalar, self._context, MAX_BYTES, "table-unreadable")
        self._context.files.append(named)
        try:
            return table_from_csv(raw, scalar.text)
        except SpecError as failure:
            for problem in failure.problems:
                line = problem.place.line if problem.place else 1
                message = f"line {line} of {quote(scalar.text)}: {problem.message}"
                span.findings.add(span, problem.code, message, problem.hint)
            raise AlreadyReportedError from None


def _read_post(section: ResponseModel, mechanism: LocalMechanism) -> tuple[str, ...]:
    steps = section.post or ()
    able = [name for name, numeric in STEP_IS_NUMERIC.items() if numeric == mechanism.numeric]
    for index, name in enumerate(steps):
        if name not in able:
            raise section.report("unknown-step", "post", index, word=name, choices=able)
    return tuple(dict.fromkeys(steps))

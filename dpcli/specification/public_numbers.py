"""Public numbers of rates, and known totals, in a spec or a file that it names.

The file is public, it is read once, and its digest is part of that of the spec. It could be a file
of records by mistake, so no message quotes a cell of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import inf

from dpcli.data.kinds import Axis
from dpcli.data.labels import require_labeled
from dpcli.fields.statistic_fields import LABELED, RateModel
from dpcli.fields.tree import MappingNode, Node, ScalarNode, Span, scalars_of
from dpcli.fields.values import NumberSyntaxError, parse_cell
from dpcli.specification.code_list import read_list
from dpcli.specification.context import SpecContext
from dpcli.specification.entry_fields import EntryModel
from dpcli.statistics.counts.rates import PublicRate
from dpcli.statistics.public_numbers import PublicNumbers
from dpcli.statistics.tables.known import KnownTables

ANY = -inf
"""The least of numbers that may be any."""

FILE_KEYS = {"file", "key", "value"}

CODES = "rate-population.unknown", "rate-population.number", "rate-population.zero"
CODES_OF_LINES = (
    "rate-population.unknown-line",
    "rate-population.number-line",
    "rate-population.zero-line",
)
"""The problems of labels that are not known, of unreadable numbers, and of zeros."""

Label = tuple[str, ...]

Line = tuple[Label, str, Span, int]
"""The labels, the text of the number, its place, and the line of a file."""


def read_rate(
    rate: RateModel, by: Sequence[Axis], section: EntryModel, context: SpecContext
) -> PublicRate:
    """The rate of an entry.

    Raises `AlreadyReportedError` after its problems are recorded.
    """
    per, node = rate.per, rate.node
    if private := next((key.column.name for key in by if key.is_private), None):
        raise section.report_key("values-required.groups", "by", column=private)
    population, named = node.pairs["population"], node.scalar("strata")
    standard = node.pairs.get("standard")
    if named is None and standard is None:
        return PublicRate(per, _numbers(*population, by, context))
    if named is None or standard is None:
        raise node.span.report("rate-form.strata", key="strata" if standard else "standard")
    column = require_labeled(
        context.column_of_kind(named, section.subject, LABELED, section.what, values=True)
    )
    if any(key.column.name == column.name for key in by):
        raise named.span.report("duplicate-key-column.both", column=column.name, key="strata")
    strata = Axis(column)
    weights = _numbers(*standard, (strata,), context, least=0)
    people = _numbers(*population, (*by, strata), context)
    if weights.keys != (column.name,) or column.name not in people.keys:
        raise node.span.report("rate-form.keys", column=column.name)
    axes = {axis.column.name: axis for axis in (*by, strata)}
    if binned := next((key for key in people.keys if axes[key].starts), None):
        raise node.span.report("rate-form.bins", column=binned)
    columns = tuple(require_labeled(axes[key].column) for key in people.keys)
    return PublicRate(per, people, column, weights, columns)


def read_sizes(axes: Sequence[Axis], section: EntryModel, context: SpecContext) -> PublicNumbers:
    """The public numbers of rows of all groups.

    Raises `AlreadyReportedError` after its problems are recorded.
    """
    if private := next((axis.column.name for axis in axes if axis.is_private), None):
        raise section.report_key("values-required.groups", "by", column=private)
    key, node = section.node.pairs["sizes"]
    sizes = _numbers(key, node, axes, context)
    if len(sizes.keys) < len(axes):
        names = [axis.column.name for axis in axes]
        raise node.span.report("sizes-form", columns=names)
    return sizes


def read_known_tables(
    key: ScalarNode, node: Node, axes: Sequence[Axis], context: SpecContext
) -> KnownTables:
    """The public totals of an entry: a number, numbers by labels, or a file."""
    if not isinstance(node, MappingNode | ScalarNode):
        raise node.span.report("known-number")
    if isinstance(node, ScalarNode) or node.pairs.keys() == FILE_KEYS:
        return KnownTables((_numbers(key, node, axes, context, ANY),))
    named, found = {axis.column.name: axis for axis in axes}, list[PublicNumbers]()
    for name, numbers in node.pairs.values():
        if name.text not in named:
            raise name.span.report("known-number.key", word=name.text, choices=named)
        if not isinstance(numbers, MappingNode):
            raise name.span.report("known-number")
        found.append(_numbers(key, numbers, (named[name.text],), context, ANY))
    if not found:
        raise node.span.report("known-number")
    return KnownTables(tuple(found))


def _numbers(
    key: ScalarNode,
    node: Node,
    axes: Sequence[Axis],
    context: SpecContext,
    least: float | None = None,
) -> PublicNumbers:
    """The numbers of each combination of labels of some of the axes.

    They are above zero, or at least `least`.
    """
    if isinstance(node, ScalarNode):
        lines: list[Line] = [((), node.text, node.span, 0)]
        return PublicNumbers((), _checked(lines, (), key.text, "", least, node.span))
    if not isinstance(node, MappingNode):
        raise node.span.report("rate-form", key=key.text)
    if node.pairs.keys() == FILE_KEYS:
        return _from_file(key, node, axes, context, least)
    if len(axes) != 1:
        raise node.span.report("rate-form.mapping", key=key.text)
    lines = [
        ((label.text,), number.text if isinstance(number, ScalarNode) else "", label.span, 0)
        for label, number in node.pairs.values()
    ]
    found = _checked(lines, axes, key.text, "", least, node.span)
    return PublicNumbers((axes[0].column.name,), found)


def _from_file(
    key: ScalarNode,
    node: MappingNode,
    axes: Sequence[Axis],
    context: SpecContext,
    least: float | None,
) -> PublicNumbers:
    file, value, names = node.scalar("file"), node.scalar("value"), scalars_of(node.value("key"))
    if file is None or value is None or not names:
        raise node.span.report("rate-form", key=key.text)
    known = {axis.column.name: axis for axis in axes}
    for name in names:
        if name.text not in known:
            raise name.span.report("rate-form.key", word=name.text, choices=known)
    lines = read_list(file, (*names, value), context, "rate-population")
    pairs = ((tuple(cells[:-1]), cells[-1], file.span, line) for line, cells in lines)
    own = [known[name.text] for name in names]
    found = _checked(pairs, own, key.text, file.text, least, file.span)
    return PublicNumbers(tuple(name.text for name in names), found)


def _checked(
    lines: Iterable[Line],
    axes: Sequence[Axis],
    key: str,
    file: str,
    least: float | None,
    whole: Span,
) -> tuple[tuple[Label, Fraction], ...]:
    """The number of each combination of labels; a problem names the line of a file."""
    wanted, found = dict.fromkeys(product(*(axis.labels for axis in axes))), dict[Label, Fraction]()
    first = dict[Label, int]()
    unknown, unreadable, zero = CODES_OF_LINES if file else CODES
    for label, text, span, line in lines:
        arguments = {"key": key, "file": file, "line": line}
        if label not in wanted:
            names = " and ".join(axis.column.name for axis in axes)
            raise span.report(unknown, column=names, **arguments)
        if label in first:
            raise span.report("rate-population.twice", first=first[label], **arguments)
        first[label] = line
        try:
            found[label] = parse_cell(text, line)
        except NumberSyntaxError:
            raise span.report(unreadable, **arguments) from None
        if found[label] < (least or 0) or (not found[label] and least is None):
            raise span.report(zero, **arguments)
    lacking = [label for label in wanted if label not in found]
    if lacking:
        raise whole.report("rate-population.missing", key=key, label=", ".join(lacking[0]))
    if least != ANY and not any(found.values()):
        raise whole.report("rate-population.zero", key=key)
    return tuple((label, found[label]) for label in wanted)

"""Public numbers of rates, and known totals, in a spec or a file that it names.

The file is public, it is read once, and its digest is part of that of the spec. It could be a file
of records by mistake, so no message quotes a cell of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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

Keys = Mapping[str, Sequence[str]]
"""The labels of each key by which there may be numbers."""

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
        return PublicRate(per, _numbers(*population, keys_of(by), context))
    if named is None or standard is None:
        raise node.span.report("rate-form.strata", key="strata" if standard else "standard")
    column = require_labeled(
        context.column_of_kind(named, section.subject, LABELED, section.what, values=True)
    )
    if any(key.column.name == column.name for key in by):
        raise named.span.report("duplicate-key-column.both", column=column.name, key="strata")
    strata = Axis(column)
    weights = _numbers(*standard, keys_of([strata]), context, least=0)
    people = _numbers(*population, keys_of([*by, strata]), context)
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
    keys = keys_of(axes)
    sizes = _numbers(key, node, keys, context)
    if len(sizes.keys) < len(keys):
        raise node.span.report("sizes-form", columns=[*keys])
    return sizes


def keys_of(axes: Iterable[Axis]) -> Keys:
    """The labels of some columns."""
    return {axis.column.name: axis.labels for axis in axes}


def read_known_tables(
    key: ScalarNode, node: Node, keys: Keys, context: SpecContext, *, partial: bool = False
) -> KnownTables:
    """The public totals of an entry: a number, numbers by labels, or a file.

    They are about all labels of their keys, unless they may be `partial`.
    """
    if not isinstance(node, MappingNode | ScalarNode):
        raise node.span.report("known-number")
    if isinstance(node, ScalarNode) or node.pairs.keys() == FILE_KEYS:
        return KnownTables((_numbers(key, node, keys, context, ANY, partial=partial),))
    found = list[PublicNumbers]()
    for name, numbers in node.pairs.values():
        if name.text not in keys:
            code = "known-number.key" if keys else "known-number.none"
            raise name.span.report(code, word=name.text, choices=[*keys])
        if not isinstance(numbers, MappingNode):
            raise name.span.report("known-number")
        own = {name.text: keys[name.text]}
        found.append(_numbers(key, numbers, own, context, ANY, partial=partial))
    if not any(table.numbers for table in found):
        raise node.span.report("known-number")
    return KnownTables(tuple(found))


def _numbers(
    key: ScalarNode,
    node: Node,
    keys: Keys,
    context: SpecContext,
    least: float | None = None,
    *,
    partial: bool = False,
) -> PublicNumbers:
    """The numbers of each combination of labels, or of some if `partial`.

    They are above zero, or at least `least`.
    """
    if isinstance(node, ScalarNode):
        lines: Iterable[Line] = [((), node.text, node.span, 0)]
        return _checked(lines, {}, key.text, "", least, node.span)
    if not isinstance(node, MappingNode):
        raise node.span.report("rate-form", key=key.text)
    if node.pairs.keys() == FILE_KEYS:
        file, value, names = (
            node.scalar("file"),
            node.scalar("value"),
            scalars_of(node.value("key")),
        )
        if file is None or value is None or not names:
            raise node.span.report("rate-form", key=key.text)
        for name in names:
            if name.text not in keys:
                raise name.span.report("rate-form.key", word=name.text, choices=keys)
        read = read_list(file, (*names, value), context, "rate-population")
        lines = ((tuple(cells[:-1]), cells[-1], file.span, line) for line, cells in read)
        own = {name.text: keys[name.text] for name in names}
        return _checked(lines, own, key.text, file.text, least, file.span, partial=partial)
    if len(keys) != 1:
        raise node.span.report("rate-form.mapping", key=key.text)
    lines = [
        ((label.text,), number.text if isinstance(number, ScalarNode) else "", label.span, 0)
        for label, number in node.pairs.values()
    ]
    return _checked(lines, keys, key.text, "", least, node.span, partial=partial)


def _checked(
    lines: Iterable[Line],
    keys: Keys,
    key: str,
    file: str,
    least: float | None,
    whole: Span,
    *,
    partial: bool = False,
) -> PublicNumbers:
    """The number of each combination of labels; a problem names the line of a file."""
    wanted, found = dict.fromkeys(product(*keys.values())), dict[Label, Fraction]()
    first = dict[Label, int]()
    unknown, unreadable, zero = CODES_OF_LINES if file else CODES
    for label, text, span, line in lines:
        arguments = {"key": key, "file": file, "line": line}
        if label not in wanted:
            raise span.report(unknown, column=" and ".join(keys), **arguments)
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
    if lacking and not partial:
        raise whole.report("rate-population.missing", key=key, label=", ".join(lacking[0]))
    if least != ANY and not any(found.values()):
        raise whole.report("rate-population.zero", key=key)
    return PublicNumbers(tuple(keys), tuple((own, found[own]) for own in wanted if own in found))

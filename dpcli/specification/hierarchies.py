"""Reads the section `hierarchies`: levels of places, of bands, or of days.

The levels are public: from a file with a column for each level, from the parent of each part, or
bins of numbers and dates. No message quotes a cell of a file (`code_list`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Annotated, Any, ClassVar

from pydantic import Field

from dpcli.data.declared_texts import look, report_twins, text_fault
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.kinds import Axis
from dpcli.data.labels import require_labeled
from dpcli.fields.section import SectionModel
from dpcli.fields.statistic_fields import LABELED, ORDERED, BinsModel, Numbers
from dpcli.fields.tree import MappingNode, Node, ScalarNode, Span, attempt, scalars_of
from dpcli.fields.values import AlreadyReportedError, ByForm, Text
from dpcli.numeric.arrays import np
from dpcli.numeric.days import day_of
from dpcli.specification.code_list import read_list
from dpcli.specification.context import RESERVED_COLUMNS, SpecContext
from dpcli.specification.public_numbers import FILE_KEYS, read_known_tables
from dpcli.statistics.public_numbers import PublicNumbers
from dpcli.statistics.tables.hierarchy import Hierarchy, KnownNumbers, Level
from dpcli.statistics.tables.totals import ALL, TotalsLabel

Path = tuple[str, ...]
"""The labels of a leaf and of all above it, the top first."""

Seen = tuple[str, int]
"""A label, and the first line that has it."""

Place = tuple[Span, int]
"""Where something is stated: in the spec, or in a line of a file."""

MAX_LEVELS = 12
"""The most levels: exact numbers have 40 more bits for each."""

PERIODS = {"year": 4, "month": 7, "day": 10}
"""Bins of dates, and how much of a date such as 2024-12-31 names them."""

CYCLE = "hierarchy-parents.cycle", "hierarchy-parents.cycle-line"
DEPTH = "hierarchy-parents", "hierarchy-parents.line"
UNKNOWN = "hierarchy-leaf", "hierarchy-leaf.line"
PARENTS = "hierarchy-leaf.parents", "hierarchy-leaf.parents-line"
"""The codes of problems of the spec, and of a line of a file."""

LevelBins = Annotated[Text | BinsModel, ByForm]


class HierarchyModel(SectionModel):
    """The levels of a column, from the top to what the column has."""

    noun = "a hierarchy"
    missing_lines: ClassVar[Mapping[str, str]] = {
        "levels": "`levels: [country, region, district]`, the top first"
    }

    levels: Annotated[
        Annotated[list[Text], Field(min_length=2, max_length=MAX_LEVELS)]
        | Annotated[dict[Text, LevelBins], Field(min_length=2, max_length=MAX_LEVELS)],
        ByForm,
    ]
    file: Text | None = None
    parents: Numbers | None = None
    column: Text | None = None
    totals: TotalsLabel | None = None


def choose_hierarchy(_: ScalarNode | None, node: Node) -> type[SectionModel]:
    """The model of a hierarchy, which is a mapping."""
    if isinstance(node, MappingNode):
        return HierarchyModel
    line = "`place: {file: places.csv, levels: [country, region, district]}`"
    arguments = {"name": "a hierarchy", "found": node.form, "form": "a mapping"}
    raise node.span.report("wrong-shape", line=line, **arguments)


def resolve_hierarchies(document: Any, context: SpecContext) -> None:
    """Adds all hierarchies to the context; one with problems is None."""
    for name in document.node.mapping("hierarchies").pairs:
        context.hierarchies[name] = None
    for name, model in (document.hierarchies or {}).items():
        if model is not None:
            found = attempt(_resolved, name, model, context)
            context.hierarchies[name] = found.value if found.has_value else None


def _resolved(name: str, model: HierarchyModel, context: SpecContext) -> Hierarchy:
    node, totals = model.node, model.totals or ALL
    levels = node.mapping("levels")
    model.require()
    listed = scalars_of(node.value("levels"))
    names = listed if levels is None else tuple(key for key, _ in levels.pairs.values())
    for at, level in enumerate(names):
        if level.text in RESERVED_COLUMNS:
            arguments = {"column": level.text, "reserved": RESERVED_COLUMNS}
            raise level.span.report("reserved-name", **arguments)
        if level.text in [other.text for other in names[:at]]:
            raise level.span.report("duplicate-key-column", column=level.text, field="levels")
    sources = [key for key in ("file", "parents") if node.value(key) is not None]
    if len(sources) != (levels is None):
        raise node.span.report("hierarchy-form")
    named = node.scalar("column") or (names[-1] if levels is None else None)
    if named is None:
        raise node.span.report("hierarchy-form.column")
    kinds = LABELED if levels is None else ORDERED
    column = context.column_of_kind(named, "a hierarchy", kinds, "a hierarchy")
    if levels is not None:
        hierarchy = _of_bins(name, require_numeric(column), levels, totals)
    else:
        read = _from_file if "file" in sources else _from_parents
        hierarchy = _of_paths(name, Axis(column), names, read(node, names, context), node, totals)
    for key, found in zip(names, hierarchy.levels, strict=True):
        if totals in found.labels:
            raise key.span.report("hierarchy-form.totals", level=found.name, label=totals)
    return hierarchy


def _of_bins(name: str, column: NumericColumn, levels: MappingNode, totals: str) -> Hierarchy:
    """The hierarchy of bins of a column, each level within that above it."""
    found: list[Level] = []
    above: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    for key, bins in levels.pairs.values():
        if isinstance(bins, ScalarNode):
            starts, labels = _periods(column, bins)
        else:
            starts = column.read_bins(bins)
            labels = Axis(column, starts).labels
        if not {*above} <= {*starts}:
            raise key.span.report("hierarchy-form.bins", level=key.text, above=found[-1].name)
        index, parents, edges = -1, list[int](), {*above}
        for start in starts if found else ():
            index += start in edges
            parents.append(index)
        found.append(Level(key.text, labels, tuple(parents)))
        above = starts
    leaves = tuple(range(len(starts)))
    return Hierarchy(name, Axis(column, starts), tuple(found), leaves, totals)


def _periods(column: NumericColumn, scalar: ScalarNode) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The first days and the names of the years, months or days of a date."""
    if scalar.text not in PERIODS or not column.is_date or column.step != 1:
        raise scalar.span.report("hierarchy-form.period", bins=scalar.text, column=column.name)
    length, starts = PERIODS[scalar.text], dict[str, int]()
    for day in range(column.lower, column.upper + 1):
        starts.setdefault(day_of(day).isoformat()[:length], day)
    return tuple(starts.values()), tuple(starts)


def _from_file(
    node: MappingNode, names: Sequence[ScalarNode], context: SpecContext
) -> list[tuple[Path, Place]]:
    """The path of each line of a file with a column for each level."""
    file = node.scalar("file")
    assert file is not None
    found, known, seen = [], set[str](), dict[str, Seen]()
    for line, cells in read_list(file, names, context, "hierarchy-file"):
        for level, label in zip(names, cells, strict=True):
            if not label:
                arguments = {"file": file.text, "line": line, "level": level.text}
                raise file.span.report("hierarchy-file.parent", **arguments)
            if label not in known:
                _check(label, file, line, seen)
        known.update(cells)
        found.append((tuple(cells), (file.span, line)))
    return found


def _check(label: str, file: ScalarNode, line: int, seen: dict[str, Seen]) -> None:
    if text_fault(label, published=True):
        raise file.span.report("code-list.text", file=file.text, line=line)
    other, first = seen.setdefault(look(label), (label, line))
    if other != label:
        raise file.span.report("code-list.twins", file=file.text, line=line, first=first)


def _pairs(node: MappingNode, context: SpecContext) -> Iterator[tuple[str, str, Span, int]]:
    """Each part and its parent, with their place."""
    parents = node.value("parents")
    if not isinstance(parents, MappingNode):
        raise node.span.report("hierarchy-form")
    file = parents.scalar("file")
    if parents.pairs.keys() != {"file", "key", "value"} or file is None:
        labels = [one for pair in parents.pairs.values() for one in pair]
        texts = [one for one in labels if isinstance(one, ScalarNode)]
        report_twins("label", [(one, one.text) for one in texts])
        for key, parent in parents.pairs.values():
            text = parent.text if isinstance(parent, ScalarNode) else ""
            if text_fault(key.text, published=True) or text_fault(text, published=True):
                raise key.span.report("hierarchy-parents.text")
            yield key.text, text, key.span, 0
        return
    columns = [scalar for scalar in map(parents.scalar, ("key", "value")) if scalar is not None]
    if len(columns) < 2:
        raise parents.span.report("hierarchy-form")
    seen = dict[str, Seen]()
    for line, (key_text, text) in read_list(file, columns, context, "hierarchy-file"):
        if not text:
            # The top has no parent.
            continue
        _check(key_text, file, line, seen)
        _check(text, file, line, seen)
        yield key_text, text, file.span, line


def _from_parents(
    node: MappingNode, names: Sequence[ScalarNode], context: SpecContext
) -> list[tuple[Path, Place]]:
    """The path of each part that is no parent."""
    parents: dict[str, str] = {}
    places: dict[str, Place] = {}
    for part, parent, span, line in _pairs(node, context):
        if part in parents:
            first = places[part][1]
            raise span.report("hierarchy-parents.twice", line=line, first=first)
        parents[part], places[part] = parent, (span, line)
    inner, found = {*parents.values()}, list[tuple[Path, Place]]()
    for part, (span, line) in places.items():
        path = [part]
        while (above := parents.get(path[0])) is not None:
            if len(path) > len(parents):
                raise _report(span, *CYCLE, line)
            path.insert(0, above)
        if part in inner:
            continue
        if len(path) != len(names):
            raise _report(span, *DEPTH, line, found=len(path), wanted=len(names))
        found.append((tuple(path), (span, line)))
    return found


def _report(
    span: Span, code: str, code_of_line: str, line: int, **arguments: object
) -> AlreadyReportedError:
    """Records a problem of the spec, or of a line of a file."""
    return span.report(code_of_line if line else code, line=line, **arguments)


def _of_paths(
    name: str,
    axis: Axis,
    names: Sequence[ScalarNode],
    paths: Iterable[tuple[Path, Place]],
    node: MappingNode,
    totals: str,
) -> Hierarchy:
    """The hierarchy of the paths of all labels, in the order of the paths."""
    column = require_labeled(axis.column)
    codes, found = dict(column.values), dict[int, Path]()
    above: dict[tuple[int, str], tuple[Path, int]] = {}
    for path, (span, line) in paths:
        label = codes.get(path[-1], path[-1])
        position = column.positions.get(label)
        if position is None:
            raise _report(span, *UNKNOWN, line, column=column.name)
        full = (*path[:-1], label)
        for depth in range(len(full)):
            known, first = above.setdefault((depth, full[depth]), (full[:depth], line))
            if known != full[:depth]:
                raise _report(span, *PARENTS, line, level=names[depth].text, first=first)
        found[position] = full
    lacking = [label for at, label in enumerate(column.labels) if at not in found]
    if lacking:
        raise node.span.report("hierarchy-leaf.missing", column=column.name, label=lacking[0])
    order = {path[:depth]: at for at, path in enumerate(reversed(found.values()))
             for depth in range(1, len(path) + 1)}  # fmt: skip
    ranked = sorted(
        found, key=lambda at: [-order[found[at][:depth]] for depth in range(1, len(names) + 1)]
    )
    levels, parts = list[Level](), dict[Path, int]({(): 0})
    for depth, level in enumerate(names, 1):
        own = dict.fromkeys(found[at][:depth] for at in ranked)
        parents = tuple(parts[path[:-1]] for path in own) if depth > 1 else ()
        levels.append(Level(level.text, tuple(path[-1] for path in own), parents))
        parts = {path: at for at, path in enumerate(own)}
    leaves = tuple(parts[found[at]] for at in range(len(found)))
    return Hierarchy(name, axis, tuple(levels), leaves, totals)


def read_known(
    key: ScalarNode, node: Node, trees: Sequence[Hierarchy], context: SpecContext
) -> KnownNumbers:
    """The public numbers of parts of one hierarchy, or of pairs of parts of two.

    Of two hierarchies, all numbers of a pair of levels are known, and so are all sums of them.
    """
    keys = {level.name: level.labels for tree in trees for level in tree.levels}
    if isinstance(node, MappingNode) and node.pairs.keys() == FILE_KEYS:
        named = {name.text for name in scalars_of(node.value("key"))}
        for tree in trees:
            if len(named.intersection(level.name for level in tree.levels)) > 1:
                raise node.span.report("known-number.levels", hierarchy=tree.name)
    tables = read_known_tables(key, node, keys, context, partial=len(trees) < 2).tables
    places = [node] * len(tables)
    if isinstance(node, MappingNode) and len(tables) == len(node.pairs):
        places = [*(name for name, _ in node.pairs.values())]
    found = dict[tuple[int, ...], dict[int, Fraction]]()
    for place, table in zip(places, tables, strict=True):
        depths = tuple(_depth_of(tree, table.keys, place.span) for tree in trees)
        own = _positions(table, trees, depths)
        if len(trees) < 2:
            found[depths] = own
            continue
        cells = np.array([*own.values()], object).reshape(trees[0].size(depths[0]), -1)
        for top in product(*(range(depth + 1) for depth in depths)):
            above = (tree.above(*two) for tree, *two in zip(trees, depths, top, strict=True))
            sums = np.zeros([tree.size(at) for tree, at in zip(trees, top, strict=True)], object)
            np.add.at(sums, np.ix_(*above), cells)
            now = dict(enumerate(sums.ravel().tolist()))
            if found.setdefault(top, now) != now:
                raise place.span.report("known-number.differ")
    levels = product(*(range(len(tree.levels)) for tree in trees))
    names = product(*([level.name for level in tree.levels] for tree in trees))
    return KnownNumbers(
        tuple(tuple(found.get(depths, {}).items()) for depths in levels),
        tuple(map(" and ".join, names)),
    )


def _depth_of(tree: Hierarchy, keys: Sequence[str], span: Span) -> int:
    """The level of a hierarchy that has numbers; the top, if it has one part."""
    named = [depth for depth, level in enumerate(tree.levels) if level.name in keys]
    if not named and tree.size(0) > 1:
        raise span.report("known-number.top", level=tree.levels[0].name)
    return named[0] if named else 0


def _positions(
    table: PublicNumbers, trees: Sequence[Hierarchy], depths: Sequence[int]
) -> dict[int, Fraction]:
    """The numbers by their position among those of a level, or of a pair of levels."""
    levels = [tree.levels[depth] for tree, depth in zip(trees, depths, strict=True)]
    names, numbers = [level.name for level in levels], dict(table.numbers)
    order = [names.index(name) for name in table.keys]
    found = dict[int, Fraction]()
    for at, cell in enumerate(product(*(level.labels for level in levels))):
        if (number := numbers.get(tuple(cell[own] for own in order))) is not None:
            found[at] = number
    return found

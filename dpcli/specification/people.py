"""Reads the section `people`, and which entries are about people.

Columns of people follow from columns of rows, and from columns derived from those. Other derived
columns follow from columns of people: so those that name one are read after them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from math import prod

from dpcli.data.conditions import OPERATORS
from dpcli.data.derived import DERIVED, PERSON_VALUES
from dpcli.data.derived.declared import DerivedSection
from dpcli.data.kinds import Axis
from dpcli.fields.section import column_role
from dpcli.fields.tree import MappingNode, Node, ScalarNode, SequenceNode, scalars_of
from dpcli.privacy.unit import Limits, RowUnit
from dpcli.queries.query import Query
from dpcli.specification.context import SpecContext
from dpcli.specification.derive import choose_computed, declare_computed
from dpcli.specification.entry_fields import EntryModel
from dpcli.statistics.statistic import Statistic

PEOPLE, ROWS = "people", "rows"
"""What an entry may be about, by its key `of`."""


def choose_person_value(key: ScalarNode | None, node: Node) -> type[DerivedSection]:
    """The model of a value of a person, by the key that says what it is."""
    codes = ("people-form", "people-form.near", "people-form.several")
    return choose_computed(PERSON_VALUES, codes, key, node)


def _columns_of_conditions(node: Node | None) -> Iterator[str]:
    """The names of columns in conditions: their keys, and in `{column: NAME}`."""
    if isinstance(node, SequenceNode):
        for item in node.items:
            yield from _columns_of_conditions(item)
    if not isinstance(node, MappingNode):
        return
    for key, (_, value) in node.pairs.items():
        if key in OPERATORS:
            yield from _columns_of_conditions(value)
            continue
        yield key
        limits = value.pairs.values() if isinstance(value, MappingNode) else ()
        for _, limit in limits:
            if isinstance(limit, MappingNode):
                yield from (scalar.text for scalar in scalars_of(limit.value("column")))


def _columns_of_derivation(node: MappingNode) -> Iterator[str]:
    """The names of columns, and constants, of which a derived column is computed."""
    for key in ({kind.key for kind in DERIVED} | {"of", "at"}) - {"part", "is"}:
        yield from (scalar.text for scalar in scalars_of(node.value(key)))
    yield from _columns_of_conditions(node.value("is"))


def declare_people_and_derived(
    root: MappingNode,
    derived: Mapping[str, DerivedSection | None],
    people: Mapping[str, DerivedSection | None],
    context: SpecContext,
) -> None:
    """Adds the columns of `people:`, and before and after them those of `derive:`."""
    section, own = root.mapping("derive"), root.mapping("people")
    assert own is not None
    names, after = set(own.pairs), list[str]()
    for name in derived:
        node = section.pairs[name][1] if section is not None else None
        if isinstance(node, MappingNode) and names & {*_columns_of_derivation(node)}:
            names.add(name)
            after.append(name)
    before = {name: model for name, model in derived.items() if name not in after}
    if section is not None:
        declare_computed(section, before, context)
    declare_computed(own, people, context)
    if section is not None:
        declare_computed(section, {name: derived[name] for name in after}, context)


def is_of_people(section: EntryModel, statistic: Statistic, context: SpecContext) -> bool:
    """Whether an entry says that it is about people, or takes numbers from them.

    A number of people by columns of people, or with conditions on them, is about people, too.
    """
    stated = getattr(section, "of", None)
    if stated in (PEOPLE, ROWS):
        if stated == PEOPLE and isinstance(context.unit, RowUnit):
            raise section.report_key("people-need-person.entry", "of")
        return bool(stated == PEOPLE)
    fields = type(section).model_fields
    roles = {key: role for key in statistic.takes if (role := column_role(fields[key]))}
    named = chain.from_iterable(
        scalars_of(section.node.value(key))
        for key in roles
        if roles[key].refers_to not in ("labels", "between")
    )
    columns = [context.columns.get(scalar.text) for scalar in named]
    found = [column for column in columns if column is not None]
    if found or not statistic.counts_people:
        return bool(found) and all(column.is_of_people for column in found)
    # A number of people by columns of people.
    known = {name for name, column in context.columns.items() if column and column.is_of_people}
    by = {scalar.text for scalar in scalars_of(section.node.value("by"))}
    return bool(known & (by | {*_columns_of_conditions(section.node.value("where"))}))


def limits_of_people(
    section: EntryModel, own: Limits, by: tuple[Axis, ...], of_unit: Limits
) -> Limits:
    """One line of each person, or one in each of the person's groups by keys of rows.

    These are at most as many as the entry or the unit says. Other limits are refused.
    """
    for key in ("max_rows", "max_rows_per_group"):
        if section.has(key):
            raise section.report_key("limit-of-people", key, key=key)
    axes = [axis for axis in by if not axis.column.is_of_people]
    if not axes:
        if section.has("max_groups"):
            raise section.report_key("limit-of-people", "max_groups", key="max_groups")
        return Limits(of_people=True)
    groups = None if any(axis.is_private for axis in axes) else prod(map(len, axes))
    most = own.max_groups or of_unit.max_groups or groups
    if most is None:
        raise section.report("people-in-private-groups")
    return Limits(max_groups=min(most, groups or most), of_people=True)


def require_one_kind(section: EntryModel, queries: Iterable[Query], *, of_people: bool) -> None:
    """Refuses columns of rows in an entry about people, and the reverse.

    Keys of both may group either. Conditions on people may select rows. What an entry about rows
    takes numbers from may be of people if it says what it is about.
    """
    stated = section.has("of")
    for query in queries:
        tested = [column for test in query.where for column in test.columns]
        counted = [*query.operands, *(axis.column for axis in query.inner_axes)]
        keys = [axis.column for axis in query.by]
        if of_people:
            mixed = [column for column in keys if column.uses_people and not column.is_of_people]
            for column in (*counted, *query.present, *tested, *mixed):
                if not column.is_of_people or column in mixed:
                    code = "column-of-rows.stated" if stated else "column-of-rows"
                    raise section.report(code, column=column.name)
        elif query.total_clamp is not None:
            for column in (one for one in query.columns if one.uses_people):
                raise section.report("people-in-totals", column=column.name)
        elif not stated:
            for column in (one for one in counted if one.uses_people):
                raise section.report("column-of-people", column=column.name)

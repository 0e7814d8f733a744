"""Reads the section `statistics`: the fields of its entries, names and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpcli import statistics
from dpcli.data.column import Column
from dpcli.data.filters import Filter
from dpcli.data.kinds import Axis
from dpcli.fields.section import plain_word
from dpcli.fields.tree import Attempt, MappingNode, Node, ScalarNode, SequenceNode, attempt, node_at
from dpcli.fields.values import AlreadyReportedError
from dpcli.privacy.unit import NO_LIMITS, Limits, PersonUnit
from dpcli.problems.messages import closest_match, truncated
from dpcli.problems.reference import advice, synonyms
from dpcli.specification.captions import entry_caption
from dpcli.specification.context import SpecContext
from dpcli.specification.entry_fields import (
    EntryModel,
    entry_model,
    read_answer_settings,
    read_budget_key,
    read_limits,
    read_raw,
    read_steps,
    refuse_for_dates,
    statistics_with_field,
)
from dpcli.specification.inputs import InputsReader, count_numbers_and_scores, read_keys
from dpcli.specification.model import Entry
from dpcli.statistics.design import Design
from dpcli.statistics.statistic import Statistic

_COUNTS = ("count", "count_distinct")
_AVERAGES = ("mean", "comparison", "describe", "variance", "std")
_NUMBERS = ("integer", "number")


def choose_entry(_: ScalarNode | None, node: Node) -> type[EntryModel]:
    """The model of an entry, by the statistic that it names or probably means."""
    entry = require_entry(node, "statistics", "{name: ..., statistic: ..., epsilon: ...}")
    registry, word = statistics.STATISTICS, entry.scalar("statistic")
    text = word.text if word else ""
    if statistic := registry.named(text):
        return entry_model(statistic)
    if advice("statistics", plain_word(text)):
        return entry_model(None)
    meant = synonyms().get(text[:100].casefold(), text)
    return entry_model(registry.named(closest_match(meant, registry.names) or meant))


def require_entry(node: Node, section: str, example: str) -> MappingNode:
    """The node of an entry of a section, which must be a mapping like `example`."""
    if isinstance(node, MappingNode):
        return node
    arguments = {"name": f"an entry of `{section}`", "found": node.form, "form": "a mapping"}
    raise node.span.report("wrong-shape", line=f"`- {example}`", **arguments)


def _variant(statistic: Statistic, node: MappingNode, context: SpecContext) -> Statistic:
    """The statistic for the column, the method and the keys of an entry."""
    if "series" in node.pairs and (series := statistics.SERIES.named(statistic.name)):
        return series
    column, method = map(node.scalar, ("column", "method"))
    declared = context.columns.get(column.text) if column else None
    return statistic.variant(declared, method.text if method else "", node.pairs)


def _resolve_entry(section: EntryModel, context: SpecContext) -> Entry:
    statistic = section.statistic_of and _variant(section.statistic_of, section.node, context)
    attempt(_require_new_name, section, context)
    by = attempt(read_keys, section, "by", context)
    where = attempt(_read_where, section, context)
    if statistic is None:
        attempt(read_budget_key, section, context)
        raise AlreadyReportedError
    limits = attempt(_limits, section, statistic, context, by)
    relation = context.relation_for(limits.value if limits.has_value else NO_LIMITS)
    reader = InputsReader(section, statistic, context, relation, by)
    inputs = attempt(reader.inputs, where)
    selects = attempt(_selects_partitions, section, statistic, by)
    settings = attempt(
        read_answer_settings,
        section,
        context,
        statistic,
        selects,
        designs=lambda: reader.designs(inputs.value),
    )
    steps = attempt(read_steps, section, statistic, relation.unit)
    raw = attempt(read_raw, section, statistic, steps)
    reader.require_consistent(inputs.value, steps.value)
    mechanisms, (design, *_) = settings.value.mechanisms, reader.designs(inputs.value)
    # Which choice decides the answers to its queries, or their noise.
    queries = [part.query for part in design.queries]
    own, choices = limits.value, (choice for choice, _ in context.choices.values())
    decide = (one for one in choices if any(one.decides(query, own) for query in queries))
    chosen = next((choice.noun for choice in decide), "")
    if chosen and settings.value.budget_amount.error is not None:
        raise section.report_key("bounds-chosen.loss", "error", chosen=chosen)
    if chosen and len(mechanisms) > 1:
        if section.mechanism is not None:
            raise section.report_key("bounds-chosen.loss", "mechanism", chosen=chosen)
        # Which mechanism is best would follow from what is chosen, and the loss with it.
        mechanisms = mechanisms[:1]
    if statistic.publishes_dates(inputs.value):
        refuse_for_dates(section, steps.value)
    bounded, alternative = reader.with_bounds(inputs.value)
    _require_rows_or_people(section, reader.designs(bounded)[0], limits, context)
    section.require()
    designs, post = reader.by_rows(bounded, steps.value)
    return Entry(
        bounded,
        statistic,
        mechanisms,
        settings.value.budget_amount,
        designs,
        calibration=settings.value.calibration,
        selected_by=bounded.name if selects.value else None,
        alternative_bounding=reader.designs(alternative) if alternative else (),
        post=post,
        raw=raw.value,
        caption=entry_caption(section, bounded, statistic, context.captions),
        limits=own,
    )


def _require_rows_or_people(
    section: EntryModel, design: Design, limits: Attempt[Limits], context: SpecContext
) -> None:
    """Refuses a mixture of rows and people, and rows of people that nothing limits."""
    unit, queries = context.relation_for(limits.value).unit, [one.query for one in design.queries]
    if not isinstance(unit, PersonUnit):
        return
    if context.has_people or unit.of_people:
        from dpcli.specification.people import require_one_kind

        require_one_kind(section, queries, of_people=unit.of_people)
    if context.limits_rows or unit.of_people or section.max_rows is not None:
        return
    has_groups = section.max_groups is not None or context.limits.max_groups is not None
    if any(
        query.row_limit(unit) is not None
        or (query.group_limit(unit) is not None and not has_groups)
        for query in queries
    ):
        # It is said once, of the first such entry.
        context.limits_rows = True
        column, name = section.node.scalar("column"), getattr(section.statistic_of, "name", "")
        if column:
            value = _value_of_person(name, context.columns.get(column.text), column.text)
            raise section.report("rows-without-limit.column", value=value)
        # Only counts of people may have keys of rows.
        is_count = name in _COUNTS
        raise section.report("rows-without-limit" if is_count else "rows-without-limit.values")


def _value_of_person(statistic: str, column: Column | None, name: str) -> str:
    """A column of people that suits the statistic, in place of the column of rows."""
    if statistic in ("sum", "inequality"):
        return f"sum: {name}, bounds: [0, 100]"
    is_averaged = statistic in _AVERAGES and column is not None and column.kind in _NUMBERS
    return f"{'mean' if is_averaged else 'most'}: {name}"


def _limits(
    section: EntryModel, statistic: Statistic, context: SpecContext, by: Attempt[tuple[Axis, ...]]
) -> Limits:
    """The limits on a person that hold for an entry."""
    own = read_limits(section, context)
    if not context.has_people and section.of is None:
        return own
    from dpcli.specification.people import is_of_people, limits_of_people

    is_about_people = is_of_people(section, statistic, context)
    return limits_of_people(section, own, by.value, context.limits) if is_about_people else own


def _read_where(section: EntryModel, context: SpecContext) -> tuple[Filter, ...]:
    section.require("where")
    if "where" not in section.node.pairs:
        return ()
    # Filters have models for each form of a condition.
    from dpcli.data.conditions import read_where

    return read_where(section, context)


def _require_new_name(section: EntryModel, context: SpecContext) -> None:
    name, span = section.name, node_at(section.node, "name").span
    if name in context.reserved_names:
        raise span.report(
            "reserved-name.statistic", statistic=name, taken_by=context.reserved_names[name]
        )
    first = context.names.setdefault(name, span)
    if first is not span:
        raise span.report("duplicate-name", statistic=name, line=first.line)


def _selects_partitions(
    section: EntryModel, statistic: Statistic, by: Attempt[tuple[Axis, ...]]
) -> bool:
    if statistic.selects_labels:
        return True
    section.require("keys")
    if getattr(section, "keys", None) is None:
        return False
    for key in ("column", "weight"):
        if getattr(section, key, None) is not None:
            statistics = statistics_with_field("keys")
            raise section.report_key("keys-not-taken", "keys", others=statistics)
    if not any(key.is_private for key in by.value):
        raise section.report_key("keys-declared", "keys")
    return True


MAX_STATISTICS = 1_000
MAX_TOTAL_CELLS, MAX_TOTAL_SCORES = 2_000_000, 10_000_000
MAX_QUERIES = 10_000

PlacedEntry = tuple[Entry, EntryModel]
"""An entry, and the model from which it was resolved."""


def resolve_entries(
    models: Sequence[EntryModel | None], section: SequenceNode | None, context: SpecContext
) -> tuple[Entry, ...]:
    """All entries of `statistics`.

    Entries with problems are left out after their problems are recorded. Raises
    `AlreadyReportedError` if the entries together ask for too much.
    """
    nodes = section.items if section else ()
    if section and not nodes:
        section.span.report("no-statistics")
    if len(nodes) > MAX_STATISTICS:
        span = nodes[MAX_STATISTICS].span
        raise span.report("too-many-statistics", count=len(nodes), most=MAX_STATISTICS)
    placed: list[PlacedEntry] = []
    cells = scores = queries = 0
    for model in filter(None, models):
        try:
            entry = _resolve_entry(model, context)
        except AlreadyReportedError:
            continue
        placed.append((entry, model))
        inputs = entry.inputs
        numbers, needed_scores = count_numbers_and_scores(entry.statistic, inputs)
        cells += 0 if entry.has_private_groups else numbers
        scores += needed_scores
        queries += len(entry.designs[0].queries)
        for code, items, count, limit in (
            ("too-many-cells", "cells", cells, MAX_TOTAL_CELLS),
            ("too-many-cells", "scores of candidates", scores, MAX_TOTAL_SCORES),
            ("too-many-queries", "queries", queries, MAX_QUERIES),
        ):
            if count > limit:
                subject = "the spec up to here"
                raise model.report(code, subject=subject, items=items, count=count, most=limit)
    all_valid = len(placed) == len(models)
    return _assign_selectors(placed, all_valid=all_valid)


def _assign_selectors(placed: Sequence[PlacedEntry], *, all_valid: bool) -> tuple[Entry, ...]:
    """The entries; those with private keys get the entry that selects their groups.

    If not `all_valid`, a missing selection is not reported: it may be in an entry that was left
    out.

    Privacy: the selecting entry may have other limits than the entries about its groups. Which
    groups are published follows from its noisy counts, whose noise and threshold are for its own
    limits. After that the groups are public, and every other answer has noise for its own limits.
    """
    selectors: dict[tuple[Axis, ...], Entry] = {}
    for entry, model in placed:
        selects = entry.selects_partitions and entry.has_private_groups
        first = selectors.setdefault(entry.inputs.by, entry) if selects else entry
        if first is not entry:
            arguments = {"statistic": entry.inputs.name, "other": first.inputs.name}
            model.report_key("keys-twice", "keys", **arguments)
    entries = []
    for entry, model in placed:
        selector = selectors.get(entry.inputs.by)
        private = [key.column.name for key in entry.inputs.by if key.is_private]
        if private and selector is None and all_valid:
            by = ", ".join(truncated(key.column.name) for key in entry.inputs.by)
            name = entry.inputs.name
            model.report_key("keys-required", "by", by=by, statistic=name, private=private)
        entries.append(replace(entry, selected_by=selector.inputs.name) if selector else entry)
    return tuple(entries)

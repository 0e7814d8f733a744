"""Reads the section `quality`: the check that comes before all statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from dpcli.data.candidate_bounds import LIMIT_NAME
from dpcli.data.column import BLANK, UNREADABLE
from dpcli.fields.tree import Attempt, MappingNode, attempt, read_valid
from dpcli.fields.values import AlreadyReportedError, ByForm, Delta, Epsilon, ExactNumber, Rho
from dpcli.privacy.unit import PersonUnit, RowUnit
from dpcli.queries.sums import GroupLimits
from dpcli.specification.context import SpecContext
from dpcli.specification.entry_fields import AnsweredModel, MechanismName, read_answer_settings
from dpcli.specification.model import Entry, QualityCheck
from dpcli.specification.privacy import Share
from dpcli.statistics.quality.completeness import Losses, losses
from dpcli.statistics.quality.faults import CellFault, Columns, FaultOrder, in_order
from dpcli.statistics.quality.quality_counts import QUALITY_COUNTS, quality_inputs

MAX_MIN_ROWS = 10**15
"""More rows than any file has."""

MULTIPLES = (2, 6)
"""People with this many times a limit are counted apart."""

MinRows = Annotated[
    int, ExactNumber("bad-minimum", min_value=1, max_value=MAX_MIN_ROWS, whole=True)
]
MinPeople = Annotated[
    int, ExactNumber("bad-minimum", min_value=1, max_value=MAX_MIN_ROWS, whole=True)
]


class QualityModel(AnsweredModel):
    """One charged query on units by their first fault, before all statistics."""

    epsilon: Epsilon | None = None
    rho: Rho | None = None
    delta: Delta | None = None
    mechanism: MechanismName | None = None

    min_rows: MinRows | None = None
    min_people: MinPeople | None = None
    min_readable: (
        Annotated[Share | Annotated[dict[str, Share], Field(min_length=1)], ByForm] | None
    ) = None
    max_limited: Share | None = None

    def resolved(
        self, context: SpecContext, resolved_entries: Attempt[Sequence[Entry]]
    ) -> QualityCheck:
        """The quality check; `AlreadyReportedError` after all problems are recorded.

        The faults that it counts are known only if all columns and statistics are.
        """
        node = self.node
        if node.pairs and not node.pairs.keys() & QualityModel.model_fields.keys():
            # This is not a quality check, and its unknown keys have been reported.
            raise AlreadyReportedError
        if not any(map(self.has, MINIMUMS)):
            self.report("quality-without-minimum")
        named = attempt(_read_min_readable, self, context)
        settings = read_answer_settings(
            self, context, QUALITY_COUNTS, Attempt(False), "price-required.quality"
        )
        relation = context.relation
        if self.min_people is not None and isinstance(context.unit, RowUnit):
            node.key_span("min_people").report("no-people")
        of_chosen = self.min_rows is not None and LIMIT_NAME in context.choices
        if of_chosen and not context.published:
            node.key_span("min_rows").report("rows-of-chosen-limit")
        self.require()
        if context.unit is None:
            raise AlreadyReportedError
        entries = resolved_entries.value
        if None in context.columns.values():
            raise AlreadyReportedError
        order = _fault_order(entries, named.value or {}, cell_columns(context), context)
        shares = named.value
        if shares is None:
            used = [
                fault.column.name
                for fault in order.cells
                if fault.state == UNREADABLE and not fault.column.reads_all
            ]
            share = self.min_readable
            shares = dict.fromkeys(used, share) if isinstance(share, Fraction) else {}
            if isinstance(share, Fraction) and not used and not self.has("min_rows"):
                self.report_key("quality-without-minimum.columns", "min_readable")
        if self.max_limited is not None and not order.starts:
            self.report_key("nothing-limited", "max_limited", why=_why_nothing_limited(context))
        chosen, budget, calibration = settings
        with_rows = self.min_rows is not None and isinstance(relation.unit, PersonUnit)
        inputs = quality_inputs(order, with_rows=with_rows)
        designs = QUALITY_COUNTS.designs(inputs, relation)
        entry = Entry(inputs, QUALITY_COUNTS, chosen, budget, designs, calibration)
        return QualityCheck(entry, self.min_rows, shares, self.max_limited, self.min_people)


def _why_nothing_limited(context: SpecContext) -> str:
    if LIMIT_NAME in context.choices:
        return "the limit is chosen only after the check"
    if isinstance(context.relation.unit, PersonUnit):
        return "all statistics use all rows of a person"
    return "rows are the privacy unit"


MINIMUMS = ("min_rows", "min_people", "min_readable", "max_limited")
"""The keys of a check that something could fail."""


def cell_columns(context: SpecContext) -> Columns:
    """The declared columns, and what the spec says about their cells."""
    return Columns(
        {name: column for name, column in context.columns.items() if column is not None},
        context.unit.column if isinstance(context.unit, PersonUnit) else "",
        frozenset(context.may_be_blank | context.blank_answers),
        frozenset(context.chosen),
    )


def _fault_order(
    entries: Sequence[Entry], named: Mapping[str, Fraction], columns: Columns, context: SpecContext
) -> FaultOrder:
    """The faults of all entries, and of the columns with a minimum of their own."""
    possible, limits, every, kept = context.possible, set[int](), list[Losses](), 1
    groups: dict[GroupLimits, None] = {}
    for entry in entries:
        relation = context.relation_for(entry.limits)
        lost = losses(
            entry.inputs, entry.designs, relation, columns, possible.rows, possible.groups
        )
        every.append(lost)
        if LIMIT_NAME in context.choices and entry.limits.max_rows is None:
            # The limit is chosen after the check, and limits on groups may follow from it.
            continue
        groups |= dict.fromkeys(lost.groups)
        if lost.groups and isinstance(relation.unit, PersonUnit):
            kept = max(kept, relation.unit.max_rows)
        if lost.limits_rows and lost.max_rows is not None:
            limits.add(lost.max_rows)
    faults = [fault for one in every for fault in one.cells]
    for name in named:
        column = columns.declared[name]
        faults.append(CellFault(column, BLANK if column.derivation else UNREADABLE))
    # A column that must be readable most often comes first: it hides others, and none hides it.
    least = {name: -share for name, share in named.items()}
    ordered = sorted(
        in_order(faults),
        key=lambda fault: least.get(fault.column.name, 0) if fault.state == UNREADABLE else 1,
    )
    starts = {limit + 1 for limit in limits}
    starts |= {max(limit * times, limit + 1) for limit in limits for times in MULTIPLES}
    return FaultOrder(
        tuple(fault for fault in ordered if fault.state != BLANK),
        tuple(sorted(starts)),
        tuple(groups),
        tuple(fault for fault in ordered if fault.state == BLANK),
        kept,
    )


def _read_min_readable(
    section: QualityModel, context: SpecContext
) -> Mapping[str, Fraction] | None:
    """The minimums of the named columns; None if all used columns have the same one."""
    ids = context.unit.id_columns if isinstance(context.unit, PersonUnit) else ()
    node = section.node.value("min_readable")
    if not isinstance(node, MappingNode):
        return None
    names = read_valid(context.declared_name, [key for key, _ in node.pairs.values()])
    for name in (one for one in names if one in ids):
        # Rows without a readable id are left out of all statistics and of the check.
        node.key_span(name).report("id-column.quality", column=name)
    shares = section.min_readable
    return {name: shares[name] for name in names} if isinstance(shares, dict) else {}

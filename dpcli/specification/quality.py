"""Reads the section `quality`: the check that comes before all statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from dpcli.fields.tree import Attempt, MappingNode, attempt, read_valid
from dpcli.fields.values import AlreadyReportedError, ByForm, Delta, Epsilon, ExactNumber, Rho
from dpcli.privacy.unit import PersonUnit, Relation, RowUnit
from dpcli.specification.context import SpecContext
from dpcli.specification.entry_fields import AnsweredModel, MechanismName, read_answer_settings
from dpcli.specification.model import Entry, QualityCheck
from dpcli.statistics.design import Inputs
from dpcli.statistics.quality.quality_counts import (
    QUALITY_COUNTS,
    counted_limits,
    with_limits,
    with_people,
)

MAX_MIN_ROWS = 10**15
"""More rows than any file has."""

MinRows = Annotated[
    int, ExactNumber("bad-minimum", min_value=1, max_value=MAX_MIN_ROWS, whole=True)
]
MinPeople = Annotated[
    int, ExactNumber("bad-minimum", min_value=1, max_value=MAX_MIN_ROWS, whole=True)
]
Share = Annotated[Fraction, ExactNumber("bad-minimum.share", above=0, max_value=1)]


class QualityModel(AnsweredModel):
    """One charged query on rows and readable cells, before all statistics."""

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

    def resolved(self, context: SpecContext) -> QualityCheck:
        """The quality check; `AlreadyReportedError` after all problems are recorded."""
        node = self.node
        if node.pairs and not node.pairs.keys() & QualityModel.model_fields.keys():
            # This is not a quality check, and its unknown keys have been reported.
            raise AlreadyReportedError
        if not any(map(self.has, MINIMUMS)):
            self.report("quality-without-minimum")
        shares = attempt(_read_min_readable, self, context)
        settings = read_answer_settings(
            self, context, QUALITY_COUNTS, Attempt(False), "price-required.quality"
        )
        self.require()
        columns = filter(None, map(context.columns.get, shares.value))
        checked = tuple(column.without_missing_constant() for column in columns)
        inputs = Inputs(QUALITY_COUNTS.name, checked=checked)
        if self.min_people is not None:
            inputs = with_people(inputs)
            if isinstance(context.unit, RowUnit):
                node.key_span("min_people").report("no-people")
        chosen, budget, calibration = settings
        designs = QUALITY_COUNTS.designs(inputs, context.relation)
        entry = Entry(inputs, QUALITY_COUNTS, chosen, budget, designs, calibration)
        return QualityCheck(entry, self.min_rows, shares.value, self.max_limited, self.min_people)

    def with_limits(
        self, check: QualityCheck, entries: Sequence[Entry], relation: Relation
    ) -> QualityCheck:
        """The check, extended to count the rows that limits leave out of these `entries`."""
        designs = (entry.designs for entry in entries)
        inputs = with_limits(check.entry.inputs, designs, relation)
        if check.max_limited is not None and not counted_limits(inputs):
            why = "rows are the privacy unit"
            if isinstance(relation.unit, PersonUnit):
                why = "all statistics use all rows of a person"
            self.report_key("nothing-limited", "max_limited", why=why)
        counts = QUALITY_COUNTS.designs(inputs, relation)
        return replace(check, entry=replace(check.entry, inputs=inputs, designs=counts))


MINIMUMS = ("min_rows", "min_people", "min_readable", "max_limited")
"""The keys of a check that something could fail."""


def _read_min_readable(section: QualityModel, context: SpecContext) -> dict[str, Fraction]:
    unit = context.unit.column if isinstance(context.unit, PersonUnit) else None
    node = section.node.value("min_readable")
    if isinstance(node, MappingNode):
        names = read_valid(context.declared_name, [key for key, _ in node.pairs.values()])
        if unit in names:
            # Rows without a readable id are left out of all statistics and of the check.
            node.key_span(str(unit)).report("id-column.quality", column=unit)
        shares = section.min_readable
        return {name: shares[name] for name in names} if isinstance(shares, dict) else {}
    # A derived column is as readable as the columns from which it is computed. A blank cell of a
    # question with several answers is an answer.
    names = [
        name
        for name, column in context.columns.items()
        if column
        and name != unit
        and column.derivation is None
        and name not in context.blank_answers
    ]
    no_columns = not names and None not in context.columns.values()
    if node is not None and no_columns and not section.has("min_rows"):
        section.report_key("quality-without-minimum.columns", "min_readable")
    share = section.min_readable
    return dict.fromkeys(names, share) if isinstance(share, Fraction) else {}

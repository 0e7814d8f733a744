"""What an entry counts, and what the limits on people leave out of it."""

from __future__ import annotations

from dpcli.plan.model import Part, PlannedEntry
from dpcli.privacy.relation import PersonUnit
from dpcli.queries import LinearQuery, Query
from dpcli.spec.model import Spec

COUNTING = ("count", "histogram", "marginals", "count_distinct")
"""Statistics whose numbers are counts; the values of all others are taken over what is counted."""

PEOPLE = "people"


def counted(planned: PlannedEntry, spec: Spec) -> str:
    """What is counted, or what values are taken over, as a plural: rows, visits or people."""
    column = planned.entry.request.column
    if planned.parts[0].question.role != "distinct":
        return spec.rows_are
    if isinstance(planned.parts[0].question.query, LinearQuery) or column is None:
        return PEOPLE
    return f"different values of {column.name}"


def in_words(planned: PlannedEntry, spec: Spec) -> str:
    """The same as a heading continues: `counts visits`, or `over visits`."""
    verb = "counts" if planned.entry.statistic.name in COUNTING else "over"
    return f"{verb} {counted(planned, spec)}"


def question_of(part: Part, planned: PlannedEntry, spec: Spec) -> str:
    """The role of a question; where it counts, what it counts."""
    role = part.question.role
    if role == "distinct":
        return f"number of {counted(planned, spec)}"
    return f"{role} of {spec.rows_are}" if role == "count" else role


def left_out(planned: PlannedEntry, spec: Spec) -> str:
    """What the limits on people leave out, in a sentence; empty where rows are protected."""
    unit = spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return ""
    query = planned.parts[0].question.query
    if isinstance(query, LinearQuery) and query.totals is not None:
        return _of_totals(query, unit, planned, spec)
    rows = spec.rows_are
    if unit.rows == 1:
        return f"at most one of the {rows} of a person is used; others are left out at random"
    limits = ""
    if grouped(query):
        limits += f", in at most {_groups(unit.cells)}" if unit.cells < unit.rows else ""
        if unit.rows_per_cell < unit.rows:
            limits += f", at most {unit.rows_per_cell:,} in each group"
    return f"at most {unit.rows:,} {rows} per person are used{limits}; more are left out at random"


def _of_totals(query: LinearQuery, unit: PersonUnit, planned: PlannedEntry, spec: Spec) -> str:
    """The same where all rows of a person are looked at, and groups alone are left out."""
    if counted(planned, spec) == PEOPLE:
        looked = "each person counts once"
        looked += " in a group" if grouped(query) else f", by any of their {spec.rows_are}"
    else:
        looked = f"all {spec.rows_are} of a person are used, up to a total that is declared"
    if not grouped(query):
        return looked
    return f"{looked}, in at most {_groups(unit.cells)}; more groups are left out at random"


def grouped(query: Query) -> bool:
    """Whether a query answers for several groups, or for those that it finds."""
    return query.cells != 1


def _groups(count: int) -> str:
    return f"{count:,} group{'' if count == 1 else 's'}"

"""`QueryTerms`: what decides the sensitivity of a query, for any reader.

A report states them, but for those with their default. `dpcli.proof.verify` recomputes the
sensitivity from them by a second path.
"""

from __future__ import annotations

from dpcli.fields.json import Count, JsonObject
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorTerms(JsonObject):
    """A factor of a product: `times` a value of the column minus `offset`."""

    column: str
    lower: int
    upper: int
    step: str
    times: int = 1
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms(JsonObject):
    """The rule that bounds a sensitivity, and its arguments, in steps of the answer.

    A row adds from `low` to `high` to a number. There are `groups` with `numbers` numbers each;
    None if the groups are private. The `limits` are the most rows of a unit in a group, in all,
    and the most of its groups, as they hold for this query; None where a row is the unit. What the
    other arguments mean, each `rule` says: a query states those that its rule needs.
    """

    rule: str
    low: int
    high: int
    groups: Count | None
    numbers: Count
    limits: tuple[Count, Count, Count] | None
    factors: tuple[FactorTerms, ...] = ()
    offset: int = 0
    clamp: tuple[int, int] | None = None
    skips: bool = False
    counted: int | None = None
    times: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    score: str | None = None
    quantile: str | None = None
    ridge: str | None = None
    norm: str | None = None
    fixed_sum: bool = False
    of: tuple[QueryTerms, ...] = ()


def limits_of(unit: Unit) -> tuple[int, int, int] | None:
    """The limits on the rows of a unit in a group and in all, and on its groups."""
    if not isinstance(unit, PersonUnit):
        return None
    return unit.max_rows_per_group, unit.max_rows, unit.max_groups

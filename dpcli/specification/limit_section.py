"""Reads `max_rows: {choose: ...}`: a limit that noisy counts will choose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import model_validator

from dpcli.privacy.unit import PersonUnit
from dpcli.queries.query import Query
from dpcli.spec_values import Epsilon, ExactNumber, SectionModel, Text, invalid_value
from dpcli.specification.bounds_section import CHOSEN_OR_KEPT, WHOLE, Cover, LadderName
from dpcli.specification.tree import MappingNode, Node, node_at
from dpcli.specification.validation import Section
from dpcli.statistics.bounds_ladder import LADDERS
from dpcli.statistics.limit_choice import LIMIT_NAME, MAX_ROWS, KeptLimit, LimitChoice, chosen_limit

if TYPE_CHECKING:
    from dpcli.specification.context import SpecContext
    from dpcli.specification.model import CentralSpec

MAX_LIMIT = 1_000_000
"""A larger limit on rows would protect no better than no limit."""

Limit = Annotated[int, ExactNumber("limit-not-whole", least=1, most=MAX_LIMIT, whole=True)]
OutermostLimit = Annotated[
    int, ExactNumber("limit-not-whole.outermost", least=2, most=MAX_LIMIT, whole=True)
]

EXAMPLES = {"choose": "1-2-5", "up_to": "1000", "epsilon": "0.05"}
"""What a message proposes for them."""


class ChosenLimitModel(SectionModel):
    """A limit that is chosen from noisy counts of people by their rows, or was chosen before."""

    model_config = CHOSEN_OR_KEPT

    choose: LadderName | None = None
    up_to: OutermostLimit | None = None
    epsilon: Epsilon | None = None
    cover: Cover = Fraction(1)
    from_release: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _require_form(cls, value: dict[str, object]) -> dict[str, object]:
        if not cls.model_fields.keys() & value.keys():
            raise invalid_value("wrong-shape.limit-mapping")
        return value


def read_limit(section: Section[Any], model: int | ChosenLimitModel, context: SpecContext) -> int:
    """The limit on rows per person as far as it is known, else the outermost one."""
    if isinstance(model, int):
        return model
    if model.from_release is not None:
        return _kept_limit(section, model.from_release, context)
    for key in WHOLE:
        if getattr(model, key) is None:
            line = f"`{key}: {EXAMPLES[key]}`"
            facts = {"owner": f"`{MAX_ROWS}`", "key": key, "line": line}
            raise section.report("missing-field", "unit", MAX_ROWS, **facts)
    kind = next(kind for kind in LADDERS if kind.name == model.choose)
    up_to, epsilon = model.up_to or MAX_LIMIT, model.epsilon or Fraction(0)
    choice = LimitChoice.of(kind, up_to, model.cover, epsilon, context.chosen.get(LIMIT_NAME))
    if choice.limit > up_to:
        raise ValueError("no chosen limit is above the outermost one")
    context.limit_choice = choice
    return choice.limit


def _kept_limit(section: Section[Any], release: str, context: SpecContext) -> int:
    node = node_at(section.node, "unit", MAX_ROWS)
    keys = node.pairs if isinstance(node, MappingNode) else ()
    others = [key for key in keys if key != "from_release"]
    if others:
        path = ("unit", MAX_ROWS, others[0])
        raise section.report_key("bounds-kept.limit-alone", *path, key=others[0])
    chosen = context.choice_of(release, LIMIT_NAME)
    if not chosen:
        code = "bounds-kept.limit" if context.published else "bounds-kept.limit-no-ledger"
        raise section.report(code, "unit", MAX_ROWS, "from_release", release_id=release)
    context.kept.append(KeptLimit(MAX_ROWS, release, chosen))
    return chosen_limit(chosen)


def depends_on_limit(queries: Iterable[Query], unit: PersonUnit) -> bool:
    """Whether the limit on rows per person decides what is answered to a query, or its noise."""
    return any(_depends(query, unit) for query in queries)


def open_choice(queries: Sequence[Query], context: SpecContext) -> str | None:
    """The column whose chosen bounds queries depend on; empty if it is the limit, None without."""
    unit = context.unit
    is_open = context.limit_choice is not None
    if is_open and isinstance(unit, PersonUnit) and depends_on_limit(queries, unit):
        return ""
    names = (column.name for query in queries for column in query.columns)
    return next((name for name in names if name in context.choices), None)


def refuse_open_choice(section: Section[Any], key: str, column: str) -> None:
    """Refuses a `key` that decides the loss by what noisy counts choose."""
    code = f"bounds-chosen.{key}" if column else f"bounds-chosen.{key}-limit"
    raise section.report_key(code, key, **({"column": column} if column else {}))


def _depends(query: Query, unit: PersonUnit) -> bool:
    # Totals are of all rows. The limit on groups is that on rows unless it is declared.
    follows = query.cells != 1 and unit.max_groups == unit.max_rows
    return query.total_clamp is None or follows


def require_limit_used(root: Node, spec: CentralSpec) -> None:
    """Reports a choice that neither a statistic nor the quality check uses: it would be charged."""
    unit = spec.privacy.unit
    if spec.limit_choice is None or not isinstance(unit, PersonUnit):
        return
    queries = (query for entry in spec.charged_entries for query in entry.queries)
    if not depends_on_limit(queries, unit):
        place = node_at(root, "privacy", "unit", MAX_ROWS)
        place.span.report("bounds-unused.limit")

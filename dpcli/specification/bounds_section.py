"""Reads `bounds: {choose: ...}`: bounds that noisy counts will choose."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from dpcli.columns import Column, NumericColumn
from dpcli.mechanisms.laplace import Laplace
from dpcli.numeric.exact import readable_text
from dpcli.privacy.loss import BudgetRequest
from dpcli.privacy.neighboring import Relation
from dpcli.spec_values import (
    Choice,
    Epsilon,
    ExactNumber,
    Number,
    SectionModel,
    Text,
    invalid_value,
)
from dpcli.specification.context import SpecContext
from dpcli.specification.grid import MAX_STEPS, require_whole_steps
from dpcli.specification.model import Entry
from dpcli.specification.tree import ScalarNode, node_at
from dpcli.specification.validation import Section
from dpcli.statistics.bounds_choice import BoundsChoice, KeptBounds, bounds_name
from dpcli.statistics.bounds_ladder import LADDERS, Ladder

LadderName = Annotated[
    str, Choice("unknown-choice", lambda: {kind.name: kind.summary for kind in LADDERS})
]
Cover = Annotated[Fraction, ExactNumber("bad-minimum.share", above=0, most=1)]

WHOLE = ("choose", "up_to", "epsilon")
"""The keys of a choice that have no default."""

CHOSEN_OR_KEPT = ConfigDict(
    json_schema_extra={"oneOf": [{"required": [*WHOLE]}, {"required": ["from_release"]}]}
)
"""The two forms of a choice, for editors."""

EXAMPLES = {"choose": "1-2-5", "up_to": "10000000", "epsilon": "0.05"}
"""What a message proposes for them."""


class ChosenBoundsModel(SectionModel):
    """Bounds that are chosen from noisy counts within the outermost ones, or were chosen before."""

    model_config = CHOSEN_OR_KEPT

    choose: LadderName | None = None
    lowest: Number = Field(Fraction(0), alias="from")
    up_to: Number | None = None
    epsilon: Epsilon | None = None
    cover: Cover = Fraction(1)
    from_release: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _require_form(cls, value: dict[str, object]) -> dict[str, object]:
        if not {*cls.model_fields, "from"} & value.keys():
            raise invalid_value("wrong-shape.bounds-mapping")
        return value


def with_kept_bounds(section: Section[Any], name: str, context: SpecContext) -> Section[Any]:
    """The section of a column, in which bounds of an earlier release stand as if written."""
    model = section.values.__dict__.get("bounds")
    if not isinstance(model, ChosenBoundsModel) or model.from_release is None:
        return section
    others = [key for key in section.node.mapping("bounds").pairs if key != "from_release"]  # type: ignore[union-attr]
    if others:
        raise section.report_key("bounds-kept.alone", "bounds", others[0], key=others[0])
    release, histogram = model.from_release, bounds_name(name)
    bounds = context.choice_of(release, histogram)
    if not bounds:
        code = "bounds-kept" if context.published else "bounds-kept.no-ledger"
        raise section.report(code, "bounds", "from_release", release_id=release, column=name)
    context.kept.append(KeptBounds(name, release, bounds))
    written = [bounds.lower, bounds.upper]
    return replace(section, values=section.values.model_copy(update={"bounds": written}))


def outermost_bounds(
    section: Section[Any], model: ChosenBoundsModel, step: Fraction
) -> tuple[tuple[int, int], tuple[str, str]]:
    """The outermost bounds in whole steps that fit 64 bits, and their texts."""
    for key in WHOLE:
        if getattr(model, key) is None:
            line = f"`{key}: {EXAMPLES[key]}`"
            raise section.report("missing-field", "bounds", owner="`bounds`", key=key, line=line)
    low, high = model.lowest, model.up_to or Fraction(0)
    texts = readable_text(low), readable_text(high)
    if low >= high:
        code = "bounds-order.equal" if low == high else "bounds-order.chosen"
        raise section.report(code, "bounds", "up_to", low=texts[0], high=texts[1])
    larger, most = step, max(abs(low), abs(high))
    while most / larger >= MAX_STEPS:
        larger *= 10
    if larger > step:
        facts = {"step": readable_text(step), "larger": readable_text(larger)}
        raise section.report("grid-too-fine.step", "bounds", "up_to", **facts)
    return (_in_steps(section, "from", low, step), _in_steps(section, "up_to", high, step)), texts


def _in_steps(section: Section[Any], key: str, bound: Fraction, step: Fraction) -> int:
    scalar = node_at(section.node, "bounds", key)
    if not isinstance(scalar, ScalarNode):
        # Zero is the default.
        return 0
    return require_whole_steps(bound / step, step, scalar, f"`{key}`")


def read_choice(column: Column, section: Section[Any], context: SpecContext) -> Column:
    """The column with its bounds as far as they are chosen; the context keeps the choice."""
    model = getattr(section.values, "bounds", None)
    if not isinstance(model, ChosenBoundsModel) or not isinstance(column, NumericColumn):
        return column
    kind = next(kind for kind in LADDERS if kind.name == model.choose)
    chosen, epsilon = context.chosen.get(bounds_name(column.name)), model.epsilon or Fraction(0)
    ladder = Ladder(column, kind)
    if len(ladder.bins) == 1:
        low, high = map(column.text, column.limits)
        raise section.report("bounds-unused.single", "bounds", ladder=kind.name, low=low, high=high)
    choice = BoundsChoice(ladder, model.cover, epsilon, chosen)
    context.choices[column.name] = choice
    return choice.bounded(chosen)


def choice_entry(choice: BoundsChoice, relation: Relation) -> Entry:
    """The entry that is charged for the noisy histogram of a choice: Laplace noise."""
    budget = BudgetRequest(epsilon=choice.epsilon)
    request, histogram = choice.request, choice.histogram
    return Entry(request, histogram, (Laplace(),), budget, histogram.designs(request, relation))


def require_choices_used(context: SpecContext) -> None:
    """Reports choices that no statistic uses: they would be charged without use."""
    for name in context.choices.keys() - context.bounded:
        context.spans[name].report("bounds-unused", column=name)

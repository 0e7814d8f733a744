"""Reads `bounds: {choose: ...}`: bounds that noisy counts will choose."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from dpcli.columns import Column, NumericColumn
from dpcli.mechanisms.laplace import Laplace
from dpcli.numeric.exact import readable_text
from dpcli.privacy.loss import BudgetRequest
from dpcli.spec_values import Choice, Epsilon, ExactNumber, Number, SectionModel
from dpcli.specification.grid import MAX_STEPS, require_whole_steps
from dpcli.specification.model import Entry
from dpcli.specification.tree import ScalarNode, node_at
from dpcli.specification.validation import Section
from dpcli.statistics.bounds_choice import BOUNDS_HISTOGRAM, BoundsChoice
from dpcli.statistics.bounds_ladder import LADDERS, Ladder

if TYPE_CHECKING:
    from dpcli.specification.columns_section import SpecContext

Cover = Annotated[Fraction, ExactNumber("bad-minimum.share", above=0, most=1)]


class ChosenBoundsModel(SectionModel):
    """Bounds that are chosen from noisy counts, within the outermost ones."""

    choose: Annotated[
        str, Choice("unknown-choice", lambda: {kind.name: kind.summary for kind in LADDERS})
    ]
    lowest: Number = Field(Fraction(0), alias="from")
    up_to: Number
    epsilon: Epsilon
    cover: Cover = Fraction(1)


def outermost_bounds(
    section: Section[Any], model: ChosenBoundsModel, step: Fraction
) -> tuple[tuple[int, int], tuple[str, str]]:
    """The outermost bounds in whole steps that fit 64 bits, and their texts."""
    low, high = model.lowest, model.up_to
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
    chosen = context.chosen.get(column.name)
    choice = BoundsChoice(Ladder(column, kind), model.cover, model.epsilon, chosen)
    context.choices[column.name] = choice
    return choice.bounded(chosen)


def choice_entry(choice: BoundsChoice) -> Entry:
    """The entry that is charged for the noisy histogram of a choice: Laplace noise."""
    request = BudgetRequest(epsilon=choice.epsilon)
    return Entry(choice.request, BOUNDS_HISTOGRAM, (Laplace(),), request)


def require_choices_used(context: SpecContext) -> None:
    """Reports choices that no statistic uses: they would be charged for nothing."""
    for name in context.choices.keys() - context.bounded:
        context.spans[name].report("bounds-unused", column=name)

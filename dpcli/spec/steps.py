"""Forms of `post` and `withhold`: what is done to noisy answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from inspect import getdoc
from typing import Annotated, Any

from pydantic import WithJsonSchema

from dpcli.messages import shown
from dpcli.privacy.decimals import readable_text
from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.spec.findings import read_all
from dpcli.spec.grid import read_number
from dpcli.spec.nodes import Listing, Mapping, Node, Word, described
from dpcli.spec.part import Part
from dpcli.statistics.base import Statistic
from dpcli.statistics.post import STEPS, Step, Withhold
from dpcli.values import Exact, Shape

FIGURE = {"type": ["number", "string"]}
FORMS: tuple[tuple[str, Any], ...] = (
    ("{name}", None),
    ("{{{name}: 10}}", FIGURE),
    ("{{{name}: [0, 100]}}", {"type": "array", "items": FIGURE, "minItems": 2, "maxItems": 2}),
)
"""How steps with no, one and two numbers are written, and the form of these numbers."""


def _schema() -> dict[str, Any]:
    numbered = [
        {
            "type": "object",
            "properties": {step.name: FORMS[step.numbers][1] | {"description": getdoc(step)}},
            "required": [step.name],
            "additionalProperties": False,
        }
        for step in STEPS
        if step.numbers
    ]
    return {"anyOf": [{"enum": [step.name for step in STEPS if not step.numbers]}, *numbered]}


Steps = Annotated[list[Any], WithJsonSchema({"type": "array", "items": _schema()})]
"""Each step by its name, or by its name and numbers; `read_steps` knows which suit."""


class WithholdShape(Shape):
    """Which numbers are left out because their intervals are wide."""

    wider_than: Annotated[Fraction, Exact("not-in-range.width", above=0)]


def read_steps(part: Part[Any], statistic: Statistic, unit: Unit | None) -> tuple[Step, ...]:
    """The steps of `post` and `withhold`."""
    if part.has("withhold") and statistic.chooses:
        raise part.report_key("field-not-taken.withhold", "withhold")
    part.require("post", "withhold")
    withhold, post = part.values.withhold, part.node.listing("post")
    if post is not None:
        steps = read_all(lambda node: _step(node, statistic), post.items)
        if any(step.name == "consistent" for step in steps[1:]):
            raise part.report_key("step-order", "post")
    else:
        # Where limits on people keep other rows for each table, tables need not agree.
        limited = isinstance(unit, PersonUnit) and unit.limits_groups
        names = () if limited else statistic.default_steps
        steps = [step() for step in STEPS if step.name in names]
    return (*steps, *([Withhold(withhold.wider_than)] if withhold else []))


def _step(node: Node, statistic: Statistic) -> Step:
    pairs = list(node.pairs.values()) if isinstance(node, Mapping) else [(node, None)]
    word, value = pairs[0] if len(pairs) == 1 else (None, None)
    if not isinstance(word, Word):
        raise node.span.report("wrong-shape.one-step")
    name, span = word.text, word.span
    steps = {one.name: one for one in STEPS}
    if name not in steps:
        facts = {"name": "a step of `post`", "found": shown(name)}
        raise span.report("unknown-step", word=name, choices=steps, **facts)
    if name not in statistic.steps:
        code = "step-not-taken" if statistic.steps else "step-not-taken.none"
        raise span.report(code, statistic=statistic.name, step=name, takes=statistic.steps)
    step = steps[name]
    items = value.items if isinstance(value, Listing) else () if value is None else (value,)
    where = span if value is None else value.span
    example = FORMS[step.numbers][0].format(name=name)
    if len(items) != step.numbers:
        count = {"count": len(items), "wanted": step.numbers}
        raise where.report("step-numbers", step=name, example=example, **count)

    def read(item: Node) -> Fraction:
        what = f"a number of `{name}`"
        if isinstance(item, Word):
            return read_number(item, what)
        facts = {"found": described(item), "example": example}
        raise item.span.report("wrong-shape.one-number", name=what, **facts)

    numbers = read_all(read, items)
    if numbers != sorted(numbers):
        low, high = map(readable_text, numbers)
        raise where.report("bounds-order.clamp", low=low, high=high)
    return step(*numbers)


def read_raw(part: Part[Any], statistic: Statistic, steps: Callable[[], Sequence[Step]]) -> bool:
    """Whether noisy answers are published too.

    By default they are where totals were made consistent, unless some numbers are left out:
    what is left out must not stand in the table under another name.
    """
    raw: bool | None = part.values.raw
    if raw and not statistic.keeps_raw:
        raise part.report_key("raw-not-taken", "raw")
    names = {step.name for step in steps()}
    if raw is None:
        return bool(statistic.default_steps) and names == {"consistent"}
    if raw and Withhold.name in names:
        raise part.report_key("raw-of-withheld", "raw")
    return raw

"""Forms of `post` and `withhold`: what is done to noisy answers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

from pydantic import WithJsonSchema

from dpcli.messages import shown
from dpcli.numbers import NotReadable, number
from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.spec.fit import Part
from dpcli.spec.nodes import Listing, Mapping, Node, Word, at, described
from dpcli.statistics.base import Statistic
from dpcli.statistics.post import PLAIN, STEPS, Clamp, Step, SuppressBelow, Withhold
from dpcli.values import Exact, Shape

EXAMPLES = {"clamp": "{clamp: [0, 100]}", "suppress_below": "{suppress_below: 10}"}
"""How steps with numbers are written."""

FIGURE = {"type": ["number", "string"]}
FORMS = (
    (Clamp, {"type": "array", "items": FIGURE, "minItems": 2, "maxItems": 2}),
    (SuppressBelow, FIGURE),
)
NUMBERED = [
    {
        "type": "object",
        "properties": {step.name: {**form, "description": (step.__doc__ or "").strip()}},
        "required": [step.name],
        "additionalProperties": False,
    }
    for step, form in FORMS
]
ITEM = {"anyOf": [{"enum": [step.name for step in PLAIN]}, *NUMBERED]}

Steps = Annotated[list[Any], WithJsonSchema({"type": "array", "items": ITEM})]
"""Each step by its name, or by its name and numbers; `read_steps` knows which suit."""


class WithholdShape(Shape):
    """Which numbers are left out because their intervals are wide."""

    wider_than: Annotated[Fraction, Exact("not-in-range.width", above=0)]


def read_steps(part: Part[Any], statistic: Statistic, unit: Unit | None) -> tuple[Step, ...] | None:
    """The steps of `post` and `withhold`; None after problems are recorded."""
    withhold = part.values.withhold
    if part.has("withhold") and statistic.chooses:
        part.report_key("field-not-taken.withhold", "withhold", statistic=statistic.name)
        return None
    if part.bad & {"post", "withhold"}:
        return None
    if part.has("post"):
        found = [_step(part, statistic, place) for place in range(len(part.values.post))]
        steps = [step for step in found if step is not None]
        if len(steps) < len(found):
            return None
        if any(step.name == "consistent" for step in steps[1:]):
            part.report_key("step-order", "post")
            return None
    else:
        # Where limits on people keep other rows for each table, tables need not agree.
        limited = isinstance(unit, PersonUnit) and unit.limits_groups
        names = () if limited else statistic.default_steps
        steps = [step for step in PLAIN if step.name in names]
    return (*steps, *([Withhold(withhold.wider_than)] if withhold else []))


def _step(part: Part[Any], statistic: Statistic, place: int) -> Step | None:
    node, findings = at(part.node, "post", place), part.findings
    pairs = list(node.pairs.values()) if isinstance(node, Mapping) else [(node, None)]
    word, numbers = pairs[0] if len(pairs) == 1 else (None, None)
    if not isinstance(word, Word):
        findings.report("wrong-shape.one-step", node.span)
        return None
    name, span = word.text, word.span
    if name not in {step.name for step in STEPS}:
        names, facts = [step.name for step in STEPS], {"name": "a step of `post`"}
        findings.report_unknown("unknown-step", name, names, span, found=shown(name), **facts)
        return None
    if name not in statistic.steps:
        code = "step-not-taken" if statistic.steps else "step-not-taken.none"
        findings.report(code, span, statistic=statistic.name, step=name, takes=statistic.steps)
        return None
    plain = next((step for step in PLAIN if step.name == name), None)
    if (plain is None) == (numbers is None):
        code = "step-numbers" if plain else "step-numbers.needed"
        findings.report(code, span, step=name, example=EXAMPLES.get(name, name))
        return None
    return plain or _numbered(part, name, numbers)


def _numbered(part: Part[Any], name: str, node: Node | None) -> Step | None:
    """A step with its numbers: two for `clamp`, else one."""
    assert node is not None
    items: Sequence[Any] = node.items if isinstance(node, Listing) else (node,)
    findings = part.findings
    wanted, example = 2 if name == "clamp" else 1, EXAMPLES[name]
    if len(items) != wanted:
        count = {"count": len(items), "wanted": wanted}
        findings.report("step-numbers.count", node.span, step=name, example=example, **count)
        return None
    found, what = [], f"a number of `{name}`"
    for item in items:
        if not isinstance(item, Word):
            facts = {"name": what, "found": described(item), "example": example}
            findings.report("wrong-shape.one-number", item.span, **facts)
            return None
        try:
            found.append(number(item.text))
        except NotReadable as failure:
            facts = {"name": what, "found": shown(item.text), "advice": failure.advice}
            findings.report("not-a-number", item.span, **facts)
            return None
    if name != "clamp":
        return SuppressBelow(found[0])
    if found[0] <= found[1]:
        return Clamp(*found)
    low, high = items
    findings.report("bounds-order.clamp", node.span, low=low.text, high=high.text)
    return None


def read_raw(
    part: Part[Any], statistic: Statistic, user: str, steps: Sequence[Step] | None
) -> bool | None:
    """Whether noisy answers are published too; None after a problem is recorded.

    By default they are where totals were made consistent, unless some numbers are left out:
    what is left out must not stand in the table under another name.
    """
    names = {step.name for step in steps or ()}
    raw: bool | None = part.values.raw
    if "raw" in part.bad:
        return None
    if raw is None:
        return bool(statistic.default_steps) and names == {"consistent"}
    if raw and not statistic.keeps_raw:
        part.report_key("raw-not-taken", "raw", statistic=statistic.name)
        return None
    if raw and Withhold.name in names:
        part.report_key("raw-of-withheld", "raw", user=user)
        return None
    return raw

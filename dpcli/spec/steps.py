"""Forms of `post` and `withhold`: what is done to noisy answers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from inspect import getdoc
from typing import Annotated, Any

from pydantic import WithJsonSchema

from dpcli.messages import shown
from dpcli.numbers import NotReadable, number
from dpcli.privacy.decimals import readable_text
from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.spec.findings import Findings
from dpcli.spec.fit import Part
from dpcli.spec.nodes import Listing, Mapping, Node, Word, at, described
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


def read_steps(part: Part[Any], statistic: Statistic, unit: Unit | None) -> tuple[Step, ...] | None:
    """The steps of `post` and `withhold`; None after problems are recorded."""
    withhold = part.values.withhold
    if part.has("withhold") and statistic.chooses:
        part.report_key("field-not-taken.withhold", "withhold")
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
        steps = [step() for step in STEPS if step.name in names]
    return (*steps, *([Withhold(withhold.wider_than)] if withhold else []))


def _step(part: Part[Any], statistic: Statistic, place: int) -> Step | None:
    node, findings = at(part.node, "post", place), part.findings
    pairs = list(node.pairs.values()) if isinstance(node, Mapping) else [(node, None)]
    word, value = pairs[0] if len(pairs) == 1 else (None, None)
    if not isinstance(word, Word):
        findings.report("wrong-shape.one-step", node.span)
        return None
    name, span = word.text, word.span
    step = next((one for one in STEPS if one.name == name), None)
    if step is None:
        facts = {"name": "a step of `post`", "found": shown(name)}
        names = [one.name for one in STEPS]
        findings.report_unknown("unknown-step", name, names, span, **facts)
        return None
    if name not in statistic.steps:
        code = "step-not-taken" if statistic.steps else "step-not-taken.none"
        findings.report(code, span, statistic=statistic.name, step=name, takes=statistic.steps)
        return None
    items = value.items if isinstance(value, Listing) else () if value is None else (value,)
    where = span if value is None else value.span
    example = FORMS[step.numbers][0].format(name=name)
    if len(items) != step.numbers:
        count = {"count": len(items), "wanted": step.numbers}
        findings.report("step-numbers", where, step=name, example=example, **count)
        return None
    found = [_number(item, f"a number of `{name}`", example, findings) for item in items]
    read = [one for one in found if one is not None]
    if len(read) < len(found):
        return None
    if read != sorted(read):
        low, high = (readable_text(one) for one in read)
        findings.report("bounds-order.clamp", where, low=low, high=high)
        return None
    return step(*read)


def _number(node: Node, name: str, example: str, findings: Findings) -> Fraction | None:
    if not isinstance(node, Word):
        facts = {"found": described(node), "example": example}
        findings.report("wrong-shape.one-number", node.span, name=name, **facts)
        return None
    try:
        return number(node.text)
    except NotReadable as failure:
        facts = {"found": shown(node.text), "advice": failure.advice}
        findings.report("not-a-number", node.span, name=name, **facts)
        return None


def read_raw(part: Part[Any], statistic: Statistic, steps: Sequence[Step] | None) -> bool | None:
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
        part.report_key("raw-not-taken", "raw")
        return None
    if raw and Withhold.name in names:
        part.report_key("raw-of-withheld", "raw")
        return None
    return raw

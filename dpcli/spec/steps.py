"""Forms of `post` and `withhold`: what is done to noisy answers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

from dpcli.messages import listed, shown
from dpcli.numbers import NotReadable, number
from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.spec.fit import Part
from dpcli.spec.nodes import Mapping, at
from dpcli.statistics.base import Statistic
from dpcli.statistics.post import PLAIN, STEPS, Clamp, Step, SuppressBelow, Withhold
from dpcli.values import Exact, Read, Shape, refusal

STEP_EXAMPLES = {"clamp": "{clamp: [0, 100]}", "suppress_below": "{suppress_below: 10}"}


class StepForm(Read):
    """One step of `post`: its name, or its name and numbers."""

    def read(self, value: object) -> Step:
        """The step, or its refusal."""
        plain = {step.name: step for step in PLAIN}
        names = [step.name for step in STEPS]
        if isinstance(value, dict) and len(value) == 1:
            ((name, numbers),) = value.items()
        elif isinstance(value, str):
            name, numbers = value, None
        else:
            raise refusal("wrong-shape.step")
        example = STEP_EXAMPLES.get(name, name)
        key: dict[str, Any] = {} if numbers is None else {"at": (name,), "at_key": True}
        if name not in names:
            raise refusal("unknown-step", **key, choices=names, meant=name, found=shown(name))
        if (name in plain) != (numbers is None):
            code = "step-numbers" if name in plain else "step-numbers.needed"
            raise refusal(code, **key, step=name, example=example)
        return plain[name] if numbers is None else self._numbered(name, numbers)

    @staticmethod
    def _numbered(name: str, given: object) -> Step:
        texts: list[Any] = given if isinstance(given, list) else [given]
        wanted = 2 if name == "clamp" else 1
        example = STEP_EXAMPLES[name]
        if len(texts) != wanted:
            facts: dict[str, Any] = {"step": name, "count": len(texts), "wanted": wanted}
            raise refusal("step-numbers.count", at=(name,), example=example, **facts)
        read = []
        for place, text in enumerate(texts):
            path, what = (
                (name, place) if isinstance(given, list) else (name,),
                f"a number of `{name}`",
            )
            if not isinstance(text, str):
                raise refusal("wrong-shape.number", at=path, name=what, example=example)
            try:
                read.append(number(text))
            except NotReadable as failure:
                raise refusal("not-a-number", at=path, name=what, advice=failure.advice) from None
        if wanted == 1:
            return SuppressBelow(read[0])
        if read[0] > read[1]:
            raise refusal("bounds-order.clamp", at=(name,), low=texts[0], high=texts[1])
        return Clamp(*read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        figure = {"type": ["number", "string"]}
        pair = {"type": "array", "items": figure, "minItems": 2, "maxItems": 2}
        numbered = [
            {
                "type": "object",
                "properties": {step.name: {**form, "description": (step.__doc__ or "").strip()}},
                "required": [step.name],
                "additionalProperties": False,
            }
            for step, form in ((Clamp, pair), (SuppressBelow, figure))
        ]
        return {"anyOf": [{"enum": [step.name for step in PLAIN]}, *numbered]}


WIDER = Exact("not-in-range.width", above=0)


class WithholdShape(Shape):
    """Which numbers are left out because their intervals are wide."""

    wider_than: Annotated[Fraction, WIDER]


def read_steps(part: Part[Any], statistic: Statistic, unit: Unit | None) -> tuple[Step, ...] | None:
    """The steps of `post` and `withhold`; None after problems are recorded."""
    values = part.values
    good = not part.bad & {"post", "withhold"}
    steps: Sequence[Step] = values.post or ()
    if not part.has("post"):
        # Where limits on people keep other rows for each table, tables need not agree.
        limited = isinstance(unit, PersonUnit) and unit.limits_groups
        names = () if limited else statistic.default_steps
        steps = [step for step in PLAIN if step.name in names]
    for place, step in enumerate(steps):
        if step.name not in statistic.steps:
            good = False
            takes = listed(statistic.steps) if statistic.steps else "none"
            _refuse_step(part, statistic, step, takes, place)
    if good and any(step.name == "consistent" for step in steps[1:]):
        good = False
        message = "`consistent` is made of the noisy answers, and is not the first step of `post`"
        part.refuse_key("step-order", message, "write it first: `post: [consistent, ...]`", "post")
    withhold: list[Step] = []
    if values.withhold is not None:
        withhold = [Withhold(values.withhold.wider_than)]
    if part.has("withhold") and statistic.chooses:
        message = f"{shown(statistic.name)} takes no `withhold`: a choice has no interval"
        hint = "omit `withhold`: the quality of a choice is not published"
        part.refuse_key("field-not-taken", message, hint, "withhold")
        return None
    return (*steps, *withhold) if good else None


def _refuse_step(part: Part[Any], statistic: Statistic, step: Step, takes: str, place: int) -> None:
    node = at(part.node, "post", place)
    span = next(iter(node.pairs.values()))[0].span if isinstance(node, Mapping) else node.span
    message = (
        f"{shown(statistic.name)} takes no step {shown(step.name)} in `post`; it takes {takes}"
    )
    hint = "use one of those, or post-process the published table instead"
    if takes == "none":
        hint = "omit `post` here"
    part.findings.add("step-not-taken", message, hint, span)


def read_raw(
    part: Part[Any], statistic: Statistic, user: str, steps: Sequence[Step] | None
) -> bool | None:
    """Whether noisy answers are published too; None after a problem is recorded.

    By default they are where totals were made consistent, unless some numbers are left out:
    what is left out must not stand in the table under another name.
    """
    names = {step.name for step in steps or ()}
    if "raw" in part.bad:
        return None
    raw = part.values.raw
    if raw is None:
        return bool(statistic.default_steps) and names == {"consistent"}
    code = message = hint = ""
    if raw and not statistic.keeps_raw:
        code, hint = "raw-not-taken", "omit `raw`: the published number is the only one"
        message = f"{shown(statistic.name)} has no number of its own before what is done to it"
    elif raw and Withhold.name in names:
        code = "raw-of-withheld"
        message = (
            f"{user} withholds wide intervals, and `raw: true` would publish the "
            "numbers that are left out"
        )
        hint = "omit `raw`; without `withhold`, the column `flag` still marks wide intervals"
    if code:
        part.refuse_key(code, message, hint, "raw")
        return None
    return bool(raw)

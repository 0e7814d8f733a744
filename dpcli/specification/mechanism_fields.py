"""How an answer is made noisy, its price, and what is done to it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from inspect import getdoc
from typing import Annotated, Any

from pydantic import WithJsonSchema

from dpcli import mechanisms
from dpcli.mechanisms.mechanism import Mechanism, SelectionMechanism
from dpcli.messages import quote
from dpcli.numeric.exact import readable_text
from dpcli.privacy.loss import BudgetRequest
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.spec_values import Choice, ExactNumber, SectionModel, summaries_by_name
from dpcli.specification.columns_section import SpecContext
from dpcli.specification.grid import read_number
from dpcli.specification.tree import MappingNode, Node, ScalarNode, SequenceNode, attempt, read_all
from dpcli.specification.validation import Section
from dpcli.statistics.postprocessing import STEPS, Step, SuppressWide
from dpcli.statistics.statistic import Statistic

AUTO = "auto"
"""What a spec writes to leave the choice of the mechanism to the plan."""

BUDGET_KEYS = ("epsilon", "rho", "error", "share")
"""How a price can be given; one of them is needed."""


def _mechanisms() -> dict[str, str]:
    auto = "The one that is most accurate, or costs least."
    return {**summaries_by_name(mechanisms.MECHANISMS), AUTO: auto}


def _calibrations() -> dict[str, str]:
    return {name: "" for one in mechanisms.MECHANISMS for name in one.calibrations}


MechanismName = Annotated[str, Choice("unknown-mechanism", _mechanisms)]
Calibration = Annotated[str, Choice("unknown-calibration", _calibrations)]

AnswerSettings = tuple[tuple[Mechanism, ...], BudgetRequest, str]
"""The mechanisms that may answer an entry, its price, and how they choose their noise."""


def suitable_mechanisms(statistic: Statistic) -> list[Mechanism]:
    """The mechanisms that can answer a statistic, the default first."""
    every = mechanisms.MECHANISMS
    return [one for one in every if isinstance(one, SelectionMechanism) == statistic.chooses]


def single_key(part: Section[Any], ways: Collection[str], absent: str) -> str:
    """Which one of several keys is written; without any of them that is the problem `absent`."""
    given = [way for way in ways if part.has(way)]
    if not given:
        raise part.report(absent, ways=ways)
    if len(given) > 1:
        raise part.report_key("price-twice", given[1], given=given, first=given[0])
    return given[0]


def read_answer_settings(
    part: Section[Any],
    scope: SpecContext,
    statistic: Statistic,
    keys: Callable[[], bool],
    absent: str = "price-required",
) -> AnswerSettings:
    """How a statistic is answered and at which price.

    `keys` says whether the entry has private keys. Without a price that is the problem `absent`.
    """
    able = suitable_mechanisms(statistic)
    able_and_named = attempt(_chosen, part, statistic, able)
    way = read_budget_key(part, scope, absent)
    chosen = able_and_named()
    calibration = attempt(_calibration, part, chosen, way)
    # Of what is counted in rho, only private keys spend a delta of their own.
    rule, selects, delta = scope.composition, keys(), part.values.delta
    in_rho = way == "rho" or (way != "epsilon" and rule is not None and rule.takes_rho)
    needs = [one.needs_delta and not in_rho for one in chosen]
    if delta is not None and not any(needs) and not selects:
        other = next((one.name for one in able if one.needs_delta), None)
        code = "delta-not-taken.rho" if in_rho else "delta-not-taken.mechanism"
        code = code if in_rho or other else "delta-not-taken"
        raise part.report_key(code, "delta", mechanism=chosen[0].name, other=other)
    if delta is None and (all(needs) or selects) and (way != "share" or (selects and in_rho)):
        needing = quote(chosen[0].name) if all(needs) else "`keys: private`"
        place = ["mechanism"] if part.has("mechanism") else []
        raise part.report("delta-required", *place, needing=needing)
    measure = "weight" if way == "share" else way
    request = BudgetRequest(**{measure: getattr(part.values, way)}, delta=delta or Fraction(0))
    return chosen, request, calibration()


def _chosen(
    part: Section[Any], statistic: Statistic, able: list[Mechanism]
) -> tuple[Mechanism, ...]:
    name = part.values.mechanism
    if name in (None, AUTO):
        return tuple(able) if name else (able[0],)
    found = tuple(one for one in able if one.name == name)
    if not found:
        code = "mechanism-not-taken.choice" if statistic.chooses else "mechanism-not-taken"
        names = [one.name for one in able]
        raise part.report(code, "mechanism", mechanism=name, able=names)
    return found


def read_budget_key(part: Section[Any], scope: SpecContext, absent: str = "price-required") -> str:
    """How the price is given, where the composition adds up prices of that kind."""
    rule, fields = scope.composition, type(part.values).model_fields
    in_rho = rule is None or rule.takes_rho
    ways = [
        way for way in BUDGET_KEYS if way in fields and (way != "rho" or in_rho or part.has("rho"))
    ]
    way = single_key(part, ways, absent)
    if way == "rho" and rule is not None and not in_rho:
        raise part.report_key("rho-not-taken", "rho", composition=rule.name)
    return way


def _calibration(part: Section[Any], chosen: tuple[Mechanism, ...], way: str) -> str:
    able = chosen[0].calibrations
    if len(chosen) > 1 or way != "epsilon":
        # A search, or a rho, has one way to choose noise.
        able = able[:1]
    name: str | None = getattr(part.values, "calibration", None)
    if name is None or name in able:
        return name or able[0]
    who = chosen[0].name if len(chosen) == 1 else AUTO
    code = "unknown-calibration.able"
    raise part.report(code, "calibration", word=name, choices=able, mechanism=who)


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


class WithholdModel(SectionModel):
    """Which numbers are left out because their intervals are wide."""

    wider_than: Annotated[Fraction, ExactNumber("not-in-range.width", above=0)]


def read_steps(part: Section[Any], statistic: Statistic, unit: Unit | None) -> tuple[Step, ...]:
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
    return (*steps, *([SuppressWide(withhold.wider_than)] if withhold else []))


def _step(node: Node, statistic: Statistic) -> Step:
    pairs = list(node.pairs.values()) if isinstance(node, MappingNode) else [(node, None)]
    word, value = pairs[0] if len(pairs) == 1 else (None, None)
    if not isinstance(word, ScalarNode):
        raise node.span.report("wrong-shape.one-step")
    name, span = word.text, word.span
    steps = {one.name: one for one in STEPS}
    if name not in steps:
        facts = {"name": "a step of `post`", "found": quote(name)}
        raise span.report("unknown-step", word=name, choices=steps, **facts)
    if name not in statistic.steps:
        code = "step-not-taken" if statistic.steps else "step-not-taken.none"
        raise span.report(code, statistic=statistic.name, step=name, takes=statistic.steps)
    step = steps[name]
    items = value.items if isinstance(value, SequenceNode) else () if value is None else (value,)
    where = span if value is None else value.span
    example = FORMS[step.numbers][0].format(name=name)
    if len(items) != step.numbers:
        count = {"count": len(items), "wanted": step.numbers}
        raise where.report("step-numbers", step=name, example=example, **count)

    def read(item: Node) -> Fraction:
        what = f"a number of `{name}`"
        if isinstance(item, ScalarNode):
            return read_number(item, what)
        facts = {"found": item.form, "example": example}
        raise item.span.report("wrong-shape.one-number", name=what, **facts)

    numbers = read_all(read, items)
    if numbers != sorted(numbers):
        low, high = map(readable_text, numbers)
        raise where.report("bounds-order.clamp", low=low, high=high)
    return step(*numbers)


def read_raw(part: Section[Any], statistic: Statistic, steps: Callable[[], Sequence[Step]]) -> bool:
    """Whether noisy answers are published too.

    By default they are where totals were made consistent, unless some numbers are left out:
    what is left out must not stand in the table under another name.
    """
    raw: bool | None = part.values.raw
    if raw and not statistic.has_raw:
        raise part.report_key("raw-not-taken", "raw")
    names = {step.name for step in steps()}
    if raw is None:
        return bool(statistic.default_steps) and names == {"consistent"}
    if raw and SuppressWide.name in names:
        raise part.report_key("raw-of-withheld", "raw")
    return raw

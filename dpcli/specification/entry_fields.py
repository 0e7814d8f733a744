"""The fields of an entry of `statistics`: how it is answered, what it costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from inspect import getdoc
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import WithJsonSchema

from dpcli import mechanisms, statistics
from dpcli.data.declared_texts import Note, Title, UnitText
from dpcli.data.steps import read_number
from dpcli.fields.section import SectionModel, extended_model, plain_word, report_unknown_key
from dpcli.fields.statistic_fields import KeyForm
from dpcli.fields.tree import (
    Attempt,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    attempt,
    read_all,
)
from dpcli.fields.values import (
    AlreadyReportedError,
    Boolean,
    Choice,
    Delta,
    Epsilon,
    ExactNumber,
    ParsedText,
    Rho,
    invalid_value,
    positive_number,
    summaries_by_name,
)
from dpcli.mechanisms.mechanism import AdditiveMechanism, Mechanism, SelectionMechanism
from dpcli.noise.distribution import ADDITIVE, Family
from dpcli.numeric.exact import readable_text
from dpcli.privacy.loss import BudgetAmount
from dpcli.privacy.unit import NO_LIMITS, Limits, PersonUnit, RowUnit, Unit
from dpcli.problems.messages import quote, quoted_list
from dpcli.problems.reference import advice, synonyms
from dpcli.specification.context import SpecContext
from dpcli.specification.privacy import Limit
from dpcli.statistics.design import Design
from dpcli.statistics.postprocessing import (
    STEPS,
    Consistent,
    PostProcessingStep,
    SuppressBelow,
    SuppressWide,
    combined,
)
from dpcli.statistics.statistic import NUMERIC_STEPS, Statistic

AUTO = "auto"
"""The value of `mechanism` that leaves the choice to the plan."""

_ASKED_FOR = {"percent": "field-not-taken.percent", "per": "field-not-taken.per"}
"""Keys of few statistics that analysts write in others, and their problems."""

BUDGET_KEYS = ("epsilon", "rho", "error", "share")
"""The keys that can request privacy budget; an entry needs exactly one."""


def _mechanism_summaries() -> dict[str, str]:
    auto = "The one that is most accurate, or costs least."
    summaries = summaries_by_name(mechanisms.MECHANISMS)
    return {**{name: summaries[name] for name in mechanisms.spec_names()}, AUTO: auto}


def _calibration_names() -> dict[str, str]:
    return {name: "" for mechanism in mechanisms.MECHANISMS for name in mechanism.calibrations}


MechanismName = Annotated[
    str,
    Choice(
        "unknown-mechanism", _mechanism_summaries, names=lambda: (*mechanisms.spec_names(), AUTO)
    ),
]
Calibration = Annotated[str, Choice("unknown-calibration", _calibration_names)]


class AnsweredModel(SectionModel):
    """A mapping that requests budget for noisy answers, with its own order of keys."""

    if TYPE_CHECKING:
        mechanism: str | None
        epsilon: Fraction | None
        rho: Fraction | None
        delta: Fraction | None


class AnswerSettings(NamedTuple):
    """The mechanisms that may answer an entry, its budget request and calibration."""

    mechanisms: tuple[Mechanism, ...]
    budget_amount: BudgetAmount
    calibration: str


def single_key(section: SectionModel, keys: Collection[str], missing_code: str) -> str:
    """The one of these keys in a section; if none, the problem `missing_code`."""
    given = [key for key in keys if section.has(key)]
    if not given:
        raise section.report(missing_code, ways=keys)
    if len(given) > 1:
        raise section.report_key("price-twice", given[1], given=given, first=given[0])
    return given[0]


def _counts_or_chooses(statistic: Statistic) -> bool:
    return statistic.chooses and len(statistic.families) > 1


def read_mechanisms(
    section: AnsweredModel, statistic: Statistic, suitable: list[str]
) -> tuple[Mechanism, ...]:
    """The mechanism that the entry names, or those of which the plan takes the best.

    By default these are the first suitable mechanism and, where noisy counts can replace a choice,
    the first one for counts. With `auto`, these are all suitable mechanisms.
    """
    name = section.mechanism or (AUTO if statistic.takes_best_mechanism else None)
    chosen = suitable if name == AUTO else [one for one in suitable if one == name]
    if name is None:
        counting = [one for one in suitable[1:] if mechanisms.family_of(one) in ADDITIVE]
        chosen = [suitable[0], *(counting[:1] if statistic.chooses else ())]
    if not chosen:
        counts = _counts_or_chooses(statistic)
        kinds = {
            "a noisy objective, which it minimizes": "slope" in statistic.families,
            "labels, which are selected by counts": statistic.selects_labels,
            "a choice": statistic.chooses or counts,
            "a number": True,
        }
        answer = next(kind for kind, applies in kinds.items() if applies)
        code = (
            "mechanism-not-taken.counts"
            if answer == "a choice" and counts
            else "mechanism-not-taken"
        )
        raise section.report(code, "mechanism", mechanism=name, able=suitable, answer=answer)
    return tuple(map(mechanisms.MECHANISMS.__getitem__, chosen))


def read_answer_settings(
    section: AnsweredModel,
    context: SpecContext,
    statistic: Statistic,
    selects_partitions: Attempt[bool],
    missing_code: str = "price-required",
    designs: Callable[[], Sequence[Design]] | None = None,
) -> AnswerSettings:
    """Reads how a statistic is answered, and which budget it requests.

    `selects_partitions` is whether the noisy counts of the entry select groups. `missing_code`
    is the problem of an entry without a budget request.
    """
    families: Collection[Family] = statistic.families
    ordered = replaced = False
    # Only where counts can take the place of choices, they depend on the inputs.
    if designs is not None and _counts_or_chooses(statistic):
        with suppress(AlreadyReportedError):
            possible = designs()
            families = {family for design in possible for family in design.families}
            ordered = any(design.publishes_answers for design in possible)
            replaced = any(design.replaces_counts for design in possible)
    suitable = mechanisms.mechanisms_of(families)
    read_chosen = attempt(read_mechanisms, section, statistic, suitable)
    budget_key = read_budget_key(section, context, missing_code)
    chosen = read_chosen.value
    by = section.node.sequence("by")
    preferred: tuple[Mechanism, ...] = ()
    if budget_key == "error" and not ordered:
        # The error of a number that follows from several counts depends on the rows, so a search
        # cannot reach it. That of an order of counts does not.
        preferred = tuple(known for known in chosen if isinstance(known, SelectionMechanism))
    elif ordered or (by is not None and by.items and not replaced):
        # The intervals of choices are wide, or there are none.
        preferred = tuple(known for known in chosen if isinstance(known, AdditiveMechanism))
    chosen = preferred or chosen
    calibration = attempt(_read_calibration, section, chosen, budget_key)
    # An entry that is charged in rho spends a delta only to select partitions.
    rule, selects, delta = context.composition, selects_partitions.value, section.delta
    in_rho = budget_key == "rho" or (
        budget_key != "epsilon" and rule is not None and rule.takes_rho
    )
    needs = [mechanism.needs_delta and not in_rho for mechanism in chosen]
    if delta is not None and not any(needs) and not selects:
        alternative = next(
            (name for name in suitable if mechanisms.MECHANISMS[name].needs_delta), None
        )
        code = "delta-not-taken.rho" if in_rho else "delta-not-taken.able"
        code = code if in_rho or alternative else "delta-not-taken"
        able = f"`mechanism: {alternative}`"
        raise section.report_key(code, "delta", mechanism=chosen[0].name, able=able)
    if (
        delta is None
        and (all(needs) or selects)
        and (budget_key != "share" or (selects and in_rho))
    ):
        private = "a column without `values`" if statistic.selects_labels else "`keys: private`"
        needing = quote(chosen[0].name) if all(needs) else private
        path = ["mechanism"] if section.has("mechanism") else []
        raise section.report("delta-required", *path, needing=needing)
    measure, value = budget_key, getattr(section, budget_key)
    if measure == "share":
        # Entries that state nothing share the epsilon of the spec equally.
        measure, value = "weight", value or Fraction(1)
    requested = BudgetAmount(**{measure: value}, delta=delta or Fraction(0))
    return AnswerSettings(chosen, requested, calibration.value)


def read_budget_key(
    section: AnsweredModel, context: SpecContext, missing_code: str = "price-required"
) -> str:
    """The key that requests budget; the composition must add up its measure.

    If the spec has an epsilon for all entries, an entry without a key has a share of it.
    """
    rule, fields = context.composition, type(section).model_fields
    in_rho = rule is None or rule.takes_rho
    keys = [key for key in BUDGET_KEYS if key in fields]
    if not in_rho and not section.has("rho"):
        # A message must not propose a measure that the composition cannot add up.
        keys.remove("rho")
    if context.shares_epsilon and "share" in keys and not any(map(section.has, keys)):
        return "share"
    key = single_key(section, keys, missing_code)
    if key == "rho" and rule is not None and not in_rho:
        raise section.report_key("rho-not-taken", "rho", composition=rule.name)
    return key


def _read_calibration(
    section: AnsweredModel, chosen: tuple[Mechanism, ...], budget_key: str
) -> str:
    calibrations = chosen[0].calibrations
    if len(chosen) > 1 or budget_key != "epsilon":
        # A search, or a rho, has a single budget to choose noise for.
        calibrations = calibrations[:1]
    name: str | None = getattr(section, "calibration", None)
    if name is None or name in calibrations:
        return name or calibrations[0]
    raise section.report("unknown-calibration", "calibration", word=name, choices=calibrations)


NUMBER_SCHEMA = {"type": ["number", "string"]}
STEP_FORMS: tuple[tuple[str, Any], ...] = (
    ("{name}", None),
    ("{{{name}: 10}}", NUMBER_SCHEMA),
    (
        "{{{name}: [0, 100]}}",
        {"type": "array", "items": NUMBER_SCHEMA, "minItems": 2, "maxItems": 2},
    ),
)
"""How a step with zero to two numbers is written, and the numbers' JSON Schema."""


def _steps_schema() -> dict[str, Any]:
    numbered = [
        {
            "type": "object",
            "properties": {
                step.name: STEP_FORMS[step.parameters][1] | {"description": getdoc(step)}
            },
            "required": [step.name],
            "additionalProperties": False,
        }
        for step in STEPS
        if step.parameters
    ]
    return {"anyOf": [{"enum": [step.name for step in STEPS if not step.parameters]}, *numbered]}


Steps = Annotated[list[Any], WithJsonSchema({"type": "array", "items": _steps_schema()})]
"""Steps, each a name or a mapping from it to numbers; `read_steps` checks them."""


class WithholdModel(SectionModel):
    """The numbers that are left out because their intervals are wide."""

    wider_than: Annotated[Fraction, ExactNumber("not-in-range.width", above=0)]


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")


def _parse_name(text: str) -> str:
    if NAME.fullmatch(text):
        return text
    expected = "letters from a to z, digits, `_` and `-`"
    advice = "begin with a letter or `_`, and use at most 100 characters"
    raise invalid_value("bad-name", expected=expected, advice=advice)


class _StatisticName(Choice):
    def _choose(self, text: str) -> str:
        known = text in statistics.STATISTICS.names
        if not known and (says := advice("statistics", plain_word(text))):
            raise invalid_value("unknown-statistic.advised", advice=says)
        return super()._choose(text)


def _statistic_meant(word: str) -> str:
    """The statistic that a word names, here or in other tools; empty without."""
    meant = synonyms().get(plain_word(word), word)
    return meant if statistics.STATISTICS.named(meant) else ""


class _About(Choice):
    def _choose(self, text: str) -> str:
        if meant := _statistic_meant(text):
            raise invalid_value("unknown-choice.about", choices=self._names(), statistic=meant)
        return super()._choose(text)


class EntryModel(AnsweredModel):
    """The fields of all entries: name, groups, mechanism, budget, post-processing."""

    name: Annotated[
        str, ParsedText(_parse_name, {"type": "string", "pattern": f"^{NAME.pattern}$"})
    ]
    statistic: Annotated[
        str,
        _StatisticName(
            "unknown-statistic",
            lambda: summaries_by_name(statistics.STATISTICS),
            names=lambda: statistics.STATISTICS.names,
            meant=synonyms,
        ),
    ]
    of: Annotated[str, _About("unknown-choice", ("people", "rows"), meant=synonyms)] | None = None
    by: list[KeyForm] | None = None
    where: dict[str, Any] | None = None
    mechanism: MechanismName | None = None
    epsilon: Epsilon | None = None
    rho: Rho | None = None
    error: Annotated[Fraction, positive_number("25", 10**18)] | None = None
    share: Annotated[Fraction, positive_number("1", 10**6)] | None = None
    delta: Delta | None = None
    calibration: Calibration | None = None
    max_rows: Limit | None = None
    max_groups: Limit | None = None
    max_rows_per_group: Limit | None = None
    post: Steps | None = None
    raw: Boolean | None = None
    withhold: WithholdModel | None = None
    title: Title | None = None
    unit: UnitText | None = None
    note: Note | None = None

    statistic_of: ClassVar[Statistic | None] = None
    """The statistic of the entry; None if it is not known."""

    @property
    def what(self) -> str:
        return quote(self.statistic_of.name) if self.statistic_of else "a statistic"

    @property
    def subject(self) -> str:
        name = self.node.scalar("name")
        return name.shown if name and self.statistic_of else self.what

    def missing_line(self, key: str) -> str:
        """The statistic that stands at `of` by mistake, or the usual line."""
        about = self.node.scalar("of") if key == "statistic" else None
        meant = _statistic_meant(about.text) if about else ""
        return f"`statistic: {meant}`" if meant else super().missing_line(key)

    def report_unknown(self, key: str) -> bool:
        """Reports a field that only other statistics have; False if no statistic has it.

        If the statistic is unknown, a field of any statistic may be right, and is not reported.
        """
        statistic, span = self.statistic_of, self.node.key_span(key)
        names, common = statistics_with_field(key), list(EntryModel.model_fields)
        if statistic is None:
            if not names:
                specific = [field for member in statistics.STATISTICS for field in member.takes]
                keys = list(dict.fromkeys([*common, *specific]))
                report_unknown_key(span, key, keys, self.what)
            return True
        if names:
            code = {"keys": "keys-not-taken", "bound": "bound-not-taken"}.get(
                key, "field-not-taken"
            )
            if key == "keys" and statistic.selects_labels:
                code = "keys-not-taken.labels"
            if key in _ASKED_FOR:
                span.report(_ASKED_FOR[key], what=self.what, key=key)
                return True
            own = list(statistic.takes)
            arguments = {"what": self.what, "others": names, "takes": own or common}
            span.report(code, word=key, choices=own, key=key, **arguments)
        return bool(names)


@cache
def entry_model(statistic: Statistic | None) -> type[EntryModel]:
    """The fields of all entries, followed by the fields of a statistic."""
    if statistic is None:
        return EntryModel
    model = extended_model(statistic.takes, EntryModel)
    model.statistic_of = statistic
    return model


def statistics_with_field(key: str) -> list[str]:
    """The names of the statistics that have a field."""
    return [statistic.name for statistic in statistics.STATISTICS if key in statistic.takes]


LIMIT_KEYS = ("max_rows", "max_groups", "max_rows_per_group")
"""The keys of the limits that an entry may state, as the unit does."""


def read_limits(section: EntryModel, context: SpecContext) -> Limits:
    """The limits on the rows of a person that the entry states for itself."""
    section.require(*LIMIT_KEYS)
    own = Limits(section.max_rows, section.max_groups, section.max_rows_per_group)
    if not own.are_stated or context.unit is None:
        return NO_LIMITS
    if isinstance(context.unit, RowUnit):
        key = next(filter(section.has, LIMIT_KEYS))
        raise section.report_key("limit-needs-person", key, key=key)
    unit = context.relation_for(own).unit
    assert isinstance(unit, PersonUnit)
    if own.max_rows_per_group and own.max_rows_per_group > unit.max_rows:
        arguments = {"limit": own.max_rows_per_group, "rows": unit.max_rows}
        raise section.report_key("limit-idle", "max_rows_per_group", **arguments)
    if context.sample and own.max_rows and unit.max_rows > 1:
        raise section.report_key("sample-of-rows", "max_rows", rows=unit.max_rows)
    return own


def read_steps(
    section: EntryModel, statistic: Statistic, unit: Unit
) -> tuple[PostProcessingStep, ...]:
    """Reads the steps of `post` and `withhold`."""
    if section.has("withhold") and (statistic.chooses or statistic.chooses_labels):
        raise section.report_key("field-not-taken.withhold", "withhold")
    section.require("post", "withhold")
    withhold, post = section.withhold, section.node.sequence("post")
    if post is not None:
        steps = read_all(lambda node: _read_step(node, statistic), post.items)
        for step in steps[1:]:
            if isinstance(step, Consistent):
                raise section.report_key("step-order", "post", step=step.name)
        if statistic.adds_up and steps and isinstance(steps[0], Consistent):
            steps = [*combined(steps)]
            for step in steps[1:]:
                if step.name != SuppressBelow.name:
                    raise section.report_key("step-breaks", "post", step=step.name)
    else:
        # With limits on groups, tables use different rows of a person and need not agree.
        names = () if unit.limits_groups else statistic.default_steps
        steps = [step() for step in STEPS if step.name in names]
    return (*steps, *([SuppressWide(withhold.wider_than)] if withhold else []))


def refuse_for_dates(section: EntryModel, steps: Sequence[PostProcessingStep]) -> None:
    """Refuses steps for numbers, and `raw`, in an entry that publishes dates."""
    for step in steps:
        if step.name in NUMERIC_STEPS and step.name != SuppressBelow.name:
            raise section.report_key("step-not-taken.dates", "post", step=step.name)
    if section.raw:
        raise section.report_key("raw-not-taken.dates", "raw")


def _read_step(node: Node, statistic: Statistic) -> PostProcessingStep:
    pairs = list(node.pairs.values()) if isinstance(node, MappingNode) else [(node, None)]
    word, value = pairs[0] if len(pairs) == 1 else (None, None)
    if not isinstance(word, ScalarNode):
        arguments = {"name": "a step of `post`", "found": node.form, "form": "one name"}
        line = "a list: `post: [nonnegative, {clamp: [0, 100]}]`"
        raise node.span.report("wrong-shape", line=line, **arguments)
    name, span = word.text, word.span
    steps = {step.name: step for step in STEPS}
    if name not in steps:
        arguments = {"name": "a step of `post`", "found": quote(name)}
        raise span.report("unknown-step", word=name, choices=steps, **arguments)
    if name not in statistic.steps:
        takes = quoted_list(statistic.steps) or "none"
        raise span.report("step-not-taken", statistic=statistic.name, step=name, takes=takes)
    step = steps[name]
    items = value.items if isinstance(value, SequenceNode) else () if value is None else (value,)
    where = span if value is None else value.span
    example = STEP_FORMS[step.parameters][0].format(name=name)
    if len(items) != step.parameters:
        count = {"count": len(items), "wanted": step.parameters}
        raise where.report("step-numbers", step=name, example=example, **count)

    def read(item: Node) -> Fraction:
        what = f"a number of `{name}`"
        if isinstance(item, ScalarNode):
            return read_number(item, what)
        arguments = {"found": item.form, "form": "one number", "line": f"`{example}`"}
        raise item.span.report("wrong-shape", name=what, **arguments)

    numbers = read_all(read, items)
    if numbers != sorted(numbers):
        low, high = map(readable_text, numbers)
        raise where.report("bounds-order", low=low, high=high, key=name)
    return step(*numbers)


def read_raw(
    section: EntryModel, statistic: Statistic, steps: Attempt[Sequence[PostProcessingStep]]
) -> bool:
    """Whether the noisy answers before post-processing are published too.

    The default is true if the only step makes totals consistent. If numbers add up otherwise, the
    answers that are published are linear ones that agree. If numbers are withheld, raw
    answers cannot be published: the table would contain the withheld numbers under another name.
    """
    raw: bool | None = section.raw
    if raw and not statistic.has_raw:
        raise section.report_key("raw-not-taken", "raw")
    names = {step.name for step in steps.value}
    if raw is None:
        only = len(steps.value) == 1 and isinstance(steps.value[0], Consistent)
        return bool(statistic.default_steps) and only
    if raw and SuppressWide.name in names:
        raise section.report_key("raw-of-withheld", "raw")
    return raw

"""One entry of the statistics: typed, resolved and priced."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Tag

from dpcli import statistics
from dpcli.fields import KeyForm
from dpcli.messages import listed, shown
from dpcli.privacy.relation import Neighbors, Relation, RowUnit
from dpcli.reference import synonyms
from dpcli.spec.answering import Answering, Calibration, MechanismName
from dpcli.spec.axes import groups
from dpcli.spec.columns import Scope
from dpcli.spec.conditions import conditions
from dpcli.spec.findings import similar
from dpcli.spec.fit import Part, fit
from dpcli.spec.model import Entry
from dpcli.spec.nodes import Mapping, Word, at
from dpcli.spec.request import RequestReader
from dpcli.spec.sizes import can_be_answered
from dpcli.spec.steps import StepForm, WithholdShape, read_raw, read_steps
from dpcli.statistics.base import Request, Statistic
from dpcli.statistics.post import Step
from dpcli.values import (
    LIST_TAG,
    MAPPING_TAG,
    TEXT_TAG,
    Choice,
    Delta,
    Epsilon,
    Forms,
    Read,
    Rho,
    Shape,
    Text,
    Texts,
    Truth,
    described,
    positive,
    refusal,
)

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")


def _name(text: str) -> str:
    if NAME.fullmatch(text):
        return text
    raise refusal("bad-name")


class Range(Shape):
    """An inclusive range of numbers or dates."""

    min: Text | None = None
    max: Text | None = None


ConditionForm = Annotated[
    Annotated[Text, Tag(TEXT_TAG)]
    | Annotated[Texts, Tag(LIST_TAG)]
    | Annotated[Range, Tag(MAPPING_TAG)],
    Forms,
]


class Common(Shape):
    """One statistic: what it is called, its groups, how it is answered, what it may reveal."""

    name: Annotated[str, Read(_name, {"type": "string", "pattern": f"^{NAME.pattern}$"})]
    statistic: Annotated[
        str, Choice("unknown-statistic", lambda: described(statistics.STATISTICS), meant=synonyms)
    ]
    by: list[KeyForm] | None = None
    where: dict[str, ConditionForm] | None = None
    mechanism: MechanismName | None = None
    epsilon: Epsilon | None = None
    rho: Rho | None = None
    error: Annotated[Fraction, positive("25", 10**18)] | None = None
    share: Annotated[Fraction, positive("1", 10**6)] | None = None
    delta: Delta | None = None
    calibration: Calibration | None = None
    post: list[Annotated[Step, StepForm(str, {})]] | None = None
    raw: Truth | None = None
    withhold: WithholdShape | None = None


class EntryReader:
    """One entry of the statistics; the problems of every field are recorded."""

    def __init__(self, node: Mapping, scope: Scope) -> None:
        self._node, self._scope = node, scope
        name = node.word("name")
        self._user = shown(name.text) if name else "a statistic"
        common = {key: pair for key, pair in node.pairs.items() if key in Common.model_fields}
        own = {key: pair for key, pair in node.pairs.items() if key not in common}
        self._statistic: Statistic | None = None
        near = (similar(key, list(Common.model_fields)) for key in own if not takers_of(key))
        self._common = fit(
            Common,
            Mapping(common, node.span),
            "a statistic",
            scope.findings,
            meant=[key for key in near if key],
        )
        if "statistic" not in self._common.bad:
            wanted = self._common.values.statistic
            every = statistics.STATISTICS
            self._statistic = next(one for one in every if one.name == wanted)
        fields = self._statistic.fields if self._statistic else Shape
        self._own: Part[Any] = fit(
            fields,
            Mapping(own, node.span),
            shown(self._statistic.name) if self._statistic else "a statistic",
            scope.findings,
            user=self._user,
            refuse_unknown=self._refuse_taken,
            also=tuple(Common.model_fields),
        )

    def _refuse_taken(self, key: str) -> bool:
        """Records a field that only other statistics take; without a statistic, it may be one."""
        others = takers_of(key)
        if not others:
            return False
        statistic = self._statistic
        if statistic is None:
            return True
        name, span = shown(statistic.name), self._node.key_span(key)
        takes = listed([*Common.model_fields, *statistic.fields.model_fields])
        code, message = "field-not-taken", f"{name} takes no {shown(key)}; it takes {takes}"
        near = similar(key, list(statistic.fields.model_fields))
        hint = f"omit {shown(key)}, or use {listed(others, 'or')}"
        if near:
            hint = f"did you mean {shown(near)}?"
        if key == "bound":
            code = "bound-not-taken"
            message = f"{name} takes no `bound`: it is made of the rows that are kept"
            hint = "omit `bound`, or use a `sum` or `count`, which take one"
        elif key == "keys":
            self._refuse_keys(statistic, "")
            return True
        self._scope.findings.add(code, message, hint, span)
        return True

    def _refuse_keys(self, statistic: Statistic, of: str) -> None:
        """Records private keys where the statistic has no counts to select groups by."""
        able = takers_of("keys")
        self._scope.findings.add(
            "keys-not-taken",
            f"{shown(statistic.name)}{of} cannot select private keys",
            f"add a {listed(able, 'or')} without a column, of the same `by`, with "
            "`keys: private`; the groups it selects serve all entries of that `by`",
            at(self._node, "keys").span,
        )

    def entry(self, names: dict[str, Word]) -> Entry | None:
        """The entry, or None after its problems are recorded; `names` gains its name."""
        node, scope, statistic = self._node, self._scope, self._statistic
        common, own = self._common, self._own
        self._new_name(names)
        keys = None if "keys" in own.bad else node.get("keys") is not None
        answering = Answering(common, scope, self._user, statistic, keys=keys)
        by = None if "by" in common.bad else groups(node.get("by"), self._user, scope)
        where = None
        if "where" not in common.bad:
            where = conditions(node.get("where"), self._user, scope)
        if statistic is None:
            return None
        reader = RequestReader(own, statistic, scope, self._user)
        request = reader.request(common.values.name, by, where)
        steps = read_steps(common, statistic, scope.unit)
        raw = read_raw(common, statistic, self._user, steps)
        relation = Relation(scope.unit or RowUnit(), Neighbors(scope.neighbors or "add-remove"))
        fixed = request is not None and not own.bad and reader.without_faults(request, relation)
        totals = reader.totals(request.column if request else None)
        if request is None or not fixed or totals is None or raw is None:
            return None
        selects = self._selects(statistic, request)
        if selects is None or not self._counts_people(statistic, request):
            return None
        if common.bad or steps is None or not can_be_answered(own, statistic, request, self._user):
            return None
        if not (answering.mechanisms and answering.price and answering.calibration):
            return None
        summed, clamp = totals
        return Entry(
            replace(request, totals=clamp) if summed else request,
            statistic,
            answering.mechanisms,
            answering.price,
            answering.calibration,
            request.name if selects else None,
            None if clamp is None else replace(request, totals=None if summed else clamp),
            steps,
            raw=raw,
        )

    def _new_name(self, names: dict[str, Word]) -> None:
        word = self._node.word("name")
        if word is None or "name" in self._common.bad:
            return
        code, message, hint = "", "", "give the statistic another name"
        if word.text in self._scope.taken:
            code = "reserved-name"
            message = (
                f"a statistic is named {shown(word.text)}, as {self._scope.taken[word.text]} is"
            )
        elif (first := names.setdefault(word.text, word)) is not word:
            code, hint = "duplicate-name", "rename one of them"
            message = (
                f"two statistics are named {shown(word.text)}: "
                f"the first is on line {first.span.line}"
            )
        if code:
            self._scope.findings.add(code, message, hint, word.span)

    def _selects(self, statistic: Statistic, request: Request) -> bool | None:
        """Whether an entry says `keys: private`; None after a problem is recorded."""
        if getattr(self._own.values, "keys", None) is None:
            return None if "keys" in self._own.bad else False
        if request.column is not None:
            self._refuse_keys(statistic, " of a column")
            return None
        if any(key.open for key in request.by):
            return True
        message = "`keys: private`, but the values of every column in `by` are declared"
        hint = "omit `keys`: declared groups are public, and all of them are released"
        self._own.refuse("keys-declared", message, hint, "keys")
        return None

    def _counts_people(self, statistic: Statistic, request: Request) -> bool:
        """Whether there are people to count, where people are counted."""
        if not statistic.counts_people or request.column is not None:
            return True
        if not isinstance(self._scope.unit, RowUnit):
            return True
        self._own.refuse(
            "nobody-to-count",
            f"{self._user} counts different people, but `unit` is `row`",
            "name a `column` whose values are counted, or protect people by "
            "`unit: {column: ..., max_rows: ...}`",
        )
        return False


def takers_of(key: str) -> list[str]:
    """The statistics that take a field."""
    return [one.name for one in statistics.STATISTICS if key in one.fields.model_fields]

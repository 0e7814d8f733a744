"""The section `statistics`: its entries, typed, resolved and priced, and their groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Annotated, Any

from pydantic import create_model

from dpcli import statistics
from dpcli.fields import KeyForm
from dpcli.messages import inline, shown
from dpcli.queries import Key
from dpcli.reference import synonyms
from dpcli.spec.answering import (
    Calibration,
    MechanismName,
    Steps,
    WithholdShape,
    read_answering,
    read_raw,
    read_steps,
)
from dpcli.spec.axes import read_conditions, read_keys
from dpcli.spec.columns import Scope
from dpcli.spec.model import Entry
from dpcli.spec.part import read_shape
from dpcli.spec.request import RequestReader, numbers_of, scores_of
from dpcli.spec.tree import Listing, Mapping, Node, Word, attempt, readable
from dpcli.values import (
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
    Unreadable,
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


ConditionForm = Annotated[Text | Texts | Range, Forms]


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
    post: Steps | None = None
    raw: Truth | None = None
    withhold: WithholdShape | None = None


@cache
def shape_of(fields: Any) -> type[Common]:
    """The model of an entry whose statistic takes these fields."""
    return Common if fields is Shape else create_model("Entry", __base__=(fields, Common))


def takers_of(key: str) -> list[str]:
    """The statistics that take a field."""
    return [one.name for one in statistics.STATISTICS if key in one.fields.model_fields]


class EntryReader:
    """One entry; the problems of every field are recorded."""

    def __init__(self, node: Mapping, scope: Scope) -> None:
        self._node, self._scope = node, scope
        name, word = node.word("name"), node.word("statistic")
        every = statistics.STATISTICS
        self._statistic = next((one for one in every if word and one.name == word.text), None)
        fields = self._statistic.fields if self._statistic else Shape
        self._part = read_shape(
            shape_of(fields),
            node,
            shown(self._statistic.name) if self._statistic else "a statistic",
            user=shown(name.text) if name and self._statistic else "",
            refuse_unknown=self._refuse_taken,
        )

    def _refuse_taken(self, key: str) -> bool:
        """Records a field that only other statistics take; without a statistic, it may be one."""
        others, span = takers_of(key), self._node.key_span(key)
        if self._statistic is None:
            if not others:
                every = [name for one in statistics.STATISTICS for name in one.fields.model_fields]
                keys = list(dict.fromkeys([*Common.model_fields, *every]))
                span.report("unknown-field", word=key, choices=keys, owner="a statistic")
            return True
        if not others:
            return False
        code = {"keys": "keys-not-taken", "bound": "bound-not-taken"}.get(key, "field-not-taken")
        own = list(self._statistic.fields.model_fields)
        facts = {"key": key, "others": others, "takes": [*Common.model_fields, *own]}
        what = shown(self._statistic.name)
        span.report(code, word=key, choices=own, what=what, **facts)
        return True

    def entry(self, names: dict[str, Word]) -> Entry:
        """The entry, after all of its problems are recorded; `names` gains its name."""
        part, scope, statistic = self._part, self._scope, self._statistic
        self._check_name(names)
        by = attempt(read_keys, part, "by", scope)
        where = attempt(read_conditions, part, scope)
        if statistic is None:
            raise Unreadable
        reader = RequestReader(part, statistic, scope, by)
        request = attempt(reader.request, where)
        selects = attempt(self._selects, by)
        answering = attempt(read_answering, part, scope, statistic, selects)
        steps = attempt(read_steps, part, statistic, scope.unit)
        raw = attempt(read_raw, part, statistic, steps)
        reader.require_consistent(request())
        asked, other = reader.bounded(request())
        part.require()
        keys = asked.name if selects() else None
        return Entry(
            asked, statistic, *answering(), keys=keys, other_bound=other, post=steps(), raw=raw()
        )

    def _check_name(self, names: dict[str, Word]) -> None:
        word = self._node.word("name")
        if word is None or "name" in self._part.bad:
            return
        name, taken = word.text, self._scope.taken
        if name in taken:
            word.span.report("reserved-name.statistic", statistic=name, taken_by=taken[name])
        elif (first := names.setdefault(name, word)) is not word:
            word.span.report("duplicate-name", statistic=name, line=first.span.line)

    def _selects(self, by: Callable[[], tuple[Key, ...]]) -> bool:
        part = self._part
        part.require("keys")
        if getattr(part.values, "keys", None) is None:
            return False
        if getattr(part.values, "column", None) is not None:
            raise part.report_key("keys-not-taken.column", "keys", others=takers_of("keys"))
        if not any(key.open for key in by()):
            raise part.report_key("keys-declared", "keys")
        return True


MOST_STATISTICS = 1_000
MOST_CELLS_IN_ALL, MOST_SCORES_IN_ALL = 2_000_000, 10_000_000
MOST_QUERIES_IN_ALL = 10_000

Placed = tuple[Entry, Mapping]
"""An entry and where it stands."""


EMPTY = {"statistics": "no-statistics", "responses": "no-responses"}


def entries_of(section: Listing | None, name: str, example: str) -> list[Mapping]:
    """The entries of a section that are mappings; others are recorded, as is an empty section."""
    if section is None:
        return []
    if not section.items:
        section.span.report(EMPTY[name])

    def read(node: Node) -> Mapping:
        if isinstance(node, Mapping):
            return node
        facts = {"name": f"an entry of `{name}`", "found": node.form}
        raise node.span.report("wrong-shape.one-entry", example=example, **facts)

    return readable(read, section.items)


def read_entries(section: Listing | None, scope: Scope) -> tuple[Entry, ...]:
    """Every entry without problems; those with problems are recorded."""
    nodes = entries_of(section, "statistics", "{name: ..., statistic: ..., epsilon: ...}")
    if len(nodes) > MOST_STATISTICS:
        span = nodes[MOST_STATISTICS].span
        raise span.report("too-many-statistics", count=len(nodes), most=MOST_STATISTICS)
    names: dict[str, Word] = {}
    found: list[Placed] = []
    cells = scores = queries = 0
    for node in nodes:
        try:
            entry = EntryReader(node, scope).entry(names)
        except Unreadable:
            continue
        found.append((entry, node))
        request = entry.request
        if not any(key.open for key in request.by):
            cells += numbers_of(entry.statistic, request)
        scores += scores_of(request)
        queries += len(entry.statistic.questions(request, scope.relation))
        for code, count, most in (
            ("too-many-cells.all", cells, MOST_CELLS_IN_ALL),
            ("too-many-cells.all_scores", scores, MOST_SCORES_IN_ALL),
            ("too-many-queries", queries, MOST_QUERIES_IN_ALL),
        ):
            if count > most:
                raise node.span.report(code, count=count, most=most)
    whole = section is not None and len(found) == len(section.items)
    return _share_selections(found, whole=whole)


def _share_selections(placed: Sequence[Placed], *, whole: bool) -> tuple[Entry, ...]:
    """The entries, each with the entry that selects its groups, if keys are private.

    Unless these are the `whole` section, a missing selection may be in an entry that has
    problems of its own, and is not reported.
    """
    selectors: dict[tuple[Key, ...], Entry] = {}
    for entry, node in placed:
        first = selectors.setdefault(entry.request.by, entry) if entry.selects else entry
        if first is not entry:
            facts = {"statistic": entry.request.name, "other": first.request.name}
            node.key_span("keys").report("keys-twice", **facts)
    found = []
    for entry, node in placed:
        selector = selectors.get(entry.request.by)
        private = [key.column.name for key in entry.request.by if key.open]
        if private and selector is None and whole:
            by = ", ".join(inline(key.column.name) for key in entry.request.by)
            span, name = node.key_span("by"), entry.request.name
            span.report("keys-required", by=by, statistic=name, private=private)
        found.append(replace(entry, keys=selector.request.name) if selector else entry)
    return tuple(found)

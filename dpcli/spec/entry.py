"""One entry of the statistics: its names resolved, its fields and price read."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

from dpcli.columns import CategoryColumn, Column, IdColumn, NumericColumn
from dpcli.privacy.relation import Neighbors, Relation, RowUnit
from dpcli.queries import Condition, Key
from dpcli.reference import synonyms
from dpcli.spec.answering import Answering
from dpcli.spec.asking import Asking
from dpcli.spec.conditions import conditions
from dpcli.spec.entry_shape import Entry as EntryShape
from dpcli.spec.fit import fit
from dpcli.spec.further import fine_enough, read_further, right_fields
from dpcli.spec.keys import axis, groups
from dpcli.spec.model import Entry
from dpcli.spec.nodes import Mapping, Node, Word
from dpcli.spec.post import read_post, read_raw, read_withhold
from dpcli.spec.scope import Scope
from dpcli.spec.selection import selects
from dpcli.spec.totals import Totals
from dpcli.spec.wording import a_column, listed, shown
from dpcli.statistics import STATISTICS
from dpcli.statistics.base import Request, Statistic

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")

MOST_CELLS = 1_000_000
MOST_SCORES = 2_000_000
MOST_JOINT = 1 << 58


def resolve_entry(node: Mapping, scope: Scope, names: dict[str, Word]) -> Entry | None:
    """The entry, or None after its problems are recorded.

    `names` holds the names of the entries before, and gains this one's.
    """
    return _Resolver(node, scope).entry(names)


class _Resolver:
    """One entry, read field by field; every field's problems are recorded."""

    def __init__(self, node: Mapping, scope: Scope) -> None:
        self._node, self._scope, self._findings = node, scope, scope.findings
        name = node.get("name")
        self._user = shown(name.text) if isinstance(name, Word) else "a statistic"

    def entry(self, names: dict[str, Word]) -> Entry | None:
        """The entry, or None after its problems are recorded."""
        node = self._node
        self._name(names)
        if fit(EntryShape, node, "a statistic", self._findings) is None:
            return None
        statistic = self._statistic()
        answering = Answering(node, self._scope, self._user, statistic)
        by = groups(node.get("by"), self._user, self._scope)
        where = conditions(node.get("where"), self._user, self._scope)
        if statistic is None:
            return None
        asking = Asking(node, statistic, self._scope, self._user)
        request = self._request(asking, by, where)
        post = read_post(asking)
        withheld = read_withhold(asking)
        raw = read_raw(asking, (*(post or ()), *(withheld or ())))
        mechanisms, price = answering.mechanisms, answering.price
        if not (mechanisms and request and price and answering.calibration):
            return None
        totals = Totals(node, statistic, request.column, self._scope, self._user)
        chooses = selects(node, statistic, request.by, self._scope)
        if chooses is None or not totals.good or not self._counts_somebody(statistic, request):
            return None
        if (
            post is None
            or withheld is None
            or raw is None
            or not self._can_be_answered(asking, request)
        ):
            return None
        if totals.summed:
            request = replace(request, totals=totals.clamp)
        keys = request.name if chooses else None
        rival = totals.rival(request)
        return Entry(
            request,
            statistic,
            mechanisms,
            price,
            answering.calibration,
            keys,
            rival,
            (*post, *withheld),
            raw=raw,
        )

    def _can_be_answered(self, asking: Asking, request: Request) -> bool:
        """Whether there are not too many numbers, nor too large ones."""
        statistic = asking.statistic
        cells = numbers_of(statistic, request)
        scores = scores_of(request)
        if _joint(request) > MOST_JOINT:
            self._findings.add(
                "too-many-cells",
                f"the keys of {self._user} have too many combinations, each counted with a place "
                "for what lies nowhere",
                "leave out keys; those with a single label tell nothing",
                self._node.span,
            )
            return False
        if cells > MOST_CELLS or scores > MOST_SCORES:
            what = "cells" if cells > MOST_CELLS else "scores of candidates"
            count, most = (cells, MOST_CELLS) if cells > MOST_CELLS else (scores, MOST_SCORES)
            self._findings.add(
                "too-many-cells",
                f"{self._user} has {count:,} {what}, at most {most:,} can be released",
                "use wider bins, or fewer keys in `by`"
                if what == "cells"
                else "use fewer candidates, or fewer keys in `by`",
                self._node.span,
            )
            return False
        if statistic.chooses:
            return True
        items = statistic.items(request) if request.columns or request.margins else ()
        if len(set(items)) < len(items):
            self._findings.add(
                "ambiguous-items",
                f"two numbers of {self._user} would have the same item",
                "rename columns or labels that look like two, such as `a:b` or `x; b=1`",
                self._node.span,
            )
            return False
        relation = Relation(self._scope.unit or RowUnit(), Neighbors.ADD_REMOVE)
        return fine_enough(asking, statistic.questions(request, relation))

    def _counts_somebody(self, statistic: Statistic, request: Request) -> bool:
        """Whether there are people to count, where people are counted."""
        people = "id" in statistic.fields.column and request.column is None
        if not people or not isinstance(self._scope.unit, RowUnit):
            return True
        self._findings.add(
            "nobody-to-count",
            f"{self._user} counts different people, but `unit` is `row`",
            "name a `column` whose values are counted, or protect people by "
            "`unit: {column: ..., max_rows: ...}`",
            self._node.span,
        )
        return False

    def _name(self, names: dict[str, Word]) -> None:
        """Checks that the name is one, and new."""
        word = self._node.word("name")
        if word is None:
            return
        if not NAME.fullmatch(word.text):
            self._findings.add(
                "bad-name",
                f"`name` is {shown(word.text)}, expected letters, digits, `_` and `-`",
                "begin with a letter or `_`, and use at most 100 characters",
                word.span,
            )
            return
        if word.text in self._scope.taken:
            self._findings.add(
                "reserved-name",
                f"a statistic is named {shown(word.text)}, as {self._scope.taken[word.text]} is",
                "give the statistic another name",
                word.span,
            )
            return
        first = names.setdefault(word.text, word)
        if first is not word:
            self._findings.add(
                "duplicate-name",
                f"two statistics are named {shown(word.text)}: "
                f"the first is on line {first.span.line}",
                "rename one of them",
                word.span,
            )

    def _statistic(self) -> Statistic | None:
        """The statistic of that name."""
        word = self._node.word("statistic")
        if word is None:
            return None
        by_name = {statistic.name: statistic for statistic in STATISTICS}
        if word.text in by_name:
            return by_name[word.text]
        self._findings.unknown(
            "unknown-statistic",
            f"`statistic` is {shown(word.text)}, expected {listed(by_name, 'or')}",
            synonyms().get(word.text.casefold(), word.text),
            by_name,
            word.span,
            otherwise="write one of these, spelled exactly so",
        )
        return None

    def _request(
        self,
        asking: Asking,
        by: tuple[Key, ...] | None,
        where: tuple[Condition, ...] | None,
    ) -> Request | None:
        """What is asked, with the fields that the statistic takes."""
        statistic = asking.statistic
        right = right_fields(asking)
        good, column = self._column(statistic)
        bins: Key | None = None
        if good and asking.takes("bins") and isinstance(column, CategoryColumn | NumericColumn):
            bins = self._bins(column, self._node.get("bins"), by)
            good = bins is not None
        name = self._node.word("name")
        if not good or not right or by is None or where is None or name is None:
            return None
        return read_further(asking, Request(name.text, column, bins, by, where))

    def _column(self, statistic: Statistic) -> tuple[bool, Column | None]:
        """Whether the field `column` is right, and the column it names."""
        word, fields = self._node.word("column"), statistic.fields
        if word is None:
            if fields.column and fields.column_required:
                self._findings.add(
                    "missing-field",
                    f"{shown(statistic.name)} needs a `column`, and {self._user} has none",
                    f"add `column: ...`, of type {listed(fields.column, 'or')}",
                    self._node.span,
                )
                return False, None
            return True, None
        if not fields.column:
            return False, None
        column: Column | None = self._scope.columns.get(word.text)
        if not (isinstance(column, IdColumn) and "id" in fields.column):
            column = self._scope.usable(word.text, word.span, self._user)
        if column is not None and column.kind not in fields.column:
            self._findings.add(
                "wrong-column-type",
                f"{shown(word.text)} is {a_column(column.kind)}, "
                f"{shown(statistic.name)} needs one of type {listed(fields.column, 'or')}",
                "a `histogram` counts the rows of each label"
                if isinstance(column, CategoryColumn)
                else "choose another column or statistic",
                word.span,
            )
            return False, None
        return column is not None, column

    def _bins(
        self,
        column: CategoryColumn | NumericColumn,
        node: Node | None,
        by: tuple[Key, ...] | None,
    ) -> Key | None:
        """The axis along which a histogram counts."""
        word = self._node.word("column")
        assert word is not None
        if any(key.column is column for key in by or ()):
            self._findings.add(
                "duplicate-key-column",
                f"{shown(column.name)} is counted and in `by` at once",
                "remove it from `by`",
                word.span,
            )
            return None
        return axis(column, node, word, self._scope, "bins: {width: ...}")


def _joint(request: Request) -> int:
    """How many places the engine may tell apart, nowhere along each axis included."""
    axes = [*request.by, *request.margins, *([request.bins] if request.bins else [])]
    sizes = [len(key) for key in axes if not key.open]
    sizes += [
        len(one.labels)
        for one in (request.column, request.label)
        if isinstance(one, CategoryColumn)
    ]
    return prod(size + 1 for size in sizes) * (2 * len(request.candidates) + 3)


def scores_of(request: Request) -> int:
    """How many scores of candidates an entry needs; in each private group, if those are."""
    return prod(len(key) for key in request.by if not key.open) * len(request.candidates)


def numbers_of(statistic: Statistic, request: Request) -> int:
    """How many numbers an entry publishes; in each private group, if those are private."""
    return prod(len(key) for key in request.by if not key.open) * statistic.size(request)

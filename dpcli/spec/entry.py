"""One entry of the statistics: its names resolved, its fields and price read."""

from __future__ import annotations

import re
from fractions import Fraction
from math import prod

from dpcli.columns import CategoryColumn, Column, NumericColumn
from dpcli.mechanisms import MECHANISMS
from dpcli.mechanisms.base import Mechanism
from dpcli.privacy.loss import Loss
from dpcli.queries import Condition, Key
from dpcli.spec.conditions import conditions
from dpcli.spec.fit import fit
from dpcli.spec.keys import axis, groups
from dpcli.spec.model import Entry
from dpcli.spec.nodes import Mapping, Node, Word
from dpcli.spec.prices import read_delta, read_epsilon
from dpcli.spec.scope import Scope
from dpcli.spec.structure import Entry as EntryShape
from dpcli.spec.wording import a_column, listed, shown
from dpcli.statistics import STATISTICS
from dpcli.statistics.base import Request, Statistic

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")

MOST_CELLS = 1_000_000


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
        statistic, mechanism = self._statistic(), self._mechanism()
        by = groups(node.get("by"), self._user, self._scope)
        where = conditions(node.get("where"), self._user, self._scope)
        target = self._target(mechanism)
        calibration = self._calibration(mechanism)
        request = self._request(statistic, by, where) if statistic else None
        if not (statistic and mechanism and request and target and calibration):
            return None
        cells = prod(len(key) for key in statistic.axes(request))
        if cells > MOST_CELLS:
            self._findings.add(
                "too-many-cells",
                f"{self._user} has {cells:,} cells, at most {MOST_CELLS:,} can be released",
                "use wider bins, or fewer keys in `by`",
                node.span,
            )
            return None
        return Entry(request, statistic, mechanism, target, calibration)

    def _word(self, key: str) -> Word | None:
        """The value of a field, if it is there."""
        node = self._node.get(key)
        return node if isinstance(node, Word) else None

    def _name(self, names: dict[str, Word]) -> None:
        """Checks that the name is one, and new."""
        word = self._word("name")
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
        word = self._word("statistic")
        if word is None:
            return None
        by_name = {statistic.name: statistic for statistic in STATISTICS}
        if word.text in by_name:
            return by_name[word.text]
        self._findings.unknown(
            "unknown-statistic",
            f"`statistic` is {shown(word.text)}, expected {listed(by_name, 'or')}",
            word.text,
            by_name,
            word.span,
            otherwise="write one of these, spelled exactly so",
        )
        return None

    def _mechanism(self) -> Mechanism | None:
        """The mechanism of that name, or the first."""
        word = self._word("mechanism")
        if word is None:
            return MECHANISMS[0]
        by_name = {mechanism.name: mechanism for mechanism in MECHANISMS}
        if word.text in by_name:
            return by_name[word.text]
        self._findings.unknown(
            "unknown-mechanism",
            f"`mechanism` is {shown(word.text)}, expected {listed(by_name, 'or')}",
            word.text,
            by_name,
            word.span,
            otherwise="write one of these, spelled exactly so",
        )
        return None

    def _target(self, mechanism: Mechanism | None) -> Loss | None:
        """What the entry may reveal."""
        epsilon_word, delta_word = self._word("epsilon"), self._word("delta")
        if epsilon_word is None:
            return None
        epsilon = read_epsilon(epsilon_word, self._findings)
        delta: Fraction | None = Fraction(0)
        if delta_word is not None:
            delta = read_delta(delta_word, self._findings)
        if mechanism is None or epsilon is None or delta is None:
            return None
        if delta_word is not None and not mechanism.needs_delta:
            others = [other.name for other in MECHANISMS if other.needs_delta]
            instead = f", or use `mechanism: {others[0]}`" if others else ""
            self._findings.add(
                "delta-not-taken",
                f"{shown(mechanism.name)} takes no `delta`: its guarantee is pure",
                f"remove `delta`{instead}",
                self._node.key_span("delta"),
            )
            return None
        if delta_word is None and mechanism.needs_delta:
            self._findings.add(
                "delta-required",
                f"{shown(mechanism.name)} needs a `delta`, and {self._user} has none",
                "add `delta: 1e-7` or so, far below one divided by the number of people",
                (self._word("mechanism") or self._node).span,
            )
            return None
        return Loss(epsilon, delta)

    def _calibration(self, mechanism: Mechanism | None) -> str | None:
        """How the mechanism shall choose its noise."""
        word = self._word("calibration")
        if mechanism is None:
            return None
        if word is None:
            return mechanism.calibrations[0]
        if word.text in mechanism.calibrations:
            return word.text
        self._findings.unknown(
            "unknown-calibration",
            f"`calibration` is {shown(word.text)}, "
            f"{shown(mechanism.name)} has {listed(mechanism.calibrations)}",
            word.text,
            mechanism.calibrations,
            word.span,
            otherwise="write one of these, or leave `calibration` out",
        )
        return None

    def _request(
        self,
        statistic: Statistic,
        by: tuple[Key, ...] | None,
        where: tuple[Condition, ...] | None,
    ) -> Request | None:
        """What is asked, with the fields that the statistic takes."""
        good, column = self._column(statistic)
        bins: Key | None = None
        bins_node = self._node.get("bins")
        if not statistic.fields.bins:
            if bins_node is not None:
                self._refuse("bins", statistic)
                good = False
        elif good and isinstance(column, CategoryColumn | NumericColumn):
            bins = self._bins(column, bins_node, by)
            good = bins is not None
        if not good or by is None or where is None:
            return None
        name = self._word("name")
        assert name is not None
        return Request(name.text, column, bins, by, where)

    def _column(self, statistic: Statistic) -> tuple[bool, Column | None]:
        """Whether the field `column` is right, and the column it names."""
        word, fields = self._word("column"), statistic.fields
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
            self._refuse("column", statistic)
            return False, None
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
        word = self._word("column")
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

    def _refuse(self, key: str, statistic: Statistic) -> None:
        """Records a field that the statistic does not take."""
        fields = [name for name in EntryShape.model_fields if name not in ("column", "bins")]
        if statistic.fields.column:
            fields.insert(2, "column")
        if statistic.fields.bins:
            fields.insert(3, "bins")
        self._findings.add(
            "field-not-taken",
            f"{shown(statistic.name)} takes no {shown(key)}; it takes {listed(fields)}",
            f"remove {shown(key)}" + (", or use `statistic: histogram`" if key == "bins" else ""),
            self._node.key_span(key),
        )

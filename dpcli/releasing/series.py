"""The series of a release: their states, and the sealed sums of earlier periods.

A series has a public state, which each release stores in the ledger, and a file with sealed sums of
earlier periods next to the ledger, as confidential as the data. The state names the sums by random
tokens. A sum without its token, or without the file, is lost: it is left out of later answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

from dpcli.data.column import file_columns
from dpcli.data.filters import joint_texts
from dpcli.engine.sums.sealed import SealedPeriod, SealedSums, unpack_sums
from dpcli.ledger.balance import day_number
from dpcli.ledger.charge import SERIES, state_digest
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import translated_os_errors
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.noise.entropy import random_bytes
from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.results import NoisyNumbers
from dpcli.problems.errors import LedgerError, UsageError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.series import EarlierSums
from dpcli.releasing.publishing import write_private
from dpcli.specification.model import CentralSpec
from dpcli.statistics.series.designs import SeriesDesign
from dpcli.statistics.series.history import lines_of
from dpcli.statistics.series.past import Past, PublicState

TOKEN_BYTES = 16

MAX_NAME_BYTES = 255
"""Names of files are at most this long; a longer label becomes a digest.

One with capital letters does, too: some file systems take `N` and `n` for the same file.
"""

SHORT_LABEL = 32

FORM, WITHOUT_SHOWN = "3:", "2:"
"""Beginnings of digests: of this form, and of one without what is shown.

Those of the first version have none.
"""

COLUMN_FACTS = ("source", "bounds", "step", "missing")
"""What earlier versions compared of columns, besides names and groups."""


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    """A planned statistic, its design after the past, and its sealed periods."""

    planned: PlannedStatistic
    design: SeriesDesign
    kept: tuple[SealedPeriod | None, ...]
    unstored: int

    @property
    def past(self) -> Past:
        """The past of the design."""
        return self.design.known

    @property
    def earlier(self) -> tuple[EarlierSums, int]:
        """Earlier sums, and the number of the period; without sums for a correction."""
        if self.past.corrects is not None:
            return (), 0
        sums = [None if period is None else period.sums for period in self.kept]
        return sums, self.past.state.count


class SeriesOfRelease:
    """The series of a plan, as the ledger and files of sealed sums have them.

    `plan` has the pasts of its series, and `sealed` the sums that answers need.

    Privacy: states are functions of noisy answers. Whether a file of sums is there, or was changed,
    is a fact about files. Sums go from the file to answers before noise, and to the next file. If
    an answer is not in the state that the next one follows, earlier sums are never used again: two
    answers with the same coefficients would reveal them twice.
    """

    def __init__(self, plan: CentralPlan, ledger: OpenLedger, *, corrected: bool = False) -> None:
        self._ledger, self._spec, self._corrected = ledger, plan.spec, corrected
        self._day = day_number(plan.spec.period)
        self._series = {
            planned.name: self._opened(planned, planned.design)
            for planned in plan.statistics
            if isinstance(planned.design, SeriesDesign)
        }
        statistics = tuple(
            replace(planned, design=self._series[planned.name].design)
            if planned.name in self._series
            else planned
            for planned in plan.statistics
        )
        self.plan = replace(plan, statistics=statistics)
        self.sealed = SealedSums(
            {id(one.design.query): one.earlier for one in self._series.values()}
        )

    def require_unchanged(self) -> None:
        """Raise LedgerError if a series differs from its earlier periods."""
        for name, one in self._series.items():
            state = one.past.state
            if state.count and not _follows(state, one.planned, one.design, self._spec):
                raise LedgerError.about("series-window.changed", name=name)

    def require_next(self) -> None:
        """Raise UsageError or LedgerError unless the period can follow those before it."""
        self.require_unchanged()
        for name, one in self._series.items():
            if self._day is None:
                raise UsageError.about("series-period", name=name)
            if self._spec.recipient is not None:
                raise LedgerError.about("series-window.recipient", name=name)
            past, about = one.past, {"name": name, "period": self._spec.period}
            stored = self._spec.dataset, self._spec.period
            if not self._corrected and self._ledger.last_with_output(SERIES + name, *stored):
                raise LedgerError.about("series-window.day", **about)
            if self._corrected and past.corrects is None:
                raise LedgerError.about("series-window.no-day", **about)
            if past.corrects is not None and not one.design.can_correct(past):
                raise LedgerError.about("series-window.closed", **about)

    def warnings(self) -> Iterator[str]:
        """Warnings about sums that were lost."""
        for name, one in self._series.items():
            if one.unstored:
                yield (
                    f"{name}: {one.unstored} charged answers are not stored, because they failed "
                    "or were recovered: totals have neither them nor their days, unless these are "
                    "released again"
                )
            lost = sum(period is None for period in one.kept)
            before = len(one.past.state.gone)
            if len(one.past.gone) > before:
                yield (
                    f"{name}: the sealed sums of {lost} of the last {len(one.kept)} periods are "
                    f"not in `{self._path(name).name}`, or may not be used: answers go on without "
                    "them, with larger errors, which are stated"
                )

    def stored(self, numbers: NoisyNumbers) -> dict[str, bytes]:
        """The new states by names of outputs; sealed sums are written to their files.

        It is called while the ledger lets no other process charge. Raises LedgerError.

        Privacy: if the quality check failed, there is no state, but the sums are written, too. On a
        disk that is nearly full, they may take the space for the charge that follows an error. A
        failed check must then not be stored where a passed one is neither stored nor charged.
        """
        found = {}
        answered = {statistic.planned.name: statistic for statistic in numbers.statistics}
        for name, one in self._series.items():
            query, statistic = one.design.query, answered.get(name)
            state, estimates = None, integer_array([0] * (query.of.cells or 0))
            if statistic is not None:
                state, estimates = one.design.next_state(statistic.answers)
            # All are kept: if the charge fails now, the state stays the one before.
            kept = filter(None, one.kept)
            content, path = (
                self.sealed.packed(query, one.past.token, estimates, kept),
                self._path(name),
            )
            with translated_os_errors(path):
                write_private(content, path, force=True)
            if statistic is None or state is None:
                continue
            history = one.design.history(
                statistic.estimates, statistic.answers, self._spec.confidence
            )
            design = _digest(one.planned, one.design, self._spec)
            found[SERIES + name] = replace(state, design=design, history=history).to_json()
        return found

    def _opened(self, planned: PlannedStatistic, design: SeriesDesign) -> _Series:
        content, unstored = self._ledger.series_state(planned.name, self._spec.dataset)
        cells = design.query.of.cells or 0
        state = PublicState("", total=integer_array([0] * cells))
        if content:
            state = PublicState.from_json(content)
        sealed = [] if unstored else self._unpacked(planned.name, cells)
        by_token = {period.token: period for period in sealed}
        # A sum that was left out once stays out: what is stated of errors depends on it.
        gone = {state.count - 1 - period for period, _ in state.gone}
        kept = tuple(
            None if at in gone else by_token.get(period.token)
            for at, period in enumerate(state.kept)
        )
        past = Past(
            state,
            tuple(None if period is None else period.estimates for period in kept),
            self._day or 0,
            random_bytes(TOKEN_BYTES).hex(),
            state_digest(content, unstored),
            self._corrected_period(state),
        )
        return _Series(planned, replace(design, past=past), kept, unstored)

    def _corrected_period(self, state: PublicState) -> int | None:
        """The number of the period that the release corrects; None if it corrects none."""
        days = [period.day for period in state.kept]
        if not self._corrected or self._day not in days:
            return None
        return state.count - 1 - days.index(self._day)

    def _unpacked(self, name: str, cells: int) -> list[SealedPeriod]:
        """The sealed periods in the file of an entry; none if it cannot be used."""
        path = self._path(name)
        with suppress(OSError, ValueError):
            return unpack_sums(path.read_bytes(), cells) if path.is_file() else []
        return []

    def _path(self, name: str) -> Path:
        """The file of the sealed sums of an entry, next to the ledger."""
        path = self._ledger.path.resolve()
        label = f"{self._spec.dataset}.{name}"
        is_long = len(f"{path.name}.{label}.sums".encode()) > MAX_NAME_BYTES
        if is_long or label != label.lower():
            label = hashlib.sha256(label.encode()).hexdigest()[:SHORT_LABEL]
        return path.with_name(f"{path.name}.{label}.sums")


def _digest(
    planned: PlannedStatistic, design: SeriesDesign, spec: CentralSpec, form: str = FORM
) -> str:
    """The digest of what the periods of a series have in common.

    It has all that decides what rows contribute: the query with its columns, their options and
    formulas, how files are written, the unit, and the column of the day. It also has what is shown:
    states keep no more days than these numbers need.
    """
    (query,) = planned.queries
    # Keys of JSON Lines are those of other entries, too.
    read = replace(spec.dialect, keys=()), spec.privacy.unit, spec.period_column
    stated = _plain([planned.entry.statistic.name, query.weighted.query, query.weighted.step, read])
    noise = _noise(query.calibrated)
    if form == WITHOUT_SHOWN:
        return form + _sha256([stated, noise])
    return form + _sha256([stated, noise, list(map(str, design.shown))])


def _follows(
    state: PublicState, planned: PlannedStatistic, design: SeriesDesign, spec: CentralSpec
) -> bool:
    """Whether a planned period can follow a state: both have the same digest.

    Earlier versions did not compare options, formulas, how files are written, and what is shown. A
    state with another number of published numbers was about others.
    """
    if state.design.startswith(FORM):
        return state.design == _digest(planned, design, spec)
    cells, shown = design.query.of.cells_per_group, len(design.shown)
    count = len(lines_of((design.query.of.cells or 0) // cells, shown, cells))
    if any(len(period.numbers) != count for period in state.history):
        return False
    is_second = state.design.startswith(WITHOUT_SHOWN)
    return state.design == (
        _digest(planned, design, spec, WITHOUT_SHOWN) if is_second else _earlier_digest(planned)
    )


def _plain(value: object) -> object:
    """A value as data of JSON, without fields that have their defaults.

    A later version may add a field to a column, and the digests of others stay.
    """
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(item)] for key, item in value.items()]
    if not is_dataclass(value) or isinstance(value, type):
        return value if isinstance(value, int | None) else str(value)
    pairs = ((field, getattr(value, field.name)) for field in fields(value))
    stated = {field.name: _plain(item) for field, item in pairs if item != field.default}
    return [type(value).__name__, stated]


def _noise(calibrated: CalibratedMechanism) -> list[list[object]]:
    sensitivity, noise = calibrated.sensitivity, calibrated.noise
    return [
        [sensitivity.l0, sensitivity.l1, sensitivity.l2_squared, sensitivity.linf],
        [noise.kind, str(noise.scale)],
    ]


def _sha256(stated: object) -> str:
    return hashlib.sha256(json.dumps(stated).encode()).hexdigest()


def _earlier_digest(planned: PlannedStatistic) -> str:
    """The digest of states that earlier versions stored."""
    (query,), inputs = planned.queries, planned.entry.inputs
    asked = query.weighted.query
    columns = dict.fromkeys((*asked.columns, *file_columns(asked.columns)))
    stated = [
        planned.entry.statistic.name,
        [[axis.column.name, *axis.labels] for axis in asked.axes],
        joint_texts(inputs.where),
        inputs.column.name if inputs.column else "",
        [
            [column.name, *(str(getattr(column, key, None)) for key in COLUMN_FACTS)]
            for column in columns
        ],
        str(query.weighted.step),
    ]
    return _sha256([*stated, *_noise(query.calibrated)])

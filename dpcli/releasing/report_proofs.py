"""Published reports: whether they agree with a ledger, and what they prove.

The spec in a report is planned again. If that gives the figures of the report, its events are those
of the lost entry. Otherwise a plan of another version made it, and the plain sum of all losses is
charged: of the report or of the new plan, whichever is greater. A report was changed if its spec
does not have the digest that the report states, or if its losses do not add up.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpcli.data.periods import parse_period
from dpcli.fields.json import REPORT_VERSION, Fact, json_text, parsed_json
from dpcli.ledger.balance import AccountTerms, period_number, terms_from_spec
from dpcli.ledger.chain import LedgerEntry
from dpcli.ledger.charge import SUFFIX
from dpcli.ledger.entries import unpacked_outputs
from dpcli.ledger.forecast import BalanceForecast
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import ENTRY_ID
from dpcli.ledger.restoration import Proof
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.privacy.events import RECOVERED, MechanismEvent
from dpcli.privacy.loss import Loss, sum_losses
from dpcli.problems.errors import LedgerError, Problem, SpecError, UsageError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.collection import CollectionReport, ResponseReport
from dpcli.report.content import canonical, content_of
from dpcli.report.first_counts import ChoiceRuleReport, QualityRuleReport
from dpcli.report.formats import FACTS
from dpcli.report.plan import LocalPlanReport, PlanReport, plan_report
from dpcli.report.privacy import LedgerReport, LossReport
from dpcli.report.release import ReleaseReport
from dpcli.report.report import UNREADABLE, load_report, stored_report, without_numbers
from dpcli.report.statistic import StatisticReport
from dpcli.specification.chosen_bounds import with_chosen_bounds
from dpcli.specification.load import parse_spec, require_model
from dpcli.specification.model import CentralSpec, ChargedEntry, Spec
from dpcli.statistics.bounds.chosen_bounds import ChosenBounds
from dpcli.version import __version__

BOM = "\ufeff"

DECIMAL = re.compile(r"[0-9]{1,7}(\.[0-9]{1,200})?(e-[0-9]{1,2})?")
HASH = re.compile(r"[0-9a-f]{64}")
ID = re.compile(ENTRY_ID)
INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
"""The forms of numbers, digests, names and times in a report."""

ROUNDING_PART = 1 - Fraction(1, 10**9)
"""The stated sum must cover this part of the summed losses, each rounded up."""

PRIVACY_FIELDS = ("unit", "neighbors", "composition", "requested", "spent", "budget")
"""Fields of the guarantee that decide a charge."""

STATISTIC_FIELDS = (
    "name",
    "column",
    "mechanism",
    "parameters",
    "sensitivity",
    "epsilon",
    "delta",
    "rho",
)
"""Fields of a statistic or a response that decide a charge."""

QUERY_FIELDS = ("role", "joint", "cells", "mechanism", "sensitivity", "epsilon", "delta")
"""Fields of a query that decide a charge."""

Charged = StatisticReport | ResponseReport | QualityRuleReport | ChoiceRuleReport
"""The parts of a report or plan that have a loss of their own."""

Stated = ReleaseReport | CollectionReport | PlanReport | LocalPlanReport
"""What a report or a plan states."""


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A published report: its bytes, and the ledger entry, head and release it names."""

    path: Path
    content: bytes
    stated: ReleaseReport | CollectionReport
    entry: int
    head: str
    release_id: str

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes of the report."""
        return hashlib.sha256(self.content).hexdigest()

    def changed_error(self, why: str) -> LedgerError:
        """The error for a report whose text was changed after it was published."""
        return LedgerError.about("report-changed", report=self.path, why=why)


def _read(path: Path) -> ReportFile:
    """A report; raises UsageError if the file is not a report."""
    with _require_report(path):
        content = path.read_bytes() if path.is_file() else b""
        stated = load_report(parsed_json(without_numbers(content)))
        ledger = stated.ledger
        return ReportFile(path, content, stated, ledger.entry, ledger.head, stated.release_id)


@contextmanager
def _require_report(path: Path) -> Iterator[None]:
    try:
        yield
    except (
        KeyError, TypeError, ValueError, ArithmeticError, AttributeError, OSError, RecursionError
    ):  # fmt: skip
        raise UsageError.about("not-a-report", report=path) from None


def report_faults(ledger: OpenLedger, paths: Sequence[Path]) -> Iterator[str]:
    """A sentence about each report that disagrees with the ledger.

    Raises UsageError if a file is not a report.
    """
    entries = {entry.number: entry for entry in ledger.entries()}
    for report in [_read(path) for path in paths]:
        path, number = report.path, report.entry
        named = (
            entry for entry in entries.values() if entry.is_named(report.head, report.release_id)
        )
        entry = next(named, entries.get(number))
        if entry is None:
            yield f"`{path}` was published from entry {number}, which the ledger does not have"
        elif not entry.is_named(report.head, report.release_id):
            yield f"`{path}` was published from another entry {number} than the ledger has"
        elif not _is_stored(ledger, entry, report):
            yield f"`{path}` is not what entry {number} published: its text was changed"


def _is_stored(ledger: OpenLedger, entry: LedgerEntry, report: ReportFile) -> bool:
    """Whether the entry published the report, or was recovered from it."""
    if entry.recovered is not None:
        return entry.recovered.get("report") == report.digest
    outputs = unpacked_outputs(entry.number, ledger.outputs(entry.number))
    stored = outputs.get(FACTS, b"")
    return report.content == stored or _content(report.content) == _content(stored)


def _content(report: bytes) -> str | None:
    """The digest of the content of a report, however it is written."""
    with suppress(*UNREADABLE):
        return content_of(report)
    return None


def stored_faults(ledger: OpenLedger) -> Iterator[str]:
    """A sentence about each stored report that no command could read."""
    for entry in ledger.entries():
        problems: list[Problem] = []
        # Early reports lack facts that later ones have.
        with LedgerError.collected(problems), suppress(KeyError):
            outputs = unpacked_outputs(entry.number, ledger.outputs(entry.number))
            stored_report(entry.release_id, outputs)
        yield from (f"entry {entry.number}: {problem.message}" for problem in problems)


def report_proofs(paths: Sequence[Path]) -> list[Proof]:
    """What the reports prove about lost entries.

    Raises UsageError if a file is not a report, and LedgerError with every report that was changed
    or cannot be used.
    """
    proofs: list[Proof] = []
    problems: list[Problem] = []
    for path in paths:
        with LedgerError.collected(problems):
            proofs += _proofs(path)
    LedgerError.require_none(problems)
    return proofs


def _proofs(path: Path) -> Iterator[Proof]:
    """The proof of a report's release, after that of its first phase, if any."""
    report = _read(path)
    proof = _proof(report)
    with _require_report(path):
        check = getattr(report.stated, "quality", None)
        first = [*_choices(report.stated), *([check] if getattr(check, "ledger", None) else [])]
        entries = {(part.ledger.entry, part.ledger.head) for part in first}
        stated = sum_losses(map(_loss, first))
        if len(entries) > 1 or not all(HASH.fullmatch(head) for _, head in entries):
            raise ValueError("bounds are chosen in one entry")
    for entry, head in entries:
        events: tuple[MechanismEvent, ...] = (
            MechanismEvent("all of them", "recovered", RECOVERED, stated),
        )
        if proof.exact:
            spec = require_model(_spec_of(report), CentralSpec, str(path))
            events = make_plan(spec).first_phase.charged_events
        yield replace(
            proof, entry=entry, head=head, release_id=proof.release_id + SUFFIX,
            before=Loss(Fraction(0), Fraction(0)), events=events, first=None,
        )  # fmt: skip
    yield proof


def _proof(report: ReportFile) -> Proof:
    path = report.path
    with _require_report(path):
        stated, privacy, ledger = report.stated, report.stated.privacy, report.stated.ledger
        created, digest = stated.created, stated.spec.digest
        window, period = None, getattr(stated, "reference_period", None)
        if ledger.window is not None:
            window, period = ledger.window.periods, str(ledger.window.period)
            period_number(period)
        elif period is not None:
            parse_period(period)
        if privacy.before is None or not stated.spec.text:
            raise ValueError("a report has a spec, and states what was spent before")
        before, requested = _loss(privacy.before), _loss(privacy.requested)
        total = sum_losses(map(_loss, _statistics(stated)))
        first = getattr(ledger, "first_release", None)
        recipient, further = getattr(ledger, "recipient", None), _further_budgets(ledger)
        forms = ((HASH, report.head), (ID, report.release_id), (INSTANT, created))
        is_named = all(pattern.fullmatch(value) for pattern, value in forms)
        if report.entry < 1 or not is_named:
            raise ValueError("a report names its entry")
    spec = _spec_of(report)
    if not Loss(total.epsilon * ROUNDING_PART, total.delta * ROUNDING_PART).within(requested):
        raise report.changed_error("its losses do not add up to what it says was asked")
    terms, parent = _stated_terms(replace(terms_from_spec(spec), window=window), further)
    events, exact = _events(spec, report, requested)
    return Proof(
        path, report.digest, report.entry, report.head, report.release_id, digest, created, terms,
        period, before, events, exact, first, recipient, parent,
    )  # fmt: skip


FurtherTerms = dict[tuple[str, str | None], tuple[Loss, int | None]]
"""The budget and the window of an account, or of one of its recipients."""


def _further_budgets(ledger: LedgerReport) -> FurtherTerms:
    return {
        (stated.account, stated.recipient): (stated.budget.loss, stated.window)
        for stated in getattr(ledger, "further_budgets", None) or ()
    }


def _stated_terms(
    terms: AccountTerms, further: FurtherTerms
) -> tuple[AccountTerms, AccountTerms | None]:
    """The terms of an account with its recipients, and those of its parent, if any."""

    def recipients(account: str) -> tuple[tuple[str, Fraction], ...]:
        named = {name: loss for (of, name), (loss, _) in further.items() if name and of == account}
        sizes = ((name, loss.rho or loss.epsilon) for name, loss in named.items())
        return tuple(sorted(sizes))

    terms = replace(terms, recipients=recipients(terms.dataset), part_of=None)
    for (account, recipient), (budget, window) in further.items():
        if recipient is None:
            parent = replace(
                terms, dataset=account, budget=budget, window=window, recipients=recipients(account)
            )
            return replace(terms, part_of=account), parent
    return terms, None


def _loss(stated: LossReport | Charged) -> Loss:
    """A loss as a report writes it; raises ValueError if it is not one."""
    digits = [stated.epsilon, stated.delta]
    if not all(map(DECIMAL.fullmatch, digits)):
        raise ValueError("a loss is a decimal of at least 0 that is not too long")
    epsilon, delta = map(Fraction, digits)
    return Loss(epsilon, delta)


def _statistics(stated: Stated) -> list[Charged]:
    """All parts with a loss: choices, quality check and statistics, or responses."""
    if isinstance(stated, CollectionReport | LocalPlanReport):
        return [*stated.responses]
    quality = getattr(stated, "quality", None)
    checks = [] if quality is None else [quality]
    return [*_choices(stated), *checks, *stated.statistics]


def _choices(stated: Stated) -> Sequence[Any]:
    return [] if isinstance(stated, CollectionReport | LocalPlanReport) else stated.choices or []


def _spec_of(report: ReportFile) -> Spec:
    """The spec of a report; LedgerError unless it has the digest the report states.

    The tables that a local spec names must lie next to the report: the digest covers them.
    """
    source, unreadable = report.stated.spec, ""
    for raw in (source.text, BOM + source.text):
        try:
            with _require_report(report.path):
                spec = parse_spec(raw, str(report.path), report.path.parent, published=True)
                if isinstance(spec, CentralSpec):
                    spec = _with_first_phase(spec, report.stated)
        except SpecError as failure:
            unreadable = failure.problems[0].message
        else:
            if spec.digest == source.digest:
                return spec
    if unreadable:
        raise LedgerError.about("report-unusable", report=report.path, why=unreadable)
    raise report.changed_error("its spec does not have the digest that it says")


def _with_first_phase(spec: CentralSpec, stated: Stated) -> CentralSpec:
    """The spec with the choices that a report states, and the entry of its check.

    If the check failed, nothing may be chosen.
    """
    charged = getattr(getattr(stated, "quality", None), "ledger", None)
    if charged is not None and spec.quality is not None:
        entry = ChargedEntry(charged.entry, charged.head)
        spec = replace(spec, quality=replace(spec.quality, charged=entry))
    chosen = {
        choice.name: ChosenBounds(Fraction(choice.lower), Fraction(choice.upper))
        for choice in _choices(stated)
    }
    return spec if _is_stopped(stated) and not chosen else with_chosen_bounds(spec, chosen)


def _is_stopped(stated: Stated) -> bool:
    return getattr(getattr(stated, "quality", None), "passed", None) is False


def _events(
    spec: Spec, report: ReportFile, requested: Loss
) -> tuple[tuple[MechanismEvent, ...], bool]:
    """The events to charge, and whether they are those of the lost entry.

    If not, a single event has the greater of the `requested` loss and the loss of a new plan.
    Raises LedgerError for a report of this version whose numbers its spec does not give.
    """
    sums = [requested]
    try:
        plan = make_plan(spec)
    except SpecError as failure:
        if failure.problems[0].code == "package-missing":
            raise
    else:
        is_stopped = _is_stopped(report.stated)
        if is_stopped and isinstance(plan, CentralPlan) and plan.quality is not None:
            plan = plan.quality_check_only
        planned = plan_report(plan, BalanceForecast(Path()))
        if _charged_text(planned) == _charged_text(report.stated):
            return plan.charged_events, True
        wrote = [getattr(report.stated, key, None) for key in ("dpcli_version", "report_version")]
        if wrote == [__version__, REPORT_VERSION]:
            raise report.changed_error("its numbers are not those that its spec gives")
        sums.append(plan.requested_loss)
    entries = () if _is_stopped(report.stated) else getattr(spec, "entries", ())
    if any(dict(entry.inputs.options).get("series") for entry in entries):
        # One event stands for a single day, and days of a series do not add up.
        raise report.changed_error("this version plans another noise for its series")
    loss = Loss(max(loss.epsilon for loss in sums), max(loss.delta for loss in sums))
    return (MechanismEvent("all of them", "recovered", RECOVERED, loss),), False


def _charged_text(stated: Stated) -> str:
    """The figures of a report or a plan that decide its charge, as JSON to compare."""

    def chosen(part: object, names: Sequence[str]) -> dict[str, Any]:
        return {name: getattr(part, name, None) for name in names}

    statistics: list[Fact] = [
        [
            chosen(statistic, STATISTIC_FIELDS),
            [chosen(query, QUERY_FIELDS) for query in getattr(statistic, "queries", ())],
        ]
        for statistic in _statistics(stated)
    ]
    text = json_text([chosen(stated.privacy, PRIVACY_FIELDS), statistics])
    # Other programs may have written the numbers of the report anew.
    return canonical(parsed_json(text))

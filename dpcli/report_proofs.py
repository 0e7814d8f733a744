"""Published reports: whether they agree with a ledger, and what they prove.

The spec in a report is planned again. If that gives the figures of the report, its events are those
of the lost entry. Otherwise a plan of another version made it, and the plain sum of all losses is
charged: of the report or of the new plan, whichever is greater. A report was changed if its spec
does not have the digest that the report states, or if its losses do not add up.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpcli.errors import LedgerError, Problem, SpecError, UsageError
from dpcli.ledger.account import BalanceForecast
from dpcli.ledger.balance import period_number
from dpcli.ledger.chain import LedgerEntry
from dpcli.ledger.charge import SUFFIX, charged_events
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import ENTRY_ID
from dpcli.ledger.restoration import Proof
from dpcli.ledger.terms import terms_from_spec
from dpcli.light_dataclasses import dataclass
from dpcli.planning.planner import make_plan
from dpcli.privacy.events import RECOVERED, MechanismEvent
from dpcli.privacy.loss import Loss, sum_losses
from dpcli.report.document import without_numbers
from dpcli.report.facts import plan_json
from dpcli.specification.load import parse_spec
from dpcli.specification.model import Spec
from dpcli.statistics.bounds_choice import ChosenBounds, bounds_name
from dpcli.statistics.limit_choice import LIMIT_NAME
from dpcli.version import __version__

BOM = "\ufeff"

DECIMAL = re.compile(r"[0-9]{1,7}(\.[0-9]{1,200})?(e-[0-9]{1,2})?")
HASH = re.compile(r"[0-9a-f]{64}")
ID = re.compile(ENTRY_ID)
INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
"""The forms of numbers, digests, names and times in a report."""

ROUNDING_PART = 1 - Fraction(1, 10**9)
"""The part of a sum of rounded losses that cannot come from rounding each of them up."""

PRIVACY_KEYS = ("unit", "neighbors", "composition", "asked", "spent", "budget")
"""Keys of the guarantee that a report and a plan have in common."""

STATISTIC_KEYS = (
    "name",
    "column",
    "mechanism",
    "parameters",
    "sensitivity",
    "epsilon",
    "delta",
    "rho",
)
"""Keys of a statistic or response that both have."""

QUERY_KEYS = ("role", "joint", "cells", "mechanism", "sensitivity", "epsilon", "delta")
"""Keys of a query that both have."""

ReportJson = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PublishedReport:
    """A published report: its bytes, and the ledger entry, head and release that it names."""

    path: Path
    content: bytes
    facts: ReportJson
    entry: int
    head: str
    release_id: str

    @property
    def digest(self) -> str:
        """SHA-256 of its bytes."""
        return hashlib.sha256(self.content).hexdigest()

    def changed_error(self, why: str) -> LedgerError:
        """The error for a report whose text was changed after it was published."""
        return LedgerError.about("report-changed", report=self.path, why=why)


def _read(path: Path) -> PublishedReport:
    """A report, with numbers as digits; raises UsageError if the file is not a report."""
    with _require_report(path):
        content = path.read_bytes() if path.is_file() else b""
        facts = json.loads(
            without_numbers(content), parse_float=str, parse_int=str, parse_constant=str
        )
        place, name = facts["ledger"], str(facts["release_id"])
        return PublishedReport(path, content, facts, int(place["entry"]), str(place["head"]), name)


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
        named = (one for one in entries.values() if one.is_named(report.head, report.release_id))
        entry = next(named, entries.get(number))
        if entry is None:
            yield f"`{path}` was published from entry {number}, which the ledger does not have"
        elif not entry.is_named(report.head, report.release_id):
            yield f"`{path}` was published from another entry {number} than the ledger has"
        elif not _is_published(ledger, entry, report):
            yield f"`{path}` is not what entry {number} published: its text was changed"


def _is_published(ledger: OpenLedger, entry: LedgerEntry, report: PublishedReport) -> bool:
    """Whether the entry published the report, or was recovered from it."""
    if entry.recovered is not None:
        return entry.recovered.get("report") == report.digest
    packed = ledger.outputs(entry.number).get("report.json")
    try:
        return packed is not None and report.content == zlib.decompress(packed)
    except zlib.error:
        return False


def report_proofs(paths: Sequence[Path]) -> list[Proof]:
    """What the reports prove about lost entries.

    Raises UsageError if a file is not a report, and LedgerError with every report that was changed
    or cannot be used.
    """
    proofs: list[Proof] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            proofs += _proofs(path)
        except LedgerError as failure:
            problems += failure.problems
    if problems:
        raise LedgerError(problems)
    return proofs


def _proofs(path: Path) -> Iterator[Proof]:
    """What a report proves: its release, after the entry that chose bounds if there is one."""
    report = _read(path)
    proof = _proof(report)
    with _require_report(path):
        entries = {
            (int(one["ledger"]["entry"]), str(one["ledger"]["head"])) for one in _choices(report)
        }
        stated = sum_losses([_loss(one) for one in _choices(report)])
        if len(entries) > 1 or not all(HASH.fullmatch(head) for _, head in entries):
            raise ValueError("bounds are chosen in one entry")
    for entry, head in entries:
        events: tuple[MechanismEvent, ...] = (
            MechanismEvent("all of them", "recovered", RECOVERED, stated),
        )
        if proof.exact:
            events = charged_events(make_plan(_spec_of(report)).bounds_only)
        yield replace(
            proof, entry=entry, head=head, release_id=proof.release_id + SUFFIX,
            before=Loss(Fraction(0), Fraction(0)), events=events, first=None,
        )  # fmt: skip
    yield proof


def _proof(report: PublishedReport) -> Proof:
    path = report.path
    with _require_report(path):
        privacy, place, source = (report.facts[key] for key in ("privacy", "ledger", "spec"))
        created, text, digest = str(report.facts["created"]), source["text"], str(source["digest"])
        window = int(place["window"]["periods"]) if "window" in place else None
        period = str(place["window"]["period"]) if "window" in place else None
        if period is not None:
            period_number(period)
        before, requested = _loss(privacy["before"]), _loss(privacy["asked"])
        stated = sum_losses([_loss(statistic) for statistic in _statistics(report)])
        first = place.get("first_release")
        forms = ((HASH, report.head), (ID, report.release_id), (INSTANT, created))
        is_named = all(pattern.fullmatch(value) for pattern, value in forms)
        if report.entry < 1 or not isinstance(text, str) or not is_named:
            raise ValueError("a report names its entry, and has a spec")
    spec = _spec_of(report)
    if not Loss(stated.epsilon * ROUNDING_PART, stated.delta * ROUNDING_PART).within(requested):
        raise report.changed_error("its losses do not add up to what it says was asked")
    terms = replace(terms_from_spec(spec), window=window)
    events, exact = _events(spec, report, requested)
    return Proof(
        path, report.digest, report.entry, report.head, report.release_id, digest, created, terms,
        period, before, events, exact, first if isinstance(first, bool) else None,
    )  # fmt: skip


def _loss(fact: ReportJson) -> Loss:
    """A loss as a report writes it; raises ValueError if it is not one."""
    digits = [fact["epsilon"], fact["delta"]]
    if not all(isinstance(text, str) and DECIMAL.fullmatch(text) for text in digits):
        raise ValueError("a loss is a decimal of at least 0 that is not too long")
    epsilon, delta = map(Fraction, digits)
    return Loss(epsilon, delta)


def _statistics(report: PublishedReport) -> list[ReportJson]:
    """Choices of bounds, the quality check and the statistics of a report, or its responses."""
    facts, quality = report.facts, report.facts.get("quality")
    checks = [] if quality is None else [quality]
    answers = facts["statistics"] if "statistics" in facts else facts["responses"]
    return [*_choices(report), *checks, *answers]


def _choices(report: PublishedReport) -> list[ReportJson]:
    """The choices of bounds and limits of a report."""
    return [*report.facts.get("chosen_bounds", ()), *report.facts.get("chosen_limits", ())]


def _chosen_bounds(report: PublishedReport) -> dict[str, ChosenBounds]:
    """The bounds and limits that a report states, by the name of the histogram."""
    facts, chosen = report.facts, {}
    for one in (*facts.get("chosen_bounds", ()), *facts.get("kept_bounds", ())):
        bounds = ChosenBounds(Fraction(one["lower"]), Fraction(one["upper"]))
        chosen[bounds_name(str(one["column"]))] = bounds
    for one in (*facts.get("chosen_limits", ()), *facts.get("kept_limits", ())):
        chosen[LIMIT_NAME] = ChosenBounds(Fraction(0), Fraction(one["limit"]))
    return chosen


def _spec_of(report: PublishedReport) -> Spec:
    """The spec of a report; raises LedgerError unless it has the digest that the report states.

    The tables that a local spec names must lie next to the report: the digest covers them.
    """
    source, unreadable = report.facts["spec"], ""
    text, digest = source["text"], str(source["digest"])
    for raw in (text, BOM + text):
        try:
            with _require_report(report.path):
                chosen = _chosen_bounds(report)
                spec = parse_spec(raw, str(report.path), report.path.parent, chosen)
        except SpecError as failure:
            unreadable = failure.problems[0].message
        else:
            if spec.digest == digest:
                return spec
    if unreadable:
        raise LedgerError.about("report-unusable", report=report.path, why=unreadable)
    raise report.changed_error("its spec does not have the digest that it says")


def _events(
    spec: Spec, report: PublishedReport, requested: Loss
) -> tuple[tuple[MechanismEvent, ...], bool]:
    """The events to charge, and whether they are those of the lost entry."""
    sums = [requested]
    try:
        plan = make_plan(spec)
    except SpecError as failure:
        if failure.problems[0].code == "package-missing":
            raise
    else:
        if plan.quality is not None and (report.facts.get("quality") or {}).get("passed") is False:
            plan = plan.quality_check_only
        text = plan_json(plan, BalanceForecast(Path()))
        planned = replace(report, facts=json.loads(text, parse_float=str, parse_int=str))
        if _charged_facts(planned) == _charged_facts(report):
            return charged_events(plan), True
        if report.facts.get("dpcli_version") == __version__:
            raise report.changed_error("its numbers are not those that its spec gives")
        sums.append(plan.requested_loss)
    loss = Loss(max(loss.epsilon for loss in sums), max(loss.delta for loss in sums))
    return (MechanismEvent("all of them", "recovered", RECOVERED, loss),), False


def _charged_facts(report: PublishedReport) -> object:
    """The facts of a report that decide its charge."""
    privacy = {key: report.facts["privacy"].get(key) for key in PRIVACY_KEYS}
    statistics = [
        (
            {key: statistic.get(key) for key in STATISTIC_KEYS},
            [{key: query.get(key) for key in QUERY_KEYS} for query in statistic.get("parts", ())],
        )
        for statistic in _statistics(report)
    ]
    return privacy, statistics

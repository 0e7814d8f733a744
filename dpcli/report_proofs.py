"""Published reports: whether a ledger agrees, and what they prove of a lost one.

The spec in the report is planned again. Where that gives what the report says, its events are those
of the lost entry; elsewhere (a plan of another version) the plain sum of all losses is charged, the
greater one of the two. A report whose spec does not have its digest, or whose sums do not add
up, was changed.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpcli import __version__
from dpcli.errors import LedgerError, Problem, SpecError, UsageError
from dpcli.ledger.account import BalanceForecast
from dpcli.ledger.balance import period_number
from dpcli.ledger.chain import LedgerEntry
from dpcli.ledger.charge import charged_events
from dpcli.ledger.ledger import Ledger
from dpcli.ledger.restoration import Proof
from dpcli.ledger.terms import terms_from_spec
from dpcli.planning.planner import make_plan
from dpcli.privacy.events import RECOVERED, MechanismEvent
from dpcli.privacy.loss import Loss, sum_losses
from dpcli.report.document import without_numbers
from dpcli.report.facts import plan_json
from dpcli.specification.load import parse_spec
from dpcli.specification.model import Spec

BOM = "\ufeff"

DECIMAL = re.compile(r"[0-9]{1,7}(\.[0-9]{1,200})?(e-[0-9]{1,2})?")
HASH = re.compile(r"[0-9a-f]{64}")
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")
INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
"""What numbers and names of a report look like."""

NEARLY = 1 - Fraction(1, 10**9)
"""Of the sum of rounded losses: how much of it rounding each of them up cannot have added."""

PRIVACY = ("unit", "neighbors", "composition", "asked", "spent", "budget")
"""What a report says about its guarantee that a plan says as well."""

ANSWER = ("name", "column", "mechanism", "parameters", "sensitivity", "epsilon", "delta", "rho")
"""What it says about an answer."""

PART = ("role", "joint", "cells", "mechanism", "sensitivity", "epsilon", "delta")
"""What it says about a part of one."""

ReportJson = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PublishedReport:
    """A published report: its bytes, and the entry, head and release that it names."""

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

    def changed(self, why: str) -> LedgerError:
        """It is not as it was published."""
        return LedgerError.about("report-changed", report=self.path, why=why)


def _read(path: Path) -> PublishedReport:
    """A report, numbers as their digits; UsageError if it is none."""
    with _reading(path):
        content = path.read_bytes() if path.is_file() else b""
        facts = json.loads(
            without_numbers(content), parse_float=str, parse_int=str, parse_constant=str
        )
        place, name = facts["ledger"], str(facts["release_id"])
        return PublishedReport(path, content, facts, int(place["entry"]), str(place["head"]), name)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (
        KeyError, TypeError, ValueError, ArithmeticError, AttributeError, OSError, RecursionError
    ):  # fmt: skip
        raise UsageError.about("not-a-report", report=path) from None


def report_faults(ledger: Ledger, paths: Sequence[Path]) -> Iterator[str]:
    """What published reports say that the ledger does not; UsageError if one is none."""
    entries = {entry.number: entry for entry in ledger.entries()}
    for report in [_read(path) for path in paths]:
        path, number, entry = report.path, report.entry, entries.get(report.entry)
        if entry is None:
            yield f"`{path}` was published from entry {number}, which the ledger does not have"
        elif not entry.is_named(report.head, report.release_id):
            yield f"`{path}` was published from another entry {number} than the ledger has"
        elif not _published(ledger, entry, report):
            yield f"`{path}` is not what entry {number} published: its text was changed"


def _published(ledger: Ledger, entry: LedgerEntry, report: PublishedReport) -> bool:
    """Whether an entry published that report, or was recovered from it."""
    if entry.recovered is not None:
        return entry.recovered.get("report") == report.digest
    packed = ledger.outputs(entry.number).get("report.json")
    try:
        return packed is not None and report.content == zlib.decompress(packed)
    except zlib.error:
        return False


def report_proofs(paths: Sequence[Path]) -> list[Proof]:
    """What reports prove; UsageError or LedgerError with every one that proves nothing."""
    found: list[Proof] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            found.append(_proof(path))
        except LedgerError as failure:
            problems += failure.problems
    if problems:
        raise LedgerError(problems)
    return found


def _proof(path: Path) -> Proof:
    report = _read(path)
    with _reading(path):
        privacy, place, source = (report.facts[key] for key in ("privacy", "ledger", "spec"))
        created, text, digest = str(report.facts["created"]), source["text"], str(source["digest"])
        window = int(place["window"]["periods"]) if "window" in place else None
        period = str(place["window"]["period"]) if "window" in place else None
        if period is not None:
            period_number(period)
        before, asked, answers = _loss(privacy["before"]), _loss(privacy["asked"]), _answers(report)
        stated = sum_losses([_loss(one) for one in answers])
        first = place.get("first_release")
        words = ((HASH, report.head), (ID, report.release_id), (INSTANT, created))
        named = all(pattern.fullmatch(word) for pattern, word in words)
        if report.entry < 1 or not isinstance(text, str) or not named:
            raise ValueError("a report names its entry, and has a spec")
    spec = _spec(text, digest, report)
    if not Loss(stated.epsilon * NEARLY, stated.delta * NEARLY).within(asked):
        raise report.changed("its losses do not add up to what it says was asked")
    terms = replace(terms_from_spec(spec), window=window)
    events, exact = _events(spec, report, asked)
    return Proof(
        path, report.digest, report.entry, report.head, report.release_id, digest, created, terms,
        period, before, events, exact, first if isinstance(first, bool) else None,
    )  # fmt: skip


def _loss(fact: ReportJson) -> Loss:
    """A loss as a report writes it; ValueError if it is none."""
    digits = [fact["epsilon"], fact["delta"]]
    if not all(isinstance(one, str) and DECIMAL.fullmatch(one) for one in digits):
        raise ValueError("a loss is a decimal of at least 0 that is not too long")
    epsilon, delta = map(Fraction, digits)
    return Loss(epsilon, delta)


def _answers(report: PublishedReport) -> list[ReportJson]:
    """What a report lists: the quality check and the statistics, or the responses."""
    facts, quality = report.facts, report.facts.get("quality")
    checks = [] if quality is None else [quality]
    return [*checks, *(facts["statistics"] if "statistics" in facts else facts["responses"])]


def _spec(text: str, digest: str, report: PublishedReport) -> Spec:
    """The spec of a report; LedgerError unless it has the digest that the report says.

    Tables that a local spec names lie next to the report, or nothing vouches for its text.
    """
    unread = ""
    for raw in (text, BOM + text):
        try:
            spec = parse_spec(raw, str(report.path), report.path.parent)
        except SpecError as failure:
            unread = failure.problems[0].message
        else:
            if spec.digest == digest:
                return spec
    if unread:
        raise LedgerError.about("report-unusable", report=report.path, why=unread)
    raise report.changed("its spec does not have the digest that it says")


def _events(
    spec: Spec, report: PublishedReport, asked: Loss
) -> tuple[tuple[MechanismEvent, ...], bool]:
    sums = [asked]
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
        if _compared(planned) == _compared(report):
            return charged_events(plan), True
        if report.facts.get("dpcli_version") == __version__:
            raise report.changed("its numbers are not those that its spec gives")
        sums.append(plan.requested_loss)
    loss = Loss(max(one.epsilon for one in sums), max(one.delta for one in sums))
    return (MechanismEvent("all of them", "recovered", RECOVERED, loss),), False


def _compared(report: PublishedReport) -> object:
    """What a report says about its plan, as far as it decides the charge."""
    privacy = {key: report.facts["privacy"].get(key) for key in PRIVACY}
    answers = [
        (
            {key: one.get(key) for key in ANSWER},
            [{key: part.get(key) for key in PART} for part in one.get("parts", ())],
        )
        for one in _answers(report)
    ]
    return privacy, answers

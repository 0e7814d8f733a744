"""Published reports: whether a ledger agrees, and what they prove of a lost one.

The spec in the report is planned again. Where that gives what the report says, its parts are those
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
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpcli import __version__
from dpcli.errors import LedgerError, Problem, SpecError, UsageError
from dpcli.ledger.account import Outlook
from dpcli.ledger.balance import RECOVERED, period_number
from dpcli.ledger.chain import Entry
from dpcli.ledger.charge import charge_for
from dpcli.ledger.ledger import Ledger
from dpcli.ledger.recovery import Proof
from dpcli.ledger.terms import Payload, terms_of
from dpcli.plan.model import Plan
from dpcli.plan.planner import make_plan
from dpcli.privacy.loss import Loss
from dpcli.report.facts import plan_json
from dpcli.spec.load import load_any
from dpcli.spec.model import Spec

BOM = "\ufeff"

DECIMAL = re.compile(r"[0-9]{1,7}(\.[0-9]{1,200})?(e-[0-9]{1,2})?")
HASH = re.compile(r"[0-9a-f]{64}")
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")
INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
"""What numbers and names of a report look like."""

PRIVACY = ("unit", "neighbors", "composition", "asked", "spent", "budget")
"""What a report says about its guarantee that a plan says as well."""

ANSWER = ("name", "column", "mechanism", "parameters", "sensitivity", "epsilon", "delta", "rho")
"""What it says about an answer."""

PART = ("role", "joint", "cells", "mechanism", "sensitivity", "epsilon", "delta")
"""What it says about a part of one."""

Facts = Mapping[str, Any]


def report_faults(ledger: Ledger, reports: Sequence[Path]) -> Iterator[str]:
    """What published reports say that the ledger does not; UsageError if one is none."""
    read = [(path, *_read(path)) for path in reports]
    entries = {entry.number: entry for entry in ledger.entries()}
    for path, content, _, number, head, release_id in read:
        if number not in entries:
            yield f"`{path}` was published from entry {number}, which the ledger does not have"
        elif not entries[number].is_named(head, release_id):
            yield f"`{path}` was published from another entry {number} than the ledger has"
        elif not _published(ledger, entries[number], content):
            yield f"`{path}` is not what entry {number} published: its text was changed"


def _published(ledger: Ledger, entry: Entry, content: bytes) -> bool:
    """Whether an entry published that report, or was recovered from it."""
    if entry.recovered is not None:
        return entry.recovered.get("report") == hashlib.sha256(content).hexdigest()
    packed = ledger.outputs(entry.number).get("report.json")
    try:
        return packed is not None and content == zlib.decompress(packed)
    except zlib.error:
        return False


def _read(path: Path) -> tuple[bytes, Facts, int, str, str]:
    """A report, numbers as their digits, and the entry, head and release that it names."""
    with _reading(path):
        content = path.read_bytes() if path.is_file() else b""
        report = json.loads(content, parse_float=str, parse_int=str, parse_constant=str)
        place = report["ledger"]
        return content, report, int(place["entry"]), str(place["head"]), str(report["release_id"])


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What is raised where a file is no report, as UsageError."""
    try:
        yield
    except (
        KeyError, TypeError, ValueError, ArithmeticError, AttributeError, OSError, RecursionError
    ):  # fmt: skip
        raise UsageError.about("not-a-report", report=path) from None


def proofs_of(paths: Sequence[Path]) -> list[Proof]:
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
    content, report, entry, head, named = _read(path)
    with _reading(path):
        privacy, text = report["privacy"], report["spec"]["text"]
        created, digest = str(report["created"]), str(report["spec"]["digest"])
        words = (HASH.fullmatch(head), ID.fullmatch(named), INSTANT.fullmatch(created))
        window, period = _window(report["ledger"])
        stated, before, asked = _stated(report), _loss(privacy["before"]), _loss(privacy["asked"])
        first = report["ledger"].get("first_release")
        if entry < 1 or not isinstance(text, str) or not all(words):
            raise ValueError("a report names its entry, and has a spec")
    spec = _spec(text, digest, path)
    if not stated.within(asked):
        raise _changed(path, "its losses do not add up to what it says was asked")
    terms = replace(terms_of(spec), window=window)
    parts, exact = _parts(spec, report, asked, period, path)
    return Proof(
        path, hashlib.sha256(content).hexdigest(), entry, head, named, digest, created, terms,
        period, before, parts, exact, first if isinstance(first, bool) else None,
    )  # fmt: skip


def _window(place: Facts) -> tuple[int | None, str | None]:
    """The days of the account's window and the day of the release, if it has one."""
    if "window" not in place:
        return None, None
    days, period = int(place["window"]["periods"]), str(place["window"]["period"])
    period_number(period)
    return days, period


def _loss(fact: Facts) -> Loss:
    """A loss as a report writes it; ValueError if it is none."""
    digits = [fact["epsilon"], fact["delta"]]
    if not all(isinstance(one, str) and DECIMAL.fullmatch(one) for one in digits):
        raise ValueError("a loss is a decimal of at least 0 that is not too long")
    epsilon, delta = map(Fraction, digits)
    return Loss(epsilon, delta)


def _stated(report: Facts) -> Loss:
    """The plain sum of what its answers revealed, less what rounding each of them up may add."""
    answers, kept = [_loss(one) for one in _answers(report)], 1 - Fraction(1, 10**9)
    epsilon, delta = sum(one.epsilon for one in answers), sum(one.delta for one in answers)
    return Loss(epsilon * kept, delta * kept)


def _answers(report: Facts) -> list[Facts]:
    """What a report lists: the quality check and the statistics, or the responses."""
    quality = report.get("quality")
    checks = [] if quality is None else [quality]
    return [*checks, *(report["statistics"] if "statistics" in report else report["responses"])]


def _stopped(report: Facts) -> bool:
    quality = report.get("quality")
    return quality is not None and quality.get("passed") is False


def _spec(text: str, digest: str, path: Path) -> Spec:
    """The spec of a report; LedgerError unless it has the digest that the report says.

    Tables that a local spec names lie next to the report, or nothing vouches for its text.
    """
    unread = ""
    for raw in (text, BOM + text):
        try:
            spec = load_any(raw, str(path), path.parent)
        except SpecError as failure:
            unread = failure.problems[0].message
        else:
            if spec.digest == digest:
                return spec
    if unread:
        raise LedgerError.about("report-unusable", report=path, why=unread)
    raise _changed(path, "its spec does not have the digest that it says")


def _parts(
    spec: Spec, report: Facts, asked: Loss, period: str | None, path: Path
) -> tuple[tuple[Payload, ...], bool]:
    """The parts to charge, and whether they are those of the lost entry."""
    sums = [asked]
    try:
        plan = make_plan(spec)
    except SpecError as failure:
        if failure.problems[0].code == "package-missing":
            raise
    else:
        if plan.quality is not None and _stopped(report):
            plan = plan.quality_alone
        if _facts(plan) == _facts_of(report):
            return charge_for(plan, "", period).parts, True
        if report.get("dpcli_version") == __version__:
            raise _changed(path, "its numbers are not those that its spec gives")
        sums.append(plan.asked)
    part: Payload = {
        "statistic": "all of them",
        "question": "recovered",
        "mechanism": RECOVERED,
        "epsilon": str(max(one.epsilon for one in sums)),
        "delta": str(max(one.delta for one in sums)),
    }
    return (part,), False


def _facts(plan: Plan) -> object:
    """What a report of this version says about a plan, as far as it decides the charge."""
    text = plan_json(plan, Outlook(Path(), exists=False))
    return _facts_of(json.loads(text, parse_float=str, parse_int=str))


def _facts_of(report: Facts) -> object:
    """The same of a report."""
    privacy = {key: report["privacy"].get(key) for key in PRIVACY}
    answers = [
        (
            {key: one.get(key) for key in ANSWER},
            [{key: part.get(key) for key in PART} for part in one.get("parts", ())],
        )
        for one in _answers(report)
    ]
    return privacy, answers


def _changed(path: Path, why: str) -> LedgerError:
    return LedgerError.about("report-changed", report=path, why=why)

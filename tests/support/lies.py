"""Lies about a release, told consistently: head and digest of the report are made again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from dpcli.proof.verify import content_digest, exact, whole

Report = dict[str, Any]


def remade(report: Report) -> Report:
    """A report with the head of its entry, and the digest of its content, made again."""
    chain = report["ledger"]["chain"]
    events = [query["event"] for query in _queries(report, ("statistics", "responses"))]
    if report.get("quality") and "ledger" not in report["quality"]:
        events = [query["event"] for query in report["quality"]["queries"]] + events
    text = json.dumps(events, sort_keys=True, separators=(",", ":"), default=whole)
    digest = hashlib.sha256()
    for piece in (
        *(chain["previous"], str(report["ledger"]["entry"]), "release"),
        *(report["spec"]["dataset"], chain["name"], chain["period"], text, chain["payload"]),
    ):
        encoded = (piece or "").encode()
        size = b"\xff" * 8 if piece is None else len(encoded).to_bytes(8, "big")
        digest.update(size + encoded)
    report["ledger"]["head"] = digest.hexdigest()
    report["content_sha256"] = content_digest(report)
    return report


def _queries(report: Report, keys: tuple[str, ...] = ("statistics",)) -> Iterator[Any]:
    for key in keys:
        for part in report.get(key) or []:
            yield from part.get("queries") or [part]


def _first_of_each(report: Report) -> None:
    for part in report["statistics"]:
        first = part["queries"][0]
        part["mechanism"], part["sensitivity"] = first["mechanism"], first["sensitivity"]


def half_noise(report: Report) -> None:
    """Half of the noise, for the same losses."""
    for query in _queries(report):
        query["event"]["scale"] = str(exact(query["event"]["scale"]) / 2)
        query["mechanism"]["scale"] /= 2
        query["error95"] /= 2
    _first_of_each(report)


def half_sensitivity(report: Report) -> None:
    """Half of the noise and of the sensitivity, which have the same losses."""
    half_noise(report)
    for query in _queries(report):
        for key, size in (("l1", 2), ("l2_squared", 4), ("linf", 2)):
            query["event"][key] = str(exact(query["event"][key]) / size)
        for key in ("l1", "l2", "linf"):
            query["sensitivity"][key] /= 2


def half_bounds(report: Report) -> None:
    """Columns whose values lie between the lower bound and the next value."""
    for query in _queries(report):
        for factor in query["terms"].get("factors") or []:
            factor["upper"] = factor["lower"] + 1


def no_columns(report: Report) -> None:
    """Sums of ones in place of those of a column."""
    for query in _queries(report):
        query["terms"].pop("factors", None)


def small_total(report: Report) -> None:
    """Half of the loss in total."""
    privacy = report["privacy"]
    for key in ("spent", "after"):
        privacy[key]["epsilon"] /= 2
    left = privacy["budget"]["epsilon"] - privacy["after"]["epsilon"]
    privacy["remaining"]["epsilon"] = left


def disjoint_rows(report: Report) -> None:
    """Entries about the same rows that count once."""
    entries, privacy = report["statistics"], report["privacy"]
    for index, part in enumerate(entries):
        for query in part["queries"]:
            query["event"]["disjoint"] = ["part", Fraction(index)]
    losses = [part["epsilon"] for part in entries]
    for key in ("spent", "after"):
        privacy[key]["epsilon"] += max(losses) - sum(losses)
    left = privacy["budget"]["epsilon"] - privacy["after"]["epsilon"]
    privacy["remaining"]["epsilon"] = left


def no_terms(report: Report) -> None:
    """Nothing that decides the sensitivities, as in earlier versions, but all else."""
    for query in _queries(report):
        del query["event"]


LIES: tuple[Callable[[Report], None], ...] = (
    *(half_noise, half_sensitivity, half_bounds, no_columns),
    *(small_total, disjoint_rows, no_terms),
)

"""Reports of an audit: data for programs, a table and a sentence for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from dpcli.fields.json import REPORT_VERSION, Facts, JsonNumber, if_known
from dpcli.numeric.exact import rounded_text
from dpcli.privacy.events import NORMS
from dpcli.problems.errors import Problem, make_problem
from dpcli.problems.messages import count_text
from dpcli.proof.audit import Audit, EntryAudit
from dpcli.proof.bounds import Bound
from dpcli.version import __version__

HEADING = "audit: neighbors made from the spec, no release"
"""The first line of the output."""

TITLE = "what neighbors change and reveal, and what is claimed"

CAPTION = (
    "change: the share of the stated sensitivity by which neighbors changed exact answers, of "
    "several the least; shown: a lower bound from draws of all answers of the entry. It falls "
    "short of a claim that is small for the number of draws, or that no neighbors of this spec "
    "reach; 'no bound' means too few draws. mu is of Gaussian noise: how far apart two normal "
    "distributions are"
)

MOST_ALIKE = 3
"""Faults of an entry that are said, of those that differ in numbers alone."""


def audit_document(found: Audit) -> Facts:
    """The findings for programs."""
    plan = found.plan
    return {
        "audit": True,
        "release": False,
        "dpcli_version": __version__,
        "report_version": REPORT_VERSION,
        "spec": {"dataset": plan.spec.dataset, "digest": plan.spec.digest},
        "seed": found.seed,
        "datasets": found.datasets,
        "kept": not found.faults,
        "statistics": [_entry(entry) for entry in found.entries],
        "sentence": sentence(found),
    }


def _entry(entry: EntryAudit) -> Facts:
    return {
        "name": entry.name,
        "answers": [
            {
                "role": one.part.weighted.role,
                "mechanism": one.part.mechanism_kind,
                "stated": dict(zip(NORMS, one.claims, strict=True)),
                "changed": dict(zip(NORMS, one.norms, strict=True)),
                "share": if_known(_number, one.share),
            }
            for one in entry.answers
        ],
        "draws": if_known(_drawn, entry.bound),
        "noises": entry.noises,
        "faults": list(entry.faults),
    }


def _drawn(bound: Bound) -> Facts:
    return {
        "measure": bound.claim.measure,
        "claimed": _number(bound.claim.value),
        "delta": _number(bound.claim.delta),
        "bound": _number(bound.shown),
        "share": _number(bound.shown / bound.claim.value if bound.claim.value else 0.0),
        "draws": bound.draws,
    }


def _number(value: float) -> JsonNumber:
    return JsonNumber(rounded_text(Fraction(value), 6, plain=True))


def audit_table(found: Audit) -> list[dict[str, str]]:
    """The findings for people, a row for each entry."""
    return [
        {
            "statistic": entry.name,
            "change": "" if entry.reached is None else f"{entry.reached:.1%}",
            "claim": str(entry.bound.claim) if entry.bound else "",
            "shown": str(entry.bound) if entry.bound else "",
            "draws": f"{entry.bound.draws:,}" if entry.bound else "",
            "result": "above" if entry.faults else "no fault seen",
        }
        for entry in found.entries
    ]


def sentence(found: Audit) -> str:
    """The result in a few sentences."""
    cut = f" Ended by --seconds too early: {', '.join(found.cut)}." if found.cut else ""
    if found.faults:
        many = count_text(len(found.faults), "fault")
        return f"Something is above its claim: {many} in all.{cut}"
    measured = [entry.reached for entry in found.entries if entry.reached is not None]
    full = sum(share >= 1 for share in measured)
    return (
        f"Nothing above its claim was seen. Among {found.datasets:,} datasets, neighbors reached "
        f"the stated sensitivities of {full:,} of {len(measured):,} entries in full, and exceeded "
        "none. Each bound from draws holds with a probability of 1 - 1e-6, that of all entries "
        f"together.{cut}"
    )


def fault_problems(found: Audit) -> Iterator[Problem]:
    """A problem for what is above its claim; of many that are alike, for a few."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, fault in found.faults:
        alike.setdefault((name, re.sub(r"[\d,]+", "", fault)), []).append(fault)
    for (name, _), faults in alike.items():
        few, more = faults[:MOST_ALIKE], len(faults) - MOST_ALIKE
        few[-1] += f", and {more:,} more of this kind" if more > 0 else ""
        yield from (make_problem("promise-broken", entry=name, fault=fault) for fault in few)

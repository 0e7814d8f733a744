"""Hazards around the noise: arithmetic, side channels, other releases, access."""

from __future__ import annotations

from dpcli.hazards.base import Hazard, Judged, Situation, Verdict


def _arithmetic(_: Situation) -> Judged:
    """Floating point and weak generators, which have undone other implementations."""
    return Verdict.MET, (
        "from the cell to the noisy answer there are whole numbers and exact fractions; noise is "
        "discrete, drawn exactly with the generator of the operating system, and its loss is "
        "computed again from what was drawn with. What is made of noisy answers, and intervals, "
        "may be rounded"
    )


def _timing(_: Situation) -> Judged:
    """Time and memory, which depend on the data."""
    return Verdict.OPEN, (
        "how long a release takes and how much memory it uses depend on the data and are not "
        "protected; let nobody measure them whom the data are protected from"
    )


def _other_releases(found: Situation) -> Judged:
    """What else is published of the same people."""
    return Verdict.OPEN, (
        f"the account {found.plan.spec.dataset} adds up what is released from it; what is "
        "published of the same people elsewhere, with noise or without, adds to that"
    )


def _access(found: Situation) -> Judged:
    """Who could go around the noise."""
    whom = "the records before they respond" if found.plan.is_local else "the data"
    return Verdict.OPEN, (
        f"noise protects against those who see what is published. Whoever can read {whom}, or "
        "rewrite the ledger together with its anchor, needs no attack on it"
    )


def _collection(found: Situation) -> Judged:
    """Who has seen the data already."""
    if found.plan.is_local:
        return Verdict.OPEN, (
            "each record responds before it is collected; that protects against whoever collects "
            "only if it happens where the records are"
        )
    return Verdict.OPEN, (
        "the data were collected without noise, so everybody on their way here had to be trusted"
    )


ARITHMETIC = Hazard("arithmetic", "Is the noise exact, and from a good source?", _arithmetic)
TIMING = Hazard(
    "side channels", "Can anybody see more than what is published?", _timing, asks="timing"
)
OTHER_RELEASES = Hazard(
    "other releases",
    "What else is published of the same people?",
    _other_releases,
    asks="other_releases",
)
ACCESS = Hazard("access", "Who can read the data and the ledger?", _access, asks="access")
COLLECTION = Hazard(
    "collection", "Who saw the data on their way here?", _collection, asks="collection"
)

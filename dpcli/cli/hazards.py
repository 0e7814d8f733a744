"""`dpcli plan --hazards`: what can void a guarantee, and what is met."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcli.plan.model import Plan

WIDEST = 100
"""Characters of a line that are read with ease."""

COLOURS = {"met": "32", "warned": "33", "for the steward to answer": "35"}


def print_hazards(plan: Plan, window: int | None) -> None:
    """Each hazard with its verdict, what is found, and what the steward declares."""
    from dpcli.cli.console import coloured
    from dpcli.cli.terminal import harmless, unguarded
    from dpcli.hazards import hazards
    from dpcli.hazards.base import Verdict
    from dpcli.report.stewardship import sentences

    found = hazards(plan, window)
    width = min(WIDEST, get_terminal_size((WIDEST, 24)).columns)
    bright = coloured(sys.stdout)
    for one in found:
        verdict = one.verdict.value
        told = f"\x1b[1;{COLOURS[verdict]}m{verdict}\x1b[0m" if bright else verdict
        text = harmless(f"{one.hazard}. {one.question}")
        print(f"{told}: {text}", file=unguarded(sys.stdout))
        for sentence in sentences(one):
            print(fill(sentence, width, initial_indent="    ", subsequent_indent="    "))
        print()
    counts = [(sum(one.verdict is verdict for one in found), verdict.value) for verdict in Verdict]
    print(", ".join(f"{count} {words}" for count, words in counts))
    print("after NIST SP 800-226 (2025); answers stand under `declarations:` in the spec")

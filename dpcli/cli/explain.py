"""`dpcli explain`: what an error code, statistic, mechanism or composition means."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Annotated

import typer


def explain(
    word: Annotated[
        str,
        typer.Argument(metavar="WORD", help="An error code, statistic, mechanism or composition."),
    ],
) -> None:
    """Explain an error code, a statistic, a mechanism, a composition, or a word of a spec.

    Example: dpcli explain gaussian
    """
    from dpcli.errors import UsageError

    pages = dict(_pages())
    if word not in pages:
        from difflib import get_close_matches

        close = get_close_matches(word, pages, n=1, cutoff=0.5)
        hint = f"did you mean `{close[0]}`? " if close else ""
        words = ", ".join(name for name, page in pages.items() if " error)" not in page[:60])
        raise UsageError.of(
            "unknown-word",
            f"nothing is known of `{word}`",
            f"{hint}known: {words}, and every error code",
        )
    sys.stdout.write(pages[word].rstrip() + "\n")


def _pages() -> Iterator[tuple[str, str]]:
    """Every word that can be explained, with its text."""
    from dpcli.codes import CODES
    from dpcli.composition import COMPOSITIONS
    from dpcli.mechanisms import MECHANISMS
    from dpcli.statistics import STATISTICS
    from dpcli.statistics.choose import UTILITIES
    from dpcli.statistics.post import STEPS

    for kind, members in (
        ("statistic", STATISTICS),
        ("mechanism", MECHANISMS),
        ("composition", COMPOSITIONS),
    ):
        for member in members:
            yield member.name, f"{member.name} ({kind})\n\n{inspect.getdoc(type(member))}"
    for name, utility in UTILITIES.items():
        yield name, f"{name} (utility)\n\n{inspect.getdoc(utility)}"
    for step in STEPS:
        yield step.name, f"{step.name} (step of `post`)\n\n{inspect.getdoc(step)}"
    for code in CODES:
        yield code.name, code.page()

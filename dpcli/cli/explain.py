"""`dpcli explain`: what an error code, statistic, mechanism or composition means."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

PRIVACY = "privacy"
"""The page that says what an epsilon means."""


def explain(
    word: Annotated[
        str,
        typer.Argument(metavar="WORD", help="An error code, statistic, mechanism or composition."),
    ],
    epsilon: Annotated[
        str | None, typer.Option(metavar="E", help="With the word `privacy`: what it means.")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="D", help="With the word `privacy`: and its delta.")
    ] = None,
) -> None:
    """Explain an error code, a statistic, a mechanism, a composition, or `privacy`.

    `dpcli explain privacy --epsilon 1` says in plain words what that number means for one
    person.

    Example: dpcli explain gaussian
    """
    from dpcli.errors import UsageError

    if word == PRIVACY:
        from dpcli.cli.meaning import print_meaning
        from dpcli.cli.words import checked_budget

        print_meaning(checked_budget(epsilon or "1", None, delta or "0", "sequential"))
        return
    if epsilon is not None or delta is not None:
        raise UsageError.of(
            "bad-option",
            f"`--epsilon` and `--delta` are not for the page of `{word}`",
            "write `dpcli explain privacy --epsilon 1 --delta 1e-6`",
        )
    pages = dict(_pages())
    if word not in pages:
        pages[PRIVACY] = ""
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
    from dpcli.randomizers import RANDOMIZERS
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
    central = {mechanism.name: mechanism for mechanism in MECHANISMS}
    for randomizer in RANDOMIZERS:
        name = randomizer.name
        page = f"{name} (mechanism of the local model)\n\n{inspect.getdoc(type(randomizer))}"
        if name in central:
            page = f"{name} (mechanism)\n\n{inspect.getdoc(type(central[name]))}\n\n{page}"
        yield name, page
    for name, utility in UTILITIES.items():
        yield name, f"{name} (utility)\n\n{inspect.getdoc(utility)}"
    for step in STEPS:
        yield step.name, f"{step.name} (step of `post`)\n\n{inspect.getdoc(step)}"
    for code in CODES:
        yield code.name, code.page()

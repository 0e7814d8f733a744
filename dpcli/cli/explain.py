"""`dpcli explain`: what a word of specs, plans, errors or command lines means."""

from __future__ import annotations

import sys
from textwrap import fill
from typing import Annotated

import typer

from dpcli.cli.completing import words

PRIVACY = "privacy"
"""The page that also says what an epsilon means."""

WIDTH = 78


def explain(
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="[WORD]", help="The word [all words, by kind].", autocompletion=words
        ),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="E", help="With the word `privacy`: what it means.")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="D", help="With the word `privacy`: and its delta.")
    ] = None,
) -> None:
    """Explain a word: a key of specs, a statistic, an error code.

    Prints a page of plain text: what the word means, what it may be, an example. Without
    a word it lists all words by kind. Reads no file and spends nothing.

    Examples:
        dpcli explain
        dpcli explain bounds
        dpcli explain gaussian
        dpcli explain over-budget-epsilon
        dpcli explain privacy --epsilon 1 --delta 1e-6

    The last one says in plain words what these numbers mean for one person. Every error
    begins with its code, as in `error[missing-bounds]`: `dpcli explain missing-bounds`
    shows an example and how to mend it.

    See also: dpcli check, dpcli plan
    """
    from dpcli.cli.pages import all_pages
    from dpcli.errors import UsageError

    if (epsilon is not None or delta is not None) and word != PRIVACY:
        raise UsageError.of(
            "bad-option",
            "`--epsilon` and `--delta` are not for "
            + ("the list of words" if word is None else f"the page of `{word}`"),
            "write `dpcli explain privacy --epsilon 1 --delta 1e-6`",
        )
    if word is None:
        _list()
        return
    if word == PRIVACY:
        from dpcli.cli.meaning import print_meaning
        from dpcli.cli.words import checked_budget

        print_meaning(checked_budget(epsilon or "1", None, delta or "0", "sequential"))
    told = [page.text for page in all_pages() if page.name == word]
    if not told:
        raise UsageError.of("unknown-word", f"nothing is known of `{word}`", _advice(word))
    sys.stdout.write("\n\n".join(text.rstrip() for text in told) + "\n")


def _list() -> None:
    """Every word, by kind."""
    from dpcli.cli.pages import by_kind

    for kind, names in by_kind().items():
        words = ", ".join(dict.fromkeys(names))
        indent = "  "
        told = fill(
            words, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )
        sys.stdout.write(f"{kind}\n{told}\n\n")
    sys.stdout.write("`dpcli explain WORD` explains one of them.\n")


def _advice(word: str) -> str:
    """The words that are nearest to one that is none."""
    from difflib import get_close_matches

    from dpcli.cli.pages import all_pages
    from dpcli.words.elsewhere import ELSEWHERE

    names = list(dict.fromkeys(page.name for page in all_pages()))
    plain = word.strip().casefold().replace(" ", "-")
    close = [ELSEWHERE[one] for one in get_close_matches(plain, ELSEWHERE, n=1, cutoff=0.8)]
    close += [name for name in names if plain and (plain in name.split("-") or plain == name)]
    for form in (plain, plain.replace("-", "_")):
        close += get_close_matches(form, names, n=3, cutoff=0.7)
    close = list(dict.fromkeys(close))[:3]
    asked = " or ".join(f"`{name}`" for name in close)
    return f"{f'did you mean {asked}? ' if close else ''}`dpcli explain` lists all words"

"""Every page of `dpcli explain`: of words, of codes, of what is registered."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Told:
    """One page: its word, the kind of word, and the text; several may share a word."""

    name: str
    kind: str
    text: str

    @property
    def brief(self) -> str:
        """What the title says that the word is: shells show it beside the word."""
        return self.text.split("\n", 1)[0].removeprefix(self.name).strip(" ()").replace("`", "")


KINDS = {
    "key": "keys of a spec",
    "type": "types of columns",
    "idea": "words of a spec",
    "command line": "words of the command line",
}
"""How the list of words calls the kinds of `dpcli.words`."""


def all_pages() -> Iterator[Told]:
    """Every page, in the order of the list of words."""
    from dpcli.words import PAGES

    order = list(KINDS)
    for page in sorted(PAGES, key=lambda page: order.index(page.kind)):
        yield Told(page.name, KINDS[page.kind], page.text())
    yield from _registered()
    yield from _codes()


def _registered() -> Iterator[Told]:
    """Statistics, mechanisms and so on, from their docstrings."""
    from dpcli.composition import COMPOSITIONS
    from dpcli.mechanisms import MECHANISMS
    from dpcli.randomizers import RANDOMIZERS
    from dpcli.statistics import STATISTICS
    from dpcli.statistics.choose import UTILITIES
    from dpcli.statistics.post import STEPS

    for plural, kind, members in (
        ("statistics", "statistic", STATISTICS),
        ("mechanisms", "mechanism", MECHANISMS),
        ("mechanisms of the local model", "mechanism of the local model", RANDOMIZERS),
        ("compositions", "composition", COMPOSITIONS),
    ):
        for member in members:
            yield _told(member.name, plural, kind, type(member))
    for step in STEPS:
        yield _told(step.name, "steps of `post`", "step of `post`", step)
    for name, utility in UTILITIES.items():
        yield _told(name, "utilities", "utility", utility)


def _told(name: str, plural: str, kind: str, thing: object) -> Told:
    """The page that a docstring is."""
    return Told(name, plural, f"{name} ({kind})\n\n{inspect.getdoc(thing)}")


def _codes() -> Iterator[Told]:
    """Every error code, with its example and its mend."""
    from dpcli.codes import CODES

    for code in CODES:
        yield Told(code.name, f"error codes: {code.family}", code.page())


def by_kind() -> dict[str, list[str]]:
    """All words, in lists by kind."""
    found: dict[str, list[str]] = {}
    for page in all_pages():
        found.setdefault(page.kind, []).append(page.name)
    return found

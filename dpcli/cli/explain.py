"""`dpcli explain`: what a word of specs, plans, errors or command lines means."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

import typer

from dpcli import reference
from dpcli.cli.console import WIDEST, width_of
from dpcli.cli.options import checked_budget, refuse_option
from dpcli.cli.tables import plain_table
from dpcli.composition import COMPOSITIONS
from dpcli.errors import UsageError
from dpcli.mechanisms import MECHANISMS
from dpcli.privacy import meaning as bound
from dpcli.privacy.loss import Loss, loss_text
from dpcli.randomizers import RANDOMIZERS
from dpcli.spec.field_pages import field_pages
from dpcli.statistics import STATISTICS
from dpcli.statistics.choose import UTILITIES
from dpcli.statistics.post import STEPS

PRIVACY = "privacy"
"""The page that also says what an epsilon means."""

KINDS = {
    "key": "keys of a spec",
    "type": "types of columns",
    "idea": "words of a spec",
    "command line": "words of the command line",
}
"""How the list of words calls the kinds of pages."""

PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
ALARMS = (0.001, 0.01, 0.05, 0.1)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The page of one word, of one kind; a word can have pages of several kinds."""

    name: str
    kind: str
    page: reference.Page | reference.Code | Docstring

    def text(self, width: int = reference.WIDTH) -> str:
        """The whole page, as plain text."""
        return self.page.text(width)

    @property
    def brief(self) -> str:
        """What the title says that the word is: shells show it next to the word."""
        title = self.text().split("\n", 1)[0]
        return title.removeprefix(self.name).strip(" ()").replace("`", "")


@dataclass(frozen=True, slots=True)
class Docstring:
    """A page that is the docstring of a statistic, a mechanism or another part of dpcli."""

    name: str
    kind: str
    thing: object

    def text(self, width: int) -> str:
        """Its paragraphs, filled; blocks that are indented stay as they are."""
        paragraphs = [
            part if re.search("^ ", part, re.MULTILINE) else reference.filled(part, width)
            for part in (inspect.getdoc(self.thing) or "").split("\n\n")
        ]
        return "\n\n".join([f"{self.name} ({self.kind})", *paragraphs])


def words(incomplete: str) -> Iterator[tuple[str, str]]:
    """The words that begin so, each with what it is; a shell offers them."""
    seen: set[str] = set()
    for page in explanations():
        if page.name.startswith(incomplete) and page.name not in seen:
            seen.add(page.name)
            yield page.name, page.brief


def explain(
    word: Annotated[str | None, typer.Argument(metavar="[WORD]", autocompletion=words)] = None,
    epsilon: Annotated[str | None, typer.Option(metavar="E")] = None,
    delta: Annotated[str | None, typer.Option(metavar="D")] = None,
) -> None:
    """Explain a word: a key of specs, a statistic, an error code."""
    if (epsilon is not None or delta is not None) and word != PRIVACY:
        raise refuse_option(
            "`--epsilon` and `--delta` are not for "
            + ("the list of words" if word is None else f"the page of `{word}`"),
            "write `dpcli explain privacy --epsilon 1 --delta 1e-6`",
        )
    width = min(width_of(sys.stdout), WIDEST) - 2
    if word is None:
        _list(width)
        return
    if word == PRIVACY:
        _print_meaning(checked_budget(epsilon or "1", None, delta or "0", "sequential"), width)
    found = [page.text(width).rstrip() for page in find(word)]
    if not found:
        raise UsageError.of("unknown-word", f"there is no page for `{word}`", _advice(word))
    sys.stdout.write("\n\n".join(found) + "\n")


def find(word: str) -> list[Explanation]:
    """The pages of a word: usually one, none if the word is unknown."""
    return [page for page in explanations() if page.name == word]


def explanations() -> Iterator[Explanation]:
    """Every page, in the order of the list of words."""
    order = list(KINDS)
    for page in sorted(
        (*reference.word_pages(), *field_pages()), key=lambda page: order.index(page.kind)
    ):
        yield Explanation(page.name, KINDS[page.kind], page)
    yield from _registered()
    for code in reference.codes():
        yield Explanation(code.name, f"error codes: {code.family}", code)


def _registered() -> Iterator[Explanation]:
    """Statistics, mechanisms and so on, from their docstrings."""
    local = "mechanism of the local model"
    members: list[tuple[str, str, str, object]] = [
        *((one.name, "statistics", "statistic", type(one)) for one in STATISTICS),
        *((one.name, "mechanisms", "mechanism", type(one)) for one in MECHANISMS),
        *((one.name, "mechanisms of the local model", local, type(one)) for one in RANDOMIZERS),
        *((one.name, "compositions", "composition", type(one)) for one in COMPOSITIONS),
        *((step.name, "steps of `post`", "step of `post`", step) for step in STEPS),
        *((name, "utilities", "utility", utility) for name, utility in UTILITIES.items()),
    ]
    for name, plural, kind, thing in members:
        yield Explanation(name, plural, Docstring(name, kind, thing))


def _list(width: int) -> None:
    """Every word, by kind."""
    kinds: dict[str, dict[str, None]] = {}
    for page in explanations():
        kinds.setdefault(page.kind, {})[page.name] = None
    for kind, names in kinds.items():
        sys.stdout.write(f"{kind}\n{reference.filled(', '.join(names), width, '  ', '  ')}\n\n")
    sys.stdout.write("`dpcli explain WORD` explains one of them.\n")


def _advice(word: str) -> str:
    """The words that are nearest to one that is unknown."""
    synonyms = reference.synonyms()
    names = list(dict.fromkeys(page.name for page in explanations()))
    plain = word.strip().casefold().replace(" ", "-")
    close = [synonyms[one] for one in get_close_matches(plain, synonyms, n=1, cutoff=0.8)]
    close += [name for name in names if plain and (plain in name.split("-") or plain == name)]
    for form in (plain, plain.replace("-", "_")):
        close += get_close_matches(form, names, n=3, cutoff=0.7)
    near = " or ".join(f"`{name}`" for name in list(dict.fromkeys(close))[:3])
    return f"{f'did you mean {near}? ' if near else ''}`dpcli explain` lists all words"


def _print_meaning(loss: Loss, width: int) -> None:
    """What an observer can learn about one person from answers with that loss."""
    sys.stdout.write(f"What {loss_text(loss)} means for one person\n\n")
    for part in _meaning(loss):
        text = part if part.startswith(" ") else reference.filled(part, width) + "\n"
        sys.stdout.write(text + "\n")


def _meaning(loss: Loss) -> Iterator[str]:
    """Paragraphs, and tables that are indented."""
    plus = f", plus {bound.at_most(loss.delta)}" if loss.delta else ""
    most, least = bound.percent_at_most, bound.percent_at_least
    yield (
        "Whatever was published could as well have come from neighboring data: data without this "
        "person (`neighbors: add-remove`), or with other data about them (`change-one`). No set "
        f"of outputs is more than {bound.times_at_most(bound.factor(loss))} as likely under one "
        f"as under the other{plus}."
    )
    yield (
        "What an observer believed before (that the person is in the data or, with change-one, "
        "that they have an illness, for example), and what the observer can believe after seeing "
        "everything that was published:"
    )
    beliefs = [(prior, *bound.beliefs(loss, prior)) for prior in PRIORS]
    rows = [
        (f"{100 * prior:g}%", f"{least(low)}%", f"{most(high)}%") for prior, low, high in beliefs
    ]
    yield _table(("before", "after, at least", "after, at most"), rows)
    yield (
        "With add-remove, whether a person who is in the data has an illness is two such steps "
        "away: from data with them to data without them, and then to data with other values of "
        "theirs. For such beliefs, read the table at twice the epsilon."
    )
    yield (
        "The best test of whether a person is in the data. If it raises a false alarm for this "
        "share of the people who are not in the data, it finds at most this share of those who "
        "are:"
    )
    tests = [(f"{100 * alarm:g}%", f"{most(bound.power(loss, alarm))}%") for alarm in ALARMS]
    yield _table(("false alarms", "found, at most"), tests)
    yield (
        "Guessing which of two neighboring datasets is the true one, if both were equally likely "
        "before, is right in 50% of cases without the publication, and in at most "
        f"{most(bound.guess(loss))}% with it."
    )
    yield (
        "Any belief, compared with what it would be after a publication from the neighboring "
        f"data, changes by at most {bound.times_at_most(bound.change(loss))} itself "
        "(e^(2 epsilon) - 1)."
    )
    if loss.delta:
        yield (
            f"Delta: outputs that reveal more than epsilon + {bound.EXCESS:g} (which the first "
            "table and the previous paragraph allow for) occur with a probability of at most "
            f"{bound.one_in(bound.failure(loss))}, and then anything may be learned about the "
            "person. Keep delta far below one divided by the number of people."
        )
    yield (
        "This holds whatever else an observer knows, and for anything that is ever computed from "
        "the publication. It does not hide what is true of everyone: that smoking harms smokers "
        "is learned with or without any one of them."
    )


def _table(header: tuple[str, ...], rows: Sequence[Sequence[str]]) -> str:
    """A table, indented."""
    text = plain_table(header, rows, range(len(header)))
    return "".join(f"    {line}\n" for line in text.splitlines())

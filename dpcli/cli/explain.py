"""`dpcli explain`: what a word of specs, plans, errors or command lines means."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from typing import Annotated, Any

import typer

from dpcli import reference
from dpcli.cli.console import WIDEST, width_of
from dpcli.cli.options import checked_budget
from dpcli.cli.tables import plain_table
from dpcli.composition import COMPOSITIONS
from dpcli.errors import UsageError
from dpcli.fields import example_line
from dpcli.mechanisms import MECHANISMS
from dpcli.messages import note
from dpcli.privacy import meaning
from dpcli.privacy.loss import Loss, loss_text
from dpcli.randomizers import RANDOMIZERS
from dpcli.reference import Page, Use
from dpcli.spec.column_types import COLUMN_TYPES
from dpcli.statistics import STATISTICS
from dpcli.statistics.choices import UTILITIES
from dpcli.statistics.post import STEPS

PRIVACY = "privacy"
"""The page that also says what an epsilon means."""

KINDS = {
    "key": "keys of a spec",
    "type": "types of columns",
    "idea": "words of a spec",
    "command line": "words of the command line",
}
"""How the list of words calls the kinds of pages, in its order."""

REGISTRIES: tuple[tuple[str, str, str, Iterable[Any]], ...] = (
    ("statistics", "statistic", "statistic", STATISTICS),
    ("mechanisms", "mechanism", "mechanism", MECHANISMS),
    ("mechanisms of the local model", "mechanism of the local model", "responses", RANDOMIZERS),
    ("compositions", "composition", "composition", COMPOSITIONS),
    ("steps of `post`", "step of `post`", "post", STEPS),
)
"""What describes itself by its docstring: in the list, in a title, and the key that names it."""

PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
ALARMS = (0.001, 0.01, 0.05, 0.1)

QUOTED, WORD = re.compile(r"`([^`]+)`"), re.compile(r"(?<![\w.-])[\w-]+(?![\w.-])")

MOST_RELATED = 5
"""Other words that a page names at its end."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The page of one word, of one kind; a word can have pages of several kinds."""

    name: str
    kind: str
    page: Callable[[int], str]
    see: tuple[str, ...] = ()

    def text(self, width: int = reference.WIDTH) -> str:
        """The whole page as plain text, with the words to read next."""
        text = self.page(width).rstrip()
        if "\nSee also: " in text:
            return text
        known = {one.name for one in explanations()} - {self.name, "dpcli"}
        quoted = WORD.findall(" ".join(QUOTED.findall(text)))
        named = [word for word in (*self.see, *quoted) if word in known]
        named = named or [word for word in self.name.split("-") if word in known]
        if not named:
            return text
        related = list(dict.fromkeys(named))[:MOST_RELATED]
        return f"{text}\n\n{reference.see_also(related, width)}"

    @property
    def brief(self) -> str:
        """What the title says that the word is: shells show it next to the word."""
        title = self.page(reference.WIDTH).split("\n", 1)[0]
        return title.removeprefix(self.name).strip(" ()").replace("`", "")


def _described_pages() -> Iterator[Page]:
    """Pages of fields and types that have none in the reference: their models describe them."""
    known = {(page.name, page.kind) for page in reference.word_pages()}
    owners = [(one.name, "statistic", one.fields) for one in STATISTICS]
    owners += [(shape.kind, shape.kind, shape) for shape in COLUMN_TYPES]
    for owner, place, model in owners:
        fields = {key: field for key, field in model.model_fields.items() if key != "type"}
        lines = {key: example_line(key, field) for key, field in fields.items()}
        if owner == place and (owner, "type") not in known:
            example = f"x: {{{', '.join([f'type: {owner}', *lines.values()])}}}"
            meaning, values = inspect.getdoc(model) or "", f"keys: {', '.join(fields)}"
            yield Page(owner, "type", meaning, example, ("type",), values)
        for key, field in fields.items():
            if (key, "key") not in known:
                known.add((key, "key"))
                says, absent = field.description or "", ""
                if field.is_required():
                    absent = f"`{owner}` is refused."
                uses = (Use((place,), says),)
                yield Page(key, "key", says, lines[key], (owner,), absent=absent, uses=uses)


@cache
def explanations() -> tuple[Explanation, ...]:
    """Every page, in the order of the list of words."""
    pages = (*reference.word_pages(), *_described_pages())
    found = [
        Explanation(page.name, KINDS[kind], page.text)
        for kind in KINDS
        for page in pages
        if page.kind == kind
    ]
    for kinds, kind, key, registry in REGISTRIES:
        for one in registry:
            page = partial(_docstring, f"{one.name} ({kind})", one)
            found.append(Explanation(one.name, kinds, page, (key,)))
    for name, utility in UTILITIES.items():
        page = partial(_docstring, f"{name} (utility)", utility)
        found.append(Explanation(name, "utilities", page, ("utility",)))
    codes = (
        Explanation(code.name, f"error codes: {code.family}", code.text)
        for code in reference.codes()
    )
    return (*found, *codes)


def _docstring(title: str, thing: object, width: int) -> str:
    """The docstring of a thing as a page: filled, but for blocks that are indented."""
    paragraphs = [
        part if re.search("^ ", part, re.MULTILINE) else reference.filled(part, width)
        for part in (inspect.getdoc(thing) or "").split("\n\n")
    ]
    return "\n\n".join([title, *paragraphs])


def words(incomplete: str) -> Iterator[tuple[str, str]]:
    """The words that begin so, each with what it is; a shell offers them."""
    # Of several pages of a word, the first one says what it is.
    pages = {page.name: page for page in reversed(explanations())}
    for page in explanations():
        if page.name.startswith(incomplete) and pages[page.name] is page:
            yield page.name, page.brief


def explain(
    word: Annotated[str | None, typer.Argument(metavar="[WORD]", autocompletion=words)] = None,
    epsilon: Annotated[str | None, typer.Option(metavar="E")] = None,
    delta: Annotated[str | None, typer.Option(metavar="D")] = None,
) -> None:
    """Explain a word: a key of specs, a statistic, an error code."""
    if (epsilon is not None or delta is not None) and word != PRIVACY:
        raise UsageError.about("bad-option.loss")
    width = min(width_of(sys.stdout), WIDEST) - 2
    if word is None:
        sys.stdout.write(_list(width))
        return
    found = [page.text(width) for page in explanations() if page.name == word]
    if word == PRIVACY:
        loss = checked_budget(epsilon or "1", None, delta or "0", "sequential")
        found.insert(0, "\n\n".join(_meaning(loss, width)))
    if not found:
        raise _unknown(word)
    sys.stdout.write("\n\n".join(found) + "\n")


def _list(width: int) -> str:
    kinds: dict[str, dict[str, None]] = {}
    for page in explanations():
        kinds.setdefault(page.kind, {})[page.name] = None
    lists = [
        f"{kind}\n{reference.filled(', '.join(names), width, '  ', '  ')}\n\n"
        for kind, names in kinds.items()
    ]
    return "".join([*lists, "`dpcli explain WORD` explains one of them.\n"])


def _unknown(word: str) -> UsageError:
    """The error for a word without a page, with the words that are nearest to it."""
    synonyms = reference.synonyms()
    names = list(dict.fromkeys(page.name for page in explanations()))
    plain = word.strip().casefold().replace(" ", "-")
    close = [synonyms[one] for one in get_close_matches(plain, synonyms, n=1, cutoff=0.8)]
    close += [name for name in names if plain and (plain in name.split("-") or plain == name)]
    for form in (plain, plain.replace("-", "_")):
        close += get_close_matches(form, names, n=3, cutoff=0.7)
    near = list(dict.fromkeys(close))[:3]
    if not near:
        return UsageError.about("unknown-word", word=word)
    return UsageError.about("unknown-word.near", word=word, near=near)


def _meaning(loss: Loss, width: int) -> Iterator[str]:
    """What an observer can learn about one person from answers with that loss."""
    most, least = meaning.percent_at_most, meaning.percent_at_least
    beliefs = [(prior, *meaning.beliefs(loss, prior)) for prior in PRIORS]
    believed = _table(
        ("before", "after, at least", "after, at most"),
        [(f"{100 * prior:g}%", f"{least(low)}%", f"{most(high)}%") for prior, low, high in beliefs],
    )
    found = _table(
        ("false alarms", "found, at most"),
        [(f"{100 * alarm:g}%", f"{most(meaning.power(loss, alarm))}%") for alarm in ALARMS],
    )
    facts = {
        "times": meaning.times_at_most(meaning.factor(loss)),
        "plus": f", plus {meaning.at_most(loss.delta)}" if loss.delta else "",
        "guess": most(meaning.guess(loss)),
        "change": meaning.times_at_most(meaning.change(loss)),
        "excess": f"{meaning.EXCESS:g}",
        "chance": meaning.one_in(meaning.failure(loss)) if loss.delta else "",
    }

    def said(key: str) -> str:
        return reference.filled(note(f"observer.{key}", **facts), width)

    yield f"What {loss_text(loss)} means for one person"
    yield from (said("likely"), said("belief"), believed, said("two_steps"))
    yield from (said("test"), found, said("guess"), said("change"))
    if loss.delta:
        yield said("failure")
    yield said("always")


def _table(header: tuple[str, ...], rows: Sequence[Sequence[str]]) -> str:
    text = plain_table([dict(zip(header, row, strict=True)) for row in rows])
    return "\n".join(f"    {line}" for line in text.splitlines())

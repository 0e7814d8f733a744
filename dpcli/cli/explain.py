"""`dpcli explain`: the meaning of words in specs, plans, errors and commands."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any

import typer

from dpcli.cli.commands import COMMANDS, help_brief, help_prose
from dpcli.cli.console import MAX_PROSE_WIDTH, width_of
from dpcli.cli.options import checked_budget
from dpcli.cli.terminal import plain_table
from dpcli.data.kinds import COLUMNS
from dpcli.data.sections import section_of
from dpcli.fields.section import example_line
from dpcli.mechanisms import MECHANISMS
from dpcli.mechanisms.local import LOCAL_MECHANISMS
from dpcli.privacy import interpretation
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.loss import Loss, loss_text
from dpcli.problems import reference
from dpcli.problems.errors import UsageError
from dpcli.problems.messages import did_you_mean
from dpcli.problems.reference import KeyUse, Page
from dpcli.statistics import STATISTICS
from dpcli.statistics.choices.top_values import SCORE_FUNCTIONS
from dpcli.statistics.postprocessing import STEPS
from dpcli.statistics.statistic import Statistic

PRIVACY = "privacy"
"""The page that also shows what an epsilon means."""

REGISTRIES: dict[str, tuple[str, str, Iterable[Any]]] = {
    "statistic": ("statistics", "statistic", STATISTICS),
    "mechanism": ("mechanisms", "mechanism", MECHANISMS),
    "mechanism of the local model": (
        "mechanisms of the local model",
        "responses",
        LOCAL_MECHANISMS,
    ),
    "composition": ("compositions", "composition", COMPOSITIONS),
    "step of `post`": ("steps of `post`", "post", STEPS),
}
"""Objects whose docstrings are pages, by kind: heading of the list, key, objects."""

HEADINGS = {
    "key": "keys of a spec",
    "type": "types of columns",
    "term": "terms",
    "command line": "words of the command line",
    "command": "commands",
    **{kind: heading for kind, (heading, _, _) in REGISTRIES.items()},
    "utility": "utilities",
    **{f"{family} error": f"error codes: {family}" for family in reference.FAMILIES},
}

PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
ALARMS = (0.001, 0.01, 0.05, 0.1)

QUOTED, WORD = re.compile(r"`([^`]+)`"), re.compile(r"(?<![\w.-])[\w-]+(?![\w.-])")

JOINING_WORDS = {"not", "of", "is", "by", "any", "all", "from", "at", "or", "and"}
"""Words in names of error codes that name no key: `not-a-day` is not about `not`."""

MAX_RELATED = 5
"""The largest number of related words at the end of a page."""


def _described_pages() -> Iterator[Page]:
    """Pages made from models of fields and types that have no page in the reference."""
    described = {(page.name, page.kind) for page in reference.word_pages()}
    owners = [(statistic.name, "statistic", statistic.fields) for statistic in STATISTICS]
    owners += [(kind.key, kind.key, section_of(kind)) for kind in COLUMNS]
    for owner, place, model in owners:
        named = ((field.alias or key, field) for key, field in model.model_fields.items())
        fields = {key: field for key, field in named if key != "type"}
        lines = {key: example_line(key, field) for key, field in fields.items()}
        if owner == place and (owner, "type") not in described:
            example = f"x: {{{', '.join([f'type: {owner}', *lines.values()])}}}"
            values = f"keys: {', '.join(fields)}"
            yield Page(owner, "type", _docstring(model), example, ("type",), values=values)
        for key, field in fields.items():
            if (key, "key") not in described:
                described.add((key, "key"))
                says, absent = field.description or "", ""
                if field.is_required():
                    absent = f"`{owner}` is refused."
                uses = (KeyUse((place,), says),)
                yield Page(key, "key", says, lines[key], (owner,), absent=absent, uses=uses)


@cache
def pages() -> tuple[Page, ...]:
    """All pages, in the order of the list of words."""
    every_page = [*reference.word_pages(), *_described_pages(), *reference.code_pages()]
    for kind, (_, key, registry) in REGISTRIES.items():
        every_page += [
            Page(member.name, kind, _docstring(member), _example(member), see=(key,))
            for member in registry
        ]
    for name, function in SCORE_FUNCTIONS.items():
        every_page.append(Page(name, "utility", _docstring(function), see=("utility",)))
    words = {word for page in every_page for word in _names(page)}
    kinds = list(HEADINGS)
    linked = [
        page if page.kind in reference.TITLES else replace(page, see=_related(page, words))
        for page in every_page
    ]
    linked += [Page(name, "command", f"{help_brief(name)}.") for name in COMMANDS if name != "help"]
    return tuple(sorted(linked, key=lambda page: kinds.index(page.kind)))


def _example(member: object) -> str:
    """An example entry of a spec for a statistic; empty for any other object."""
    if not isinstance(member, Statistic) or member not in STATISTICS:
        return ""
    fields = [
        example_line(key, field)
        for key, field in member.fields.model_fields.items()
        if field.is_required() or key == "bins"
    ]
    parts = ["name: answer", f"statistic: {member.name}", *fields, "epsilon: 0.5"]
    line = f"- {{{', '.join(parts)}}}"
    return line if len(line) < reference.WIDTH else "- " + "\n  ".join(parts)


def _docstring(documented: object) -> str:
    paragraphs = (inspect.getdoc(documented) or "").split("\n\n")
    return "\n\n".join(paragraph for paragraph in paragraphs if not paragraph.startswith(">>>"))


def _names(page: Page) -> tuple[str, ...]:
    return (page.name, *page.also)


def _related(page: Page, words: set[str]) -> tuple[str, ...]:
    """Words related to a page: its words in backticks, else parts of its name."""
    quoted = WORD.findall(" ".join(QUOTED.findall(f"{page.meaning} {page.fix}")))
    other = words - {page.name, "dpcli"}
    related = [word for word in (*page.see, *quoted) if word in other]
    parts = [word for word in page.name.split("-") if word not in JOINING_WORDS]
    related = related or [word for word in parts if word in other]
    return tuple(dict.fromkeys(related))[:MAX_RELATED]


def complete_words(incomplete: str) -> Iterator[tuple[str, str]]:
    """Words with this beginning and the titles of their pages, for shell completion."""
    # If a word has several pages, the title of the first one is shown.
    kinds = {word: page.title for page in reversed(pages()) for word in _names(page)}
    for word in dict.fromkeys(word for page in pages() for word in _names(page)):
        if word.startswith(incomplete):
            yield word, kinds[word].replace("`", "")


def explain(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD]", autocompletion=complete_words, help="The word [all words, by kind]."
        ),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="E", help="With the word `privacy`: what it means.")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="D", help="With the word `privacy`: and its delta.")
    ] = None,
    rho: Annotated[
        str | None,
        typer.Option(metavar="R", help="With the word `privacy`: a rho in place of epsilon."),
    ] = None,
) -> None:
    """Explain a word: a key of specs, a statistic, an error code.

    Prints a page of plain text: what the word means, which values it takes, an example. Without
    a word it lists all words by kind. Reads no file and spends nothing.

    Examples:
        dpcli explain
        dpcli explain bounds
        dpcli explain gaussian
        dpcli explain over-budget-epsilon
        dpcli explain privacy --epsilon 1 --delta 1e-6

    The last one states in plain words what these numbers mean for one person. Every error
    begins with its code, as in `error[missing-bounds]`: `dpcli explain missing-bounds`
    shows an example and how to fix it.

    See also: dpcli check, dpcli plan
    """
    word = " ".join(words) if words else None
    if (epsilon, delta, rho) != (None, None, None) and word != PRIVACY:
        fix = "write `dpcli explain privacy --epsilon 1 --delta 1e-6`"
        given = "`--epsilon`, `--rho` or `--delta`"
        raise UsageError.about("bad-option", given=given, other="another page", fix=fix)
    width = min(width_of(sys.stdout), MAX_PROSE_WIDTH) - 2
    if word is None:
        sys.stdout.write(_word_list(width))
        return
    plain = " ".join(word.split()).casefold()
    named = _pages_of(plain) or _pages_of(plain.removesuffix("s"))
    named = [
        replace(page, meaning=help_prose(page.name)) if page.kind == "command" else page
        for page in sorted(named, key=lambda page: page.kind != "statistic")
    ]
    texts = [page.text(width).rstrip() for page in named]
    if word == PRIVACY:
        size, rule = epsilon, "sequential" if rho is None else "zcdp"
        if rho is None and epsilon is None:
            size = "1"
        loss = checked_budget(size, rho, delta or "0", rule)
        texts.insert(0, "\n\n".join(_privacy_meaning(loss, width)))
    if not texts:
        raise _unknown_word_error(word)
    sys.stdout.write("\n\n".join(texts) + "\n")


def _pages_of(plain: str) -> list[Page]:
    """The pages of a word in lower case: its own, or those of what it means."""
    forms = (plain, plain.replace(" ", "-"), plain.replace(" ", "_"))
    meant = {reference.synonyms().get(form, form).casefold() for form in forms}
    return (
        [page for page in pages() if plain == page.name.casefold()]
        or [page for page in pages() if plain in map(str.casefold, page.also)]
        or [page for page in pages() if not meant.isdisjoint(map(str.casefold, _names(page)))]
    )


def _word_list(width: int) -> str:
    kinds: dict[str, dict[str, None]] = {}
    for page in pages():
        kinds.setdefault(HEADINGS[page.kind], {}).update(dict.fromkeys(_names(page)))
    lists = [
        f"{heading}\n{reference.wrap_paragraph(', '.join(names), width, '  ', '  ')}\n\n"
        for heading, names in kinds.items()
    ]
    return "".join([*lists, "`dpcli explain WORD` explains one of them.\n"])


def _unknown_word_error(word: str) -> UsageError:
    synonyms = reference.synonyms()
    names = [name for name, _ in complete_words("")]
    plain = word.strip().casefold().replace(" ", "-")
    close = [synonyms[match] for match in get_close_matches(plain, synonyms, n=1, cutoff=0.8)]
    close += [name for name in names if plain and plain in name.split("-")]
    for form in (plain, plain.replace("-", "_")):
        close += get_close_matches(form, names, n=3, cutoff=0.7)
    near = did_you_mean(list(dict.fromkeys(close))[:3])
    return UsageError.about("unknown-word", word=word, near=near)


def _privacy_meaning(loss: Loss, width: int) -> Iterator[str]:
    """What an observer can learn about one person from this loss, in paragraphs."""
    most = interpretation.percent_at_most
    values = interpretation.loss_at_distance_two(loss)
    detected = _table(
        ("false alarms", "found, at most"),
        [
            (f"{100 * alarm:g}%", f"{most(interpretation.detection_power(loss, alarm))}%")
            for alarm in ALARMS
        ],
    )

    def paragraph(text: str) -> str:
        return reference.wrap_paragraph(text, width)

    yield f"What {loss_text(loss)} means for one person"
    times = interpretation.times_at_most(interpretation.likelihood_ratio(loss))
    plus = f", plus {interpretation.at_most(loss.delta)}" if loss.delta else ""
    yield paragraph(
        "Whatever was published could as well have come from neighboring data: data without "
        "this person (`neighbors: add-remove`), or with other data about them (`change-one`). "
        f"No set of outputs is more than {times} as likely under one as under the other{plus}."
    )
    yield paragraph(
        "Whether a person is in the data at all (with `add-remove`), or a fact about a person "
        "in the data (with `change-one`): what an observer who knows the data of all other "
        "people believed before, and can believe after seeing everything that was "
        f"published{interpretation.exception_text(loss)}:"
    )
    yield _beliefs(loss)
    yield paragraph(
        "A fact about a person in the data, with `add-remove`, is two such steps away: from "
        "data with them to data without them, and then to data with other values of theirs. "
        f"What the same observer can believe of it{interpretation.exception_text(values)}:"
    )
    yield _beliefs(values)
    yield paragraph(
        "The best test of whether a person is in the data, with `add-remove`. If it raises a "
        "false alarm for this share of the people who are not in the data, it finds at most "
        "this share of those who are:"
    )
    yield detected
    yield from map(paragraph, _judged_privacy(loss))


def _judged_privacy(loss: Loss) -> Iterator[str]:
    """How often a guess is right, when a bound fails, and what no bound hides."""
    guess = interpretation.percent_at_most(interpretation.guess_accuracy(loss))
    yield (
        "Guessing which of two neighboring datasets is the true one, if both were equally "
        "likely before, is right in 50% of cases without the publication, and in at most "
        f"{guess}% with it."
    )
    if loss.delta:
        yield (
            "Delta is not the probability of an exception. The tables allow for "
            f"{interpretation.EXCESS:g} more than epsilon, or than twice epsilon, in the "
            "logarithm of odds; an output changes them by more with the probability that is "
            "stated above each table, and then anything may be learned about the person. Keep "
            "delta far below one divided by the number of people."
        )
    else:
        change = interpretation.times_at_most(interpretation.belief_change(loss))
        yield (
            "Any belief, compared with what it would be after a publication from the "
            f"neighboring data, changes by at most {change} itself (e^(2 epsilon) - 1)."
        )
    yield (
        "This holds for anything that is ever computed from the publication. It does not hide "
        "what is true of everyone: that smoking harms smokers is learned with or without any "
        "one of them, and an observer who did not know it may change their belief about a "
        "person by more."
    )


def _beliefs(loss: Loss) -> str:
    """A table of beliefs before and after answers with this loss."""
    ranges = [(prior, *interpretation.posterior_range(loss, prior)) for prior in PRIORS]
    least, most = interpretation.percent_at_least, interpretation.percent_at_most
    return _table(
        ("before", "after, at least", "after, at most"),
        [(f"{100 * prior:g}%", f"{least(low)}%", f"{most(high)}%") for prior, low, high in ranges],
    )


def _table(header: tuple[str, ...], rows: Sequence[Sequence[str]]) -> str:
    text = plain_table([dict(zip(header, row, strict=True)) for row in rows])
    return "\n".join(f"    {line}" for line in text.splitlines())

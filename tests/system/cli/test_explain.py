"""`dpcli explain` knows every word that a newcomer meets, and finds those that were meant."""

from __future__ import annotations

import re

import pytest

from dpcli.cli.explain import Explanation, explanations
from dpcli.reference import Page, codes, synonyms, word_pages
from dpcli.spec.column_types import COLUMN_TYPES
from tests.support.cli import Command

PAGES = explanations()
KNOWN = {page.name for page in PAGES}


@pytest.mark.parametrize("page", word_pages(), ids=lambda page: f"{page.name}-{page.kind}")
def test_a_page_is_whole(page: Page) -> None:
    """A page says what the word means, what it may be, an example, and where to read on."""
    assert page.meaning.endswith(".") and page.example and page.see
    assert page.values or page.name == "exit"
    assert page.absent or page.kind == "type" or page.name == "exit"
    assert set(page.see) <= KNOWN, set(page.see) - KNOWN
    assert page.name not in page.see
    assert max(map(len, page.text().splitlines())) <= 80


@pytest.mark.parametrize("width", [78, 198])
def test_pages_fit_the_terminal(width: int) -> None:
    """No line of a page is wider than the terminal, and no word is broken at any width."""
    for page in explanations():
        lines = page.text(width).splitlines()
        assert max(map(len, lines)) <= max(width, 80), page.name
        assert page.text(width).split() == page.text(78).split()


def test_pages_name_words_to_read_next() -> None:
    """Docstrings and error codes lead on as well, to words that have pages."""
    named = {page: page.text(10_000).partition("\nSee also:  dpcli explain ")[2] for page in PAGES}
    for page, words in named.items():
        assert set(words.split(" | ")) - {""} <= KNOWN - {page.name}, page.name
        assert words or page.kind.startswith("error codes"), page.name
    assert sum(map(bool, named.values())) > 0.7 * len(named)


OLD = re.compile(
    r"\b(told|tells?|mend|beside|(no|some|any|every)body|lest|anew|likelier|so many|by lot"
    r"|for nothing|for ever|whoever|neighbour\w*)\b",
    re.IGNORECASE,
)
"""Words that a reader who learned English as a second language may not know."""


@pytest.mark.parametrize("page", list(explanations()), ids=lambda page: f"{page.name}-{page.kind}")
def test_pages_are_plain(page: Explanation) -> None:
    """No page uses a word that the rules of style replace."""
    _, _, text = page.text().partition("\n")
    assert not OLD.search(text)


def test_words_have_one_meaning_each() -> None:
    """No word has two pages of one kind, and none is that of an error code too."""
    names = [(page.name, page.kind) for page in explanations()]

    assert len(set(names)) == len(names)
    assert not {page.name for page in word_pages()} & {code.name for code in codes()}


def test_every_type_has_a_page() -> None:
    """The types that a column may have are those that have pages."""
    kinds = [shape.kind for shape in COLUMN_TYPES]
    assert [page.name for page in word_pages() if page.kind == "type"] == kinds


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_every_word_is_explained(name: str, dpcli: Command) -> None:
    """Each word has a page that begins with it."""
    told = dpcli("explain", name)

    assert told.status == 0
    assert told.out.startswith(f"{name} (") or name == "privacy"


def test_the_list_has_every_word(dpcli: Command) -> None:
    """Without a word all of them are listed, by kind, at 80 columns."""
    told = dpcli("explain")

    assert told.status == 0
    assert set(re.findall(r"[\w-]+", told.out)) >= KNOWN
    assert max(map(len, told.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("word", "meant"),
    [("bouns", "bounds"), ("average", "mean"), ("Unit", "unit"), ("neighbours", "neighbors"),
     ("max-rows", "max_rows"), ("over budget", "over-budget-epsilon"), ("status", "exit")],
)  # fmt: skip
def test_a_slip_is_understood(word: str, meant: str, dpcli: Command) -> None:
    """A word that is none leads to those that are near."""
    told = dpcli("explain", word)

    assert told.status == 2
    assert f"`{meant}`" in told.err


def test_a_word_that_is_far_from_all(dpcli: Command) -> None:
    """Nothing is proposed where nothing is near; the list is named."""
    told = dpcli("explain", "zzzzzz")

    assert "did you mean" not in told.err and "`dpcli explain` lists all words" in told.err


def test_words_of_other_tools_lead_to_ours() -> None:
    """What stands for a foreign word is a word of ours, and the foreign one is not."""
    assert set(synonyms().values()) <= KNOWN
    assert not set(synonyms()) & KNOWN


def test_privacy_is_both_a_promise_and_a_section(dpcli: Command) -> None:
    """The page says what an epsilon means for a person, and what the section holds."""
    told = dpcli("explain", "privacy", "--epsilon", "0.5").out

    assert told.startswith("What epsilon 0.5 means for one person")
    assert "privacy (key of a spec)" in told

"""`dpcli explain` has a page for every word that a new user meets, and suggests words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpcli.cli.commands import PLACES
from dpcli.cli.explain import HEADINGS, explain, pages
from dpcli.data.kinds import COLUMNS
from dpcli.planning.planner import make_plan
from dpcli.problems.reference import Page, code_pages, synonyms, word_pages
from dpcli.specification.load import parse_central_spec
from dpcli.statistics import STATISTICS
from dpcli.statistics.postprocessing import Flag
from tests.support.cli import LOCAL, PEOPLE, ROOT, Command
from tests.support.rules import for_each

PAGES = pages()
KNOWN = {page.name for page in PAGES}
EVERY = KNOWN | {word for page in PAGES for word in page.also}


@for_each(word_pages())
def test_a_page_is_complete(page: Page) -> None:
    """A page has the meaning of the word, its values, an example, and related words."""
    assert page.meaning.endswith(".") and page.example and page.see
    assert page.values or page.kind == "term" or page.name == "exit"
    assert page.absent or page.kind in ("type", "term") or page.name == "exit"
    assert set(page.see) <= KNOWN, set(page.see) - KNOWN
    assert page.name not in page.see
    assert not set(page.also) & KNOWN
    assert max(map(len, page.text().splitlines())) <= 80


JOINING = {"not", "of", "is", "by", "any", "all", "from", "at"}
"""Keys that are also words of sentences, and so of the names of error codes."""


def test_a_name_with_not_does_not_lead_to_the_key_not() -> None:
    """A joining word in the name of an error code is no related word; one in backticks is."""
    for page in (page for page in PAGES if page.kind.endswith(" error")):
        quoted = " ".join(re.findall(r"`[^`]+`", f"{page.meaning} {page.fix}"))
        assert JOINING & set(page.see) <= set(re.findall(r"[\w-]+", quoted)), page.name
    assert {page.see for page in PAGES if page.name == "not-a-day"} == {("period",)}
    assert all(set(page.see) <= EVERY for page in code_pages())


@pytest.mark.parametrize(
    ("words", "page"),
    [("bin", "bins"), ("group by", "by"), ("recover", "recover"), ("cron", "cron"),
     ("join", "join"), ("gdpr", "GDPR"), ("p-value", "p-value"), ("forecast", "forecast"),
     ("Time series", "forecast"), ("t test", "p-value"), ("release id", "release-id"),
     ("odds ratio", "comparison"), ("relative risk", "comparison"), ("row percent", "percent"),
     ("crosstab", "marginals"), ("IQR", "quantile"), ("retention", "people"),
     ("moving average", "forecast"), ("Kaplan-Meier", "survival"), ("per capita", "rate")],
)  # fmt: skip
def test_words_that_new_users_ask_for_have_pages(words: str, page: str, dpcli: Command) -> None:
    """A word of other tools leads to a page, in any case, and as two words, quoted or not."""
    done = dpcli("explain", words)

    assert done.status == 0 and done.out.startswith(f"{page} (")
    assert dpcli("explain", *words.split()) == done


def test_pages_have_a_meaning_and_name_related_words() -> None:
    """Those from docstrings and of error codes name words with pages; tables keep their lines."""
    for page in PAGES:
        assert len(page.meaning) >= 9, page.name
        assert set(page.see) <= EVERY - {page.name}, page.name
        assert page.see or page.kind == "command" or page.kind.endswith(" error"), page.name
    assert sum(bool(page.see) for page in PAGES) > 0.7 * len(PAGES)
    (where,) = (page for page in PAGES if page.name == "where")
    assert "\n    true     unknown  false " in where.text()


@for_each(PAGES)
def test_pages_fit_the_terminal(page: Page) -> None:
    """No line of a page is wider than the terminal, and no word is broken at any width."""
    for width in (78, 198):
        assert max(map(len, page.text(width).splitlines())) <= max(width, 80)
        assert page.text(width).split() == page.text(78).split()


def test_words_have_one_meaning_each() -> None:
    """No word has two pages of one kind or is an error code too; every type of column has one."""
    names = [(page.name, page.kind) for page in PAGES]

    assert len(set(names)) == len(names)
    assert not {page.name for page in word_pages()} & {code.name for code in code_pages()}
    types = [page.name for page in word_pages() if page.kind == "type"]
    assert types == list(COLUMNS.names)


OLD = re.compile(
    r"\b(told|tells?|mend|beside|(no|some|any|every)body|lest|anew|likelier|so many|by lot"
    r"|for nothing|for ever|whoever|neighbour\w*)\b",
    re.IGNORECASE,
)
"""Words that a reader who learned English as a second language may not know."""


@for_each(PAGES)
def test_pages_are_in_plain_english(page: Page) -> None:
    """No page uses a word that the rules of style replace."""
    _, _, text = page.text().partition("\n")
    assert not OLD.search(text)


@for_each(sorted(KNOWN))
def test_every_word_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each word has a page that begins with it."""
    explain([name])

    assert capsys.readouterr().out.startswith(f"{name} (") or name == "privacy"


def test_the_list_has_every_word(dpcli: Command) -> None:
    """Without an argument, all words are listed by kind, at 80 columns."""
    done = dpcli("explain").succeeded()

    assert set(re.findall(r"[\w-]+", done.out)) >= EVERY
    assert [line for line in done.out.splitlines() if line in HEADINGS.values()] == list(
        HEADINGS.values()
    )
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("word", "meant"),
    [("bouns", "bounds"), ("averagge", "mean"), ("Unitt", "unit"), ("neighbours", "neighbors"),
     ("max-rows", "max_rows"), ("over budget", "over-budget-epsilon"), ("scal", "scale"),
     ("zzzzzz", "")],
)  # fmt: skip
def test_a_misspelled_word_gives_suggestions(word: str, meant: str, dpcli: Command) -> None:
    """The error for an unknown word names similar words, or the list of all."""
    done = dpcli("explain", word)

    assert done.status == 2
    assert f"`{meant or 'dpcli explain'}`" in done.err
    assert ("did you mean" in done.err) is bool(meant)


def headings(text: str) -> set[str]:
    """The headings of the aligned tables in a text: the first aligned line of each block."""
    names: set[str] = set()
    for block in text.split("\n\n"):
        lines = (re.split(r" {2,}", line.strip()) for line in block.splitlines())
        first: list[str] = next((parts for parts in lines if len(parts) > 2), [])
        names |= {re.sub(r" *[0-9.]+%| of [0-9,]+ records", "", part) for part in first}
    return names


def test_words_in_tables_have_pages(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every heading of a table, every flag and every choice of an option can be looked up."""
    monkeypatch.setenv("COLUMNS", "400")
    ledger = ("--ledger", tmp_path / "ledger.sqlite")
    people = ROOT / "specs" / "town-people.yaml"
    spec = ROOT / "specs" / "minimal.yaml"
    words: set[str] = {flag.value for flag in Flag} - {""}
    for line in (
        ("ledger", "init", ledger[1]),
        ("plan", people, "--details"), ("plan", spec, "--compare"),
        ("plan", spec, "--diff", people),
        ("plan", LOCAL, "--records", "3000"), ("release", spec, PEOPLE, *ledger),
        ("ledger", "show", *ledger), ("ledger", "show", "--spec", spec, *ledger),
        ("ledger", "history", *ledger), ("simulate", spec, "--rows", "90", "--runs", "2"),
    ):  # fmt: skip
        done = dpcli(*line).succeeded()
        words |= headings(done.out if line[0] != "release" else done.err)
        words |= set(done.out.split("\n")[0].split(",")) if line[0] == "release" else set()
    for name in (name for name, place in PLACES.items() if ":" in place):
        choices = re.findall(r" ([a-z-]+(?:\|[a-z-]+)+)\s", dpcli(*name.split(), "--help").out)
        words |= {word for choice in choices for word in choice.split("|")}
    keys = {"sex"}  # the keys of a group are columns of the data
    unknown = {
        word
        for word in words - keys
        if word.replace(" ", "-") not in EVERY and not set(word.split()) <= EVERY
    }

    assert len(words) > 40 and {"L2", "add-remove", "unreliable"} <= words
    assert not unknown


TABLE = """
dpcli: 1
dataset: survey
privacy: {unit: {column: person, max_rows: 1}, neighbors: add-remove, budget: {epsilon: 1}}
columns:
  person: {type: id}
  income: {type: number, bounds: [0, 5000], step: 5}
  hours: {type: integer, bounds: [0, 80]}
  age: {type: integer, bounds: [0, 110]}
  year: {type: integer, bounds: [2020, 2024]}
  sex: {type: category, values: [f, m, x]}
  region: {type: category, values: [north, south]}
  insured: {type: boolean}
  by_bus: {type: boolean}
  by_car: {type: boolean}
statistics:
"""


def test_words_of_other_tools_lead_to_those_of_dpcli(dpcli: Command) -> None:
    """A synonym leads to a word of dpcli, and is not such a word itself."""
    assert set(synonyms().values()) <= KNOWN
    assert not set(synonyms()) & KNOWN
    assert dpcli("explain", "Average").out == dpcli("explain", "mean").out


@pytest.mark.parametrize(
    ("typed", "page"),
    [("confidence intervals", "confidence"), ("Percentages", "proportion"), ("exit  code", "exit"),
     ("windows", "install"), ("pandas", "install"), ("k-anonymity", "GDPR"),
     ("cross table", "marginals"), ("before after", "comparison"), ("totals", "totals")],
)  # fmt: skip
def test_a_word_may_be_a_plural_or_have_parts(dpcli: Command, typed: str, page: str) -> None:
    """The page of what is meant is shown, in place of a list of similar words."""
    assert dpcli("explain", *typed.split(" ")).succeeded().out == dpcli("explain", page).out


@pytest.mark.parametrize("word", ["sum", "total", "count"])
def test_statistics_come_before_keys_of_their_name(dpcli: Command, word: str) -> None:
    """Who asks for a total means the statistic rather than a key of `derive`."""
    assert dpcli("explain", word).out.partition("\n")[0].endswith(" (statistic)")


@pytest.mark.parametrize("name", [statistic.name for statistic in STATISTICS])
def test_the_example_of_a_statistic_can_be_planned(name: str) -> None:
    """Each page of a statistic ends in an entry that a spec can have."""
    (page,) = (page for page in pages() if (page.name, page.kind) == (name, "statistic"))
    entry = page.example.replace("\n", "\n  ")
    spec = parse_central_spec(f"{TABLE}  {entry}\n", "spec.yaml")
    assert make_plan(spec).statistics
    assert max(map(len, page.text().splitlines())) <= 80


def test_privacy_has_its_meaning_and_its_section(dpcli: Command) -> None:
    """The page has the meaning of an epsilon for a person, and the keys of the section."""
    done = dpcli("explain", "privacy", "--epsilon", "0.5").out

    assert done.startswith("What epsilon 0.5 means for one person")
    assert "privacy (key of a spec)" in done

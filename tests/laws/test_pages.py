"""What the pages of the project name is there: files, folders, classes and registries."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dpcli.cli.explain import pages
from tests.support.cli import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("tests/*/README.md")])
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?:dpcli|tests|specs|docs|sample_data|\.ci)/[\w./-]*")
TEXT_FOLDERS = ("dpcli", "docs", "specs", "tests", "sample_data")
TEXT_SUFFIXES = {".md", ".toml", ".py", ".yaml", ".json", ".txt", ".html", ".j2"}
NAME = re.compile(r"[A-Z][a-z]+[A-Za-z]*|[A-Z][A-Z_]+[A-Z]|[a-z]+(?:_[a-z]+)+")
PACKAGE_OF_AN_INDEX = re.compile(r"""\bdpcli\[|\binstall\b(?: -\S+)* ['"]?dpcli\b""")
SHORT = (
    "budget", "composition", "data", "ledger", "limits", "outputs", "people", "questions",
    "reading", "recipes", "statistics", "wishes",
)  # fmt: skip
"""Pages whose sentences are short."""

PIECE = re.compile(r"\n\s*\n|\n(?=\s*[-*] |#+ |> )|\n(?=\|)| \| ")
SENTENCE = re.compile(r"(?<=[.?!])[*_)\]]*\s+(?=[A-Z\[`*(\"0-9])")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def quoted(page: Path) -> list[str]:
    """Every word in backticks, outside of blocks of code."""
    return QUOTED.findall(FENCE.sub("", page.read_text("utf-8")))


@cache
def sources() -> str:
    """All code of the package and the tests."""
    every = [*(ROOT / "dpcli").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    return "\n".join(path.read_text("utf-8") for path in every)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page: Path) -> None:
    """Each file or folder in backticks and each link leads to one."""
    if page.name == "CHANGELOG.md":
        return
    named = [name for name in quoted(page) if PATH.fullmatch(name)]
    linked = LINK.findall(FENCE.sub("", page.read_text("utf-8")))

    assert [name for name in named if not (ROOT / name).exists()] == []
    assert [link for link in linked if not (page.parent / link).exists()] == []


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page, also those in cells; code is one word, and a link is its words."""
    prose = re.sub(r"\]\([^)]*\)", "]", QUOTED.sub("Code", FENCE.sub("\n\n", text)))
    for piece in PIECE.split(prose):
        yield from SENTENCE.split(piece.strip("|#>-* \n"))


@pytest.mark.parametrize("name", SHORT)
def test_sentences_are_short(name: str) -> None:
    """No sentence of these pages has more than 25 words."""
    text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    long = [" ".join(each.split()) for each in sentences(text) if len(each.split()) > 25]

    assert long == []
    assert len(list(sentences(text))) > 10


def test_names_in_the_guide_for_contributors_are_in_the_code() -> None:
    """Each class, registry and function that the guide names is in the code."""
    named = [name for name in quoted(ROOT / "CONTRIBUTING.md") if NAME.fullmatch(name)]

    assert len(named) > 10
    assert [name for name in named if not re.search(rf"\b{name}\b", sources())] == []


def test_the_site_lists_every_page() -> None:
    """Each page of `docs/` has a line in the navigation of the site."""
    listed = (ROOT / "docs" / "zensical.toml").read_text("utf-8")
    pages = [page.name for page in (ROOT / "docs").glob("*.md")]

    assert [page for page in pages if f'= "{page}" }}' not in listed] == []


def test_the_reference_is_current_and_short() -> None:
    """`docs/make_reference.py` would write the reference as it is; it has at most 480 lines."""
    text = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))["reference"]()

    assert (ROOT / "docs" / "reference.md").read_text("utf-8") == text
    assert len(text.splitlines()) <= 480


def test_the_reference_names_every_key_word_and_code() -> None:
    """Each page of `dpcli explain` about a key, a word or a code is named in the reference."""
    text = (ROOT / "docs" / "reference.md").read_text("utf-8")

    missing = [page.name for page in pages() if not re.search(rf"\b{re.escape(page.name)}\b", text)]
    assert missing == []


def test_manual_pages_are_current() -> None:
    """`docs/make_man.py` would write the manual page of each command as it is."""
    folder = ROOT / "docs" / "man"
    written = {page.name: page.read_text("utf-8") for page in folder.glob("*")}

    assert written == runpy.run_path(str(ROOT / "docs" / "make_man.py"))["manual"]()
    assert {"dpcli.1", "dpcli-release.1", "dpcli-ledger-show.1"} < written.keys()


def test_no_text_installs_dpcli_from_a_package_index() -> None:
    """No text names dpcli as a package of an index, where anyone could register that name."""
    named = [
        f"{path.relative_to(ROOT)}: {found.group()}"
        for path in [ROOT / "pyproject.toml", *ROOT.glob("*.md"), ROOT / ".ci" / "run"]
        + [path for folder in TEXT_FOLDERS for path in (ROOT / folder).rglob("*")]
        if path.suffix in TEXT_SUFFIXES or path.name == "run"
        for found in PACKAGE_OF_AN_INDEX.finditer(path.read_text("utf-8"))
    ]

    assert named == []
    for text in ("pip install {}", "pip install -q '{}", "{}[pld]"):
        assert PACKAGE_OF_AN_INDEX.search(text.format("dpcli"))

"""Every source that the code or a page cites is in `docs/references.md`, and no other."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from tests.support.cli import ROOT
from tests.support.rules import for_each

REFERENCES = ROOT / "docs" / "references.md"
ENTRY = re.compile(r"^- \*\*(?P<key>[^*]+)\.\*\* (?P<rest>(?:.|\n(?=  ))+)", re.MULTILINE)
NAME = r"[A-Z][\w'-]*[a-z]"
CITED = re.compile(
    rf"\b(?P<who>{NAME}(?:(?:, | and ){NAME})*(?: et al\.)?) \(?(?P<year>(?:18|19|20)\d\d)(?![\d-])"
)
NOT_AUTHORS = re.compile(r"Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Visits")
"""Months, and a name that a test gives to a dataset."""

ELSEWHERE = {
    "Gini 1912",
    "Groeneboom 1985",
    "Jones and Lotwick 1984",
    "Kifer, Smith and Thakurta 2012",
    "Rao 1961",
    "Sandelius 1962",
    "Stanley 1980",
    "Tu 2013",
    "Wang, Blocki, Li and Jha 2017",
    "Zipf 1949",
}
"""Sources in print alone, or on a page of their publisher or author."""


def entries() -> dict[str, str]:
    """What the list says of each source, by its key."""
    return {entry["key"]: entry["rest"] for entry in ENTRY.finditer(REFERENCES.read_text("utf-8"))}


def texts() -> dict[Path, str]:
    """Code, texts of the program, and pages, each as one line."""
    kinds = {".py", ".toml", ".md", ".j2", ".yaml"}
    package = [
        path
        for path in (ROOT / "dpcli").rglob("*")
        if path.suffix in kinds and path.parent.name != "__pycache__"
    ]
    pages = [path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"]
    pages += [path for path in (ROOT / "docs").glob("*.md") if path != REFERENCES]
    tests = (ROOT / "tests").rglob("*.py")
    return {
        path: re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text("utf-8"))
        for path in [*package, *pages, *tests]
    }


def citations() -> dict[str, set[str]]:
    """Where each source is cited."""
    places: dict[str, set[str]] = defaultdict(set)
    for path, text in texts().items():
        for citation in CITED.finditer(text):
            if not NOT_AUTHORS.match(citation["who"]):
                places[f"{citation['who']} {citation['year']}"].add(str(path.relative_to(ROOT)))
    return places


def test_every_citation_is_in_the_list() -> None:
    """No docstring, comment or page cites a source that the list does not have."""
    known = entries()

    assert {key: where for key, where in citations().items() if key not in known} == {}


def test_every_source_is_cited() -> None:
    """The list has no source that nothing cites."""
    assert set(entries()) <= set(citations())


@for_each(entries().items())
def test_a_source_has_a_title_and_an_address(entry: tuple[str, str]) -> None:
    """Each entry names all authors, a title, and a DOI or arXiv number that its link repeats."""
    key, rest = entry
    surnames = re.sub(r" et al\.| \d+$", "", key).replace(" and ", ", ").split(", ")
    authors = rest.split(". *", maxsplit=1)[0].replace("ä", "a").replace("ć", "c")

    assert re.search(r"\*[^*]+\*", rest)
    assert [name for name in surnames if name not in authors] == []
    numbers = re.findall(r"\[(?:arXiv|doi):([^\]]+)\]\(https://[^/]+/(?:abs/)?([^)]+)\)", rest)
    assert (len(numbers) == 1) != (key in ELSEWHERE)
    assert all(shown == linked for shown, linked in numbers)

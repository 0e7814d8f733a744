"""The site: one command builds it without a network, and a browser walks all of it."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urlparse

import pytest

from dpcli.statistics import STATISTICS
from tests.support.browser import BROWSER
from tests.support.cli import ROOT
from tests.support.devtools import Browser, browser

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(find_spec("zensical") is None, reason="the extra `site` is not installed"),
    pytest.mark.skipif(BROWSER is None, reason="there is no browser"),
]

ISOLATED = ["unshare", "--user", "--map-root-user", "--net"]
"""What starts a command without a network, where the system allows that."""

TASKS = {
    "I want a percentage by region": "wishes.html",
    "may I run it again?": "questions.html#may-i-run-it-again",
    "try without paying": "questions.html#how-do-i-try-without-paying",
    "which epsilon": "questions.html#which-epsilon",
    "how do I undo a test": "questions.html#how-do-i-undo-a-test",
    "negative count": "reading.html#what-looks-like-a-mistake",
    "postgres": "recipes.html#from-a-database-or-a-bucket",
    "rows for each person": "questions.html#how-many-rows-for-each-person",
    "groupby pandas": "wishes.html#from-pandas-and-sql",
    "over-budget-epsilon": "words-errors.html#over-budget-epsilon",
    "read the table in R": "recipes.html#read-the-table-in-r-pandas-or-excel",
    "excel": "recipes.html#read-the-table-in-r-pandas-or-excel",
    "cron": "words-terms.html#cron",
    "what to say to the public": "questions.html#what-do-i-say-to-the-public",
    "what does the flag limited mean": "questions.html#what-does-the-flag-mean",
}
"""What a new user types, and what must be among the first results."""

FACTS = """({
  links: [...document.querySelectorAll('a[href]')].map(link => link.href),
  ids: [...document.querySelectorAll('[id]')].map(element => element.id),
  broken: [...document.images].filter(image => !image.naturalWidth).map(image => image.src),
  width: document.documentElement.scrollWidth,
  paper: getComputedStyle(document.body).backgroundColor,
})"""

FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
"""Waits until a page has drawn itself, in a new colour scheme if it is another one."""

RESULTS = """[...document.querySelectorAll('*')].filter(element => element.shadowRoot)
  .flatMap(element => [...element.shadowRoot.querySelectorAll('a')]).map(link => link.href)"""

PICTURES = """[...document.querySelectorAll('.picture')].map(picture => {
  const shown = picture.shadowRoot.querySelector('table, svg.chart, .several');
  return shown ? shown.getBoundingClientRect().height : 0;
})"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all processes that run tests: what takes long is made there once."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "of-the-site"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether a path is still to be made, while no other process makes it."""
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not path.exists()


@pytest.fixture(scope="module")
def site(shared: Path) -> Path:
    """The site, made by the one command."""
    folder = shared / "site"
    isolated = subprocess.run([*ISOLATED, "true"], check=False, stderr=subprocess.DEVNULL)
    words = [sys.executable, str(ROOT / "docs" / "make_site.py"), str(folder)]
    with locked(folder) as is_missing:
        if is_missing:
            subprocess.run(
                [*(ISOLATED if isolated.returncode == 0 else []), *words],
                check=True,
                capture_output=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                timeout=300,
            )
    return folder


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    """A browser for all tests."""
    with browser() as opened:
        yield opened


LOOKS = ((1280, False), (390, True))
"""The widths at which each page is looked at, and whether it is dark."""


class Walk(NamedTuple):
    """All pages, each opened once."""

    pages: dict[str, list[dict[str, Any]]]
    """What a page is in each look, by its address."""
    requested: list[str]
    """The addresses that pages asked for."""


@pytest.fixture(scope="module")
def walk(site: Path, tab: Browser) -> Walk:
    """What a browser finds on all pages."""
    seen = site.with_name("walk.json")
    with locked(seen) as is_missing:
        if is_missing:
            pages = {page.as_uri(): looks(tab, page) for page in sorted(site.rglob("[!4]*.html"))}
            seen.write_text(json.dumps(Walk(pages, tab.requested)), encoding="utf-8")
    found = Walk(*json.loads(seen.read_text(encoding="utf-8")))
    assert len(found.pages) > 30
    return found


def looks(tab: Browser, page: Path) -> list[dict[str, Any]]:
    """What a page is in each look."""
    found = []
    tab.look(1280)
    tab.open(page.as_uri())
    for width, dark in LOOKS:
        tab.look(width, dark=dark)
        tab.value(FRAMES)
        found.append(tab.value(FACTS))
    return found


@pytest.fixture(scope="module")
def pages(walk: Walk) -> dict[str, list[dict[str, Any]]]:
    """What each page is in each look, by its address."""
    return walk.pages


def test_every_link_leads_to_a_heading(pages: dict[str, list[dict[str, Any]]]) -> None:
    """No link, anchor or picture is broken."""
    lost, broken = [], []
    for address, (page, _) in pages.items():
        for link in page["links"]:
            target, anchor = urldefrag(link)
            if not target.startswith("file:"):
                assert urlparse(target).scheme in ("https", "http", "mailto"), link
            elif target not in pages or unquote(anchor) not in ["", *pages[target][0]["ids"]]:
                lost.append((address, link))
        broken += page["broken"]
    assert lost == []
    assert broken == []


@pytest.mark.parametrize(("place", "look"), list(enumerate(LOOKS)))
def test_every_page_fits_its_window(
    place: int, look: tuple[int, bool], pages: dict[str, list[dict[str, Any]]]
) -> None:
    """No page is wider than its window, and all are dark, or none."""
    width, dark = look
    wide = [address for address, seen in pages.items() if seen[place]["width"] > width]
    assert wide == []
    papers = {seen[place]["paper"] for seen in pages.values()}
    assert len(papers) == 1
    levels = [int(level) for level in papers.pop().strip("rgba()").split(",")[:3]]
    assert (max(levels) < 60) if dark else (min(levels) > 200)


def test_every_statistic_has_a_picture(site: Path, tab: Browser) -> None:
    """The gallery shows numbers of each statistic, at any width."""
    for width in (1280, 390):
        tab.look(width)
        tab.open((site / "gallery.html").as_uri())
        heights = tab.value(PICTURES)

        assert len(heights) > len(STATISTICS)
        assert min(heights) > 20


@pytest.fixture(scope="module")
def search(site: Path, tab: Browser) -> Browser:
    """The browser with an open search."""
    tab.look(1280)
    tab.open((site / "index.html").as_uri())
    tab.value("document.querySelector('.md-search__button').click()")
    for _ in range(100):
        time.sleep(0.1)
        if tab.value("document.activeElement.shadowRoot !== null"):
            break
    return tab


@pytest.mark.parametrize("task", TASKS)
def test_a_search_finds_the_page(task: str, search: Browser) -> None:
    """What a new user wants is among the first five results, from a file."""
    search.value("document.activeElement.shadowRoot.activeElement.select()")
    search.call("Input.insertText", text="qqqqqqqq")
    assert _results(search, lambda found: not found) == []
    search.value("document.activeElement.shadowRoot.activeElement.select()")
    search.call("Input.insertText", text=task)
    found = _results(search, bool)

    assert any(link.startswith(TASKS[task]) for link in found[:5]), found


def _results(search: Browser, enough: Callable[[list[str]], bool]) -> list[str]:
    """The links that a search shows, once they are enough."""
    found: list[str] = []
    for _ in range(100):
        time.sleep(0.1)
        found = [link.partition("/site/")[2] for link in search.value(RESULTS)]
        if enough(found):
            break
    return found


def test_nothing_is_loaded_from_elsewhere(walk: Walk, search: Browser) -> None:
    """Neither a page nor a search asks for an address of the network."""
    requested = [*walk.requested, *search.requested]

    assert len(requested) > len(walk.pages)
    assert [one for one in requested if not one.startswith(("file:", "data:", "blob:"))] == []

"""`dpcli ledger show --html`: a page of all accounts that needs nothing else."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Literal

import pytest

from tests.support.browser import BROWSER, faults
from tests.support.cli import Command, data, dpcli, edit, spec

__all__ = ["data", "dpcli", "spec"]

NIGHTS = """\
dpcli: 1
dataset: NAME
quality: none
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}
columns: {}
statistics: [{name: n, statistic: count, epsilon: 0.3}]
"""


@pytest.fixture
def page(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A page of a ledger with two accounts that share a file, one with a window."""
    folder = tmp_path / "a <b> & c"
    folder.mkdir()
    monkeypatch.setenv("DPCLI_LEDGER", str(folder / "books.sqlite"))
    dpcli("ledger", "init", folder / "books.sqlite").succeeded()
    dpcli("ledger", "open", "nights", "--epsilon", "1", "--window", "3").succeeded()
    nights = spec.with_name("nights.yaml")
    nights.write_text(NIGHTS.replace("NAME", "nights"), "utf-8")
    for day in range(1, 4):
        words = ("release", nights, data, "-q", "--any-period", "--period", f"2026-03-0{day}")
        dpcli(*words).succeeded()
    edit(spec, ("budget: {epsilon: 10,", "budget: {epsilon: 15,"))
    dpcli("release", spec, data, "-q", "--release-id", "first").succeeded()
    before = (folder / "books.sqlite").read_bytes()
    shown = dpcli("ledger", "show", "--html").succeeded()
    assert (folder / "books.sqlite").read_bytes() == before and not shown.err
    return shown.out


def test_the_page_has_balances_windows_forecasts_and_warnings(page: str) -> None:
    """What `ledger show` has, and the last releases."""
    text = " ".join(re.sub("<[^>]*>", " ", page).split())
    for said in (
        "6 spent, 9 left of 15", "1 more release at the price of the last one would fit",
        "0.9 spent, 0.1 left of 1", "would fit in a window without other releases",
        "For data of 2026-03-04 and later days, epsilon 0.4 is left",
        "For data of 2026-03-06 and later days, epsilon 1 is left", "The account nights paid for",
        "The account town paid for", "2026-03-03 0.3 0", "first",
    ):  # fmt: skip
        assert said in text, said
    assert 'width="400"' in page and 'width="900"' in page


def test_the_page_is_self_contained_and_escapes_all_texts(page: str) -> None:
    """No script, no address, and no tag from the name of a folder."""
    assert "a &lt;b&gt; &amp; c" in page and "<b>" not in page
    assert not re.search("<script|https?://|url\\(|@import|<link|<img", page)
    assert "default-src 'none'" in page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_readable_at_each_width(page: str, scheme: Literal["light", "dark"]) -> None:
    """On phones and desktops, in both colour schemes."""
    if BROWSER is None:
        pytest.skip("no browser here")
    assert faults((page, 360), (page, 1100), scheme=scheme) == [[], []]


def test_one_account_without_its_package_does_not_hide_the_others(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its numbers are unknown on the page and in the history; those of others are there."""
    folder = tmp_path / "dpcli-ledger.sqlite"
    for name, more in (("plain", ""), ("tight", ", delta: 1e-6}, composition: pld")):
        text = NIGHTS.replace("NAME", name)
        text = text.replace("{epsilon: 1}}", f"{{epsilon: 1{more}}}" if more else "{epsilon: 1}}")
        path, rows = tmp_path / f"{name}.yaml", tmp_path / "rows.csv"
        path.write_text(text, "utf-8")
        rows.write_text("x\n1\n", "utf-8")
        dpcli("release", path, rows, "-q").succeeded()
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.pld_pmf", None)
    shown = dpcli("ledger", "show", "--html", "--ledger", folder).succeeded()
    assert "0.3 spent, 0.7 left of 1" in shown.out and "? spent, ? left of 1" in shown.out
    assert "dp-accounting" in shown.err
    past = dpcli("ledger", "history", "--json", "--ledger", folder).succeeded()
    assert [release["epsilon"] for release in past.json] == [0.3, None]


def test_an_empty_ledger_has_a_page(dpcli: Command, tmp_path: Path) -> None:
    """It says that there are no accounts; a page and JSON are not printed together."""
    dpcli("ledger", "init", tmp_path / "l.sqlite").succeeded()
    words = ("ledger", "show", "--ledger", tmp_path / "l.sqlite", "--html")
    assert "has no accounts yet" in dpcli(*words).succeeded().out
    assert dpcli(*words, "--json").status == 2

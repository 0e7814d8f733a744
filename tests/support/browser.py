"""A headless browser that looks at pages, at a width and in a colour scheme."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
"""The browser of this machine, if it has one."""

SCRIPT = (Path(__file__).parent / "layout.js").read_text(encoding="utf-8")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars",
)  # fmt: skip


POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
)
"""What forbids scripts on a page."""

Look = tuple[str, int]
"""A page, and the width at which it is looked at."""


def faults(*looks: Look, scheme: Literal["light", "dark"] = "light") -> list[list[str]]:
    """The faults of each page at its width, in words; empty without faults."""
    seen: list[list[str]] = _look(looks, scheme, "faults(seen)")
    return seen


def ends(*looks: Look, places: Sequence[str]) -> list[list[float | None]]:
    """The bottom of the last element of each kind, in pixels; None if there is no such element."""
    look = (
        f"{json.dumps(places)}.map(place => [...seen.querySelectorAll(place)].reduce("
        "(low, element) => Math.max(low ?? 0, element.getBoundingClientRect().bottom), null))"
    )
    positions: list[list[float | None]] = _look(looks, "light", look)
    return positions


def violations(*looks: Look, rules: str) -> list[list[str]]:
    """What the `rules` of axe, a script, find on each page: the rule and the element."""
    script = f"<script>{rules}</script>"
    assert all(POLICY in page for page, _ in looks)
    pages = [(page.replace(POLICY, script), width) for page, width in looks]
    look = (
        "frame.contentWindow.axe.run(seen, {resultTypes: ['violations']}).then(result => "
        "result.violations.flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.html}`)))"
    )
    found: list[list[str]] = _look(pages, "light", look)
    return found


def sheets(page: str, size: Literal["Letter", "A4"]) -> int:
    """How many sheets of paper a page takes."""
    with tempfile.TemporaryDirectory() as folder:
        source, printed = Path(folder) / "page.html", Path(folder) / "page.pdf"
        sized = page.replace("</style>", f"@page {{ size: {size}; }}</style>", 1)
        source.write_text(sized, encoding="utf-8")
        words = ("--no-pdf-header-footer", f"--print-to-pdf={printed}", source.as_uri())
        _browse(*words, folder=folder)
        return max(map(int, re.findall(rb"/Count (\d+)", printed.read_bytes())))


def _look(looks: Sequence[Look], scheme: Literal["light", "dark"], look: str) -> Any:
    """What a script finds on each page, which it calls `seen`; the browser starts once.

    A page is shown in a frame, because a window cannot be as narrow as a phone.
    """
    frames = "".join(
        f'<iframe style="border:0;width:{width}px;height:900px" srcdoc="{html.escape(page)}">'
        "</iframe>"
        for page, width in looks
    )
    outer_page = (
        f'<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">{frames}'
        f'<pre id="faults">nothing</pre><script>{SCRIPT}\nwindow.onload = async () => {{ '
        "const found = await Promise.all([...document.querySelectorAll('iframe')].map(frame => { "
        f"const seen = frame.contentDocument; return {look}; }})); "
        "document.getElementById('faults').textContent = JSON.stringify(found); };</script>"
    )
    with tempfile.TemporaryDirectory() as folder:
        outer = Path(folder) / "frame.html"
        outer.write_text(outer_page, encoding="utf-8")
        preferred = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
        words = (preferred, "--window-size=1400,1000", "--virtual-time-budget=60000", "--dump-dom",
                 outer.as_uri())  # fmt: skip
        printed = _browse(*words, folder=folder)
    match = re.search(r'<pre id="faults">(.*?)</pre>', printed, re.DOTALL)
    assert match is not None, printed[-500:]
    return json.loads(html.unescape(match[1]))


def _browse(*words: str, folder: str) -> str:
    """The output of the browser."""
    assert BROWSER is not None
    done = subprocess.run(
        [BROWSER, *OPTIONS, f"--user-data-dir={folder}/profile", *words],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return done.stdout

"""A progress bar of bytes: only on a terminal, and only for work that takes time."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dpcli.cli import terminal as module
from dpcli.cli.terminal import shown_progress
from dpcli.engine.progress import Progress
from tests.support.terminal import received_from

WORK = """
import sys, time
from dpcli.cli import terminal
from dpcli.cli.terminal import shown_progress
terminal.DELAY = 0.1
with shown_progress(quiet={quiet}) as progress:
    if progress is not None:
        progress.begin("copying", {total}, lambda: 2_500_000)
    time.sleep({seconds})
print("done", file=sys.stderr)
"""


def on_terminal(
    quiet: bool = False, total: int | None = 5_000_000, seconds: float = 0.5, term: str = "xterm"
) -> str:
    """What a terminal receives from some work."""
    ours, theirs = pty.openpty()
    script = WORK.format(quiet=quiet, total=total, seconds=seconds)
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stderr=theirs,
        env={**os.environ, "TERM": term, "COLUMNS": "100"},
    )
    os.close(theirs)
    received = received_from(ours)
    assert process.wait() == 0
    return received


def test_long_work_shows_bytes_and_leaves_nothing() -> None:
    """The bar shows the bytes and their total, and is erased before the next output."""
    seen = on_terminal()
    assert "copying" in seen and "2.5 MB of 5.0 MB" in seen
    # The last line with a bar is erased.
    assert re.search(r"\x1b\[2K[^━]*done", seen)


def test_without_a_total_the_bytes_so_far_are_shown() -> None:
    """The size of a pipe is unknown."""
    seen = on_terminal(total=None)
    assert "2.5 MB" in seen and " of " not in seen


@pytest.mark.parametrize("words", [{"quiet": True}, {"seconds": 0.01}, {"term": "dumb"}], ids=repr)
def test_short_or_quiet_work_shows_nothing(words: dict[str, bool]) -> None:
    """No bar for short work, with --quiet, or on a dumb terminal."""
    assert on_terminal(**words).split() == ["done"]  # type: ignore[arg-type]


def test_nothing_is_drawn_into_a_pipe(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If standard error is not a terminal, nothing is written during the work."""
    monkeypatch.setattr(module, "DELAY", 0.01)
    with shown_progress(quiet=False) as progress:
        assert progress is None
        time.sleep(0.1)
    assert capfd.readouterr() == ("", "")


def test_a_failure_passes_and_ends_the_bar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After any error within, the threads that draw end at once."""
    ours, theirs = pty.openpty()
    before = threading.active_count()
    monkeypatch.setattr(module, "DELAY", 0.01)
    with open(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with pytest.raises(ValueError, match="within"):
            failing()
    os.close(ours)
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def failing() -> None:
    """Work that raises while the bar is shown."""
    with shown_progress(quiet=False) as progress:
        assert isinstance(progress, Progress)
        time.sleep(0.3)
        raise ValueError("within")

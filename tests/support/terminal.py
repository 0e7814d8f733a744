"""A command as a person runs it: on a pseudo-terminal of a given width."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tests.support.fork_server import fast_dpcli

STYLE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class Screen:
    """The output of a command on a terminal, without styles, and its status."""

    status: int
    text: str

    @property
    def lines(self) -> list[str]:
        """Its lines, without the spaces at their ends."""
        return [line.rstrip() for line in self.text.split("\n")]


def received_from(ours: int) -> str:
    """Everything that a terminal receives until its other end is closed."""
    received = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:
            break
        if not part:
            break
        received += part
    os.close(ours)
    return received.decode()


def on_terminal(
    *words: str | Path,
    columns: int,
    cwd: Path,
    module: str = "dpcli",
    stdin: BinaryIO | None = None,
    **environment: str,
) -> Screen:
    """Run `dpcli` with its streams on a terminal, but for `stdin` if that is given."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    inherited = {name: text for name, text in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [fast_dpcli(module), *map(str, words)],
        stdin=stdin or theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env={
            **inherited,
            "TERM": "xterm",
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(Path(__file__).parents[2]),
            **environment,
        },
    )
    os.close(theirs)
    text = received_from(ours).replace("\r\n", "\n")
    return Screen(process.wait(), STYLE.sub("", text).replace("\r", "\n"))

"""A headless browser that opens pages one after the other, by the DevTools protocol on pipes."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import IO, Any

from tests.support.browser import BROWSER, OPTIONS

SECONDS = 60
"""How long an answer may take."""


@dataclass
class Browser:
    """One tab. `requested` are the addresses that its pages asked for."""

    commands: IO[bytes]
    messages: int
    received: bytes = b""
    session: str = ""
    requested: list[str] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=lambda: count(1))

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a method of the protocol."""
        number = next(self.ids)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.commands.write(json.dumps(message).encode() + b"\0")
        self.commands.flush()
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result

    def look(self, width: int, *, dark: bool = False) -> None:
        """Show pages at a width, of a phone if it is small, and in a colour scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        """Show another page, and wait until it has loaded."""
        self.call("Page.navigate", url=address)
        while True:
            if self._next().get("method") == "Page.loadEventFired":
                return

    def value(self, script: str) -> Any:
        """The value of an expression on the page; a promise is awaited."""
        done = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.received:
            assert select.select([self.messages], [], [], SECONDS)[0], "the browser does not answer"
            part = os.read(self.messages, 1 << 16)
            assert part, "the browser has ended"
            self.received += part
        text, _, self.received = self.received.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if message.get("method") == "Network.requestWillBeSent":
            self.requested.append(message["params"]["request"]["url"])
        return message


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that ends with the block."""
    assert BROWSER is not None
    read_commands, write_commands = os.pipe()
    read_messages, write_messages = os.pipe()

    def pipes() -> None:
        # The protocol reads from 3 and writes to 4; neither may be one of the two already.
        commands, messages = os.dup(read_commands), os.dup(write_messages)
        os.dup2(commands, 3)
        os.dup2(messages, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [BROWSER, *OPTIONS, f"--user-data-dir={folder}", "--remote-debugging-pipe"],
            preexec_fn=pipes,  # noqa: PLW1509
            close_fds=False,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_messages)
        with os.fdopen(write_commands, "wb") as commands:
            opened = Browser(commands, read_messages)
            try:
                target = opened.call("Target.createTarget", url="about:blank")["targetId"]
                attached = opened.call("Target.attachToTarget", targetId=target, flatten=True)
                opened.session = attached["sessionId"]
                for domain in ("Page", "Network", "Runtime"):
                    opened.call(f"{domain}.enable")
                yield opened
            finally:
                opened.session = ""
                opened.call("Browser.close")
                process.wait(timeout=30)
                os.close(read_messages)

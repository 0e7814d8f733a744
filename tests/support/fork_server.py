"""Processes of `dpcli` that are forked from one that has imported it.

A command costs milliseconds in place of the half second of its imports. It has its own streams,
folder, environment and exit status, as a process that a shell starts. Signals to the client do not
reach it: tests of signals, limits, closed streams and imports start `python -m dpcli`.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]

CLIENT = '''#!{python} -ISE
"""Send the words, folder, environment and streams of this process; exit as the command does."""
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(request).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(request)
    status = server.recv(1)
    os._exit(status[0] if status else 70)
'''
"""A program in place of `dpcli`."""


def fast_dpcli(module: str = "dpcli") -> str:
    """The path of a program that runs `python -m MODULE`, forked from a process of these tests."""
    return _started(module)


@cache
def _started(module: str) -> str:
    """The client of a new server, which ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="dpcli-"))
    client, address = folder / "dpcli", str(folder / "socket")
    client.write_text(CLIENT.format(python=sys.executable, address=address), encoding="utf-8")
    client.chmod(0o755)
    command = [sys.executable, "-m", "tests.support.fork_server", address, module]
    server = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin and server.stdout

    def stop() -> None:
        assert server.stdin and server.stdout
        server.stdin.close()
        server.stdout.close()
        server.wait()
        shutil.rmtree(folder)

    atexit.register(stop)
    assert server.stdout.readline() == "ready\n"
    return str(client)


def serve(address: str, module: str) -> None:
    """Fork a process for each client, until standard input ends."""
    if module != "dpcli":
        import_module(module)
    from dpcli.cli.commands import PLACES, _load

    for name in PLACES:
        _load(name)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        parent = os.getpid()
        if os.fork() == 0:
            # Its end is the end of the tests.
            sys.stdin.read()
            os.kill(parent, 15)
            os._exit(0)
        print("ready", flush=True)
        while True:
            client, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _handle(client)
            client.close()
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _handle(client: socket.socket) -> None:
    """Run a command in a process of its own, and send its status."""
    size, streams, _, _ = socket.recv_fds(client, 4, 3)
    request = b""
    while len(request) < int.from_bytes(size, "big"):
        request += client.recv(1 << 16)
    words, folder, environment = json.loads(request)
    if (command := os.fork()) == 0:
        client.close()
        _run(words, folder, environment, streams)
    for stream in (0, 1, 2, *streams):
        # Only the command may hold pipes open.
        os.close(stream)
    status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    client.send(bytes([status % 256]))
    os._exit(0)


def _run(words: list[str], folder: str, environment: dict[str, str], streams: list[int]) -> None:
    """Become the command."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["dpcli", *words]
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")  # noqa: SIM115
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False))  # noqa: SIM115
    sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False))  # noqa: SIM115
    from dpcli.cli.main import main

    main()


if __name__ == "__main__":
    serve(*sys.argv[1:])

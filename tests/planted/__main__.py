"""Whether tests find planted faults: `python -m` this [--only NAME ...] -- PYTEST ARGUMENTS.

Each fault of `faults.toml` is planted in turn in a copy of the project, where pytest runs with
these arguments, `-x -q` without any. First it runs without a fault: if a test fails there, it would
seem to find all faults. The exit status is 1 if a fault was missed.

With `--quick`, pytest runs for each fault only the test of its `found_by`: minutes in all, not
hours. First it runs all these tests without a fault. Faults without a `found_by` are named, and
not planted. A fault that `--quick` misses may still be found by another test.

With `--audit`, `dpcli audit` attacks the spec and the entries of its `audit` for each fault that
has one; if that is `suite`, only the test of `found_by` finds it. All of them take minutes.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.planted.faults import ROOT, Fault, NoPlaceError, faults

LEFT_OUT = (".git", ".venv", "dist", ".*_cache", ".hypothesis", "test_planted.py")
"""What is not copied: caches, and the test that any fault is no longer in its place."""

FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
"""The lines of pytest that name a test that failed, or a file that could not be imported."""

SPECS = Path("tests/planted/specs")

SECONDS, DRAWS = 8, 100_000
"""Seconds for the entry of an audit, and outputs about each neighbor."""

SUITE = "suite"
"""The `audit` of faults that audits cannot see, and a test finds."""

LONGEST = 7200
"""Seconds after which a run that does not end counts as one that found the fault."""


def main() -> int:
    """Plant one fault after the other, and print a line for each."""
    own, given = _divided(sys.argv[1:])
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="plant these faults alone")
    parser.add_argument("--quick", action="store_true", help="run only the test of each `found_by`")
    parser.add_argument("--audit", action="store_true", help="attack specs with `dpcli audit`")
    parser.add_argument("--list", action="store_true", help="print the faults, and plant none")
    parser.add_argument("--trust", action="store_true", help="do not run without a fault first")
    options = parser.parse_args(own)
    wanted = [fault for fault in faults() if not options.only or fault.name in options.only]
    if unknown := {*(options.only or ())} - {fault.name for fault in wanted}:
        parser.error(f"no fault is named {', '.join(sorted(unknown))}")
    if options.list:
        print(*(f"{fault.name}: {fault.breaks}" for fault in wanted), sep="\n")
        return 0
    if options.audit:
        wanted = [fault for fault in wanted if fault.audit]
    elif options.quick:
        unnamed = [fault.name for fault in wanted if not fault.found_by]
        print(*(f"no test is named for {name}" for name in unnamed), sep="\n")
        wanted = [fault for fault in wanted if fault.found_by]
    with _copy() as copy:
        if not options.trust and wanted:
            _require_right(copy, wanted, given, options)
        missed = []
        for fault in wanted:
            start = time.monotonic()
            with _planted(fault, copy):
                by = _finding(copy, fault, given, options)
            seconds = f"{time.monotonic() - start:.0f} s"
            print(
                f"found {fault.name} in {seconds} by {by}" if by else f"MISSED {fault.name}",
                flush=True,
            )
            missed += [] if by else [fault.name]
    print(f"{len(wanted) - len(missed)} of {len(wanted)} faults were found")
    return int(bool(missed))


def _require_right(
    copy: Path, wanted: Sequence[Fault], given: Sequence[str], options: argparse.Namespace
) -> None:
    """Exit if audits or tests find something without a fault."""
    found = ""
    if options.audit:
        audits = sorted({fault.audit for fault in wanted} - {SUITE})
        found = next(filter(None, (_audited(copy, audit) for audit in audits)), "")
    else:
        tests = sorted({fault.found_by for fault in wanted}) if options.quick else []
        found = _failed_in(copy, [*given, *tests])
    if found:
        raise SystemExit(f"without a fault, this is found: {found}")


def _finding(copy: Path, fault: Fault, given: Sequence[str], options: argparse.Namespace) -> str:
    """What finds a fault in a copy; empty if nothing does."""
    if options.audit:
        if fault.audit == SUITE:
            return _failed_in(copy, ["-x", "-q", "-n0", fault.found_by])
        return _audited(copy, fault.audit)
    return _failed_in(copy, [*given, fault.found_by] if options.quick else given)


def _audited(copy: Path, audit: str) -> str:
    """What an audit of some entries in a copy says is above its claim; empty if none is."""
    name, _, entries = audit.partition("/")
    starts = tuple(f"  - {{name: {entry}," for entry in entries.split("+"))
    lines = (SPECS / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    kept = (line for line in lines if not line.startswith("  - {") or line.startswith(starts))
    (copy / "audited.yaml").write_text("\n".join(kept), encoding="utf-8")
    words = [
        "audit",
        "audited.yaml",
        "--seconds",
        str(SECONDS),
        "--draws",
        str(DRAWS),
        "--seed",
        "1",
    ]
    command = [sys.executable, "-m", "dpcli", *words, "--json", "--error-format", "json"]
    run = _run(command, copy)
    if run is None or not run.returncode:
        return ""
    first = json.loads(run.stderr.splitlines()[0])
    # A spec that cannot be audited says nothing of the fault.
    return f"audit: {first['message']}" if first.get("code") == "promise-broken" else ""


def _divided(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words before and after `--`; those after it are for pytest."""
    end = words.index("--") if "--" in words else len(words)
    return words[:end], words[end + 1 :] or ("-x", "-q")


@contextmanager
def _copy() -> Iterator[Path]:
    """A compiled copy of the project."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        compileall.compile_dir(copy / "dpcli", quiet=2)
        output = subprocess.check_output(
            [sys.executable, "-c", "import dpcli; print(dpcli.__file__)"],
            cwd=copy, env=_environment(copy), text=True,
        )  # fmt: skip
        if not Path(output.strip()).is_relative_to(copy):
            raise SystemExit(f"tests would import {output.strip()}, not the copy")
        yield copy


@contextmanager
def _planted(fault: Fault, copy: Path) -> Iterator[None]:
    """Plant a fault in the copy, and restore the file."""
    try:
        path, code = fault.planted(copy)
    except NoPlaceError as error:
        raise SystemExit(str(error)) from None
    original, times = path.read_bytes(), path.stat()
    path.write_text(code, encoding="utf-8")
    try:
        yield
    finally:
        path.write_bytes(original)
        # What was compiled is of the file with this time.
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _environment(copy: Path) -> dict[str, str]:
    # A fault that is compiled would stay.
    return {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}


def _run(command: Sequence[str], copy: Path) -> subprocess.CompletedProcess[str] | None:
    """The result of a command in a copy; None if it does not end."""
    try:
        return subprocess.run(
            command, cwd=copy, env=_environment(copy), text=True, capture_output=True,
            timeout=LONGEST, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None


def _failed_in(copy: Path, given: Sequence[str]) -> str:
    """The first test that fails in a copy; empty if all pass."""
    run = _run([sys.executable, "-m", "pytest", *given], copy)
    if run is None:
        return "a run that does not end"
    if not run.returncode:
        return ""
    found = FAILED.search(run.stdout)
    if found is None:
        raise SystemExit(f"pytest failed without a test:\n{run.stdout}{run.stderr}")
    return found[1]


if __name__ == "__main__":
    sys.exit(main())

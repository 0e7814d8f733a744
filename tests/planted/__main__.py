"""Whether tests find planted faults: `python -m` this [--only NAME ...] -- PYTEST ARGUMENTS.

Each fault of `faults.toml` is planted in a copy of the project, where pytest runs with these
arguments, `-x -q` without any. First it runs in a copy without a fault: if a test fails there, it
would seem to find all faults. The exit status is 1 if a fault was missed.

With `--quick`, pytest runs for each fault only the test of its `found_by`: minutes in all, not
hours. First it runs all these tests without a fault. Faults without a `found_by` are named, and
not planted. A fault that `--quick` misses may still be found by another test.

With `--audit`, `dpcli audit` attacks the spec of its `audit` for each fault that has one; what it
misses is left to the test of `found_by`. The longest time is `MINUTES`.
"""

from __future__ import annotations

import argparse
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

SECONDS, MINUTES = 5, 10
"""Seconds for each entry of an audit, and minutes in which a fault must be found."""

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
        return _audited([fault for fault in wanted if fault.audit], trust=options.trust)
    if options.quick:
        unnamed = [fault.name for fault in wanted if not fault.found_by]
        print(*(f"no test is named for {name}" for name in unnamed), sep="\n")
        wanted = [fault for fault in wanted if fault.found_by]
    tests = sorted({fault.found_by for fault in wanted}) if options.quick else []
    if not options.trust and wanted and (failed := _first_failure(None, [*given, *tests])):
        raise SystemExit(f"without a fault, {failed} fails")
    missed = [
        fault.name
        for fault in wanted
        if not _is_found(fault, [*given, fault.found_by] if options.quick else given)
    ]
    print(f"{len(wanted) - len(missed)} of {len(wanted)} faults were found")
    return int(bool(missed))


def _audited(wanted: Sequence[Fault], *, trust: bool) -> int:
    """Attack the spec of each fault, first without it; print what found it."""
    for spec in () if trust else sorted({fault.audit for fault in wanted}):
        if finding := _finding(None, spec):
            raise SystemExit(f"without a fault, an audit of {spec} says: {finding}")
    missed = []
    for fault in wanted:
        start = time.monotonic()
        by = f"audit: {finding}" if (finding := _finding(fault, fault.audit)) else ""
        if not by and fault.found_by:
            by = _first_failure(fault, ["-x", "-q", "-n0", fault.found_by])
        found = f"found {fault.name} in {time.monotonic() - start:.0f} s by {by}"
        print(found if by else f"MISSED {fault.name}", flush=True)
        missed += [] if by else [fault.name]
    print(f"{len(wanted) - len(missed)} of {len(wanted)} faults were found")
    return int(bool(missed))


def _finding(fault: Fault | None, spec: str) -> str:
    """What an audit of a spec says in a copy with a fault, or without one; empty for nothing."""
    with _copy(fault) as copy:
        words = ["audit", str(SPECS / f"{spec}.yaml"), "--seconds", str(SECONDS), "--seed", "1"]
        command = [sys.executable, "-m", "dpcli", *words, "--json", "--error-format", "json"]
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        try:
            run = subprocess.run(
                command, cwd=copy, env=environment, text=True, capture_output=True,
                timeout=60 * MINUTES, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return ""
    if not run.returncode:
        return ""
    first = json.loads(run.stderr.splitlines()[0])
    return f"{first.get('code')}: {first.get('message')}"


def _divided(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words before and after `--`; those after it are for pytest."""
    end = words.index("--") if "--" in words else len(words)
    return words[:end], words[end + 1 :] or ("-x", "-q")


def _is_found(fault: Fault, given: Sequence[str]) -> bool:
    start = time.monotonic()
    test = _first_failure(fault, given)
    found = f"found {fault.name} in {time.monotonic() - start:.0f} s by {test}"
    print(found if test else f"MISSED {fault.name}", flush=True)
    return bool(test)


def _first_failure(fault: Fault | None, given: Sequence[str]) -> str:
    """The first test that fails in a copy with a fault, or without one; empty if all pass."""
    with _copy(fault) as copy:
        return _failed_in(copy, given)


@contextmanager
def _copy(fault: Fault | None) -> Iterator[Path]:
    """A copy of the project with a fault, or without one."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        if fault is not None:
            try:
                path, code = fault.planted(copy)
            except NoPlaceError as error:
                raise SystemExit(str(error)) from None
            path.write_text(code, encoding="utf-8")
        yield copy


def _failed_in(copy: Path, given: Sequence[str]) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    command = [sys.executable, "-c", "import dpcli; print(dpcli.__file__)"]
    output = subprocess.check_output(command, cwd=copy, env=environment, text=True)
    if not Path(output.strip()).is_relative_to(copy):
        raise SystemExit(f"tests would import {output.strip()}, not the copy")
    command = [sys.executable, "-m", "pytest", *given]
    try:
        run = subprocess.run(
            command, cwd=copy, env=environment, text=True, capture_output=True,
            timeout=LONGEST, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "a run that does not end"
    if not run.returncode:
        return ""
    found = FAILED.search(run.stdout)
    if found is None:
        raise SystemExit(f"pytest failed without a test:\n{run.stdout}{run.stderr}")
    return found[1]


if __name__ == "__main__":
    sys.exit(main())

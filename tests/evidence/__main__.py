"""Runs the commands that show each claim, and writes `docs/evidence.md`.

`python -m tests.evidence` runs the commands in turn, those that were run longest ago first, for at
most an hour in all. `--only NAME ...` runs some, `--page` none: it writes the page from the last
results, which are in `results.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLAIMS, RESULTS = (Path(__file__).with_name(name) for name in ("claims.toml", "results.json"))
PAGE = ROOT / "docs" / "evidence.md"

HOUR = 3_600

PACKAGES = ("dpcli-release", "numpy", "polars", "scipy")

HEAD = """# Evidence

What the README and these pages claim, the command that shows it, and its last result. Run a command
yourself, in a checkout with the packages for tests ([contributing](../CONTRIBUTING.md));
`python -m tests.evidence` runs all of them for up to an hour, and writes this page. A result is of
the commit that stands with it. A test that passes is no proof: the arguments for privacy are
printed by `dpcli explain`.

| claim | command | last result | when |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Claim:
    """A claim, its command, and how its result is read."""

    name: str
    claim: str
    command: str
    seconds: int
    result: str


@dataclass(frozen=True)
class Result:
    """What a command showed: the result line, and when it ran with what."""

    passed: bool
    line: str
    date: str
    commit: str
    seconds: int
    versions: str


def claims() -> list[Claim]:
    """All claims, in the order of the page."""
    return [Claim(**fields) for fields in tomllib.loads(CLAIMS.read_text("utf-8"))["claim"]]


def results() -> dict[str, Result]:
    """The last results, by the names of claims."""
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    return {name: Result(**fields) for name, fields in known.items()}


def shown(claim: Claim, seconds: float) -> Result:
    """Run the command of a claim."""
    start, environment = time.monotonic(), {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    words = [sys.executable if word == "python" else word for word in shlex.split(claim.command)]
    process = subprocess.Popen(
        words, cwd=ROOT, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=seconds)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, status = process.communicate()[0], -1
    taken = round(time.monotonic() - start)
    lines = map(str.strip, output.splitlines())
    found = [match for line in lines if (match := re.fullmatch(claim.result, line))]
    line = (found[-1][1] if found[-1].groups() else found[-1][0]) if found else "no result"
    if status == -1:
        line = f"did not end in {taken} s"
    elif status:
        line = f"failed with status {status}: {line}"
    # How long it took has a place of its own.
    line = re.sub(r" in [0-9.]+s( \([0-9:]+\))?", "", line)
    return Result(status == 0, line, f"{datetime.now(UTC):%Y-%m-%d}", _commit(), taken, _versions())


def _commit() -> str:
    """The commit, with a plus if files other than the results differ from it."""
    made = [str(path.relative_to(ROOT)) for path in (RESULTS, PAGE)]
    changed = _git("status", "--porcelain", "--", ".", *(f":!{path}" for path in made))
    return _git("rev-parse", "--short=8", "HEAD") + "+" * bool(changed)


def _git(*words: str) -> str:
    return subprocess.check_output(["git", *words], cwd=ROOT, text=True).strip()


def _versions() -> str:
    known = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"Python {platform.python_version()}, {known}"


def page(known: dict[str, Result]) -> str:
    """The page, from the last results."""
    rows = []
    for claim in claims():
        result = known.get(claim.name)
        last, when = "not run yet", ""
        if result is not None:
            last = f"{result.line} ({result.seconds:,} s)".replace("|", "\\|")
            when = f"{result.date}, {result.commit}"
        rows.append(f"| {claim.claim} | `{claim.command}` | {last} | {when} |\n")
    versions = sorted({result.versions for result in known.values()})
    return HEAD + "".join(rows) + "".join(f"\nVersions: {each}.\n" for each in versions)


def main() -> int:
    """Run what is asked for, and write the page after each command."""
    parser = argparse.ArgumentParser(prog="python -m tests.evidence", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run these alone")
    parser.add_argument("--list", action="store_true", help="print the names, and run nothing")
    parser.add_argument("--page", action="store_true", help="write the page, and run nothing")
    options = parser.parse_args()
    known, end = results(), time.monotonic() + HOUR
    wanted = [claim for claim in claims() if not options.only or claim.name in options.only]
    if unknown := {*(options.only or ())} - {claim.name for claim in wanted}:
        parser.error(f"no claim is named {', '.join(sorted(unknown))}")
    if options.list:
        print(*(f"{claim.name}: {claim.claim}" for claim in wanted), sep="\n")
        return 0
    failed = []
    wanted.sort(key=lambda claim: known[claim.name].date if claim.name in known else "")
    for claim in [] if options.page else wanted:
        left = end - time.monotonic()
        if left < min(claim.seconds, 60):
            print(f"left out for lack of time: {claim.name}", flush=True)
            continue
        known[claim.name] = result = shown(claim, min(claim.seconds, left))
        print(f"{claim.name}: {result.line} ({result.seconds} s)", flush=True)
        failed += [] if result.passed else [claim.name]
        written = {name: asdict(one) for name, one in sorted(known.items())}
        RESULTS.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
        PAGE.write_text(page(known), encoding="utf-8")
    PAGE.write_text(page(known), encoding="utf-8")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

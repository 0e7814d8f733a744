"""Audits of right specs, random and shipped: `python -m` this [--minutes M] [--first N].

An alarm is a fault of an audit, or of what it audits; each is printed with the number of its spec.
Few outputs are drawn of each entry, and noise, thresholds and exact answers are tested as in any
audit. The exit status is 1 if there was an alarm.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import count

from dpcli.planning.planner import make_plan
from dpcli.problems.errors import SpecError
from dpcli.proof.audit import audit
from dpcli.specification.load import parse_central_spec, read_spec_file
from dpcli.specification.model import CentralSpec
from tests.support.cli import SPECS
from tests.support.random_specs import random_spec

DRAWS, SECONDS = 1_000, 0.3
"""Outputs about either neighbor, and seconds, of each entry."""

SHIPPED = 20
"""One spec of this many is shipped, and the others are random."""


def right_specs(first: int) -> Iterator[tuple[str, int, CentralSpec]]:
    """A name, a seed and a spec, without end."""
    for number in count(first):
        if number % SHIPPED == 0:
            path = SPECS[number // SHIPPED % len(SPECS)]
            spec = read_spec_file(path)
            if isinstance(spec, CentralSpec):
                yield path.name, number, spec
            continue
        try:
            yield f"random {number}", number, parse_central_spec(random_spec(number)[0], "r.yaml")
        except SpecError:
            continue


def main() -> int:
    """Audit one spec after the other, and print each alarm and a sentence."""
    parser = argparse.ArgumentParser(prog="python -m tests.evidence.right", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long [10]")
    parser.add_argument("--most", type=int, default=1_000, help="the most audits [1000]")
    parser.add_argument("--first", type=int, default=0, help="the number of the first spec [0]")
    options = parser.parse_args()
    end, audits, entries, alarms = time.monotonic() + 60 * options.minutes, 0, 0, 0
    for name, seed, spec in right_specs(options.first):
        if time.monotonic() > end or audits == options.most:
            break
        found = audit(make_plan(spec), seed, DRAWS, SECONDS)
        audits, entries = audits + 1, entries + len(found.entries)
        alarms += len(found.faults)
        for entry, fault in found.faults:
            print(f"{name}, seed {seed}: {entry}: {fault}", flush=True)
        if audits % 100 == 0:
            print(f"so far {audits:,} audits, and {alarms:,} alarms", flush=True)
    print(f"{audits:,} audits of {entries:,} entries, and {alarms:,} alarms")
    return int(bool(alarms))


if __name__ == "__main__":
    sys.exit(main())

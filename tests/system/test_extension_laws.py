"""Laws over the registries include a new statistic, query and mechanism without a change."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from tests.support.cli import ROOT

pytestmark = pytest.mark.extended

CHOSEN = (
    "(high_count and not docstring) or capped_count or CappedCountQuery or thousands"
    " or (two_laplaces and not pure_ratios and not brute_force)"
)
"""The toys of `toy_registry`; `high_count` has no example, two laws need a formula of their own."""

LAWS = {
    "tests/laws/test_statistics.py": 8,
    "tests/laws/test_mechanisms.py": 8,
    "tests/laws/test_claims.py": 2,
    "tests/laws/test_answers.py": 4,
    "tests/laws/test_audit.py": 2,
    "tests/unit/statistics/test_people_laws.py": 1,
    "tests/unit/engine/sums/test_oracle.py": 1,
}
"""Files of laws, and how many tests of them there are at least."""


def test_laws_include_new_members() -> None:
    """Brute force over neighbors, audits of whole releases and files for the engine cover them."""
    command = [sys.executable, "-m", "pytest", "-vv", "-p", "tests.support.toy_registry"]
    done = subprocess.run(
        [*command, "-k", CHOSEN, *LAWS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    passed = [line.split("::")[0] for line in done.stdout.splitlines() if " PASSED" in line]

    assert done.returncode == 0, done.stdout
    assert all(Counter(passed)[file] >= least for file, least in LAWS.items()), done.stdout

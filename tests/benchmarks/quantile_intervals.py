"""Coverage and width of the intervals of quantiles from counts: `python -m` this [INTERVALS].

At least 10,000 intervals a setting, with fixed noise. It prints numbers and asserts nothing; the
slow test `tests/laws/test_quantile_intervals.py` asserts what it prints.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from unittest import mock

from dpcli.noise import entropy
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from tests.support.quantile_coverage import TWELVE, Setting, coverage
from tests.support.streams import Stream

LEAST_RUNS = 2_000
"""So that the coverage of a single quantile is known to half a percent."""


def main(intervals: int) -> None:
    """Print a line for each setting."""
    fine = [
        replace(one, candidates=10_001)
        for one in TWELVE
        if one.shape == "incomes" and one.quantiles < 99
    ]
    hard = [Setting("two values", 3_000, 1), Setting("two peaks", 3_000, 1)]
    print(f"{'setting':48}{'noise':10}{'held':>8}{'worst':>8}{'value exact':>13}{'width':>9}")
    for kind in (DiscreteLaplace, DiscreteGaussian):
        for setting in (*TWELVE, *fine, *hard):
            runs = max(LEAST_RUNS, -(-intervals // setting.quantiles))
            with mock.patch.object(entropy, "source", Stream(f"{setting} {kind.kind}")):
                found = coverage(setting, runs, kind)
            held, worst = 100 * found.held.mean(), 100 * found.held.min()
            exact, width = 100 * found.exact.mean(), found.widths.mean()
            line = f"{setting!s:48}{kind.kind:10}{held:8.2f}{worst:8.2f}{exact:13.2f}{width:9.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)

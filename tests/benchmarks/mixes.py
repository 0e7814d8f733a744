"""How far bounds of disjoint answers exceed the truth: `python -m tests.benchmarks.mixes [MIXES]`.

Random releases of Laplace and Gaussian noise and of choices, with answers about all rows and about
disjoint parts, are charged by `pld`. Each charge is divided by an optimistic estimate of Google's
dp-accounting. A ratio below one, a median above 1.001 or a greatest one above 1.02 is an error.
"""

from __future__ import annotations

import sys
from statistics import median

from tests.oracles.mixes import overstatement

MIXES = 200


def main() -> int:
    """Print the least, the median and the greatest ratio; 1 if one of them is wrong."""
    mixes = int(sys.argv[1]) if len(sys.argv) > 1 else MIXES
    ratios = [ratio for seed in range(mixes) if (ratio := overstatement(seed)) is not None]
    least, middle, greatest = min(ratios), median(ratios), max(ratios)
    print(f"{len(ratios)} mixes: least {least:.6f}, median {middle:.6f}, greatest {greatest:.6f}")
    return int(least < 1 or middle > 1.001 or greatest > 1.02)


if __name__ == "__main__":
    sys.exit(main())

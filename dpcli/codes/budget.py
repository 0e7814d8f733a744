"""Error codes of releases that the budget does not allow."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "over-budget-epsilon",
        "budget",
        "The statistics together ask for more epsilon than `privacy: budget:` allows. "
        "Nothing was read, spent or written.",
        "budget: {epsilon: 1} and three entries with `epsilon: 0.5`",
        "Give each statistic less, as in `epsilon: 0.3` (and wider intervals), or drop "
        "some; `share: 1` divides what there is.",
    ),
    Code(
        "over-budget-rho",
        "budget",
        "The statistics together ask for more rho than `privacy: budget:` allows. Nothing was "
        "read, spent or written.",
        "budget: {rho: 0.25, delta: 1e-6} and three entries with `rho: 0.1`",
        "Give each statistic less, as in `rho: 0.08` (and wider intervals), or drop some.",
    ),
    Code(
        "over-budget-delta",
        "budget",
        "The statistics together ask for more delta than `privacy: budget:` allows. Nothing "
        "was read, spent or written.",
        "budget: {epsilon: 1} and an entry with `mechanism: gaussian, delta: 1e-7`",
        "Allow some, `budget: {epsilon: 1, delta: 1e-6}`, give each less, or use "
        "`mechanism: laplace`.",
    ),
    Code(
        "account-exhausted",
        "budget",
        "The dataset's account does not have enough left for this release, after all that was "
        "released from it before. Nothing was read, spent or written.",
        "dpcli release spec.yaml data.csv   (for the third time, half the budget each)",
        "Ask for no more than what is left; `dpcli ledger show --spec SPEC` says how many "
        "more runs fit. What was spent never comes back.",
    ),
    Code(
        "account-closed",
        "budget",
        "The account was closed when a lost ledger was recovered and not every release could be "
        "proven: what the others revealed is unknown, so nothing is left.",
        "dpcli release spec.yaml data.csv   (after `dpcli ledger recover --unproven 2`)",
        "See `dpcli ledger history` for what was charged. A closed account stays closed: look for "
        "all reports before a recovery with `--unproven`.",
    ),
    Code(
        "too-many-runs",
        "budget",
        "The account allows one run of this release, but not as many as were asked about. "
        "Nothing was read, spent or written.",
        "dpcli plan spec.yaml --times 52   (and the budget is used up in ten)",
        "Let each run reveal less, plan fewer runs, or open an account with a window.",
    ),
)

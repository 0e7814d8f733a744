"""Error codes of releases that the budget does not allow."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "over-budget-epsilon",
        "budget",
        "The statistics together ask for more epsilon than `privacy: budget:` allows. "
        "Nothing was read, spent or written.",
        "three statistics with epsilon 0.5 and a budget of epsilon 1",
        "Give each statistic less epsilon (and wider intervals), or drop some.",
    ),
    Code(
        "over-budget-rho",
        "budget",
        "The statistics together ask for more rho than `privacy: budget:` allows. Nothing was "
        "read, spent or written.",
        "three statistics with rho 0.1 and a budget of rho 0.25",
        "Give each statistic less rho (and wider intervals), or drop some.",
    ),
    Code(
        "over-budget-delta",
        "budget",
        "The statistics together ask for more delta than `privacy: budget:` allows. Nothing "
        "was read, spent or written.",
        "a gaussian statistic with delta 1e-6 and a budget without delta",
        "Allow some delta, give each less, or use the laplace mechanism.",
    ),
    Code(
        "account-exhausted",
        "budget",
        "The dataset's account does not have enough left for this release, after all that was "
        "released from it before. Nothing was read, spent or written.",
        "the eleventh nightly run on a budget for ten",
        "Ask for no more than what is left; `dpcli ledger show --spec SPEC` says how many "
        "more runs fit. What was spent never comes back.",
    ),
)

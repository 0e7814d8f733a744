"""Error codes of faults that are dpcli's own."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "internal-fault",
        "internal",
        "Something went wrong that should not be able to. Only the kind and the place of "
        "the fault are told, because its words might be part of a record.",
        "error[internal-fault]: a fault of dpcli's own (ValueError at plan.py:7)",
        "Please report it with the spec and the command line; never send the data.",
    ),
    Code(
        "promise-broken",
        "internal",
        "A simulation saw noise that is larger or smaller than its plan says. Chance alone leads "
        "to that in less than one of a million simulations, so either the plan or the noise "
        "is wrong. Smaller noise protects less than was promised.",
        "a bug, or a changed copy of dpcli",
        "Please report it with the spec and the seed, and release nothing until it is understood.",
    ),
)

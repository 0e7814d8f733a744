"""Error codes of specs that are well formed, but cannot be planned."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "cannot-calibrate",
        "plan",
        "No noise of the chosen mechanism and calibration meets the epsilon and delta of a "
        "statistic.",
        "{mechanism: gaussian, calibration: classic, epsilon: 2, delta: 1e-6}",
        "Use `calibration: exact`, which is valid for any epsilon, or ask for less.",
    ),
    Code(
        "package-missing",
        "plan",
        "The composition needs a package that is not installed.",
        "composition: pld",
        "Install it as the message says (`pip install 'dpcli[pld]'`), or use `composition: zcdp`.",
    ),
)

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
        "weaker-privacy",
        "plan",
        "The spec protects less than the one it was compared with, or protects others: it reveals "
        "more in all, its budget allows more, or its unit or neighbours differ.",
        "dpcli plan new.yaml --diff old.yaml --fail-on-weaker",
        "If the change is meant, let somebody agree to it; else lower the losses again.",
    ),
    Code(
        "package-missing",
        "plan",
        "The composition needs a package that is not installed.",
        "composition: pld",
        "Install it as the message says (`pip install 'dpcli[pld]'`), or use `composition: zcdp`.",
    ),
)

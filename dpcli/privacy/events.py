"""`MechanismEvent`: one answer of a mechanism, as the ledger stores it.

An event states parameters, so that any accountant can replay it. Only this module writes and
reads its JSON, whose meaning never changes: a later `VERSION` writes its number into each event,
and reads older events as before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction
from typing import Self, final

from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.problems.light_dataclasses import dataclass

VERSION = 1
"""The version of the JSON; events of version 1 do not state it."""

SERIES_VERSION = 2
"""The version of an answer of a series, which version 1 would compose wrongly."""

CORRECTED = " corrected"
"""Ends the `series` of an answer that corrects a period."""

NO_NOISE_NAME = "none"
"""The `mechanism` of an answer that no neighbor can change."""

RECOVERED = "recovered"
"""The `mechanism` of a whole release with only the plain sum of losses known."""

OVERLAP = re.compile(f"(root|blocks) [1-9][0-9]{{0,5}}({CORRECTED})?")
"""How periods of a series overlap, and in how many answers."""

NORMS = ("l0", "l1", "l2_squared", "linf")


class UnknownEventError(Exception):
    """An event of a later version; the message names the mechanism."""


class DamagedEventError(ValueError):
    """An event that no mechanism has: a value is missing, unreadable or impossible."""


@final
@dataclass(frozen=True, slots=True)
class MechanismEvent:
    """One answer of a mechanism: the parameters of its loss, and its names.

    `loss` was charged. Noise that is calibrated to a sensitivity has a `scale` in steps and the
    `sensitivity`; a response of labels has neither. `joint` events of one statistic are one answer.
    Two events are about disjoint rows if their `disjoint` have one name and different numbers; then
    `add_remove_sensitivity` is the sensitivity if one unit is added or removed, or None if it is
    not known. An answer that selected groups has the delta of partition selection in `keys_delta`.
    The `sensitivity` of an answer of a `series` is that of all answers with the sums of a period;
    the text says how several periods of one person overlap, which does not add up in rho.
    No loss depends on `details`.

    Ledgers store `role` as `question`, and `add_remove_sensitivity` as `single`.

    Raises DamagedEventError for values that no mechanism can have.
    """

    statistic: str
    role: str
    mechanism: str
    loss: Loss
    scale: Fraction | None = None
    sensitivity: Sensitivity | None = None
    joint: bool | None = None
    disjoint: tuple[str, int] | None = None
    keys_delta: Fraction | None = None
    details: Mapping[str, object] = field(default_factory=dict, hash=False)
    add_remove_sensitivity: Sensitivity | None = None
    series: str | None = None

    def __post_init__(self) -> None:
        sensitivity = self.sensitivity
        if (self.scale is None) != (sensitivity is None):
            raise DamagedEventError("a scale and a sensitivity belong together")
        if self.series is not None and (sensitivity is None or not OVERLAP.fullmatch(self.series)):
            raise DamagedEventError("an answer of a series has an overlap and a sensitivity")
        if min(self.loss.epsilon, self.loss.delta, self.scale or 0, self.keys_delta or 0) < 0:
            raise DamagedEventError("losses and scales are not negative")
        if sensitivity is None:
            if self.add_remove_sensitivity is not None:
                raise DamagedEventError("two sensitivities belong together")
            return
        add_remove = self.add_remove_sensitivity or sensitivity
        norms = sensitivity.l0, sensitivity.l1, sensitivity.l2_squared, sensitivity.linf
        if min(*norms, add_remove.l0, add_remove.l1, add_remove.l2_squared, add_remove.linf) < 0:
            raise DamagedEventError("sensitivities are not negative")
        if sensitivity.l1 > 2 * add_remove.l1:
            raise DamagedEventError("an exchange is a removal and an addition")
        if sensitivity.l1 and (not self.scale or self.mechanism == NO_NOISE_NAME):
            raise DamagedEventError("what a neighbor can change needs noise")

    @property
    def parameters(self) -> tuple[object, ...]:
        """The values that the mechanism determines, without names and without `joint`."""
        norms = self.sensitivity, self.add_remove_sensitivity
        return self.mechanism, self.loss, self.scale, norms, self.keys_delta

    def to_json(self) -> dict[str, object]:
        """Plain JSON, with numbers as exact fractions."""
        written: dict[str, object] = {
            "statistic": self.statistic,
            "question": self.role,
            "mechanism": self.mechanism,
            "epsilon": str(self.loss.epsilon),
            "delta": str(self.loss.delta),
        }
        if self.joint is not None:
            written["joint"] = self.joint
        if self.disjoint is not None:
            written["disjoint"] = list(self.disjoint)
        if self.scale is not None and self.sensitivity is not None:
            written |= {"scale": str(self.scale), **self.sensitivity.to_json()}
        if self.keys_delta is not None:
            written["keys_delta"] = str(self.keys_delta)
        if self.add_remove_sensitivity is not None:
            written["single"] = self.add_remove_sensitivity.to_json()
        if self.series is not None:
            written |= {"series": self.series, "version": SERIES_VERSION}
        return dict(self.details) | written

    @classmethod
    def from_json(cls, written: Mapping[str, object]) -> Self:
        """The event that `to_json` wrote; else UnknownEventError or DamagedEventError."""
        try:
            remaining = dict(written)
            mechanism, version = str(remaining.pop("mechanism")), remaining.pop("version", VERSION)
            series = str(remaining.pop("series")) if version == SERIES_VERSION else None
            if version not in (VERSION, SERIES_VERSION):
                raise UnknownEventError(f"{mechanism}, version {version}")
            epsilon, delta = (recorded_fraction(remaining.pop(key)) for key in ("epsilon", "delta"))
            scale = sensitivity = keys_delta = disjoint = add_remove_sensitivity = None
            if "scale" in remaining:
                scale = recorded_fraction(remaining.pop("scale"))
                sensitivity = _sensitivity(remaining)
            if "keys_delta" in remaining:
                keys_delta = recorded_fraction(remaining.pop("keys_delta"))
            if "disjoint" in remaining:
                name, part = _pair(remaining.pop("disjoint"))
                disjoint = str(name), int(str(part))
            if "single" in remaining:
                add_remove_sensitivity = _sensitivity(_object(remaining.pop("single")))
            joint = bool(remaining.pop("joint")) if "joint" in remaining else None
            statistic, role = (
                str(remaining.pop("statistic", "")),
                str(remaining.pop("question", "")),
            )
        except (KeyError, ValueError, TypeError, ArithmeticError) as error:
            raise DamagedEventError("an event lacks a value, or has one of another type") from error
        return cls(
            statistic, role, mechanism, Loss(epsilon, delta),
            scale, sensitivity, joint, disjoint, keys_delta, remaining, add_remove_sensitivity,
            series,
        )  # fmt: skip


def _pair(written: object) -> tuple[object, object]:
    if not isinstance(written, list):
        raise TypeError("a name and a number are a list")
    name, part = written
    return name, part


def _object(written: object) -> dict[str, object]:
    if not isinstance(written, dict):
        raise TypeError("a sensitivity is an object")
    return written


def _sensitivity(written: dict[str, object]) -> Sensitivity:
    """The sensitivity with the norms in `written`, which are removed from there."""
    return Sensitivity(*(int(str(written.pop(norm))) for norm in NORMS))


def recorded_fraction(written: object) -> Fraction:
    """A recorded fraction; `Fraction(text)` would be too slow for many events."""
    above, _, below = str(written).partition("/")
    return Fraction(int(above), int(below or 1))

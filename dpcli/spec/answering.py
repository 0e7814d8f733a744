"""How an answer is made noisy, and what it may reveal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

from dpcli import mechanisms
from dpcli.mechanisms.base import Choosing
from dpcli.mechanisms.calibration import Mechanism
from dpcli.messages import listed, shown
from dpcli.privacy.loss import Price
from dpcli.spec.columns import Scope
from dpcli.spec.fit import Part
from dpcli.spec.nodes import at
from dpcli.statistics.base import Statistic
from dpcli.values import Choice, described

AUTO = "auto"
"""What a spec writes to leave the choice of the mechanism to the plan."""

WAYS = ("epsilon", "rho", "error", "share")
"""How a price can be given; one of them is needed."""


def _mechanisms() -> dict[str, str]:
    """Every mechanism, and the word that leaves the choice to the plan."""
    auto = "The one that is most accurate, or costs least."
    return {**described(mechanisms.MECHANISMS), AUTO: auto}


def _calibrations() -> dict[str, str]:
    """Every way in which a mechanism chooses its noise."""
    return {name: "" for one in mechanisms.MECHANISMS for name in one.calibrations}


MechanismName = Annotated[str, Choice("unknown-mechanism", _mechanisms)]
Calibration = Annotated[str, Choice("unknown-calibration", _calibrations)]


def able_to_answer(statistic: Statistic) -> list[Mechanism]:
    """The mechanisms that can answer a statistic, the default first."""
    every = mechanisms.MECHANISMS
    return [one for one in every if isinstance(one, Choosing) == statistic.chooses]


class Answering:
    """Mechanisms, price and calibration of one entry; None where problems were recorded.

    `keys` says whether the entry has private keys; None where that cannot be read.
    """

    def __init__(
        self,
        part: Part[Any],
        scope: Scope,
        user: str,
        statistic: Statistic | None,
        *,
        keys: bool | None,
    ) -> None:
        self._part, self._values, self._user, self._keys = part, part.values, user, keys
        self._composition = scope.composition
        self._able = able_to_answer(statistic) if statistic else list(mechanisms.MECHANISMS)
        self.mechanisms = self._mechanisms(statistic)
        self.price = self._price()
        self.calibration = self._calibration()

    def _mechanisms(self, statistic: Statistic | None) -> tuple[Mechanism, ...]:
        """The mechanism of that name, all that can answer, or the first of those."""
        name, able = self._values.mechanism, self._able
        if "mechanism" in self._part.bad:
            return ()
        if name in (None, AUTO):
            return tuple(able) if name else (able[0],)
        found = next(one for one in mechanisms.MECHANISMS if one.name == name)
        if statistic is None or found in able:
            return (found,)
        self._part.refuse(
            "mechanism-not-taken",
            f"{shown(statistic.name)} {'is a choice' if statistic.chooses else 'is a number'}, "
            f"and {shown(name)} cannot give one",
            f"use {listed([one.name for one in able], 'or')}, or omit `mechanism`",
            "mechanism",
        )
        return ()

    def _price(self) -> Price | None:
        """What the entry may spend, or must reach."""
        ways = [way for way in WAYS if way in type(self._values).model_fields]
        given = [way for way in ways if self._part.has(way)]
        if len(given) != 1:
            self._refuse_count(given)
            return None
        (way,) = given
        composition = self._composition
        if way == "rho" and composition is not None and not composition.takes_rho:
            self._part.refuse_key(
                "rho-not-taken",
                f"{self._user} has a `rho`, which {shown(composition.name)} composition does not "
                "add up",
                "use `composition: zcdp` under `privacy:`, or give `epsilon`",
                "rho",
            )
            return None
        delta = self._delta(way)
        size = getattr(self._values, way)
        if size is None or delta is None or not self.mechanisms:
            return None
        return Price(**{way: size}, delta=delta)

    def _refuse_count(self, given: Sequence[str]) -> None:
        if given:
            message = f"{self._user} has {listed(given)}; each of them is a price"
            hint = f"keep one of them, such as `{given[0]}`"
            self._part.refuse_key("price-twice", message, hint, given[1])
            return
        in_rho = self._composition is None or self._composition.takes_rho
        rho = ", `rho`" if in_rho else ""
        message = f"{self._user} has no price: none of `epsilon`{rho}, `error` and `share`"
        hint = "add `epsilon: ...`, such as `epsilon: 0.5`; smaller protects more"
        self._part.refuse("price-required", message, hint)

    def _delta(self, way: str) -> Fraction | None:
        if "delta" in self._part.bad or not self.mechanisms or self._keys is None:
            return None
        given: Fraction | None = self._values.delta
        # Of what is counted in rho, only private keys spend a delta of their own.
        rule = self._composition
        in_rho = way == "rho" or (way != "epsilon" and rule is not None and rule.takes_rho)
        may = any(one.needs_delta for one in self.mechanisms) and not in_rho
        must = all(one.needs_delta for one in self.mechanisms) and not in_rho
        name = shown(self.mechanisms[0].name)
        if given is not None and not may and not self._keys:
            if in_rho:
                message = f"{self._user} is counted in rho, and the delta is that of the budget"
                hint = "omit `delta` here, and give it under `budget`"
            else:
                others = [other.name for other in self._able if other.needs_delta]
                message = f"{name} takes no `delta`: its guarantee is pure"
                hint = "omit `delta`" + (f", or use `mechanism: {others[0]}`" if others else "")
            self._part.refuse_key("delta-not-taken", message, hint, "delta")
            return None
        if given is None and (must or self._keys) and (way != "share" or (self._keys and in_rho)):
            needs = "`keys: private`" if self._keys and not must else name
            self._part.refuse(
                "delta-required",
                f"{needs} needs a `delta`, and {self._user} has none",
                "add `delta: 1e-7` or so, far below one divided by the number of people",
                *(["mechanism"] if self._part.has("mechanism") else []),
            )
            return None
        return Fraction(0) if given is None else given

    def _calibration(self) -> str | None:
        if not self.mechanisms or "calibration" in self._part.bad:
            return None
        able = self.mechanisms[0].calibrations
        if len(self.mechanisms) > 1 or (self.price and self.price.epsilon is None):
            # A search, or a rho, has one way to choose noise.
            able = able[:1]
        name: str | None = getattr(self._values, "calibration", None)
        if name is None or name in able:
            return name or able[0]
        who = shown(self.mechanisms[0].name) if len(self.mechanisms) == 1 else "`auto`"
        self._part.findings.unknown(
            "unknown-calibration",
            f"`calibration` is {shown(name)}, {who} has {listed(able)}",
            name,
            able,
            at(self._part.node, "calibration").span,
            otherwise="write one of these, or omit `calibration`",
        )
        return None

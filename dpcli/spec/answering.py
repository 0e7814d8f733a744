"""How an entry is answered, and what that may reveal."""

from __future__ import annotations

from dpcli.mechanisms import MECHANISMS
from dpcli.mechanisms.base import Choosing
from dpcli.mechanisms.calibration import Mechanism
from dpcli.spec.nodes import Mapping
from dpcli.spec.pricing import Pricing
from dpcli.spec.scope import Scope
from dpcli.spec.wording import listed, shown
from dpcli.statistics.base import Statistic

AUTO = "auto"
"""What a spec writes to leave the choice of the mechanism to the plan."""


def able_to_answer(statistic: Statistic) -> list[Mechanism]:
    """The mechanisms that a statistic can be answered by, the default first."""
    return [one for one in MECHANISMS if isinstance(one, Choosing) == statistic.chooses]


class Answering:
    """Mechanisms, price and calibration of one entry; None where problems were recorded."""

    def __init__(self, node: Mapping, scope: Scope, user: str, statistic: Statistic | None) -> None:
        self._node, self._findings, self._user = node, scope.findings, user
        self._able = able_to_answer(statistic) if statistic else list(MECHANISMS)
        self.mechanisms = self._mechanisms(statistic)
        pricing = Pricing(node, scope, user, self.mechanisms, self._able)
        self.price = pricing.price
        self.calibration = self._calibration()

    def _mechanisms(self, statistic: Statistic | None) -> tuple[Mechanism, ...]:
        """The mechanism of that name, all that can answer, or the first of those."""
        word = self._node.word("mechanism")
        able = self._able
        if word is None:
            return (able[0],)
        if word.text == AUTO:
            return tuple(able)
        by_name = {mechanism.name: mechanism for mechanism in MECHANISMS}
        found = by_name.get(word.text)
        if found is not None and statistic is not None and found not in able:
            self._findings.add(
                "mechanism-not-taken",
                f"{shown(statistic.name)} {'is a choice' if statistic.chooses else 'is a number'}, "
                f"and {shown(found.name)} cannot give one",
                f"use {listed([one.name for one in able], 'or')}, or leave `mechanism` out",
                word.span,
            )
            return ()
        if found is not None:
            return (found,)
        self._findings.unknown(
            "unknown-mechanism",
            f"`mechanism` is {shown(word.text)}, expected {listed([*by_name, AUTO], 'or')}",
            word.text,
            [*by_name, AUTO],
            word.span,
            otherwise="write one of these, spelled exactly so",
        )
        return ()

    def _calibration(self) -> str | None:
        """How the mechanism shall choose its noise."""
        word = self._node.word("calibration")
        if not self.mechanisms:
            return None
        able = self.mechanisms[0].calibrations
        if len(self.mechanisms) > 1 or (self.price and self.price.epsilon is None):
            # A search, or a rho, has one way to choose noise.
            able = able[:1]
        if word is None or word.text in able:
            return able[0] if word is None else word.text
        self._findings.unknown(
            "unknown-calibration",
            f"`calibration` is {shown(word.text)}, {self._asked()} has {listed(able)}",
            word.text,
            able,
            word.span,
            otherwise="write one of these, or leave `calibration` out",
        )
        return None

    def _asked(self) -> str:
        """How the mechanism is called in messages."""
        return shown(self.mechanisms[0].name) if len(self.mechanisms) == 1 else "`auto`"

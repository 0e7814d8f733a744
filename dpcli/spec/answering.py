"""How an entry is answered, and what that may reveal."""

from __future__ import annotations

from fractions import Fraction

from dpcli.mechanisms import MECHANISMS
from dpcli.mechanisms.base import Choosing, Mechanism
from dpcli.privacy.loss import Loss
from dpcli.spec.nodes import Mapping
from dpcli.spec.prices import read_delta, read_epsilon
from dpcli.spec.scope import Scope
from dpcli.spec.wording import listed, shown
from dpcli.statistics.base import Statistic


def able_to_answer(statistic: Statistic) -> list[Mechanism]:
    """The mechanisms that a statistic can be answered by, the default first."""
    return [one for one in MECHANISMS if isinstance(one, Choosing) == statistic.chooses]


class Answering:
    """Mechanism, target and calibration of one entry; None where problems were recorded."""

    def __init__(self, node: Mapping, scope: Scope, user: str, statistic: Statistic | None) -> None:
        self._node, self._findings, self._user = node, scope.findings, user
        self._able = able_to_answer(statistic) if statistic else list(MECHANISMS)
        self.mechanism = self._mechanism(statistic)
        self.target = self._target(self.mechanism)
        self.calibration = self._calibration(self.mechanism)

    def _mechanism(self, statistic: Statistic | None) -> Mechanism | None:
        """The mechanism of that name, or the first that answers such a statistic."""
        word = self._node.word("mechanism")
        able = self._able
        if word is None:
            return able[0]
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
            return None
        if found is not None:
            return found
        self._findings.unknown(
            "unknown-mechanism",
            f"`mechanism` is {shown(word.text)}, expected {listed(by_name, 'or')}",
            word.text,
            by_name,
            word.span,
            otherwise="write one of these, spelled exactly so",
        )
        return None

    def _target(self, mechanism: Mechanism | None) -> Loss | None:
        """What the entry may reveal."""
        epsilon_word, delta_word = self._node.word("epsilon"), self._node.word("delta")
        if epsilon_word is None:
            return None
        epsilon = read_epsilon(epsilon_word, self._findings)
        delta: Fraction | None = Fraction(0)
        if delta_word is not None:
            delta = read_delta(delta_word, self._findings)
        if mechanism is None or epsilon is None or delta is None:
            return None
        keys = self._node.get("keys") is not None
        if delta_word is not None and not mechanism.needs_delta and not keys:
            others = [other.name for other in self._able if other.needs_delta]
            instead = f", or use `mechanism: {others[0]}`" if others else ""
            self._findings.add(
                "delta-not-taken",
                f"{shown(mechanism.name)} takes no `delta`: its guarantee is pure",
                f"remove `delta`{instead}",
                self._node.key_span("delta"),
            )
            return None
        if delta_word is None and (mechanism.needs_delta or keys):
            needs = shown(mechanism.name) if mechanism.needs_delta else "`keys: private`"
            self._findings.add(
                "delta-required",
                f"{needs} needs a `delta`, and {self._user} has none",
                "add `delta: 1e-7` or so, far below one divided by the number of people",
                (self._node.word("mechanism") or self._node).span,
            )
            return None
        return Loss(epsilon, delta)

    def _calibration(self, mechanism: Mechanism | None) -> str | None:
        """How the mechanism shall choose its noise."""
        word = self._node.word("calibration")
        if mechanism is None:
            return None
        if word is None:
            return mechanism.calibrations[0]
        if word.text in mechanism.calibrations:
            return word.text
        self._findings.unknown(
            "unknown-calibration",
            f"`calibration` is {shown(word.text)}, "
            f"{shown(mechanism.name)} has {listed(mechanism.calibrations)}",
            word.text,
            mechanism.calibrations,
            word.span,
            otherwise="write one of these, or leave `calibration` out",
        )
        return None

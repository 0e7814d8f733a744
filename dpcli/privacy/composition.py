"""What several answers reveal together: one registered rule each.

A rule knows no mechanism by name: each mechanism states its own loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dpcli.privacy.loss import Loss


class Composition(Protocol):
    """A rule that bounds the loss of all answers by the losses of each."""

    @property
    def name(self) -> str:
        """What a spec calls the rule."""
        ...

    def total(self, losses: Iterable[tuple[Loss, int]]) -> Loss:
        """The loss of publishing every answer, each given with how often."""
        ...


@dataclass(frozen=True, slots=True)
class Sequential:
    """Epsilons add, and deltas add; exact, and valid for every mechanism.

    Privacy: if each answer is (epsilon_i, delta_i)-private, all of them together
    are (sum epsilon_i, sum delta_i)-private, even if each question was chosen after
    seeing the answers before it (Dwork and Roth 2014, theorem 3.16).
    """

    name: str = "sequential"

    def total(self, losses: Iterable[tuple[Loss, int]]) -> Loss:
        """The exact sums; nothing is rounded."""
        epsilon, delta = Fraction(0), Fraction(0)
        for loss, count in losses:
            epsilon += count * loss.epsilon
            delta += count * loss.delta
        return Loss(epsilon, delta)


COMPOSITIONS: tuple[Composition, ...] = (Sequential(),)
"""Every composition rule a spec may name."""

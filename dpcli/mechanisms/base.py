"""The only place where something confidential becomes noisy.

A mechanism's author adds `sample`, `pick` or `draw` to what it states of itself.
`answer`, `select`, `choose` and `respond` alone unseal, perturb and wrap.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import final

from dpcli.arrays import Array, Ints, np, plus, whole
from dpcli.mechanisms.calibration import UNCHANGEABLE, Mechanism
from dpcli.privacy.confidential import Cells, Confidential, Group, Groups, Noisy
from dpcli.privacy.key import unseal
from dpcli.privacy.noise import ChoiceNoise, Noise, NoNoise
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.tails import Selection
from dpcli.sampling.noise import Draws

Responses = tuple[Array, ...]
"""What records responded: for each column of the response an array of whole numbers."""


class Perturbing(Mechanism):
    """A mechanism that adds noise to whole numbers."""

    @abstractmethod
    def sample(self, noise: Noise, count: int, *, many: bool = False) -> Draws:
        """Fresh and independent draws of `noise`, exactly from its distribution.

        An array if there are `many`, unless they may not fit 64 bits.
        """

    def perturb(self, noise: Noise, values: Array) -> Array:
        """Each value plus its own draw."""
        draws = whole(self.sample(noise, len(values)))
        if len(draws) != len(values):
            raise ValueError("a mechanism must answer every cell")
        return plus(values, draws)

    @final
    def answer(
        self, noise: Noise, sensitivity: Sensitivity, exact: Confidential[Cells]
    ) -> Noisy[Cells]:
        """The sealed numbers with noise added; nothing else ever unseals them.

        Refuses noise without scale unless the sensitivity is zero.
        """
        values = whole(unseal(exact))
        if sensitivity.l1 == 0 and noise == UNCHANGEABLE:
            return Noisy(values)
        if noise.scale <= 0 or isinstance(noise, NoNoise):
            raise ValueError("noise needs a positive scale where a neighbour can change an answer")
        return Noisy(self.perturb(noise, values))

    @final
    def select(
        self, noise: Noise, rule: Selection, exact: Confidential[Groups]
    ) -> Noisy[dict[Group, int]]:
        """The groups whose noisy count reaches the threshold, with that count.

        Every group in the data gets its own noise; nothing is published about those that
        do not reach the threshold, nor how many they are.
        """
        if noise.scale <= 0 or isinstance(noise, NoNoise):
            raise ValueError("noise needs a positive scale where a neighbour can change groups")
        groups = unseal(exact)
        noisy = self.perturb(noise, groups.cells(groups.names))
        shown = np.flatnonzero(noisy >= rule.threshold)
        return Noisy({groups.names[place]: int(noisy[place]) for place in shown})


class Choosing(Mechanism):
    """A mechanism that chooses among candidates by their scores: better ones are more likely.

    A change of the data changes the distances of scores by at most the sensitivity, in L1
    over all groups and picks; the scale is that divided by epsilon. A candidate that
    falls short of the best by g gets a weight of exp(-g/scale).
    """

    distribution = ChoiceNoise

    @abstractmethod
    def pick(self, noise: Noise, gaps: Array) -> Ints:
        """The place of the chosen candidate in each row.

        Each falls short of the best of its row by its gap.
        """

    @final
    def choose(
        self,
        noise: Noise,
        sensitivity: Sensitivity,
        exact: Confidential[Cells],
        shape: tuple[int, int],
    ) -> Noisy[Cells]:
        """For each group the places of the chosen candidates, each chosen once.

        `shape` says how many candidates a group has, and how many are chosen there. The
        sealed scores stand group by group; nothing else ever unseals them.
        """
        width, picks = shape
        scores = whole(unseal(exact)).reshape(-1, width)
        if sensitivity.l1 and (noise.scale <= 0 or not isinstance(noise, ChoiceNoise)):
            raise ValueError("a choice needs a positive scale where a neighbour can change it")
        left = np.broadcast_to(np.arange(width), scores.shape)
        chosen, every = [], np.arange(len(scores))
        for _ in range(picks):
            gaps = scores.max(axis=1, keepdims=True) - scores
            places = self.pick(noise, gaps) if sensitivity.l1 else (gaps == 0).argmax(axis=1)
            chosen.append(left[every, places])
            others = np.ones(scores.shape, np.bool_)
            others[every, places] = False
            rest = len(every), scores.shape[1] - 1
            scores, left = (each[others].reshape(rest) for each in (scores, left))
        return Noisy(np.stack(chosen, axis=1).ravel())


class Responding(ABC):
    """A rule by which every record responds for itself, with noise of its own."""

    @abstractmethod
    def draw(self, cells: Ints) -> Responses:
        """A response for each cell, from that cell and fresh randomness alone.

        One array for each column of the response.
        """

    @final
    def respond(self, exact: Confidential[Ints]) -> Noisy[Responses]:
        """The responses of sealed cells; nothing else ever unseals them."""
        cells = unseal(exact)
        drawn = self.draw(cells)
        if not drawn or any(len(column) != len(cells) for column in drawn):
            raise ValueError("every record must respond")
        return Noisy(drawn)


def in_groups(exact: Confidential[Groups], groups: Sequence[Group]) -> Confidential[Cells]:
    """The cells of groups that were selected, still sealed; zeros for one without rows.

    Which groups, and in which order, is public by now.
    """
    return Confidential(unseal(exact).cells(groups))

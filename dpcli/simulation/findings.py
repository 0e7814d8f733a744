"""What trials of a plan on dummy rows have shown; of nobody, and no release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpcli.plan.model import Part, Plan
from dpcli.simulation.judging import Verdict


@dataclass(frozen=True, slots=True)
class Errors:
    """How far numbers were off: on how many, by how much, and in which direction.

    `quantile` is what the error did not exceed as often as the confidence of the spec says;
    `bias` the mean of signed errors, `spread` its standard error. None where nothing, or too
    little, could be compared.
    """

    compared: int
    quantile: Fraction | None
    bias: Fraction | None
    spread: Fraction | None


@dataclass(frozen=True, slots=True)
class Asked:
    """The noisy answers to one question, beside what the plan says of their noise.

    `within` is the share of errors up to the predicted one. For choices the error is by how much
    the utility of what was chosen falls short of the best, and `best` the share of choices
    that nothing was better than. There is no verdict where groups were selected by the very
    noise.
    """

    part: Part
    predicted: Fraction
    errors: Errors
    within: Fraction | None
    best: Fraction | None
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class Told:
    """Published numbers, beside what they would be without noise.

    `stated` is the median half-width of intervals, `held` the share of intervals that held the
    noise-free number. `left_out` is the share of numbers that were suppressed, `without`
    the share without an interval. `limits` is what the limits on people change on average,
    before any noise.
    """

    item: str
    errors: Errors
    stated: Fraction | None
    held: Fraction | None
    left_out: Fraction
    without: Fraction
    limits: Fraction | None


@dataclass(frozen=True, slots=True)
class Shown:
    """How many private groups the dummy has, and how many were shown on average."""

    groups: int
    shown: Fraction


@dataclass(frozen=True, slots=True)
class Tried:
    """What was found of one entry."""

    name: str
    statistic: str
    asked: tuple[Asked, ...]
    told: tuple[Told, ...]
    shown: Shown | None


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found of a plan.

    `people` is their number where they are the unit, and `above` says how many of them have
    more rows than the limit lets in. `stopped` counts the runs that the quality check would
    have stopped; None without a check.
    """

    plan: Plan
    rows: int
    seed: int
    people: int | None
    above: int | None
    runs: int
    readings: int
    entries: tuple[Tried, ...]
    stopped: int | None = None

    @property
    def broken(self) -> tuple[tuple[str, Asked], ...]:
        """The questions whose noise is not what the plan says, with their entries."""
        return tuple(
            (entry.name, asked)
            for entry in self.entries
            for asked in entry.asked
            if asked.verdict in (Verdict.LARGER, Verdict.SMALLER)
        )

"""What every local randomizer is: one record's cell in, one response out.

A randomizer's author writes `mechanism`, which settles the probabilities. They are not
believed: `calibrate_and_verify` recomputes what they reveal and compares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, final

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.mechanisms.calibrated_mechanism import LocalRandomizer
from dpcli.numeric.exact import require_exact
from dpcli.numeric.interval_arithmetic import exp_down
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Guarantee, Loss, pure_guarantee

LossParameter = Literal["epsilon", "probability", "matrix"]


@dataclass(frozen=True, slots=True)
class ProbabilityTable:
    """Row i holds the probabilities of all outputs for input i; it sums to one."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rows: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            require_exact(*row)


class RandomizerError(Exception):
    """No probabilities meet what is asked; the template `code` says why about the facts."""

    def __init__(self, code: str, **facts: object) -> None:
        self.code, self.facts = code, facts
        super().__init__(code)


@dataclass(frozen=True, slots=True)
class RandomizerRequest:
    """What a spec asks for one column: a price, in one of the ways that it can be given."""

    column: CategoryColumn | NumericColumn
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    probability: Fraction | None = None
    matrix: ProbabilityTable | None = None

    @property
    def labels(self) -> int:
        """How many labels may be true; `RandomizerError` if there is a single one."""
        column = self.column
        count = len(column.labels) if isinstance(column, CategoryColumn) else 0
        if count < 2:
            raise RandomizerError("cannot-randomize.one-label", column=column.name)
        return count


@dataclass(frozen=True, slots=True)
class ResponseCounts:
    """What was collected in one group: how many responses, and how they add up.

    `counts` holds how often each output was given, or for bits how many were set; `total`
    is the sum of numbers.
    """

    records: int
    counts: tuple[int, ...] = ()
    total: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class CalibratedRandomizer(LocalRandomizer):
    """A randomizer with its probabilities settled: exact, public, and stated in full.

    `loss` is what one response reveals of its record. `form` says how responses are
    written: a label, a column of zeros and ones for each label, or a number.
    """

    loss: Loss

    form: ClassVar[Literal["label", "bits", "number"]] = "label"

    @property
    def guarantee(self) -> Guarantee:
        """What one response reveals, in every measure."""
        return pure_guarantee(self.loss.epsilon)

    @property
    def is_certified(self) -> bool:
        """Whether the worst ratio is within the loss."""
        ratio = self.ratio
        return ratio is not None and 1 <= ratio <= exp_down(self.loss.epsilon, 512)

    @property
    @abstractmethod
    def ratio(self) -> Fraction | None:
        """The worst ratio of probabilities of one output, exactly; None if it is no rational."""

    @abstractmethod
    def record(self) -> dict[str, object]:
        """The parameters as plain JSON, numbers as exact fractions."""

    def event(self, column: str, mechanism: str) -> MechanismEvent:
        """One response, as the ledger records it."""
        details = self.record()
        return MechanismEvent(
            column, "response", mechanism, self.loss, joint=False, details=details
        )

    @abstractmethod
    def describe(self) -> str:
        """The probabilities in a few words."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """What may be answered, if not the labels of the column."""
        return ()

    @property
    def limits(self) -> tuple[float, float] | None:
        """Between which numbers every response lies; None of responses that are labels."""
        return None

    @property
    def estimable(self) -> bool:
        """Whether what is asked can be estimated, given enough responses."""
        return True

    @abstractmethod
    def estimates(self, tally: ResponseCounts) -> tuple[Fraction, ...]:
        """Unbiased frequencies of the labels, or the mean; some responses are needed."""

    @abstractmethod
    def variances(self, frequencies: Sequence[float]) -> list[float]:
        """The variance of each estimate from one record, given the true frequencies.

        That of n records is the n-th part of it: what is estimated are frequencies among
        the records themselves, so that only the randomization counts.
        """


class LocalMechanism(ABC):
    """A way in which a record can respond; one class, one registry line.

    The docstring of a subclass carries its privacy argument and is what
    `dpcli explain` prints. `loss_parameters` are the ways in which its price may be given.
    """

    name: ClassVar[str]
    numeric: ClassVar[bool] = False
    needs_delta: ClassVar[bool] = False
    loss_parameters: ClassVar[tuple[LossParameter, ...]] = ("epsilon",)

    @abstractmethod
    def calibrate(self, request: RandomizerRequest) -> CalibratedRandomizer:
        """The most accurate probabilities found that are asked for; else `RandomizerError`."""

    @final
    def calibrate_and_verify(self, request: RandomizerRequest) -> CalibratedRandomizer:
        """Settled probabilities whose recomputed loss is within what is asked."""
        randomizer = self.calibrate(request)
        loss = randomizer.loss
        target = Loss(loss.epsilon if request.epsilon is None else request.epsilon, request.delta)
        if not loss.within(target) or not randomizer.is_certified:
            raise RandomizerError(
                "cannot-randomize", column=request.column.name, mechanism=self.name
            )
        return randomizer

"""Local mechanisms: the cell of one record in, one response out.

The author of a mechanism writes `calibrate`, which chooses the probabilities. They are not
trusted: `calibrate_and_verify` recomputes their loss and compares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import ClassVar, Literal, final

from dpcli.data.column import ValuedColumn
from dpcli.numeric.arrays import Array, Ints
from dpcli.numeric.exact import require_exact
from dpcli.numeric.interval_arithmetic import exp_down
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Guarantee, Loss, pure_guarantee
from dpcli.problems.light_dataclasses import dataclass

LossParameter = Literal["epsilon", "probability", "matrix"]
"""The keys of a spec that can set the loss of a response."""


@dataclass(frozen=True, slots=True)
class ProbabilityTable:
    """Row i has the probabilities of all outputs for input i, and sums to one."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rows: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            require_exact(*row)


class RandomizerError(Exception):
    """No probabilities meet the request; `code` and `arguments` are the message's."""

    def __init__(self, code: str, **arguments: object) -> None:
        self.code, self.arguments = code, arguments
        super().__init__(code)


@dataclass(frozen=True, slots=True)
class RandomizerRequest:
    """What a spec requests for one column; one `LossParameter` key sets the loss."""

    column: ValuedColumn
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    probability: Fraction | None = None
    matrix: ProbabilityTable | None = None

    @property
    def labels(self) -> int:
        """The number of labels of the column; raises RandomizerError if below two."""
        count = len(self.column.labels)
        if count < 2:
            raise RandomizerError("cannot-randomize.one-value", column=self.column.name)
        return count


@dataclass(frozen=True, slots=True)
class ResponseCounts:
    """The responses of one group: their number and their sums.

    `counts` has the number of responses with each output, or with each bit set. `total` is the sum
    of numeric responses.
    """

    records: int
    counts: tuple[int, ...] = ()
    total: Fraction = Fraction(0)


Responses = tuple[Array, ...]
"""Responses of records: for each response column, an array of whole numbers."""


@dataclass(frozen=True, slots=True)
class CalibratedRandomizer(ABC):
    """A randomizer with fixed probabilities, which are exact and public.

    `loss` is the loss of one response. `form` says how responses are written: as a label, as a
    column of zeros and ones for each label, or as a number.
    """

    loss: Loss

    form: ClassVar[Literal["label", "bits", "number"]] = "label"

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one response, in every measure."""
        return pure_guarantee(self.loss.epsilon)

    @property
    def is_certified(self) -> bool:
        """Whether the loss recomputed from the parameters is within the stated loss.

        By default: whether `ratio` is at most exp(epsilon), rounded down.
        """
        ratio = self.ratio
        return ratio is not None and 1 <= ratio <= exp_down(self.loss.epsilon, 512)

    @abstractmethod
    def draw(self, cells: Ints) -> Responses:
        """Responses to an array of cells: one array of the same length for each column.

        Each response depends on its own cell and on fresh randomness alone.
        """

    @property
    @abstractmethod
    def ratio(self) -> Fraction | None:
        """The exact greatest ratio of the probabilities of one output under two inputs.

        None if the ratio is infinite, or if `is_certified` does not use it.
        """

    @abstractmethod
    def record(self) -> dict[str, object]:
        """The parameters as plain JSON, with numbers as exact fractions."""

    def event(self, column: str, mechanism: str) -> MechanismEvent:
        """The event that the ledger records for one response."""
        details = self.record()
        return MechanismEvent(
            column, "response", mechanism, self.loss, joint=False, details=details
        )

    @abstractmethod
    def describe(self) -> str:
        """The probabilities in a short text."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The possible outputs; empty if they are the labels of the column or numbers."""
        return ()

    @property
    def limits(self) -> tuple[float, float] | None:
        """The least and the greatest number in a response; None if responses are labels."""
        return None

    @property
    def estimable(self) -> bool:
        """Whether frequencies can be estimated, given enough responses."""
        return True

    @abstractmethod
    def estimates(self, responses: ResponseCounts) -> tuple[Fraction, ...]:
        """Unbiased frequencies of labels, or the unbiased mean, of one or more responses."""

    @abstractmethod
    def variances(self, frequencies: Sequence[float]) -> list[float]:
        """The variance of each estimate from one record, given the true frequencies.

        For n records, divide by n: the estimates are frequencies among these records, so only
        the randomization adds variance.
        """

    def standard_error(self, labels: int, records: int) -> float | None:
        """The standard error of an estimate from `records` records; None without one.

        For frequencies it is the root mean square over all `labels`, for equally frequent labels.
        For symmetric responses and unary encoding, other frequencies have the same error.
        """
        if not self.estimable:
            return None
        count = labels or 1
        return sqrt(sum(self.variances([1 / count] * count)) / count / records)


class LocalMechanism(ABC):
    """A way in which a record can respond: what a spec names as `mechanism:`.

    A new mechanism is one subclass and one line in `LOCAL_MECHANISMS`. Its docstring has the
    privacy argument, and `dpcli explain` prints it. `numeric` says whether the mechanism randomizes
    numbers instead of labels, and `loss_parameters` which keys may set its loss.
    """

    name: ClassVar[str]
    numeric: ClassVar[bool] = False
    needs_delta: ClassVar[bool] = False
    loss_parameters: ClassVar[tuple[LossParameter, ...]] = ("epsilon",)

    @abstractmethod
    def calibrate(self, request: RandomizerRequest) -> CalibratedRandomizer:
        """The most accurate randomizer found; raises RandomizerError if there is none."""

    @final
    def calibrate_and_verify(self, request: RandomizerRequest) -> CalibratedRandomizer:
        """A randomizer with a recomputed loss within the request; else RandomizerError."""
        randomizer = self.calibrate(request)
        loss = randomizer.loss
        target = Loss(loss.epsilon if request.epsilon is None else request.epsilon, request.delta)
        if not loss.within(target) or not randomizer.is_certified:
            raise RandomizerError(
                "cannot-randomize", column=request.column.name, mechanism=self.name
            )
        return randomizer

"""Randomizers of labels: any table of probabilities, and pure protocols.

In a pure protocol, a response supports the true label with one probability, and each other label
with another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from dpcli.mechanisms.local.local_mechanism import (
    CalibratedRandomizer,
    LocalMechanism,
    ProbabilityTable,
    RandomizerError,
    RandomizerRequest,
    ResponseCounts,
)
from dpcli.noise.bernoulli import Threshold, bernoulli_array, uniforms
from dpcli.noise.candidate_choice import categorical_array
from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.numeric.exact import readable_text, require_exact, short_up
from dpcli.numeric.interval_arithmetic import exp_down, log_up, round_up
from dpcli.privacy.loss import Loss
from dpcli.problems.light_dataclasses import dataclass

MIN_SINGULAR = 1e-11
"""Singular values below this part of the greatest one are too small for floats."""


@dataclass(frozen=True, slots=True)
class WorstOutput:
    """The output that distinguishes two inputs best, and its probabilities.

    `output` is a column of the table, and `likely` and `unlikely` are rows, all counted from zero.
    Input `likely` gives that output with `max_probability`, input `unlikely` with
    `min_probability`.
    """

    output: int
    likely: int
    unlikely: int
    max_probability: Fraction
    min_probability: Fraction

    @property
    def ratio(self) -> Fraction | None:
        """The ratio of the two probabilities; None if it is infinite."""
        return self.max_probability / self.min_probability if self.min_probability else None

    @property
    def epsilon(self) -> Fraction | None:
        """The logarithm of the ratio, rounded up; None if it is infinite."""
        return None if self.ratio is None else epsilon_of_ratio(self.ratio)


def epsilon_of_ratio(ratio: Fraction) -> Fraction:
    """The logarithm of a ratio of at least one, rounded up to a short decimal."""
    return Fraction(0) if ratio == 1 else short_up(log_up(ratio))


def worst_ratio(rows: Sequence[Sequence[Fraction]]) -> WorstOutput:
    """Over all outputs and all pairs of inputs, the greatest ratio of probabilities.

    Row i has the probabilities of the outputs for input i. A mechanism with these probabilities is
    epsilon-private if and only if epsilon is at least the logarithm of that ratio (Kasiviswanathan,
    Lee, Nissim, Raskhodnikova and Smith 2011). An output with probability zero for all inputs
    reveals nothing.
    """
    worst = WorstOutput(0, 0, 0, Fraction(1), Fraction(1))
    for output, column in enumerate(zip(*rows, strict=True)):
        high, low = max(column), min(column)
        # Zero over zero never occurs; a positive number over zero is the worst ratio.
        if (
            high
            and worst.min_probability
            and (not low or high / low > worst.max_probability / worst.min_probability)
        ):
            worst = WorstOutput(output, column.index(high), column.index(low), high, low)
    return worst


@dataclass(frozen=True, slots=True)
class MatrixRandomizer(CalibratedRandomizer):
    """Chooses an output with the probabilities of the row of the input."""

    table: ProbabilityTable

    @property
    def ratio(self) -> Fraction | None:
        """The greatest ratio within a column of the table."""
        return worst_ratio(self.table.rows).ratio

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.table.outputs

    def record(self) -> dict[str, object]:
        rows = [[str(chance) for chance in row] for row in self.table.rows]
        return {"outputs": list(self.table.outputs), "rows": rows}

    def describe(self) -> str:
        worst = worst_ratio(self.table.rows)
        inputs = self.table.inputs
        size = f"a table of {len(inputs)} inputs and {len(self.outputs)} outputs"
        if worst.ratio == 1:
            return f"{size}, which reveal nothing"
        return (
            f"{size}; {self.outputs[worst.output]} distinguishes {inputs[worst.likely]} from "
            f"{inputs[worst.unlikely]} best"
        )

    def draw(self, cells: Ints) -> tuple[Ints]:
        chosen = np.empty(len(cells), np.int64)
        for label, row in enumerate(self.table.rows):
            records = np.flatnonzero(cells == label)
            chosen[records] = categorical_array(row, len(records))
        return (chosen,)

    @property
    def estimable(self) -> bool:
        """Whether the rows of the table are linearly independent, to float precision."""
        table = self._floats()
        sizes = np.linalg.svd(table, compute_uv=False)
        return table.shape[0] <= table.shape[1] and bool(sizes[-1] > MIN_SINGULAR * sizes[0])

    def estimates(self, responses: ResponseCounts) -> tuple[Fraction, ...]:
        frequencies = np.array([count / responses.records for count in responses.counts])
        return tuple(Fraction(float(value)) for value in self._inverse() @ frequencies)

    def variances(self, frequencies: Sequence[float]) -> list[float]:
        """The variance of each estimate from one record, for these true frequencies."""
        mix = np.array(frequencies)
        squares = self._inverse() ** 2 @ self._floats().T @ mix
        return [float(value) for value in squares - mix]

    def _floats(self) -> Floats:
        """The table as floats, which are precise enough: estimates are post-processing."""
        return np.array([[float(chance) for chance in row] for row in self.table.rows])

    def _inverse(self) -> Floats:
        """The left inverse of the table, of least variance for equally frequent labels."""
        table = self._floats()
        frequencies = table.mean(axis=0)
        roots = np.sqrt(
            np.divide(1, frequencies, out=np.zeros_like(frequencies), where=frequencies > 0)
        )
        inverse: Floats = np.linalg.pinv((table * roots).T) * roots
        return inverse


class Matrix(LocalMechanism):
    """Chooses a response at random from the row of a table that belongs to the true label.

    `matrix:` is a mapping from each label to the probabilities of the outputs, or the name
    of a CSV file with a row for each label and a column for each output. Probabilities are
    decimals or fractions, taken exactly; each row sums to one.

    Privacy: epsilon is the logarithm of the greatest ratio within a column, over all pairs
    of labels, rounded up (the definition of local privacy: Kasiviswanathan, Lee, Nissim,
    Raskhodnikova and Smith 2011; the general form of randomized response: Warner 1965, and
    optimal mechanisms of this form: Kairouz, Oh and Viswanath 2014). A table with an
    infinite ratio is refused. Responses have exactly these probabilities.

    Frequencies are estimated by the left inverse of the table, if it has one.

    >>> response("matrix", matrix=[["3/4", "1/4"], ["1/2", "1/2"]])
    'ratio 2, epsilon 0.69315'
    """

    name = "matrix"
    loss_parameters = ("matrix",)

    def calibrate(self, request: RandomizerRequest) -> CalibratedRandomizer:
        """A randomizer with the requested table; RandomizerError if a ratio is infinite."""
        assert request.matrix is not None
        worst = worst_ratio(request.matrix.rows)
        if worst.epsilon is None:
            inputs, outputs = request.matrix.inputs, request.matrix.outputs
            raise RandomizerError(
                "cannot-randomize.infinite",
                column=request.column.name,
                output=outputs[worst.output],
                label=inputs[worst.likely],
                other=inputs[worst.unlikely],
            )
        return MatrixRandomizer(Loss(worst.epsilon), request.matrix)


PROBABILITY_BITS = 128
"""Significant bits to which a probability is rounded."""


@dataclass(frozen=True, slots=True)
class PureProtocolRandomizer(CalibratedRandomizer):
    """A randomizer whose responses support labels, with one of two probabilities.

    A response supports the true label with probability `p`, and each other label with `q`. The
    `counts` of responses have, for each label, the number of responses that support it (Wang,
    Blocki, Li and Jha 2017).
    """

    p: Fraction
    q: Fraction
    categories: int

    def __post_init__(self) -> None:
        require_exact(self.p, self.q)
        if not (0 < self.p < 1 and 0 < self.q < 1):
            raise ValueError("probabilities lie between zero and one")

    def estimates(self, responses: ResponseCounts) -> tuple[Fraction, ...]:
        """(share of responses that support the label - q) / (p - q), for each label."""
        scale = self.p - self.q
        return tuple(
            (Fraction(count, responses.records) - self.q) / scale for count in responses.counts
        )

    def variances(self, frequencies: Sequence[float]) -> list[float]:
        """(f p (1 - p) + (1 - f) q (1 - q)) / (p - q)^2, for each label of frequency f."""
        p, q, scale = float(self.p), float(self.q), float(self.p - self.q) ** 2
        return [(f * p * (1 - p) + (1 - f) * q * (1 - q)) / scale for f in frequencies]


def false_label_probability(epsilon: Fraction, false_labels: int) -> Fraction:
    """The probability of a false label, 1 / (e^epsilon + `false_labels`), rounded up."""
    return round_up(1 / (exp_down(epsilon, 2 * PROBABILITY_BITS) + false_labels), PROBABILITY_BITS)


@dataclass(frozen=True, slots=True)
class KaryRandomizer(PureProtocolRandomizer):
    """Gives the true label with probability p, and each other label with q."""

    def __post_init__(self) -> None:
        super(KaryRandomizer, self).__post_init__()  # noqa: UP008 - slots make a second class
        if self.p + (self.categories - 1) * self.q != 1:
            raise ValueError("probabilities sum to one")

    @property
    def ratio(self) -> Fraction:
        """The greater of `p` / `q` and `q` / `p`: a false label may be more likely."""
        return max(self.p, self.q) / min(self.p, self.q)

    def record(self) -> dict[str, object]:
        return {"categories": self.categories, "truth": str(self.p)}

    def describe(self) -> str:
        exact = readable_text(self.p)
        truth = exact if len(exact) <= 12 else f"{float(self.p):.6g}"
        false = f"each of {self.categories - 1} others" if self.categories > 2 else "the other"
        return f"the true label with probability {truth}, {false} with {float(self.q):.6g}"

    def draw(self, cells: Ints) -> tuple[Ints]:
        """A label for each cell, with exact probabilities.

        With probability k min(p, q), a uniform label replaces the true one. Every label thus has
        the probability min(p, q). The remaining probability goes to the true label, or evenly to
        the others if these are more likely.
        """
        k, count = self.categories, len(cells)
        if k == 2:
            return (cells ^ bernoulli_array(Threshold.rational(self.q), count),)
        replaced = bernoulli_array(Threshold.rational(k * min(self.p, self.q)), count)
        labels = cells.copy()
        records = np.flatnonzero(replaced)
        labels[records] = uniforms(k, len(records))
        if self.q > self.p:
            records = np.flatnonzero(~replaced)
            labels[records] = (labels[records] + 1 + uniforms(k - 1, len(records))) % k
        return (labels,)


class GeneralizedRandomizedResponse(LocalMechanism):
    """Reports the true one of k labels with probability p, otherwise any other, evenly.

    Given `epsilon`, each false label has probability 1 / (e^epsilon + k - 1), rounded up.
    Given `probability: p` (a decimal or a fraction), epsilon is ln(p(k-1)/(1-p)), rounded
    up; its absolute value, where a false label is more likely than the true one.

    Privacy: a response has probability p if it is true and (1-p)/(k-1) if not, so its
    probabilities under any two true labels have a ratio of at most e^epsilon (k-ary
    randomized response: Kairouz, Oh and Viswanath 2014; direct encoding: Wang, Blocki, Li
    and Jha 2017). Probabilities are exact rationals, and responses have exactly these.

    The error grows with k; from about 3 e^epsilon + 2 labels on, `unary_encoding` is more
    accurate.

    >>> response("generalized_randomized_response", labels=4, probability="2/5")
    'ratio 2, epsilon 0.69315'
    """

    name = "generalized_randomized_response"
    loss_parameters = ("epsilon", "probability")

    def calibrate(self, request: RandomizerRequest) -> CalibratedRandomizer:
        """A randomizer for the request.

        Raises RandomizerError if all its probabilities are equal.
        """
        k, p = request.labels, request.probability
        if p is None:
            assert request.epsilon is not None
            q = false_label_probability(request.epsilon, k - 1)
            return KaryRandomizer(Loss(request.epsilon), 1 - (k - 1) * q, q, k)
        if p * k == 1:
            raise RandomizerError(
                "cannot-randomize.uniform",
                column=request.column.name,
                probability=readable_text(p),
                labels=k,
            )
        q = (1 - p) / (k - 1)
        return KaryRandomizer(Loss(epsilon_of_ratio(max(p, q) / min(p, q))), p, q, k)


class RandomizedResponse(GeneralizedRandomizedResponse):
    """Reports the true one of two labels with probability p, otherwise the other one.

    Given `epsilon`, p = e^epsilon / (e^epsilon + 1), rounded toward one half. Given
    `probability: p` (a decimal or a fraction such as 3/4), epsilon is ln(max(p/(1-p),
    (1-p)/p)), rounded up: the survey with two fair coins, in which the first coin decides
    whether the second one answers, has p = 3/4 and epsilon = ln 3.

    Privacy: each of the two responses has probability p under one true label and 1 - p
    under the other, so their ratio is at most e^epsilon, for every record by itself (Warner
    1965; Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith 2011). Probabilities are
    exact rationals, and responses have exactly these.

    From n responses the frequency of a label is estimated as (share - (1-p)) / (2p - 1),
    without bias; its variance is p(1-p) / (n (2p-1)^2).

    >>> response("randomized_response", probability="3/4")
    'ratio 3, epsilon 1.0986'
    """

    name = "randomized_response"

    def calibrate(self, request: RandomizerRequest) -> CalibratedRandomizer:
        """A randomizer for two labels; raises RandomizerError for more labels."""
        if request.labels != 2:
            raise RandomizerError(
                "cannot-randomize.two-labels",
                column=request.column.name,
                mechanism=self.name,
                labels=request.labels,
            )
        return super().calibrate(request)


@dataclass(frozen=True, slots=True)
class UnaryEncodingRandomizer(PureProtocolRandomizer):
    """Sets the bit of the true label with probability 1/2, and each other bit with q."""

    form: ClassVar = "bits"

    @property
    def ratio(self) -> Fraction:
        """p (1 - q) / (q (1 - p)): two bits differ, one for each label."""
        return self.p * (1 - self.q) / (self.q * (1 - self.p))

    def record(self) -> dict[str, object]:
        return {"categories": self.categories, "kept": str(self.p), "raised": str(self.q)}

    def describe(self) -> str:
        return (
            "the bit of the true label is one with probability 0.5, each other one with "
            f"{float(self.q):.6g}"
        )

    def draw(self, cells: Ints) -> tuple[Ints, ...]:
        """A column of zeros and ones (uint8) for each label."""
        coins = bernoulli_array(Threshold.rational(self.p), len(cells))
        threshold = Threshold.rational(self.q)
        return tuple(
            np.where(cells == label, coins, bernoulli_array(threshold, len(cells))).view(np.uint8)
            for label in range(self.categories)
        )


class UnaryEncoding(LocalMechanism):
    """Reports for each of k labels whether it is the true one; every answer may be false.

    A column `NAME=LABEL` of zeros and ones for each label. That of the true label is one
    with probability 1/2, each other one with q = 1 / (e^epsilon + 1), rounded up.

    Privacy: two true labels differ in two bits. A bit is one with probability 1/2 if it is
    that of the true label, so the ratio of probabilities of any response is at most (1/2)
    (1-q) / (q (1/2)) = e^epsilon (optimized unary encoding: Wang, Blocki, Li and Jha 2017).
    Probabilities are exact rationals, and responses have exactly these.

    The variance of a frequency f is (f/4 + (1-f) q(1-q)) / (n (1/2-q)^2), about 4 e^epsilon
    / (n (e^epsilon - 1)^2) for any number of labels.

    >>> response("unary_encoding", labels=4, epsilon="1")
    'ratio 2.7183, epsilon 1'
    """

    name = "unary_encoding"

    def calibrate(self, request: RandomizerRequest) -> CalibratedRandomizer:
        assert request.epsilon is not None
        q = false_label_probability(request.epsilon, 1)
        return UnaryEncodingRandomizer(Loss(request.epsilon), Fraction(1, 2), q, request.labels)

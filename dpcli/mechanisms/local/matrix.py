"""The general discrete randomizer: any table of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.mechanisms.local.local_mechanism import (
    CalibratedRandomizer,
    LocalMechanism,
    ProbabilityTable,
    RandomizerError,
    RandomizerRequest,
    ResponseCounts,
)
from dpcli.noise.candidate_choice import categorical_array
from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.privacy.amplification import worst_ratio
from dpcli.privacy.loss import Loss
from dpcli.problems.light_dataclasses import dataclass

MIN_SINGULAR = 1e-11
"""Singular values below this part of the greatest one are too small for floats."""


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
        """The whole table."""
        rows = [[str(chance) for chance in row] for row in self.table.rows]
        return {"outputs": list(self.table.outputs), "rows": rows}

    def describe(self) -> str:
        """The size of the table, and the output that reveals most."""
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
        """An output for each cell, with the probabilities of its row."""
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
        """The inverse of the table, applied to the frequencies of the outputs."""
        frequencies = np.array([count / responses.records for count in responses.counts])
        return tuple(Fraction(float(value)) for value in self._inverse() @ frequencies)

    def variances(self, frequencies: Sequence[float]) -> list[float]:
        """For label j, the mean variance over records of entry (j, output) of the inverse."""
        mix = np.array(frequencies)
        squares = self._inverse() ** 2 @ self._floats().T @ mix
        return [float(value) for value in squares - mix]

    def _floats(self) -> Floats:
        """The table as floats: estimates are post-processing."""
        return np.array([[float(chance) for chance in row] for row in self.table.rows])

    def _inverse(self) -> Floats:
        """The left inverse with the least variance if all inputs are equally frequent."""
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
        """The table of the request; raises RandomizerError if a ratio is infinite."""
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

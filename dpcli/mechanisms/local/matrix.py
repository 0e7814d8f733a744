"""Any table of probabilities: the general discrete randomizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

DISTINCT = 1e-11
"""Singular values below that part of the greatest are lost in floats."""


@dataclass(frozen=True, slots=True)
class MatrixRandomizer(CalibratedRandomizer):
    """For each input its own probabilities of the outputs."""

    table: ProbabilityTable

    @property
    def ratio(self) -> Fraction | None:
        """The worst ratio within a column of the table."""
        return worst_ratio(self.table.rows).ratio

    @property
    def outputs(self) -> tuple[str, ...]:
        """The columns of the table."""
        return self.table.outputs

    def record(self) -> dict[str, object]:
        """The whole table."""
        rows = [[str(chance) for chance in row] for row in self.table.rows]
        return {"outputs": list(self.table.outputs), "rows": rows}

    def describe(self) -> str:
        """Which output reveals most."""
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
        """For each cell an output, by the row of that cell."""
        drawn = np.empty(len(cells), np.int64)
        for label, row in enumerate(self.table.rows):
            places = np.flatnonzero(cells == label)
            drawn[places] = categorical_array(row, len(places))
        return (drawn,)

    @property
    def estimable(self) -> bool:
        """Whether no two mixtures of inputs give the same outputs, nor nearly so."""
        table = self._floats()
        sizes = np.linalg.svd(table, compute_uv=False)
        return table.shape[0] <= table.shape[1] and bool(sizes[-1] > DISTINCT * sizes[0])

    def estimates(self, tally: ResponseCounts) -> tuple[Fraction, ...]:
        """The inverse of the table, applied to the shares of the outputs."""
        shares = np.array([count / tally.records for count in tally.counts])
        return tuple(Fraction(float(value)) for value in self._inverse() @ shares)

    def variances(self, frequencies: Sequence[float]) -> list[float]:
        """For label j, the mean over records of the variance of the inverse's entry (j, output)."""
        mix = np.array(frequencies)
        squares = self._inverse() ** 2 @ self._floats().T @ mix
        return [float(value) for value in squares - mix]

    def _floats(self) -> Floats:
        """The table, to float precision: estimates are post-processing."""
        return np.array([[float(chance) for chance in row] for row in self.table.rows])

    def _inverse(self) -> Floats:
        """The left inverse of least variance where all inputs are equally frequent."""
        table = self._floats()
        shares = table.mean(axis=0)
        roots = np.sqrt(np.divide(1, shares, out=np.zeros_like(shares), where=shares > 0))
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
    """

    name = "matrix"
    loss_parameters = ("matrix",)

    def calibrate(self, request: RandomizerRequest) -> CalibratedRandomizer:
        """The table, if it protects."""
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

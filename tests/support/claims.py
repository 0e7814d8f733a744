"""What examples in docstrings call: sensitivities of a plan, and losses of mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.data.labels import CategoryColumn
from dpcli.data.number_columns import NumberColumn
from dpcli.mechanisms import MECHANISMS
from dpcli.mechanisms.local import LOCAL_MECHANISMS
from dpcli.mechanisms.local.additive import AdditiveRandomizer
from dpcli.mechanisms.local.local_mechanism import ProbabilityTable, RandomizerRequest
from dpcli.planning.planner import make_plan
from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.specification.load import parse_central_spec

SPEC = """\
dpcli: 1
dataset: town
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 10}}}}
columns: {{{columns}}}
statistics: [{{name: n, epsilon: 1, {statistic}}}]
"""


def l1(statistic: str, *, unit: str = "row", **columns: str) -> dict[str, list[int | float]]:
    """The L1 sensitivity of each query of a statistic, for both neighboring relations.

    `columns` are declared by name; without any there is a column that nothing asks about.
    """
    declared = columns or {"unused": "{type: boolean}"}
    found = {}
    for neighbors in ("add-remove", "change-one"):
        text = SPEC.format(
            unit=unit,
            neighbors=neighbors,
            columns=", ".join(f"{name}: {kind}" for name, kind in declared.items()),
            statistic=statistic,
        )
        (entry,) = make_plan(parse_central_spec(text, "docstring")).statistics
        changes = [part.l1 for part in entry.queries]
        found[neighbors] = [
            int(change) if change.denominator == 1 else float(change) for change in changes
        ]
    return found


def noise(mechanism: str, change: int, epsilon: str, delta: str = "0") -> str:
    """The calibrated scale, and the recomputed loss, if one cell changes by `change` steps."""
    kind = next(registered for registered in MECHANISMS if registered.name == mechanism)
    sensitivity = Sensitivity(1, change, change**2, change)
    (made,) = kind.calibrate_and_verify([sensitivity], Loss(Fraction(epsilon), Fraction(delta)))
    loss = kind.loss([(made, sensitivity)], Fraction(epsilon))
    return f"scale {float(made.scale):.5g}, {_text(loss)}"


def response(
    mechanism: str,
    *,
    epsilon: str | None = None,
    delta: str = "0",
    probability: str | None = None,
    matrix: Sequence[Sequence[str]] | None = None,
    labels: int = 2,
    width: int = 1,
) -> str:
    """The greatest ratio of probabilities or the scale of the noise, and the loss of a response.

    The column has this number of labels or, for numbers, bounds of this width.
    """
    kind = next(registered for registered in LOCAL_MECHANISMS if registered.name == mechanism)
    names = tuple(f"l{i}" for i in range(labels))
    table = matrix and ProbabilityTable(
        names, names, tuple(tuple(map(Fraction, row)) for row in matrix)
    )
    inputs = RandomizerRequest(
        NumberColumn("x", Fraction(1), (0, width), 0)
        if kind.numeric
        else CategoryColumn("x", tuple((name, name) for name in names), 0),
        Fraction(epsilon) if epsilon else None,
        Fraction(delta),
        Fraction(probability) if probability else None,
        table or None,
    )
    randomizer = kind.calibrate_and_verify(inputs)
    if isinstance(randomizer, AdditiveRandomizer):
        return f"scale {float(randomizer.noise.scale):.5g}, {_text(randomizer.loss)}"
    assert randomizer.ratio is not None
    return f"ratio {float(randomizer.ratio):.5g}, {_text(randomizer.loss)}"


def _text(loss: Loss) -> str:
    delta = f", delta {float(loss.delta):.3g}" if loss.delta else ""
    return f"epsilon {float(loss.epsilon):.5g}{delta}"

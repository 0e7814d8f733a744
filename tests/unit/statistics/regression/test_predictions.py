"""Private regressions predict nearly as well as those without noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpcli.numeric.arrays import Floats
from tests.support.regressions import coefficients, likeliest, people, texts, with_ones

pytestmark = pytest.mark.extended

X, Y, Z = people(2000, 2)
DESIGN = with_ones(X)


def squared_error(theta: Floats) -> float:
    """The root mean square error of predictions of a number."""
    return float(np.sqrt(np.mean((Y - DESIGN @ theta) ** 2)))


def logistic_loss(theta: Floats) -> float:
    """The mean logistic loss of predictions of what is true."""
    margins = DESIGN @ theta
    return float(np.mean(np.logaddexp(0, margins) - Z * margins))


SHARE = Z.mean()
LINEAR = "statistic: linear_regression, column: y, method: "
BEST_LINE = np.asarray(np.linalg.lstsq(DESIGN, Y, rcond=None)[0], np.float64)


@pytest.mark.parametrize(
    ("entry", "error", "best", "constant"),
    [
        (LINEAR + "moments", squared_error, BEST_LINE, Y.mean()),
        (LINEAR + "objective", squared_error, BEST_LINE, Y.mean()),
        (
            "statistic: logistic_regression, column: z", logistic_loss, likeliest(DESIGN, Z),
            np.log(SHARE / (1 - SHARE)),
        ),
    ],
)  # fmt: skip
def test_private_regressions_predict_better_than_the_mean(
    entry: str, error: Callable[[Floats], float], best: Floats, constant: float
) -> None:
    """With 2,000 rows and two inputs, and not better than without noise."""
    drawn = coefficients(entry, "add-remove", texts(X, Y, Z), 5)
    private = float(np.median([error(theta) for theta in drawn]))
    assert error(best) < private < error(np.array([constant, 0, 0]))

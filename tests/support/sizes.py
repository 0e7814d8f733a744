"""Specs of any size: many values, many statistics, many candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.support.specs import completed


def _names(letter: str, count: int) -> str:
    """Different names, separated by commas."""
    return ", ".join(f"{letter}{number}" for number in range(count))


def _entries(fields: Iterable[str]) -> str:
    """A section of statistics, one with each of these fields."""
    lines = (
        f"  - {{name: n{number}, epsilon: 1e-4, {text}}}\n" for number, text in enumerate(fields)
    )
    return "statistics:\n" + "".join(lines)


def _category(values: str) -> str:
    """A section with one category, `a`."""
    return f"columns:\n  a: {{type: category, values: {values}}}\n"


def _integer(high: int) -> str:
    """A section with one integer column, `a`."""
    return f"columns:\n  a: {{type: integer, bounds: [0, {high}]}}\n"


def labels_listed(size: int) -> str:
    """A histogram of a category with `size` values in a list."""
    return completed(
        _category(f"[{_names('v', size)}]") + _entries(["statistic: histogram, column: a"])
    )


def labels_mapped(size: int) -> str:
    """A histogram of a category with `size` values in a mapping."""
    pairs = ", ".join(f"{number}: v{number}" for number in range(size))
    return completed(_category(f"{{{pairs}}}") + _entries(["statistic: histogram, column: a"]))


def labels_and_conditions(size: int) -> str:
    """A hundredth as many statistics as labels, each with a condition on the labels."""
    fields = ["statistic: count, where: {a: [v1]}"] * (size // 100)
    return completed(_category(f"[{_names('v', size)}]") + _entries(fields))


def labels_and_choices(size: int) -> str:
    """A hundredth as many statistics as labels, each choosing one label."""
    fields = ["statistic: mode, column: a"] * (size // 100)
    return completed(_category(f"[{_names('v', size)}]") + _entries(fields))


def unknown_labels(size: int) -> str:
    """A condition with as many unknown labels as there are labels."""
    fields = [f"statistic: count, where: {{a: [{_names('w', size)}]}}"]
    return completed(_category(f"[{_names('v', size)}]") + _entries(fields))


def responses(size: int) -> str:
    """A response of the local model with a column for each of `size` labels."""
    return completed(
        "model: local\n"
        f"columns:\n  a: {{type: category, values: [{_names('v', size)}], missing: v0}}\n"
        "responses: [{column: a, mechanism: unary_encoding, epsilon: 1}]\n"
    )


def histograms(size: int) -> str:
    """Histograms of `size` bins each, a twentieth as many as bins."""
    fields = ["statistic: histogram, column: a, bins: {width: 1}"] * (size // 20)
    return completed(_integer(size - 1) + _entries(fields))


def edges(size: int) -> str:
    """A histogram with `size` edges."""
    listed = ", ".join(map(str, range(size)))
    field = f"statistic: histogram, column: a, bins: {{edges: [{listed}]}}"
    return completed(_integer(size - 1) + _entries([field]))


def candidates_listed(size: int) -> str:
    """A median among `size` listed candidates."""
    listed = ", ".join(map(str, range(0, 2 * size, 2)))
    field = f"statistic: median, column: a, candidates: [{listed}]"
    return completed(_integer(2 * size) + _entries([field]))


def candidates(size: int) -> str:
    """Ten medians among about `size` candidates, each with another step."""
    steps = range(10, 20)
    fields = [f"statistic: median, column: a, candidates: {{step: {step}}}" for step in steps]
    return completed(_integer(10 * size - 1) + _entries(fields))


def statistics(size: int) -> str:
    """A number of counts."""
    return completed(_integer(9) + _entries(["statistic: count"] * size))


def columns(size: int) -> str:
    """A number of columns."""
    return completed(
        "columns:\n" + "".join(f"  c{number}: {{type: id}}\n" for number in range(size))
    )


def cells(size: int) -> str:
    """A count by three keys with `size` labels each."""
    names = _names("v", size)
    keys = "".join(f"  c{place}: {{type: category, values: [{names}]}}\n" for place in range(3))
    return completed(f"columns:\n{keys}" + _entries(["statistic: count, by: [c0, c1, c2]"]))


def tables(size: int) -> str:
    """A number of statistics on all tables of six of twelve columns."""
    names = ", ".join(f"c{place}" for place in range(12))
    booleans = "".join(f"  c{place}: {{type: boolean}}\n" for place in range(12))
    fields = [f"statistic: marginals, columns: [{names}], ways: 6"] * size
    return completed(f"columns:\n{booleans}" + _entries(fields))


Maker = Callable[[int], str]

QUICK: dict[Maker, int] = {
    labels_and_conditions: 45_000,
    labels_and_choices: 45_000,
    unknown_labels: 40_000,
    responses: 45_000,
    histograms: 9_000,
    candidates: 200_000,
    candidates_listed: 45_000,
}
"""Sizes at which work that grows with the square takes far more than the limit of a test."""

FULL: tuple[tuple[Maker, int], ...] = (
    *((maker, size) for maker, size in QUICK.items()),
    (labels_listed, 1_000_000),
    (labels_listed, 95_000),
    (labels_mapped, 1_000_000),
    (labels_mapped, 45_000),
    (candidates, 1_000_000),
    (edges, 10_001),
    (edges, 90_000),
    (statistics, 1_000),
    (statistics, 100_000),
    (columns, 9_000),
    (columns, 100_000),
    (cells, 100),
    (cells, 1_000),
    (tables, 10),
    (tables, 1_000),
)

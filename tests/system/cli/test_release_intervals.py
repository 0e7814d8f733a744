"""Intervals and flags of whole releases near zero, at clamps, and of values in chosen bounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.support.cli import Command, table

SPEC = """\
dpcli: 1
dataset: d
confidence: {confidence}
privacy: {{unit: {unit}, neighbors: add-remove, budget: {{{budget}}}, composition: {rule}}}
{quality}
columns:
  who: {{type: id}}
  x: {{type: integer, bounds: {bounds}}}
  g: {{type: category, values: [a, b, none]}}
statistics:
  - {{name: asked, {entry}}}
"""

Line = dict[str, str]
Release = Callable[..., list[Line]]


@pytest.fixture
def plan(dpcli: Command, tmp_path: Path) -> Callable[..., Path]:
    """Write a spec with one entry."""

    def write(entry: str, **given: str) -> Path:
        usual = {
            "unit": "row", "bounds": "[-50, 50]", "budget": "epsilon: 99", "rule": "sequential",
            "confidence": "0.95", "quality": "",
        }  # fmt: skip
        path = tmp_path / "spec.yaml"
        path.write_text(SPEC.format(entry=entry, **(usual | given)), encoding="utf-8")
        return path

    return write


@pytest.fixture
def release(dpcli: Command, tmp_path: Path, plan: Callable[..., Path]) -> Release:
    """Release one entry about 4,000 people with one row each, and values from -50 to -20.

    The report is `r.md`.
    """
    random = Random(1)
    lines = [f"p{n},{random.randint(-50, -20)},{random.choice('ab')}" for n in range(4_000)]
    data = tmp_path / "data.csv"
    data.write_text("\n".join(["who,x,g", *lines, ""]), encoding="utf-8")

    def run(entry: str, **given: str) -> list[Line]:
        report = ("--report", tmp_path / "r.md", "--force")
        done = dpcli("release", plan(entry, **given), data, "-q", *report).succeeded()
        return table(done.out)

    return run


BOUNDS = "{choose: 1-2-5, up_to: 1000000, epsilon: 1}"


@pytest.mark.parametrize(
    ("entry", "flag", "most"),
    [
        # All values are below zero, and so are both ends.
        ("statistic: mean, column: x, epsilon: 9, post: [{clamp: [-45, 45]}]", "", -30),
        # A count far above its clamp is the clamp, and says more than nothing.
        ("statistic: count, epsilon: 9, post: [{clamp: [0, 50]}]", "", 50),
        # The number of different labels lies between zero and three.
        ("statistic: count_distinct, column: g, epsilon: 0.1", None, 3),
    ],
)
def test_flags_and_ends_of_a_release(
    release: Release, entry: str, flag: str | None, most: int | None
) -> None:
    """An interval has no value that is not possible, beyond the published one."""
    (line,) = release(entry)

    assert flag is None or line["flag"] == flag
    lower, value, upper = (float(line[name]) for name in ("lower", "value", "upper"))
    assert lower <= value <= upper
    assert most is None or upper <= max(most, value)


@pytest.mark.parametrize("statistic", ["sum", "median", "max"])
def test_numbers_within_chosen_bounds_are_never_called_complete(
    release: Release, statistic: str
) -> None:
    """They are about clamped values, and nothing shows that few are."""
    (line,) = release(f"statistic: {statistic}, column: x, epsilon: 9", bounds=BOUNDS)

    assert line["complete"] != "yes"


PERSON = "{column: who, max_rows: 3}"


@pytest.mark.parametrize(
    ("entry", "given"),
    [
        ("statistic: mode, column: g, rho: 0.02", {}),
        ("statistic: logistic_regression, column: g, values: a, on: [x], rho: 0.02", {}),
        (
            "statistic: count, rho: 0.02",
            {"unit": PERSON, "quality": "quality: {rho: 0.02, min_rows: 100}"},
        ),
    ],
)
def test_supporting_answers_raise_no_sum_of_epsilons(
    dpcli: Command, plan: Callable[..., Path], entry: str, given: dict[str, str]
) -> None:
    """With rho, what an entry costs as a sum of epsilons is what a single answer costs."""
    budget = {"budget": "epsilon: 9, delta: 1e-6", "rule": "zcdp"}
    facts = dpcli("plan", plan(entry, **given, **budget), "--json").json
    asked = [*facts["statistics"], *([facts["quality"]] if facts["quality"] else [])]

    for stated in asked:
        # Scales are rounded, so losses are a little larger. With parts of rho it was 0.25 and more.
        assert sum(float(part["epsilon"]) for part in stated["queries"]) <= 0.21


@pytest.fixture
def page(release: Release, tmp_path: Path) -> Callable[..., tuple[list[Line], str]]:
    """The lines of a release, and the text of its report."""

    def run(entry: str) -> tuple[list[Line], str]:
        lines = release(entry)
        return lines, (tmp_path / "r.md").read_text("utf-8").replace("\\", "")

    return run


def test_reports_say_that_intervals_were_cut(page: Callable[..., tuple[list[Line], str]]) -> None:
    """A group without rows has no negative end; its value may be negative, and the page says so."""
    lines, said = page("statistic: count, by: [g], epsilon: 0.01")
    cut = any(line["lower"] == "0" for line in lines)
    outside = any(float(line["value"]) < float(line["lower"]) for line in lines)

    assert ("Intervals end where the spec makes no further numbers possible." in said) == cut
    assert ("A value outside of its interval is shown as noise made it." in said) == outside
    _, said = page("statistic: count, epsilon: 9")
    assert "Intervals end where" not in said


def test_reports_say_that_a_share_is_clamped(page: Callable[..., tuple[list[Line], str]]) -> None:
    """More noisy rows inside than in all are a share of one."""
    _, said = page("statistic: proportion, column: g, values: [a], epsilon: 1")

    assert "clamped to a share from none to all" in said


def test_reports_say_how_an_objective_was_perturbed(
    page: Callable[..., tuple[list[Line], str]],
) -> None:
    """Supporting answers do not hide what was done to the answer itself."""
    entry = "statistic: logistic_regression, column: g, values: a, on: [x], epsilon: 5"
    _, said = page(entry)

    assert "one random slope was added to the objective" in said

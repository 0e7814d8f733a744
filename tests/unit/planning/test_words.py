"""Sentences of plans: they are complete and short, and name what is meant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dpcli.noise.distribution import NO_NOISE
from dpcli.planning.expected_errors import advice, typical_notes
from dpcli.planning.plan import CentralPlan, LocalPlan, Plan
from dpcli.planning.planner import make_plan
from dpcli.planning.quality_check import missed_sentence, required_minimums
from dpcli.planning.words.data import (
    bounding_notes,
    kept_rows_warnings,
    limit_warnings,
    unit_warnings,
)
from dpcli.planning.words.guarantee import (
    collection_limitations,
    composition_notes,
    headline,
    limitations,
    meaning,
    promise,
    protection,
    shuffle_condition,
    strength,
    unprotected_notes,
)
from dpcli.planning.words.quality import check_rule, counted_rows_note
from dpcli.planning.words.risks import risks
from dpcli.planning.words.statistics import (
    counted_units,
    design_notes,
    exact_notes,
    post_processing_notes,
    selection_notes,
)
from dpcli.privacy.loss import Loss
from dpcli.problems import messages
from dpcli.problems.messages import clauses
from dpcli.problems.reference import texts
from dpcli.specification.load import parse_central_spec, parse_spec
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.quality.quality_counts import FaultCounts, fault_order
from tests.support.cli import LOCAL
from tests.support.specs import completed

LONGEST_SENTENCE = 350
"""Characters of a part of a sentence, with names and numbers filled in."""

LEAST_SENTENCES = 300
"""How many different sentences the plans below have, at least."""

SPEC = """\
dpcli: 1
dataset: d
privacy:
  {unit: UNIT, neighbors: NEIGHBORS, budget: {epsilon: EPSILON, delta: 1e-3}, composition: RULE}
columns:
  who: {type: idEACH}
  age: {type: integer, bounds: [0, 100]}
  paid: {type: number, bounds: [0, 100], step: 0.5}
  sex: {type: category, values: [f, m]}
  town: {type: category}
statistics:
  - {name: n, statistic: count, epsilon: 0.1, post: [nonnegative], raw: true}
  - {name: ages, statistic: histogram, column: age, bins: {width: 50}, epsilon: 0.1}
  - {name: prices, statistic: histogram, column: paid, bins: {width: 100}, epsilon: 0.1}
  - {name: by_sex, statistic: count, by: [sex], epsilon: 0.1}
  - {name: median, statistic: median, column: age, epsilon: 0.1}
  - {name: quartiles, statistic: quantile, column: age, quantiles: [0.25, 0.5, 0.75], epsilon: 0.1}
  - {name: tenths, statistic: quantile, column: age, quantiles: [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 0.9],
    epsilon: 0.1}
  - {name: usual, statistic: mode, column: sex, by: [town], epsilon: 0.1}
  - {name: noisy, statistic: count, mechanism: gaussian, epsilon: 0.1, delta: 1e-9}
  - {name: women, statistic: count, where: {sex: f}, epsilon: 0.1}
  - {name: men, statistic: count, where: {sex: m}, epsilon: 0.1}
  - {name: towns, statistic: count, by: [town], keys: private, epsilon: 0.1, delta: 1e-9}
  - {name: largest, statistic: mode, column: town, epsilon: 0.1, delta: 1e-9}
  - {name: mean_age, statistic: mean, column: age, epsilon: 0.1}
  - {name: weighted, statistic: mean, column: age, weight: paid, epsilon: 0.1}
  - {name: mean_paid, statistic: mean, column: paid, mechanism: gaussian, epsilon: 0.1, delta: 1e-9}
  - {name: spread, statistic: variance, column: age, epsilon: 0.1}
  - {name: joint, statistic: covariance, columns: [age, paid], epsilon: 0.1}
  - {name: line, statistic: linear_regression, column: paid, on: [age], method: objective,
    epsilon: 0.1}
  - {name: odds, statistic: logistic_regression, column: sex, values: f, on: [age], epsilon: 0.1}
  - {name: unknown, statistic: count_missing, columns: [age, paid, sex], mechanism: gaussian,
    epsilon: 0.1, delta: 1e-9}
MORE"""

PEOPLE = """\
  - {name: people, statistic: count_distinct, epsilon: 0.1}
  - {name: people_by_sex, statistic: count_distinct, by: [sex], epsilon: 0.1}
  - {name: total, statistic: sum, column: paid, bound: sum, unit_bounds: [0, 500], epsilon: 0.1}
  - {name: totals, unit_bounds: [0, 9],
    statistic: sum, column: paid, by: [sex], bound: sum, epsilon: 0.1}
  - {name: few, max_rows: 4, max_groups: 1, max_rows_per_group: 2,
    statistic: count, by: [sex], epsilon: 0.1}
"""

UNITS = (
    "row",
    "{column: who, max_rows: 1}",
    "{column: who, max_rows: 5, max_groups: 5, max_rows_per_group: 5}",
    "{column: who, max_rows: 5, max_groups: 2, max_rows_per_group: 5}",
    "{column: who, max_rows: 5, max_groups: 5, max_rows_per_group: 2}",
    "{column: who, max_rows: 5, max_groups: 2, max_rows_per_group: 3}",
)

QUALITIES = (
    "{epsilon: 0.1, min_rows: 100000}",
    "{epsilon: 0.1, min_rows: 100000, min_readable: 0.8}",
    "{epsilon: 0.1, min_readable: 0.8}",
    "{epsilon: 0.001, min_rows: 10, min_readable: 0.8}",
)


def planned(*, quality: str = "", **words: str) -> CentralPlan:
    """The plan of the spec with these words filled in."""
    given = {"NEIGHBORS": "add-remove", "EPSILON": "50", "RULE": "sequential", "EACH": ""} | words
    text = SPEC.replace("MORE", "" if given["UNIT"] == "row" else PEOPLE)
    for word, value in given.items():
        text = text.replace(word, value)
    return make_plan(
        parse_central_spec(text + (f"quality: {quality}\n" if quality else ""), "spec")
    )


def plans() -> Iterator[Plan]:
    """Plans of every kind."""
    for unit in UNITS:
        yield planned(UNIT=unit)
        yield planned(UNIT=unit, NEIGHBORS="change-one", RULE="zcdp", EPSILON="5")
    for epsilon in ("5", "1.9"):
        yield planned(UNIT="row", RULE="zcdp", EPSILON=epsilon)
    for neighbors in ("add-remove", "change-one"):
        for quality in QUALITIES:
            yield planned(UNIT="row", NEIGHBORS=neighbors, quality=quality)
    yield planned(UNIT=UNITS[-1], EACH=", missing: each", quality=QUALITIES[1])
    yield planned(UNIT=UNITS[-2], quality=QUALITIES[1])
    yield planned(UNIT=UNITS[2], quality=QUALITIES[1])
    yield planned(UNIT=UNITS[2], quality="{epsilon: 0.1, min_people: 10}")
    by_row = planned(UNIT="row")
    free = replace(by_row.bound, loss=Loss(Fraction(0)))
    yield replace(by_row, bound=free)
    few = "{name: n, statistic: count, epsilon: 0.5}\n"
    small = (
        SPEC[: SPEC.index("  - ")]
        .replace("UNIT", "row")
        .replace("RULE", "sequential")
        .replace("EACH", "")
    )
    for changed in (
        "add-remove, budget: {epsilon: 1}",
        "add-remove, budget: {epsilon: 0.5}",
        "change-one, budget: {epsilon: 9}",
    ):
        text = small.replace("NEIGHBORS, budget: {epsilon: EPSILON, delta: 1e-3}", changed)
        yield make_plan(parse_central_spec(f"{text}  - {few}", "spec"))
    people = "{name: people, statistic: count_distinct, epsilon: 0.5}\n"
    text = small.replace("unit: row", f"unit: {UNITS[2]}").replace("NEIGHBORS", "add-remove")
    yield make_plan(parse_central_spec(f"{text}  - {people}".replace("EPSILON", "1"), "spec"))
    ladder = "bounds: {choose: 1-2-5, up_to: 100, epsilon: 0.1}}"
    limit = "{column: who, max_rows: {choose: 1-2-5, up_to: 50, epsilon: 0.1}}"
    chosen = small.replace("bounds: [0, 100]}", ladder, 1).replace("EPSILON", "9")
    chosen = chosen.replace("unit: row", f"unit: {limit}")
    total = "  - {name: total, statistic: sum, column: age, epsilon: 0.5}\n"
    chosen = f"{chosen}{total}quality: {{epsilon: 0.1, min_people: 1000}}\n".replace(
        "NEIGHBORS", "add-remove"
    )
    yield make_plan(parse_central_spec(chosen, "spec"))
    yield make_plan(parse_central_spec(f"{by_row.spec.text}csv: {{multiline: true}}\n", "spec"))
    for population in ("10", "1000000"):
        declared = f"declarations: {{population: {population}}}\n"
        yield make_plan(parse_central_spec(f"{by_row.spec.text}{declared}", "spec"))
    local = LOCAL.read_text("utf-8")
    yield make_plan(parse_spec(local, "spec", LOCAL.parent))
    bare = (
        local.replace(", post: [simplex]", "")
        .replace(", post: [clamp]", "")
        .replace(", by: [region]", "")
    )
    kept = "\n".join(line for line in bare.splitlines() if not line.startswith("public:"))
    yield make_plan(parse_spec(kept, "spec", LOCAL.parent))


@cache
def all_plans() -> tuple[Plan, ...]:
    """These plans, which several tests ask about."""
    return tuple(plans())


def sentences(plan: Plan) -> Iterator[str]:
    """Everything that is stated about a plan."""
    yield from (promise(plan.spec), headline(plan), *meaning(plan))
    for window in (None, 30):
        for finding in risks(plan, window):
            yield from finding.sentences
    if isinstance(plan, LocalPlan):
        for shuffled in (False, True):
            yield from collection_limitations(plan, shuffled=shuffled)
        yield from (*unprotected_notes(plan), shuffle_condition(plan))
        return
    for about in (
        limitations, bounding_notes, composition_notes,
        selection_notes, post_processing_notes,
        exact_notes, unit_warnings, limit_warnings, design_notes, check_rule,
        kept_rows_warnings,
    ):  # fmt: skip
        yield from about(plan)
    yield from (*typical_notes(plan, 1000), *advice(plan, 1000))
    yield counted_rows_note(plan)
    for entry in plan.all_statistics:
        yield from (protection(part, plan.spec) for part in entry.queries)
    if plan.quality is not None:
        order = fault_order(plan.quality.entry.inputs)
        half = NoisyAnswer(np.full(len(order.labels), 500), plan.quality.noises[0])
        counts = FaultCounts(order, half, NoisyAnswer(np.array([500]), NO_NOISE))
        for minimum in required_minimums(plan):
            yield missed_sentence(minimum, counts, plan)


@pytest.mark.extended
def test_each_sentence_of_a_plan_is_complete_and_short() -> None:
    """Every value is filled in, and no part that ends a line on a terminal is long."""
    stated = {sentence for plan in all_plans() for sentence in sentences(plan)}
    for sentence in stated:
        assert not set("{}") & set(sentence)
        assert "  " not in sentence
    longest = max((part for text in stated for part in clauses(text)), key=len)
    assert len(longest) <= LONGEST_SENTENCE, longest
    assert len(stated) > LEAST_SENTENCES


def test_every_judgment_of_a_risk_is_made_of_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every template of `risks.toml` is used, and every fact that it names is given."""
    used: set[str] = set()
    fill = messages.fill_sentence

    def remember(template: str, /, **facts: object) -> str:
        used.add(template)
        return fill(template, **facts)

    monkeypatch.setattr("dpcli.planning.words.risks.fill_sentence", remember)
    for plan in all_plans():
        for window in (None, 30):
            for finding in risks(plan, window):
                assert not set("{}") & set(" ".join(finding.sentences))

    judged = {
        text
        for table in texts("risks").values()
        for key, text in table.items()
        if key not in ("question", "asks")
    }
    assert judged <= used


@pytest.mark.parametrize(
    ("unit", "columns", "warned"),
    [
        ("row", "{who: {type: id}, x: {type: boolean}}", True),
        ("row", "{x: {type: boolean}}", False),
        ("{column: who, max_rows: 2}", "{who: {type: id}, x: {type: boolean}}", False),
    ],
)
def test_a_row_as_unit_is_doubted_where_ids_are_declared(
    unit: str, columns: str, warned: bool
) -> None:
    """A person with several rows would be protected less than the report says."""
    privacy = f"{{unit: {unit}, neighbors: add-remove, budget: {{epsilon: 1}}}}"
    text = completed(f"privacy: {privacy}\ncolumns: {columns}")
    warnings = unit_warnings(make_plan(parse_central_spec(text, "spec.yaml")))
    assert ["`who`" in warning for warning in warnings] == [True] * warned


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian, delta: 1e-7"])
@pytest.mark.parametrize(("statistic", "units"), [("count_distinct", "people"), ("count", "rows")])
def test_the_units_that_are_counted_do_not_depend_on_the_noise(
    statistic: str, units: str, mechanism: str
) -> None:
    """People stay people if a design subtracts all people from them."""
    unit, budget = "{column: who, max_rows: 6, max_rows_per_group: 1}", "{epsilon: 1, delta: 1e-6}"
    privacy = f"{{unit: {unit}, neighbors: add-remove, budget: {budget}}}"
    columns = "{who: {type: id}, sex: {type: category, values: [f, m, x]}}"
    entry = f"{{name: n, statistic: {statistic}, by: [sex], epsilon: 1, mechanism: {mechanism}}}"
    text = completed(f"privacy: {privacy}\ncolumns: {columns}\nstatistics: [{entry}]")
    plan = make_plan(parse_central_spec(text, "spec.yaml"))

    assert counted_units(plan.statistics[0], plan.spec) == units
    assert len(plan.statistics[0].queries) == (1 if mechanism == "laplace" else 2)


@pytest.mark.parametrize(
    ("mechanism", "change", "norm"),
    [("laplace", "2. ", ""), ("gaussian, delta: 1e-7", "1.414214", " in L2. ")],
)
def test_the_stated_change_is_in_the_norm_that_the_noise_is_made_for(
    mechanism: str, change: str, norm: str
) -> None:
    """A row that moves to another label changes two counts: 2 in L1, its square root in L2."""
    privacy = "{unit: row, neighbors: change-one, budget: {epsilon: 1, delta: 1e-6}}"
    # Without a condition, K-norm noise would be added, whose norm is another one.
    columns = "{sex: {type: category, values: [f, m, x]}, x: {type: boolean}}"
    where = "where: {x: true}"
    entry = f"{{name: n, statistic: count, by: [sex], {where}, epsilon: 1, mechanism: {mechanism}}}"
    text = completed(f"privacy: {privacy}\ncolumns: {columns}\nstatistics: [{entry}]")
    plan = make_plan(parse_central_spec(text, "spec.yaml"))
    (query,) = plan.statistics[0].queries

    stated = protection(query, plan.spec)
    assert f"these numbers in total by at most {change}" in stated and norm in stated


@pytest.mark.parametrize(
    ("epsilon", "delta", "neighbors", "word"),
    [
        ("1", "0", "add-remove", "strong"),
        ("2", "0", "add-remove", "moderate"),
        ("2", "0", "change-one", "strong"),
        ("3", "1e-7", "add-remove", "weak"),
        ("4", "0", "add-remove", "no limit"),
        ("0.1", "0.4", "change-one", "no limit"),
    ],
)
def test_the_protection_in_a_word(epsilon: str, delta: str, neighbors: str, word: str) -> None:
    """It follows from the greatest belief in a fact, which was 10% before."""
    assert strength(Loss(Fraction(epsilon), Fraction(delta)), neighbors) == word

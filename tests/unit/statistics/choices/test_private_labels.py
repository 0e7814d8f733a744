"""The most frequent labels of a column without declared values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import sqrt
from pathlib import Path

import pytest

from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn, PrivatePartitionColumn
from dpcli.engine.files.source import open_dataset
from dpcli.engine.sums.aggregate import aggregate
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.noise import entropy
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import NO_NOISE
from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.privacy.confidential import Group
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.specification.load import parse_central_spec
from dpcli.statistics import STATISTICS
from dpcli.statistics.choices.top_values import PRIVATE_LABELS
from dpcli.statistics.design import Inputs, NoisyAnswer
from tests.oracles.plain import evaluate
from tests.support.estimates import estimates_of
from tests.support.rules import mostly_extended
from tests.support.streams import Stream

TOP, MODE = PRIVATE_LABELS["top_k"], PRIVATE_LABELS["mode"]
CITY = PrivatePartitionColumn("city")
SEX = CategoryColumn("sex", (("f", "f"), ("m", "m")))
SURE = Fraction(19, 20)
RUNS = 3000
NOISE = DiscreteLaplace(Fraction(2))

SPEC = """
dpcli: 1
dataset: cities
privacy: {unit: UNIT, neighbors: add-remove, budget: {epsilon: 100, delta: 0.9}}
columns:
  who: {type: id}
  city: {type: category}
  sex: {type: category, values: [f, m]}
statistics:
"""
PEOPLE = "{column: who, max_rows: 4, max_groups: 3}"


def plan_of(entries: str, unit: str = "row") -> CentralPlan:
    """The plan of a spec with these entries."""
    lines = [f"  - {entry}\n" for entry in entries.splitlines()]
    return make_plan(parse_central_spec(SPEC.replace("UNIT", unit) + "".join(lines), "spec.yaml"))


def chosen(
    counts: dict[Group, int], k: int, by: tuple[Axis, ...] = ()
) -> list[tuple[str | None, int]]:
    """The labels and ranks that are published for these noisy counts."""
    inputs = Inputs("t", CITY, by=by, k=k)
    answer = NoisyAnswer(integer_array(list(counts.values())), NO_NOISE, tuple(counts))
    (design,) = TOP.designs(inputs, Relation(RowUnit(), Neighbors.ADD_REMOVE))
    estimates = design.estimate([answer], SURE)
    assert estimates.items is not None
    return list(zip(estimates.items.tolist(), estimates.value.tolist(), strict=True))


def test_the_greatest_noisy_counts_come_first() -> None:
    """Labels are ordered by their noisy counts, and no more than k are shown."""
    noisy: dict[Group, int] = {("a",): 20, ("b",): 50, ("c",): 30}

    assert chosen(noisy, 2) == [("b", 1), ("c", 2)]


def test_equal_noisy_counts_are_ordered_by_label() -> None:
    """Whatever the order of the groups is, a tie depends on released labels alone."""
    noisy: dict[Group, int] = {("c",): 7, ("a",): 7, ("b",): 7}
    reverse = dict(reversed(noisy.items()))

    assert chosen(noisy, 3) == chosen(reverse, 3) == [("a", 1), ("b", 2), ("c", 3)]


def test_ranks_without_a_label_are_blank() -> None:
    """The number of lines is that of the spec, and a group without labels has only blank ones."""
    noisy: dict[Group, int] = {("m", "a"): 9, ("m", "b"): 12}

    assert chosen(noisy, 3, (Axis(SEX),)) == [
        *(("", rank) for rank in (1, 2, 3)),
        ("b", 1), ("a", 2), ("", 3),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["top_k", "mode"])
def test_only_columns_without_values_have_another_statistic(name: str) -> None:
    """The registered statistic answers for declared labels, its variant for private ones."""
    (declared,) = (statistic for statistic in STATISTICS if statistic.name == name)

    assert declared.variant(SEX) is declared
    assert declared.variant(CITY) is PRIVATE_LABELS[name]
    assert PRIVATE_LABELS[name].takes == declared.takes
    assert PRIVATE_LABELS[name].item == declared.item


def test_the_noisy_counts_stand_beside_the_labels() -> None:
    """The counts are published in the order of the labels; a rank without a label has none."""
    noisy = {("a",): 20, ("b",): 50}
    (design,) = TOP.designs(Inputs("t", CITY, k=3), Relation(RowUnit(), Neighbors.ADD_REMOVE))
    answer = NoisyAnswer(integer_array(list(noisy.values())), NOISE, tuple(noisy))
    ranks = design.estimate([answer], SURE)
    before = ranks.before_postprocessing
    width = NOISE.half_width(Fraction(39, 40))

    assert design.publishes_answers
    assert [(number.value, number.lower) for number in before] == [
        (50, 50 - width), (20, 20 - width), (None, None),
    ]  # fmt: skip
    assert [number.item for number in before] == ["b", "a", ""]


@pytest.mark.parametrize("k", mostly_extended([1, 5, 20], 5))
def test_all_intervals_of_selected_counts_hold_together(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The greatest of 20 equal counts have high noise, and still are in their intervals."""
    monkeypatch.setattr(entropy, "source", Stream("selected counts"))
    names: list[Group] = [(f"v{number:02}",) for number in range(20)]
    (design,) = TOP.designs(Inputs("t", CITY, k=k), Relation(RowUnit(), Neighbors.ADD_REMOVE))
    held = 0
    for _ in range(RUNS):
        noisy = NoisyAnswer(integer_array(NOISE.sample(20)) + 1000, NOISE, tuple(names))
        before = design.estimate([noisy], SURE).before_postprocessing
        held += bool(((before.lower <= 1000) & (before.upper >= 1000)).all())

    assert held > RUNS * 0.95 - 3 * sqrt(RUNS * 0.95 * 0.05)


def files() -> Iterator[tuple[str, ...]]:
    """All small files: rows of a city, possibly missing, and a sex, possibly unknown."""
    rows = [f"{city},{sex}\n" for city, sex in product(("a", "b", ""), ("f", "m", "?"))]
    for size in range(3):
        yield from combinations_with_replacement(rows, size)


def neighbors_of(rows: Sequence[str], relation: Neighbors) -> Iterator[tuple[str, ...]]:
    """The files with one row more, or with another row in place of one."""
    others = [f"{city},{sex}\n" for city, sex in product(("a", "b", "c", ""), ("f", "m", "?"))]
    if relation is Neighbors.ADD_REMOVE:
        yield from ((*rows, other) for other in others)
        return
    for place in range(len(rows)):
        yield from ((*rows[:place], other, *rows[place + 1 :]) for other in others)


@pytest.mark.parametrize("by", [(), (Axis(SEX),)], ids=["all", "by sex"])
@pytest.mark.parametrize("relation", Neighbors)
def test_no_neighbor_exceeds_the_sensitivity_and_some_reach_it(
    relation: Neighbors, by: tuple[Axis, ...]
) -> None:
    """Over all neighbors of small files, by the oracle; whatever the number of ranks is."""
    stated = Relation(RowUnit(), relation)
    (design,) = TOP.designs(Inputs("t", CITY, by=by, k=5), stated)
    (weighted,) = design.queries
    claim = query_sensitivity(weighted.query, stated)
    changes = [
        difference(counts(weighted.query, rows), counts(weighted.query, other))
        for rows in files()
        for other in neighbors_of(rows, relation)
    ]

    assert max(map(sum, changes)) == claim.l1
    assert max(sum(change**2 for change in one) for one in changes) == claim.l2_squared
    assert max(max(one, default=0) for one in changes) == claim.linf
    assert max(map(len, changes)) == claim.l0


def counts(query: object, rows: Sequence[str]) -> dict[Group, list[int]]:
    """The exact counts of all labels, by the oracle."""
    answer = evaluate([query], ("city,sex\n" + "".join(rows)).encode())[0]  # type: ignore[list-item]
    assert isinstance(answer, dict)
    return answer


def difference(one: dict[Group, list[int]], other: dict[Group, list[int]]) -> list[int]:
    """The changes of all counts that change."""
    changes = [abs(one.get(group, [0])[0] - other.get(group, [0])[0]) for group in {*one, *other}]
    return [change for change in changes if change]


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize(("unit", "most"), [("row", 1), (PEOPLE, 3)])
def test_a_label_of_one_row_is_shown_with_probability_delta(
    mechanism: str, unit: str, most: int
) -> None:
    """The threshold is the least at which the noise of a single unit reaches it so rarely."""
    plan = plan_of(
        f"{{name: t, statistic: top_k, column: city, k: 3, mechanism: {mechanism}, epsilon: 1,"
        " delta: 1e-5}",
        unit,
    )
    (query,) = plan.statistics[0].queries
    rule = query.calibrated.partition_selection
    assert rule is not None
    added = 1 if unit == "row" else 4
    beyond = rule.threshold - added

    assert most * query.calibrated.noise.tail_bound(beyond) <= rule.delta
    assert most * query.calibrated.noise.tail_bound(beyond - 1) > rule.delta
    assert rule.delta == (Fraction(1, 10**5) if mechanism == "laplace" else Fraction(1, 2 * 10**5))


def test_the_noise_does_not_grow_with_k() -> None:
    """A row has one label, so all of epsilon is for its count, whatever is shown."""
    entries = [f"{{name: t{k}, statistic: top_k, column: city, k: {k}, epsilon: 0.5, delta: 1e-6}}"
               for k in (1, 10, 1000)]  # fmt: skip
    plan = plan_of("\n".join(entries))

    assert {query.scale for query in plan.queries} == {2}
    assert plan.cost.epsilon == Fraction(3, 2)
    assert plan.cost.delta == Fraction(3, 10**6)


def test_a_rare_label_is_hardly_ever_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A label of one row is shown in at most delta of the releases, an absent one never."""
    monkeypatch.setattr(entropy, "source", Stream("rare labels"))
    plan = plan_of("{name: t, statistic: top_k, column: city, k: 3, epsilon: 1, delta: 0.05}")
    data = tmp_path / "cities.csv"
    data.write_text("who,city,sex\n" + "1,common,f\n" * 100 + "2,rare,f\n", encoding="utf-8")
    with open_dataset((str(data),), plan.spec.dialect) as dataset:
        sealed = aggregate(plan.engine_queries, dataset)
    shown = {"common": 0, "rare": 0, "": 0}
    for _ in range(RUNS):
        (released,) = estimates_of(plan, sealed)
        assert released.estimates.items is not None
        for label in released.estimates.items:
            shown[label] += 1

    assert shown["common"] == RUNS
    assert 0.01 * RUNS < shown["rare"] < RUNS * (0.05 + 3 * sqrt(0.05 * 0.95 / RUNS))


def test_other_entries_do_not_use_the_selected_labels() -> None:
    """A count without keys, or by public keys, has its own groups."""
    plan = plan_of(
        "{name: t, statistic: mode, column: city, by: [sex], epsilon: 1, delta: 1e-6}\n"
        "{name: n, statistic: count, epsilon: 1}\n"
        "{name: s, statistic: count, by: [sex], epsilon: 1}\n"
        "{name: c, statistic: count, by: [city], keys: private, epsilon: 1, delta: 1e-6}\n"
        "{name: m, statistic: mode, column: sex, by: [city], epsilon: 1}"
    )
    selectors = [planned.entry.selected_by for planned in plan.statistics]

    assert selectors == ["t", None, None, "c", "c"]
    assert [planned.cells for planned in plan.statistics] == [2, 1, 2, None, None]

"""Laws of the answers of every registered kind of query, which work on exact confidential values.

An answer is a function of the sums alone, whole, of the stated size, and silent, whatever the sums
are. Its file imports nothing that could do more, and nothing but the engine asks for it.
"""

from __future__ import annotations

import ast
import inspect
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from fractions import Fraction
from functools import cache
from io import StringIO
from itertools import chain
from math import prod
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from dpcli.data.candidate_bounds import GRID_KINDS
from dpcli.data.column import BLANK, OUTSIDE, UNREADABLE
from dpcli.data.kinds import Axis
from dpcli.data.labels import PrivatePartitionColumn
from dpcli.mechanisms import query_sensitivity
from dpcli.numeric.arrays import SAFE_INTEGER, Array, add_exact, largest_magnitude
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import (
    CountedFactors,
    GroupLimits,
    PlainSum,
    RowSums,
    UserBins,
    UserTotals,
    WeightedSum,
)
from dpcli.statistics import SERIES, STATISTICS
from dpcli.statistics.bounds.chosen_bounds import LimitChoice
from dpcli.statistics.bounds.rule import BoundsGrid
from dpcli.statistics.counts.counts import COUNT_LEVELS
from dpcli.statistics.design import Inputs
from dpcli.statistics.quality.faults import CellFault, FaultOrder
from dpcli.statistics.quality.quality_counts import QUALITY_COUNTS, quality_inputs
from dpcli.statistics.quantiles.ranges import RangesQuery
from dpcli.statistics.regression.linear import OBJECTIVE, ridge_query
from dpcli.statistics.series.shown import Shown
from dpcli.statistics.statistic import Statistic
from dpcli.statistics.tables.hierarchy import Hierarchy, Level
from tests.benchmarks.coupling import walked
from tests.laws import test_statistics
from tests.laws.test_statistics import OPEN, SECOND, numbers
from tests.support.syntax import trees
from tests.unit.statistics import test_people_laws

ROOT = Path(__file__).parents[2]
ROWS = 1 << 40
"""The rows of the largest file."""

MOST = 60
"""Instances of a kind that are tried."""

KINDS = sorted(query_sensitivity.QUERIES, key=lambda kind: kind.__name__)


# Instances of every kind.


def asked() -> Iterator[tuple[Statistic, Inputs, Relation]]:
    """Every form of every statistic, about rows and about people; and what no entry asks for."""
    rows = [Relation(RowUnit(), neighbors) for neighbors in Neighbors]
    people = [Relation(PersonUnit("who", 1, 3, 3), neighbors) for neighbors in Neighbors]
    for relations, requests in (
        (rows, test_statistics.requests),
        (people, test_people_laws.requests),
    ):
        for statistic in STATISTICS:
            for inputs in requests(statistic):
                yield from ((statistic, inputs, relation) for relation in relations)
    wide = numbers((0, 10**9))
    yield OBJECTIVE, Inputs("r", column=wide, columns=(SECOND, wide)), rows[0]
    faults = tuple(CellFault(wide, state) for state in (UNREADABLE, OUTSIDE, BLANK))
    order = FaultOrder(faults[:2], blanks=faults[2:])
    limits = GroupLimits((Axis(OPEN),), 1, 2)
    yield QUALITY_COUNTS, quality_inputs(order, with_rows=False), rows[0]
    limited = replace(order, starts=(4, 7), groups=(limits,))
    yield from (
        (QUALITY_COUNTS, quality_inputs(limited, with_rows=True), relation) for relation in people
    )
    bins = Axis(wide, (0, 5, 9))
    levels = (Level("all", ("a", "b")), Level("bins", ("0", "5", "9"), (0, 0, 1)))
    tree = (("hierarchy", (Hierarchy("h", bins, levels, (0, 1, 2)),)),)
    yield from (
        (COUNT_LEVELS, Inputs("r", options=tree), relation) for relation in (*rows, *people)
    )
    series = (("series", (Shown("to_date", 0),)),)
    yield from (
        (SERIES["count"], Inputs("r", options=series), relation) for relation in (*rows, *people)
    )
    limit = LimitChoice(BoundsGrid(LimitChoice.rows(100), GRID_KINDS[0]), Fraction(1), Fraction(1))
    yield limit.histogram, limit.inputs, people[0]


@cache
def instances() -> Mapping[type, tuple[Query, ...]]:
    """Queries of each kind, evenly from all that statistics ask."""
    found: dict[type, dict[Query, None]] = {}
    queries = (
        query
        for statistic, inputs, relation in asked()
        for design in statistic.designs(inputs, relation)
        for weighted in design.queries
        for query in (weighted.query, *weighted.query.parts)
    )
    wide = numbers((0, 10**9), 0)
    for query in chain(queries, [ridge_query((SECOND, wide), Fraction(1, 10), 9)]):
        found.setdefault(type(query), {})[query] = None
    return {kind: _some(tuple(queries)) for kind, queries in found.items()}


def _some(queries: tuple[Query, ...]) -> tuple[Query, ...]:
    """A few of many, evenly."""
    return queries[:: -(-len(queries) // MOST)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_is_asked_for(kind: type) -> None:
    """Some statistic asks a query of each registered kind, so that the laws below include it."""
    assert instances()[kind]


# What an answer is computed from.


def shape_of_sums(query: Query) -> tuple[int, int]:
    """How many groups or combinations there are, and how many numbers each of them has."""
    shape = query.shape
    if isinstance(shape, CountedFactors):
        return 5, len(shape.factors) + len(shape.sums)
    if isinstance(shape, UserBins):
        return 1, shape.bins
    sums = len(shape.sums) if isinstance(shape, RowSums) else 1
    groups = 3 if query.has_private_groups else prod(map(len, query.by))
    return groups, prod(map(len, query.inner_axes)) * sums


def largest_sum(query: Query) -> int:
    """The largest sum that the bounds of the columns allow."""
    shape = query.shape
    match shape:
        case RowSums(sums=sums) | CountedFactors(sums=sums):
            return ROWS * max(map(largest_of_row, sums))
        case UserTotals(clamp=(low, high)):
            return ROWS * max(abs(low), abs(high), 1)
        case _:
            return ROWS


def largest_of_row(weighted: WeightedSum) -> int:
    """The most that a row adds to a weighted sum."""
    return sum(abs(weight) * largest_of_plain(plain) for weight, plain in weighted)


def largest_of_plain(plain: PlainSum) -> int:
    """The most that a row adds to a plain sum."""
    return prod(max(map(abs, factor.limits)) for factor in plain.factors)


def tables(query: Query) -> Iterator[Array]:
    """Sums that are zero, negative, mixed and the largest, as machine words where they fit."""
    lines, width = shape_of_sums(query)
    count, largest = lines * width, largest_sum(query)
    mixed = [(place * 7919 % 11 - 5) * (1 + place % 3) for place in range(count)]
    far = [largest if place % 2 else -largest for place in range(count)]
    for values in ([0] * count, [-1] * count, mixed, [largest] * count, [-largest] * count, far):
        table = np.array(values, object).reshape(lines, width)
        if largest_magnitude(table) < SAFE_INTEGER:
            yield table.astype(np.int64)
        yield table


def size_of_answer(query: Query) -> int:
    """How many numbers an answer has: the cells, or what they are computed from."""
    lines, width = shape_of_sums(query)
    if query.minimizes or isinstance(query, RangesQuery):
        return lines * width
    return lines * query.cells_per_group if query.chooses or query.cells is None else query.cells


# The laws.


def faults(query: Query) -> Iterator[str]:
    """What is wrong with the answers of a query, and with what it makes of those to its parts."""
    if query.parts != (query,):
        for numbers in zip(*map(possible_answers, query.parts), strict=False):
            given = [np.array(values) for values in numbers]
            yield from faults_of(lambda query, given: query.combined(*given), query, given)
        return
    for table in tables(query):
        yield from faults_of(lambda query, given: query.answer(*given), query, [table])


def possible_answers(query: Query) -> list[Array]:
    """Exact answers to a part, of either type of integers."""
    return [query.answer(table) for table in tables(query)]


def faults_of(
    compute: Callable[[Query, list[Array]], Array], query: Query, given: list[Array]
) -> Iterator[str]:
    """What is wrong with one answer."""
    before = [values.copy() for values in given]
    try:
        first, noise = quietly(lambda: compute(query, given))
        again, _ = quietly(lambda: compute(replace(query), [values.copy() for values in given]))
        wide, _ = quietly(lambda: compute(query, [values.astype(object) for values in given]))
    except Exception as error:  # noqa: BLE001 - whatever it raises is wrong
        yield f"raises {error!r}"
        return
    if noise:
        yield f"says {noise!r}"
    if any((one != other).any() for one, other in zip(before, given, strict=True)):
        yield "changes the sums"
    if first.shape != again.shape or (first != again).any():
        yield "differs from time to time"
    if first.shape != wide.shape or (first != wide).any():
        yield "depends on the type of the sums"
    if first.dtype != np.int64 and {*map(type, first.ravel().tolist())} - {int}:
        yield "is not of whole numbers"
    if first.size != size_of_answer(query):
        yield f"has {first.size} numbers instead of {size_of_answer(query)}"


def quietly(compute: Callable[[], Array]) -> tuple[Array, str]:
    """A result, and all that was printed or logged meanwhile; a warning is an error."""
    said = StringIO()
    handler = logging.StreamHandler(said)
    logging.getLogger().addHandler(handler)
    try:
        with (
            warnings.catch_warnings(),
            np.errstate(all="raise"),
            redirect_stdout(said),
            redirect_stderr(said),
        ):
            warnings.simplefilter("error")
            return compute(), said.getvalue()
    finally:
        logging.getLogger().removeHandler(handler)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_answer_is_a_silent_function_of_the_sums(kind: type) -> None:
    """Over all kinds of sums, answers are whole, of the stated size, and nothing is raised."""
    for query in instances()[kind]:
        assert [*faults(query)] == [], query


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_answer_of_private_groups_is_that_of_each(kind: type) -> None:
    """A group's numbers do not depend on the other groups, so those without rows can be added."""
    place = Axis(PrivatePartitionColumn("place"))
    for query in instances()[kind]:
        try:
            private = replace(query, by=(place,))
            private.sensitivity(Relation(PersonUnit("who", 1, 3, 3), Neighbors.ADD_REMOVE))
        except ValueError:
            continue  # only public groups are allowed
        if private.cells is None:
            assert [*faults(private)] == [], private
            for table in tables(private):
                alone = [private.answer(line[None, :]) for line in table]
                assert (private.answer(table) == np.concatenate(alone)).all(), private


# Planted faults.


class Raising(LinearQuery):
    """It refuses a negative sum."""

    def answer(self, sums: Array) -> Array:
        """The sums."""
        if (sums < 0).any():
            raise ValueError("negative")
        return sums.ravel()


class Dropping(LinearQuery):
    """It drops a cell."""

    def answer(self, sums: Array) -> Array:
        """All but one."""
        return sums.ravel()[1:]


class Talking(LinearQuery):
    """It prints."""

    def answer(self, sums: Array) -> Array:
        """The sums."""
        print(sums.max())
        return sums.ravel()


class Logging(LinearQuery):
    """It logs."""

    def answer(self, sums: Array) -> Array:
        """The sums."""
        logging.getLogger("dpcli").warning("%s", sums.max())
        return sums.ravel()


class Counting(LinearQuery):
    """It remembers."""

    calls = 0

    def answer(self, sums: Array) -> Array:
        """The sums, and how often they were asked for."""
        type(self).calls += 1
        return add_exact(sums.ravel(), self.calls)


class Floating(LinearQuery):
    """It computes with floats."""

    def answer(self, sums: Array) -> Array:
        """Halves."""
        return cast("Array", sums.ravel() / 2)


class Overflowing(LinearQuery):
    """It trusts machine words."""

    def answer(self, sums: Array) -> Array:
        """Squares."""
        return sums.ravel() * sums.ravel()


class Writing(LinearQuery):
    """It changes what it is given."""

    def answer(self, sums: Array) -> Array:
        """The sums, one more."""
        sums += 1
        return sums.ravel()


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (Raising, "raises"),
        (Dropping, "numbers instead of"),
        (Talking, "says"),
        (Logging, "says"),
        (Counting, "differs from time to time"),
        (Floating, "is not of whole numbers"),
        (Overflowing, "depends on the type"),
        (Writing, "changes the sums"),
    ],
)
def test_a_planted_fault_is_found(kind: type[LinearQuery], found: str) -> None:
    """Each kind of fault is found by the law, which finds none in the query itself."""
    by = (Axis(test_statistics.SEX),)

    assert [*faults(LinearQuery(by=by))] == []
    assert any(found in fault for fault in faults(kind(by=by)))


# What files of answers import, and who asks for answers.

ALLOWED = (
    "dpcli.data",
    "dpcli.fields.json",
    "dpcli.numeric",
    "dpcli.privacy",
    "dpcli.problems.light_dataclasses",
)
"""What the file of an answer may import, besides other files of queries and the library."""


def homes(kind: type) -> set[Path]:
    """The files that define what answers a kind of query."""
    methods = ("answer", "combined", "parts")
    defining = (parent for parent in kind.__mro__ if any(name in vars(parent) for name in methods))
    return {Path(inspect.getsourcefile(parent) or "") for parent in defining}


QUERY_FILES = {path for kind in KINDS for path in homes(kind)}


def running_imports(tree: ast.AST) -> Iterator[str]:
    """The modules that a file imports when it runs, inside functions too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.orelse:
                yield from running_imports(statement)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from running_imports(node)


def forbidden_imports(text: str, seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """What a file imports that the file of an answer may not, in other files of queries too."""
    for name in running_imports(ast.parse(text)):
        standard = name.partition(".")[0] in sys.stdlib_module_names
        if standard or name.startswith(tuple(f"{a}." for a in ALLOWED)):
            continue
        module = name.rpartition(".")[0]
        path = ROOT / f"{module.replace('.', '/')}.py"
        if not (module.startswith("dpcli.queries.") or path in QUERY_FILES):
            yield name
        elif module not in seen:
            yield from forbidden_imports(path.read_text(encoding="utf-8"), seen | {module})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_file_of_an_answer_imports_numbers_and_data_alone(kind: type) -> None:
    """No mechanism, noise, ledger or engine is in reach of what works on exact values."""
    for path in homes(kind):
        assert [*forbidden_imports(path.read_text(encoding="utf-8"))] == [], path


@pytest.mark.parametrize(
    "text",
    [
        "import dpcli.noise",
        "from dpcli.noise.entropy import random_bytes",
        "def answer(sums):\n    from dpcli.noise import entropy\n    return sums",
        "from dpcli.statistics.quantiles.recursion import QuantilesQuery",
        "from dpcli import errors",
        "import polars",
        "if not TYPE_CHECKING:\n    import numpy",
    ],
)
def test_a_planted_import_is_found(text: str) -> None:
    """Every form of an import of something else is found, and one for types alone is none."""
    assert [*forbidden_imports(text)]
    assert not [*forbidden_imports("if TYPE_CHECKING:\n    import dpcli.noise")]


NO_QUERIES = {
    "calibrated", "declarations", "event", "release", "replace", "run", "stated",
}  # fmt: skip
"""Objects of other classes that have an `answer`."""

OTHER_ANSWERS = {
    "dpcli/privacy/confidential.py",
    "dpcli/releasing/run.py",
    "dpcli/planning/words/risks.py",
}
"""Files with an `answer` of their own: of private groups, of a release, of the data owner."""


def uses_of_answers(path: str, tree: ast.Module) -> Iterator[str]:
    """The expressions of a file that ask a query for its answer, by the names of objects."""
    for node in walked(tree):
        if not isinstance(node, ast.Attribute) or node.attr not in ("answer", "combined"):
            continue
        receiver = node.value
        while isinstance(receiver, ast.Call):
            receiver = receiver.func
        name = receiver.attr if isinstance(receiver, ast.Attribute) else ast.unparse(receiver)
        own = name == "self" and (node.attr == "combined" or path in OTHER_ANSWERS)
        if name not in NO_QUERIES and not own:
            yield ast.unparse(node)


def test_the_engine_alone_asks_for_answers() -> None:
    """No other package calls `answer` or `combined` of a query, or hands them on."""
    for name, tree in trees().items():
        if not name.startswith(("dpcli/engine/", "dpcli/queries/")):
            assert [*uses_of_answers(name, tree)] == [], name


@pytest.mark.parametrize(
    "text",
    [
        "query.answer(sums)",
        "planned.weighted.query.answer(sums)",
        "rows = query.combined(one, other)",
        "map(query.answer, tables)",
        "self.query.answer(sums)",
        "query_of(entry).answer(sums)",
    ],
)
def test_a_planted_use_is_found(text: str) -> None:
    """Every form of asking a query for its answer is found."""
    assert [*uses_of_answers("dpcli/report/release.py", ast.parse(text))]

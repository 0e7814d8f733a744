"""The verifier alone: what it imports, what it reads, and its arithmetic against other tools."""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.privacy.accounting.advanced import AdvancedComposition
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.accounting.pld import PldComposition
from dpcli.privacy.accounting.zcdp import ZcdpComposition
from dpcli.privacy.loss import Guarantee, LaplacePair, Loss
from dpcli.proof import verify
from dpcli.report import content
from dpcli.report.release import SpecReport
from dpcli.specification.load import parse_spec
from tests.support.cli import LOCAL, SPECS
from tests.support.rules import for_each

SOURCE = Path(verify.__file__).read_text(encoding="utf-8")

MAX_LINES, MAX_COLUMNS = 900, 110


def test_alone() -> None:
    """It imports the standard library alone."""
    imported = set[str]()
    for node in ast.walk(ast.parse(SOURCE)):
        if isinstance(node, ast.ImportFrom):
            imported.add((node.module or ".").partition(".")[0])
        elif isinstance(node, ast.Import):
            imported |= {one.name.partition(".")[0] for one in node.names}
    assert imported <= sys.stdlib_module_names


def test_short() -> None:
    """A stranger can read all of it: it has few lines, and none is long."""
    assert len(SOURCE.splitlines()) <= MAX_LINES
    assert max(map(len, SOURCE.splitlines())) <= MAX_COLUMNS


@for_each([*SPECS, LOCAL])
def test_content_of_specs(path: Path) -> None:
    """The content of a spec is what PyYAML reads in its text."""
    text = path.read_text(encoding="utf-8")
    spec = parse_spec(text, path.name, path.parent, published=True)
    assert SpecReport.of(spec).content == yaml.load(text, yaml.BaseLoader)


NUMBERS = ["0", "-0.0", "1.50", "1e-06", "12345678901234567890", "0.1414213562373095048801", "3E+2"]


@for_each(NUMBERS)
def test_numbers(digits: str) -> None:
    """Both programs write a number alike; jq and Python would not change it any more."""
    text = verify.number_text(verify.exact(digits))
    assert text == content.number_text(digits)
    assert verify.number_text(verify.exact(json.dumps(json.loads(digits)))) == text


RULES: dict[str, Composition] = {
    "zcdp": ZcdpComposition(),
    "pld": PldComposition(),
    "advanced": AdvancedComposition(),
}


@pytest.mark.parametrize("rule", [*RULES])
@pytest.mark.parametrize("count", [1, 7, 60])
def test_totals(rule: str, count: int) -> None:
    """Totals of Laplace answers are those of the ledger, or below looser bounds of it."""
    random, delta = Random(count), Fraction(1, 10**6)
    scales = [Fraction(random.randint(4, 9) * count) for _ in range(2)]
    guarantees, answers = dict[Guarantee, int](), list[verify.Answer]()
    for index in range(count):
        scale = scales[index % 2]
        own = verify.Answer.of("laplace", scale, verify.Sens(1, 2, 4, 2), 2 / scale, Fraction(0))
        answers.append(own)
        known = Guarantee(Loss(own.epsilon), own.rho, (LaplacePair(scale, 2),))
        guarantees[known] = guarantees.get(known, 0) + 1
    assert DiscreteLaplace.dominating_pair is LaplacePair
    for bound in RULES[rule].bounds(guarantees, delta):
        epsilon, used, _, less = verify.total(rule, bound.name, answers, delta)
        wide = {"privacy loss distributions": 2e-3, "sum of epsilons and rhos": 1e-4}
        rel = wide.get(bound.name, 1e-6)
        assert bound.loss.delta == used
        if "composition" in bound.name or bound.name == "sum of epsilons":
            # These are above the least epsilon of such losses.
            assert bound.loss.epsilon >= epsilon * (1 - less)
        elif bound.name == "optimal for equal losses":
            assert float(bound.loss.epsilon) == pytest.approx(float(epsilon), rel=2e-3)
        else:
            assert float(bound.loss.epsilon) == pytest.approx(float(epsilon), rel=rel)


def test_malformed() -> None:
    """A text that is no report is a finding, not an error."""
    for text in (b"", b"[]", b"{}", b'{"privacy": 1}', b"[" * 10_000, b"\xff", b'{"a": 1, "a": 2}'):
        assert verify.verify(text, []).wrong
    half = b'{"statistics": [{"name": "\\ud800"}],'
    half += b' "privacy": {"neighbors": ""}, "ledger": {}, "spec": {}}'
    assert "\n".join(verify.verify(half, []).lines()).encode()


def test_bounds() -> None:
    """Bounds of dates are days; derived values have those that follow from their columns."""
    verifier = verify.Verifier()
    verifier.report = {}
    verifier.spec = {
        "columns": {
            "age": {"type": "integer", "bounds": ["0", "110"]},
            "start": {"type": "date", "bounds": ["1970-01-01", "1970-01-11"]},
            "end": {"type": "date", "bounds": ["1970-01-02", "1970-01-31"]},
        },
        "derive": {
            "gap": {"difference": ["end", "start"]},
            "odd": {"difference": [{"a": "b"}, "end"]},
        },
        "people": {"latest": {"last": "end"}},
    }
    assert verifier.bounds("age") == [0, 110]
    assert verifier.bounds("latest") == [1, 30]
    assert verifier.bounds("gap") == [1 - 10, 30]
    assert verifier.bounds("odd") == verifier.bounds("nothing") == []


@pytest.mark.parametrize("terms", [{"rule": "effects", "sizes": [2] * 23}, {"numbers": 10**9}])
def test_large(terms: dict[str, Any]) -> None:
    """A query that would need much memory is refused."""
    stated = {"rule": "sums", "low": 0, "high": 1, "groups": 1, "numbers": 1, "limits": None}
    with pytest.raises(ValueError, match="too large"):
        verify.Terms(stated | terms)


TEXT = """\
a: {b: 1, 'c # d': "x  # y"}  # c: 7
# comment
e: [-5, "2020-01-01"]  # it's
"""


@pytest.mark.parametrize(
    ("content", "holds"),
    [
        ({"a": {"b": "1", "c # d": "x  # y"}, "e": ["-5", "2020-01-01"]}, True),
        ({"a": {"b": "7", "c # d": "x  # y"}, "e": ["-5", "2020-01-01"]}, False),
        ({"a": {"b": "1", "c # d": "x  # y"}, "e": ["5", "2020-01-01"]}, False),
        ({"a": {"b": "1", "c # d": "x"}, "e": ["-5", "2020-01-01"]}, False),
    ],
)
def test_text(content: dict[str, Any], *, holds: bool) -> None:
    """The words of a text without comments are those of its content; signs count."""
    bare = verify.COMMENT.sub(lambda found: found[1] or "", TEXT)
    said, own = (Counter(verify.WORD.findall(one)) for one in (bare, verify.canonical(content)))
    assert (said == own) is holds


RANGES: list[tuple[str, dict[str, Any], list[tuple[Any, Any]]]] = [
    ("age", {"age": {"min": "0", "max": "50"}}, [(0, 50)]),
    ("age", {"age": {"above": "50", "below": "60.5"}}, [(51, 60)]),
    ("age", {"age": {"min": "50.5", "max": "60", "equals": {"column": "half"}}}, [(51, 60)]),
    ("age", {"age": "7"}, [(7, 7)]),
    ("half", {"half": {"min": "1", "below": "2"}}, [(2, 3)]),
    ("day", {"day": {"above": "1970-01-02", "max": "1970-01-05"}}, [(2, 4)]),
    ("sex", {"sex": ["f", "m"]}, [("f", "f"), ("m", "m")]),
    ("sex", {"sex": {"contains": "f"}}, []),
    ("sex", {"sex": "f", "not": {"sex": "m"}}, []),
    ("age", {"any": [{"age": {"max": "50"}}]}, []),
    ("band", {"band": "0-17"}, []),
]


@pytest.mark.parametrize(("column", "where", "ranges"), RANGES)
def test_allowed(column: str, where: dict[str, Any], ranges: list[tuple[Any, Any]]) -> None:
    """Conditions allow ranges of steps, or labels; others are not understood, so none are."""
    verifier = verify.Verifier()
    verifier.report = {}
    verifier.spec = {
        "columns": {
            "age": {"type": "integer", "bounds": ["0", "110"]},
            "half": {"type": "number", "step": "0.5", "bounds": ["0", "10"]},
            "day": {"type": "date", "bounds": ["1970-01-01", "1970-01-11"]},
            "sex": {"type": "category", "values": ["f", "m"]},
        },
        "derive": {"band": {"bands": "age", "width": "18"}},
    }
    assert verifier.allowed(column, where) == ranges

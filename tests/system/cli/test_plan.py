"""The output of `dpcli plan` and `dpcli explain privacy`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from dpcli.cli import main
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.errors import DataError, StoppedBySignal
from dpcli.specification.load import read_spec_file
from dpcli.specification.model import CentralSpec
from tests.support.cli import ROOT, Command, edit, written

SPEC = """
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 3, delta: 1e-6}, composition: zcdp}
columns:
  age: {type: integer, bounds: [0, 100]}
  sex: {type: category, values: [f, m]}
statistics:
  - {name: people, statistic: count, where: {sex: f}, epsilon: 0.2}
  - {name: others, statistic: count, where: {sex: m}, epsilon: 0.1}
  - {name: ages, statistic: mean, column: age, mechanism: gaussian, rho: 0.01}
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A spec."""
    path = tmp_path / "old.yaml"
    path.write_text(SPEC, encoding="utf-8")
    return path


def changed(old: Path, *pairs: tuple[str, str]) -> Path:
    """The spec with some texts replaced."""
    return edit(old, *pairs, to=old.with_name("new.yaml"))


WITHOUT_DELTA = (", delta: 1e-6}, composition: zcdp", "}")


@pytest.mark.parametrize(
    "spec", sorted((ROOT / "specs").glob("*.yaml")), ids=lambda path: path.stem
)
def test_the_first_lines_say_who_what_and_at_what_cost(dpcli: Command, spec: Path) -> None:
    """First the dataset, the cost and whether it fits, then a line for each entry."""
    read = read_spec_file(spec)
    out = dpcli("plan", spec).succeeded().out
    lines = out[: out.index("A recipient")].splitlines()
    costs = [number for number, line in enumerate(lines) if line.startswith("epsilon ")]

    assert lines[0].startswith(f"{read.dataset}: ")
    assert costs == [1] and lines[1].endswith(": fits")
    if isinstance(read, CentralSpec):
        unit = "person" if isinstance(read.privacy.unit, PersonUnit) else "row"
        assert f" any one {unit} " in lines[0] or lines[0].endswith(f" any one {unit} (change-one)")
        began = [line.split(":")[0] for line in lines]
        assert {entry.inputs.name for entry in read.entries} <= set(began)
        words = set(" ".join(lines).replace(";", " ").split())
        assert not words & {"L1", "L2", "scale", "query", "queries", "sensitivity"}


def test_compare_lists_every_composition_and_the_cheapest(dpcli: Command, old: Path) -> None:
    """One line each, in the table and in JSON; exactly one is the cheapest."""
    outcome = dpcli("plan", old, "--compare")
    lines = [line.split() for line in outcome.out.splitlines() if line]
    table = {
        line[0]: line for line in lines if line[0] in ("sequential", "advanced", "zcdp", "pld")
    }
    assert len(table) == 4
    facts = dpcli("plan", old, "--compare", "--json").json["compared"]
    assert [rule["composition"] for rule in facts] == ["sequential", "advanced", "zcdp", "pld"]
    totals = {rule["composition"]: rule["total"]["epsilon"] for rule in facts}
    (cheapest,) = [rule["composition"] for rule in facts if rule["cheapest"]]
    valid = [rule["composition"] for rule in facts if rule["total"]["delta"] <= 1e-6]
    assert totals[cheapest] == min(totals[name] for name in valid)
    assert totals["pld"] <= totals["zcdp"] <= totals["sequential"]


def test_compare_works_for_a_budget_without_a_delta(dpcli: Command, old: Path) -> None:
    """A sequential spec without a delta shows what others would cost with one."""
    path = changed(old, WITHOUT_DELTA, ("mechanism: gaussian, rho: 0.01", "epsilon: 1"))
    outcome = dpcli("plan", path, "--compare").succeeded()
    assert "at delta 1e-6" in outcome.out
    assert "need a delta in the budget, which has none" in outcome.out


def test_diff_lists_what_changed(dpcli: Command, old: Path) -> None:
    """Epsilon and error of every statistic, before and after, and added and removed statistics."""
    new = changed(
        old,
        ("statistic: count, where: {sex: f}, epsilon: 0.2", "statistic: count, epsilon: 0.1"),
        ("name: others", "name: rest"),
    )
    outcome = dpcli("plan", new, "--diff", old).succeeded()
    words = {line.split()[0]: line for line in outcome.out.splitlines() if line}
    assert "changed" in words["people"] and "0.2 -> 0.1" in words["people"]
    assert "15 -> 30" in words["people"]
    assert "added" in words["rest"] and "removed" in words["others"]
    assert "ages" not in words
    assert "statistics.people.epsilon: 0.2 -> 0.1\n" in outcome.out
    assert "statistics.others: removed {name: others," in outcome.out
    # The noise of each query of a mean is known, its error is not.
    facts = dpcli("plan", new, "--diff", old, "--json").json["statistics"]
    (ages,) = [statistic for statistic in facts if statistic["name"] == "ages"]
    assert ages["error95"] == [None, None]
    assert {query: len(set(pair)) for query, pair in ages["errors"].items()} == {
        "centered sum": 1,
        "count of rows": 1,
    }


def test_a_difference_as_markdown_is_for_a_pull_request(dpcli: Command, old: Path) -> None:
    """A list of keys, a table of statistics, and each reason in bold; texts are escaped."""
    new = changed(old, ("epsilon: 0.2", "epsilon: 0.5, title: 'a | <b>'"))
    lines = dpcli("plan", new, "--diff", old, "--format", "md").succeeded().out.splitlines()
    assert lines[0] == "### d: what changes"
    assert "- statistics.people.epsilon: 0.2 -\\> 0.5" in lines
    assert "- statistics.people.title: added a \\| \\<b\\>" in lines
    assert "| statistic | change | query | epsilon | rho | error | mechanism |" in lines
    assert any(line.startswith("**Weaker:** ") for line in lines)
    for words in (("--format", "md"), ("--diff", old, "--format", "html")):
        assert dpcli("plan", new, *words).status == 2
    assert dpcli("plan", new, "--diff", old, "--format", "md", "--json").status == 2


QUALITY = "{epsilon: 0.2, min_rows: 100, min_readable: 0.9}"


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        ("none", "`quality` is removed"),
        (QUALITY.replace("0.2", "0.1"), "`quality` has epsilon 0.1 instead of 0.2"),
        (QUALITY.replace("100", "99"), "`quality` has `min_rows` 99 instead of 100"),
        (QUALITY.replace("min_rows: 100, ", ""), "`quality` has no `min_rows`"),
        (QUALITY.replace("0.9", "0.8"), "`quality` has `min_readable` of age 0.8 instead of 0.9"),
        (QUALITY.replace("0.9", "{age: 0.9}"), "`quality` has no `min_readable` of sex"),
    ],
)
def test_a_weaker_check_is_noticed(dpcli: Command, old: Path, now: str, reason: str) -> None:
    """A check that is removed, has less epsilon or lower minimums fails; a stricter one passes."""
    check = edit(old, ("statistics:", f"quality: {QUALITY}\nstatistics:"), to=old)
    new = changed(check, (QUALITY, now))
    outcome = dpcli("plan", new, "--diff", check, "--fail-on-weaker")
    assert outcome.status == 3 and reason in outcome.err
    stricter = changed(check, (QUALITY, QUALITY.replace("100", "101")))
    assert dpcli("plan", stricter, "--diff", check, "--fail-on-weaker").status == 0


def test_a_weaker_spec_can_fail_a_pull_request(dpcli: Command, old: Path) -> None:
    """Exit 3 with every reason; a stronger spec and an equal one pass."""
    weaker = changed(
        old,
        ("epsilon: 0.2", "epsilon: 0.5"),
        ("epsilon: 3", "epsilon: 4"),
        ("add-remove", "change-one"),
    )
    outcome = dpcli("plan", weaker, "--diff", old, "--fail-on-weaker")
    assert outcome.status == 3
    assert outcome.err.count("error[weaker-privacy]") >= 3
    assert "`neighbors` was add-remove and is change-one" in outcome.err
    assert "the budget allows epsilon 4 instead of 3" in outcome.err
    assert dpcli("plan", weaker, "--diff", old).status == 0
    facts = dpcli("plan", weaker, "--diff", old, "--json").json
    assert len(facts["weaker"]) >= 3 and facts["statistics"][0]["epsilon"] == [0.2, 0.5]
    assert dpcli("plan", old, "--diff", old, "--fail-on-weaker").status == 0
    stronger = changed(old, ("epsilon: 0.2", "epsilon: 0.05"))
    assert dpcli("plan", stronger, "--diff", old, "--fail-on-weaker").status == 0


def test_fail_on_weaker_needs_an_older_spec(dpcli: Command, old: Path) -> None:
    """The older spec must be named, and must be a spec."""
    assert dpcli("plan", old, "--fail-on-weaker").status == 2
    missing = dpcli("plan", old, "--diff", old.with_name("none.yaml"))
    assert missing.status == 3 and "does not exist" in missing.err


def test_pld_without_its_package_names_the_installation(
    dpcli: Command, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan with pld is refused; a comparison lists the others."""
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.pld_pmf", None)
    refused = dpcli("plan", changed(old, ("composition: zcdp", "composition: pld")))
    assert refused.status == 3
    assert "error[package-missing]" in refused.err and "pip install '.[pld]'" in refused.err
    outcome = dpcli("plan", old, "--compare")
    assert outcome.status == 0 and "pip install '.[pld]'" in outcome.out


@pytest.mark.parametrize(
    ("delta", "words"),
    [
        # e / (1 + e) = 0.73105..., and 10% becomes 1/(1 + 9/e) = 0.23197... at most.
        ((), ("50% 26.8% 73.2%", "10% 3.92% 23.2%", "5% 13.6%", "in at most 73.2% with it",
              "at most 6.39 times itself")),
        # 1/(1 + 9/e^1.1) = 0.25027..., and 1e6 (1 - exp(-0.1))/(1 + exp(-1.1)) = 71396.7...
        # At distance two: 1/(1 + 9/e^2.1), 1e6/(1 + e) (1 - exp(-0.1))/(1 + exp(-2.1)) = 22801.2...
        (("--delta", "1e-6"), ("10% 3.56% 25.1%", "at most 1 in 71,396", "10% 1.34% 47.6%",
                               "at most 1 in 22,801", "plus 1e-6.")),
    ],
)  # fmt: skip
def test_explain_privacy_shows_what_an_epsilon_means(
    delta: tuple[str, ...], words: tuple[str, ...], dpcli: Command
) -> None:
    """Beliefs, tests, guesses and changes follow the formulas; a delta widens them."""
    text = " ".join(dpcli("explain", "privacy", "--epsilon", "1", *delta).succeeded().out.split())
    for said in words:
        assert said in text
    assert ("times itself" in text) is (not delta)


def test_explain_privacy_takes_any_budget(dpcli: Command) -> None:
    """From almost no loss to no protection, without an error."""
    for epsilon in ("1e-12", "0.1", "20", "1000"):
        for delta in ("0", "1e-18", "0.999"):
            dpcli("explain", "privacy", "--epsilon", epsilon, "--delta", delta).succeeded()
    assert dpcli("explain", "privacy", "--epsilon", "-1").status == 2
    assert dpcli("explain", "count", "--epsilon", "1").status == 2


def test_fail_on_weaker_compares_noise_and_not_totals(dpcli: Command, old: Path) -> None:
    """Less noise is weaker even if the total is smaller, and more noise is not weaker."""
    gaussian = "  - {name: ages, statistic: mean, column: age, mechanism: gaussian, rho: "
    base = SPEC[: SPEC.index("  - {name: people")]
    zcdp, pld = old.with_name("zcdp.yaml"), old.with_name("pld.yaml")
    zcdp.write_text(f"{base}{gaussian}0.02}}\n", encoding="utf-8")
    text = f"{base}{gaussian}0.0228}}\n".replace("composition: zcdp", "composition: pld")
    pld.write_text(text, encoding="utf-8")
    spent = [
        dpcli("plan", path, "--json").json["privacy"]["spent"]["epsilon"] for path in (zcdp, pld)
    ]
    assert spent[1] < spent[0]
    assert dpcli("plan", pld, "--diff", zcdp, "--fail-on-weaker").status == 3
    assert dpcli("plan", zcdp, "--diff", pld, "--fail-on-weaker").status == 0


def test_a_difference_is_checked_against_the_budget(dpcli: Command, old: Path) -> None:
    """A spec that exceeds its budget exits 5, with and without a comparison."""
    over = changed(old, ("epsilon: 0.2", "epsilon: 9"))
    assert dpcli("plan", over).status == dpcli("plan", over, "--diff", old).status == 5
    assert dpcli("plan", old, "--diff", old, "--compare").status == 2


@pytest.mark.extended
def test_a_little_more_noise_is_not_weaker(dpcli: Command, old: Path) -> None:
    """Neither rounding in a search nor another way to the same epsilon fails a pull request."""
    base = SPEC[: SPEC.index("  - {name: people")]
    before, after = old.with_name("a.yaml"), old.with_name("b.yaml")
    for path, error in ((before, 25), (after, 26)):
        path.write_text(
            f"{base}  - {{name: n, statistic: count, mechanism: auto, error: {error}}}\n"
            "  - {name: m, statistic: mean, column: age, mechanism: auto, share: 1}\n",
            encoding="utf-8",
        )
    assert dpcli("plan", after, "--diff", before, "--fail-on-weaker").status == 0
    assert dpcli("plan", before, "--diff", after, "--fail-on-weaker").status == 0


class Panic(BaseException):
    """As native code raises it."""


@pytest.mark.parametrize("error", [RuntimeError(), Panic(), DataError.about("data-unreadable")])
def test_an_interruption_keeps_its_status_in_any_library(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """A library that catches the interruption and raises another error hides nothing."""

    def wrapped(_words: list[str], *, standalone_mode: bool, prog_name: str) -> None:
        try:
            main._stop(15, None)
        except StoppedBySignal:
            raise error from None

    monkeypatch.setattr(main, "_signals", [])
    monkeypatch.setattr(main, "_parser", lambda: wrapped)
    assert main.run() == 143


TENTHS = """
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}
columns: {}
statistics: [{name: n, statistic: count, epsilon: 0.3}]
"""


def account_facts(dpcli: Command, *words: str | Path) -> tuple[object, object, bool]:
    """What was spent before, what is left after, and whether a release fits, from the JSON."""
    facts = dpcli("plan", *words, "--json").json
    before, left = facts["privacy"]["before"], facts["privacy"]["remaining"]
    return before and before["epsilon"], left and left["epsilon"], facts["fits"]


def test_a_plan_states_the_balance_before_and_after(dpcli: Command, tmp_path: Path) -> None:
    """`before` is what was spent, `remaining` what is left after; null after a refusal."""
    spec, data = written(tmp_path, TENTHS, "a\n1\n")
    assert "which it creates" in dpcli("plan", spec).out
    assert not list(tmp_path.glob("dpcli-ledger*"))
    for before, left in ((0, 0.7), (0.3, 0.4), (0.6, 0.1)):
        assert account_facts(dpcli, spec) == (before, left, True)
        assert dpcli("release", spec, data, "-q").status == 0
    assert account_facts(dpcli, spec) == (0.9, None, False)
    assert "epsilon 0.3 of 1 allowed, 0.1 left: does not fit" in dpcli("plan", spec).out


def test_a_window_is_planned_on_the_day_that_is_named(dpcli: Command, tmp_path: Path) -> None:
    """Without a day, an empty window is shown, and the plan is refused like a release."""
    spec, data = written(tmp_path, TENTHS, "a\n1\n")
    book = ("--ledger", tmp_path / "l.sqlite")
    dpcli("ledger", "init", tmp_path / "l.sqlite")
    dpcli("ledger", "open", "d", "--epsilon", "1", "--window", "3", *book)
    day = ("--period", "2026-03-04")
    assert dpcli("release", spec, data, "-q", *book, *day).status == 0
    without = dpcli("plan", spec, *book)
    assert without.status == 6 and "error[period-required]" in without.err
    assert account_facts(dpcli, spec, *book) == (0, 0.7, False)
    assert account_facts(dpcli, spec, *book, *day) == (0.3, 0.4, True)
    assert account_facts(dpcli, spec, *book, "--period", "2026-03-07") == (0, 0.7, True)
    # Three of 0.3 fit in a window with nothing else; the third day from here has one already.
    for start, most in (("2026-03-07", 1_000_000), ("2026-03-04", 2), ("2026-03-02", 2)):
        words = ("plan", spec, *book, "--period", start, "--times", "3", "--json")
        assert dpcli(*words).json["times"]["most"] == most


def test_the_error_of_a_mean_is_shown_for_a_number_of_rows(dpcli: Command, old: Path) -> None:
    """It falls with the number, and is that of typical values, three quarters up their bounds."""
    spec = changed(old, ("mechanism: gaussian, rho: 0.01", "epsilon: 1"))
    errors = []
    for rows in ("1000", "2000"):
        (line,) = re.findall(
            r"ages: mean of age; about \+-(.*) at .* rows, where it is 75;",
            dpcli("plan", spec, "--rows", rows).out,
        )
        errors.append(float(line))

    # The deviation is 2 sqrt(1 + 1/4) 50/1000, of which 95% of cases are within about 2.1.
    assert errors[0] == pytest.approx(2.1 * 2 * 1.25**0.5 * 50 / 1000, rel=0.03)
    assert errors[1] < errors[0] / 1.9
    assert "ages: mean of age; with an error that depends on the number" in dpcli("plan", spec).out


def test_errors_of_different_units_are_shown_apart(dpcli: Command, old: Path) -> None:
    """Each item has its error and unit, at the rows of a group, with what typical values are."""
    several = "statistic: describe, column: age, by: [sex], epsilon: 1"
    spec = changed(old, ("statistic: mean, column: age, mechanism: gaussian, rho: 0.01", several))
    out = dpcli("plan", spec, "--rows", "1000").succeeded().out

    (errors,) = re.findall(r"6 numbers, each with an error of its own: (.*);", out)
    assert re.fullmatch(
        r"count about \+-\S+ rows, mean about \+-\S+, std about \+-\S+ at 500 rows in each of 2 "
        r"equal groups, for typical values",
        errors,
    )
    assert out.count("a mean 75% of the way from the lower to the upper bound") == 1


def test_limits_that_halve_an_error_are_advised(dpcli: Command, old: Path) -> None:
    """Of a person in up to 50 groups, a plan says what `max_groups: 1` would give; once."""
    people = "unit: {column: who, max_groups: 50}"
    spec = changed(
        old, ("unit: row", people), ("columns:", "columns:\n  who: {type: id}"),
        ("statistic: count, where: {sex: f}", "statistic: count_distinct, by: [sex]"),
        ("statistic: count, where: {sex: m}", "statistic: count_distinct"),
        ("statistic: mean, column: age, mechanism: gaussian, rho: 0.01",
         "statistic: count_distinct, epsilon: 1"),
    )  # fmt: skip
    lines = [line for line in dpcli("plan", spec).succeeded().out.splitlines() if "advice:" in line]

    (line,) = lines
    assert line == (
        "advice: people: `max_groups: 1` in this entry would give an error of about 15 instead of "
        "30; it is right for people with rows in one group, and leaves out the rest of others"
    )


def test_people_in_one_group_are_advised_to_say_so(dpcli: Command, tmp_path: Path) -> None:
    """Where a key of rows may put a person in many groups, a plan says what one group gives."""
    spec = tmp_path / "orders.yaml"
    text = (
        "dpcli: 1\ndataset: orders\n"
        "privacy: {unit: {column: order}, neighbors: add-remove, budget: {epsilon: 3}}\n"
        "columns:\n  order: {type: id}\n  hour: {type: integer, bounds: [0, 23]}\n"
        "  price: {type: integer, bounds: [0, 50]}\n"
        "people: {basket: {sum: price, bounds: [0, 200]}, at: {most: hour}}\n"
        "statistics:\n"
        "  - {name: sales, statistic: sum, column: basket, by: [%s], epsilon: 1}\n"
    )
    spec.write_text(text % "hour")
    advised = "advice: sales: `max_groups: 1` in this entry would give an error of about 599 "
    assert advised in dpcli("plan", spec).succeeded().out

    one_hour = (text % "hour").replace("[hour]", "[hour], max_groups: 1")
    for one_group in (one_hour, text % "at"):
        spec.write_text(one_group)
        out = dpcli("plan", spec).succeeded().out
        assert "about +-599" in out and "advice:" not in out


def test_a_plan_warns_of_a_failed_check_that_leaves_too_little(dpcli: Command, old: Path) -> None:
    """A quality check and the release fit once, but not after a failed check."""
    check = ("statistics:", "quality: {epsilon: 0.2, min_rows: 5}\nstatistics:")
    plain = (WITHOUT_DELTA, ("mechanism: gaussian, rho: 0.01", "epsilon: 0.4"))
    warning = "warning: a failed quality check costs epsilon 0.2"

    assert warning not in dpcli("plan", changed(old, check, *plain)).out
    assert warning in dpcli("plan", changed(old, check, ("epsilon: 3", "epsilon: 0.9"), *plain)).out


def test_runs_are_counted_for_local_specs(dpcli: Command, tmp_path: Path) -> None:
    """A collection is counted like a release: two of 0.4 fit in a budget of 1."""
    spec = tmp_path / "local.yaml"
    spec.write_text(
        "dpcli: 1\nmodel: local\ndataset: d\n"
        "privacy: {unit: row, neighbors: change-one, budget: {epsilon: 1}}\n"
        "columns: {age: {type: integer, bounds: [0, 9], missing: 0}}\n"
        "responses: [{column: age, mechanism: laplace, epsilon: 0.4}]\n",
        "utf-8",
    )
    assert dpcli("plan", spec, "--times", "2").status == 0
    refused = dpcli("plan", spec, "--times", "3")
    assert refused.status == 5
    assert "times   3 runs need epsilon 1.2; 2 fit" in refused.out
    assert "error[too-many-runs]" in refused.err


def test_a_comparison_of_specs_reads_no_ledger(
    dpcli: Command, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pull request is checked without a ledger, and options about one are refused."""
    monkeypatch.setenv("DPCLI_LEDGER_MUST_EXIST", "1")
    assert dpcli("plan", old).status == 6
    assert dpcli("plan", old, "--diff", old).status == 0
    for words in (("--times", "2"), ("--period", "2026-01-01")):
        assert dpcli("plan", old, "--diff", old, *words).status == 2

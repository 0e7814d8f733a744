"""Questions about what is released of the columns."""

from __future__ import annotations

import re
from fractions import Fraction

from dpcli.cli.asking import Asker, Refused, refuse, yes_or_no
from dpcli.columns import CategoryColumn, Column, NumericColumn
from dpcli.messages import shown
from dpcli.privacy.decimals import decimal_places, decimal_text
from dpcli.spec.answered import Answers, as_number
from dpcli.spec.draft import as_word
from dpcli.spec.findings import similar
from dpcli.spec.load import load_spec

OFFERED = ("mean", "sum", "histogram", "median")
"""What is asked of numbers."""

BINS = 10
"""The approximate number of bins that is proposed."""

MOST_CANDIDATES = 1000
"""The approximate maximum number of candidates of a median."""

NONE = "none"


def ask_statistics(asker: Asker, answers: Answers) -> None:
    """Asks what is released, until there is something."""
    columns = load_spec(
        Answers(
            unit=answers.unit, columns=answers.columns, entries=["name: n, statistic: count"]
        ).text("1"),
        "answers",
    ).columns
    people = answers.unit != "row"
    asker.say(
        "Statistics. Each takes its part of the budget: the fewer, the less noise has each. "
        f"Of numbers: {', '.join(OFFERED)}, or {NONE}."
    )
    while not answers.entries:
        _ask_total(asker, answers, people=people)
        for column in columns:
            if isinstance(column, CategoryColumn):
                _ask_groups(asker, answers, column, people=people)
            elif isinstance(column, NumericColumn):
                _ask_numbers(asker, answers, column)
        if not answers.entries:
            asker.say("A spec needs at least one statistic.")


def _ask_total(asker: Asker, answers: Answers, *, people: bool) -> None:
    """How many there are in all."""
    what = "people" if people else "rows"
    if asker.ask(f"The number of {what}", yes_or_no, "yes"):
        statistic = "count_distinct" if people else "count"
        _add(answers, f"name: {what}, statistic: {statistic}")


def _ask_groups(asker: Asker, answers: Answers, column: Column, *, people: bool) -> None:
    """How many there are of each label."""

    def check(text: str) -> None:
        if yes_or_no(text):
            statistic = "count_distinct" if people else "count"
            name = _name(answers, "by", column.name)
            _add(answers, f"name: {name}, statistic: {statistic}, by: [{as_word(column.name)}]")

    what = "people" if people else "rows"
    asker.ask(f"The number of {what} for each {shown(column.name)}", check, "yes")


def _ask_numbers(asker: Asker, answers: Answers, column: NumericColumn) -> None:
    """Means, sums and distributions."""
    offered = ("histogram", "median") if column.kind == "date" else OFFERED

    def check(text: str) -> tuple[str, ...]:
        words = [NONE if word == "no" else word for word in re.split(r"[,\s]+", text.casefold())]
        for word in words:
            if word not in (*offered, NONE):
                near = similar(word, offered)
                hint = f"did you mean {near}?" if near else f"there are {', '.join(offered)}"
                raise Refused([f"{shown(word)} is not offered for this column; {hint}"])
        return tuple(word for word in dict.fromkeys(words) if word != NONE)

    default = "histogram" if column.kind == "date" else "mean"
    for statistic in asker.ask(f"Statistics of {shown(column.name)}", check, default):
        name = _name(answers, statistic, column.name)
        entry = f"name: {name}, statistic: {statistic}, column: {as_word(column.name)}"
        if statistic == "histogram":
            _ask_bins(asker, answers, column, entry)
        else:
            _add(answers, entry + (_coarse(column) if statistic == "median" else ""))


def _ask_bins(asker: Asker, answers: Answers, column: NumericColumn, entry: str) -> None:
    """How the column of a histogram is cut."""

    def check(text: str) -> None:
        _add(answers, f"{entry}, bins: {{width: {as_number(text)}}}")

    days = " in days" if column.kind == "date" else ""
    width = _multiple(column, BINS)
    asker.ask(f"  Width of its bins{days}", check, decimal_text(width, decimal_places(width)))


def _coarse(column: NumericColumn) -> str:
    """Candidates for a median, where the column has very many values."""
    if column.upper - column.lower <= MOST_CANDIDATES:
        return ""
    step = _multiple(column, MOST_CANDIDATES)
    return f", candidates: {{step: {decimal_text(step, decimal_places(step))}}}"


def _multiple(column: NumericColumn, parts: int) -> Fraction:
    """A round multiple of the step that cuts the column into about `parts` parts."""
    wanted = max(1, (column.upper - column.lower) // parts)
    digits = int("1" + "0" * (len(str(wanted)) - 1))
    times = max(nice * digits for nice in (1, 2, 5) if nice * digits <= wanted)
    return times * column.step


def _name(answers: Answers, *words: str) -> str:
    """A name for an entry, made of plain letters, that no other entry has."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", "_".join(words)).strip("_")[:90]
    taken = {entry.split(",", 1)[0].removeprefix("name: ") for entry in answers.entries}
    names = [plain, *(f"{plain}_{count}" for count in range(2, len(taken) + 3))]
    return next(name for name in names if name not in taken)


def _add(answers: Answers, entry: str) -> None:
    """One more entry; Refused, in the loader's words, if it is none."""
    answers.entries.append(entry)
    problems = answers.problems()
    if problems:
        answers.entries.pop()
    refuse(problems)

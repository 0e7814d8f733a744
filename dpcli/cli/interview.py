"""`dpcli init --ask`: the questions, in the order of a spec.

All that is known of the file is its header. Every answer is tried on the loader of specs,
and asked for again in the loader's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.cli.asking import Asker, Refused, one_of, refuse, yes_or_no
from dpcli.cli.interview_columns import ask_column, texts_between_commas
from dpcli.cli.interview_statistics import ask_statistics
from dpcli.messages import shown
from dpcli.numbers import NotReadable, number
from dpcli.spec.answered import Answers, shares
from dpcli.spec.column_types import COLUMN_TYPES
from dpcli.spec.draft import as_word, csv_section, twins_of, unfit
from dpcli.spec.findings import similar

SKIP, DONE = "skip", "done"

TYPES = tuple(shape.kind for shape in COLUMN_TYPES if shape.kind != "id")


def are_names(asker: Asker, count: int) -> bool:
    """Whether the first line of the file names its columns; until then nothing of it is shown."""
    asker.say(
        f"The first line of the file has {count:,} cells. If it names the columns, its cells are "
        "shown here and written into the spec. If it is a record, nothing of it is shown, and "
        "you write the names."
    )
    return asker.ask("Does the first line name the columns, yes or no", yes_or_no)


def ask_names(asker: Asker, count: int) -> tuple[str, ...]:
    """The names of the columns of a file without a header line."""

    def check(text: str) -> tuple[str, ...]:
        names = tuple(texts_between_commas(text))
        if len(names) != count:
            raise Refused([f"these are {len(names):,} names, and the file has {count:,} columns"])
        refuse(Answers(csv=csv_section({}, names)).problems())
        return names

    asker.say("The file has no header line. Take the names of its columns from a code book.")
    question = f"Names of the {count:,} columns in their order, with commas between"
    return asker.ask(question, check)


def interview(asker: Asker, header: Sequence[str], name: str, csv: str) -> str:
    """The spec that the answers make; `csv` is the line that says how files are written."""
    answers = Answers(csv=csv)
    asker.say(
        "Every answer is a public choice: from a code book, a law or common sense, never "
        "looked up in the data. Enter takes what stands in brackets; Ctrl-C stops, and "
        "nothing is written. `dpcli explain WORD` explains any word."
    )
    _ask_dataset(asker, answers, name)
    _ask_privacy(asker, answers, header)
    _ask_columns(asker, answers, header)
    ask_statistics(asker, answers)
    _ask_quality(asker, answers)
    count = len(answers.entries)
    asker.say(
        "Spent budget is never refunded. If this spec is to be released several times, for "
        "example with new data each month, the budget must last for all releases."
    )
    releases = asker.ask("Number of releases that the budget must last for", _whole, "1")
    budget = Fraction(number(answers.epsilon))
    price, check = shares(budget, count, releases, checked=answers.checked)
    asker.say(
        f"{count} statistic{'s' * (count != 1)} with epsilon {price} each"
        + (f", and {check} for the quality check" if answers.checked else "")
        + (f", for {releases:,} releases." if releases > 1 else ".")
    )
    return answers.text(price, check)


def _ask_quality(asker: Asker, answers: Answers) -> None:
    """The least number of rows of a complete file."""

    def check(text: str) -> None:
        answers.min_rows = "" if text == SKIP else _bare(text)
        refuse(answers.problems())

    asker.say(
        "A release is stopped, at a small cost, when noisy counts show that the file is incomplete "
        "or that fewer than 80% of the cells of a column can be read as declared."
    )
    asker.ask("Least number of rows of a complete file, or skip", check, SKIP)


def _ask_dataset(asker: Asker, answers: Answers, name: str) -> None:
    """The ledger account."""

    def check(text: str) -> None:
        answers.dataset = text
        refuse(answers.problems())

    probe = Answers(dataset=name)
    asker.say("The ledger keeps an account of what was revealed about each dataset.")
    asker.ask("Name of the dataset", check, "" if probe.problems() else name)


def _ask_privacy(asker: Asker, answers: Answers, header: Sequence[str]) -> None:
    """Who is protected, against what, and how far."""
    twins = twins_of(header)

    def check_unit(text: str) -> str:
        if text == "row" or text in header:
            if text != "row" and unfit(text, twins):
                raise Refused([f"this column cannot be declared: {unfit(text, twins)}"])
            return text
        near = similar(text, ["row", *header])
        hint = f"; did you mean {shown(near)}?" if near else ""
        raise Refused([f"the header has no column {shown(text)}{hint}"])

    def check_most(text: str) -> None:
        answers.unit = f"{{column: {as_word(column)}, max_rows: {_bare(text)}}}"
        refuse(answers.problems())

    def check_epsilon(text: str) -> None:
        answers.epsilon = _bare(text)
        refuse(answers.problems())

    asker.say(
        "Who is protected? `row` is right only if no person has two rows. Otherwise name the "
        "column that says whose row it is."
    )
    column = asker.ask("row, or a column of ids", check_unit, "row")
    if column != "row":
        answers.columns[column] = "{type: id}"
        asker.say(
            "The maximum number of rows used per person; which ones is chosen at random. Fewer "
            "rows need less noise, and leave more rows out."
        )
        asker.ask("Rows of a person at most", check_most, "3")
    asker.say(
        "add-remove: whether a person is in the data is protected. change-one: the content of a "
        "person's data is protected; the number of rows, or of people, is public."
    )
    answers.neighbors = asker.ask(
        "Neighbors, add-remove or change-one", one_of("add-remove", "change-one"), "add-remove"
    )
    asker.say(
        "The budget is the most that all releases together may reveal about one person. 1 is "
        "usual, less protects more: `dpcli explain privacy --epsilon 1`."
    )
    asker.ask("Budget epsilon", check_epsilon, "1")


def _ask_columns(asker: Asker, answers: Answers, header: Sequence[str]) -> None:
    """What each column may hold."""
    asker.say(
        f"Columns. {SKIP}: not used. integer: whole numbers. number: with decimals. category: "
        f"texts from a list. boolean: two texts. date: as 2024-12-31. {DONE}: skip the rest."
    )
    twins = twins_of(header)
    check = one_of(SKIP, *TYPES, "id", DONE)
    for name in header:
        if name in answers.columns or unfit(name, twins):
            continue
        kind = asker.ask(f"Type of {shown(name)}", check, SKIP)
        if kind == DONE:
            return
        if kind != SKIP:
            ask_column(asker, answers, name, kind)


def _bare(text: str) -> str:
    """A number as it was written; Refused if it is none."""
    try:
        number(text)
    except NotReadable as refusal:
        raise Refused([f"{shown(text)} is not a number; {refusal.advice}"]) from None
    return text


def _whole(text: str) -> int:
    """A number of releases."""
    if text.isascii() and text.isdigit() and int(text[:9]) >= 1 and len(text) <= 6:
        return int(text)
    raise Refused(["answer a whole number from 1 to 999,999"])

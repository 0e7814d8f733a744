"""How the words of a user appear in messages: quoted, harmless and short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dpcli.diagnostic import one_line
from dpcli.privacy.decimals import decimal_places, decimal_text

SHOWN = 60
"""Longer words are cut: a message must stay one line that a person reads."""

LISTED = 20
"""Longer lists are cut, for the same reason."""

COMPARED = 500
"""Above so many choices no similar one is looked for: the time would show."""


def shown(text: str) -> str:
    """A text of the user in backticks, cut, with nothing that acts on a terminal."""
    return f"`{inline(text)}`"


def inline(text: str) -> str:
    """The same without the backticks, to stand inside an example."""
    cut = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
    return one_line(cut)


def misread(text: str, what: str) -> str:
    """What spreadsheets do with a text that begins as formulas do."""
    if text.startswith("'"):
        return f"spreadsheets would hide the first character of {what}"
    return f"spreadsheets would read {what} as a formula"


def a_column(kind: str) -> str:
    """A kind of column, with its article."""
    article = "an" if kind.startswith("i") else "a"
    return f"{article} `{kind}` column"


def listed(words: Iterable[str], last: str = "and") -> str:
    """`a`, `b` and `c`; what exceeds a score is counted."""
    given = words if isinstance(words, Sequence) else list(words)
    every = [shown(word) for word in given[:LISTED]]
    if len(given) > LISTED:
        return f"{', '.join(every)} and {len(given) - LISTED} more"
    if len(every) < 2:
        return "".join(every)
    return f"{', '.join(every[:-1])} {last} {every[-1]}"


def similar(word: str, choices: Iterable[str]) -> str | None:
    """The choice that was probably meant: another case, or one or two slips away."""
    every = choices if isinstance(choices, Sequence) else list(choices)
    if len(every) > COMPARED or not 2 <= len(word) <= SHOWN:
        return None
    folded = word.casefold().replace("-", "_")
    for choice in every:
        if choice.casefold().replace("-", "_") == folded:
            return choice
    for choice in every:
        if min(len(word), len(choice)) > 2 and (choice.startswith(word) or word.startswith(choice)):
            return choice
    limit = 1 if len(word) < 7 else 2
    near = [(slips(word, choice, limit), choice) for choice in every]
    best = min(near, key=lambda pair: pair[0], default=(limit + 1, ""))
    return best[1] if best[0] <= limit else None


def slips(one: str, other: str, limit: int) -> int:
    """Letters added, lost, changed or swapped, counted up to `limit` + 1."""
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row, older = row, [i], before
        before = last
        for j, b in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]


def plain(value: Fraction) -> str:
    """A decimal without exponent."""
    return decimal_text(value, decimal_places(value))

"""`dpcli explain privacy`: what an epsilon means, in plain words."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcli.privacy.loss import Loss

PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
ALARMS = (0.001, 0.01, 0.05, 0.1)

WIDTH = 90


def print_meaning(loss: Loss) -> None:
    """What anybody can learn of one person from answers with that loss."""
    from dpcli.privacy.loss import loss_text

    sys.stdout.write(f"What {loss_text(loss)} means for one person\n\n")
    for part in _parts(loss):
        text = part if part.startswith(" ") else fill(part, WIDTH) + "\n"
        sys.stdout.write(text + "\n")


def _parts(loss: Loss) -> Iterator[str]:
    """Paragraphs, and tables that are moved in."""
    from dpcli.privacy.meaning import beliefs, change, factor, guess, power

    yield (
        "Whatever was published could as well have come from data without this person, or with "
        f"other data of theirs: no output is more than {_times(factor(loss))} as likely under one "
        "as under the other."
    )
    yield (
        "What somebody believed of the person before (that they are ill, say, or in the data at "
        "all), and what they can believe after seeing everything:"
    )
    rows = [[_percent(prior), *map(_percent, beliefs(loss, prior))] for prior in PRIORS]
    yield _table(("before", "after, at least", "after, at most"), rows)
    yield (
        "The best test whether the person is in the data. If it errs that often about people who "
        "are not, it finds those who are at most so often:"
    )
    tests = [(_percent(alarm), _percent(power(loss, alarm))) for alarm in ALARMS]
    yield _table(("false alarms", "found, at most"), tests)
    yield (
        "Guessing which of two people, equally likely, is in the data: right in 50% without the "
        f"publication, in {_percent(guess(loss))} with it at most."
    )
    yield (
        "Any belief, compared with what it would be if the person had given other data, changes "
        f"by {_times(change(loss))} itself at most (e^(2 epsilon) - 1)."
    )
    if loss.delta:
        yield (
            f"Delta: with a probability of 1 in {round(1 / loss.delta):,} all this may fail, and "
            "anything be learnt of the person. Keep it far below one divided by the number of "
            "people."
        )
    yield (
        "This holds whatever else is known, and for anything that is ever computed from the "
        "publication. It does not hide what is true of everybody: that smoking harms smokers is "
        "learnt with or without any one of them."
    )


def _table(header: tuple[str, ...], rows: list[list[str]] | list[tuple[str, str]]) -> str:
    """A table, moved in."""
    from dpcli.cli.console import plain_table

    text = plain_table(header, rows, range(len(header)))
    return "".join(f"    {line}\n" for line in text.splitlines())


def _times(factor: float) -> str:
    """A factor with few digits."""
    if factor > 1e6:
        return "a million times or more"
    return f"{factor:.3g} times" if factor < 1000 else f"{factor:,.0f} times"


def _percent(share: float) -> str:
    """A share with few digits, and no more certainty than there is."""
    if share < 1e-6:
        return "under 0.0001%"
    if share > 1 - 1e-6:
        return "over 99.9999%"
    digits = 3 if share < 0.99 else 6
    return f"{100 * share:.{digits}g}%"

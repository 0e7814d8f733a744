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
    from dpcli.privacy.meaning import (
        EXCESS,
        at_most,
        beliefs,
        change,
        factor,
        failure,
        guess,
        one_in,
        percent_at_least,
        percent_at_most,
        power,
        times_at_most,
    )

    plus = f", plus {at_most(loss.delta)}" if loss.delta else ""
    yield (
        "Whatever was published could as well have come from neighbouring data: without this "
        "person (`neighbors: add-remove`), or with other data of theirs (`change-one`). No set of "
        f"outputs is more than {times_at_most(factor(loss))} as likely under one as under the "
        f"other{plus}."
    )
    yield (
        "What somebody believed before (that the person is in the data, or with change-one "
        "that they are ill, say), and what they can believe after seeing everything:"
    )
    rows = [
        [f"{100 * prior:g}%", f"{percent_at_least(low)}%", f"{percent_at_most(high)}%"]
        for prior in PRIORS
        for low, high in [beliefs(loss, prior)]
    ]
    yield _table(("before", "after, at least", "after, at most"), rows)
    yield (
        "With add-remove, whether a person who is in the data is ill is two such steps away: "
        "with them, without them, with other data of theirs. Read that at twice the epsilon."
    )
    yield (
        "The best test whether the person is in the data. If it errs that often about people who "
        "are not, it finds those who are at most so often:"
    )
    tests = [(f"{100 * alarm:g}%", f"{percent_at_most(power(loss, alarm))}%") for alarm in ALARMS]
    yield _table(("false alarms", "found, at most"), tests)
    yield (
        "Guessing which of two neighbouring data are the true ones, equally likely before: right "
        f"in 50% without the publication, in {percent_at_most(guess(loss))}% with it at most."
    )
    yield (
        "Any belief, compared with what it would be after the neighbouring data, changes by "
        f"{times_at_most(change(loss))} itself at most (e^(2 epsilon) - 1)."
    )
    if loss.delta:
        yield (
            f"Delta: outputs that tell more than epsilon + {EXCESS:g} (which the first table and "
            f"the last change allow for) come up with a probability of {one_in(failure(loss))} at "
            "most, and then anything may be learnt of the person. Keep delta far below one divided "
            "by the number of people."
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

"""The problems of one text with their places, and how messages quote it.

A place that is spoiled (a placeholder, an alias) has been reported once; what
later readers find at that place is a consequence, and is not reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from dpcli.errors import Place, Problem, problem
from dpcli.messages import SHOWN, listed, shown, words
from dpcli.spec.nodes import Span

MOST = 100
"""No one fixes more problems than this at once."""

ENOUGH = 1000
"""After this number, looking for more would only cost time."""


class Findings:
    """Everything wrong with one text, in the order of its lines."""

    def __init__(self, source: str, lines: list[str]) -> None:
        self.source, self.lines = source, lines
        self._found: list[tuple[Span, Problem]] = []
        self._spoiled: set[tuple[int, int]] = set()
        self._count = 0

    def __bool__(self) -> bool:
        return self._count > 0

    @property
    def full(self) -> bool:
        """Whether readers may stop: the text has more problems than are reported."""
        return self._count >= ENOUGH

    def place(self, span: Span) -> Place:
        """The span with its source line, held inside the text."""
        line = min(max(span.line, 1), max(len(self.lines), 1))
        text = self.lines[line - 1] if self.lines else ""
        column = min(max(span.column, 1), len(text) + 1) if line == span.line else len(text) + 1
        length = max(1, min(span.length, len(text) - column + 1))
        return Place(self.source, line, column, length, text)

    def heard(self, span: Span) -> bool:
        """Whether more about this place would be noise."""
        return (span.line, span.column) in self._spoiled

    def add(self, code: str, message: str, hint: str, span: Span) -> None:
        """One more problem, unless its place is spoiled."""
        if self.heard(span):
            return
        self._count += 1
        # Texts with thousands of problems must not take seconds to refuse.
        if self._count <= ENOUGH:
            self._found.append((span, Problem(code, message, hint, self.place(span))))

    def report(self, code: str, span: Span, **facts: object) -> None:
        """One more problem, in the words of its template, unless its place is spoiled."""
        if not self.heard(span):
            self.add(code.partition(".")[0], *words(code, **facts), span)

    def report_unknown(
        self, code: str, word: str, choices: Iterable[str], span: Span, **facts: object
    ) -> None:
        """One more problem: a word that is none of the choices.

        The hint names the likeliest choice. Without one it is that of the template, or all.
        Templates may name the `word` and the `choices`.
        """
        if self.heard(span):
            return
        every = choices if isinstance(choices, Sequence) else list(choices)
        message, hint = words(code, **{"word": word, "choices": every, **facts})
        near = similar(word, every) if self._count < MOST else None
        if near:
            hint = f"did you mean {shown(near)}?"
        elif not hint and every:
            hint = f"use {'one of ' * (len(every) > 1)}{listed(every, 'or')}"
        self.add(code.partition(".")[0], message, hint, span)

    def spoil(self, code: str, span: Span, **facts: object) -> None:
        """A problem after which nothing more is said about its place."""
        self.report(code, span, **facts)
        self._spoiled.add((span.line, span.column))

    @property
    def problems(self) -> list[Problem]:
        """All problems by place, the first hundred in full."""
        found = [problem for _, problem in sorted(self._found, key=lambda pair: pair[0][:2])]
        if self._count <= MOST:
            return found
        more = problem("more-problems", count=self._count - MOST, than="more than " * self.full)
        return [*found[:MOST], more]


COMPARED = 500
"""Above this number of choices no similar one is looked for: it would take too long."""

LIKENESS, LIKENESS_OF_SHORT = 0.7, 0.66
"""The least share of letters in common; one slip in three letters leaves two thirds."""


def similar(word: str, choices: Iterable[str]) -> str | None:
    """The choice that was probably meant: another case, or most of its letters."""
    every = choices if isinstance(choices, Sequence) else list(choices)
    if len(every) > COMPARED or not 2 <= len(word) <= SHOWN:
        return None
    plain = {choice.casefold().replace("-", "_"): choice for choice in every}
    folded = word.casefold().replace("-", "_")
    if folded in plain:
        return plain[folded]
    for choice in every:
        if min(len(word), len(choice)) > 2 and (choice.startswith(word) or word.startswith(choice)):
            return choice
    least = LIKENESS if len(word) > 3 else LIKENESS_OF_SHORT
    return next(iter(get_close_matches(word, every, 1, least)), None)

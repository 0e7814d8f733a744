"""The problems found in one text, collected with their places.

A place that is spoiled (a placeholder, an alias) has been reported once; what
later readers find at that place is a consequence, and is not told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpcli.errors import Place, Problem
from dpcli.spec.nodes import Span
from dpcli.spec.wording import listed, shown, similar

MOST = 100
"""Nobody mends more problems than this at once."""

ENOUGH = 1000
"""After so many, looking for more would only cost time."""


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
        """Whether readers may stop: the text has more problems than are told."""
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

    def spoil(self, code: str, message: str, hint: str, span: Span) -> None:
        """A problem after which nothing more is said about its place."""
        self.add(code, message, hint, span)
        self._spoiled.add((span.line, span.column))

    def unknown(
        self,
        code: str,
        message: str,
        word: str,
        choices: Iterable[str],
        span: Span,
        *,
        otherwise: str = "",
    ) -> None:
        """A word that is none of the choices.

        The hint names the likeliest choice; without one it is `otherwise`, or all.
        """
        if self.heard(span) or self._count >= MOST:
            self.add(code, message, "", span)
            return
        every = choices if isinstance(choices, Sequence) else list(choices)
        near = similar(word, every)
        if near:
            hint = f"did you mean {shown(near)}?"
        elif otherwise or not every:
            hint = otherwise
        else:
            hint = f"use one of {listed(every, 'or')}" if len(every) > 1 else f"use {listed(every)}"
        self.add(code, message, hint, span)

    @property
    def problems(self) -> list[Problem]:
        """All problems by place, the first hundred in full."""
        found = [problem for _, problem in sorted(self._found, key=lambda pair: pair[0][:2])]
        if self._count <= MOST:
            return found
        more = Problem(
            "more-problems",
            f"{'more than ' * self.full}{self._count - MOST} other problems are not listed",
            "mend those above and check again",
        )
        return [*found[:MOST], more]

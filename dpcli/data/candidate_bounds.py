"""Bounds, or a limit on rows, that noisy counts choose among candidates."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from dpcli.data.steps import MAX_STEPS, require_whole_steps
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import ScalarNode
from dpcli.fields.values import Choice, Epsilon, ExactNumber, Number, invalid_value
from dpcli.numeric.exact import readable_text
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GridKind:
    """Candidate bounds that repeat in every power of a base: 1, 2, 5, 10, 20, 50.

    `firsts` are the candidates from one to below the `base`. A bin that lies k candidates beyond
    the last accepted one is accepted too if its count exceeds k times `decay` scales of the noise.
    `decay` is about three to four times the natural logarithm of `ratio`.
    """

    name: str
    summary: str
    base: int
    firsts: tuple[int, ...]
    decay: Fraction

    @property
    def ratio(self) -> float:
        """The ratio of two neighboring candidates, on average."""
        return float(self.base ** (1 / len(self.firsts)))


GRID_KINDS = (
    GridKind("1-2-5", "1, 2, 5, 10, 20, 50, and so on.", 10, (1, 2, 5), Fraction(31, 10)),
    GridKind("powers-of-2", "1, 2, 4, 8, and so on.", 2, (1,), Fraction(28, 10)),
    GridKind("powers-of-10", "1, 10, 100, and so on.", 10, (1,), Fraction(69, 10)),
)
"""Every kind of grid. Specs and reports call it a ladder."""


LadderName = Annotated[
    str, Choice("unknown-choice", lambda: {kind.name: kind.summary for kind in GRID_KINDS})
]
Cover = Annotated[Fraction, ExactNumber("bad-minimum.share", above=0, max_value=1)]

CHOICE_LINES = {"choose": "`choose: 1-2-5`", "epsilon": "`epsilon: 0.05`"}
"""The lines that messages propose for missing keys of a choice."""


class ChoiceModel(SectionModel):
    """What is chosen from noisy counts, up to an outermost value."""

    example: ClassVar[str]
    numbers: ClassVar[str]
    outermost_example: ClassVar[int]
    choose: LadderName
    epsilon: Epsilon
    cover: Cover = Fraction(1)

    def missing_line(self, key: str) -> str:
        return {**CHOICE_LINES, "up_to": f"`up_to: {self.outermost_example}`"}[key]

    @model_validator(mode="before")
    @classmethod
    def _require_form(cls, value: dict[str, object]) -> dict[str, object]:
        if "from_release" in value:
            release = value["from_release"]
            source = f" # chosen by {release}" if isinstance(release, str) else ""
            raise invalid_value("bounds-kept", path=("from_release",), line=cls.example + source)
        if not {field.alias or key for key, field in cls.model_fields.items()} & value.keys():
            line = f"`{cls.example}`, or `{{choose: 1-2-5, up_to: ..., epsilon: ...}}`"
            form = f"{cls.numbers}, or a mapping that chooses"
            raise invalid_value("wrong-shape", line=line, form=form)
        return value


class ChosenBoundsModel(ChoiceModel):
    """Bounds that are chosen from noisy counts within the outermost ones."""

    example, numbers, outermost_example = "bounds: [0, 5000]", "two numbers", 10_000_000
    lowest: Number = Field(Fraction(0), alias="from")
    up_to: Number

    def outermost(self, step: Fraction) -> tuple[tuple[int, int], tuple[str, str]]:
        """The outermost bounds in whole steps that fit 64 bits, and the bounds as texts."""
        low, high = self.lowest, self.up_to
        texts = readable_text(low), readable_text(high)
        if low >= high:
            code = "bounds-order.equal" if low == high else "bounds-order.chosen"
            raise self.report(code, "up_to", low=texts[0], high=texts[1])
        larger = step
        while max(abs(low), abs(high)) / larger >= MAX_STEPS:
            larger *= 10
        if larger > step:
            arguments = {"step": readable_text(step), "larger": readable_text(larger)}
            raise self.report("grid-too-fine.step", "up_to", name="the bounds", **arguments)

        def in_steps(key: str, bound: Fraction) -> int:
            scalar = self.node.value(key)
            if not isinstance(scalar, ScalarNode):
                return 0  # The default.
            return require_whole_steps(bound / step, step, scalar, f"`{key}`")

        return (in_steps("from", low), in_steps("up_to", high)), texts


LIMIT_NAME = "limit on rows"
"""The name of the histogram that chooses the limit; no spec entry can have it."""

MAX_LIMIT = 1_000_000
"""The largest limit on rows; a larger one would protect no better than none."""

OutermostLimit = Annotated[
    int, ExactNumber("limit-not-whole.outermost", min_value=2, max_value=MAX_LIMIT, whole=True)
]


class ChosenLimitModel(ChoiceModel):
    """A limit that is chosen from noisy counts of people by their rows."""

    example, numbers, outermost_example = "max_rows: 20", "a number", 1000
    up_to: OutermostLimit

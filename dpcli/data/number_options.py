"""Options of numbers: how they are written, and texts that stand for numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Annotated, Self

from pydantic import AfterValidator, Field

from dpcli.data.cell_options import MAX_NAMED
from dpcli.data.characters import BLANKS, factor_word, misread
from dpcli.data.column import Column, FormOption, Option, SampledTexts
from dpcli.data.declared_texts import (
    MAX_FORMS,
    list_text,
    mapping_text,
    require_few,
    require_short,
    yaml_text,
)
from dpcli.data.formats import DECIMALS, LONGEST_AFFIX, THOUSANDS, NumberFormat
from dpcli.data.grid_columns import require_numeric
from dpcli.data.polars_text import pl, strip_blanks
from dpcli.fields.section import SectionModel
from dpcli.fields.values import (
    Boolean,
    ByForm,
    Choice,
    ExactNumber,
    ListOrItem,
    Number,
    ParsedText,
    invalid_value,
    parse_number,
)
from dpcli.numeric.exact import decimal_places, decimal_text
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.reference import usual_cells

TEXT = {"type": "string"}

MAX_LISTED = 10**18
"""Listed numbers stay below this limit, so that every value fits 64 bits, as bounds do."""

PARTS = re.compile(r"([^0-9]*?)([0-9][0-9.,'\u2019_ \u00a0\u202f]*[0-9]|[0-9]|[.,][0-9]+)([^0-9]*)")
"""A number with what is before and after it."""

NOT_PROPOSED = set("0123456789+-.,()<>=~\u2264\u2265/:;\"'\ufffd")
"""Characters of texts next to numbers that are not proposed as affixes."""


def _parts(cells: SampledTexts) -> Iterator[tuple[str, int, str, str, str, bool]]:
    """Each text, its rows, what is before the number, the number, what is after it.

    The last part is whether the words around the number say that it is open-ended.
    """
    for text, rows in cells.unread.items():
        if found := PARTS.fullmatch(text):
            before, digits, after = found.groups()
            first, last = (part.strip(BLANKS).lower() for part in (before, after))
            is_open = last in usual_cells()["after"] or first in usual_cells()["before"]
            yield text, rows, before, digits, after, is_open


@dataclass(frozen=True, slots=True)
class Thousands(FormOption):
    """The mark between groups of digits, of three or as in India."""

    mark: str

    @staticmethod
    def _parse(text: str) -> str:
        mark = next((mark for mark, alike in THOUSANDS.items() if text and text in alike), text)
        if mark in THOUSANDS:
            return mark
        raise invalid_value("unknown-choice", choices=tuple(THOUSANDS))

    key = "thousands"
    value_type = Annotated[str, ParsedText(_parse, TEXT | {"enum": [*THOUSANDS, " "]})]

    def in_form(self, form: NumberFormat) -> NumberFormat:
        return replace(form, thousands=self.mark)

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require that the mark between groups is not the decimal mark."""
        decimal = column.option(Decimal)
        mark = decimal.mark if decimal else DECIMALS[0]
        if mark in THOUSANDS[self.mark]:
            raise section.report_key("equal-marks", self.key, mark=mark)

    @property
    def value_text(self) -> str:
        return yaml_text(self.mark)

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Sequence[Option | None]:
        used = {letter for _, _, _, digits, _, _ in _parts(cells) for letter in digits}
        declared = column.option(cls)
        marks = [cls(mark) for mark, alike in THOUSANDS.items() if used & set(alike)]
        return [declared, *marks, cls("") if declared else None]

    def instead(self, declared: Self | None) -> Option | None:
        """The same mark as decimal mark: three digits are sometimes decimals."""
        return Decimal(self.mark) if self.mark in DECIMALS else None


@dataclass(frozen=True, slots=True)
class Decimal(FormOption):
    """The mark before decimals."""

    mark: str

    @staticmethod
    def _parse(text: str) -> str:
        if text in DECIMALS:
            return text
        raise invalid_value("unknown-choice", choices=DECIMALS)

    key = "decimal"
    value_type = Annotated[str, ParsedText(_parse, TEXT | {"enum": [*DECIMALS]})]

    def in_form(self, form: NumberFormat) -> NumberFormat:
        return replace(form, decimal=self.mark)

    @property
    def value_text(self) -> str:
        return yaml_text(self.mark)

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Sequence[Option | None]:
        return [column.option(cls) or cls(cells.decimal), *map(cls, DECIMALS)]


@dataclass(frozen=True, slots=True)
class MinusAfter(FormOption):
    """A minus may stand after a number."""

    key = "minus"
    value_type = Annotated[str, Choice("unknown-choice", ("after",))]

    @classmethod
    def stated(cls, value: str) -> Self:  # noqa: ARG003 - there is one value
        return cls()

    def in_form(self, form: NumberFormat) -> NumberFormat:
        return replace(form, minus_after=True)

    @property
    def value_text(self) -> str:
        return "after"


def _marks_of(column: Column) -> str:
    """The marks that the numbers of a column may have."""
    thousands = column.option(Thousands)
    return "".join(DECIMALS) + (THOUSANDS[thousands.mark] if thousands else "")


@dataclass(frozen=True, slots=True)
class Affixes(FormOption):
    """Texts before or after numbers, such as currencies and units."""

    affixes: tuple[str, ...]

    @staticmethod
    def _parse(text: str) -> str:
        bare = require_short(text.strip(BLANKS), LONGEST_AFFIX)
        if character := misread(bare or " ", DECIMALS):
            raise invalid_value("affix", affix=bare or text, character=character)
        if word := factor_word(bare):
            raise invalid_value("affix.factor", affix=bare, word=word)
        return bare

    key = "affixes"
    value_type = Annotated[
        list[Annotated[str, ParsedText(_parse, TEXT)]],
        Field(min_length=1),
        AfterValidator(require_few),
        ListOrItem(),
    ]

    def in_form(self, form: NumberFormat) -> NumberFormat:
        return replace(form, affixes=self.affixes)

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require that no affix begins with a mark between digits."""
        for index, affix in enumerate(self.affixes):
            if character := misread(affix, _marks_of(column)):
                raise section.report("affix", self.key, index, affix=affix, character=character)

    @property
    def value_text(self) -> str:
        return list_text(self.affixes)

    def parts(self, cell: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        for affix in self.affixes:
            yield affix, cell.str.contains(affix, literal=True)

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Sequence[Option | None]:
        declared, found = column.option(cls), Counter[str]()
        for _, rows, before, _, after, is_open in _parts(cells):
            for part in (
                () if is_open else (before.strip(BLANKS + "()+-"), after.strip(BLANKS + "()+-"))
            ):
                if part and not (
                    NOT_PROPOSED & set(part) or misread(part, DECIMALS) or factor_word(part)
                ):
                    found[part] += rows
        named = cells.shown(found, usual_cells()["affixes"])[:MAX_NAMED]
        every = dict.fromkeys((*(declared.affixes if declared else ()), *named))
        return [cls(tuple(every)) if every else None]


@dataclass(frozen=True, slots=True)
class Factors(FormOption):
    """Texts after numbers that multiply them by a power of ten."""

    powers: tuple[tuple[str, int], ...]

    @staticmethod
    def _parse(text: str) -> int:
        factor = parse_number(text)
        powers = (power for power in range(-18, 19) if factor == Fraction(10) ** power)
        if (power := next(powers, None)) is None:
            raise invalid_value("factor")
        return power

    key = "factors"
    value_type = Annotated[
        dict[str, Annotated[int, ParsedText(_parse, ExactNumber().schema)]], Field(min_length=1)
    ]

    @classmethod
    def stated(cls, value: Mapping[str, int]) -> Self:
        return cls(tuple(value.items()))

    def in_form(self, form: NumberFormat) -> NumberFormat:
        return replace(form, factors=self.powers)

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require texts that begin like no number, and with affixes have one meaning."""
        longest = max(len(text) for text, _ in self.powers)
        if len(self.powers) > MAX_FORMS or longest > LONGEST_AFFIX:
            limits = {"most": MAX_FORMS, "longest": LONGEST_AFFIX}
            raise section.report_key("too-many-forms.factors", self.key, **limits)
        affixes, meanings = column.option(Affixes), dict[str, int]()
        for factor, power in (("", 0), *self.powers):
            if factor and (character := misread(factor, _marks_of(column), multiplies=True)):
                arguments = {"affix": factor, "character": character}
                raise section.report_key("affix", self.key, factor, **arguments)
            for affix in ("", *(affixes.affixes if affixes else ())):
                after = re.sub(f"[{BLANKS}]", "", factor + affix)
                if meanings.setdefault(after, power) != power:
                    raise section.report_key("affix.two-ways", self.key, factor, affix=after)

    @property
    def value_text(self) -> str:
        return mapping_text((text, f"1e{power}") for text, power in self.powers)

    def parts(self, cell: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        for factor, _ in self.powers:
            yield factor, cell.str.contains(factor, literal=True)


@dataclass(frozen=True, slots=True)
class Brackets(FormOption):
    """Whether numbers in brackets are negative."""

    are_negative: bool = True

    key = "brackets"
    value_type = Boolean

    def in_form(self, form: NumberFormat) -> NumberFormat:
        return replace(form, brackets=self.are_negative)

    @property
    def value_text(self) -> str:
        return "true" if self.are_negative else "false"

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Sequence[Option | None]:
        return [cls() if any("(" in text for text in cells.unread) else column.option(cls)]


def _whole_numbers(numbers: list[Fraction]) -> list[int]:
    """A list of different whole numbers in increasing order; another list is a problem."""
    seen: set[Fraction] = set()
    for index, number in enumerate(numbers):
        if number.denominator > 1 or abs(number) >= MAX_LISTED or number in seen:
            raise invalid_value("listed-values", path=(index,))
        seen.add(number)
    return sorted(map(int, seen))


@dataclass(frozen=True, slots=True)
class NumberValues(FormOption):
    """Texts that stand for a number, such as `85+` for 85."""

    values: tuple[tuple[str, str], ...]

    key = "values"
    value_type = Annotated[
        Annotated[dict[str, Number], Field(min_length=1)]
        | Annotated[list[Number], Field(min_length=2), AfterValidator(_whole_numbers)],
        ByForm,
    ]
    for_texts = False

    @classmethod
    def stated(cls, value: Mapping[str, Fraction] | list[int]) -> Option:
        """The option, or for a list of all values `ListedNumbers`."""
        if isinstance(value, list):
            return ListedNumbers(tuple(value))
        texts = (decimal_text(number, decimal_places(number)) for number in value.values())
        return cls(tuple(zip(value, texts, strict=True)))

    @property
    def declared_texts(self) -> tuple[str, ...]:
        return tuple(text for text, _ in self.values)

    def in_form(self, form: NumberFormat) -> NumberFormat:
        return replace(form, values=self.values)

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require whole numbers for integers, and within the bounds: others would be clamped."""
        numeric = require_numeric(column)
        for text, number in self.values:
            if "." in number and numeric.kind == "integer":
                below = floor(Fraction(number))
                arguments = {"value": number, "step": 1, "below": below, "above": below + 1}
                raise section.report("off-grid", self.key, text, **arguments)
        if numeric.bounds is None:
            return
        min_value, max_value = (bound * numeric.step for bound in numeric.bounds)
        low, high = map(numeric.text, numeric.bounds)
        for text, number in self.values:
            if not min_value <= Fraction(number) <= max_value:
                raise section.report("out-of-bounds", self.key, text, low=low, high=high)

    @property
    def value_text(self) -> str:
        return mapping_text(self.values)

    def parts(self, cell: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        for text in self.declared_texts:
            yield text, strip_blanks(cell) == text

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Sequence[Option | None]:
        declared, rows_of, numbers = column.option(cls), dict[str, int](), dict[str, str]()
        for text, rows, _, digits, _, is_open in _parts(cells):
            if is_open and re.fullmatch(r"[0-9]+(\.[0-9]+)?", digits):
                rows_of[text], numbers[text] = rows, digits
        named = {text: numbers[text] for text in cells.shown(rows_of)[:MAX_NAMED]}
        every = dict(declared.values if declared else ()) | named
        return [cls(tuple(every.items())) if every else None]


@dataclass(frozen=True, slots=True)
class ListedNumbers(Option):
    """All values of a column of whole numbers; a cell with another number is unreadable."""

    values: tuple[int, ...]

    key = "values"
    value_type = list[int]

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require keys that fit a list of whole numbers."""
        numeric, low, high = require_numeric(column), self.values[0], self.values[-1]
        for key, fits in (
            ("type", numeric.kind == "integer"),
            ("step", numeric.step == 1),
            ("bounds", numeric.bounds == (low, high)),
            ("missing", numeric.missing in (None, *self.values)),
        ):
            if not fits:
                raise section.report("listed-values.key", key, low=low, high=high)

    @property
    def value_text(self) -> str:
        return f"[{', '.join(map(str, self.values))}]"

"""Options of numbers: how they are written, and texts that stand for numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from math import floor
from typing import Annotated, ClassVar, NamedTuple, Self

from pydantic import AfterValidator, Field

from dpcli.data.cell_options import MAX_NAMED
from dpcli.data.characters import BLANKS, factor_word, misread
from dpcli.data.column import Column, FormOption, Option, Proposal, SampledTexts
from dpcli.data.declared_texts import (
    MAX_FORMS,
    mapping_text,
    report_twins,
    require_few,
    require_short,
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
from dpcli.problems.messages import quoted_list
from dpcli.problems.reference import usual_cells

TEXT = {"type": "string"}

MAX_LISTED = 10**18
"""Listed numbers are below this limit, so that all values fit 64 bits."""

PARTS = re.compile(r"([^0-9]*?)([0-9][0-9.,'\u2019_ \u00a0\u202f]*[0-9]|[0-9]|[.,][0-9]+)([^0-9]*)")
"""A number with what is before and after it."""

MEANINGS = (
    "(?P<both>^[1-9][0-9]{0,2}MARK[0-9]{3}$)|(?P<groups>MARK[0-9]{2,3}[^0-9])"
    "|(?P<decimals>[^0-9][0-9]{3}MARK|[0-9]{4}MARK|^0+MARK|MARK[0-9]{4})"
)
"""What a mark in a number can mean: both, or one of them."""

SHARES = {"%": '{"%": 0.01}', "\u2030": '{"\u2030": 0.001}'}
"""Units of parts of one, each with its factor."""


class NumberText(NamedTuple):
    """A number in a text, and what is around it without signs, brackets and blanks."""

    text: str
    rows: int
    before: str
    digits: str
    after: str

    @property
    def is_open(self) -> bool:
        """Whether the number is that of an open-ended answer, such as 85+."""
        before, after, words = self.before.lower(), self.after.lower(), usual_cells()
        return before in words["before"] if not after else not before and after in words["after"]


def number_texts(*cells: Mapping[str, int]) -> Iterator[NumberText]:
    """The texts of cells that have one number."""
    for text, rows in chain.from_iterable(part.items() for part in cells):
        if found := PARTS.fullmatch(text):
            before, digits, after = found.groups()
            first, last = before.strip(BLANKS + "(+-"), after.strip(BLANKS + ")")
            yield NumberText(text, rows, first, digits, last)


def _unit(affix: str) -> str:
    """The unit that a text next to a number may be; empty for signs and digits."""
    units = (*usual_cells()["currencies"], *usual_cells()["units"])
    is_word = re.sub("[ .]", "", affix).isalpha() and not misread(affix, DECIMALS)
    return next((unit[0] for unit in units if affix in unit), affix * is_word)


def different_sizes(affixes: Iterable[str]) -> list[str]:
    """The first affixes that are units of one kind with different sizes; else none."""
    kinds = (*usual_cells()["sizes"], [*chain(*usual_cells()["currencies"])])
    units = {_unit(affix).casefold(): affix for affix in affixes}
    of_kind = (
        [units[unit] for unit in units.keys() & {*map(str.casefold, kind)}] for kind in kinds
    )
    return next((sorted(found) for found in of_kind if len(found) > 1), [])


def ambiguous_mark(marks: str, cells: SampledTexts) -> str:
    """The first mark before three digits that may have two meanings, or none.

    Other cells decide it only if they agree, and are at least half as many.
    """
    for mark in filter(marks.__contains__, DECIMALS):
        rows = Counter[str]()
        for number in number_texts(cells.read, cells.unread):
            found = re.search(MEANINGS.replace("MARK", f"[{mark}]"), number.digits)
            rows[str(found and found.lastgroup)] += number.rows
        decided = rows["groups"] + rows["decimals"]
        if rows["both"] > 2 * decided or (rows["groups"] and rows["decimals"]):
            return mark
    return ""


def may_be_thousands(mark: str, cells: SampledTexts) -> bool:
    """Whether nearly all readable numbers with a mark have three digits after it."""
    marked = [number for number in number_texts(cells.read) if mark in number.digits]
    both = re.compile(f"[1-9][0-9]{{0,2}}[{mark}][0-9]{{3}}")
    rows = sum(number.rows for number in marked if both.fullmatch(number.digits))
    return 0 < 9 * sum(number.rows for number in marked) <= 10 * rows


class Sign(FormOption):
    """How negative numbers are written; proposed if the bounds allow them."""

    __slots__ = ()

    form: ClassVar[re.Pattern[str]]
    """The texts of negative numbers."""

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Iterator[Proposal[Option | None]]:
        declared, bounds = column.option(cls), require_numeric(column).bounds
        option = cls() if any(map(cls.form.fullmatch, cells.unread)) else declared
        numbers = filter(PARTS.fullmatch, (*cells.unread, *cells.read))
        others = "".join(text for text in numbers if not cls.form.fullmatch(text))
        is_certain = others and not re.search("[-\u2212]", others) and (not bounds or bounds[0] < 0)
        doubt = "numbers in brackets, or with a minus after them, may be positive"
        yield Proposal(option).doubt_if(option != declared and not is_certain, doubt)


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

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require that the mark between groups is not the decimal mark."""
        decimal = column.option(Decimal)
        mark = decimal.mark if decimal else DECIMALS[0]
        if mark in THOUSANDS[self.mark]:
            raise section.report_key("equal-marks", self.key, mark=mark)

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Iterator[Proposal[Option | None]]:
        used = {letter for number in number_texts(cells.unread) for letter in number.digits}
        marks = [cls(mark) for mark, alike in THOUSANDS.items() if used & set(alike)]
        yield from map(Proposal, dict.fromkeys((*marks, column.option(cls))))


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

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Iterator[Proposal[Option | None]]:
        declared = column.option(cls) or cls(cells.decimal)
        yield from map(Proposal, dict.fromkeys((declared, *map(cls, DECIMALS))))


@dataclass(frozen=True, slots=True)
class MinusAfter(Sign):
    """A minus may stand after a number."""

    key = "minus"
    form = re.compile("[^-]*[0-9] ?-")
    only = "after"
    value_type = Annotated[str, Choice("unknown-choice", (only,))]

    def in_form(self, form: NumberFormat) -> NumberFormat:
        return replace(form, minus_after=True)


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

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require that no affix begins with a mark between digits."""
        for index, affix in enumerate(self.affixes):
            if character := misread(affix, _marks_of(column)):
                raise section.report("affix", self.key, index, affix=affix, character=character)

    def parts(self, cell: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        for affix in self.affixes:
            yield affix, cell.str.contains(affix, literal=True)

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Iterator[Proposal[Option | None]]:
        """The affixes of one unit; if sizes may differ, the declared ones and a doubt."""
        declared, words, rows = column.option(cls), usual_cells(), Counter[str]()
        known = declared.affixes if declared else ()
        numbers = [number for number in number_texts(cells.unread) if not number.is_open]
        for number in numbers:
            new = {number.before, number.after}.difference(known)
            rows.update(dict.fromkeys(filter(_unit, new), number.rows))
        usual = {*filter(factor_word, rows), *chain(*words["currencies"], *words["units"])}
        named = cells.shown(rows, usual)[:MAX_NAMED]
        units = set(map(_unit, (*known, *named)))
        bare = [number.digits for number in numbers if not number.before + number.after]
        bare += [text for text in cells.read if not any(affix in text for affix in known)]
        is_money = units <= {spellings[0] for spellings in words["currencies"]}
        is_bare = not is_money and any(text.strip("+-0.,") for text in bare)
        numeric = require_numeric(column)
        is_share = numeric.bounds and max(map(abs, numeric.bounds)) * numeric.step <= 1
        factors = [text for text in named if factor_word(text) or (is_share and text in SHARES)]
        # A unit before a number is another word, such as `min` for a minimum.
        is_before = {number.before for number in numbers} & {*chain(*words["units"])}
        is_refused = len(units) > 1 or is_bare or factors or is_before
        is_doubtful = named and (is_refused or not usual.issuperset(named))
        doubt = f"{quoted_list((*known, *named))} may change the size of numbers"
        if factors:
            doubt += f", which `factors: {SHARES.get(factors[0], '{k: 1000}')}` declares"
        option = declared if is_refused or not named else cls((*known, *named))
        yield Proposal(option).doubt_if(is_doubtful, doubt)


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
class Brackets(Sign):
    """Whether numbers in brackets are negative."""

    are_negative: bool = True

    key = "brackets"
    form = re.compile(r"[^0-9()]*\([^()]*[0-9][^()]*\)[^0-9()]*")
    value_type = Boolean


def _whole_numbers(numbers: list[Fraction]) -> list[int]:
    """Different whole numbers in increasing order; other lists are a problem."""
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

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require whole numbers for integers, and numbers within the bounds."""
        numeric = require_numeric(column)
        mapping, numbers = section.node.mapping(self.key), dict(self.values)
        texts = (text for text, _ in mapping.pairs.values()) if mapping else ()
        report_twins("value", ((text, numbers[text.text]) for text in texts))
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

    def parts(self, cell: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        for text in self.declared_texts:
            yield text, strip_blanks(cell) == text

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Iterator[Proposal[Option | None]]:
        declared = column.option(cls)
        numbers = {
            number.text: number
            for number in number_texts(cells.unread)
            if number.is_open and re.fullmatch(r"[0-9]+(\.[0-9]+)?", number.digits)
        }
        named = cells.shown({text: number.rows for text, number in numbers.items()})[:MAX_NAMED]
        new = tuple((text, numbers[text].digits) for text in named)
        option = cls((*declared.values, *new) if declared else new) if declared or new else None
        doubt = f"{quoted_list(named)} would stand for that number alone"
        yield Proposal(option).doubt_if(named, doubt)


@dataclass(frozen=True, slots=True)
class ListedNumbers(Option):
    """All values of a column of whole numbers; other numbers are unreadable."""

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

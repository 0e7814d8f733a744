"""What people state about data: their name, declarations, a sample, captions.

A dataset is an account with a budget of its own. Two names that look the same would be two budgets,
so each name must have one spelling only: it consists of letters of any script, in Unicode
normalization form C, without invisible or compatibility characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from dpcli.data.declared_texts import is_invisible
from dpcli.fields.section import SectionModel
from dpcli.fields.values import Choice, ExactNumber, ParsedText, invalid_value
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.messages import quote
from dpcli.specification.context import SpecContext
from dpcli.specification.model import Caption, Declarations
from dpcli.statistics.design import Request, SampleDesign
from dpcli.statistics.precision import OPTIONAL_COLUMNS, OptionalColumn
from dpcli.statistics.statistic import Statistic

MAX_TITLE, MAX_UNIT, MAX_NOTE = 120, 40, 1_000
"""Characters of a title, a unit and a note."""

DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Unicode classes of characters that change the order in which a text is shown."""


def _parse_caption(text: str, max_length: int) -> str:
    plain = text.strip()
    if not 1 <= len(plain) <= max_length:
        raise invalid_value("bad-caption", count=len(plain), most=max_length)
    turns = any(unicodedata.bidirectional(character) in DIRECTIONS for character in plain)
    if turns or is_invisible(plain) or not any(map(str.isprintable, plain)):
        raise invalid_value("bad-caption.invisible")
    return plain


def _caption_type(max_length: int) -> ParsedText:
    schema = {"type": ["string", "number", "boolean"], "minLength": 1, "maxLength": max_length}
    return ParsedText(partial(_parse_caption, max_length=max_length), schema)


Title = Annotated[str, _caption_type(MAX_TITLE)]
UnitText = Annotated[str, _caption_type(MAX_UNIT)]
Note = Annotated[str, _caption_type(MAX_NOTE)]

NUMBER_FORMATS = ("1234.5", "1234,5", "1,234.5", "1.234,5", "1 234.5", "1 234,5", "1'234.5")
"""How the number 1234.5 may be written for people."""

NumberFormat = Annotated[
    str,
    Choice("unknown-choice", NUMBER_FORMATS),
    Field(json_schema_extra={"type": ["string", "number"], "enum": [*NUMBER_FORMATS, 1234.5]}),
]


COLUMN_NAMES = tuple(column.name for column in OPTIONAL_COLUMNS)

ColumnName = Annotated[str, Choice("unknown-choice", COLUMN_NAMES)]


def _require_distinct_columns(names: list[str]) -> list[str]:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise invalid_value("column-twice", path=(index,), column=name)
    return names


class OutputModel(SectionModel):
    """What the published tables have in addition to numbers and intervals."""

    missing_lines: ClassVar[Mapping[str, str]] = {
        "columns": f"`columns: [{', '.join(COLUMN_NAMES)}]`: the columns that are added"
    }

    columns: Annotated[
        list[ColumnName],
        AfterValidator(_require_distinct_columns),
        Field(min_length=1, json_schema_extra={"uniqueItems": True}),
    ]

    def resolved(self) -> tuple[OptionalColumn, ...]:
        """The columns in the order of the table."""
        self.require()
        return tuple(column for column in OPTIONAL_COLUMNS if column.name in self.columns)


def stated_caption(values: Any) -> Caption:
    """The caption that the fields of a section state."""
    texts = {key: getattr(values, key, None) or "" for key in ("title", "unit", "note")}
    return Caption(**texts)


def entry_caption(
    values: Any, request: Request, statistic: Statistic, captions: Mapping[str, Caption]
) -> Caption:
    """A statistic's caption; without a unit, its numbers may have that of the column."""
    caption = stated_caption(values)
    if caption.unit or request.column is None or not statistic.in_column_unit:
        return caption
    return replace(caption, unit=captions.get(request.column.name, Caption()).unit)


MAX_POPULATION = 10**11
"""The largest population that can be declared."""

MAX_ANSWER_LENGTH = 2_000
"""Characters of one answer under `declarations:`: a paragraph, not a document."""


def _parse_answer(text: str) -> str:
    if 1 <= len(text.strip()) <= MAX_ANSWER_LENGTH:
        return text.strip()
    raise invalid_value("bad-declaration", count=len(text.strip()), most=MAX_ANSWER_LENGTH)


Population = Annotated[
    int,
    ExactNumber("bad-declaration.population", min_value=1, max_value=MAX_POPULATION, whole=True),
]
AnswerText = Annotated[str, ParsedText(_parse_answer, {"type": ["string", "number", "boolean"]})]


class DeclarationsModel(SectionModel):
    """What only people can answer. The report and the registry record quote it."""

    population: Population | None = None
    privacy_unit: AnswerText | None = None
    bounds: AnswerText | None = None
    other_releases: AnswerText | None = None
    access: AnswerText | None = None
    collection: AnswerText | None = None
    fairness: AnswerText | None = None
    timing: AnswerText | None = None
    curator: AnswerText | None = None
    contact: AnswerText | None = None
    description: AnswerText | None = None
    intended_use: AnswerText | None = None
    region: AnswerText | None = None
    license: AnswerText | None = None

    def resolved(self) -> Declarations:
        """The declared population and answers, in the order of the spec."""
        # The report lists the answers in the order of the spec.
        answers = [(key, getattr(self, key)) for key in self.node.pairs if key != "population"]
        return Declarations(self.population, tuple(answers))


DESIGNS = ("simple-random",)
"""Sample designs whose error noisy answers show: all units have the same chance."""

Units = Annotated[
    int, ExactNumber("bad-sample.number", min_value=1, max_value=MAX_POPULATION, whole=True)
]


class SampleModel(SectionModel):
    """The file is a sample of a population: how it was drawn, and from how many."""

    missing_lines: ClassVar[Mapping[str, str]] = {
        "design": "`design: simple-random`, if every unit had the same chance and none was drawn "
        "twice",
        "population": "`population: 250000`: how many units the sample was drawn from",
    }

    design: Annotated[str, Choice("unknown-design", DESIGNS)]
    population: Units
    size: Units | None = None


def resolve_sample(section: SampleModel, context: SpecContext) -> SampleDesign:
    """The declared sample, which is also stored in the context.

    Raises `AlreadyReportedError` after the problems are recorded.
    """
    unit = context.unit
    if isinstance(unit, PersonUnit) and unit.max_rows > 1:
        # Rows of one person are a cluster: they say less than as many rows of different people.
        raise section.report("sample-of-rows", rows=unit.max_rows)
    section.require()
    population, size = section.population, section.size
    if size is not None and size > population:
        raise section.report("bad-sample", "size", population=population)
    context.sample = SampleDesign(population, size)
    return context.sample


MAX_LENGTH = 100

ASCII = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
DATASET_PATTERN = r"[^\x00-/:-@\[-`{-\x7f][^\x00-,/:-@\[-^`{-\x7f]{0,99}"
"""The part of the rule for a JSON Schema: which ASCII characters are allowed."""

INVISIBLE = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Invisible letters and marks that identifiers may have (UAX 31, 2.3)."""

SCRIPTS_USED_TOGETHER = (
    {"LATIN", "CJK", "HIRAGANA", "KATAKANA"},
    {"LATIN", "CJK", "HANGUL"},
    {"LATIN", "CJK", "BOPOMOFO"},
)
"""Scripts that some language uses together (UTS 39, highly restrictive)."""

SCRIPT_ALIASES = {"IDEOGRAPHIC": "CJK", "KATAKANA-HIRAGANA": "KATAKANA", "HALFWIDTH": "KATAKANA"}
"""Scripts of characters whose Unicode names do not begin with the script's name."""


def dataset_name_fault(text: str) -> dict[str, str] | None:
    """`expected` and `advice` for a wrong dataset name; None for a valid one."""
    if re.fullmatch(ASCII, text):
        return None
    for better, expected in (
        (unicodedata.normalize("NFC", text), "the composed characters of Unicode form NFC"),
        (unicodedata.normalize("NFKC", text), "plain letters, not characters that stand for them"),
    ):
        if better != text:
            return {"expected": expected, "advice": _rewrite_advice(text, better)}
    letters = re.sub(r"[._-]", "", text)
    if (
        not 0 < len(text) <= MAX_LENGTH
        or not text[0].isalnum()
        or not f"a{letters}".isidentifier()
        or re.search(INVISIBLE, text)
        or not all(letter.isascii() for letter in letters if letter.isdigit())
    ):
        advice = f"begin with a letter or digit, and use at most {MAX_LENGTH} characters"
        return {"expected": "letters, the digits 0 to 9, `.`, `_` and `-`", "advice": advice}
    return None


def _rewrite_advice(text: str, better: str) -> str:
    """Advice to write the normalized name, with the first character that differs."""
    if dataset_name_fault(better) is not None:
        return "write a name of letters, the digits 0 to 9, `.`, `_` and `-`"
    differing = (i for i, letter in enumerate(better) if text[i : i + 1] != letter)
    index = next(differing, 0)
    letter = better[index]
    name = unicodedata.name(letter, "a letter")
    return f"write {quote(better)}, with U+{ord(letter):04X} ({name}) at position {index + 1}"


def mixed_scripts_warning(text: str) -> str | None:
    """A warning if no language uses the scripts of a name together; None otherwise."""
    letter_of_script: dict[str, str] = {}
    for letter in text:
        if letter.isalpha():
            name = unicodedata.name(letter, "OTHER").split(" ")[0]
            letter_of_script.setdefault(SCRIPT_ALIASES.get(name, name), letter)
    scripts = letter_of_script.keys()
    if len(scripts) < 2 or any(scripts <= together for together in SCRIPTS_USED_TOGETHER):
        return None
    letters = [
        f"{letter} (U+{ord(letter):04X}, {unicodedata.name(letter, 'OTHER').split(' ')[0].title()})"
        for letter in letter_of_script.values()
    ]
    return (
        f"the dataset name {text} mixes the scripts of {', '.join(letters)}: "
        "a name that looks the same is another account with another budget"
    )

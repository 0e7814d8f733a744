"""Types of spec values: a text becomes an exact value, or an error with a code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, Field, GetCoreSchemaHandler, WithJsonSchema
from pydantic_core import PydanticCustomError, PydanticKnownError, core_schema

from dpcli.numeric.exact import plain_text
from dpcli.problems.reference import advice

NUMBER = re.compile(r"(-?)([0-9]{1,18})(?:\.([0-9]{1,18}))?(?:e(-?[0-9]{1,3}))?")
AMBIGUOUS = re.compile(r"-?[1-9][0-9]{0,2}\.[0-9]{3}")
MAX_EXPONENT = 60
"""A larger exponent is a mistake, and would make a number of very many digits."""

PERCENT = r"([0-9]{1,18}(?:\.[0-9]{1,18})?) ?%"
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
FRACTION = re.compile(r"([0-9]{1,18})/([1-9][0-9]{0,17})")


class NumberSyntaxError(ValueError):
    """The text is not a number, date or probability; has an error code and advice."""

    def __init__(self, code: str, advice: str) -> None:
        self.code, self.advice = code, advice
        super().__init__(advice)


def parse_number(text: str) -> Fraction:
    """The value of a decimal such as 12, -0.5 or 1e-6; raises `NumberSyntaxError`."""
    match = NUMBER.fullmatch(text)
    if not match:
        raise NumberSyntaxError("not-a-number", _advice(text))
    sign, whole, decimals, exponent = match.groups()
    if len(whole) > 1 and whole.startswith("0"):
        advice = f"a leading zero is ambiguous: write `{whole.lstrip('0') or '0'}`"
        raise NumberSyntaxError("not-a-number", advice)
    if exponent and abs(int(exponent)) > MAX_EXPONENT:
        advice = f"an exponent is between -{MAX_EXPONENT} and {MAX_EXPONENT}"
        raise NumberSyntaxError("not-a-number", advice)
    digits = decimals or ""
    value = Fraction(int(whole + digits), 10 ** len(digits)) * Fraction(10) ** int(exponent or 0)
    return -value if sign else value


def parse_cell(text: str, line: int) -> Fraction:
    """The number in this line of a public file, or in a spec, if `line` is zero.

    Three digits after a point are thousands in some files, and are refused there.
    """
    if line and AMBIGUOUS.fullmatch(text):
        raise NumberSyntaxError("not-a-number", "three digits after a point may be thousands")
    return parse_number(text)


def is_year(text: str) -> bool:
    """Whether a text has four digits, as a year where a day is expected."""
    return len(text) == 4 and text.isascii() and text.isdigit()


def parse_day(text: str) -> int:
    """Days from 1970-01-01 to a date such as 2010-01-31; raises `NumberSyntaxError`."""
    if is_year(text):
        advice = f"write a day, as in `{text}-01-31`, or derive the year: `{{part: year, of: ...}}`"
        raise NumberSyntaxError("not-a-date", advice)
    if not DATE.fullmatch(text):
        raise NumberSyntaxError("not-a-date", "write year, month and day as in `2010-01-31`")
    from dpcli.numeric.days import days_of

    try:
        return days_of(text)
    except ValueError:
        raise NumberSyntaxError("not-a-date", "the calendar has no such day") from None


def parse_probability(text: str) -> Fraction:
    """The value of a probability such as 0.25 or 1/3; raises `NumberSyntaxError`."""
    match = FRACTION.fullmatch(text)
    try:
        value = Fraction(int(match[1]), int(match[2])) if match else parse_number(text)
    except NumberSyntaxError as failure:
        raise NumberSyntaxError("not-a-probability", failure.advice) from None
    if 0 <= value <= 1:
        return value
    advice = "a probability lies between 0 and 1; write one such as `3/4`"
    raise NumberSyntaxError("not-a-probability", advice)


ANY_NUMBER, WHOLE_NUMBER = (
    "write a number such as `0.5`, `10` or `1e-6`",
    "write a whole number such as `1000`",
)
"""The advice for a text that no pattern of `syntax_advice.toml` fits."""


def _advice(text: str) -> str:
    short = text[:100]
    if percent := re.fullmatch(PERCENT, short):
        hundredth = plain_text(Fraction(percent[1]) / 100)
        return f"write `{hundredth}`: a number has no percent sign"
    return advice("numbers", short) or ANY_NUMBER


Json = dict[str, Any]
Fields = Mapping[str, Any]

TEXT_TAG, MAPPING_TAG, LIST_TAG = "|text", "|mapping", "|list"
"""Tags of the types of a union, which are removed from paths of pydantic errors."""

MIN_EPSILON, MIN_RHO = Fraction(1, 10**12), Fraction(1, 10**18)
"""The least epsilon and rho: below, no answer can be distinguished from noise."""

MAX_EPSILON = Fraction(20)
"""A larger epsilon protects no one: e^20 is half a billion."""

MAX_BUDGET = Fraction(1000)
"""A budget for many releases may be larger, but must not mean "no limit"."""


class AlreadyReportedError(Exception):
    """The problem of a value is recorded, so readers that use it report no more."""


def invalid_value(
    code: str, /, *, path: tuple[str | int, ...] = (), **arguments: object
) -> PydanticCustomError:
    """The error of a validator, with the code and the arguments of a message.

    `path` leads to the problem below the value. The reader of the section adds the arguments
    `name`, `found` and `key`. If there are `choices`, the hint proposes the choice that is most
    similar to the text, or to the argument `meant`.
    """
    return PydanticCustomError(code, "refused", {"path": path, "arguments": arguments})


class ParsedText:
    """A type that a function parses from a text; `schema` is its JSON Schema."""

    def __init__(self, reader: Callable[[str], Any], schema: Json) -> None:
        self._reader, self.schema = reader, schema

    def read(self, value: object) -> Any:
        """The value of a scalar, for pydantic."""
        if not isinstance(value, str):
            raise PydanticKnownError("string_type")
        try:
            return self._reader(value)
        except NumberSyntaxError as failure:
            raise invalid_value(failure.code, advice=failure.advice) from None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Json:
        return dict(self.schema)


class ExactNumber(ParsedText):
    """An exact number within limits; with `whole`, an `int`.

    The limits `above` and `below` are exclusive, `min_value` and `max_value` inclusive. The
    denominator must divide `divides`, unless that is zero. `percent` is the advice for a
    percentage. An argument of the error may be a function of the text.
    """

    def __init__(
        self,
        code: str = "",
        /,
        *,
        min_value: Fraction | int | None = None,
        max_value: Fraction | int | None = None,
        above: Fraction | int | None = None,
        below: Fraction | int | None = None,
        whole: bool = False,
        divides: int = 0,
        percent: str = "",
        **arguments: object,
    ) -> None:
        self._code, self._arguments = code, arguments
        if max_value is not None:
            self._arguments["most"] = int(max_value)
        self._min_value, self._max_value, self._above, self._below = (
            min_value,
            max_value,
            above,
            below,
        )
        self._whole, self._divides, self._percent = whole, divides, percent
        schema: Json = {"type": ["number", "string"], "pattern": NUMBER_SCHEMA}
        if whole and code != "bad-minimum":
            pattern = "^[1-9][0-9]*$" if min_value else "^(0|[1-9][0-9]*)$"
            schema = {"type": ["integer", "string"], "minimum": 1, "pattern": pattern}
        for key, limit in (
            ("minimum", min_value), ("maximum", max_value),
            ("exclusiveMinimum", above), ("exclusiveMaximum", below),
        ):  # fmt: skip
            if limit is not None and -NO_FIXED_LIMIT < limit < 10**6:
                schema[key] = int(limit) if Fraction(limit).denominator == 1 else float(limit)
        super().__init__(self._number, schema)

    def _number(self, text: str) -> Fraction | int:
        try:
            value = parse_number(text)
        except NumberSyntaxError as failure:
            if self._whole and failure.advice == ANY_NUMBER:
                raise NumberSyntaxError(failure.code, WHOLE_NUMBER) from None
            if self._percent and text.endswith("%"):
                raise NumberSyntaxError(failure.code, self._percent) from None
            raise
        if (
            (self._min_value is not None and value < self._min_value)
            or (self._max_value is not None and value > self._max_value)
            or (self._above is not None and value <= self._above)
            or (self._below is not None and value >= self._below)
            or (self._whole and value.denominator != 1)
            or (self._divides and self._divides % value.denominator)
        ):
            arguments: dict[str, Any] = {
                key: argument(text) if callable(argument) else argument
                for key, argument in self._arguments.items()
            }
            raise invalid_value(self._code, **arguments)
        return value.numerator if self._whole else value


NUMBER_SCHEMA = r"^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?(e-?[0-9]{1,3})?$"


class Choice(ParsedText):
    """One of several words, with or without descriptions for editors.

    If `options` is a function, it is called when a value is read, so that members of a registry can
    be added. `names` returns the words without their descriptions, which take long to find. `meant`
    returns synonyms, each with the word that it means.
    """

    def __init__(
        self,
        code: str,
        options: Iterable[str] | Callable[[], Mapping[str, str]],
        meant: Callable[[], Mapping[str, str]] = dict,
        names: Callable[[], Iterable[str]] | None = None,
    ) -> None:
        self._code, self._meant = code, meant
        self.options = options if callable(options) else lambda: dict.fromkeys(options, "")
        self._names = names or self.options
        super().__init__(self._choose, {})

    def _choose(self, text: str) -> str:
        words = tuple(self._names())
        if text in words:
            return text
        meant = self._meant().get(text[:100].casefold(), text)
        raise invalid_value(self._code, choices=words, meant=meant)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Json:
        options = self.options()
        if not any(options.values()):
            return {"type": "string", "enum": list(options)}
        choices = [{"const": name, "description": text} for name, text in options.items()]
        return {"type": "string", "oneOf": choices}


def summaries_by_name(members: Iterable[Any]) -> dict[str, str]:
    """The names of members of a registry, with the first lines of their docstrings."""
    return {member.name: (type(member).__doc__ or "").strip().splitlines()[0] for member in members}


class ListOrItem:
    """A list, or a single item, which is read as a list of one."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def in_list(value: object) -> object:
            return [value] if isinstance(value, str) else value

        return core_schema.no_info_before_validator_function(in_list, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Json:
        many: Json = handler(schema)
        return {"anyOf": [many["items"], many]}


class _ByForm:
    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        choices = {self._form(kind): handler.generate_schema(kind) for kind in get_args(source)}
        return core_schema.tagged_union_schema(choices, lambda value: self._form(type(value)))

    @staticmethod
    def _form(kind: Any) -> str:
        plain = get_args(kind)[0] if hasattr(kind, "__metadata__") else kind
        plain = get_origin(plain) or plain
        if issubclass(plain, dict | BaseModel):
            return MAPPING_TAG
        return LIST_TAG if issubclass(plain, list) else TEXT_TAG


ByForm = _ByForm()
"""Chooses the type of a union by the value's form: a text, a list or a mapping."""

TEXT_SCHEMA = {"type": ["string", "number", "boolean"]}
Text = Annotated[str, WithJsonSchema(TEXT_SCHEMA)]
Number = Annotated[Fraction, ExactNumber()]
GridNumber = Annotated[str, WithJsonSchema(ExactNumber().schema)]
"""A number or day in the unit of a column, parsed once the column is known."""
Texts = Annotated[list[Text], Field(min_length=1)]
NumberPair = Annotated[list[Number], Field(min_length=2, max_length=2)]


def _parse_boolean(text: str) -> bool:
    if text in ("true", "false"):
        return text == "true"
    raise invalid_value("not-true-or-false")


BOOLEAN_SCHEMA = {"type": ["boolean", "string"], "enum": [True, False, "true", "false"]}
Boolean = Annotated[bool, ParsedText(_parse_boolean, BOOLEAN_SCHEMA)]
Day = Annotated[int, ParsedText(parse_day, {"type": "string", "pattern": f"^{DATE.pattern}$"})]
PROBABILITY_SCHEMA = r"^[0-9]{1,18}(/[1-9][0-9]{0,17}|(\.[0-9]{1,18})?(e-[0-9]{1,2})?)$"
Probability = Annotated[
    Fraction,
    ParsedText(parse_probability, {"type": ["number", "string"], "pattern": PROBABILITY_SCHEMA}),
]


def limited_epsilon(max_value: Fraction) -> ExactNumber:
    """An epsilon from `MIN_EPSILON` to `max_value`."""
    percent = (
        "write the number itself, such as `epsilon: 0.1`; to divide what the budget has left, use "
        "`share: 1` in each entry, and `share: 2` for twice as much"
    )
    code = "epsilon-out-of-range"
    return ExactNumber(code, min_value=MIN_EPSILON, max_value=max_value, percent=percent)


def limited_rho(max_value: Fraction) -> ExactNumber:
    """A rho from `MIN_RHO` to `max_value`."""
    return ExactNumber("rho-out-of-range", min_value=MIN_RHO, max_value=max_value)


def positive_number(example: str, max_value: int) -> ExactNumber:
    """A number above zero, and at most `max_value`; hints show the `example`."""
    return ExactNumber("not-above-zero", above=0, max_value=max_value, example=example)


NO_FIXED_LIMIT = 10**9
"""The limit of whole numbers whose real limit depends on other fields."""


def whole_number(max_value: int, what: str, min_value: int = 1) -> ExactNumber:
    """A whole number from 1 or 0 to a limit; `what` is what it counts, for the hint."""
    code = "not-in-range" if max_value < NO_FIXED_LIMIT else "not-in-range.open"
    code = code if min_value else "not-in-range.zero"
    return ExactNumber(code, min_value=min_value, max_value=max_value, whole=True, what=what)


Epsilon = Annotated[Fraction, limited_epsilon(MAX_EPSILON)]
Rho = Annotated[Fraction, limited_rho(MAX_EPSILON)]
Delta = Annotated[Fraction, ExactNumber("delta-out-of-range", above=0, below=1, least="above 0")]

"""Types of fields of statistics, such as names of columns, bins and candidates.

A statistic declares its fields with these types. Their validators parse the texts of a spec, and
`dpcli.specification.inputs` resolves the names of columns by the `ColumnRole` of a field.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

from dpcli.fields.section import ColumnRole, SectionModel
from dpcli.fields.values import (
    NO_FIXED_LIMIT,
    ByForm,
    Choice,
    ExactNumber,
    GridNumber,
    ListOrItem,
    NumberPair,
    ParsedText,
    Text,
    Texts,
    invalid_value,
    positive_number,
    whole_number,
)
from dpcli.problems.messages import quote

NUMERIC = ("integer", "number")
ORDERED = (*NUMERIC, "date")
LABELED = ("category", "boolean")
VALUED = (*ORDERED, *LABELED)
"""The kinds of columns whose possible values are declared."""

MAX_COUNTED_COLUMNS = 1000
"""The most columns of a statistic that counts rows for each of them."""


class BinsModel(SectionModel):
    """How a numeric column is divided into bins: by a width, or at given edges."""

    width: GridNumber | None = None
    edges: Annotated[list[Text], Field(min_length=2)] | None = None


BinCount = Annotated[int, whole_number(NO_FIXED_LIMIT, "bins")]
Bins = Annotated[BinCount | BinsModel, ByForm]


class BinnedKeyModel(SectionModel):
    """A numeric column whose bins are groups."""

    column: Text
    bins: Bins | None = None


class CandidateStepModel(SectionModel):
    """Candidates at equal distances from the lower bound on."""

    step: GridNumber


KeyForm = Annotated[Text | BinnedKeyModel, ByForm]
CandidateForms = Annotated[Annotated[list[Text], Field(min_length=1)] | CandidateStepModel, ByForm]

NumericColumnName = Annotated[Text, ColumnRole("column", NUMERIC), Field(examples=["income"])]
WeightColumnName = Annotated[Text, ColumnRole("column", NUMERIC), Field(examples=["weight"])]
OrderedColumnName = Annotated[Text, ColumnRole("column", ORDERED), Field(examples=["income"])]
AveragedColumnName = Annotated[
    Text, ColumnRole("column", (*ORDERED, "boolean")), Field(examples=["income"])
]
LabelColumnName = Annotated[Text, ColumnRole("column", LABELED), Field(examples=["sex"])]
ShareColumnName = Annotated[Text, ColumnRole("column", LABELED), Field(examples=["insured"])]
ValuedColumnName = Annotated[Text, ColumnRole("column", VALUED), Field(examples=["income"])]
CountedColumnName = Annotated[
    Text, ColumnRole("column", (*VALUED, "id")), Field(examples=["person"])
]
BooleanColumnName = Annotated[Text, ColumnRole("column", ("boolean",)), Field(examples=["insured"])]
RatioPart = Annotated[Text, ColumnRole("part", (*NUMERIC, "boolean")), Field(examples=["income"])]
RatioBase = Annotated[RatioPart, Field(examples=["rows"])]
LabelsOfColumn = Annotated[Texts, ListOrItem(), ColumnRole("labels"), Field(examples=[["retired"]])]
LabelsOrFilter = Annotated[Texts | dict[Text, Any], ByForm]
GroupForms = Annotated[Text | Annotated[dict[Text, LabelsOrFilter], Field(min_length=1)], ByForm]
ComparedGroups = Annotated[
    GroupForms,
    Field(examples=[{"year": [2023, 2024]}, {"sex": ["f", "m", "x"]}, "month"]),
    ColumnRole("between"),
]
ReferenceLabel = Annotated[Text, Field(examples=["2023", "previous"])]
NumericColumns = Annotated[
    Texts, ColumnRole("columns", NUMERIC, 2), Field(examples=[["hours", "age"]])
]
SelectedColumns = Annotated[
    Texts,
    ColumnRole("columns", LABELED, 2, MAX_COUNTED_COLUMNS),
    Field(examples=[["by_bus", "by_car"]]),
]
CheckedColumns = Annotated[
    Texts,
    ColumnRole("columns", VALUED, 1, MAX_COUNTED_COLUMNS),
    Field(examples=[["income", "age"]]),
]
SelectionLimit = Annotated[
    int, whole_number(NO_FIXED_LIMIT, "answers of a row are counted"), Field(examples=[2])
]
Predictors = Annotated[Texts, ColumnRole("columns", NUMERIC, 1), Field(examples=[["hours", "age"]])]
TableColumns = Annotated[
    list[KeyForm], Field(min_length=1, examples=[["sex", "region"]]), ColumnRole("axes")
]
BinForms = Annotated[
    Bins, ColumnRole("bins"), Field(examples=[{"width": 10}, {"edges": [0, 18, 65, 110]}])
]
Candidates = Annotated[CandidateForms, ColumnRole("candidates"), Field(examples=[{"step": 5}])]

MAX_QUANTILES = 100

Quantile = Annotated[Fraction, ExactNumber("bad-quantile", above=0, below=1, divides=10**6)]


def _require_distinct(values: list[Fraction]) -> tuple[Fraction, ...]:
    if len(values) > MAX_QUANTILES:
        raise invalid_value("too-many-quantiles", count=len(values), most=MAX_QUANTILES)
    for index, value in enumerate(values):
        if value in values[:index]:
            raise invalid_value("bad-quantile.twice", path=(index,))
    return tuple(values)


Quantiles = Annotated[
    list[Quantile],
    ListOrItem(),
    Field(min_length=1, examples=[[0.25, 0.5, 0.75]]),
    AfterValidator(_require_distinct),
]


def _require_different(values: list[int]) -> tuple[int, ...]:
    for index, value in enumerate(values):
        if value in values[:index]:
            raise invalid_value("not-in-range.twice", path=(index,))
    return tuple(sorted(values))


AxesPerTable = Annotated[
    list[Annotated[int, whole_number(NO_FIXED_LIMIT, "of the columns each table has", 0)]],
    ListOrItem(),
    Field(min_length=1, examples=[2, [0, 1, 2]]),
    AfterValidator(_require_different),
]

UnitBounds = Annotated[NumberPair, Field(examples=[[0, 80]])]


Numbers = Annotated[Any, WithJsonSchema({"type": ["object", "number", "string"]})]
"""A number, numbers by label, or a file of them.

`dpcli.specification.public_numbers` reads it.
"""


class RateModel(SectionModel):
    """A rate of public populations, and the weights of a standardized one."""

    per: Annotated[int, whole_number(10**8, "people a rate is for")]
    population: Numbers
    strata: Text | None = None
    standard: Numbers | None = None


RateForm = Annotated[
    RateModel,
    ColumnRole("rate"),
    Field(examples=[{"per": 1000, "population": {"north": 1200, "south": 3400}}]),
]

GroupSizes = Annotated[Numbers, ColumnRole("sizes"), Field(examples=[{"female": 150, "male": 150}])]
"""Public numbers of rows of all groups."""

HierarchyNames = Annotated[
    Annotated[Texts, Field(min_length=1, max_length=2)],
    ListOrItem(),
    ColumnRole("hierarchy"),
    Field(examples=["place", ["place", "time"]]),
]
LevelShares = Annotated[
    dict[Text, Annotated[Fraction, positive_number("1", 10**6)]],
    Field(min_length=1, examples=[{"region": 2, "district": 3}]),
    AfterValidator(lambda shares: tuple(shares.items())),
]
"""Shares of the loss of an entry by names of levels."""

KnownForm = Annotated[
    Numbers, ColumnRole("known"), Field(examples=[{"region": {"north": 1200, "south": 3400}}, 4600])
]

PERIOD, TO_DATE, WINDOW = "period", "to_date", "last_"

MAX_WINDOW = 366
"""The most days of a moving window."""


def _parse_shown(text: str) -> str:
    window = text.removeprefix(WINDOW)
    is_window = text != window and window.isdecimal() and window.isascii()
    is_window = is_window and window == str(int(window)) and 1 < int(window) <= MAX_WINDOW
    if not is_window and text not in (PERIOD, TO_DATE):
        raise invalid_value("series-form.show", most=MAX_WINDOW)
    return text


class SeriesModel(SectionModel):
    """A running series: one release for each day, and what each release shows."""

    every: Annotated[str, Choice("unknown-choice", ("day",))]
    show: Annotated[
        list[Annotated[str, ParsedText(_parse_shown, {"type": "string"})]], Field(min_length=1)
    ]


SeriesForm = Annotated[
    SeriesModel, Field(examples=[{"every": "day", "show": [PERIOD, TO_DATE, "last_7"]}])
]

BoundName = Annotated[str, Choice("unknown-bound", ("rows", "sum"))]
"""What is clamped: each row of a person, or the total of their rows."""

PrivateKeys = Annotated[str, Choice("unknown-keys", ("private",))]
"""The value of `keys` with which noisy counts select the published groups."""


class FieldFault:
    """A problem between fields whose values are valid: its code and its arguments.

    It is reported at the key of the field `key`; if `at_value`, at the value of the field.
    """

    def __init__(
        self, code: str, key: str, /, *, at_value: bool = False, **arguments: object
    ) -> None:
        self.code, self.key, self.at_value, self.arguments = code, key, at_value, arguments


def check_max(
    value: int, key: str, max_value: int, what: str, code: str = "not-in-range"
) -> Iterator[FieldFault]:
    """The fault of a field that is above `max_value`; `what` is what it counts."""
    if value > max_value:
        arguments = {"found": quote(str(value)), "most": max_value, "what": what}
        yield FieldFault(code, key, at_value=True, **arguments)

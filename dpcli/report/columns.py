"""The columns of published numbers, in every table, report and page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from dpcli.problems.errors import LedgerError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.postprocessing import Flag
from dpcli.statistics.precision import OPTIONAL_COLUMNS

if TYPE_CHECKING:
    import polars as pl

FLAG_TEXTS = [flag.value for flag in Flag if flag]

FLAG_TYPE = {"base": "string", "format": "|".join(FLAG_TEXTS)}

NUMBER_OR_DATE = {"base": "string", "format": r"-?[0-9]+(\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}"}
"""The type of the texts in a column that has both numbers and dates."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of published numbers.

    It has numbers in the `unit` of their statistic, which may be dates, `flag`s, or `own` numbers
    that a spec adds, which are absent from JSON where they are blank. Metadata say that a column
    has `in_long` or `in_wide`, with the words of a report, and the JSON Schema says `in_json`.
    """

    name: str
    in_long: str
    in_wide: str
    in_json: str = ""
    has: Literal["unit", "flag", "own"] = "unit"

    @property
    def ending(self) -> str:
        """What follows the name of a statistic in the header of a wide table."""
        return f"_{self.name}" if self.in_wide else ""

    @property
    def form(self) -> str:
        """Its part at the end of a line of JSON."""
        form = f',"{self.name}":(?<{self.name}>[^,}}]*)'
        return f"({form})?" if self.has == "own" else form

    def json(self, *, dates: bool) -> Iterator[str | pl.Expr]:
        """The parts of a line of JSON that have it, from the text in a table."""
        import polars as pl

        text, key = pl.col(self.name), f',"{self.name}":'
        is_quoted = self.has == "flag" or (dates and self.has == "unit")
        shown = pl.format('"{}"', text) if is_quoted else text
        if self.has == "own":
            yield pl.when(text == "").then(pl.lit("")).otherwise(pl.format(key + "{}", text))
        else:
            yield key
            yield pl.when(text == "").then(pl.lit("null")).otherwise(shown)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its values."""
        said = {"description": self.in_json} if self.in_json else {}
        date, flag = {"type": "string", "format": "date"}, {"type": "string", "enum": FLAG_TEXTS}
        if self.has == "own":
            return {"type": "number", **said}
        types = [flag] if self.has == "flag" else [{"type": "number"}, date]
        return {"anyOf": [*types, {"type": "null"}], **said}

    def datatype(self, *, dated: bool = False) -> object:
        """Its type in metadata; columns of a unit may be `dated` as well."""
        unit = NUMBER_OR_DATE if dated else "decimal"
        return {"unit": unit, "flag": FLAG_TYPE, "own": "decimal"}[self.has]


COLUMNS = (
    TableColumn(
        "value", "The number, in the unit of its statistic.", "", "Null where it is suppressed."
    ),
    *(
        TableColumn(
            end,
            f"The {end} end of the {{percent}} interval{{abouts}}; empty without one.",
            f"The {end} end of its {{percent}} interval{{about}}.",
        )
        for end in ("lower", "upper")
    ),
    TableColumn(
        "flag",
        "Empty, or a mark. {marks}.",
        "Empty, or its flag. {marks}.",
        "What a reader must know of the number; null if nothing.",
        "flag",
    ),
)
"""The columns of every table."""

ADDED_COLUMNS = tuple(
    TableColumn(column.name, "{meaning}.", "{meaning}.", column.in_json, "own")
    for column in OPTIONAL_COLUMNS
)
"""The columns that a spec may add."""


def columns_with(names: Iterable[str]) -> tuple[TableColumn, ...]:
    """All columns of a table to which the spec adds those with these `names`.

    Raises LedgerError for a column that this version does not know.
    """
    known = {column.name: column for column in ADDED_COLUMNS}
    added = []
    for name in names:
        if name not in known:
            raise LedgerError.about("report-unusable.columns", column=name)
        added.append(known[name])
    return (*COLUMNS, *added)

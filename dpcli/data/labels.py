"""Columns of texts: declared ones with labels, and ids and private keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from dpcli.data.cell_options import (
    MAX_NAMED,
    Blanks,
    Case,
    From,
    MissingMarks,
    Numerals,
    usual_cases,
)
from dpcli.data.column import (
    Column,
    Derivation,
    Option,
    Proposal,
    Ranges,
    Rule,
    SampledTexts,
    Source,
    TextOption,
    ValuedColumn,
)
from dpcli.data.declared_texts import (
    DROP,
    look,
    mapping_text,
    report_twins,
    require_distinct_texts,
    require_text,
    yaml_text,
)
from dpcli.data.polars_text import (
    HYPHENS,
    LABEL_HYPHENS,
    pl,
    position_of_code,
    private_key,
    unified_text,
)
from dpcli.data.sections import ColumnSection
from dpcli.data.spellings import added_texts
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import Attempt, MappingNode, ScalarNode, attempt, scalars_of
from dpcli.fields.values import ByForm, Choice, Fields, Text, Texts
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import quoted_list
from dpcli.problems.reference import usual_cells

MissingId = Annotated[str, Choice("unknown-choice.missing-id", (DROP, "each"))]


MAX_SHORT_VALUES = 10
"""The most texts of a category that are all shown; of more, only added ones are."""


class UnifiedColumn(Column):
    """A column of texts, which are equal if they differ in nothing that is seen."""

    __slots__ = ()

    hyphens: ClassVar[str] = HYPHENS
    """The characters in texts that are the same as `-`."""

    def bare_text(self, cell: pl.Expr) -> pl.Expr:
        return unified_text(cell, self.hyphens)


class LabelSection(ColumnSection):
    """The declaration of texts with labels."""

    other: Text | None = None


@dataclass(frozen=True)
class LabeledColumn(UnifiedColumn, ValuedColumn):
    """Declared texts and their labels; several texts may have the same label.

    `values` are pairs of a text in the file and its label. `missing` is the position of the label
    of all other cells; if it is None, they are missing. `other` is the label of every other text
    that is not blank. Properties are computed once, because a column may have very many values and
    be used by many statistics.
    """

    name: str
    values: tuple[tuple[str, str], ...]
    missing: int | None = None
    source: Source = None
    derivation: Derivation | None = None
    options: tuple[Option, ...] = ()
    other: str | None = None

    section: ClassVar[type[SectionModel]] = LabelSection
    hyphens: ClassVar[str] = LABEL_HYPHENS
    checks_texts = True
    takes: ClassVar[tuple[type[Option], ...]] = (Case, MissingMarks, From)

    unknown_label: ClassVar[str] = "unknown-label.of"
    """The code of the problem if a text is no label."""

    def __post_init__(self) -> None:
        # What is counted must be what is compared, so all of it is plain data.
        texts = {*map(type, chain.from_iterable(self.values))}
        lists = {type(self.values), *map(type, self.values)}
        if texts - {str} or lists - {tuple} or type(self.other) not in (str, type(None)):
            raise TypeError("categories are plain texts")
        if self.missing is not None:
            if type(self.missing) is not int:
                raise TypeError("the constant of a category is the position of a label")
            if not 0 <= self.missing < len(self.labels):
                raise ValueError(f"the constant of column {self.name} is no label")

    def __hash__(self) -> int:
        return hash((self.name, self.kind, len(self.values), self.missing, self.source))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The different labels in the declared order. A cell is a position in them."""
        others = () if self.other is None else (self.other,)
        return tuple(dict.fromkeys((*(label for _, label in self.values), *others)))

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """The position of each label."""
        return {label: position for position, label in enumerate(self.labels)}

    @cached_property
    def label_of(self) -> Mapping[str, str]:
        """The label of each text in the file."""
        return dict(self.values)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The declared texts of cells, each of which has a label."""
        return tuple(text for text, _ in self.values)

    @cached_property
    def compared_texts(self) -> Sequence[str]:
        """The declared texts, in the form in which cells are compared with them."""
        return self.compared(self.texts)

    @cached_property
    def position_of(self) -> Mapping[str, int]:
        """The position of the label of each compared text; the first one counts."""
        known: dict[str, int] = {}
        for text, (_, label) in zip(self.compared_texts, self.values, strict=True):
            known.setdefault(text, self.positions[label])
        # A text of which nothing is seen is a blank cell.
        known.pop("", None)
        return known

    @cached_property
    def usual_cells(self) -> Mapping[str, int]:
        """The same of usual cells, which are read without changes."""
        spelled = (option.spellings(self.texts) for option in self.text_options)
        cells = list(dict.fromkeys(chain(self.texts, *spelled)))
        known = zip(cells, self.compared(cells), strict=True)
        return {cell: self.position_of[text] for cell, text in known if text in self.position_of}

    @property
    def limits(self) -> tuple[int, int]:
        return 0, len(self.labels) - 1

    def text(self, value: int) -> str:
        return self.labels[value]

    def range_texts(self, ranges: Ranges) -> list[str]:
        return [label for low, high in ranges for label in self.labels[low : high + 1]]

    def condition_text(self, ranges: Ranges) -> str:
        return f"{self.name} is {' or '.join(self.range_texts(ranges))}"

    def with_missing(self, section: Any, check_texts: Attempt[object]) -> Self:
        """The column with labels for missing and other cells; `check_texts` may raise."""
        column = replace(self, other=getattr(section, "other", None))
        label, position = section.missing, None
        if label not in (None, DROP):
            position = column.positions.get(label)
            if position is None:
                raise section.report("unknown-label", "missing", word=label, choices=column.labels)
        check_texts.require()
        return replace(column, missing=position)

    def without_missing_constant(self) -> Self:
        return replace(self, missing=None)

    def rules(self, decided: Mapping[str, int | None]) -> Sequence[Rule]:
        def last(text: pl.Expr) -> pl.Expr:
            compared = text if self.needs_plain_text else self.compared_text(text)
            known = _positions(compared, self.position_of)
            if self.other is None:
                return known
            other = pl.lit(self.positions[self.other], dtype=pl.Int32)
            return pl.coalesce(known.cast(pl.Int32), pl.when(text.is_not_null()).then(other))

        first = [] if self.needs_plain_text else [partial(_positions, known=self.usual_cells)]
        return [*first, last]

    def native_type(self, decimal: str, quote: str | None) -> pl.DataType | None:
        # The native reader compares cells as they are written, with their quotes doubled.
        is_odd = any(not text or (quote is not None and quote in text) for text in self.usual_cells)
        is_simple = not (is_odd or self.needs_plain_text or self.marks or self.other is not None)
        return pl.Enum(list(self.usual_cells)) if is_simple else None

    def strict_cells(self, cell: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
        native = self.native_type(".", None)
        if native is None or not isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
            return None
        return self.native_steps(cell.cast(native))

    def native_steps(self, cell: pl.Expr) -> pl.Expr:
        return position_of_code(cell, list(self.usual_cells.values()))

    def possible(self, value: pl.Expr) -> pl.Expr:
        return pl.when(value.is_between(*self.limits)).then(value)

    @property
    def reads_all(self) -> bool:  # type: ignore[override]
        return self.other is not None

    @property
    def needs_plain_text(self) -> bool:
        # Without another label, a mark is a text that is not declared.
        has_mark = self.other is not None and bool(self.marks)
        return has_mark or not all(option.for_unread for option in self.options)

    @property
    def has_form(self) -> bool:
        return bool(self.options) or self.other is not None

    def cell_aggregates(self, cell: pl.Expr, value: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        yield "least", value.min()
        yield "most", value.max()
        text = self.plain_text(cell)
        yield "texts", text.filter(text.is_in(list(self.compared_texts))).unique().implode()

    def expected(self, decimal: str) -> str:
        if self.option(UsualWords):
            return "expected true or false, yes or no, or another word of `dpcli explain boolean`"
        how = "in any case" if self.option(Case) else "to the letter"
        return f"expected one of the declared texts, {how}"

    @property
    def has_doubts(self) -> bool:
        return self.other is not None

    def doubts(self, cells: SampledTexts) -> Iterator[str]:
        rows, looks = {**cells.unread, **cells.read}, set(map(look, self.texts))
        compared = zip(rows, self.compared([*rows]), strict=True)
        alike = [t for t, key in compared if key not in self.position_of and look(t) in looks]
        if alike:
            yield "some cells look like declared texts, with other characters: look at the file"

    def changed_keys(self, old: Self) -> Iterator[str]:
        if self.values != old.values:
            yield f"values: {self.changed_values(old)}"
        yield from ValuedColumn.changed_keys(self, old)

    def changed_values(self, old: Self) -> str:
        """The texts and labels as YAML; of many, only those that `old` does not have."""
        is_short = len(self.values) <= MAX_SHORT_VALUES
        pairs = self.values if is_short else self.values[len(old.values) :]
        mapping = mapping_text((text, yaml_text(label)) for text, label in pairs)
        return mapping if is_short else mapping.replace("{", "{..., ")

    def axis_labels(self, starts: Sequence[int]) -> tuple[str, ...]:
        return self.labels


def _positions(text: pl.Expr, known: Mapping[str, int]) -> pl.Expr:
    """The positions of the labels of known texts, null for others."""
    codes = text.cast(pl.Enum(list(known)), strict=False)
    return position_of_code(codes, list(known.values()))


class CategoryColumn(LabeledColumn):
    """Declared texts, each published as a label."""

    key = kind = "category"
    fields: ClassVar[Fields] = {
        "values": Annotated[Texts | Annotated[dict[str, Text], Field(min_length=1)], ByForm] | None,
        "missing": Text | None,
    }
    has_codes = True
    wrong_type: ClassVar[str] = "wrong-column-type.labels"

    @classmethod
    def declared(cls, name: str, section: Any) -> Column:
        """The column. Without `values`, it is a column with private partitions."""
        if section.values is None:
            return PrivatePartitionColumn.declared(name, section)
        values = section.node.value("values")
        pairs = [(scalar, scalar) for scalar in scalars_of(values)]
        if isinstance(values, MappingNode):
            entries = values.pairs.values()
            pairs = [(text, label) for text, label in entries if isinstance(label, ScalarNode)]
        check_texts = attempt(require_distinct_texts, pairs)
        other = section.node.scalar("other")
        if other is not None:
            require_text(other, "label", published=True)
        published = [label for _, label in pairs] + ([other] if other else [])
        report_twins("label", [(label, label.text) for label in published])
        report_twins("value", [(text, label.text) for text, label in pairs if text is not label])
        column = cls(name, tuple((text.text, label.text) for text, label in pairs))
        return column.with_missing(section, check_texts)

    def proposed(self, cells: SampledTexts) -> Iterator[Proposal[Self]]:
        """The column with other spellings and abbreviations of its declared texts."""
        for proposal in LabeledColumn.proposed(self, cells):
            column = proposal.value
            added = added_texts(column, column.values, cells)
            values = (*column.values, *added.value[:MAX_NAMED])
            yield Proposal(replace(column, values=values), (*proposal.doubts, *added.doubts))


BOOLEAN_WORDS = {"f": "false", "t": "true", "no": "false", "yes": "true", "n": "false", "y": "true",
                 "off": "false", "on": "true", "0": "false", "1": "true"}  # fmt: skip
"""What programs write for false and true, besides these words."""


@dataclass(frozen=True, slots=True)
class UsualWords(TextOption):
    """The words of booleans without declared texts, in any case, and `1.0`."""

    key = "values"
    only = "the usual words"
    for_unread = True

    @property
    def declared_texts(self) -> tuple[str, ...]:
        return tuple(BOOLEAN_WORDS)

    def changed(self, text: pl.Expr) -> pl.Expr:
        word = text.str.to_lowercase().str.replace(r"^([01])\.0*$", "${1}")
        return word.replace(BOOLEAN_WORDS)

    def spellings(self, texts: Sequence[str]) -> Iterator[str]:
        yield from usual_cases([*texts, *BOOLEAN_WORDS, "0.0", "1.0"])


BOOLEAN_LABELS = ("false", "true")


class BooleanColumn(LabeledColumn):
    """Two texts: the first means false, the second true; or the usual words.

    Its labels are `false` and `true`.
    """

    key = kind = "boolean"
    is_truth = True
    fields: ClassVar[Fields] = {
        "values": Annotated[list[Text], Field(min_length=2, max_length=2, examples=[["no", "yes"]])]
        | None,
        "missing": Text | None,
    }
    wrong_type: ClassVar[str] = "wrong-column-type.boolean"
    unknown_label: ClassVar[str] = "unknown-label.boolean"

    @classmethod
    def declared(cls, name: str, section: Any) -> Column:
        pairs = tuple(zip(section.values or BOOLEAN_LABELS, BOOLEAN_LABELS, strict=True))
        texts = scalars_of(section.node.value("values"))
        check_texts = attempt(require_distinct_texts, [(text, None) for text in texts])
        report_twins("value", [*zip(texts, BOOLEAN_LABELS, strict=False)])
        if section.other is not None and section.other not in BOOLEAN_LABELS:
            raise section.report("unknown-choice", "other", choices=BOOLEAN_LABELS)
        options = () if section.values else (UsualWords(),)
        return cls(name, pairs, options=options).with_missing(section, check_texts)

    def changed_values(self, old: Self) -> str:
        return f"[{', '.join(map(yaml_text, self.texts))}]"

    def proposed(self, cells: SampledTexts) -> Iterator[Proposal[Self]]:
        """The column with other options, or with a usual pair of words."""
        every = {text.lower() for text in (*cells.unread, *cells.read)}
        texts = every.difference(usual_cells()["marks"])
        for proposal in LabeledColumn.proposed(self, cells):
            yield proposal
            for pair in usual_cells()["booleans"]:
                found, others = sorted(texts & {*pair}), texts - {*pair}
                is_pair = len(found) == len(pair)
                if is_pair or (found and not others):
                    letters = {text.removesuffix(".0") for text in found if text.isascii()}
                    is_usual = is_pair and not others and letters <= BOOLEAN_WORDS.keys()
                    is_unsure = not is_usual and min(map(len, letters), default=2) == 1
                    doubt = f"{quoted_list(found)} may mean something else"
                    column = proposal.value.with_words(pair, (*cells.unread, *cells.read))
                    yield Proposal(column, proposal.doubts).doubt_if(is_unsure, doubt)

    def with_words(self, pair: Sequence[str], texts: Iterable[str]) -> Self:
        """The column with a pair of words as `texts` spell them, or in any case."""
        found = [[text for text in texts if text.lower() == word] or [word] for word in pair]
        values = tuple((words[0], label) for words, label in zip(found, self.labels, strict=False))
        column = replace(self, values=values).with_options(without=[UsualWords])
        return column.with_options(Case()) if max(map(len, found)) > 1 else column


def labeled_columns(items: Iterable[object]) -> tuple[LabeledColumn, ...]:
    """The columns with declared labels among others."""
    return tuple(item for item in items if isinstance(item, LabeledColumn))


def require_labeled(column: object) -> LabeledColumn:
    """A column that is known to have declared labels; `TypeError` for any other."""
    if not isinstance(column, LabeledColumn):
        raise TypeError("this needs a column of declared labels")
    return column


@dataclass(frozen=True, slots=True)
class TextColumn(UnifiedColumn):
    """A column whose cells stay texts."""

    name: str
    missing: None = None
    source: Source = None
    derivation: Derivation | None = None
    options: tuple[Option, ...] = ()

    section: ClassVar[type[SectionModel]] = ColumnSection
    takes: ClassVar[tuple[type[Option], ...]] = (MissingMarks, From)


def require_text_column(column: object) -> TextColumn:
    """A column whose cells are known to stay texts; `TypeError` for any other."""
    if not isinstance(column, TextColumn):
        raise TypeError("this needs a column of texts")
    return column


class PrivatePartitionColumn(TextColumn):
    """A column whose texts are not declared, so that they are as private as the rows.

    It can only be a key of groups that partition selection chooses (`keys: private`).
    """

    __slots__ = ()

    key = kind = "category"
    is_private = True

    @classmethod
    def declared(cls, name: str, section: Any) -> Self:
        if section.missing not in (None, DROP):
            raise section.report("unknown-label.open", "missing")
        section.require()
        if wrong := next((key for key in ("case", "other") if section.has(key)), None):
            raise section.report_key("values-needed", wrong, column=name)
        return cls(name)

    def rules(self, decided: Mapping[str, int | None]) -> Sequence[Rule]:
        return [private_key]

    def expected(self, decimal: str) -> str:
        return "expected a text of at most 1,000 visible characters"


@dataclass(frozen=True, slots=True)
class IdColumn(TextColumn):
    """The id of the person of a row. It is never published.

    Ids are one if they differ in nothing that is seen (`unified_text`). A row with an empty id, or
    with a mark of missing cells, belongs to no person. With `singletons_without_id`, it belongs to
    a person with no other row. Options join more ids.

    Privacy: what an id becomes depends on that id alone. To join ids never separates rows, so the
    rows of a person stay together, and the loss of that person is that of one unit. If two people
    share a joined id, each is a part of a unit. To change a part is one step under change-one
    neighbors, and at most two under add-remove, as it is for people who share an id in the file.
    """

    singletons_without_id: bool = False

    key = kind = "id"
    is_id = reads_all = True
    needs_plain_text = True
    fields: ClassVar[Fields] = {"missing": MissingId | None}
    takes: ClassVar[tuple[type[Option], ...]] = (Case, Blanks, Numerals, *TextColumn.takes)

    @classmethod
    def declared(cls, name: str, section: Any) -> Column:
        """The column; `missing: each` makes a person of each row without an id."""
        return cls(name, singletons_without_id=section.missing == "each")

    def rules(self, decided: Mapping[str, int | None]) -> Sequence[Rule]:
        return [lambda text: text]

    def declared_parts(self, cell: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        """Nothing: ids are not looked at."""
        yield from ()

    def expected(self, decimal: str) -> str:
        return "expected a text"

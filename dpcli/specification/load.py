"""Reads a spec: returns a `Spec`, or raises `SpecError` with all problems.

`SpecModel` and its subclasses have a field for each top-level key. `resolve` turns what was read
into a `Spec`. The functions that other packages call are at the end.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from dpcli.data.candidate_bounds import LIMIT_NAME
from dpcli.data.column import column_names
from dpcli.data.declared_texts import Note, Title
from dpcli.data.formats import UNDECLARED_DIALECT
from dpcli.fields.section import SectionModel, SeparateSection, SeparateSections
from dpcli.fields.tree import Attempt, Node, ScalarNode, TooManyProblemsError, attempt, scalars_of
from dpcli.fields.values import (
    MAX_BUDGET,
    AlreadyReportedError,
    ByForm,
    Choice,
    ExactNumber,
    ParsedText,
    Text,
    invalid_value,
    limited_epsilon,
)
from dpcli.numeric.exact import readable_text
from dpcli.privacy.unit import PersonUnit, RowUnit
from dpcli.problems.errors import SpecError, describe_system_error
from dpcli.specification.captions import NumberFormat, stated_caption
from dpcli.specification.columns import MAX_COLUMNS, declare_columns
from dpcli.specification.context import SpecContext
from dpcli.specification.dataset_names import DATASET_PATTERN, dataset_name_fault
from dpcli.specification.entries import MAX_STATISTICS, choose_entry, resolve_entries
from dpcli.specification.entry_fields import EntryModel
from dpcli.specification.model import (
    CentralSpec,
    Declarations,
    Entry,
    LocalSpec,
    Privacy,
    QualityCheck,
    Spec,
    SpecT,
)
from dpcli.specification.privacy import PrivacyModel, resolve_privacy
from dpcli.specification.yaml_reader import MAX_BYTES, find_placeholders, read_tree

if TYPE_CHECKING:
    from dpcli.data.periods import Period

VERSION, HERE = "1", "dpcli.specification"

LOCAL = "local"
"""The model in which each record is randomized by itself."""

MAX_LETTERS = 40
PLURAL = rf"(?=.{{1,{MAX_LETTERS}}}\Z)[^\W\d_]+(?:[ -][^\W\d_]+)*"
"""The pattern of `rows_are`: letters, with single spaces or hyphens in between."""


def _parse_dataset(text: str) -> str:
    fault = dataset_name_fault(text)
    if fault is None:
        return text
    raise invalid_value("bad-name", expected=fault["expected"], advice=fault["advice"])


DatasetName = Annotated[
    str, ParsedText(_parse_dataset, {"type": "string", "pattern": f"^{DATASET_PATTERN}$"})
]


def _parse_rows_are(text: str) -> str:
    if re.fullmatch(PLURAL, text):
        return text
    expected = f"letters, spaces and hyphens, at most {MAX_LETTERS}"
    advice = "write what a row is, as a plural: `rows_are: visits`"
    raise invalid_value("bad-name", expected=expected, advice=advice)


def _parse_period(text: str) -> Period:
    from dpcli.data.periods import parse_period

    try:
        return parse_period(text)
    except ValueError:
        raise invalid_value("bad-period") from None


PERIOD_SCHEMA = {"type": ["string", "integer"], "examples": ["2024", "2024-01", "2024-01/2024-03"]}


def _proposed_confidence(text: str) -> str:
    return f"0.{text}" if text.isdigit() and len(text) == 2 else "0.95"


Confidence = Annotated[
    Fraction,
    ExactNumber(
        "confidence-out-of-range",
        min_value=Fraction(1, 2),
        max_value=Fraction(999_999, 1_000_000),
        proposed=_proposed_confidence,
    ),
]


# Few specs have these sections, and their modules have a model for every form of a part.


def _choose_derived(key: ScalarNode | None, node: Node) -> type[SectionModel]:
    from dpcli.specification.derive import choose_derived

    return choose_derived(key, node)


def _choose_person_value(key: ScalarNode | None, node: Node) -> type[SectionModel]:
    from dpcli.specification.people import choose_person_value

    return choose_person_value(key, node)


def _choose_hierarchy(key: ScalarNode | None, node: Node) -> type[SectionModel]:
    from dpcli.specification.hierarchies import choose_hierarchy

    return choose_hierarchy(key, node)


def _choose_response(key: ScalarNode | None, node: Node) -> type[SectionModel]:
    from dpcli.specification.responses import choose_response

    return choose_response(key, node)


class SpecModel(SectionModel):
    """The keys that specs of both models have."""

    noun = "the spec"
    missing_lines: ClassVar[Mapping[str, str]] = {
        "dataset": "`dataset: NAME`, the ledger account that pays",
        "privacy": "`privacy: {unit: row, neighbors: add-remove, budget: {epsilon: ...}}`",
    }

    dpcli: Annotated[
        str,
        Choice("unknown-version", (VERSION,)),
        Field(json_schema_extra={"type": ["integer", "string"], "enum": [1, "1"]}),
    ]
    model: Annotated[str, Choice("unknown-choice", ("central", LOCAL))] | None = None
    dataset: DatasetName
    part_of: DatasetName | None = None
    recipient: DatasetName | None = None
    ledger: Annotated[str, Choice("unknown-choice", ("must-exist",))] | None = None
    confidence: Confidence = Fraction(19, 20)
    csv: Annotated[Any, SeparateSection(f"{HERE}.csv_form:CsvModel")] | None = None
    privacy: Annotated[PrivacyModel, SeparateSection()]
    columns: dict[str, Any]
    derive: Annotated[dict[str, Any], SeparateSections(_choose_derived, MAX_COLUMNS)] | None = None
    declarations: (
        Annotated[Any, SeparateSection(f"{HERE}.declarations:DeclarationsModel")] | None
    ) = None
    title: Title | None = None
    note: Note | None = None
    reference_period: Annotated[Any, ParsedText(_parse_period, PERIOD_SCHEMA)] | None = None


class CentralSpecModel(SpecModel):
    """What is released from a dataset, and how much that may reveal."""

    people: (
        Annotated[dict[str, Any], SeparateSections(_choose_person_value, MAX_COLUMNS)] | None
    ) = None
    rows_are: (
        Annotated[str, ParsedText(_parse_rows_are, {"type": "string", "maxLength": MAX_LETTERS})]
        | None
    ) = None
    numbers: NumberFormat | None = None
    epsilon: Annotated[Fraction, limited_epsilon(MAX_BUDGET)] | None = None
    output: Annotated[Any, SeparateSection(f"{HERE}.output:OutputModel")] | None = None
    quality: (
        Annotated[
            Annotated[str, Choice("unknown-choice.quality", ("none",))]
            | Annotated[dict[str, Any], SeparateSection(f"{HERE}.quality:QualityModel")],
            ByForm,
        ]
        | None
    ) = None
    period: Annotated[Any, SeparateSection(f"{HERE}.period:PeriodModel")] | None = None
    sample: Annotated[Any, SeparateSection(f"{HERE}.samples:SampleModel")] | None = None
    hierarchies: (
        Annotated[dict[str, Any], SeparateSections(_choose_hierarchy, MAX_COLUMNS)] | None
    ) = None
    statistics: Annotated[list[EntryModel | None], SeparateSections(choose_entry, MAX_STATISTICS)]


class LocalSpecModel(SpecModel):
    """How every record is randomized before it is collected."""

    responses: Annotated[list[Any], SeparateSections(_choose_response, MAX_COLUMNS)]
    public: list[Text] | None = None


PERSON_WORDS = ("people", "persons")
"""Values of `rows_are` that are refused where a person may have several rows."""


DATA_SUFFIXES = (".csv", ".tsv", ".gz", ".parquet", ".xlsx", ".sqlite")
"""Endings of the names of data files, which are not opened as specs."""


def parse_spec(
    text: bytes | str,
    source: str,
    folder: Path | None = None,
    data: Sequence[str] = (),
    *,
    published: bool = False,
) -> Spec:
    """The spec in a text, of either model.

    `source` names the text in messages. Files that the text names are read from `folder`, and must
    be none of the `data` files, of which only names are used. If noisy counts will choose bounds or
    a limit, the spec has the outermost ones. A `published` spec may be one that only an earlier
    version accepted. Raises `SpecError` with all problems if there are any.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    root, findings, decoded = read_tree(raw, source)
    context = SpecContext(
        findings=findings, folder=folder or Path(), data=data, published=published
    )
    with suppress(TooManyProblemsError, AlreadyReportedError):
        if root is None:
            raise AlreadyReportedError
        find_placeholders(root)
        word = root.scalar("model")
        local = word is not None and word.text == LOCAL
        spec = resolve((LocalSpecModel if local else CentralSpecModel).read(root), context)
        if not findings and context.choices:
            from dpcli.specification.chosen_bounds import require_choices_fit

            require_choices_fit(context, spec)
        if not findings:
            digest = hashlib.sha256(raw)
            for file in context.files:
                digest.update(bytes.fromhex(file.sha256))
            return replace(spec, text=decoded, digest=digest.hexdigest(), folder=context.folder)
    raise SpecError(findings.problems)


def resolve(document: CentralSpecModel | LocalSpecModel, context: SpecContext) -> Spec:
    """The spec of a document; `AlreadyReportedError` after its problems are recorded."""
    root = document.node
    dialect = attempt(
        lambda: (
            document.csv.resolved(root.mapping("columns")) if document.csv else UNDECLARED_DIALECT
        )
    )
    with suppress(AlreadyReportedError):
        context.decimal = dialect.value.decimal
    declare_columns(root.mapping("columns"), context)
    with suppress(AlreadyReportedError):
        _declare_computed(document, context)
    privacy = attempt(lambda: resolve_privacy(document.privacy, context))
    local = isinstance(document, LocalSpecModel)
    if root.mapping("people") is not None and isinstance(context.unit, RowUnit):
        root.key_span("people").report("people-need-person")
    with suppress(AlreadyReportedError):
        # Lines may be left out only if that says nothing about a public size.
        if local or privacy.value.relation.size_is_public:
            code = "csv-footer.local" if local else "csv-footer.public-size"
            for key in ("footer", "comment"):
                if getattr(dialect.value, key):
                    document.report_key(code, "csv", key, word=key)
    if isinstance(document, LocalSpecModel):
        make: Callable[..., Spec] = _local_spec(document, context)
    else:
        make = _central_spec(document, context, privacy)
    document.require()
    columns = tuple(column for column in context.columns.values() if column is not None)
    declared = document.declarations
    return make(
        dataset=document.dataset,
        privacy=privacy.value,
        columns=columns,
        confidence=document.confidence,
        text="",
        digest="",
        declarations=declared.resolved() if declared else Declarations(),
        dialect=replace(dialect.value, keys=column_names(columns)),
        must_exist=document.ledger is not None,
        named_files=tuple(context.files),
        caption=stated_caption(document),
        column_captions=context.captions,
        reference_period=document.reference_period,
        part_of=document.part_of,
        recipient=document.recipient,
    )


def _declare_computed(document: CentralSpecModel | LocalSpecModel, context: SpecContext) -> None:
    """Adds the columns that are derived from others, and those of people."""
    root = document.node
    section = root.mapping("derive")
    derived = document.derive if section is not None else None
    if isinstance(document, CentralSpecModel) and root.mapping("people") is not None:
        from dpcli.specification.people import declare_people_and_derived

        context.has_people = True
        declare_people_and_derived(root, derived or {}, document.people or {}, context)
    elif section is not None and derived is not None:
        from dpcli.specification.derive import declare_computed

        declare_computed(section, derived, context)


def _central_spec(
    document: CentralSpecModel, context: SpecContext, privacy: Attempt[Privacy]
) -> Callable[..., CentralSpec]:
    """Reads what only a central spec states; returns a function of the shared fields."""
    section = document.node.sequence("statistics")

    def resolved_quality() -> QualityCheck | None:
        model: Any = document.quality
        if model in (None, "none"):
            return None
        # Statistics decide which faults matter.
        checked: QualityCheck = model.resolved(context, entries)
        return checked

    if document.node.mapping("quality") is not None:
        from dpcli.statistics.quality.quality_counts import QUALITY_COUNTS

        context.reserved_names[QUALITY_COUNTS.name] = "the section `quality:`"
    context.shares_epsilon = "epsilon" in document.node.pairs
    period = attempt(
        lambda: (
            document.period.resolved(context, privacy.value.relation) if document.period else None
        )
    )
    sample = attempt(lambda: document.sample.resolved(context) if document.sample else None)
    if document.node.mapping("hierarchies") is not None:
        from dpcli.specification.hierarchies import resolve_hierarchies

        attempt(resolve_hierarchies, document, context)
    entries = attempt(lambda: resolve_entries(document.statistics, section, context))
    quality = attempt(resolved_quality)
    output_columns = attempt(lambda: document.output.resolved() if document.output else ())
    unit = context.unit if LIMIT_NAME in context.choices else None
    rows_are = attempt(_rows_name, document, context)
    epsilon = attempt(_shared_epsilon, document, privacy, entries)
    return lambda **shared: CentralSpec(
        **shared,
        entries=entries.value,
        quality=quality.value,
        declines_check=document.quality == "none",
        epsilon=epsilon.value,
        period_column=period.value,
        sample=sample.value,
        choices=tuple(choice for choice, _ in context.choices.values()),
        unit_of_choices=unit.in_one_cell if isinstance(unit, PersonUnit) else None,
        rows_are=rows_are.value,
        numbers=document.numbers or "",
        output_columns=output_columns.value,
        bins_in_words=document.output is not None and document.output.bins == "words",
        possible=context.possible,
        may_be_blank=frozenset(context.may_be_blank | context.blank_answers),
    )


def _shared_epsilon(
    document: CentralSpecModel, privacy: Attempt[Privacy], entries: Attempt[tuple[Entry, ...]]
) -> Fraction | None:
    """The epsilon of the whole spec, which the budget allows and some entry shares."""
    document.require("epsilon")
    epsilon, budget = document.epsilon, privacy.value.budget
    if epsilon is not None and epsilon > budget.epsilon:
        allowed = readable_text(budget.epsilon)
        raise document.report("epsilon-above-budget", "epsilon", allowed=allowed)
    if epsilon is not None and not any(entry.budget_amount.weight for entry in entries.value):
        raise document.report_key("epsilon-unused", "epsilon")
    return epsilon


def _rows_name(document: CentralSpecModel, context: SpecContext) -> str:
    name = document.rows_are or "rows"
    # A person can have several rows, so a count of rows must not be called a count of people.
    if isinstance(context.unit, PersonUnit) and name.casefold() in PERSON_WORDS:
        document.report("rows-are-people", "rows_are")
    return name


def _local_spec(document: LocalSpecModel, context: SpecContext) -> Callable[..., LocalSpec]:
    """Reads what only a local spec states; returns a function of the shared fields."""
    from dpcli.specification.responses import resolve_responses

    public = () if document.is_wrong("public") else scalars_of(document.node.value("public"))
    models = None if document.is_wrong("responses") else document.responses
    collected = attempt(resolve_responses, models, public, document.node, context)
    return lambda **shared: LocalSpec(
        **shared, responses=collected.value[0], public=collected.value[1]
    )


def read_spec_file(path: Path | str, data: Sequence[str] = ()) -> Spec:
    """The spec in a file, of either model, which names none of the `data` files.

    Raises `SpecError` if the file cannot be read or the spec has problems.
    """
    if Path(path).name.casefold().endswith(DATA_SUFFIXES):
        # Messages quote lines of the spec, and must never quote a line of data.
        raise SpecError.about("spec-unreadable.data", spec=Path(path))
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why, fix = describe_system_error(error)
        missing = isinstance(error, FileNotFoundError)
        code = "spec-unreadable.missing" if missing else "spec-unreadable"
        raise SpecError.about(code, spec=Path(path), why=why, fix=fix) from None
    return parse_spec(raw, str(path), Path(path).parent, data)


def parse_central_spec(text: bytes | str, source: str) -> CentralSpec:
    """Like `parse_spec`, but a spec of the local model raises `SpecError` too."""
    return require_model(parse_spec(text, source), CentralSpec, source)


def read_central_spec(path: Path | str, data: Sequence[str] = ()) -> CentralSpec:
    """Like `read_spec_file`, but a spec of the local model raises `SpecError` too."""
    return require_model(read_spec_file(path, data), CentralSpec, str(path))


def read_local_spec(path: Path | str, data: Sequence[str] = ()) -> LocalSpec:
    """Like `read_spec_file`, but a spec of the central model raises `SpecError` too."""
    return require_model(read_spec_file(path, data), LocalSpec, str(path))


def require_model(spec: Spec, model: type[SpecT], source: str) -> SpecT:
    """The spec, if it is of this model; else raises `SpecError`."""
    if isinstance(spec, model):
        return spec
    raise SpecError.about("wrong-model" if model is LocalSpec else "wrong-model.local", spec=source)

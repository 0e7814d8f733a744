"""Reads a spec: returns a `Spec`, or raises `SpecError` with all problems.

All functions that other packages call are at the end of this module.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from dpcli.data.column import column_names
from dpcli.errors import SpecError, describe_system_error
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import MappingNode, TooManyProblemsError, attempt
from dpcli.fields.values import (
    AlreadyReportedError,
    ByForm,
    Choice,
    ExactNumber,
    ParsedText,
    Text,
    invalid_value,
)
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.specification.captions import Note, NumberFormat, Title, stated_caption
from dpcli.specification.choice import require_answers_after_choices, require_choices_used
from dpcli.specification.columns_section import declare_columns
from dpcli.specification.context import SpecContext
from dpcli.specification.csv_form import read_dialect
from dpcli.specification.dataset_names import DATASET_PATTERN, dataset_name_fault
from dpcli.specification.declarations import DeclarationsModel
from dpcli.specification.entries import read_entries
from dpcli.specification.model import CentralSpec, Declarations, LocalSpec, Privacy, Spec, SpecT
from dpcli.specification.privacy import count_limits, read_privacy, read_quality
from dpcli.specification.yaml_reader import MAX_BYTES, find_placeholders, read_tree
from dpcli.statistics.bounds_choice import LIMIT_NAME
from dpcli.statistics.quality import QUALITY_COUNTS
from dpcli.statistics.sampling import SampleDesign

VERSION = "1"

LOCAL = "local"
"""The model in which each record is randomized by itself."""

MAX_LETTERS = 40
PLURAL = rf"(?=.{{1,{MAX_LETTERS}}}\Z)[^\W\d_]+(?:[ -][^\W\d_]+)*"
"""Letters of any alphabet, with single spaces and hyphens between them."""

PERSON_WORDS = ("people", "persons")
"""Names that rows must not have where several rows belong to one person."""


def _parse_dataset(text: str) -> str:
    fault = dataset_name_fault(text)
    if fault is None:
        return text
    raise invalid_value("bad-name.dataset", expected=fault["expected"], advice=fault["advice"])


def _parse_rows_are(text: str) -> str:
    if re.fullmatch(PLURAL, text):
        return text
    raise invalid_value("bad-name.rows", most=MAX_LETTERS)


def _proposed_confidence(text: str) -> str:
    return f"0.{text}" if text.isdigit() and len(text) == 2 else "0.95"


Confidence = Annotated[
    Fraction,
    ExactNumber(
        "confidence-out-of-range",
        least=Fraction(1, 2),
        most=Fraction(999_999, 1_000_000),
        proposed=_proposed_confidence,
    ),
]


class SpecModel(SectionModel):
    """The keys that specs of both models have."""

    noun = "the spec"

    dpcli: Annotated[
        str,
        Choice("unknown-version", (VERSION,)),
        Field(json_schema_extra={"type": ["integer", "string"], "enum": [1, "1"]}),
    ]
    model: Annotated[str, Choice("unknown-choice", ("central", LOCAL))] | None = None
    dataset: Annotated[
        str, ParsedText(_parse_dataset, {"type": "string", "pattern": f"^{DATASET_PATTERN}$"})
    ]
    ledger: Annotated[str, Choice("unknown-choice", ("must-exist",))] | None = None
    confidence: Confidence = Fraction(19, 20)
    csv: dict[str, Any] | None = None
    privacy: dict[str, Any]
    columns: dict[str, Any]
    derive: dict[str, Any] | None = None
    declarations: DeclarationsModel | None = None
    title: Title | None = None
    note: Note | None = None


class CentralSpecModel(SpecModel):
    """What is released from a dataset, and how much that may reveal."""

    rows_are: (
        Annotated[str, ParsedText(_parse_rows_are, {"type": "string", "maxLength": MAX_LETTERS})]
        | None
    ) = None
    numbers: NumberFormat | None = None
    quality: (
        Annotated[
            Annotated[str, Choice("unknown-choice.quality", ("none",))] | dict[str, Any], ByForm
        ]
        | None
    ) = None
    sample: dict[str, Any] | None = None
    statistics: list[Any]


class LocalSpecModel(SpecModel):
    """How every record is randomized before it is collected."""

    responses: list[Any]
    public: list[Text] | None = None


# Few specs have these sections, and each has a model for every form of its parts.


def _declare_derived(node: MappingNode | None, context: SpecContext) -> None:
    if node is not None:
        from dpcli.specification.derive import declare_derived

        declare_derived(node, context)


def _read_sample(node: MappingNode | None, context: SpecContext) -> SampleDesign | None:
    if node is None:
        return None
    from dpcli.specification.declarations import read_sample

    return read_sample(node, context)


def _read_rows_name(heading: SpecModel, unit: Unit | None) -> str:
    name = getattr(heading, "rows_are", None) or "rows"
    # A person can have several rows, so a count of rows must not be called a count of people.
    if isinstance(unit, PersonUnit) and name.casefold() in PERSON_WORDS:
        heading.report("rows-are-people", "rows_are")
    return str(name)


DATA_SUFFIXES = (".csv", ".tsv", ".gz", ".parquet", ".xlsx", ".sqlite")
"""Endings of the names of data files, which are not opened as specs."""


def parse_spec(text: bytes | str, source: str, folder: Path | None = None) -> Spec:
    """The spec in a text, of either model.

    `source` names the text in messages. Files that the text names are read from `folder`. Where
    noisy counts will choose bounds or a limit, it has the outermost ones. Raises `SpecError` with
    all problems if there are any.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    root, findings, decoded = read_tree(raw, source)
    context = SpecContext(findings, folder or Path())
    with suppress(TooManyProblemsError, AlreadyReportedError):
        spec = _read(root, context)
        if not findings:
            require_choices_used(context, spec if isinstance(spec, CentralSpec) else None)
        if not findings and isinstance(spec, CentralSpec):
            require_answers_after_choices(context, spec)
        if not findings:
            digest = hashlib.sha256(raw)
            for file in context.files:
                digest.update(bytes.fromhex(file.sha256))
            return replace(spec, text=decoded, digest=digest.hexdigest(), folder=context.folder)
    raise SpecError(findings.problems)


def _read(root: MappingNode | None, context: SpecContext) -> Spec:
    if root is None:
        raise AlreadyReportedError
    find_placeholders(root)
    model = root.scalar("model")
    local = model is not None and model.text == LOCAL
    # This checks the keys at the top; each section is read by a module of its own.
    heading: Any = (LocalSpecModel if local else CentralSpecModel).read(root)
    dialect = attempt(read_dialect, root.mapping("csv"), root.mapping("columns"))
    with suppress(AlreadyReportedError):
        context.decimal = dialect().decimal
    declare_columns(root.mapping("columns"), context)
    _declare_derived(root.mapping("derive"), context)
    privacy = attempt(read_privacy, root.mapping("privacy"), context)
    with suppress(AlreadyReportedError):
        if dialect().footer and (local or privacy().relation.size_is_public):
            span = root.mapping("csv").key_span("footer")  # type: ignore[union-attr]
            span.report("csv-footer.local" if local else "csv-footer.public-size")
    requested = _requests(root, context, privacy) if not local else _responses(heading, context)
    rows_are = attempt(_read_rows_name, heading, context.unit)
    heading.require()
    columns = tuple(column for column in context.columns.values() if column is not None)
    shared = {
        "dataset": heading.dataset,
        "privacy": privacy(),
        "columns": columns,
        "confidence": heading.confidence,
        "text": "",
        "digest": "",
        "declarations": heading.declarations.resolved() if heading.declarations else Declarations(),
        "dialect": replace(dialect(), keys=column_names(columns)),
        "rows_are": rows_are(),
        "must_exist": heading.ledger is not None,
        "named_files": tuple(context.files),
        "caption": stated_caption(heading),
        "column_captions": context.captions,
        "numbers": getattr(heading, "numbers", None) or "",
    }
    return LocalSpec(**shared, **requested()) if local else CentralSpec(**shared, **requested())


def _requests(
    root: MappingNode, context: SpecContext, privacy: Callable[[], Privacy]
) -> Callable[[], dict[str, Any]]:
    """What only a spec of the central model states."""
    checks = root.mapping("quality")
    if checks is not None:
        context.reserved_names[QUALITY_COUNTS.name] = "the section `quality:`"
    sample = attempt(_read_sample, root.mapping("sample"), context)
    entries = attempt(read_entries, root, context)
    # Statistics decide in which columns a blank cell is an answer.
    quality = attempt(read_quality, checks, context)
    if checks is not None:
        quality = attempt(count_limits, checks, quality, entries, privacy)
    unit = context.unit if LIMIT_NAME in context.choices else None
    return lambda: {
        "entries": entries(),
        "quality": quality(),
        "declines_check": root.scalar("quality") is not None,
        "sample": sample(),
        "choices": tuple(choice for choice, _ in context.choices.values()),
        "unit_of_choices": unit.in_one_cell if isinstance(unit, PersonUnit) else None,
    }


def _responses(heading: Any, context: SpecContext) -> Callable[[], dict[str, Any]]:
    """What only a spec of the local model states."""
    from dpcli.specification.responses import read_responses

    collected = attempt(read_responses, heading, context)
    return lambda: dict(zip(("responses", "public"), collected(), strict=True))


def read_spec_file(path: Path | str) -> Spec:
    """The spec in a file, of either model.

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
    return parse_spec(raw, str(path), Path(path).parent)


def parse_central_spec(text: bytes | str, source: str) -> CentralSpec:
    """Like `parse_spec`, but a spec of the local model raises `SpecError` too."""
    return require_model(parse_spec(text, source), CentralSpec, source)


def read_central_spec(path: Path | str) -> CentralSpec:
    """Like `read_spec_file`, but a spec of the local model raises `SpecError` too."""
    return require_model(read_spec_file(path), CentralSpec, str(path))


def read_local_spec(path: Path | str) -> LocalSpec:
    """Like `read_spec_file`, but a spec of the central model raises `SpecError` too."""
    return require_model(read_spec_file(path), LocalSpec, str(path))


def require_model(spec: Spec, model: type[SpecT], source: str) -> SpecT:
    """The spec, if it is of this model; else raises `SpecError`."""
    if isinstance(spec, model):
        return spec
    raise SpecError.about("wrong-model" if model is LocalSpec else "wrong-model.local", spec=source)

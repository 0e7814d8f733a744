"""The entrance: from the text of a spec to a `Spec`, or to all of its problems."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from dpcli.errors import SpecError, describe_system_error
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.spec_values import (
    AlreadyReportedError,
    Choice,
    ExactNumber,
    ParsedText,
    SectionModel,
    Text,
    invalid_value,
)
from dpcli.specification.columns_section import SpecContext, declare_columns
from dpcli.specification.csv_section import read_dialect
from dpcli.specification.dataset_names import DATASET_PATTERN, dataset_name_fault
from dpcli.specification.model import Declarations, Spec
from dpcli.specification.privacy_section import read_privacy, read_quality
from dpcli.specification.statistics_section import read_entries
from dpcli.specification.tree import MappingNode, TooManyProblemsError, attempt
from dpcli.specification.validation import Section, read_section
from dpcli.specification.yaml_reader import MOST_BYTES, find_placeholders, read_text

VERSION = "1"

LOCAL = "local"
"""The model in which each record is randomized by itself."""

MOST_PEOPLE = 10**11
"""More than there ever were."""

LONGEST_ANSWER = 2_000
"""Characters of a declaration: a paragraph, not a document."""

MOST_LETTERS = 40
PLURAL = re.compile(rf"(?=.{{1,{MOST_LETTERS}}}\Z)[^\W\d_]+(?:[ -][^\W\d_]+)*")
"""Letters of any alphabet, with single spaces and hyphens between them."""

PEOPLE = ("people", "persons")
"""Words for what is protected, where that is a person."""


def _dataset(text: str) -> str:
    fault = dataset_name_fault(text)
    if fault is None:
        return text
    raise invalid_value("bad-name.dataset", expected=fault["expected"], advice=fault["advice"])


def _rows_are(text: str) -> str:
    if PLURAL.fullmatch(text):
        return text
    raise invalid_value("bad-name.rows", most=MOST_LETTERS)


def _parse_answer(text: str) -> str:
    if 1 <= len(text.strip()) <= LONGEST_ANSWER:
        return text.strip()
    raise invalid_value("bad-declaration", count=len(text.strip()), most=LONGEST_ANSWER)


def _proposed(text: str) -> str:
    return f"0.{text}" if text.isdigit() and len(text) == 2 else "0.95"


Population = Annotated[
    int, ExactNumber("bad-declaration.population", least=1, most=MOST_PEOPLE, whole=True)
]
AnswerText = Annotated[str, ParsedText(_parse_answer, {"type": ["string", "number", "boolean"]})]
Confidence = Annotated[
    Fraction,
    ExactNumber(
        "confidence-out-of-range",
        least=Fraction(1, 2),
        most=Fraction(999_999, 1_000_000),
        proposed=_proposed,
    ),
]


class DeclarationsModel(SectionModel):
    """What only people can answer; the report and the registry record quote it."""

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


class SpecModel(SectionModel):
    """What a spec of either model says of itself."""

    dpcli: Annotated[
        str,
        Choice("unknown-version", (VERSION,)),
        Field(json_schema_extra={"type": ["integer", "string"], "enum": [1, "1"]}),
    ]
    model: Annotated[str, Choice("unknown-choice", ("central", LOCAL))] | None = None
    dataset: Annotated[
        str, ParsedText(_dataset, {"type": "string", "pattern": f"^{DATASET_PATTERN}$"})
    ]
    ledger: Annotated[str, Choice("unknown-choice", ("must-exist",))] | None = None
    confidence: Confidence = Fraction(19, 20)
    csv: dict[str, Any] | None = None
    privacy: dict[str, Any]
    columns: dict[str, Any]
    declarations: DeclarationsModel | None = None


class CentralSpecModel(SpecModel):
    """What is released from a dataset, and how much that may reveal."""

    rows_are: (
        Annotated[str, ParsedText(_rows_are, {"type": "string", "maxLength": MOST_LETTERS})] | None
    ) = None
    quality: dict[str, Any] | None = None
    statistics: list[Any]


class LocalSpecModel(SpecModel):
    """How every record is randomized before it is collected."""

    responses: list[Any]
    public: list[Text] | None = None


def _collected(heading: Section[Any], scope: SpecContext) -> Any:
    # Specs of the central model, most of all, need no randomizers.
    from dpcli.specification.responses_section import read_responses

    return read_responses(heading, scope)


def declarations_of(part: Section[Any]) -> Declarations:
    """What the steward declares, in the order written; nothing if there is no section."""
    section, node = part.values.declarations, part.node.get("declarations")
    if section is None or not isinstance(node, MappingNode):
        return Declarations()
    answers = [(key, getattr(section, key)) for key in node.pairs if key != "population"]
    return Declarations(section.population, tuple(answers))


def rows_name(part: Section[Any], unit: Unit | None) -> str:
    """What rows are called. Rows of people are not people: readers would count too many."""
    name = getattr(part.values, "rows_are", None) or "rows"
    if isinstance(unit, PersonUnit) and name.casefold() in PEOPLE:
        part.report("rows-are-people", "rows_are")
    return str(name)


DATA_NAMES = (".csv", ".tsv", ".gz", ".parquet", ".xlsx", ".sqlite")
"""How names of files end that are not opened as specs."""


def parse_spec(text: bytes | str, source: str, folder: Path | None = None) -> Spec:
    """The spec that a text says; `SpecError` with every problem if it says none.

    `source` names the text in messages; files that it names lie in `folder`.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    root, findings, decoded = read_text(raw, source)
    scope = SpecContext(findings, folder or Path())
    with suppress(TooManyProblemsError, AlreadyReportedError):
        spec = _read(root, scope)
        if not findings:
            digest = hashlib.sha256(raw)
            for _, table in scope.tables:
                digest.update(hashlib.sha256(table).digest())
            return replace(spec, text=decoded, digest=digest.hexdigest(), folder=scope.folder)
    raise SpecError(findings.problems)


def _read(root: MappingNode | None, scope: SpecContext) -> Spec:
    """What a tree says, without text and digest."""
    if root is None:
        raise AlreadyReportedError
    find_placeholders(root)
    model = root.word("model")
    local = model is not None and model.text == LOCAL
    # The sections are read on their own.
    heading: Section[Any] = read_section(
        LocalSpecModel if local else CentralSpecModel, root, "the spec"
    )
    values = heading.values
    declare_columns(root.mapping("columns"), scope)
    privacy = attempt(read_privacy, root.mapping("privacy"), scope)
    quality = attempt(read_quality, None if local else root.mapping("quality"), scope)
    entries = attempt(read_entries, root, scope) if not local else tuple
    collected = attempt(_collected, heading, scope) if local else lambda: ((), ())
    dialect = attempt(read_dialect, root.mapping("csv"), root.mapping("columns"))
    rows_are = attempt(rows_name, heading, scope.unit)
    heading.require()
    responses, public = collected()
    return Spec(
        dataset=values.dataset,
        privacy=privacy(),
        columns=tuple(column for column in scope.columns.values() if column is not None),
        entries=entries(),
        confidence=values.confidence,
        text="",
        digest="",
        declarations=declarations_of(heading),
        dialect=dialect(),
        quality=quality(),
        rows_are=rows_are(),
        must_exist=values.ledger is not None,
        responses=responses,
        public=public,
        files=tuple(path for path, _ in scope.tables),
    )


def read_spec_file(path: Path | str) -> Spec:
    """The spec in a file; `SpecError` if it cannot be read or is wrong."""
    if Path(path).name.casefold().endswith(DATA_NAMES):
        # Problems show the line that they are on, and lines of data are not to be shown.
        raise SpecError.about("spec-unreadable.data", spec=Path(path))
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why, fix = describe_system_error(error)
        missing = isinstance(error, FileNotFoundError)
        code = "spec-unreadable.missing" if missing else "spec-unreadable"
        raise SpecError.about(code, spec=Path(path), why=why, fix=fix) from None
    return parse_spec(raw, str(path), Path(path).parent)


def parse_central_spec(text: bytes | str, source: str) -> Spec:
    """As `parse_spec`, of a spec of the central model."""
    return _of_model(parse_spec(text, source), source, local=False)


def read_central_spec(path: Path | str) -> Spec:
    """As `read_spec_file`, of a spec of the central model."""
    return _of_model(read_spec_file(path), str(path), local=False)


def read_local_spec(path: Path | str) -> Spec:
    """As `read_spec_file`, of a spec of the local model."""
    return _of_model(read_spec_file(path), str(path), local=True)


def _of_model(spec: Spec, source: str, *, local: bool) -> Spec:
    if spec.is_local == local:
        return spec
    raise SpecError.about("wrong-model.local" if spec.is_local else "wrong-model", spec=source)

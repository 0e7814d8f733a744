"""What a tree says: names resolved, numbers exact, all problems found."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dpcli.columns import Column
from dpcli.composition import COMPOSITIONS
from dpcli.composition.base import Composition
from dpcli.dialect import Dialect
from dpcli.privacy.relation import Neighbors
from dpcli.spec.budget import read_budget
from dpcli.spec.declarations import declare
from dpcli.spec.dialect import read_dialect
from dpcli.spec.entries import resolve_entries
from dpcli.spec.findings import Findings
from dpcli.spec.fit import fit
from dpcli.spec.local import Local, resolve_local
from dpcli.spec.local_shape import LocalDocument
from dpcli.spec.model import Declarations, Entry, Privacy, Quality
from dpcli.spec.names import dataset_fault
from dpcli.spec.nodes import Listing, Mapping, Word
from dpcli.spec.placeholders import find_placeholders
from dpcli.spec.prices import read_confidence
from dpcli.spec.quality import read_quality
from dpcli.spec.rows import read_rows_are
from dpcli.spec.scope import Scope
from dpcli.spec.stewardship import read_declarations
from dpcli.spec.structure import Document
from dpcli.spec.structure import Privacy as PrivacyShape
from dpcli.spec.unit import read_unit
from dpcli.spec.wording import listed, shown

VERSION = "1"
LOCAL = "local"
"""The model in which each record is randomized by itself."""


@dataclass(frozen=True, slots=True)
class Sense:
    """What was understood; complete only if nothing was found wrong."""

    dataset: str
    privacy: Privacy | None
    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]
    confidence: Fraction
    declarations: Declarations
    dialect: Dialect
    must_exist: bool
    rows_are: str
    quality: Quality | None = None
    local: Local | None = None


def resolve(root: Mapping, findings: Findings, folder: Path) -> Sense:
    """Everything that the spec says; its problems are added to the findings.

    Files that it names lie in `folder`.
    """
    find_placeholders(root, findings)
    model = root.word("model")
    local = model is not None and model.text == LOCAL
    fit(LocalDocument if local else Document, root, "the spec", findings)
    dataset = _dataset(root, findings)
    confidence = root.get("confidence")
    columns, statistics, privacy = (root.get(key) for key in ("columns", "statistics", "privacy"))
    scope = declare(columns if isinstance(columns, Mapping) else None, findings)
    if isinstance(privacy, Mapping):
        scope.unit = read_unit(privacy.get("unit"), scope)
        neighbors = privacy.word("neighbors")
        scope.neighbors = neighbors.text if neighbors else ""
        scope.composition = _composition(privacy, findings)
    quality = read_quality(root.get("quality"), scope) if not local else None
    listing = statistics if isinstance(statistics, Listing) and not local else None
    entries = resolve_entries(listing, scope)
    return Sense(
        dataset,
        _privacy(privacy, scope) if isinstance(privacy, Mapping) else None,
        tuple(column for column in scope.columns.values() if column is not None),
        entries,
        read_confidence(confidence if isinstance(confidence, Word) else None, findings),
        read_declarations(root.get("declarations"), findings),
        read_dialect(root.get("csv"), columns, findings),
        root.get("ledger") is not None,
        read_rows_are(root.get("rows_are"), scope.unit, findings),
        quality,
        resolve_local(root, scope, folder) if local else None,
    )


def _dataset(root: Mapping, findings: Findings) -> str:
    """The ledger account, after the version of the language."""
    version, dataset = root.get("dpcli"), root.get("dataset")
    if isinstance(version, Word) and version.text != VERSION:
        findings.add(
            "unknown-version",
            f"`dpcli` is {shown(version.text)}, expected `{VERSION}`",
            f"write `dpcli: {VERSION}`: the version of the spec language, not of the program",
            version.span,
        )
    if not isinstance(dataset, Word):
        return ""
    fault = dataset_fault(dataset.text)
    if fault is not None:
        findings.add(
            "bad-name",
            f"`dataset` is {shown(dataset.text)}, expected {fault.expected}",
            fault.hint,
            dataset.span,
        )
    return dataset.text


def _privacy(node: Mapping, scope: Scope) -> Privacy | None:
    """The guarantee, or None after its problems are recorded."""
    findings = scope.findings
    shape = fit(PrivacyShape, node, "`privacy`", findings)
    unit = scope.unit
    composition = scope.composition
    budget = read_budget(node.get("budget"), composition, findings)
    if shape is None or unit is None or composition is None or budget is None:
        return None
    return Privacy(unit, Neighbors(shape.neighbors), budget, composition)


def _composition(node: Mapping, findings: Findings) -> Composition | None:
    """How losses add up."""
    by_name = {composition.name: composition for composition in COMPOSITIONS}
    word = node.get("composition")
    if word is None:
        return by_name["sequential"]
    if not isinstance(word, Word):
        return None
    if word.text in by_name:
        return by_name[word.text]
    findings.unknown(
        "unknown-composition",
        f"`composition` is {shown(word.text)}, this version has {listed(by_name)}",
        word.text,
        by_name,
        word.span,
    )
    return None

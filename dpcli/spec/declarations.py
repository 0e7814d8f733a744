"""The columns section: what each declared column may hold."""

from __future__ import annotations

import unicodedata

from dpcli.columns import Column, IdColumn
from dpcli.spec.categories import boolean_column, category_column
from dpcli.spec.findings import Findings
from dpcli.spec.fit import fit
from dpcli.spec.grid import numeric_column, proposed_step
from dpcli.spec.nodes import Mapping, Node, Word, described
from dpcli.spec.scope import Scope
from dpcli.spec.structure import COLUMN_SHAPES, BooleanColumn, CategoryColumn
from dpcli.spec.structure import IdColumn as IdShape
from dpcli.spec.wording import a_column, listed, shown

MOST_COLUMNS = 10_000
LONGEST_NAME = 1000

ELSEWHERE = {
    "int": "integer",
    "float": "number",
    "decimal": "number",
    "bool": "boolean",
    "string": "category",
    "str": "category",
    "text": "category",
    "enum": "category",
    "datetime": "date",
}
"""What other tools call these types."""


def declare(section: Mapping | None, findings: Findings) -> Scope:
    """Every declared column; those declared wrongly are held as None."""
    scope = Scope(findings, declared=section is not None)
    if section is None:
        return scope
    if len(section.pairs) > MOST_COLUMNS:
        findings.add(
            "too-many-columns",
            f"{len(section.pairs):,} columns are declared, at most {MOST_COLUMNS:,} can be",
            "declare only those that the statistics use",
            section.span,
        )
    twins: dict[str, Word] = {}
    for name, (key, value) in section.pairs.items():
        if findings.full:
            scope.declared = False
            break
        scope.spans[name] = key.span
        good = good_name(key, findings)
        twin = twins.setdefault(unicodedata.normalize("NFC", name), key)
        if twin is not key:
            findings.add(
                "twin-names",
                f"{shown(name)} looks the same as the column on line {twin.span.line}, "
                "but is made of other characters",
                "rename one of them in the data file and here",
                key.span,
            )
        column = _column(key, value, findings)
        scope.columns[name] = column if good else None
    return scope


def good_name(key: Word, findings: Findings) -> bool:
    """Whether a text can be the name of a column."""
    if not key.text:
        findings.add(
            "empty-text",
            "a column has an empty name",
            "give the column a name in the data file",
            key.span,
        )
    elif len(key.text) > LONGEST_NAME:
        findings.add(
            "name-too-long",
            f"a column name has {len(key.text):,} characters, at most {LONGEST_NAME:,} can be used",
            "shorten the name in the data file",
            key.span,
        )
    elif any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in key.text):
        findings.add(
            "control-character",
            f"the column name {shown(key.text)} holds an invisible character",
            "rename the column in the data file",
            key.span,
        )
    else:
        return True
    return False


def _column(key: Word, node: Node, findings: Findings) -> Column | None:
    """One declared column, or None after its problems are recorded."""
    kind = _type(key, node, findings)
    if kind is None or not isinstance(node, Mapping):
        return None
    advice = {"step": f"add `step: {proposed_step(node)}`: values are rounded to multiples of it"}
    shape = fit(COLUMN_SHAPES[kind], node, a_column(kind), findings, advice)
    match shape:
        case None:
            return None
        case CategoryColumn():
            return category_column(key.text, node, findings)
        case BooleanColumn():
            return boolean_column(key.text, node, findings)
        case IdShape():
            return _id_column(key.text, node, findings)
        case _:
            return numeric_column(key.text, shape, node, findings)


def _id_column(name: str, node: Mapping, findings: Findings) -> IdColumn | None:
    """A column of ids, and what becomes of rows without one."""
    word = node.get("missing")
    choice = word.text if isinstance(word, Word) else "drop"
    if choice in ("drop", "each"):
        return IdColumn(name, each=choice == "each")
    findings.unknown(
        "unknown-choice",
        f"`missing` is {shown(choice)}, expected `drop` or `each`",
        choice,
        ("drop", "each"),
        node.span if word is None else word.span,
        otherwise="`drop` leaves out rows without an id; `each` makes each a person of its own",
    )
    return None


def _type(key: Word, node: Node, findings: Findings) -> str | None:
    """The type of a column, or None after its problem is recorded."""
    name = shown(key.text)
    if not isinstance(node, Mapping):
        word = node.text if isinstance(node, Word) else ""
        findings.add(
            "wrong-shape",
            f"the declaration of {name} is {shown(word) if word else described(node)}, "
            "expected a mapping",
            f"write `{{type: {word if word in COLUMN_SHAPES else '...'}}}`",
            node.span,
        )
        return None
    kind = node.get("type")
    if kind is None:
        findings.add(
            "missing-field",
            f"the column {name} has no `type`",
            f"add `type: ...`: {listed(COLUMN_SHAPES, 'or')}",
            key.span,
        )
        return None
    word = kind.text if isinstance(kind, Word) else ""
    if word in COLUMN_SHAPES:
        return word
    findings.unknown(
        "unknown-choice",
        f"`type` is {shown(word) if word else described(kind)}, "
        f"expected {listed(COLUMN_SHAPES, 'or')}",
        ELSEWHERE.get(word.casefold(), word),
        COLUMN_SHAPES,
        kind.span,
        otherwise="write one of these, spelled exactly so",
    )
    return None

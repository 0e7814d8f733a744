"""The keys of a column in a spec that make a declared column a changed one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from dpcli.cell_formats import DateFormat, NumberFormat
from dpcli.data.column import Column
from dpcli.data.labels import CategoryColumn
from dpcli.data.numeric import NumericColumn

MOST_VALUES = 10
"""Texts of a category that are all shown; of more, only those that are added."""


def changed_keys(old: Column, new: Column, decimal: str) -> Iterator[str]:
    """What the declaration of a changed column says differently, each key as in YAML.

    `decimal` is the decimal mark of columns without their own.
    """
    if isinstance(old, CategoryColumn) and isinstance(new, CategoryColumn):
        if new.kind == "boolean" and new.values != old.values:
            yield f"values: [{', '.join(yaml_text(text) for text, _ in new.values)}]"
        elif new.values != old.values:
            is_short = len(new.values) <= MOST_VALUES
            pairs = new.values if is_short else new.values[len(old.values) :]
            mapping = _mapping((text, yaml_text(label)) for text, label in pairs)
            yield f"values: {mapping if is_short else mapping.replace('{', '{..., ')}"
        if new.ignores_case and not old.ignores_case:
            yield "case: ignore"
    if isinstance(old, NumericColumn) and isinstance(new, NumericColumn):
        if isinstance(new.format, DateFormat) and new.format != old.format:
            yield f"format: {_list(form.text for form in new.format.forms)}"
        if isinstance(new.format, NumberFormat):
            plain = NumberFormat(decimal=decimal)
            former = old.format if isinstance(old.format, NumberFormat) else plain
            yield from _number_keys(former, new.format)
    if new.na != old.na:
        yield f"na: {_list(new.na)}"


def _number_keys(old: NumberFormat, new: NumberFormat) -> Iterator[str]:
    if new.thousands != old.thousands:
        yield f"thousands: {yaml_text(new.thousands)}"
    if new.decimal != old.decimal:
        yield f"decimal: {yaml_text(new.decimal)}"
    if new.affixes != old.affixes:
        yield f"affixes: {_list(new.affixes)}"
    if new.brackets and not old.brackets:
        yield "brackets: true"
    if new.values != old.values:
        yield f"values: {_mapping(new.values)}"


def _mapping(pairs: Iterable[tuple[str, str]]) -> str:
    return f"{{{', '.join(f'{yaml_text(text)}: {value}' for text, value in pairs)}}}"


def _list(texts: Iterable[str]) -> str:
    quoted = [yaml_text(text) for text in texts]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def yaml_text(text: str) -> str:
    """A text as a scalar of YAML, between quotes if it needs them."""
    is_plain = re.fullmatch(r"[A-Za-z0-9]([\w ./]*[\w.])?", text) is not None
    return text if is_plain else json.dumps(text, ensure_ascii=False)

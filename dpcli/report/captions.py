"""What people read in place of names, and how they read numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dpcli.specification.model import Caption, Spec, SpecFile

if TYPE_CHECKING:
    from dpcli.report.json_text import Facts

GAP = "\u00a0"
"""A space between thousands, at which no line breaks."""

_DECIMAL = re.compile(r"(-?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(%?)")


def caption_facts(caption: Caption) -> Facts:
    """The texts of a caption that are stated."""
    texts: Facts = {"title": caption.title, "unit": caption.unit, "note": caption.note}
    return {key: text for key, text in texts.items() if text}


def spec_facts(spec: Spec) -> Facts:
    """What a report states about a spec itself."""
    return {
        "dataset": spec.dataset,
        "digest": spec.digest,
        "rows_are": spec.rows_are,
        **caption_facts(spec.caption),
        **({"numbers": spec.numbers} if spec.numbers else {}),
        "columns": [
            {"name": column.name, "type": column.kind}
            | caption_facts(spec.column_captions.get(column.name, Caption()))
            for column in spec.columns
        ],
        "text": spec.text,
        **({"files": file_facts(spec.named_files)} if spec.named_files else {}),
    }


def file_facts(files: Iterable[SpecFile]) -> list[Facts]:
    """The names and digests of the files that a spec names, each of them once."""
    digests = {file.name: file.sha256 for file in files}
    return [{"name": name, "sha256": digest} for name, digest in digests.items()]


def heading_text(name: str, stated: Mapping[str, Any]) -> str:
    """The title of what has that name, or the name, with the unit in parentheses."""
    unit = f" ({stated['unit']})" if stated.get("unit") else ""
    return f"{stated.get('title') or name}{unit}"


def caption_lines(
    spec: Mapping[str, Any], statistics: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """The title and the note of a spec, and what it states of each statistic, with its name."""
    yield from (spec[key] for key in ("title", "note") if spec.get(key))
    for stated in statistics:
        called = heading_text(stated["name"], stated)
        if called != stated["name"] or "note" in stated:
            name = f"{stated['name']}: " if "title" in stated else ""
            yield "; ".join(filter(None, (name + called, stated.get("note"))))


def number_writer(example: str | None) -> Callable[[str], str]:
    """A function that writes plain decimals as the example writes 1234.5; others are unchanged.

    Without an example, it changes nothing.
    """
    if not example:
        return lambda text: text
    thousands, point = ("" if example[1].isdigit() else example[1]).replace(" ", GAP), example[-2]

    def written(text: str) -> str:
        match = _DECIMAL.fullmatch(text)
        if match is None:
            return text
        sign, whole, decimals, percent = match.groups("")
        grouped = f"{int(whole.replace(',', '')):,}".replace(",", thousands)
        return f"{sign}{grouped}{point + decimals if decimals else ''}{percent}"

    return written

"""Pages of fields and types that describe themselves in their models."""

from __future__ import annotations

from dpcli import statistics
from dpcli.reference import Page, Use, word_pages
from dpcli.spec.column_types import COLUMN_TYPES
from dpcli.spec.paths import example_line


def field_pages() -> tuple[Page, ...]:
    """Pages of what has none in the reference: fields and types that describe themselves."""
    known = {(page.name, page.kind) for page in word_pages()}
    pages: list[Page] = []
    for shape in COLUMN_TYPES:
        keys, meaning = shape.model_fields, (shape.__doc__ or "").strip()
        own = {key: example_line(key, field) for key, field in keys.items() if key != "type"}
        example = f"x: {{{', '.join([f'type: {shape.kind}', *own.values()])}}}"
        values = f"keys: {', '.join(own)}"
        pages.append(Page(shape.kind, "type", meaning, values, example, "", ("type",)))
    owners = [(one.name, "statistic", one.fields) for one in statistics.STATISTICS]
    owners += [(shape.kind, shape.kind, shape) for shape in COLUMN_TYPES]
    for owner, place, model in owners:
        for key, field in model.model_fields.items():
            says, example = field.description or "", example_line(key, field)
            absent = f"`{owner}` is refused." if field.is_required() else ""
            uses = (Use((place,), says),)
            pages.append(Page(key, "key", says, "", example, absent, (owner,), uses))
    found = {page.name: page for page in reversed(pages) if (page.name, page.kind) not in known}
    return tuple(found.values())

"""Pages of fields and types that describe themselves in their models."""

from __future__ import annotations

from pydantic.fields import FieldInfo

from dpcli import statistics
from dpcli.reference import Page, Use, word_pages
from dpcli.spec.column_types import COLUMN_TYPES
from dpcli.spec.paths import example_line


def field_pages() -> tuple[Page, ...]:
    """Pages of what has none in the reference: fields and types that describe themselves."""
    known = {(page.name, page.kind) for page in word_pages()}
    found: dict[str, Page] = {}
    for statistic in statistics.STATISTICS:
        for key, field in statistic.fields.model_fields.items():
            if (key, "key") not in known:
                found.setdefault(key, _field_page(key, field, ("statistic",), (statistic.name,)))
    for shape in COLUMN_TYPES:
        if (shape.kind, "type") not in known:
            meaning, keys = (shape.__doc__ or "").strip(), shape.model_fields
            own = [key for key in keys if key != "type"]
            line = ", ".join([f"type: {shape.kind}", *(example_line(k, keys[k]) for k in own)])
            found[shape.kind] = Page(
                shape.kind,
                "type",
                meaning,
                f"keys: {', '.join(own)}",
                f"x: {{{line}}}",
                "",
                ("type",),
            )
            for key in own:
                if (key, "key") not in known:
                    found[key] = _field_page(key, keys[key], (shape.kind,), (shape.kind,))
    return tuple(found.values())


def _field_page(key: str, field: FieldInfo, places: tuple[str, ...], see: tuple[str, ...]) -> Page:
    says = field.description or ""
    absent = f"`{see[0]}` is refused." if field.is_required() else ""
    example = example_line(key, field)
    return Page(key, "key", says, "", example, absent, see, (Use(places, says),))

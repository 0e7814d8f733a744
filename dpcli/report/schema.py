"""The JSON Schema of reports, made from the types of the model."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from dpcli.report.model import CollectionReport, ReleaseReport

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Generator(GenerateJsonSchema):
    """Schemas without titles of fields; what has a default is absent rather than null."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - for any field
        return False

    def default_schema(self, schema: Any) -> dict[str, Any]:
        inner = schema["schema"]
        return self.generate_inner(inner["schema"] if inner["type"] == "nullable" else inner)


def made_schema() -> dict[str, Any]:
    """The JSON Schema of the reports of releases and of local collections."""
    reports = TypeAdapter(ReleaseReport | CollectionReport)
    schema = reports.json_schema(schema_generator=_Generator)
    title = "dpcli privacy report"
    return {"$schema": DIALECT, "title": title, **schema}

"""Generates the JSON Schema of the spec for editors, from its models.

With it, editors report mistakes while a spec is written. `dpcli check` reports what a schema cannot
express, such as names that are not declared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from dpcli import mechanisms, statistics
from dpcli.data.conditions import ConditionsModel
from dpcli.data.derived import DERIVED, PERSON_VALUES
from dpcli.data.derived.declared import DeclaredDerivation, derived_section
from dpcli.data.kinds import COLUMNS
from dpcli.data.labels import PrivatePartitionColumn
from dpcli.data.sections import section_of
from dpcli.fields.section import SectionModel
from dpcli.mechanisms.local import LOCAL_MECHANISMS
from dpcli.problems.reference import word_pages
from dpcli.problems.registry import Classes
from dpcli.specification.csv_form import CsvModel
from dpcli.specification.declarations import DeclarationsModel
from dpcli.specification.entries import MAX_STATISTICS
from dpcli.specification.entry_fields import AUTO, BUDGET_KEYS, EntryModel
from dpcli.specification.hierarchies import HierarchyModel
from dpcli.specification.load import LOCAL, CentralSpecModel, LocalSpecModel
from dpcli.specification.output import OutputModel
from dpcli.specification.privacy import PrivacyModel
from dpcli.specification.quality import MINIMUMS, QualityModel
from dpcli.specification.responses import RESPONSE_BUDGET_KEYS, ResponseModel
from dpcli.specification.samples import SampleModel
from dpcli.specification.yaml_reader import read_tree
from dpcli.statistics.quality.quality_counts import QUALITY_COUNTS
from dpcli.statistics.statistic import Statistic

Json = dict[str, Any]

PRIVATE = PrivatePartitionColumn("")
"""Stands for any column, as a schema does not know which columns declare values."""

SELECTING_LABELS = [
    statistic.name
    for statistic in statistics.STATISTICS
    if statistic.variant(PRIVATE).selects_labels
]
"""The statistics that need a delta to select labels if values are not declared."""

CONDITIONS = {"is", "any", "all"}
"""Keys of computed columns whose values are conditions."""

PAGE_KEYS = ("description", "examples")
"""What a reference page adds to the schema of a key."""

PLACES = {
    "CentralSpecModel": "spec",
    "LocalSpecModel": "spec",
    "EntryModel": "statistic",
    "BinnedKeyModel": "key",
    "CandidateStepModel": "candidates",
    "ComparedColumnModel": "limit",
    "ChosenBoundsModel": "bounds",
    "ChosenLimitModel": "max_rows",
}
"""Places of some models in reference pages; others have their names as places."""


class _SchemaForEditors(GenerateJsonSchema):
    """Generates a schema without titles, defaults, and null for absence."""

    def default_schema(self, schema: Any) -> Json:
        return self.generate_inner(schema["schema"])

    def nullable_schema(self, schema: Any) -> Json:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


SECTIONS: dict[str, type[SectionModel]] = {
    "privacy": PrivacyModel,
    "csv": CsvModel,
    "sample": SampleModel,
    "output": OutputModel,
    "declarations": DeclarationsModel,
}
"""The sections that are read by themselves, with their models."""


def spec_schema() -> dict[str, object]:
    """The JSON Schema of a spec, in the dialect 2020-12."""
    definitions: Json = {}
    document, local, response = (
        _model_schema(model, definitions)
        for model in (CentralSpecModel, LocalSpecModel, ResponseModel)
    )
    for key, kind in zip(COLUMNS.names, COLUMNS, strict=True):
        definitions[f"{key}_column"] = _model_schema(section_of(kind), definitions, key)
    for section, own_model in SECTIONS.items():
        definitions[section] = _model_schema(own_model, definitions)
    definitions["quality"] = _quality_schema(definitions)
    definitions["statistic"] = _statistic_schema(definitions)
    definitions["derived"] = _computed_schema(DERIVED, "derived", definitions)
    definitions["person"] = _computed_schema(PERSON_VALUES, "person", definitions)
    definitions["hierarchy"] = _model_schema(HierarchyModel, definitions)
    definitions["column"] = _column_schema()
    fields, own = document["properties"], local["properties"]
    for section in (*SECTIONS, "quality"):
        field = {"$ref": f"#/$defs/{section}", **fields[section]}
        fields[section] = {key: field[key] for key in (*PAGE_KEYS, "$ref")}
    check = fields["quality"]
    check["oneOf"] = [{"const": "none"}, {"$ref": check.pop("$ref")}]
    fields["columns"] |= {
        "propertyNames": {"minLength": 1},
        "additionalProperties": {"$ref": "#/$defs/column"},
    }
    for section, definition in (
        ("derive", "derived"), ("people", "person"), ("hierarchies", "hierarchy")
    ):  # fmt: skip
        fields[section] |= {
            "propertyNames": {"minLength": 1},
            "additionalProperties": {"$ref": f"#/$defs/{definition}"},
        }
    items = {"$ref": "#/$defs/statistic"}
    fields["statistics"] |= {"minItems": 1, "maxItems": MAX_STATISTICS, "items": items}
    rules = [_by_local_mechanism(mechanism) for mechanism in LOCAL_MECHANISMS]
    own["responses"] |= {"minItems": 1, "items": response | {"allOf": rules}}
    fields |= {"responses": own["responses"], "public": own["public"]}
    document["required"].remove("statistics")
    local_keys: Json = {"required": ["responses"], "properties": {"statistics": False}}
    refused = {"responses": False, "public": False}
    keys = {"required": ["statistics"], "properties": refused}
    # Without an epsilon that all entries share, each has a loss of its own.
    each = {"properties": {"statistics": {"items": {"anyOf": _required_each(BUDGET_KEYS)}}}}
    document["allOf"] = [
        {"if": _has_value("model", LOCAL), "then": local_keys, "else": keys},
        {"anyOf": [{"required": ["epsilon"]}, each]},
    ]
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "dpcli spec", **document, "$defs": definitions}


def _model_schema(model: type[SectionModel], definitions: Json, place: str = "") -> Json:
    schema: Json = model.model_json_schema(schema_generator=_SchemaForEditors)
    inner: Json = schema.pop("$defs", {})
    for name, definition in {**inner, model.__name__: schema}.items():
        definition.pop("title", None)
        own_place = PLACES.get(name) or name.removesuffix("Model").lower()
        _add_descriptions(definition, place if place and definition is schema else own_place)
    definitions |= inner
    return schema


def _add_descriptions(schema: Json, place: str) -> None:
    """Adds a description and an example to every key that has a reference page."""
    keys = {page.name: page for page in word_pages() if page.kind == "key"}
    for key, field in schema.get("properties", {}).items():
        page = keys.get(key)
        use = page.use(place) if page else None
        if page and use:
            absent = f"If absent: {page.absent}" if page.absent and len(page.uses) == 1 else ""
            more = f"`dpcli explain {page.name}` says more."
            texts = (use.says, page.meaning, absent, more)
            field["description"] = "\n\n".join(text for text in texts if text)
            if "const" not in field:
                example, _, _ = read_tree((use.example or page.example).encode(), "example")
                assert example is not None
                field["examples"] = [_resolved(*example.values())]


def _resolved(value: Any) -> Any:
    """An example with its texts as numbers or booleans, as YAML 1.2 reads them."""
    if isinstance(value, list):
        return [_resolved(item) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(item) for key, item in value.items()}
    try:
        return json.loads(value)
    except ValueError:
        return value


def _quality_schema(definitions: Json) -> Json:
    schema = _model_schema(QualityModel, definitions)
    mechanism = schema["properties"]["mechanism"]
    del mechanism["oneOf"]
    mechanism["enum"] = _mechanisms_of(QUALITY_COUNTS)
    minima = _required_each(MINIMUMS)
    return schema | {"oneOf": _required_each(("epsilon", "rho")), "anyOf": minima}


def _column_schema() -> Json:
    meanings = {page.name: page.meaning for page in word_pages() if page.kind == "type"}
    types = {kind.key: meanings.get(kind.key, section_of(kind).__doc__) for kind in COLUMNS}
    options = [{"const": kind, "description": text} for kind, text in types.items()]
    return {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"oneOf": options}},
        "allOf": [
            {"if": _has_value("type", kind), "then": {"$ref": f"#/$defs/{kind}_column"}}
            for kind in types
        ],
    }


def _computed_schema(kinds: Classes[DeclaredDerivation], place: str, definitions: Json) -> Json:
    """All keys of computed columns; each kind requires its own and refuses others'."""
    fields: Json = {}
    rules: list[Json] = []
    own: dict[str, Json] = {
        kind.key: _model_schema(derived_section(kind), definitions, place) for kind in kinds
    }
    for schema in own.values():
        for key, field in schema["properties"].items():
            fields.setdefault(key, field)
    for key in CONDITIONS & fields.keys():
        fields[key] = {name: value for name, value in fields[key].items() if name in PAGE_KEYS}
        fields[key]["$ref"] = "#/$defs/where"
    if "count" in fields:
        texts = {name: value for name, value in fields["count"].items() if name in PAGE_KEYS}
        fields["count"] = {**texts, "oneOf": [{"const": "rows"}, {"$ref": "#/$defs/where"}]}
    for kind, schema in own.items():
        refused = [key for key in fields if key not in schema["properties"]]
        then = {"required": schema["required"], "properties": dict.fromkeys(refused, False)}
        rules.append({"if": {"required": [kind]}, "then": then})
    return {"type": "object", "properties": fields, "oneOf": _required_each(own), "allOf": rules}


def _statistic_schema(definitions: Json) -> Json:
    schema = _model_schema(EntryModel, definitions)
    fields: Json = schema["properties"]
    definitions["where"] = _where_schema(definitions)
    fields["where"] = {key: value for key, value in fields["where"].items() if key in PAGE_KEYS}
    fields["where"]["$ref"] = "#/$defs/where"
    for statistic in statistics.STATISTICS:
        own: Json = _model_schema(statistic.fields, definitions, "statistic").get("properties", {})
        for key, field in own.items():
            fields.setdefault(key, field)
    rules = [*_rules_by_statistic(fields), *_rules_by_mechanism()]
    # What an entry is about has other words in a comparison: a rule for each statistic names them.
    del fields["of"]["enum"]
    ways = _required_each(BUDGET_KEYS)
    return schema | {"oneOf": [*ways, {"not": {"anyOf": ways}}], "allOf": rules}


def _where_schema(definitions: Json) -> Json:
    """A mapping from columns to conditions, in which operators contain such mappings."""
    conditions = _model_schema(ConditionsModel, definitions)["properties"]["where"]
    definitions["condition"] = conditions["additionalProperties"]
    condition, where = {"$ref": "#/$defs/condition"}, {"$ref": "#/$defs/where"}
    several = {"type": "array", "minItems": 1, "items": where}
    # A column may have the name of an operator.
    operators = {name: {"anyOf": [condition, several]} for name in ("any", "all")}
    operators["not"] = {"anyOf": [condition, where]}
    schema: Json = {"type": "object", "properties": operators, "additionalProperties": condition}
    _add_descriptions(schema, "where")
    return schema


def _rules_by_statistic(fields: Json) -> list[Json]:
    """A rule for each statistic: the fields that it requires and refuses."""
    rules: list[Json] = []
    for statistic in statistics.STATISTICS:
        own = statistic.fields.model_fields
        refused = [key for key in fields if key not in own and key not in EntryModel.model_fields]
        required = [key for key, field in own.items() if field.is_required()]
        then: Json = {"properties": dict.fromkeys(refused, False)}
        then["properties"]["mechanism"] = {"enum": _mechanisms_of(statistic)}
        words = _model_schema(statistic.fields, {}, "statistic").get("properties", {})
        then["properties"]["of"] = {"enum": words.get("of", fields["of"])["enum"]}
        if required:
            then["required"] = required
        rules.append({"if": _has_value("statistic", statistic.name), "then": then})
    return rules


def _rules_by_mechanism() -> list[Json]:
    """A rule for each mechanism: its calibrations, and whether it takes a delta."""
    rules: list[Json] = []
    for position, name in enumerate(mechanisms.spec_names()):
        mechanism = mechanisms.MECHANISMS[name]
        condition = _has_value("mechanism", mechanism.name)
        if position == 0:
            condition = {"anyOf": [condition, {"not": {"required": ["mechanism"]}}]}
        then: Json = {"properties": {"calibration": {"enum": list(mechanism.calibrations)}}}
        if mechanism.needs_delta:
            then["dependentRequired"] = {"epsilon": ["delta"]}
        else:
            # A mechanism without a delta uses one only to select groups or labels.
            selects: Json = {"properties": {"statistic": {"enum": SELECTING_LABELS}}}
            then |= {"if": {"not": selects}, "then": {"dependentRequired": {"delta": ["keys"]}}}
        rules.append({"if": condition, "then": then})
    charged_directly: Json = {"anyOf": _required_each(("epsilon", "rho"))}
    rules.append({"if": charged_directly, "then": {"dependentRequired": {"keys": ["delta"]}}})
    rules.append({"dependentRequired": {"unit_bounds": ["bound"]}})
    return rules


def _by_local_mechanism(mechanism: Any) -> Json:
    refused = [key for key in RESPONSE_BUDGET_KEYS if key not in mechanism.loss_parameters]
    if not mechanism.needs_delta:
        refused.append("delta")
    then: Json = {
        "oneOf": _required_each(mechanism.loss_parameters),
        "properties": dict.fromkeys(refused, False),
    }
    if mechanism.needs_delta:
        then["required"] = ["delta"]
    return {"if": {"properties": {"mechanism": {"const": mechanism.name}}}, "then": then}


def _mechanisms_of(statistic: Statistic) -> list[str]:
    names = [
        name
        for variant in dict.fromkeys(
            (statistic, statistic.variant(PRIVATE), statistic.variant(None, "objective"))
        )
        for name in mechanisms.mechanisms_of(variant.families)
    ]
    return [*names, AUTO]


def _required_each(keys: Iterable[str]) -> list[Json]:
    return [{"required": [key]} for key in keys]


def _has_value(key: str, value: str) -> Json:
    return {"properties": {key: {"const": value}}, "required": [key]}

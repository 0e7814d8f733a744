"""The JSON Schema of the spec, for editors: a form of the models and registries.

It catches slips while typing. What it cannot say (bounds on the grid, names that
are declared) is left to `dpcli check`.
"""

from __future__ import annotations

from typing import Any

from dpcli.composition import COMPOSITIONS
from dpcli.mechanisms import MECHANISMS
from dpcli.spec.answering import AUTO, able_to_answer
from dpcli.spec.dialect import CsvShape, csv_schema
from dpcli.spec.entries import MOST_STATISTICS
from dpcli.spec.entry import NAME
from dpcli.spec.entry_shape import Entry
from dpcli.spec.further import FURTHER
from dpcli.spec.hovering import tell
from dpcli.spec.local_schema import by_model, local_fields
from dpcli.spec.local_shape import LocalDocument, ResponseShape
from dpcli.spec.names import ROUGHLY
from dpcli.spec.prices import MOST_EPSILON
from dpcli.spec.pricing import WAYS
from dpcli.spec.quality import QualityShape
from dpcli.spec.rows import MOST_LETTERS
from dpcli.spec.structure import COLUMN_SHAPES, Document, Privacy, Shape
from dpcli.spec.totals import BOUNDS
from dpcli.statistics import STATISTICS
from dpcli.statistics.choose import UTILITIES
from dpcli.statistics.linear_regression import METHODS
from dpcli.statistics.post import PLAIN, Clamp, SuppressBelow
from dpcli.statistics.quality import QUALITY
from dpcli.words import PAGES

Json = dict[str, Any]


def spec_schema() -> dict[str, object]:
    """The schema in the dialect of 2020-12."""
    definitions: Json = {}
    document = _schema(Document, definitions)
    columns = {
        f"{kind}_column": _schema(shape, definitions) for kind, shape in COLUMN_SHAPES.items()
    }
    definitions |= columns
    definitions["privacy"] = _privacy(_schema(Privacy, definitions))
    definitions["csv"] = csv_schema(_schema(CsvShape, definitions))
    definitions["quality"] = _quality(_schema(QualityShape, definitions))
    definitions["statistic"] = _statistic(_schema(Entry, definitions), definitions)
    definitions["column"] = _column()
    fields: Json = document["properties"]
    fields["dpcli"] |= {"type": ["integer", "string"], "enum": [1, "1"]}
    fields["dataset"] |= {"type": "string", "pattern": f"^{ROUGHLY}$"}
    fields["rows_are"] |= {"type": "string", "maxLength": MOST_LETTERS}
    fields["confidence"] |= {"minimum": 0.5, "maximum": 0.999999}
    fields["csv"] = {"$ref": "#/$defs/csv"}
    fields["privacy"] = {"$ref": "#/$defs/privacy"}
    fields["quality"] = {"$ref": "#/$defs/quality"}
    fields["columns"] = {
        "type": "object",
        "propertyNames": {"minLength": 1},
        "additionalProperties": {"$ref": "#/$defs/column"},
    }
    fields["statistics"] = {
        "type": "array",
        "minItems": 1,
        "maxItems": MOST_STATISTICS,
        "items": {"$ref": "#/$defs/statistic"},
    }
    fields |= local_fields(_schema(LocalDocument, definitions), _schema(ResponseShape, definitions))
    document["required"].remove("statistics")
    document["allOf"] = list(by_model())
    tell(document, Document.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dpcli spec",
        **{key: value for key, value in document.items() if key != "title"},
        "$defs": definitions,
    }


def _schema(shape: type[Shape], definitions: Json) -> Json:
    """The schema of one model; its inner models join the definitions."""
    schema: Json = _tidy(shape.model_json_schema())
    inner: Json = schema.pop("$defs", {})
    for name, one in {**inner, shape.__name__: schema}.items():
        tell(one, name)
    definitions |= inner
    return schema


def _tidy(value: Any) -> Any:
    """Without generated titles, and without the null that stands for absence."""
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    tidy = {
        key: _tidy(item)
        for key, item in value.items()
        if not (key == "title" and isinstance(item, str)) and key != "default"
    }
    options = tidy.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options:
        rest = [option for option in options if option != {"type": "null"}]
        del tidy["anyOf"]
        tidy |= rest[0] if len(rest) == 1 else {"anyOf": rest}
    return tidy


def _privacy(schema: Json) -> Json:
    """The privacy section, with the compositions of this version."""
    fields: Json = schema["properties"]
    fields["composition"] |= {
        "type": "string",
        "oneOf": [{"const": rule.name, "description": _first_line(rule)} for rule in COMPOSITIONS],
    }
    for option in fields["unit"]["oneOf"]:
        if "type" in option:
            option |= {"type": "string", "const": "row"}
    return schema


def _quality(schema: Json) -> Json:
    """The quality check: a loss, and at least one minimum."""
    fields: Json = schema["properties"]
    names = [mechanism.name for mechanism in able_to_answer(QUALITY)]
    fields["mechanism"] |= {"type": "string", "enum": [*names, AUTO]}
    fields["epsilon"] |= {"exclusiveMinimum": 0, "maximum": int(MOST_EPSILON)}
    fields["rho"] |= {"exclusiveMinimum": 0}
    fields["delta"] |= {"exclusiveMinimum": 0, "exclusiveMaximum": 1}
    fields["min_rows"] |= {"minimum": 1}
    share: Json = {"exclusiveMinimum": 0, "maximum": 1}
    for option in fields["min_readable"]["oneOf"]:
        (option["additionalProperties"] if option.get("type") == "object" else option).update(share)
    priced = [{"required": ["epsilon"]}, {"required": ["rho"]}]
    demands = [{"required": ["min_rows"]}, {"required": ["min_readable"]}]
    return schema | {"oneOf": priced, "anyOf": demands}


def _column() -> Json:
    """A column: the shape that its type names."""
    return {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"oneOf": [_type(kind) for kind in COLUMN_SHAPES]}},
        "allOf": [
            {
                "if": {"properties": {"type": {"const": kind}}, "required": ["type"]},
                "then": {"$ref": f"#/$defs/{kind}_column"},
            }
            for kind in COLUMN_SHAPES
        ],
    }


def _type(kind: str) -> Json:
    """A type, and what its page says of it."""
    page = next(page for page in PAGES if page.name == kind and page.kind == "type")
    return {"const": kind, "description": page.meaning}


def _statistic(schema: Json, definitions: Json) -> Json:
    """An entry: the fields that its statistic and mechanism take."""
    fields: Json = schema["properties"]
    fields["name"] |= {"type": "string", "pattern": f"^{NAME.pattern}$"}
    fields["statistic"] |= {
        "type": "string",
        "oneOf": [
            {"const": statistic.name, "description": _first_line(statistic)}
            for statistic in STATISTICS
        ],
    }
    fields["mechanism"] |= {
        "type": "string",
        "oneOf": [
            {"const": mechanism.name, "description": _first_line(mechanism)}
            for mechanism in MECHANISMS
        ]
        + [{"const": AUTO, "description": "The one that is most accurate, or costs least."}],
    }
    calibrations = dict.fromkeys(name for m in MECHANISMS for name in m.calibrations)
    fields["calibration"] |= {"type": "string", "enum": list(calibrations)}
    fields["bound"] |= {"type": "string", "enum": list(BOUNDS)}
    fields["keys"] |= {"type": "string", "const": "private"}
    fields["utility"] |= {"type": "string", "enum": list(UTILITIES)}
    fields["post"]["items"] = {"anyOf": [{"enum": [step.name for step in PLAIN]}, *_numbered()]}
    definitions["Withhold"]["properties"]["wider_than"] |= {"exclusiveMinimum": 0}
    fields["method"] |= {"type": "string", "enum": list(METHODS)}
    fields["epsilon"] |= {"exclusiveMinimum": 0, "maximum": int(MOST_EPSILON)}
    fields["delta"] |= {"exclusiveMinimum": 0, "exclusiveMaximum": 1}
    for way in ("rho", "error", "share"):
        fields[way] |= {"exclusiveMinimum": 0}
    priced = [{"required": [way]} for way in WAYS]
    return schema | {"oneOf": priced, "allOf": [*_by_statistic(), *_by_mechanism()]}


def _numbered() -> list[Json]:
    """The steps of `post` that need numbers."""
    number: Json = {"type": ["number", "string"]}
    pair: Json = {"type": "array", "items": number, "minItems": 2, "maxItems": 2}
    return [
        {
            "type": "object",
            "properties": {step.name: {**shape, "description": (step.__doc__ or "").strip()}},
            "required": [step.name],
            "additionalProperties": False,
        }
        for step, shape in ((Clamp, pair), (SuppressBelow, number))
    ]


def _by_statistic() -> list[Json]:
    """For each statistic, which fields it requires and which it refuses."""
    rules: list[Json] = []
    for statistic in STATISTICS:
        fields = statistic.fields
        then: Json = {}
        refused = [key for key in FURTHER if key not in fields.all]
        required = ["column"] if fields.column and fields.column_required else []
        required += [key for key in ("columns", *fields.needs) if key in fields.all]
        if required:
            then["required"] = list(dict.fromkeys(required))
        if refused:
            then["properties"] = dict.fromkeys(refused, False)
        mechanisms = [mechanism.name for mechanism in able_to_answer(statistic)]
        then.setdefault("properties", {})["mechanism"] = {"enum": [*mechanisms, AUTO]}
        rules.append({"if": _is("statistic", statistic.name), "then": then})
    return rules


def _by_mechanism() -> list[Json]:
    """For each mechanism, whether it takes a delta, and its calibrations."""
    rules: list[Json] = []
    for position, mechanism in enumerate(MECHANISMS):
        condition = _is("mechanism", mechanism.name)
        if position == 0:
            condition = {"anyOf": [condition, {"not": {"required": ["mechanism"]}}]}
        then: Json = {"properties": {"calibration": {"enum": list(mechanism.calibrations)}}}
        if mechanism.needs_delta:
            then["dependentRequired"] = {"epsilon": ["delta"]}
        else:
            # Without a delta of its own, the only use of one is to select groups.
            then["dependentRequired"] = {"delta": ["keys"]}
        rules.append({"if": condition, "then": then})
    given: Json = {"anyOf": [{"required": [way]} for way in ("epsilon", "rho")]}
    rules.append({"if": given, "then": {"dependentRequired": {"keys": ["delta"]}}})
    rules.append({"dependentRequired": {"unit_bounds": ["bound"]}})
    return rules


def _is(key: str, value: str) -> Json:
    """The condition that a key is there and has this value."""
    return {"properties": {key: {"const": value}}, "required": [key]}


def _first_line(thing: object) -> str:
    """What a docstring says first."""
    return (type(thing).__doc__ or "").strip().splitlines()[0]

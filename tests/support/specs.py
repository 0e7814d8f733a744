"""A small valid spec, which completes texts with only some of its sections."""

from __future__ import annotations

import re

SECTIONS = {
    "dpcli": "dpcli: 1",
    "dataset": "dataset: d",
    "privacy": "privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}",
    "columns": """columns:
  sex: {type: category, values: {0: male, 1: female}}
  age: {type: integer, bounds: [0, 100]}
  income: {type: number, bounds: [0, 200000], step: 100}
  day: {type: date, bounds: [2020-01-01, 2020-12-31]}
  flag: {type: boolean}
  who: {type: id}
  free: {type: integer}""",
    "statistics": "statistics: [{name: n, statistic: count, epsilon: 1}]",
}


LOCAL = {
    "dpcli": "dpcli: 1",
    "dataset": "dataset: d",
    "privacy": "privacy: {unit: row, neighbors: change-one, budget: {epsilon: 5, delta: 1e-6}}",
    "columns": """columns:
  region: {type: category, values: [north, south]}
  smoker: {type: boolean, missing: false}
  colour: {type: category, values: [red, green, blue], missing: red}
  age: {type: integer, bounds: [0, 100], missing: 0}
  day: {type: date, bounds: [2020-01-01, 2020-12-31], missing: 2020-01-01}
  bare: {type: boolean}
  only: {type: category, values: [same], missing: same}
  item: {type: category, values: [p, q]}
  "colour=red": {type: category, values: [p, q]}
  who: {type: id}""",
    "responses": "responses: [{column: smoker, mechanism: randomized_response, epsilon: 1}]",
}


def completed(text: str) -> str:
    """The text with the sections that are missing from it."""
    sections = LOCAL if re.search(r"^model: local", text, re.MULTILINE) else SECTIONS
    missing = [
        section
        for key, section in sections.items()
        if not re.search(rf"^{key}:", text, re.MULTILINE)
    ]
    return "\n".join([text.rstrip("\n"), *missing]) + "\n"


def with_statistic(fields: str) -> str:
    """A good spec with one statistic; a name and an epsilon are given."""
    return completed(f"statistics:\n  - {{name: n, epsilon: 1, {fields}}}")


def with_column(declaration: str, statistic: str = "statistic: count, column: x") -> str:
    """A good spec whose only column is `x`, and which asks about it."""
    columns = f"columns:\n  x: {declaration}"
    return completed(f"{columns}\nstatistics:\n  - {{name: n, epsilon: 1, {statistic}}}")

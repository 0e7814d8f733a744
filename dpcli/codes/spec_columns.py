"""Error codes of the values, the privacy section and the columns of a spec."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "unknown-version",
        "spec",
        "The version of the spec language is not one that this program reads.",
        "dpcli: 2",
        "Write `dpcli: 1`.",
    ),
    Code(
        "bad-name",
        "spec",
        "A name of a dataset or statistic has characters that files and tables cannot carry, or "
        "that look like others: the letters of a dataset are in Unicode form NFC.",
        "name: my count",
        "Use letters, digits, `_` and `-`, at most 100: `name: my_count`.",
    ),
    Code(
        "not-a-number",
        "spec",
        "A number is expected, in one plain notation that is read exactly.",
        "epsilon: 1,5",
        "Write digits, a point and perhaps an exponent: `epsilon: 1.5`.",
    ),
    Code(
        "not-a-date",
        "spec",
        "A date of the calendar is expected.",
        "{type: date, bounds: [2024-02-31, 2024-12-31]}",
        "Write year, month and day: `bounds: [2024-02-29, 2024-12-31]`.",
    ),
    Code(
        "confidence-out-of-range",
        "spec",
        "The confidence of intervals lies from 0.5 to 0.999999.",
        "confidence: 95",
        "Write a fraction of one: `confidence: 0.95`.",
    ),
    Code(
        "epsilon-out-of-range",
        "spec",
        "An epsilon is zero, negative, tiny or so large that it protects nobody.",
        "epsilon: 50",
        "Use one or less, as in `epsilon: 0.5`; at most 20 for a statistic.",
    ),
    Code(
        "delta-out-of-range",
        "spec",
        "A delta is a small probability, above 0 and below 1.",
        "budget: {epsilon: 1, delta: 1}",
        "Use far less than one divided by the number of people: `delta: 1e-6`.",
    ),
    Code(
        "unknown-unit",
        "spec",
        "The unit of privacy is not known.",
        "unit: rows",
        "Write `unit: row` if nobody has two rows.",
    ),
    Code(
        "limit-not-whole",
        "spec",
        "A limit on a person's rows or groups is a whole number, from 1 to a million.",
        "max_rows: 0",
        "Write 1 or more; the fewer, the less noise, and the more rows are left out.",
    ),
    Code(
        "limit-idle",
        "spec",
        "A limit on a person's rows in one group is above that on all their rows.",
        "{column: person, max_rows: 3, max_rows_per_group: 5}",
        "Lower the one, raise the other, or leave it out: `{column: person, max_rows: 3}`.",
    ),
    Code(
        "values-required",
        "spec",
        "A category without declared values is asked about; it can only be in `by`.",
        "columns: {city: {type: category}}\n"
        "statistics:\n"
        "  - {name: n, statistic: count, where: {city: Paris}, epsilon: 0.1}",
        "Declare the values, `city: {type: category, values: [Paris, Rome]}`: public facts,"
        " never read from the data.",
    ),
    Code(
        "unknown-composition",
        "spec",
        "The composition is not one that this version has.",
        "composition: renyi",
        "Use one that the message lists, as in `composition: zcdp`, or leave it out.",
    ),
    Code(
        "too-many-columns",
        "spec",
        "More than 10,000 columns are declared.",
        "a spec drafted from a very wide file",
        "Declare only those that the statistics use.",
    ),
    Code(
        "empty-text",
        "spec",
        "A name, value or label is the empty text; empty cells are always missing.",
        '{type: category, values: [a, ""]}',
        "Remove it: empty cells are missing, and `missing: LABEL` says what they count as.",
    ),
    Code(
        "name-too-long",
        "spec",
        "A column name has more than 1,000 characters.",
        "a heading that is a whole page",
        "Shorten it in the data file.",
    ),
    Code(
        "twin-names",
        "spec",
        "Two column names look the same but are made of other characters.",
        'columns:\n  "caf\\u00e9": {type: id}\n  "cafe\\u0301": {type: id}',
        "Rename one of them in the data file.",
    ),
    Code(
        "bounds-order",
        "spec",
        "The lower bound is not below the upper bound.",
        "bounds: [100, 18]",
        "Write the lower bound first: `bounds: [18, 100]`.",
    ),
    Code(
        "missing-bounds",
        "spec",
        "A column is used, and how large its values can be is not declared.",
        "columns: {age: {type: integer}}\n"
        "statistics:\n"
        "  - {name: mean_age, statistic: mean, column: age, epsilon: 0.1}",
        "Add `bounds: [0, 110]` or so to the column: public facts about what is possible, "
        "never read from the data.",
    ),
    Code(
        "off-grid",
        "spec",
        "A bound, edge, width or constant is not a multiple of the column's step.",
        "{bounds: [0, 205], step: 10}",
        "Use a multiple of the step, as in `bounds: [0, 210]`, or a step that divides it.",
    ),
    Code(
        "out-of-bounds",
        "spec",
        "A constant or condition names a value beyond the column's bounds.",
        "{bounds: [0, 10], missing: 11}",
        "Use a value within the bounds, as in `missing: 5`.",
    ),
    Code(
        "step-not-positive",
        "spec",
        "A step is zero or negative.",
        "step: 0",
        "Write a step above zero: `step: 1`.",
    ),
    Code(
        "step-not-whole",
        "spec",
        "The step of an integer column is not whole.",
        "{type: integer, bounds: [0, 10], step: 0.5}",
        "Use whole steps, or declare the column as `number`.",
    ),
    Code(
        "grid-too-fine",
        "spec",
        "The bounds are so many steps from zero that sums could overflow.",
        "{type: number, bounds: [0, 1e12], step: 1e-9}",
        "Use a larger step, as in `step: 0.01`.",
    ),
    Code(
        "surrounding-space",
        "spec",
        "A value or label begins or ends with a space, which cells never do.",
        '{type: category, values: [" a"]}',
        'Remove the space: `values: ["a"]`.',
    ),
    Code(
        "duplicate-value",
        "spec",
        "A text is listed twice, so that its label would be a guess.",
        "{type: category, values: [a, a]}",
        "Remove one of them: `values: [a]`.",
    ),
    Code(
        "formula-label",
        "spec",
        "A label would be evaluated as a formula by a spreadsheet, or begins with an apostrophe, "
        "which a spreadsheet hides.",
        '{type: category, values: ["=1+1"]}',
        'Map the text to another label: `values: {"=1+1": two}`.',
    ),
    Code(
        "unknown-label",
        "spec",
        "A text is not a label of the column.",
        "where: {sex: [femal]}",
        "Use a label, as in `where: {sex: [female]}`; where texts are mapped, the label and"
        " not the text in the file.",
    ),
)

"""Words for what a column may hold."""

from __future__ import annotations

from dpcli.reference import Page, Use

NUMERIC = ("integer", "number", "date")
EVERY = ("integer", "number", "category", "boolean", "date", "id")

PAGES: tuple[Page, ...] = (
    Page(
        "type",
        "key",
        "What the cells of a column are read as. What cannot be read so is missing.",
        "integer, number, category, boolean, date, id",
        "type: integer",
        "The column is refused.",
        (*EVERY, "missing"),
        (Use(EVERY, "What the cells are read as."),),
    ),
    Page(
        "integer",
        "type",
        "Whole numbers, such as ages or numbers of children. They are rounded to the `step` and "
        "clamped to the `bounds`.",
        "keys: bounds (needed where the column is used), step, missing",
        "age: {type: integer, bounds: [0, 110]}",
        "",
        ("bounds", "step", "missing", "number"),
    ),
    Page(
        "number",
        "type",
        "Numbers with decimals, such as money or hours. Each is rounded to a multiple of `step` "
        "and clamped to the `bounds`, so that sums are exact.",
        "keys: bounds (needed where the column is used), step (always needed), missing",
        "income: {type: number, bounds: [0, 200000], step: 100}",
        "",
        ("bounds", "step", "missing", "integer"),
    ),
    Page(
        "category",
        "type",
        "Texts from a known list, such as regions or codes. Texts are compared to the letter, "
        "without the spaces around them.",
        "keys: values (texts, or a mapping from text to label), missing",
        "sex: {type: category, values: {0: male, 1: female}}",
        "",
        ("values", "keys", "missing", "boolean"),
    ),
    Page(
        "boolean",
        "type",
        "True or false, written as any two texts.",
        "keys: values (the texts for false and true, in this order), missing",
        'insured: {type: boolean, values: ["no", "yes"]}',
        "",
        ("values", "missing", "category"),
    ),
    Page(
        "date",
        "type",
        "Days of the calendar, as YYYY-MM-DD; a time after the day is ignored. Days outside the "
        "`bounds` count as the first or last one.",
        "keys: bounds (needed where the column is used), missing",
        "visit: {type: date, bounds: [2021-01-01, 2021-12-31]}",
        "",
        ("bounds", "bins", "missing"),
    ),
    Page(
        "id",
        "type",
        "Says whose row it is, for `unit`. Ids are compared as texts and never published.",
        "keys: missing (drop, or each)",
        "person_id: {type: id}",
        "",
        ("unit", "max_rows", "count_distinct", "missing"),
    ),
    Page(
        "bounds",
        "key",
        "The least and the greatest value that counts. Values beyond are clamped to them, in the "
        "row. They decide how much noise is needed, and are public: take them from a law, a form "
        "or common sense, never from the data. Too wide costs accuracy; too narrow clamps.",
        "[LOWER, UPPER], multiples of the step, lower first; days for dates",
        "bounds: [18, 100]",
        "A statistic that uses the column is refused.",
        ("step", "missing", "unit_bounds"),
        (
            Use(("integer",), "Lower and upper bound: public facts."),
            Use(("number",), "Lower and upper bound: public facts.", "bounds: [0, 200000]"),
            Use(("date",), "First and last day: public facts.", "bounds: [2021-01-01, 2021-12-31]"),
            Use(
                ("declarations",),
                "Where bounds, categories, limits and candidates come from.",
                "bounds: from the questionnaire",
            ),
        ),
    ),
    Page(
        "step",
        "key",
        "The grid that values are rounded to, halves upwards. Sums are then exact, which the "
        "guarantee relies on. A step far below the noise is fine enough. For `candidates`, how "
        "far they are apart.",
        "a number above zero that divides the bounds; whole for integers",
        "step: 100",
        "It is 1 for integers; for numbers it is needed.",
        ("bounds", "number", "candidates"),
        (
            Use(("integer",), "The grid, in whole numbers; 1 when absent.", "step: 5"),
            Use(("number",), "The grid that values are rounded to."),
            Use(("candidates",), "How far candidates are apart.", "step: 5"),
        ),
    ),
    Page(
        "values",
        "key",
        "The texts that a category or boolean may hold: a list, or a mapping from the text in the "
        "file to the label that is published. Several texts may share a label. Every declared "
        "group is released, empty ones too, so that the list is public.",
        "a list of texts, or a mapping; for booleans two texts, for false and for true",
        "values: {0: male, 1: female}",
        "Booleans are read from `false` and `true`. A category without values has private keys: "
        "only noisy counts may tell which there are.",
        ("category", "boolean", "keys", "missing"),
        (
            Use(
                ("category",),
                "The texts in the file, or a mapping from text to label; when absent, "
                "groups of the column have private keys.",
            ),
            Use(("boolean",), "The texts for false and true.", 'values: ["no", "yes"]'),
        ),
    ),
    Page(
        "missing",
        "key",
        "What becomes of a cell that is empty, cannot be read, or is in no category. `drop` "
        "leaves the row out of the statistics that use the column; a constant replaces the cell. "
        "In an `id` column, `each` makes every row without an id a person of its own.",
        "drop, a constant within the bounds, or a label; drop or each for ids",
        "missing: drop",
        "It is drop. In the local model a constant is needed, for every record responds.",
        ("bounds", "values", "id"),
        (
            Use(("integer", "number"), "`drop`, or a constant within the bounds."),
            Use(("date",), "`drop`, or a date within the bounds."),
            Use(("category",), "`drop`, or a label."),
            Use(("boolean",), "`drop`, `false` or `true`."),
            Use(("id",), "`drop`, or `each`: a row without an id is a person of its own."),
        ),
    ),
)
"""Keys of columns, and their types."""

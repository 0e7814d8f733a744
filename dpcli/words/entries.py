"""Words for what an entry of the statistics asks."""

from __future__ import annotations

from dpcli.reference import Page, Use

PAGES: tuple[Page, ...] = (
    Page(
        "name",
        "key",
        "What an entry is called in the output, in the plan and in reports.",
        "letters, digits, `_` and `-`, at most 100; a letter or `_` first; each name once",
        "name: mean_income",
        "The entry is refused.",
        ("statistic",),
        (Use(("statistic",), "The name of the statistic in the output."),),
    ),
    Page(
        "statistic",
        "key",
        "What is asked. Each statistic has a page of its own.",
        "count, sum, mean, histogram, median and others: `dpcli explain` lists them",
        "statistic: count",
        "The entry is refused.",
        ("count", "sum", "mean", "histogram", "median"),
        (Use(("statistic",), "What is asked."),),
    ),
    Page(
        "column",
        "key",
        "The declared column that is meant.",
        "a name under `columns:`, spelled as in the header",
        "column: income",
        "Counts are of rows, and `count_distinct` is of people; elsewhere it is needed.",
        ("columns", "type", "unit"),
        (
            Use(("statistic",), "The column that is asked about."),
            Use(
                ("unit",),
                "The column of type `id` that says whose row it is.",
                "column: person_id",
            ),
            Use(("key",), "The numeric column that is cut into groups.", "column: age"),
            Use(("response",), "The declared column that is randomized.", "column: smoker"),
        ),
    ),
    Page(
        "by",
        "key",
        "The groups: an answer for each combination of their labels or bins. A row is in one "
        "group only, so groups cost nothing extra under `unit: row`; but each has its own noise. "
        "Every declared group is released, empty ones too.",
        "a list of columns with labels, and of {column: NAME, bins: ...} for numbers",
        "by: [sex, {column: age, bins: {width: 20}}]",
        "One answer for all rows.",
        ("bins", "keys", "values", "where", "max_groups"),
        (
            Use(("statistic",), "The groups, each released, empty ones too."),
            Use(("response",), "Public columns: estimates for each group.", "by: [region]"),
        ),
    ),
    Page(
        "where",
        "key",
        "Which rows count: all conditions must hold. A condition on a number sees the rounded "
        "and clamped value.",
        "a mapping from column to a value, a list of values, or {min: LOW, max: HIGH}, both "
        "ends included",
        "where: {age: {min: 18}, employment: [employed, student]}",
        "All rows count.",
        ("min", "max", "by", "missing"),
        (Use(("statistic",), "Column to value, values, or {min, max}: all must hold."),),
    ),
    Page(
        "min",
        "key",
        "The least value that passes a condition, itself included.",
        "a number, or a day",
        "min: 18",
        "The lower bound of the column.",
        ("where", "max"),
        (Use(("range",), "The least value that passes."),),
    ),
    Page(
        "max",
        "key",
        "The greatest value that passes a condition, itself included.",
        "a number, or a day",
        "max: 64",
        "The upper bound of the column.",
        ("where", "min"),
        (Use(("range",), "The greatest value that passes."),),
    ),
    Page(
        "bins",
        "key",
        "How a numeric column is cut: into bins of one width from the lower bound on, or at given "
        "edges. Bins of whole numbers and days are closed ranges: `width: 10` from 0 to 110 makes "
        "`0-9`, `10-19`, ..., `110`; ranges of a column with negative values are written "
        "`[-10,-1]`, ranges of days `2024-03-01..2024-03-31`. Numbers whose step is not whole have "
        "half-open intervals, `[0.0,0.5)`, and the last one includes the upper bound. "
        "`dpcli plan` shows the first and the last bin.",
        "{width: W} or {edges: [LOWER, ..., UPPER]}, at most 10,001 bins",
        "bins: {width: 10}",
        "A histogram or group of a numeric column is refused; categories need none.",
        ("width", "edges", "histogram", "by"),
        (
            Use(("statistic",), "How the numeric column of a histogram is cut."),
            Use(("key",), "How the numeric column is cut into groups."),
        ),
    ),
    Page(
        "width",
        "key",
        "The width of bins, from the lower bound on; the last bin may be narrower. Whole numbers "
        "and days: how many of them a bin holds, so that `width: 1` makes one bin of each.",
        "a multiple of the step above zero; days for dates",
        "width: 10",
        "`edges` must be there.",
        ("bins", "edges", "step"),
        (Use(("bins",), "Bins of this width from the lower bound on."),),
    ),
    Page(
        "edges",
        "key",
        "Where bins begin and end, from the lower bound of the column to its upper bound. Each "
        "edge but the last begins a bin, and the last bin includes the upper bound: "
        "`[0, 18, 67, 110]` makes `0-17`, `18-66` and `67-110`. The last edge of whole numbers "
        "and days may also be the value after the upper bound: `[1, 2, 3, 4]` with bounds `[1, 3]` "
        "makes `1`, `2` and `3`.",
        "rising multiples of the step; the first is the lower bound, the last the upper bound, "
        "or the whole number or day after it",
        "edges: [0, 18, 67, 110]",
        "`width` must be there.",
        ("bins", "width", "bounds"),
        (Use(("bins",), "Edges from the lower bound to the upper bound."),),
    ),
    Page(
        "keys",
        "key",
        "Says that the groups of `by` are private: they are texts that occur in the data, and are "
        "shown only when their noisy count passes a threshold, which `dpcli plan` prints. A "
        "count or count_distinct without a column selects them for all entries of the same `by`.",
        "private; it needs a delta",
        "keys: private",
        "All groups are declared, hence public.",
        ("values", "by", "delta", "count_distinct"),
        (Use(("statistic",), "`private`: the noisy counts say which groups are shown."),),
    ),
    Page(
        "bound",
        "key",
        "How a person's part in a sum or count is bounded. `rows`: each of the rows that are kept "
        "is clamped. `sum`: all rows of the person are added up, and the total is clamped to "
        "`unit_bounds`; better where people have many small rows.",
        "rows, sum",
        "bound: sum",
        "It is rows.",
        ("unit_bounds", "max_rows", "unit"),
        (
            Use(
                ("statistic",),
                "`rows`: limit a person's rows; `sum`: add them up and clamp the total.",
            ),
        ),
    ),
    Page(
        "unit_bounds",
        "key",
        "The least and the most that one person's total in a group can be, for `bound: sum`. A "
        "public fact. With `bound: rows` it only lets the plan compare both.",
        "[LEAST, MOST], in the unit of the column",
        "unit_bounds: [0, 80]",
        "`bound: sum` is refused.",
        ("bound", "bounds", "sum"),
        (Use(("statistic",), "The least and most that one person's total in a group can be."),),
    ),
)
"""What all or most entries may say."""

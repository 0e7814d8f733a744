"""Error codes of the statistics of a spec."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "no-statistics",
        "spec",
        "The spec asks for nothing.",
        "statistics: []",
        "Add at least one: `- {name: people, statistic: count, epsilon: 0.5}`.",
    ),
    Code(
        "too-many-statistics",
        "spec",
        "The spec asks for more than 1,000 statistics.",
        "a generated spec",
        "Split the spec.",
    ),
    Code(
        "duplicate-name",
        "spec",
        "Two statistics have the same name, so that the output would be ambiguous.",
        "statistics:\n"
        "  - {name: people, statistic: count, epsilon: 0.1}\n"
        "  - {name: people, statistic: count, by: [sex], epsilon: 0.1}",
        "Rename one of them, as in `name: people_by_sex`.",
    ),
    Code(
        "unknown-statistic",
        "spec",
        "The statistic is not one that this version has.",
        "statistic: avg",
        "Use one that the message lists, as in `statistic: mean`.",
    ),
    Code(
        "unknown-mechanism",
        "spec",
        "The mechanism is not one that this version has.",
        "mechanism: laplacian",
        "Use one that the message lists, as in `mechanism: laplace`, or leave it out.",
    ),
    Code(
        "price-required",
        "spec",
        "Nothing says what a statistic may reveal: there must be one of `epsilon`, `rho` (with "
        "a composition that counts in it), `error` (the half-width that is needed) and `share` "
        "(its part of what is left of the budget).",
        "{name: people, statistic: count}",
        "Give one of them: `{name: people, statistic: count, epsilon: 0.5}`.",
    ),
    Code(
        "price-twice",
        "spec",
        "What may be revealed is given in two ways, which could contradict each other.",
        "{name: people, statistic: count, epsilon: 1, error: 25}",
        "Keep one of them: `{name: people, statistic: count, error: 25}`.",
    ),
    Code(
        "rho-not-taken",
        "spec",
        "A loss is given in rho, and the composition does not count in it.",
        "composition: sequential\nstatistics:\n  - {name: people, statistic: count, rho: 0.1}",
        "Use `composition: zcdp`, or give `epsilon`.",
    ),
    Code(
        "rho-out-of-range",
        "spec",
        "The rho is not above zero, or so large that it protects nobody.",
        "composition: zcdp\nrho: 100",
        "Use `rho: 0.1` or so; for a count with Laplace noise it is about epsilon squared "
        "over two.",
    ),
    Code(
        "not-above-zero",
        "spec",
        "An error or a share is not above zero, or is immense.",
        "error: 0",
        "Write the half-width of the interval that is needed, as in `error: 25`, or a "
        "share, as in `share: 1`.",
    ),
    Code(
        "unknown-calibration",
        "spec",
        "The mechanism does not choose its noise in that way.",
        "{mechanism: gaussian, calibration: tight, epsilon: 1, delta: 1e-7}",
        "Use one that the message lists, as in `calibration: exact`, or leave it out.",
    ),
    Code(
        "unknown-column",
        "spec",
        "A column is used but not declared under `columns`.",
        "by: [sx]",
        "Correct the spelling, here `by: [sex]`, or declare the column under `columns:`.",
    ),
    Code(
        "id-column",
        "spec",
        "An `id` column says whose row it is; nothing may be asked about it.",
        "{statistic: mean, column: person}",
        "Ask about another column; `count_distinct` without a column counts the people of `unit`.",
    ),
    Code(
        "wrong-column-type",
        "spec",
        "The statistic does not work on columns of this type.",
        "{statistic: mean, column: sex}",
        "Use another column, or another statistic: `{statistic: histogram, column: sex}`.",
    ),
    Code(
        "field-not-taken",
        "spec",
        "The statistic does not take this field.",
        "{statistic: count, bins: {width: 10}}",
        "Remove the field, or use a statistic that takes it: `{statistic: histogram, "
        "column: age, bins: {width: 10}}`.",
    ),
    Code(
        "delta-required",
        "spec",
        "The mechanism needs a delta.",
        "{mechanism: gaussian, epsilon: 1}",
        "Add a delta: `{mechanism: gaussian, epsilon: 1, delta: 1e-7}`.",
    ),
    Code(
        "delta-not-taken",
        "spec",
        "The mechanism's guarantee has no delta.",
        "{mechanism: laplace, epsilon: 1, delta: 1e-7}",
        "Remove the delta: `{mechanism: laplace, epsilon: 1}`.",
    ),
    Code(
        "too-many-cells",
        "spec",
        "A table has more than 1,000,000 cells, or all have more than 2,000,000. Choices have at "
        "most 2,000,000 scores of candidates each, and 10,000,000 together.",
        "by three columns of 1,000 labels each",
        "Use wider bins, fewer keys or fewer candidates.",
    ),
    Code(
        "too-many-queries",
        "spec",
        "All statistics together ask more than 10,000 queries. A regression asks one for each "
        "pair of its columns, `marginals` one for each table.",
        "marginals of twelve columns, six at a time, eleven times",
        "Ask about fewer columns at once, or split the spec.",
    ),
    Code(
        "duplicate-key-column",
        "spec",
        "A column cuts the same table twice.",
        "by: [sex, sex]",
        "Keep one of them: `by: [sex]`.",
    ),
    Code(
        "reserved-name",
        "spec",
        "A key column has the name of a column that every output has, or a statistic is named "
        "`quality` where the spec has a section of that name.",
        "columns: {value: {type: category, values: [a, b]}}\n"
        "statistics:\n"
        "  - {name: n, statistic: count, by: [value], epsilon: 0.1}",
        "Rename the column in the data file and in the spec, as in `by: [amount_class]`; give the "
        "statistic another name.",
    ),
    Code(
        "missing-bins",
        "spec",
        "A numeric column can only group rows when it is cut into bins.",
        "by: [age]",
        "Write `by: [{column: age, bins: {width: 10}}]`.",
    ),
    Code(
        "bins-not-taken",
        "spec",
        "Categories need no bins: their labels are the groups.",
        "{statistic: histogram, column: sex, bins: {width: 1}}",
        "Remove `bins`: `{statistic: histogram, column: sex}`.",
    ),
    Code(
        "bins-form",
        "spec",
        "Bins are given by a width or by edges, not by both or neither.",
        "{statistic: histogram, column: age, bins: {width: 5, edges: [0, 100]}}",
        "Give one of them: `bins: {width: 5}`.",
    ),
    Code(
        "width-not-positive",
        "spec",
        "The width of bins is zero or negative.",
        "{statistic: histogram, column: age, bins: {width: 0}}",
        "Write a width above zero: `bins: {width: 10}`.",
    ),
    Code(
        "edges-order",
        "spec",
        "Edges of bins do not rise.",
        "{statistic: histogram, column: age, bins: {edges: [0, 20, 10, 100]}}",
        "List the edges from the lowest to the highest, each once: `edges: [0, 10, 20, 100]`.",
    ),
    Code(
        "edges-bounds",
        "spec",
        "The first or last edge is not the column's bound, so that values would be lost.",
        "{statistic: histogram, column: age, bins: {edges: [10, 100]}}",
        "Begin with the lower bound and end with the upper: `edges: [0, 10, 100]`. The last bin "
        "includes the upper bound.",
    ),
    Code(
        "too-many-bins",
        "spec",
        "A column is cut into more than 10,001 bins.",
        "columns: {x: {type: integer, bounds: [0, 1e6]}}\n"
        "statistics:\n"
        "  - {name: h, statistic: histogram, column: x, bins: {width: 1}, epsilon: 0.1}",
        "Use wider bins: `bins: {width: 1000}`.",
    ),
    Code(
        "condition-form",
        "spec",
        "A condition is not in the form that the column's type allows.",
        "where: {sex: {min: 1}}",
        "Give labels for categories, as in `where: {sex: [female]}`; `min`, `max` or values"
        " for numbers.",
    ),
    Code(
        "impossible-condition",
        "spec",
        "No value within the column's bounds satisfies the condition.",
        "where: {age: {min: 101}}",
        "Change the condition, as in `where: {age: {min: 65}}`, or the bounds.",
    ),
)

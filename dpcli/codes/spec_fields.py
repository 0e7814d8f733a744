"""Error codes of the fields that only some statistics of a spec take."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "bad-declaration",
        "spec",
        "An answer under `declarations:` is empty or very long, or `population` is no whole "
        "number of people.",
        "declarations: {population: 0.5}",
        "Write a number such as `population: 1000000`, and answers of a sentence or two.",
    ),
    Code(
        "quality-without-minimum",
        "spec",
        "The quality check says neither how many rows a complete file has at least, nor which "
        "share of cells must be readable, so nothing could fail it.",
        "quality: {epsilon: 0.02}",
        "Add one or both: `quality: {epsilon: 0.02, min_rows: 1000, min_readable: 0.8}`.",
    ),
    Code(
        "bad-minimum",
        "spec",
        "A minimum of the quality check is not one: `min_rows` is a whole number of rows, and "
        "`min_readable` a share above 0, at most 1.",
        "quality: {epsilon: 0.02, min_readable: 80}",
        "Write `min_rows: 1000`, and `min_readable: 0.8` for 80%.",
    ),
    Code(
        "mechanism-not-taken",
        "spec",
        "The mechanism adds noise to numbers and the statistic is a choice among candidates, or "
        "the other way round.",
        "{name: m, statistic: median, column: age, mechanism: laplace, epsilon: 1}",
        "Use a mechanism that the message lists, as in `mechanism: exponential`, or leave it out.",
    ),
    Code(
        "not-in-range",
        "spec",
        "A number is not in the range that its field allows.",
        "{statistic: top_k, column: sex, k: 0}",
        "Write a number within the range that the message names: `k: 1`.",
    ),
    Code(
        "column-twice",
        "spec",
        "A column is named twice where each can stand once, or would predict itself.",
        "{statistic: correlation, columns: [age, age]}",
        "Keep one of them: `columns: [age, income]`.",
    ),
    Code(
        "columns-count",
        "spec",
        "There are too few columns to relate, or too many: all products share epsilon.",
        "{name: c, statistic: correlation, columns: [age], epsilon: 1}",
        "Name the columns that belong together: `columns: [age, income]`.",
    ),
    Code(
        "too-many-candidates",
        "spec",
        "A value would be chosen among more than a million candidates.",
        "columns: {x: {type: integer, bounds: [0, 1e9]}}\n"
        "statistics:\n"
        "  - {name: m, statistic: median, column: x, epsilon: 0.1}",
        "Write `candidates: {step: 1000}` or so, as coarse as the answer may be.",
    ),
    Code(
        "candidates-order",
        "spec",
        "A candidate is not above the one before it.",
        "{statistic: median, column: age, candidates: [10, 5]}",
        "List candidates from the lowest to the highest, each once: `candidates: [5, 10]`.",
    ),
    Code(
        "bad-quantile",
        "spec",
        "A quantile is the part of the rows below it: a number between 0 and 1, each once.",
        "{statistic: quantile, column: age, quantiles: [50]}",
        "Write `quantiles: [0.5]` for the middle, 0.9 for what nine in ten do not reach.",
    ),
    Code(
        "too-many-quantiles",
        "spec",
        "An entry asks for more than a hundred quantiles, which share its epsilon.",
        "a hundred and one quantiles",
        "Ask for fewer; a histogram tells more about a whole distribution.",
    ),
    Code(
        "unknown-utility",
        "spec",
        "The utility is not one that this version has.",
        "{statistic: choose, column: age, candidates: [18, 65], utility: profit}",
        "Use one that the message lists: `utility: revenue`.",
    ),
    Code(
        "label-missing",
        "spec",
        "A threshold should tell something, and no column says what.",
        "{name: t, statistic: choose, column: age, candidates: [18, 65], utility: accuracy, "
        "epsilon: 1}",
        "Add a boolean column: `label: married`.",
    ),
    Code(
        "label-not-taken",
        "spec",
        "The utility looks at one column alone, and a label is given.",
        "{statistic: choose, column: age, candidates: [18], utility: revenue, label: married}",
        "Remove `label: married`.",
    ),
    Code(
        "price-negative",
        "spec",
        "Revenue is a price times buyers, and a price below zero earns nothing.",
        "columns: {x: {type: integer, bounds: [-10, 10]}}\n"
        "statistics:\n"
        "  - {name: p, statistic: choose, column: x, candidates: [-10, 0],\n"
        "     utility: revenue, epsilon: 0.1}",
        "Remove the candidates below zero: `candidates: [0, 10]`.",
    ),
    Code(
        "unknown-method",
        "spec",
        "The method of a regression is not one that this version has.",
        "{statistic: linear_regression, column: income, on: [age], method: objective}",
        "Use one that the message lists, as in `method: moments`, or leave it out.",
    ),
    Code(
        "rows-not-taken",
        "spec",
        "`rows` is the public number of rows for `method: output`; moments are counted with noise.",
        "{statistic: linear_regression, column: income, on: [age], rows: 100}",
        "Remove `rows: 100`, or use `method: output`.",
    ),
    Code(
        "output-needs-fixed-rows",
        "spec",
        "Noise for the coefficients themselves is proven only where each row can be replaced and "
        "none added, removed or skipped.",
        "neighbors: add-remove\n"
        "statistics:\n"
        "  - {name: l, statistic: linear_regression, column: income, on: [age],\n"
        "     method: output, ridge: 0.1, rows: 100, epsilon: 0.1}",
        "Use `method: moments`, or `neighbors: change-one` and the other conditions that "
        "the message names.",
    ),
    Code(
        "not-true-or-false",
        "spec",
        "A switch is neither `true` nor `false`.",
        "raw: maybe",
        "Write `raw: true` or `raw: false`.",
    ),
    Code(
        "raw-not-taken",
        "spec",
        "`raw` publishes noisy numbers beside those made of them. A choice is made of none, and "
        "a correlation or a slope of many.",
        "{name: m, statistic: mode, column: sex, raw: true, epsilon: 1}",
        "Remove `raw`.",
    ),
    Code(
        "raw-of-withheld",
        "spec",
        "An entry withholds numbers whose intervals are wide, and asks for the noisy numbers of "
        "all cells too.",
        "{name: n, statistic: count, withhold: {wider_than: 0.5}, raw: true, epsilon: 1}",
        "Remove `raw: true`, or remove `withhold` and rely on the column `flag`.",
    ),
    Code(
        "unknown-step",
        "spec",
        "A step of `post` is not one that this version has.",
        "post: [positive]",
        "Use one that the message lists: `post: [nonnegative]`.",
    ),
    Code(
        "step-not-taken",
        "spec",
        "The step does not suit the statistic: only some have totals or an order to agree on.",
        "{name: n, statistic: count, post: [consistent], epsilon: 1}",
        "Remove the step, or use one that the message lists: `post: [nonnegative]`.",
    ),
    Code(
        "step-order",
        "spec",
        "`consistent` is made of the noisy answers themselves, so no step can come before it.",
        "{statistic: marginals, columns: [sex, married], ways: 2, post: [integer, consistent]}",
        "Write it first: `post: [consistent, integer]`.",
    ),
    Code(
        "ambiguous-items",
        "spec",
        "Two numbers of an entry would have the same item, by the names of columns or labels.",
        "columns:\n"
        "  a: {type: integer, bounds: [0, 9]}\n"
        "  a:b: {type: integer, bounds: [0, 9]}\n"
        "  b:c: {type: integer, bounds: [0, 9]}\n"
        "  c: {type: integer, bounds: [0, 9]}\n"
        "statistics:\n"
        "  - {name: r, statistic: correlation, columns: [a, a:b, b:c, c], epsilon: 0.1}",
        "Rename the column or the label, as in `a_b`.",
    ),
    Code(
        "step-numbers",
        "spec",
        "A step of `post` needs numbers that are not there, or takes none.",
        "post: [clamp]",
        "Write `{clamp: [0, 100]}` or `{suppress_below: 10}`, and other steps by their name.",
    ),
)
"""What can be wrong with what only some statistics say."""

"""Error codes of the fields that only some statistics of a spec take."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "bad-declaration",
        "spec",
        "An answer under `declarations:` is empty or very long, or `population` is no whole "
        "number of people.",
        "declarations: {population: about a million}",
        "Write a number such as `population: 1000000`, and answers of a sentence or two.",
    ),
    Code(
        "mechanism-not-taken",
        "spec",
        "The mechanism adds noise to numbers and the statistic is a choice among candidates, or "
        "the other way round.",
        "{name: m, statistic: median, column: age, mechanism: laplace, epsilon: 1}",
        "Use a mechanism that the message lists, or leave it out.",
    ),
    Code(
        "not-in-range",
        "spec",
        "A number is not in the range that its field allows.",
        "k: 0",
        "Write a number within the range that the message names.",
    ),
    Code(
        "column-twice",
        "spec",
        "A column is named twice where each can stand once, or would predict itself.",
        "columns: [age, age]",
        "Keep one of them.",
    ),
    Code(
        "columns-count",
        "spec",
        "There are too few columns to relate, or too many: all products share epsilon.",
        "{name: c, statistic: correlation, columns: [age], epsilon: 1}",
        "Name the columns that belong together.",
    ),
    Code(
        "too-many-candidates",
        "spec",
        "A value would be chosen among more than a million candidates.",
        "a median of a column with `bounds: [0, 1000000000]` and without `candidates`",
        "Write `candidates: {step: ...}`, as coarse as the answer may be.",
    ),
    Code(
        "candidates-order",
        "spec",
        "A candidate is not above the one before it.",
        "candidates: [10, 5]",
        "List candidates from the lowest to the highest, each once.",
    ),
    Code(
        "bad-quantile",
        "spec",
        "A quantile is the part of the rows below it: a number between 0 and 1, each once.",
        "quantiles: [50]",
        "Write `0.5` for the middle, `0.9` for what nine in ten do not reach.",
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
        "utility: profit",
        "Use one that the message lists.",
    ),
    Code(
        "label-missing",
        "spec",
        "A threshold should tell something, and no column says what.",
        "{name: t, statistic: choose, column: age, candidates: [18, 65], utility: accuracy, "
        "epsilon: 1}",
        "Add `label: ...` with a boolean column.",
    ),
    Code(
        "label-not-taken",
        "spec",
        "The utility looks at one column alone, and a label is given.",
        "utility: revenue with label: married",
        "Remove `label`.",
    ),
    Code(
        "price-negative",
        "spec",
        "Revenue is a price times buyers, and a price below zero earns nothing.",
        "candidates: [-10, 0, 10] with utility: revenue",
        "Remove the candidates below zero.",
    ),
    Code(
        "unknown-method",
        "spec",
        "The method of a regression is not one that this version has.",
        "method: objective",
        "Use one that the message lists, or leave it out.",
    ),
    Code(
        "rows-not-taken",
        "spec",
        "`rows` is the public number of rows for `method: output`; moments are counted with noise.",
        "{name: l, statistic: linear_regression, column: y, on: [x], rows: 100, epsilon: 1}",
        "Remove `rows`, or use `method: output`.",
    ),
    Code(
        "output-needs-fixed-rows",
        "spec",
        "Noise for the coefficients themselves is proven only where each row can be replaced and "
        "none added, removed or skipped.",
        "method: output with neighbors: add-remove",
        "Use `method: moments`, or meet the conditions that the message names.",
    ),
    Code(
        "not-true-or-false",
        "spec",
        "A switch is neither `true` nor `false`.",
        "raw: maybe",
        "Write `true` or `false`.",
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
        "unknown-step",
        "spec",
        "A step of `post` is not one that this version has.",
        "post: [positive]",
        "Use one that the message lists.",
    ),
    Code(
        "step-not-taken",
        "spec",
        "The step does not suit the statistic: only some have totals or an order to agree on.",
        "{name: n, statistic: count, post: [consistent], epsilon: 1}",
        "Remove the step.",
    ),
    Code(
        "step-order",
        "spec",
        "`consistent` is made of the noisy answers themselves, so no step can come before it.",
        "post: [integer, consistent]",
        "Write it first: `post: [consistent, integer]`.",
    ),
    Code(
        "ambiguous-items",
        "spec",
        "Two numbers of an entry would have the same item, by the names of columns or labels.",
        "a correlation of columns named `a`, `b` and `a:b`",
        "Rename the column or the label.",
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

"""Words that only some statistics take: choices and relations of columns."""

from __future__ import annotations

from dpcli.reference import Page, Use

PAGES: tuple[Page, ...] = (
    Page(
        "quantiles",
        "key",
        "Which quantiles: the parts of the rows that lie below. They share the entry's price.",
        "a number between 0 and 1, or up to 100 of them, with at most six decimals",
        "quantiles: [0.25, 0.5, 0.75]",
        "`quantile` is refused without them; `median` is 0.5.",
        ("quantile", "median", "candidates"),
        (Use(("statistic",), "Parts of the rows, between 0 and 1."),),
    ),
    Page(
        "candidates",
        "key",
        "The public values that may be chosen, and no other one is ever published. The fewer, the "
        "surer the choice.",
        "a rising list of values, or {step: S} from bound to bound",
        "candidates: {step: 5}",
        "All steps of the column from bound to bound; `choose` is refused without them.",
        ("quantile", "median", "choose", "step"),
        (Use(("statistic",), "What may be chosen: values, or every so many steps."),),
    ),
    Page(
        "utility",
        "key",
        "What candidates are judged by: `revenue` is that of a price, `accuracy` how often a "
        "threshold tells the boolean `label` rightly.",
        "revenue, accuracy",
        "utility: revenue",
        "`choose` is refused without it; no other statistic takes it.",
        ("choose", "label", "revenue", "accuracy"),
        (Use(("statistic",), "What candidates are judged by."),),
    ),
    Page(
        "label",
        "key",
        "The boolean column that a threshold should tell, for `utility: accuracy`.",
        "a declared boolean column",
        "label: insured",
        "`utility: accuracy` is refused.",
        ("utility", "choose", "boolean"),
        (Use(("statistic",), "The boolean that a threshold should tell."),),
    ),
    Page(
        "k",
        "key",
        "How many labels are chosen, the most frequent first. They share the entry's price.",
        "a whole number above zero, at most as many as there are labels",
        "k: 3",
        "`top_k` is refused; no other statistic takes it.",
        ("top_k", "mode"),
        (Use(("statistic",), "How many are chosen."),),
    ),
    Page(
        "ways",
        "key",
        "How many of the `columns` each table of `marginals` has: 2 makes a table of each pair.",
        "a whole number from 1 to the number of columns",
        "ways: 2",
        "`marginals` is refused; no other statistic takes it.",
        ("marginals", "columns"),
        (Use(("statistic",), "How many of the columns each table has."),),
    ),
    Page(
        "on",
        "key",
        "The columns that predict `column` in a linear regression.",
        "a list of declared columns of type integer or number",
        "on: [hours, age]",
        "`linear_regression` is refused; no other statistic takes it.",
        ("linear_regression", "method"),
        (Use(("statistic",), "The columns that predict another one."),),
    ),
    Page(
        "method",
        "key",
        "How a regression is made private: from noisy sums of products (`moments`), or by noise "
        "for the coefficients themselves (`output`), which needs `ridge`, `rows` and change-one.",
        "moments, output",
        "method: moments",
        "It is moments.",
        ("linear_regression", "ridge", "rows"),
        (Use(("statistic",), "How a regression is made private; `moments` when absent."),),
    ),
    Page(
        "ridge",
        "key",
        "How much a regression shrinks its slopes towards zero, which keeps them stable.",
        "a number above zero",
        "ridge: 0.01",
        "Just enough to keep them stable; `method: output` is refused without it.",
        ("linear_regression", "method"),
        (Use(("statistic",), "How much a regression shrinks slopes."),),
    ),
    Page(
        "rows",
        "key",
        "The public number of rows, for `method: output` of a regression. It is public only "
        "under change-one.",
        "a whole number above zero",
        "rows: 3000",
        "`method: output` is refused.",
        ("method", "neighbors"),
        (Use(("statistic",), "The public number of rows, for `method: output`."),),
    ),
)
"""Further keys of entries."""

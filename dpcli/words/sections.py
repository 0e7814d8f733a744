"""Words for the sections of a spec."""

from __future__ import annotations

from dpcli.reference import Page, Use

PAGES: tuple[Page, ...] = (
    Page(
        "dpcli",
        "key",
        "The version of the language that the spec is written in, not of the program.",
        "1",
        "dpcli: 1",
        "The spec is refused: nobody shall guess what an old spec means.",
        ("dataset",),
        (Use(("spec",), "The version of the spec language: 1."),),
    ),
    Page(
        "model",
        "key",
        "Who sees the records. In the central model somebody who is trusted holds the file, "
        "and noise protects what is published. In the local model each record is randomized "
        "by itself, before it is collected, and nobody is trusted.",
        "central (`statistics:` says what is released), local (`responses:` says how records "
        "respond)",
        "model: local",
        "The model is central.",
        ("statistics", "responses", "public"),
        (
            Use(
                ("spec",),
                "`central` when absent; `local` if each record is randomized by itself.",
            ),
        ),
    ),
    Page(
        "dataset",
        "key",
        "The name of the account in the ledger that pays for releases. All specs about the same "
        "people name the same dataset, so that what they reveal together is bounded.",
        "letters of any script in Unicode form NFC, digits, `.`, `_` and `-`, at most 100; a "
        "letter or digit first. `dpcli plan` warns of names that mix scripts, such as a Cyrillic "
        "letter in a Latin word: names that look the same are different accounts",
        "dataset: survey-2024",
        "The spec is refused.",
        ("ledger", "budget"),
        (
            Use(
                ("spec",),
                "The ledger account that pays; one for all specs about the same people.",
            ),
        ),
    ),
    Page(
        "ledger",
        "key",
        "Demands that the ledger, and the account of the dataset in it, exist before a release: a "
        "copied spec, a fresh checkout or a deleted ledger then does not begin a full budget "
        "again. `dpcli ledger init` and `dpcli ledger open` begin them on purpose.",
        "must-exist",
        "ledger: must-exist",
        "The first release creates the ledger next to the spec, opens the account, and says so. "
        "The variable DPCLI_LEDGER_MUST_EXIST=1 demands the same of every spec.",
        ("dataset", "budget", "ledger-must-exist", "account-must-exist"),
        (
            Use(
                ("spec",),
                "`must-exist`: a release creates no ledger and opens no account.",
            ),
        ),
    ),
    Page(
        "privacy",
        "key",
        "The guarantee: who is protected (`unit`), against what (`neighbors`), how far "
        "(`budget`), and how the losses of several answers add up (`composition`). The account "
        "in the ledger remembers it for ever.",
        "a mapping with unit, neighbors, budget and perhaps composition",
        "privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}",
        "The spec is refused: nobody inherits a guarantee in silence.",
        ("unit", "neighbors", "budget", "composition"),
        (Use(("spec",), "The guarantee: who is protected, against what, and how far."),),
    ),
    Page(
        "columns",
        "key",
        "The section `columns:` declares what each column of the file may hold: public facts "
        "from a code book, a law or a form, never from the data. Columns that are not declared "
        "are not read. As a key of a statistic, the columns that it relates.",
        "in the spec: a mapping from the names in the header to `{type: ...}`; in a statistic: "
        "a list of declared columns (to cut numbers: `{column: age, bins: {width: 20}}`)",
        "columns: {age: {type: integer, bounds: [0, 110]}}",
        "The spec is refused. A statistic that relates columns is refused without them; others "
        "do not take them.",
        ("type", "bounds", "values", "missing", "correlation", "marginals"),
        (
            Use(("spec",), "What each column may hold; public facts, never read from the data."),
            Use(
                ("statistic",),
                "Several columns that are asked about together.",
                "columns: [age, income]",
            ),
        ),
    ),
    Page(
        "quality",
        "key",
        "A check that comes before all statistics, because cells that cannot be read as declared "
        "are missing without an error: a date column written 1/12/2010, or half an upload, would "
        "publish noise and spend the budget. It asks noisy counts of rows and of readable cells "
        "per column, in one charged query. If a minimum is missed by more than the noise explains, "
        "no statistic is answered, only the loss of the check is charged, a report with the "
        "reason is written, and the exit status is 8. A file that meets all minimums is stopped "
        "with a probability of at most 1%; `dpcli plan` shows what is noticed with 99%.",
        "a mapping with epsilon (or rho), at least one of min_rows and min_readable, and maybe "
        "mechanism and delta",
        "quality: {epsilon: 0.02, min_rows: 1000, min_readable: 0.8}",
        "Nothing is checked, and `dpcli plan` warns.",
        ("min_rows", "min_readable", "missing", "quality-failed"),
        (Use(("spec",), "A noisy, charged check that the file is complete and readable."),),
    ),
    Page(
        "min_rows",
        "key",
        "The least number of rows that a complete file has, from what you expect of the survey or "
        "the register, not from the file. Where people are protected, the rows count that the "
        "limits let in, and rows without an id do not.",
        "a whole number of at least 1",
        "min_rows: 1000",
        "The number of rows is counted, and not checked.",
        ("quality", "min_readable"),
        (Use(("quality",), "The least number of rows of a complete file."),),
    ),
    Page(
        "min_readable",
        "key",
        "The least share of the cells of a column that must be readable as declared, before any "
        "constant takes the place of the others. One number is for every declared column but the "
        "ids of the unit. A mapping checks the columns that it names: fewer columns need less "
        "noise.",
        "a number above 0, at most 1; or a mapping from columns to such numbers",
        "min_readable: {age: 0.9, income: 0.5}",
        "No cells are counted.",
        ("quality", "min_rows", "missing"),
        (Use(("quality",), "The least share of readable cells, of all columns or by column."),),
    ),
    Page(
        "statistics",
        "key",
        "What is released, in the order of the output. Each entry asks one thing and pays for it "
        "from the budget; where entries overlap in rows their losses add up.",
        "a list of 1 to 1,000 mappings with name, statistic, a price and what the statistic takes",
        "statistics: [{name: people, statistic: count, epsilon: 0.5}]",
        "The spec is refused, unless it says `model: local`.",
        ("statistic", "name", "epsilon", "by", "where"),
        (Use(("spec",), "What is released, in the order of the output."),),
    ),
    Page(
        "rows_are",
        "key",
        "What a row of the data is. The plan, the summary and the reports name it wherever rows "
        "are counted, so that no reader takes the number of visits for the number of people.",
        "a plural of letters, spaces and hyphens, at most 40; `people` only where each row is "
        "protected",
        "rows_are: visits",
        "They are called rows.",
        ("unit", "max_rows", "count", "count_distinct"),
        (Use(("spec",), "What a row is, as a plural; `rows` when absent."),),
    ),
    Page(
        "confidence",
        "key",
        "How sure the published intervals are: `lower` and `upper` hold the answer without noise "
        "with this probability. They tell of the noise alone, not of sampling or of slips in "
        "the data.",
        "a number from 0.5 to 0.999999",
        "confidence: 0.95",
        "It is 0.95.",
        ("error",),
        (Use(("spec",), "Of the published intervals; 0.95 when absent."),),
    ),
)
"""The sections, from top to bottom."""

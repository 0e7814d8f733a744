"""Words for who is protected, and how far."""

from __future__ import annotations

from dpcli.words.base import Page, Use

PAGES: tuple[Page, ...] = (
    Page(
        "unit",
        "key",
        "Who is protected. `row` protects each row by itself, which is right only if nobody has "
        "two. With a column of ids a person is protected with all rows, of which at most "
        "`max_rows` are used.",
        "row, or {column: ID, max_rows: N, max_groups: N, max_rows_per_group: N}",
        "unit: {column: person_id, max_rows: 3, max_groups: 2}",
        "The spec is refused.",
        ("max_rows", "max_groups", "id", "neighbors"),
        (Use(("privacy",), "Who is protected: `row`, right only if nobody has two rows."),),
    ),
    Page(
        "max_rows",
        "key",
        "Of each person at most so many rows are used, drawn by lot. Fewer need less noise, and "
        "leave more rows out: choose what is usual for a person, never what is in the file.",
        "a whole number from 1 to 1,000,000",
        "max_rows: 3",
        "A unit of people is refused without it.",
        ("max_groups", "max_rows_per_group", "bound"),
        (Use(("unit",), "At most so many rows of a person are used."),),
    ),
    Page(
        "max_groups",
        "key",
        "A statistic with `by`, `bins` or several cells uses a person's rows in at most so many "
        "groups, drawn by lot.",
        "a whole number from 1 to 1,000,000",
        "max_groups: 2",
        "It is as `max_rows`.",
        ("max_rows", "by"),
        (Use(("unit",), "They lie in at most so many groups; as `max_rows` when absent."),),
    ),
    Page(
        "max_rows_per_group",
        "key",
        "A statistic with groups uses at most so many rows of a person in each of them. With 1, "
        "Gaussian noise grows only with the root of the number of groups.",
        "a whole number from 1 to `max_rows`",
        "max_rows_per_group: 1",
        "It is as `max_rows`.",
        ("max_rows", "max_groups"),
        (Use(("unit",), "At most so many lie in one group; as `max_rows` when absent."),),
    ),
    Page(
        "neighbors",
        "key",
        "Which two datasets nobody can tell apart. `add-remove`: with and without one row (or "
        "person), so that nobody learns whether somebody is in the file. `change-one`: with one "
        "row (or person) replaced by another; the number of rows, or of people, is then public.",
        "add-remove, change-one",
        "neighbors: add-remove",
        "The spec is refused.",
        ("unit", "epsilon"),
        (
            Use(
                ("privacy",),
                "How neighbours differ; with change-one the number of rows, or of people, is "
                "public.",
            ),
        ),
    ),
    Page(
        "budget",
        "key",
        "The most that all releases from the dataset may reveal together, not each of them. The "
        "ledger keeps account. What was spent never comes back, and the budget of an account is "
        "never raised: when it is spent, no more is released.",
        "{epsilon: E}, {epsilon: E, delta: D}, or {rho: R, delta: D} with `composition: zcdp`; "
        "epsilon up to 1,000",
        "budget: {epsilon: 2, delta: 1e-6}",
        "The spec is refused.",
        ("epsilon", "delta", "composition", "ledger", "privacy"),
        (Use(("privacy",), "The most that all releases from the dataset may reveal together."),),
    ),
    Page(
        "composition",
        "key",
        "How the losses of several answers add up to what the budget pays. `sequential` adds "
        "epsilons and deltas. The others pay off when there are many answers, and need a delta "
        "in the budget. `dpcli plan SPEC --compare` shows what each would cost.",
        "sequential, advanced, zcdp, pld",
        "composition: zcdp",
        "It is sequential.",
        ("sequential", "advanced", "zcdp", "pld", "budget"),
        (Use(("privacy",), "How the losses of answers add up; `sequential` when absent."),),
    ),
)
"""The privacy section, from top to bottom."""

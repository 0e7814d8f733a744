"""Error codes of entries about people: their totals, and private keys."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "rows-are-people",
        "spec",
        "People are protected, who may have several rows each, and the rows are called people. "
        "A count of rows would be read as a count of people.",
        "unit: {column: person, max_rows: 3}\nrows_are: people",
        "Write what one row is, such as `rows_are: visits`.",
    ),
    Code(
        "unknown-bound",
        "spec",
        "What a person adds is bounded by `rows`, which limits their rows, or by `sum`, which "
        "adds them all up and clamps the total.",
        "bound: total",
        "Write `bound: rows` or `bound: sum`.",
    ),
    Code(
        "bound-not-taken",
        "spec",
        "The statistic is made of the rows that are kept; only sums and counts of a person's "
        "rows can be clamped as a whole.",
        "unit: {column: person, max_rows: 3}\n"
        "statistics:\n"
        "  - {name: m, statistic: mean, column: age, bound: sum, unit_bounds: [0, 300], "
        "epsilon: 0.1}",
        "Remove `bound`, or ask for a `sum` or a `count`.",
    ),
    Code(
        "bound-needs-person",
        "spec",
        "With `unit: row` every row is protected by itself: there is nothing to add up.",
        "unit: row\n"
        "statistics:\n"
        "  - {name: s, statistic: sum, column: age, bound: sum, unit_bounds: [0, 300], "
        "epsilon: 0.1}",
        "Remove `bound`, or protect people: `unit: {column: person, max_rows: 3}`.",
    ),
    Code(
        "bound-required",
        "spec",
        "`unit_bounds` are given without saying whether they are used.",
        "{statistic: sum, column: income, unit_bounds: [0, 500]}",
        "Add `bound: sum` to use them, or `bound: rows` to compare both in the plan.",
    ),
    Code(
        "unit-bounds-required",
        "spec",
        "A person's rows are added up, and nothing says how much that can be.",
        "unit: {column: person, max_rows: 3}\n"
        "statistics:\n"
        "  - {name: s, statistic: sum, column: income, bound: sum, epsilon: 0.1}",
        "Add `unit_bounds: [0, 5000]` or so: public facts, in the unit of the column.",
    ),
    Code(
        "nobody-to-count",
        "spec",
        "`count_distinct` without a column counts people, and nothing says whose rows they are.",
        "unit: row\nstatistics:\n  - {name: n, statistic: count_distinct, epsilon: 0.1}",
        "Name a column, as in `column: age`, or protect people: `unit: {column: person, "
        "max_rows: 3}`.",
    ),
    Code(
        "unknown-keys",
        "spec",
        "`keys` says that groups are private; there is no other kind.",
        "{statistic: count, by: [city], keys: public, epsilon: 0.1, delta: 1e-7}",
        "Write `keys: private`, or leave it out.",
    ),
    Code(
        "keys-not-taken",
        "spec",
        "Groups are selected by how many rows or people they have; this entry counts neither.",
        "{statistic: mean, column: age, by: [city], keys: private, epsilon: 0.1, delta: 1e-7}",
        "Let a count of the same `by` select the groups, which all entries share: "
        "`{statistic: count, by: [city], keys: private}`.",
    ),
    Code(
        "keys-declared",
        "spec",
        "The groups are declared, hence public; all of them are released, empty ones too.",
        "{statistic: count, by: [sex], keys: private, epsilon: 0.1, delta: 1e-7}",
        "Remove `keys` (and the delta): `{statistic: count, by: [sex]}`.",
    ),
    Code(
        "keys-twice",
        "spec",
        "Two entries select the same groups; one selection serves all entries.",
        "statistics:\n"
        "  - {name: a, statistic: count, by: [city], keys: private, epsilon: 0.1, delta: "
        "1e-7}\n"
        "  - {name: b, statistic: count, by: [city], keys: private, epsilon: 0.1, delta: "
        "1e-7}",
        "Remove `keys` from one of them.",
    ),
    Code(
        "keys-required",
        "spec",
        "Groups of a column without declared values are private: which of them exist may only "
        "be told by noisy counts that pass a threshold.",
        "{statistic: mean, column: income, by: [city]}",
        "Declare the values of `city`, or add a count that selects the groups: `{name: n, "
        "statistic: count, by: [city], keys: private, epsilon: 0.5, delta: 1e-7}`.",
    ),
)

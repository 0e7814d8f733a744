"""Words of the local model."""

from __future__ import annotations

from dpcli.reference import Page, Use

PAGES: tuple[Page, ...] = (
    Page(
        "responses",
        "key",
        "How every record responds: one entry for each column that is randomized. What a record "
        "reveals by all of them together is bounded by the budget.",
        "a list of {column: NAME, mechanism: NAME, and a price}",
        "responses: [{column: smoker, mechanism: randomized_response, epsilon: 1}]",
        "A spec with `model: local` is refused; others have none.",
        ("model", "public", "probability", "matrix"),
        (Use(("spec",), "Local model: one entry for each randomized column."),),
    ),
    Page(
        "public",
        "key",
        "Columns that are collected as they are. They are not protected at all.",
        "a list of declared columns",
        "public: [region]",
        "No column is; all that is neither randomized nor public is dropped.",
        ("responses", "model"),
        (
            Use(
                ("spec",),
                "Local model: columns that are published as they are; all others are dropped.",
            ),
        ),
    ),
    Page(
        "probability",
        "key",
        "The probability that a record gives its true answer, instead of `epsilon`. Three in "
        "four is the survey with two coins; its epsilon is ln 3.",
        "a decimal or a fraction from 0 to 1",
        "probability: 3/4",
        "`epsilon` must be there.",
        ("randomized_response", "generalized_randomized_response", "epsilon"),
        (Use(("response",), "That of the true answer, such as `3/4`, instead of `epsilon`."),),
    ),
    Page(
        "matrix",
        "key",
        "For each label the probabilities of outputs, for `mechanism: matrix`; its epsilon is "
        "computed. `dpcli local epsilon` tells that of a table in a file.",
        "a mapping from label to {output: probability}, or the name of a CSV file",
        "matrix: {no: {no: 3/4, yes: 1/4}, yes: {no: 1/4, yes: 3/4}}",
        "`mechanism: matrix` is refused; no other one takes it.",
        ("responses", "probability"),
        (Use(("response",), "For each label the probabilities of outputs, or a CSV file."),),
    ),
)
"""Keys that only specs with `model: local` have."""

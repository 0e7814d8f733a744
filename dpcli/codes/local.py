"""Error codes of the local model: its specs, its tables, its collections."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "no-responses",
        "spec",
        "A spec of the local model randomizes nothing.",
        "responses: []",
        "Add an entry for each column to collect: `- {column: smoker, mechanism: "
        "randomized_response, epsilon: 1}`.",
    ),
    Code(
        "missing-constant",
        "spec",
        "In the local model every record must respond, also one whose cell is missing or cannot "
        "be read: a blank response would tell that there is nothing. So the column must say what "
        "such a cell counts as.",
        'model: local\ncolumns: {smoker: {type: boolean, values: ["no", "yes"]}}',
        "Add `missing: false` or so to the column; a category can have a label of its own, "
        "such as `unknown`.",
    ),
    Code(
        "cannot-randomize",
        "spec",
        "The mechanism cannot protect or tell what it is asked for: a table with an infinite "
        "epsilon, a probability that makes all answers equally likely, a column with one label.",
        "{column: smoker, mechanism: randomized_response, probability: 0.5}",
        "Give what can be randomized, as the hint says: `probability: 0.75`.",
    ),
    Code(
        "not-a-probability",
        "spec",
        "Something that should be a probability is none: a decimal or a fraction from 0 to 1.",
        "probability: 75 %",
        "Write `probability: 0.75` or `probability: 3/4`.",
    ),
    Code(
        "row-sum",
        "spec",
        "The probabilities of one input do not sum to one, exactly.",
        "column: smoker\n"
        "mechanism: matrix\n"
        "matrix:\n"
        "  false: {no: 0.33, maybe: 0.33, yes: 0.33}\n"
        "  true: {no: 0.2, maybe: 0.3, yes: 0.5}",
        "Correct them; thirds are written `1/3`.",
    ),
    Code(
        "table-form",
        "spec",
        "A file does not have the form of a table of probabilities: a line of outputs, then a "
        "line for each input with as many probabilities.",
        "a CSV file `coins.csv` whose second line has one probability, and its first two outputs",
        "Write one probability for each output in each row, 0 where it is impossible: "
        "`yes,3/4,1/4`.",
    ),
    Code(
        "table-labels",
        "spec",
        "The rows of a table are not just the labels of the column that it randomizes.",
        "column: smoker\nmechanism: matrix\nmatrix:\n  true: {yes: 3/4, no: 1/4}",
        "Write one row for each label, here also `false: {yes: 1/4, no: 3/4}`.",
    ),
    Code(
        "table-too-large",
        "spec",
        "A table has more than 10,000 probabilities.",
        "200 labels and 200 outputs",
        "Use `mechanism: generalized_randomized_response` or `mechanism: unary_encoding`.",
    ),
    Code(
        "table-unreadable",
        "spec",
        "The file that holds a table of probabilities cannot be read.",
        "{column: smoker, mechanism: matrix, matrix: missing.csv}",
        "Name a CSV file by its path from the folder of the spec: `matrix: coins.csv`.",
    ),
    Code(
        "by-not-public",
        "spec",
        "Estimates are asked for groups of a column that is not collected as it is.",
        "model: local\n"
        "responses:\n"
        "  - {column: smoker, mechanism: randomized_response, epsilon: 1, by: [age]}",
        "Declare it as `public: [age]` if it is public, or leave it out of `by`.",
    ),
    Code(
        "collected-twice",
        "spec",
        "Two columns of the collection would have the same name.",
        "model: local\n"
        "columns:\n"
        "  a: {type: category, values: [b, c, d], missing: b}\n"
        '  "a=b": {type: boolean, missing: false}\n'
        "responses:\n"
        "  - {column: a, mechanism: unary_encoding, epsilon: 1}\n"
        '  - {column: "a=b", mechanism: randomized_response, epsilon: 1}',
        "Map the label to another one, or rename a column.",
    ),
    Code(
        "local-unit",
        "spec",
        "In the local model each record is protected by itself; limits on the records of a person "
        "would need somebody who sees all of them.",
        "model: local\nunit: {column: person, max_rows: 3}",
        "Write `unit: row`, and count for yourself how many records one person has at most.",
    ),
    Code(
        "local-neighbors",
        "spec",
        "In the local model every record responds, so that nothing hides whether it is there.",
        "model: local\nneighbors: add-remove",
        "Write `neighbors: change-one`.",
    ),
    Code(
        "wrong-model",
        "spec",
        "The spec is right, but for the other model of privacy: central (a release of "
        "statistics) or local (records that are randomized one by one).",
        "dpcli release specs/local-survey.yaml people.csv",
        "Use the command that the hint names: `dpcli local randomize "
        "specs/local-survey.yaml people.csv`.",
    ),
    Code(
        "responses-gone",
        "ledger",
        "A collection of that id was charged and published before. The ledger keeps a digest of "
        "its responses, not the responses, and no file with that digest is where it is looked "
        "for.",
        "dpcli local randomize SPEC DATA -o b.csv --release-id day-1   (a.csv is gone)",
        "Name the file by -o, or make and pay for new responses under another id.",
    ),
    Code(
        "responses-not-stored",
        "ledger",
        "Responses of single records are not kept in the ledger, so that it cannot publish "
        "them again.",
        "dpcli ledger export day-1 -o collected.csv   (of a local collection)",
        "Keep the file of the responses; for its report alone: `dpcli ledger export day-1 "
        "--report day.json`.",
    ),
    Code(
        "shuffle-delta",
        "usage",
        "What shuffling adds holds up to a delta above zero, and none was given.",
        "dpcli plan local.yaml --shuffle 100000   (and `budget: {epsilon: 1}` has no delta)",
        "Add `--delta 1e-6` or so.",
    ),
    Code(
        "shuffle-pure",
        "usage",
        "The closed-form bound for shuffling is proven for responses without a delta.",
        "dpcli plan local.yaml --shuffle 100000   (with a response by `mechanism: gaussian`)",
        "Use `mechanism: laplace`, or leave --shuffle out.",
    ),
    Code(
        "bad-scale",
        "usage",
        "A scale and two bounds do not describe noise on a bounded number.",
        "dpcli local epsilon --scale 0 --bounds 18 100",
        "Give a scale above zero, and the lower bound first: `--scale 3 --bounds 18 100`.",
    ),
)

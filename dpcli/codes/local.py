"""Error codes of the local model: its specs, its tables, its collections."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "no-responses",
        "spec",
        "A spec of the local model randomizes nothing.",
        "responses: []",
        "Add an entry for each column that is to be collected.",
    ),
    Code(
        "missing-constant",
        "spec",
        "In the local model every record must respond, also one whose cell is missing or cannot "
        "be read: a blank response would tell that there is nothing. So the column must say what "
        "such a cell counts as.",
        "smoker: {type: boolean, values: [no, yes]}",
        "Add `missing: LABEL` to the column, perhaps with a label of its own such as `unknown`.",
    ),
    Code(
        "cannot-randomize",
        "spec",
        "The mechanism cannot protect or tell what it is asked for: a table with an infinite "
        "epsilon, a probability that makes all answers equally likely, a column with one label.",
        "{column: smoker, mechanism: randomized_response, probability: 0.5}",
        "Do as the hint says.",
    ),
    Code(
        "not-a-probability",
        "spec",
        "Something that should be a probability is none: a decimal or a fraction from 0 to 1.",
        "probability: 75 %",
        "Write `0.75` or `3/4`.",
    ),
    Code(
        "row-sum",
        "spec",
        "The probabilities of one input do not sum to one, exactly.",
        "yes: {yes: 0.33, no: 0.33, maybe: 0.33}",
        "Correct them; thirds are written `1/3`.",
    ),
    Code(
        "table-form",
        "spec",
        "A file does not have the form of a table of probabilities: a line of outputs, then a "
        "line for each input with as many probabilities.",
        "a row with a probability too few",
        "Write one probability for each output in each row, 0 where it is impossible.",
    ),
    Code(
        "table-labels",
        "spec",
        "The rows of a table are not just the labels of the column that it randomizes.",
        "matrix: {yes: {yes: 1}} for a column with the labels yes and no",
        "Write one row for each label.",
    ),
    Code(
        "table-too-large",
        "spec",
        "A table has more than 10,000 probabilities.",
        "200 labels and 200 outputs",
        "Use `generalized_randomized_response` or `unary_encoding`.",
    ),
    Code(
        "table-unreadable",
        "spec",
        "The file that holds a table of probabilities cannot be read.",
        "matrix: missing.csv",
        "Name a CSV file by its path from the folder of the spec.",
    ),
    Code(
        "by-not-public",
        "spec",
        "Estimates are asked for groups of a column that is not collected as it is.",
        "{column: smoker, ..., by: [age]} where age is not public",
        "Declare the column under `public:` if it is, or leave it out of `by`.",
    ),
    Code(
        "collected-twice",
        "spec",
        "Two columns of the collection would have the same name.",
        "unary encoding of `a` with the label b, beside a column called `a=b`",
        "Map the label to another one, or rename a column.",
    ),
    Code(
        "local-unit",
        "spec",
        "In the local model each record is protected by itself; limits on the records of a person "
        "would need somebody who sees all of them.",
        "unit: {column: person_id, max_rows: 3} with model: local",
        "Write `unit: row`, and count for yourself how many records one person has at most.",
    ),
    Code(
        "local-neighbors",
        "spec",
        "In the local model every record responds, so that nothing hides whether it is there.",
        "neighbors: add-remove with model: local",
        "Write `neighbors: change-one`.",
    ),
    Code(
        "wrong-model",
        "spec",
        "The spec is right, but for the other model of privacy: central (a release of "
        "statistics) or local (records that are randomized one by one).",
        "dpcli release local-survey.yaml people.csv",
        "Use the command that the hint names.",
    ),
    Code(
        "responses-gone",
        "ledger",
        "A collection of that id was charged and published before. The ledger keeps a digest of "
        "its responses, not the responses, and no file with that digest is where it is looked "
        "for.",
        "the same --release-id again after the file was moved",
        "Name the file by -o, or make and pay for new responses under another id.",
    ),
    Code(
        "responses-not-stored",
        "ledger",
        "Responses of single records are not kept in the ledger, so that it cannot publish "
        "them again.",
        "dpcli ledger export ID -o collected.csv of a local collection",
        "Keep the file; its reports can be exported by --report.",
    ),
    Code(
        "shuffle-delta",
        "usage",
        "What shuffling adds holds up to a delta above zero, and none was given.",
        "dpcli plan local.yaml --shuffle 100000 with budget: {epsilon: 1}",
        "Add `--delta 1e-6` or so.",
    ),
    Code(
        "shuffle-pure",
        "usage",
        "The closed-form bound for shuffling is proven for responses without a delta.",
        "--shuffle with a gaussian response",
        "Use laplace noise, or leave --shuffle out.",
    ),
    Code(
        "bad-scale",
        "usage",
        "A scale and two bounds do not describe noise on a bounded number.",
        "dpcli local epsilon --scale 0 --bounds 18 100",
        "Give a scale above zero, and the lower bound first.",
    ),
)

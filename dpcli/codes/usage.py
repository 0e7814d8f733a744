"""Error codes of command lines."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "bad-option",
        "usage",
        "An option was given that has no use beside the other words.",
        "dpcli explain count --epsilon 1",
        "Leave it out; `dpcli explain privacy` takes `--epsilon` and `--delta`.",
    ),
    Code(
        "terminal-required",
        "usage",
        "`dpcli check --cells` shows exact facts about the records, for the operator's eyes "
        "alone. It refuses to write them to a file or a pipe, where logs would keep them.",
        "dpcli check spec.yaml data.csv --cells > cells.txt",
        "Run it on a terminal. In scripts, declare `quality:` in the spec: its counts are noisy "
        "and charged, and safe to keep.",
    ),
    Code(
        "nothing-to-compare",
        "usage",
        "`--fail-on-weaker` needs an older spec to compare with.",
        "dpcli plan spec.yaml --fail-on-weaker",
        "Name the older spec by `--diff OLD.yaml`.",
    ),
    Code(
        "simulation-unreadable",
        "usage",
        "The file that `--simulation` names cannot be read, or holds no findings of "
        "`dpcli simulate`.",
        "dpcli release spec.yaml data.csv --simulation notes.txt",
        "Make it by `dpcli simulate spec.yaml --rows 3000 --into spec.simulation.json`.",
    ),
    Code(
        "simulation-of-another-spec",
        "usage",
        "The findings are about another spec, or about an older text of this one: any change of "
        "the spec changes its digest.",
        "dpcli release new.yaml data.csv --simulation old.simulation.json",
        "Simulate the spec that is released: `dpcli simulate new.yaml --rows 3000 --into FILE`.",
    ),
    Code(
        "output-is-input",
        "usage",
        "An output has the name of the spec or of the data file.",
        "dpcli release spec.yaml data.csv -o data.csv",
        "Name another file for the output.",
    ),
    Code(
        "output-twice",
        "usage",
        "Two outputs have the same name.",
        "dpcli release spec.yaml data.csv -o out.json --report out.json",
        "Give every output a name of its own.",
    ),
    Code(
        "output-folder",
        "usage",
        "An output is a folder, or lies in one that does not exist.",
        "dpcli release spec.yaml data.csv -o results/2026/out.csv   (no such folder)",
        "Make the folder first: `mkdir -p results/2026`.",
    ),
    Code(
        "output-exists",
        "usage",
        "An output exists already, and is not replaced unless that is asked for.",
        "dpcli release spec.yaml data.csv -o noisy.csv   (a second time)",
        "Use --force, or name another file.",
    ),
    Code(
        "report-format",
        "usage",
        "The name of a report does not end in a known format.",
        "dpcli release spec.yaml data.csv --report report.txt",
        "End the name in .json, .md, .html or .yaml, or add --format.",
    ),
    Code(
        "number-beyond-limits",
        "usage",
        "An option takes a whole number, and not every one makes sense.",
        "dpcli simulate spec.yaml --rows 0",
        "Use a number within the limits that the message names.",
    ),
    Code(
        "dummy-names",
        "usage",
        "A dummy file is written as the section `csv` of the spec says, and the name of a column "
        "holds the delimiter where there are no quotes, or a letter that the encoding lacks.",
        'dpcli simulate spec.yaml --rows 9 --dummy d.csv   (csv: {quote: none}, a column "a,b")',
        "Correct `csv:` or the name of the column, or leave --dummy out.",
    ),
    Code(
        "simulate-local",
        "usage",
        "`dpcli simulate` tries out specs of the central model. Errors of the local model have a "
        "simple law, which `dpcli plan` tells.",
        "dpcli simulate specs/local-survey.yaml --rows 3000",
        "Ask `dpcli plan SPEC --records N` for the standard errors.",
    ),
    Code(
        "unknown-word",
        "usage",
        "`dpcli explain` knows error codes, statistics, mechanisms and compositions.",
        "dpcli explain averge",
        "Check the spelling; `dpcli explain` without a word lists all words.",
    ),
    Code(
        "no-answer",
        "usage",
        "`dpcli init --ask` needs answers, and standard input ended, or had only wrong ones. "
        "Nothing was written.",
        "dpcli init data.csv --ask < /dev/null",
        "Run it in a terminal, or pipe in an answer per line: `dpcli init data.csv --ask "
        "< answers.txt`.",
    ),
    Code(
        "not-a-day",
        "usage",
        "A period is the day that the data are about.",
        "dpcli release spec.yaml data.csv --period yesterday",
        "Write it as YYYY-MM-DD: `--period 2026-11-21`.",
    ),
    Code(
        "bad-release-id",
        "usage",
        "The id of a release is a plain word, so that files and scripts can carry it.",
        'dpcli release spec.yaml data.csv --release-id "my release"',
        "Use up to 100 letters, digits, `.`, `_`, `:` and `-`: `--release-id my-release`.",
    ),
    Code(
        "bad-dataset",
        "usage",
        "The name of a dataset has characters that a spec does not allow.",
        'dpcli ledger open "my data" --epsilon 1',
        "Use up to 100 letters, digits, `.`, `_` and `-`: `dpcli ledger open my-data --epsilon 1`.",
    ),
    Code(
        "not-a-report",
        "usage",
        "A file that is to be compared with the ledger is no report in JSON.",
        "dpcli ledger verify --against noisy.csv",
        "Name reports as `dpcli release --report NAME.json` writes them.",
    ),
    Code(
        "bad-unit",
        "usage",
        "The unit of an account is `row`, or the column of the people's ids.",
        "dpcli ledger open town --epsilon 1 --unit row --each",
        "Write --unit COLUMN, with --each if rows without an id are people of their own.",
    ),
    Code(
        "bad-budget",
        "usage",
        "A budget is an epsilon from 1e-12 to 1000 and a delta from 0 to below 1, as decimals.",
        "dpcli ledger open town --epsilon 1,5",
        "Write a decimal point, and no other signs: `--epsilon 1.5`.",
    ),
)

"""Words of the command line."""

from __future__ import annotations

from dpcli.words.base import Page

PAGES: tuple[Page, ...] = (
    Page(
        "release-id",
        "command line",
        "The name of a release. The same id again publishes the same bytes and charges nothing, "
        "whatever the data now hold; so a job that is retried pays once. The same id with "
        "another spec is refused.",
        "up to 100 letters, digits, `.`, `_`, `:` and `-`, a letter or digit first",
        'dpcli release spec.yaml data.csv --release-id "$(date +%F)"',
        "A random id, which the summary tells.",
        ("ledger", "exit", "release-id-taken"),
    ),
    Page(
        "ledger",
        "command line",
        "The file that remembers what every dataset has spent, and the bytes of every release. "
        "It is charged before anything is written. Nothing is ever refunded, and entries are "
        "chained so that changes show. Keep it on a local disk, and never delete it to spend "
        "again: a new one is announced, and `ledger: must-exist` in the spec, or the variable "
        "DPCLI_LEDGER_MUST_EXIST=1, forbids it. It also remembers the paths of the data files, so "
        "that two accounts for one file are noticed. After a lost disk, `dpcli ledger recover "
        "--from REPORT...` charges a restored or a new ledger what published reports prove.",
        "--ledger PATH or the variable DPCLI_LEDGER; the file must exist (`dpcli ledger init`)",
        "dpcli ledger show --spec specs/town.yaml",
        "dpcli-ledger.sqlite next to the spec, made at the first release.",
        ("dataset", "budget", "release-id", "account-exhausted"),
    ),
    Page(
        "flag",
        "command line",
        "The last column of a table, and a key of each number in JSON: what a reader must know. "
        "`unreliable`: half the width of the interval is more than 0.5 of the value, which at 95% "
        "confidence is a coefficient of variation of about 25%. Official statistics mark such "
        "numbers as well: the Australian Bureau of Statistics from 25%, Statistics Canada from "
        "16.6%. "
        "`no-information`: the interval covers all that is possible, such as the whole bounds of a "
        "mean. `suppressed`: left out by `suppress_below` or `withhold`. A flag is computed from "
        "the published numbers alone. A number near zero is unreliable however small its error "
        "is: judge differences, correlations and slopes by their interval.",
        "empty, unreliable, no-information, suppressed",
        "dpcli release spec.yaml data.csv -q | cut -d, -f4-7",
        "The wide layout has no flags: what is suppressed is blank there. The summary writes `*`, "
        "`**` and `x` behind values.",
        ("withhold", "wider_than", "suppress_below", "confidence", "error"),
    ),
    Page(
        "exit",
        "command line",
        "The exit status says who has to act, so that scripts can: "
        "0 done; 1 a fault of dpcli's own; 2 the command line is wrong; 3 the spec is wrong or "
        "impossible; 4 the data file does not fit, never because of a record's value; 5 the "
        "budget refuses; 6 the ledger cannot be used; 7 an output could not be written (what "
        "was charged can be published again at no cost); 128 + n stopped by signal n (130: "
        "Ctrl-C).",
        "",
        'dpcli check SPEC DATA || echo "stopped with status $?"',
        "",
        ("release-id", "ledger"),
    ),
    Page(
        "layout",
        "command line",
        "The form of the noisy table. `long`: one table with the columns statistic, keys, item, "
        "value, lower, upper. `wide`: one table for each different `by`, with the keys first and "
        "a column for each statistic; with -o OUT.csv each is a file of its own.",
        "--layout long, --layout wide",
        "dpcli release spec.yaml data.csv -o noisy.csv --layout wide",
        "It is long.",
        ("by", "confidence"),
    ),
)
"""Options and habits of commands."""

"""Error codes of data files that do not fit a spec."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "data-missing",
        "data",
        "The data file does not exist. Patterns and addresses are not expanded: a name "
        "means one file.",
        "dpcli release spec.yaml data/*.csv   (quoted, or with no match)",
        "Check the path, or join the files first: `dpcli release spec.yaml - < joined.csv`.",
    ),
    Code(
        "data-unreadable",
        "data",
        "The data file cannot be opened, or could not be read to its end. What exactly was "
        "found is not told, because it might be part of a record.",
        "dpcli release spec.yaml folder/   (or a file without read permission)",
        "Check the path, its permissions and the disk: `ls -l data.csv`.",
    ),
    Code(
        "data-not-piped",
        "data",
        "The data file is `-`, but standard input is the keyboard.",
        "dpcli release spec.yaml -",
        "Pipe the data in: `cat data.csv | dpcli release spec.yaml -`.",
    ),
    Code(
        "data-not-gzip",
        "data",
        "The name ends in `.gz`, but the content is not gzip data, or ends too early.",
        "dpcli release spec.yaml data.csv.gz   (which is plain text)",
        "Compress the file, `gzip data.csv`, or drop `.gz` from its name.",
    ),
    Code(
        "data-too-large",
        "data",
        "A compressed file unpacks to more than 64 GiB, which may be a bomb.",
        "dpcli release spec.yaml bomb.csv.gz   (which unpacks without end)",
        "Unpack it yourself, `gunzip data.csv.gz`, and name the plain file.",
    ),
    Code(
        "no-space",
        "data",
        "Standard input and compressed files are copied to a private temporary file while "
        "they are read, and there is no room for it.",
        "gunzip -c big.csv.gz | dpcli release spec.yaml -   (and /tmp is full)",
        "Free space there, or use a folder with room: `TMPDIR=/var/tmp dpcli release ...`.",
    ),
    Code(
        "no-header",
        "data",
        "The file is empty, or its first line names no columns.",
        "dpcli release spec.yaml empty.csv",
        "Write the names of the columns into the first line, with commas between: "
        "`age,sex,income`.",
    ),
    Code(
        "not-csv",
        "data",
        "The first bytes say that the file is something else than CSV text in UTF-8.",
        "dpcli release spec.yaml table.xlsx   (or UTF-16 text, or gzip data without `.gz` "
        "in the name)",
        "Save the table as CSV in UTF-8.",
    ),
    Code(
        "missing-column",
        "data",
        "The spec declares a column that the header does not name. Names are compared to "
        "the letter, spaces and case included.",
        "columns: {Age: {type: integer, bounds: [0, 110]}}   and a header that says `age`",
        "Spell the name as the header does; `dpcli init DATA` lists what it says.",
    ),
    Code(
        "ambiguous-column",
        "data",
        "The header names a declared column more than once, or spells it with other "
        "Unicode characters that look the same.",
        "dpcli check spec.yaml data.csv   (whose header is `age,age`)",
        "Give every column a name of its own, as in `age,age_2`.",
    ),
)

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
        "Check the path; name several files one after the other, without quotes: "
        "`dpcli release spec.yaml january.csv february.csv`.",
    ),
    Code(
        "data-twice",
        "data",
        "Two of the data files are one and the same, perhaps by another name or a link. Every "
        "row of it would count twice, which no plan allows for.",
        "dpcli release spec.yaml data.csv data.csv",
        "Name every file once; standard input, `-`, can be read once too.",
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
        "data-changed",
        "data",
        "The size of a data file, or the time when it was last changed, is another one at the end "
        "of reading than at its beginning. The answers would describe neither version of it, so "
        "that nothing is charged or published.",
        "dpcli release spec.yaml growing.csv   (while another program writes to it)",
        "Name a copy, `cp growing.csv copy.csv`, or run the command again when the file is whole.",
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
        "The name ends in `.gz`, but the content is not gzip data, ends too early, or has other "
        "bytes than zeros behind its last member.",
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
        "Standard input, compressed files and text that is not UTF-8 are copied to a private "
        "temporary file while they are read, and there is no room for it.",
        "gunzip -c big.csv.gz | dpcli release spec.yaml -   (and /tmp is full)",
        "Free space there, or use a folder with room: `TMPDIR=/var/tmp dpcli release ...`.",
    ),
    Code(
        "no-header",
        "data",
        "The file is empty, or its first line names no columns.",
        "dpcli release spec.yaml empty.csv",
        "Write the names of the columns into the first line, or list them in the spec if the file "
        "has no such line: `csv: {names: [age, sex]}`.",
    ),
    Code(
        "not-text",
        "data",
        "The first line holds NUL bytes, or bytes that are no letters in the declared encoding. "
        "No part of it is shown.",
        "dpcli init people.csv   (which is UTF-16 text without a mark, or windows-1252 text)",
        "Give the encoding of the file: `dpcli init people.csv --encoding utf-16`.",
    ),
    Code(
        "not-column-names",
        "data",
        "A spec is drafted from the names in the first line, and this line may be a record: it has "
        "an empty or repeated cell, one that reads as a number, a date, an address or a missing "
        "mark, or it is a single name with a mark in it that separates names elsewhere. No part "
        "of it is shown, because it may be about a person.",
        "dpcli init people.csv   (whose first line is `Anna,34,F`)",
        "If the line is a record: `dpcli init people.csv --no-header`. If it names the columns, "
        "such as the years of a pivot table: `dpcli init people.csv --header`.",
    ),
    Code(
        "not-csv",
        "data",
        "The first bytes say that the file is something else than CSV text in the declared "
        "encoding. Of files without a header line, whose first bytes belong to a record, "
        "nothing of the kind is told.",
        "dpcli release spec.yaml table.xlsx   (or UTF-16 text, or gzip data without `.gz` "
        "in the name)",
        "Save the table as CSV or Parquet, or declare its encoding: `csv: {encoding: utf-16}`.",
    ),
    Code(
        "not-parquet",
        "data",
        "The name of the file or its first bytes say Parquet, but it cannot be read as such: it "
        "is damaged, cut off or encrypted. What exactly was found is not told, because it "
        "might be part of a record.",
        "dpcli release spec.yaml data.parquet   (which holds CSV text)",
        "Write the file anew, without encryption; give CSV text another name.",
    ),
    Code(
        "column-type",
        "data",
        "A declared column of a Parquet file holds lists, structures, bytes or times of day, "
        "of which no single number or text can be made; or ids are numbers with decimals, so "
        "that 7.0 in one file and 7 in another would be taken for two people.",
        "dpcli release spec.yaml people.parquet   (whose ids are floats)",
        "Write the column with a plain type: a number, text, date, date and time, or boolean.",
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
        "quality-failed",
        "data",
        "The noisy counts of the quality check miss a minimum of `quality:` by more than the "
        "noise explains: the file is incomplete, or the cells of a column are not written as the "
        "spec declares. No statistic was answered, no table was written, and only the loss of the "
        "check was charged. The exit status is 8. The same --release-id gives the same answer.",
        "dpcli release spec.yaml data.csv   (dates are written 1/12/2010, or the upload broke off)",
        "See which columns cannot be read with `dpcli check SPEC DATA --cells`, correct the spec "
        "or the file, and release it under a new --release-id.",
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

"""Words for how data files are written."""

from __future__ import annotations

from dpcli.reference import Page, Use

PAGES: tuple[Page, ...] = (
    Page(
        "csv",
        "key",
        "How the CSV files are written, where that is not the usual way. Nothing is guessed from a "
        "file: what is not said here is as RFC 4180 has it. Parquet files need none of it.",
        "a mapping with delimiter, quote, encoding, names, decimal or multiline",
        'csv: {delimiter: ";", decimal: ",", encoding: windows-1252}',
        "Commas between cells (tabs in .tsv files), double quotes around them, UTF-8, a header "
        "line, decimal points.",
        ("delimiter", "encoding", "names", "decimal", "multiline"),
        (Use(("spec",), "How the CSV files are written; as RFC 4180 has it when absent."),),
    ),
    Page(
        "delimiter",
        "key",
        "What stands between the cells of a line.",
        "one mark that is no letter or digit, in quotes; or the word tab",
        'delimiter: ";"',
        "A tab in files named .tsv, .tab, .tsv.gz or .tab.gz, a comma in all others.",
        ("csv", "quote"),
        (Use(("csv",), "What stands between cells; `,` when absent, a tab in .tsv files."),),
    ),
    Page(
        "quote",
        "key",
        "What stands around a cell that holds the delimiter or the end of a line, and is doubled "
        "within it.",
        "one mark, in quotes; or none, if quotes mean nothing in the file",
        "quote: none",
        "A double quote.",
        ("csv", "delimiter"),
        (Use(("csv",), "What stands around cells, or `none`; a double quote when absent."),),
    ),
    Page(
        "encoding",
        "key",
        "How letters are written in bytes. Bytes that it does not have stand for no letter, and "
        "change only the cell that they are in. The mark before a header line tells the two kinds "
        "of utf-16 apart; without a header line (`names`) it is utf-16le.",
        "utf-8, utf-16, iso-8859-1 and others, windows-1252 and others, shift_jis, gb18030 ...",
        "encoding: windows-1252",
        "UTF-8.",
        ("csv",),
        (Use(("csv",), "Of the text; `utf-8` when absent."),),
    ),
    Page(
        "names",
        "key",
        "The columns of files that have no header line, all of them, in their order. Without it "
        "the first line names the columns.",
        "a list of different names",
        "names: [person, age, sex]",
        "The first line of each file names its columns.",
        ("csv", "columns"),
        (Use(("csv",), "The columns, in order, of files that have no header line."),),
    ),
    Page(
        "decimal",
        "key",
        "What stands before the decimals of a number. With a comma, a number with a point in it "
        "is missing: nobody could tell thousands from decimals.",
        '"." or ","; not the delimiter',
        'decimal: ","',
        "A point.",
        ("csv", "number"),
        (Use(("csv",), "What stands before decimals; `.` when absent."),),
    ),
    Page(
        "multiline",
        "key",
        "Whether a quoted cell may have line ends in it. With `false`, every line is one record: a "
        "line in which a quote is not closed is a row all of whose cells are missing, and changes "
        "no other row. With `true`, an open quote swallows the lines behind it, so that one "
        "record decides how many rows the file has. Every file without line ends in its cells "
        "can be declared `false`, and is then read at the same speed.",
        "true or false",
        "multiline: false",
        "true. `dpcli init` drafts `multiline: false`.",
        ("csv", "quote"),
        (Use(("csv",), "Whether cells may have line ends in them; `true` when absent."),),
    ),
)

"""Reports and tables of a release, rendered to bytes.

`release`, `collection` and `plan` have the types of what is stated, and how each is made, with
`statistic`, `privacy` and `first_counts` for its parts. `report.Report` holds what is stated and
the published `numbers`, and is stored as JSON. All other outputs are made from it:
`table` (CSV and Parquet), `render` with `charts` (HTML, Markdown and the registry record), and
`formats` (the list of formats).

Reports depend on the spec, the released numbers, the version, the ledger entry, and the name and
date of the release; on nothing else. Open `report.py` first.
"""

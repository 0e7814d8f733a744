"""Fields of a spec: texts with places, types that parse them, their problems.

`values` has types of single fields, and how numbers are written; `statistic_fields` has types of
fields that name columns, which statistics declare too. `tree` has the nodes of a spec with
their places and collects problems. `section` is the base of models of mappings: it reports what is
wrong in one. `json` writes types as JSON and reads them.
"""

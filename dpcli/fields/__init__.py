"""Fields of a spec: texts with places, types that parse them, their problems.

`values` has types of single fields, `columns` types of fields that name columns, which statistics
declare too, and `numbers` how numbers are written. `tree` has the nodes of a spec with their places
and collects problems. `section` is the base of models of mappings: it reports what is wrong in one.
"""

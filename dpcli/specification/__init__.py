"""Reads the text of a spec: a checked spec, or all problems with places.

Read `load` first: it calls `yaml_reader`, which makes a tree of nodes (`dpcli.fields.tree`), and
reads the document: `SpecModel` has a field for each section, whose model knows its node
(`dpcli.fields.section`). What was read is resolved by the module of each section, with the names of
columns in a `SpecContext`. The result is a `CentralSpec` or a `LocalSpec` (`model`), exact and
complete: planning needs nothing else. `schema` generates the JSON Schema from the same models, and
`draft` writes the first spec for a data file.
"""

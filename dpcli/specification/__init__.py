"""Reads the text of a spec: returns a checked spec, or reports all problems.

Read `load` first. It calls `yaml_reader`, which makes a tree of nodes (`dpcli.fields.tree`). A
`SpecModel` reads the tree: it has a field for each section, and the model of a section knows its
node (`dpcli.fields.section`). The module of each section resolves this model; it finds columns by
name in a `SpecContext`. The result is a `CentralSpec` or a `LocalSpec` (`model`), exact and
complete: planning needs nothing else. `schema` generates the JSON Schema from the same models, and
`draft` writes the first spec for a data file.
"""

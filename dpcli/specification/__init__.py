"""Reads the text of a spec: a checked spec, or all problems with places.

Read `load` first: it calls `yaml_reader`, which makes a tree of nodes (`dpcli.fields.tree`), and
then one module for each section of the spec. A mapping is read once, by a model that knows its node
(`dpcli.fields.section`). Names of columns are resolved in a `SpecContext`. The result is a
`CentralSpec` or a `LocalSpec` (`model`), exact and complete: planning needs nothing else. `schema`
generates the JSON Schema from the same models, and `draft` writes the first spec for a data file.
"""

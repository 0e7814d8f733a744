"""From the text of a spec to a `Spec`; `load` is the entrance."""

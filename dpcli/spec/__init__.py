"""From the text of a spec to what it says; `dpcli.spec.load` is the entrance."""

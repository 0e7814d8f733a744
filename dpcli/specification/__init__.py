"""From the text of a spec to what it says; `dpcli.specification.load` is the entrance."""

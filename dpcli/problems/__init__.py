"""Errors with place and hint, their texts, and the pages of `dpcli explain`.

`errors` has the errors, `messages` fills the templates of `codes/`, `diagnostics` renders a problem
with its source line, and `reference` reads every data file here.
"""

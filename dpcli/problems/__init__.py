"""Errors with place and hint, their texts, and the pages of `dpcli explain`.

`errors` has the errors and renders a problem with its source line, `messages` fills the templates
of `codes/`, and `reference` reads every data file here.
"""

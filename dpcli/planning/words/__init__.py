"""What is said of plans; the text of a plan and reports print the same sentences.

`guarantee` has what is promised and what is not, `statistics` what is computed, `data` what is used
and left out, `choices` and `quality` what comes before, `risks` what people must judge. They load
where they are printed.
"""

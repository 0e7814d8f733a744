"""Queries as data: what each row, or each user, adds to which cell.

`query` has the base class, sums and users by their rows; `scores` what choices are made from;
`of_numbers` what is made of the numbers of another query, such as pairs and vectors. Other
queries lie next to their statistics. Their sensitivities are in `dpcli.privacy`.
"""

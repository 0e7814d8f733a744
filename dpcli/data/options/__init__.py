"""What a column may declare of its cells: a class for each key, listed by the columns that take it.

An option of all columns is in `every.py`, one of texts, numbers or dates in a file with its like.
"""

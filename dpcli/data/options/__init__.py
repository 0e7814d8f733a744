"""What a column may declare about its cells: a class for each key.

A column lists the classes that it takes. Options of all columns are in `every.py`, those of texts,
numbers and dates in a file each.
"""

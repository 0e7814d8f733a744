"""What a spec declares about data: kinds of columns, and the axes of tables.

A column is a class with all that its kind decides: the values that it can have and their texts, how
its cells are written and decoded, and what a spec may ask of it.
"""

"""Values of people: how each follows from all rows of one person.

A value of a person is public: it comes from the spec. It depends on the rows of that person alone,
not on their order: the engine adds up what is kept of a person in any order, over pieces, files and
partials. The value is rounded to the step of its column, then clamped to its bounds.

Privacy: a person has one value, whatever rows they have and however many. So adding or removing a
person, or exchanging all their rows, changes one line of a table with one line for each person, as
a row changes one line of a table of rows; the bounds are declared, or those of the column.

To add a kind, write one class and add one line to `PERSON_VALUES` in `dpcli.data.derived`.
"""

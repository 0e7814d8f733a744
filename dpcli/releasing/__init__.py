"""The transaction of a release: its steps and outputs, and recovery from reports.

Open `transaction` first: a release is one function there.
"""

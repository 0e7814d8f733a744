"""A release: its steps and outputs, and what a published report proves.

Open `transaction` first: `ReleaseTransaction` has the steps of a release.
"""

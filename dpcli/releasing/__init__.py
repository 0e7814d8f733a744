"""A release: its steps and outputs, and what a published report proves.

Open `run` first: `ReleaseRun` has the steps of a release.
"""

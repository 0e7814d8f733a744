"""What is published about a release: tables and privacy reports, as bytes.

Everything here is a function of the spec, the released values, the version and
the release's name and date; it has no access to anything else.
"""

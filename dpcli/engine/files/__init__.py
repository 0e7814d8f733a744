"""The rows of data files as columns of text, for each format of files."""

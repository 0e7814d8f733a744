"""The evidence for the claims of the README and the pages, as a page that can be made again."""

"""`python -m dpcli` is the same as `dpcli`."""

from dpcli.cli.main import main

main()

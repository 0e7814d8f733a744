"""What is typed: one thin file per command, one line each in `dpcli.cli.main`."""

"""What several tests need, imported before numpy: threads are set as by the command."""

import dpcli.cli  # noqa: F401

"""What several tests need. It is imported before numpy, and sets its threads as the command does."""

import dpcli.cli  # noqa: F401

"""Work on records whose errors, warnings and native output show none of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from dpcli.engine.source import Dataset
from dpcli.errors import DataError, Failure, Stopped


@contextmanager
def redacted_errors(dataset: Dataset) -> Iterator[None]:
    """Records may be read within; whatever fails is reported in one fixed sentence.

    DataError `data-unreadable`, or `data-changed` for files that are not what they were when
    they were opened. Our own failures, which quote no record, pass.
    """
    try:
        with silenced_stderr():
            yield
        dataset.require_unchanged()
    except (KeyboardInterrupt, Stopped, Failure):
        raise
    except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
        dataset.require_unchanged()
        # The message of the reader may quote a record, so no part of it may pass.
        raise DataError.about("data-unreadable") from None


@contextmanager
def silenced_stderr() -> Iterator[None]:
    """Send what native code prints, and every warning, to nowhere.

    The environment may turn warnings into errors, and a cell may cause one.
    """
    kept = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)

"""A disk that takes nothing more, in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tracebench_core.errors import RunDirError
from tracebench_core.store.layout import RunLayout


@contextmanager
def disk_errors_explained(layout: RunLayout) -> Iterator[None]:
    """Turn what the file system refuses the runner into one sentence; what was declared finished before stays finished.

    Raises:
        RunDirError: in the place of any `OSError`.
    """
    try:
        yield
    except OSError as err:
        where = err.filename or layout.path
        raise RunDirError(
            f"The run stopped, because `{where}` cannot be used: {err.strerror}. What is finished is kept.",
            hint=f"df -h {layout.path}; trace-bench resume {layout.path}",
        ) from err

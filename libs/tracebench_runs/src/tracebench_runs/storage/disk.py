"""A disk that takes nothing more, in words."""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager

from tracebench_core.errors import RunDirError, quoted
from tracebench_runs.storage.layout import RunLayout

ENOUGH_FILES = 1024
"""Open files that a run of a few workers never needs."""
_LOOK = {
    errno.EFBIG: "ulimit -f unlimited",
    errno.EMFILE: f"ulimit -n {ENOUGH_FILES}",
    errno.ENFILE: "cat /proc/sys/fs/file-nr",
}
"""What mends or shows the cause, where it is not the disk."""


@contextmanager
def disk_errors_explained(layout: RunLayout) -> Iterator[None]:
    """Turn what the file system refuses the runner into one sentence; what was declared finished before stays finished.

    Raises:
        RunDirError: in the place of any `OSError`.
    """
    try:
        yield
    except OSError as err:
        if isinstance(err, BrokenPipeError):
            raise _ended(layout) from err
        where = err.filename or layout.path
        look = _LOOK.get(err.errno or 0, f"df -h {quoted(layout.path)}")
        if not (layout.manifest.exists() or layout.mirror.exists()):
            raise RunDirError(
                f"The run did not begin, because `{where}` cannot be used: {err.strerror}. There is nothing to resume.",
                hint=f"{look}; trace-bench run --config FILE",
            ) from err
        raise RunDirError(
            f"The run stopped, because `{where}` cannot be used: {err.strerror}. What is finished is kept.",
            hint=f"{look}; trace-bench resume {quoted(layout.path)}",
        ) from err


def _ended(layout: RunLayout) -> RunDirError:
    """Return the error for a process of the run that ended under its runner, most often for want of open files."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    is_low = 0 <= most < ENOUGH_FILES
    why = f": only {most} files may be open at once" if is_low else ""
    look = f"ulimit -n {ENOUGH_FILES}" if is_low else "trace-bench doctor"
    return RunDirError(
        f"The run stopped, because one of its processes ended{why}. What is finished is kept.",
        hint=f"{look}; trace-bench resume {quoted(layout.path)}",
    )

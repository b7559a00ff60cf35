"""One runner per run directory, held by the operating system for as long as the runner lives."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from tracebench_core.errors import RunDirError, quoted
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import FLAGS
from tracebench_runs.storage.sharing import open_file

PATIENCE = 5.0
"""Seconds to wait for the leftovers of a holder that is dead: its helpers share the lock until they end."""
_held: set[int] = set()


def lock_fds() -> tuple[int, ...]:
    """Return the descriptors of the locks that this process holds.

    A helper that writes into a run directory is started with them (`pass_fds`): when the runner is killed, the run is free
    once the last of its helpers has ended, too.
    """
    return tuple(_held)


class RunLock:
    """`flock` on `.lock` of a run directory; the file names the holder's pid. A context manager."""

    def __init__(self, run_dir: Path | RunLayout) -> None:
        self._layout = run_dir if isinstance(run_dir, RunLayout) else RunLayout(run_dir)
        self._fd = -1

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            RunDirError: when another live process holds it, and then the message names its pid; or when there is nothing to lock.
        """
        try:
            fd = open_file(self._layout.lock, os.O_RDWR | os.O_CREAT)
        except OSError as err:
            raise RunDirError(f"run directory `{self._layout.path}` cannot be written: {err.strerror}") from err
        try:
            self._wait(fd)
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        _held.add(fd)

    def release(self) -> None:
        """Give the lock back; a helper that is about to end keeps it until then, in nobody's name. Idempotent."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            _held.discard(fd)
            with suppress(OSError):
                os.ftruncate(fd, 0)
            os.close(fd)

    def __enter__(self) -> RunLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _wait(self, fd: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while not _try_lock(fd):
            pid = _holder(fd)
            hint = f"trace-bench show {quoted(self._layout.path)}"
            if pid is not None and _is_alive(pid):
                raise RunDirError(f"run `{self._layout.run_id}` is in use by process {pid}", hint=hint)
            if time.monotonic() >= deadline:
                raise RunDirError(
                    f"run `{self._layout.run_id}` is held by helpers of a runner that is gone; they have not ended after"
                    f" {PATIENCE:g} s",
                    hint=hint,
                )
            time.sleep(0.02)


def holder_of(layout: RunLayout) -> int | None:
    """Return the process that works on a run at present, None when none does. Never waits, and never keeps a runner from starting."""
    try:
        fd = os.open(layout.lock, FLAGS)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(fd)
    except OSError:  # a file system without locks: no runner can hold it
        return None
    finally:
        os.close(fd)
    return None


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as err:
        raise RunDirError(
            f"The file system that holds the run cannot lock files ({err.strerror}), so that two processes could work on one run.",
            hint="trace-bench run … --runs-dir DIR    (a folder on a local disk)",
        ) from err
    return True


def _holder(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).strip()
    return int(text) if text.isdigit() else None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

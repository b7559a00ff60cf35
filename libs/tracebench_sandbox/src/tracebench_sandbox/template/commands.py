"""The inside of a command's process: its own supervisor, which reaps what the command leaves behind, and then the command itself."""

from __future__ import annotations

import errno
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracebench_sandbox.frames import tell_unstarted
from tracebench_sandbox.kernel import namespaces
from tracebench_sandbox.kernel.candidate_root import BOX, CandidateRoot
from tracebench_sandbox.kernel.syscalls import prctl
from tracebench_sandbox.template.lockdown import Lockdown, Request

_SET_CHILD_SUBREAPER, _SET_PDEATHSIG = 36, 1
NOT_STARTED = 127
_OF_A_NAME = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST}
"""Errors that say that no file can be called so, and nothing of the disk."""


def run(
    order: dict[str, Any],
    *,
    box: Path,
    lockdown: Lockdown,
    request: Request,
    apart: bool,
    root: CandidateRoot | None,
    link: int,
) -> None:
    """Replace the calling process by a supervisor of the command in `order`; never returns.

    With `apart` the command lives in namespaces of its own, and the kernel ends all of it with the supervisor. Without, whatever it
    started becomes the supervisor's child, and after that the server's, which ends it. What keeps the command from being held says nothing
    of it: it is told on the request's `link`.
    """
    try:
        command, box = _fork(order, box, apart=apart, root=root)
    except Exception:
        tell_unstarted(link)
        raise
    if command == 0:
        _become(order, box, lockdown, request, link)
    _reap(command)


def _fork(order: dict[str, Any], box: Path, *, apart: bool, root: CandidateRoot | None) -> tuple[int, Path]:
    """Fork what is to be the command, in namespaces of its own where there are any; return its number and where it finds its folder."""
    prctl(_SET_CHILD_SUBREAPER, 1)
    _write(order["files"], box)
    stdin = os.memfd_create("stdin", os.MFD_CLOEXEC)
    os.pwrite(stdin, order["stdin"].encode(), 0)
    os.dup2(stdin, 0)
    if root is not None:
        root.enter_family(box, order["devices"])
        box = BOX
    elif apart:
        namespaces.enter(box)
        os.chdir(box)
        namespaces.supervise()
    return os.fork(), box


def _write(files: dict[str, str], box: Path) -> None:
    """Write the files that the command finds; where one cannot be called so, the process ends with that."""
    for name, text in files.items():
        try:
            place = Path(box, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        except (OSError, ValueError) as err:
            if isinstance(err, OSError) and err.errno not in _OF_A_NAME:
                raise
            os.write(2, f"{name}: {getattr(err, 'strerror', err)}\n".encode())
            os._exit(NOT_STARTED)


def _become(order: dict[str, Any], box: Path, lockdown: Lockdown, request: Request, link: int) -> None:
    try:
        _hold(order, box, lockdown, request, link)
        os.execve(order["argv"][0], order["argv"], order["env"] | {"HOME": str(box), "TMPDIR": str(box)})  # noqa: S606
    except (OSError, ValueError) as err:
        os.write(2, f"{order['argv'][0]}: {getattr(err, 'strerror', err)}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _hold(order: dict[str, Any], box: Path, lockdown: Lockdown, request: Request, link: int) -> None:
    try:
        prctl(_SET_PDEATHSIG, signal.SIGKILL)
        lockdown.enter_family(box, order["devices"])
        lockdown.limit(request, family=True)
    except Exception:
        tell_unstarted(link)
        raise


def _reap(command: int) -> None:
    """Wait for the command, end what it left running, and leave as it left."""
    status = namespaces.wait_for(command)
    _end_children()
    namespaces.leave_like(status)


def _end_children() -> None:
    """End them, and wait for each: the time of a process counts for those above it once it was waited for."""
    me = os.getpid()
    if me == 1:  # of a namespace, in which all others are the command's
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with suppress(ChildProcessError):
            while True:
                os.wait()
        return
    while children := Path(f"/proc/self/task/{me}/children").read_text().split():
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        for _ in children:
            os.wait()

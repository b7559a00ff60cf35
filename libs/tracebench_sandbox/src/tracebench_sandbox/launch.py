"""Starting the evaluation template: a fresh interpreter with a scrubbed environment and an owner-only socket."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import IO, Literal

from tracebench_core.errors import MissingRequirementError, TraceBenchError
from tracebench_core.forwarding import LIBRARIES
from tracebench_sandbox.folders import remove
from tracebench_sandbox.reach import is_site, site_folders

log = logging.getLogger(__name__)

Level = Literal["process", "namespaces", "strong"]
Require = Literal["auto", "strong", "process"]
"""`auto`: `strong`, or else `namespaces`. `process`: whatever there is."""
OPT_OUT = "-o sandbox.require=process"
_PROGRAM = (
    "import json,sys; order=json.loads(sys.argv[1]); "
    "sys.path[:] = [*order['path'], *(p for p in sys.path if p not in order['path'])]; "
    "from tracebench_sandbox.template.server import main; main(order)"
)
_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_STOP = 5.0
_STARTING = 900.0
"""Seconds that a template may take to import what its candidates find warm."""
_BACKLOG = 256


class ServerHandle:
    """A running template, owned by the process that started it; it ends with `close`, and with that process in any case."""

    def __init__(self, process: subprocess.Popen[bytes], *, address: str, folder: Path) -> None:
        self.address = address
        """What `connect` takes: the path of the template's socket."""
        self.pid = process.pid
        self.level: Level = "process"
        """How its children are held."""
        self._process = process
        self._folder = folder
        self._owner = os.getpid()

    @property
    def owned(self) -> bool:
        """Whether this process started it; a forked copy of that process did not."""
        return self._owner == os.getpid()

    @property
    def alive(self) -> bool:
        """Whether the template runs and is this process's own."""
        return self.owned and self._process.poll() is None

    def close(self) -> None:
        """End the template and all its children, and remove their folders. Idempotent."""
        if not self.owned:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        Path(self.address).unlink(missing_ok=True)
        try:
            remove(self._folder)
        except OSError as err:
            log.warning("the sandbox's folder %s stays: %s", self._folder, err)

    def __enter__(self) -> ServerHandle:
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close."""
        self.close()


def start_server(
    *, preload: Sequence[str] = (), require: Require = "auto", directory: Path, readable: Sequence[Path] = ()
) -> ServerHandle:
    """Start a template that has imported `preload`, with its socket and its children's folders in `directory`, made owner-only.

    `readable` are further folders that untrusted code may read (and commands run from).

    Raises:
        MissingRequirementError: when a module cannot be imported, or this host lacks what is required.
    """
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    boxes = Path(tempfile.mkdtemp(prefix="boxes-", dir=directory))
    address = directory / "sandbox.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        _bind(listener, address)
        listener.listen(_BACKLOG)
        path = [entry for entry in sys.path if Path(entry).is_absolute()]
        order = {
            "parent": os.getpid(),
            "listener": listener.fileno(),
            "boxes": str(boxes.resolve()),
            "preload": list(preload),
            "path": path,
            "withheld": hidden_packages([*path, *site_folders()]),
            "readable": [str(path) for path in readable],
        }
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-s", "-P", "-c", _PROGRAM, json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            env=_environment(),
            cwd="/",
            start_new_session=True,
        )
    handle = ServerHandle(process, address=str(address), folder=boxes)
    late = threading.Timer(_STARTING, process.kill)
    late.start()
    try:
        handle.level = _await_ready(process.stdout, require)
    except BaseException:
        handle.close()
        raise
    finally:
        late.cancel()
    return handle


def _bind(listener: socket.socket, address: Path) -> None:
    """Bind by a short path: a socket's address holds 107 bytes, a run directory may be deeper."""
    address.unlink(missing_ok=True)
    folder = os.open(address.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{address.name}")
    finally:
        os.close(folder)


def _environment() -> dict[str, str]:
    """Return all that a template and its children know of the outside: where programs are, one thread, one order of hashes."""
    scrubbed = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LD_BIND_NOW": "1",  # what the loader binds here, no child binds in pages of its own
    }
    return scrubbed | dict.fromkeys(_ONE_THREAD, "1")


def _await_ready(stdout: IO[bytes] | None, require: Require) -> Level:
    if stdout is None:
        raise TraceBenchError("The sandbox has no output to speak on.")
    with stdout:
        line = stdout.readline()
    if not line:
        raise TraceBenchError("The sandbox ended before it was ready.", hint="trace-bench doctor")
    words = json.loads(line)
    if words["error"]:
        raise MissingRequirementError(f"The sandbox {words['error']}.", hint="trace-bench doctor")
    level: Level = words["level"]
    refuse_weak(level, require)
    if words["threads"] > 1:
        log.warning("a preloaded module started threads in the sandbox's template; forks of it may hang")
    return level


def refuse_weak(level: Level, require: Require) -> None:
    """Raise MissingRequirementError when `level` is less than what is required; the hint opts out by name."""
    if require == "strong" and level != "strong":
        raise MissingRequirementError(
            "`sandbox.require: strong` needs Landlock and seccomp, and this host does not offer both.",
            hint="trace-bench doctor    (or `-o sandbox.require=auto`, where namespaces will do)",
        )
    if require == "auto" and level == "process":
        raise MissingRequirementError(
            "This host offers neither Landlock with seccomp nor user namespaces: code of candidates could read your files and keys and use "
            "the network.",
            hint=f"to run unprotected nevertheless, where you trust the models and tasks:  {OPT_OUT}",
        )


_GROUP = "tracebench"


def hidden_packages(path: Sequence[str]) -> list[str]:
    """Return the top-level names of our libraries and of every distribution on `path` that has an entry point of ours."""
    sites = [entry for entry in path if is_site(Path(entry))]
    found = {*LIBRARIES}
    for distribution in metadata.distributions(path=sites):
        points = [point for point in distribution.entry_points if point.group == _GROUP]
        if points:
            found.update(point.value.partition(":")[0].partition(".")[0].strip() for point in points)
            found.update(_top(str(file)) for file in distribution.files or ())
    return sorted(found - {""})


def _top(file: str) -> str:
    """Return the name that a file of a distribution is imported by; empty for what is no code."""
    first, _, rest = file.partition(os.sep)
    if rest:
        return "" if "." in first else first
    return first.removesuffix(".py") if first.endswith(".py") else ""

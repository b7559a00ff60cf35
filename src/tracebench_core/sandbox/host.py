"""What this host offers to contain untrusted code, for people and for preflight checks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import Literal

from tracebench_core.sandbox import landlock, seccomp
from tracebench_core.specs.base import Spec

_TRY = "from tracebench_core.sandbox.namespaces import available; raise SystemExit(not available())"


class IsolationReport(Spec):
    """The mechanisms found, and the level that results."""

    landlock_abi: int
    """0 when the kernel has no Landlock; 4 and more confines TCP, 6 and more signals."""
    seccomp: bool
    user_namespaces: bool
    bwrap: str | None
    """Path of bubblewrap; reported only, the kernel's mechanisms are used directly."""
    level: Literal["process", "strong"]
    """`strong`: files, network and other processes are out of reach. `process`: a process of its own with limits."""

    @property
    def sentence(self) -> str:
        """One line that says what is used."""
        if self.level == "strong":
            apart = ", commands in namespaces of their own" if self.user_namespaces else ""
            return f"strong: Landlock (ABI {self.landlock_abi}) and seccomp{apart}"
        found = [name for name, here in (("Landlock", self.landlock_abi), ("seccomp", self.seccomp)) if here]
        return f"process: limits only{', with ' + ' and '.join(found) if found else ''}"


def isolation() -> IsolationReport:
    """Probe the host; takes a few tens of milliseconds, because namespaces are tried in a fresh process."""
    version, filters = landlock.abi(), seccomp.available()
    tried = subprocess.run([sys.executable, "-c", _TRY], capture_output=True, check=False)  # noqa: S603 - our own interpreter
    return IsolationReport(
        landlock_abi=version,
        seccomp=filters,
        user_namespaces=tried.returncode == 0,
        bwrap=shutil.which("bwrap"),
        level="strong" if version and filters else "process",
    )

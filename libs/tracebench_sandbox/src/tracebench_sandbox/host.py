"""What this host offers to contain untrusted code, for people and for preflight checks."""

from __future__ import annotations

import shutil
import subprocess
import sys

from tracebench_core.specs.base import Spec
from tracebench_sandbox.kernel import landlock, seccomp
from tracebench_sandbox.launch import Level

_TRY = "from tracebench_sandbox.kernel.namespaces import available; raise SystemExit(not available())"


class IsolationReport(Spec):
    """The mechanisms found, and the level that results."""

    landlock_abi: int
    """0 when the kernel has no Landlock; 4 and more confines TCP, 6 and more signals."""
    seccomp: bool
    user_namespaces: bool
    bwrap: str | None
    """Path of bubblewrap; reported only, the kernel's mechanisms are used directly."""
    level: Level
    """`strong`: Landlock and seccomp; files, network and other processes are out of reach. `namespaces`: out of sight instead. `process`: a
    process of its own with limits."""

    @property
    def sentence(self) -> str:
        """One line that says what is used."""
        found = [name for name, here in (("Landlock", self.landlock_abi), ("seccomp", self.seccomp)) if here]
        if self.level == "strong":
            apart = ", commands in namespaces of their own" if self.user_namespaces else ""
            return f"strong: Landlock (ABI {self.landlock_abi}) and seccomp{apart}"
        if self.level == "namespaces":
            return f"namespaces: user, mount, network and IPC namespaces{' and ' + found[0] if found else ''}"
        return f"process: limits only{', with ' + ' and '.join(found) if found else ''}"


def level() -> Level:
    """Return how untrusted code is held here; only where Landlock or seccomp is missing are namespaces tried, in a process of their own."""
    if landlock.abi() and seccomp.available():
        return "strong"
    return "namespaces" if _has_namespaces() else "process"


def isolation() -> IsolationReport:
    """Probe the host; takes a few tens of milliseconds, because namespaces are tried in a fresh process."""
    version, filters, apart = landlock.abi(), seccomp.available(), _has_namespaces()
    return IsolationReport(
        landlock_abi=version,
        seccomp=filters,
        user_namespaces=apart,
        bwrap=shutil.which("bwrap"),
        level="strong" if version and filters else "namespaces" if apart else "process",
    )


def _has_namespaces() -> bool:
    tried = subprocess.run([sys.executable, "-c", _TRY], capture_output=True, check=False)  # noqa: S603 - our own interpreter
    return tried.returncode == 0

"""A sandbox of one's own, for processes that no job has opened one for, and what a cage of one's own is built from.

Evaluations use `context.sandbox`. Namespaces, limits and system calls are for environments that enter a whole root file system.
"""

from tracebench_sandbox import open_sandbox, start_server
from tracebench_sandbox.granted import granted_folders
from tracebench_sandbox.host import level
from tracebench_sandbox.kernel import limits, namespaces
from tracebench_sandbox.kernel.enclosure import DEVICES, KERNEL, LINKS, Enclosure
from tracebench_sandbox.kernel.syscalls import checked, libc, prctl, syscall
from tracebench_sandbox.launch import refuse_weak

__all__ = [
    "DEVICES", "KERNEL", "LINKS", "Enclosure", "checked", "granted_folders", "level", "libc", "limits", "namespaces", "open_sandbox",
    "prctl", "refuse_weak", "start_server", "syscall",
]  # fmt: skip

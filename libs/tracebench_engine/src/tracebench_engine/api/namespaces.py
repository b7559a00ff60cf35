"""What a plugin builds a cage of its own from, where a whole root file system has to be entered: namespaces, limits, system calls.

Candidates run in sandboxes (`context.sandbox`, `api.sandboxes`); this is for the environments of tasks that bring an image.
"""

from tracebench_sandbox.kernel import limits, namespaces
from tracebench_sandbox.kernel.enclosure import DEVICES, KERNEL, LINKS
from tracebench_sandbox.kernel.syscalls import checked, libc, prctl, syscall

__all__ = ["DEVICES", "KERNEL", "LINKS", "checked", "libc", "limits", "namespaces", "prctl", "syscall"]

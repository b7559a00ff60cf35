"""Run a command on a host that lacks something: `python tests/sandbox/hide.py landlock,seccomp,namespaces COMMAND…`.

A filter answers the calls that each would need with "no such call", and is inherited by everything below.
"""

from __future__ import annotations

import errno
import os
import sys

from tracebench_sandbox.kernel import seccomp
from tracebench_sandbox.kernel.syscalls import prctl

_GONE = seccomp._refuse(errno.ENOSYS)
RULES = {
    "landlock": {"landlock_create_ruleset": _GONE},
    "seccomp": {"seccomp": _GONE, "prctl": seccomp._unless(0, (22,)).replace(seccomp._refuse(), seccomp._refuse(22))},
    "namespaces": {"unshare": seccomp._refuse()},
    "debugging": {"ptrace": seccomp._refuse()},
    "watching memory": {"userfaultfd": _GONE},
    "watching memory by right": {"userfaultfd": seccomp._refuse()},
    "written pages": {
        "ioctl": seccomp._unless(1, (0xC0606610,)).replace(seccomp._refuse(), seccomp._refuse(errno.ENOTTY))
    },
    "reading of memory": {"process_vm_readv": seccomp._refuse()},
    "writing of memory": {"process_vm_writev": seccomp._refuse()},
}


def hide(names: list[str]) -> None:
    """Hide mechanisms from this process and all that it starts."""
    prctl(38, 1)
    seccomp._Program(seccomp._assemble({call: rule for name in names for call, rule in RULES[name].items()})).install()


if __name__ == "__main__":
    hide(sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])

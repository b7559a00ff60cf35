"""Whether a host allows namespaces is asked again where the kernel's "no" may have passed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tracebench_sandbox.kernel import namespaces

_SHORT_OF_FILES_ONCE = """
import os, resource
from tracebench_sandbox.kernel import namespaces
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
os.register_at_fork(after_in_parent=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
print(namespaces.available())
"""
_FORBIDDEN = """
import errno, os
from tracebench_sandbox.kernel import namespaces
forks = []
os.register_at_fork(before=lambda: forks.append(1))
namespaces.enter = lambda box: (_ for _ in ()).throw(OSError(errno.{error}, "as the kernel says"))
print(namespaces.available(), len(forks))
"""
_ENTERED = """
import errno, sys
from pathlib import Path
from tracebench_sandbox.kernel import namespaces
box = Path(sys.argv[1])
below = box / "below"
below.mkdir()
namespaces.leave_host(0)
namespaces.mount("tmpfs", below, kind="tmpfs")
namespaces.enter(box)
(box / "own").write_text("mine")
try:
    (below / "other").touch()
except OSError as err:
    print(errno.errorcode[err.errno])
"""


def _told(code: str, *words: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


needs_namespaces = pytest.mark.skipif(not namespaces.available(), reason="this host allows no user namespaces")


@needs_namespaces
def test_a_shortage_that_passes_is_no_answer() -> None:
    assert _told(_SHORT_OF_FILES_ONCE) == "True"


@pytest.mark.parametrize(("error", "tries"), [("EPERM", 1), ("ENOSYS", 1), ("ENOMEM", 5), ("ENOSPC", 5)])
def test_what_a_kernel_forbids_is_asked_once_and_a_shortage_for_two_seconds(error: str, tries: int) -> None:
    assert _told(_FORBIDDEN.format(error=error)) == f"False {tries}"


@needs_namespaces
def test_a_folder_that_something_is_mounted_below_can_be_entered(tmp_path: Path) -> None:
    assert _told(_ENTERED, str(tmp_path)) == "EROFS"

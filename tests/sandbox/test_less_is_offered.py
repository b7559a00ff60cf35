"""A host without Landlock: told, refused where `strong` is required, and still never less than a process of its own.

A filter that answers "no such call" to Landlock's first call, inherited by everything below, makes this host such a one.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tracebench_core.sandbox import seccomp

SCRIPT = """
import errno, json, os, struct, sys, time
from pathlib import Path
from tracebench_core.sandbox import isolation, open_sandbox, seccomp
from tracebench_core.sandbox.syscalls import prctl
from tracebench_core.errors import MissingRequirementError
from tracebench_core.specs import Limits

prctl(38, 1)
seccomp._Program(seccomp._assemble({"landlock_create_ruleset": seccomp._refuse(errno.ENOSYS)})).install()
said = {"level": isolation().level, "abi": isolation().landlock_abi}
try:
    with open_sandbox(require="strong") as sandbox:
        sandbox.call("def f(): pass", "f")
except MissingRequirementError as err:
    said["refused"], said["hint"] = str(err), err.hint
with open_sandbox() as sandbox:
    said["value"] = sandbox.call("def f(x):\\n    return x + 1", "f", 1).value
    said["loop"] = sandbox.call("def f():\\n    while True: pass", "f", limits=Limits(seconds=0.3)).status
    said["fork"] = sandbox.call("import os\\ndef f():\\n    os.fork()", "f").status
    said["memory"] = sandbox.call("def f():\\n    bytearray(10 << 30)", "f").status
    said["environ"] = sandbox.call("import os\\ndef f():\\n    return sorted(os.environ)", "f").value
print(json.dumps(said))
"""


@pytest.mark.skipif(not seccomp.available(), reason="this host has no seccomp to hide Landlock with")
def test_without_landlock_strong_is_refused_and_process_still_contains() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=60)

    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    assert (said["level"], said["abi"]) == ("process", 0)
    assert "Landlock" in said["refused"]
    assert said["hint"]
    assert said["value"] == 2
    assert (said["loop"], said["fork"], said["memory"]) == ("timeout", "forbidden", "memory")
    assert not [name for name in said["environ"] if "KEY" in name]

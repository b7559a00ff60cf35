"""What a run's process hands on to its helpers: never provider keys, which stay readable in /proc where they were there at the start.

A front end calls `begin` first of all, and the other two with the config that it is to run, before it has threads.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracebench_core.specs import RunConfig

TEMPLATE = "tracebench_engine.builtin.template_main"
GATEWAY = "tracebench_gateway.server.__main__"
DESCRIPTOR = "TRACEBENCH_KEYS_FD"
MOST_BYTES = 1 << 15
"""Half of what a pipe takes in without a reader."""
_program: list[str] = []
"""The command line that starts this process again; empty where the command line is only called, as by a test."""


def begin() -> None:
    """Note that this process is a command line, and take over the keys that an earlier self left in a pipe."""
    _program[:] = [sys.executable, *sys.orig_argv[1:]]
    told = os.environ.pop(DESCRIPTOR, None)
    if told is None:
        return
    from tracebench_gateway.credentials import hold  # noqa: PLC0415 - every command begins here

    with open(int(told), "rb") as pipe:  # noqa: PTH123 - a descriptor
        hold(json.loads(pipe.read()))


def go_on_without_keys(config: RunConfig) -> None:
    """Replace this process by one with the same arguments, whose keys come through a pipe; return where there is nothing to hide."""
    if config.mode != "real" or not _program:
        return
    from tracebench_gateway.credentials import secret_environ, without_secrets  # noqa: PLC0415 - every command begins here
    from tracebench_gateway.variants import llm_configs  # noqa: PLC0415 - every command begins here

    llms = llm_configs(config).values()
    keys = json.dumps(secret_environ(os.environ, *llms)).encode()
    clean = without_secrets(os.environ, *llms)
    if len(clean) == len(os.environ) or len(keys) > MOST_BYTES:
        return
    reader, writer = os.pipe()
    os.write(writer, keys)
    os.close(writer)
    os.set_inheritable(reader, True)  # noqa: FBT003 - the function takes no name
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(_program[0], _program, {**clean, DESCRIPTOR: str(reader)})  # noqa: S606 - ourselves


def fork_helpers(config: RunConfig) -> None:
    """Let the helpers of a run be forks of this process, which has their imports, unless it has seen what they must not know."""
    if not _program or config.mode == "real" or config.salt not in {None, "public"}:
        return
    from tracebench_gateway.credentials import without_secrets  # noqa: PLC0415 - every command begins here
    from tracebench_gateway.variants import llm_configs  # noqa: PLC0415 - every command begins here
    from tracebench_sandbox.forkserver import plant  # noqa: PLC0415 - every command begins here

    if len(without_secrets(os.environ, *llm_configs(config).values())) == len(os.environ):
        plant(TEMPLATE, GATEWAY, ahead=[TEMPLATE])

"""`python -m tracebench_gateway.server`: the gateway's process, told by its standard input what to be.

It ends when that input ends or its parent is gone, so it never outlives the run.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import uvicorn

from tracebench_gateway.models import PREFIXES, ROLES, role_config
from tracebench_gateway.server.app import Routes
from tracebench_gateway.server.assembly import build_service
from tracebench_gateway.server.connections import KEEP_ALIVE_SECONDS, ConnectionGuard, raise_descriptor_limit
from tracebench_gateway.server.echo import forbid_inspection, redact_output
from tracebench_gateway.server.settings import GatewaySettings

PARENT_CHECK_SECONDS = 1.0


def main() -> None:
    """Serve until the runner is gone."""
    settings = GatewaySettings.model_validate_json(sys.stdin.buffer.readline())
    forbid_inspection()
    outputs = redact_output(settings.environ.values())
    os.environ.update(settings.environ)
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the runner's to handle; jobs still end their calls
    raise_descriptor_limit()
    service, guard = build_service(settings), ConnectionGuard()
    config = uvicorn.Config(
        Routes(service, guard).app(),
        loop="asyncio",
        http=guard.protocol(),
        lifespan="off",
        log_level="warning",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=1,
        backlog=1024,
    )
    server = uvicorn.Server(config)
    if (
        settings.mode == "real" and find_spec("litellm") is not None and _needs_litellm(settings)
    ):  # the first call should not wait for it
        threading.Thread(target=import_module, args=("litellm",), daemon=True).start()

    def leave() -> NoReturn:
        for output in outputs:
            output.finish()
        os._exit(0)  # nothing is buffered, and the libraries behind providers take seconds to take leave

    def end() -> None:
        _wait_for_end()
        if service.is_idle and not server.server_state.tasks:  # it would sleep twice before it closes
            leave()
        server.should_exit = True

    threading.Thread(target=end, daemon=True).start()
    listener = socket.socket(fileno=settings.socket_fd)
    asyncio.run(server.serve(sockets=[listener]))
    leave()


def _needs_litellm(settings: GatewaySettings) -> bool:
    """Guess by the config alone; whoever is wrong waits for an import, and nothing else."""
    every = settings.variants.values() or [settings.llm]
    configs = [role_config(llm, role) for llm in every for role in ROLES]
    return any(c.base_url is None and (c.provider is None or c.provider in PREFIXES) for c in configs)


def _wait_for_end() -> None:
    """Return once the runner closes our input, or dies while some other process holds the pipe open."""
    parent = os.getppid()
    ended = threading.Event()
    threading.Thread(target=_drain_input, args=(ended,), daemon=True).start()
    while not ended.wait(PARENT_CHECK_SECONDS) and os.getppid() == parent and Path(f"/proc/{parent}").exists():
        continue


def _drain_input(ended: threading.Event) -> None:
    sys.stdin.buffer.read()
    ended.set()


if __name__ == "__main__":
    main()

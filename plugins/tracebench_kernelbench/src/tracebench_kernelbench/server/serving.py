"""Runs the server in this process until it is told to stop."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from tracebench_core.errors import UsageError
from tracebench_kernelbench.client import TOKEN
from tracebench_kernelbench.server.app import LOOPBACK, Door
from tracebench_kernelbench.server.jobs import Jobs


def serve(
    host: str, port: int, *, token: str | None, devices: int, build_seconds: float, ready: Callable[[str], None]
) -> None:
    """Serve; `ready` is told the address once it can be asked. Port 0 takes a free one.

    Raises:
        UsageError: for an address beyond this machine without a token, or one that cannot be had.
    """
    if host not in LOOPBACK and not token:
        raise UsageError(
            f"Whoever reaches {host} could run code here: a server beyond this machine needs a token.",
            hint=f"export {TOKEN}=$(python3 -c 'import secrets; print(secrets.token_urlsafe())')",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen()
        except OSError as err:
            raise UsageError(
                f"Cannot listen on {host}:{port}: {err.strerror}.", hint="trace-bench kernelbench serve --port 0"
            ) from err
        jobs = Jobs([f"cpu:{index}" for index in range(devices)])
        try:
            ready(f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}")
            config = uvicorn.Config(
                Door(jobs, token=token, build_seconds=build_seconds).app(), log_level="warning", access_log=False
            )
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            jobs.close()

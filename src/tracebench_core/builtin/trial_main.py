"""`python -m` entry of the process in which `validate --strict` tries tasks: compose a host, and try what is asked."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path

from tracebench_core.builtin.hosting import open_host
from tracebench_core.engine.trial import try_task
from tracebench_core.engine.wire import Wire
from tracebench_core.specs import PluginsConfig


def main() -> None:
    """Serve until nobody asks any more."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    wire = Wire(socket.socket(fileno=parser.parse_args().fd))
    first = wire.receive_one()
    if first is None:
        return
    root = Path(first["root"]) if first["root"] else None
    host = open_host(root=root, plugins=PluginsConfig.model_validate(first["plugins"]))
    while (asked := wire.receive_one()) is not None:
        check = try_task(host, asked["task"], asked["options"], trainable=asked["trainable"])
        wire.send({"check": list(check)})


if __name__ == "__main__":
    main()

"""`python -m` entry of the process that holds a run's environments: compose a host, and serve leases."""

from __future__ import annotations

import argparse
import logging
import socket
from pathlib import Path

from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.measure.environments.server import EnvironmentServer
from tracebench_engine.measure.wire import Wire
from tracebench_engine.run.local.executor import read_setting


def main() -> None:
    """Serve until the runner is done or gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--address", required=True)
    asked = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    wire = Wire(socket.socket(fileno=asked.fd))
    setting = read_setting(wire)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(asked.address)
    listener.listen(128)
    host = open_host(root=Path(setting.root) if setting.root else None, plugins=setting.plugins)
    for name in setting.load:
        host.load(name)
    EnvironmentServer(host, Path(setting.run_dir, "environments.jsonl")).serve(wire, listener)


if __name__ == "__main__":
    main()

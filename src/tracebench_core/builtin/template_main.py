"""`python -m` entry of the local executor's template process: compose a host, import what the run needs, serve jobs."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path

from tracebench_core.builtin.hosting import open_host
from tracebench_core.engine.local.child import run_order
from tracebench_core.engine.local.executor import read_setting
from tracebench_core.engine.local.template import Template, preload
from tracebench_core.engine.wire import Wire


def main() -> None:
    """Serve until the runner is done or gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    wire = Wire(socket.socket(fileno=parser.parse_args().fd))
    setting = read_setting(wire)
    host = open_host(root=Path(setting.root) if setting.root else None, plugins=setting.plugins)
    for name in setting.load:
        host.load(name)
    preload(setting.preload)
    Template(wire, lambda order: run_order(order, host)).serve()


if __name__ == "__main__":
    main()

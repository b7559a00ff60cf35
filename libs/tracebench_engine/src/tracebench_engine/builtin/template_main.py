"""`python -m` entry of the local executor's templates: compose a host, import what the run needs, serve jobs.

One process becomes two before either knows of a job: what the one that scores is told is in no process that trains.
"""

from __future__ import annotations

import argparse
import socket
from pathlib import Path

from tracebench_engine.builtin.hosting import BUILTIN, open_host
from tracebench_engine.job.execution import run_order
from tracebench_engine.measure.wire import Wire
from tracebench_engine.run.local.executor import read_setting
from tracebench_engine.run.local.template import Template, build_models, preload, split_off
from tracebench_runs.meta.environment import runtime


def prepare() -> None:
    """Import and build what the templates of all runs have in common."""
    preload(BUILTIN.values())
    build_models()


def main() -> None:
    """Serve until the runner is done or gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--scoring-fd", type=int, required=True)
    given = parser.parse_args()
    training, scoring = Wire(socket.socket(fileno=given.fd)), Wire(socket.socket(fileno=given.scoring_fd))
    setting = read_setting(training)
    host = open_host(root=Path(setting.root) if setting.root else None, plugins=setting.plugins)
    for name in setting.load:
        host.load(name)
    preload(setting.preload)
    prepare()
    runtime()  # here once, rather than in every job
    mine, other = (training, scoring) if split_off() else (scoring, training)
    other.close()
    Template(mine, lambda order: run_order(order, host)).serve()


if __name__ == "__main__":
    main()

"""`python -m` entry: `PROMISE EXECUTOR FOLDER`, or `random EXECUTOR FOLDER SEED`; writes each fault as a JSON line."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tracebench_core.contracts import Executor
from tracebench_engine.api import load_ref, open_host
from tracebench_testing.executing.promises import PROMISES
from tracebench_testing.executing.schedules import go_through


def main(arguments: list[str]) -> None:
    """Try one promise of one executor."""
    what, name, folder, *seed = arguments
    os.environ["TRACEBENCH_DRIVEN"] = name  # for the one that is started to be killed

    def build(which: str = name) -> Executor:
        made: Executor = load_ref(open_host().component("executor", which).loader, owner=which)()
        return made

    if what == "random":
        go_through(build, lambda: build("local"), Path(folder), _say, seed=int(seed[0]))
    else:
        PROMISES[what](build, Path(folder), _say)
    print(json.dumps({"tried": what}), flush=True)  # noqa: T201 - as below


def _say(fault: str) -> None:
    print(json.dumps({"fault": fault}), flush=True)  # noqa: T201 - the wire to whoever asks


if __name__ == "__main__":
    main(sys.argv[1:])

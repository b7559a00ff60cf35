"""`python -m` entry of the process in which tasks are tried and calibrated: compose a host, and do what is asked."""

from __future__ import annotations

import argparse
import os
import select
import signal
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracebench_core.errors import MissingRequirementError, TraceBenchError
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import PluginsConfig
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.checks.calibration.measuring import calibrate
from tracebench_engine.checks.trial import Cases, try_task
from tracebench_engine.measure.attempt import describe_error
from tracebench_engine.measure.wire import Wire


def main() -> None:
    """Serve until nobody asks any more."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    wire = Wire(socket.socket(fileno=parser.parse_args().fd))
    threading.Thread(target=_end_with, args=(wire,), daemon=True).start()
    first = wire.receive_one()
    if first is None:
        return
    root = Path(first["root"]) if first["root"] else None
    host = open_host(root=root, plugins=PluginsConfig.model_validate(first["plugins"]))
    while (asked := wire.receive_one()) is not None:
        if "kinds" in asked:
            found = _calibrated(host, asked, wire)
            verdicts = [verdict.model_dump(mode="json") for verdict in found.verdicts]
            wire.send({"state": found.state, "verdicts": verdicts, "why": found.why})
        else:
            check = try_task(host, asked["task"], asked["options"], trainable=asked["trainable"])
            wire.send({"check": list(check)})


def _end_with(wire: Wire) -> None:
    """End this process and what it has started once nobody hears it any more: a task that hangs would outlive the command."""
    poller = select.poll()
    poller.register(wire.fileno(), select.POLLRDHUP)
    poller.poll()
    os.killpg(os.getpid(), signal.SIGKILL)


def _calibrated(host: PluginHost, asked: Mapping[str, Any], wire: Wire) -> Cases:
    """Return what came of a task's cases."""
    try:
        found = calibrate(
            host,
            asked["task"],
            eval_kwargs=asked["options"],
            kinds=asked["kinds"],
            seed=asked["seed"],
            tell=lambda case: wire.send({"case": case}),
        )
    except MissingRequirementError as err:
        return Cases("skipped", why=f"{err} {err.hint}".strip())
    except TraceBenchError as err:
        return Cases("failed", why=f"{err} {err.hint}".strip())
    except (Exception, SystemExit) as err:  # noqa: BLE001 - whatever a suite raises is why its cases have no verdict
        return Cases("failed", why=describe_error(err))
    return Cases("measured", tuple(found))


if __name__ == "__main__":
    main()

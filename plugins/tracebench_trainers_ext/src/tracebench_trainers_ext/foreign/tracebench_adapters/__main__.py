"""Run one adapter and leave a report of how it ended: `python -m tracebench_adapters MODULE[:FUNCTION]`."""

import importlib
import json
import os
import sys
import traceback
from importlib import metadata
from pathlib import Path

import tracebench_client

from .knobs import WrongKnob
from .model import ModelError, ModelGone
from .task import Task, TaskRefused


def main():
    """Check the library's version, run the adapter, report, and leave without waiting for what the library left behind."""
    order = json.loads(os.environ.pop("TRACEBENCH_ORDER"))
    code, report = 1, {}
    try:
        if order["library"]:
            check_version(*order["library"])
        problem = tracebench_client.connect()
        module, _, name = sys.argv[1].partition(":")
        adapter = importlib.import_module(f".{module}", __package__)
        getattr(adapter, name or "train")(Task(problem), order["settings"])
        code, report = 0, {"end": "done"}
    except tracebench_client.BudgetExhausted as spent:
        report = {"end": "budget", "words": str(spent)}
    except (ModelGone, ModelError) as gone:
        report = {"end": "model", "words": str(gone)}
    except TaskRefused as refused:
        report = {"end": "not applicable", "words": str(refused)}
    except WrongKnob as wrong:
        report = {"end": "settings", "words": str(wrong)}
    except WrongLibrary as wrong:
        report = {"end": "library", "words": str(wrong)}
    except BaseException as error:  # noqa: BLE001 - whatever a library raises is told to the job
        traceback.print_exc()
        report = {"end": "failed", "words": f"{type(error).__name__}: {error}"[:2000]}
    Path(order["report"]).write_text(json.dumps(report))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class WrongLibrary(Exception):  # noqa: N818 - named for what is wrong
    """The library is missing, or in a version that the adapter was never tried with."""


def check_version(distribution, low, high):
    """Raise WrongLibrary unless the installed version lies in [low, high)."""
    try:
        found = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        raise WrongLibrary(f"`{distribution}` is not installed in `{sys.executable}`.") from None
    if not numbers(low) <= numbers(found) < numbers(high):
        raise WrongLibrary(f"`{distribution}` {found} is installed; its adapter needs >={low},<{high}.")


def numbers(version):
    """Return the leading numbers of a version."""
    parts = []
    for part in version.split("."):
        digits = "".join(c for c in part if c.isdigit())
        if not digits or digits != part[: len(digits)]:
            break
        parts.append(int(digits))
    return parts


main()

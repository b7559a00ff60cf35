"""Groups of heavy tests: what needs large libraries, a browser, a model or a proof checker runs only where it is asked for.

`TRACEBENCH_HEAVY=coq,torch pytest …` runs those groups, `TRACEBENCH_HEAVY=all` every group; `.ci/run` or `.ci/soak` has a
step for each.
"""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["tests.home"]

with suppress(ImportError):
    from hypothesis import settings

    # a busy one takes as long as it takes, and the soak goes through more
    settings.register_profile(
        "any machine", deadline=None, max_examples=int(os.environ.get("TRACEBENCH_EXAMPLES", "40"))
    )
    settings.load_profile("any machine")
os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # processes that tests start would compile everything from source, each time


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark `heavy(group)`, and look for no garbage while tests are collected: there is none."""
    gc.disable()
    if "TRACEBENCH_HEAVY" not in os.environ:  # nor are the interpreters that the user prepared one of theirs
        os.environ.setdefault("TRACEBENCH_PYTHONS", str(Path(os.environ["XDG_STATE_HOME"], "no-pythons")))
    config.addinivalue_line("markers", "heavy(group): runs only where TRACEBENCH_HEAVY names the group, or `all`")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all tests of a file to one worker: what they share is made once."""
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - it is not everywhere

    return LoadFileScheduling(config, log) if config.getoption("dist") == "load" else None


def pytest_collection_finish() -> None:
    """Look for garbage from now on, and never among the thousands of tests."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of every group that was not asked for."""
    wanted = {name.strip() for name in os.environ.get("TRACEBENCH_HEAVY", "").split(",")}
    for item in items:
        for mark in item.iter_markers("heavy"):
            if "all" not in wanted and mark.args[0] not in wanted:
                item.add_marker(
                    pytest.mark.skip(
                        reason=f"heavy group `{mark.args[0]}`: set TRACEBENCH_HEAVY={mark.args[0]} to run it"
                    )
                )

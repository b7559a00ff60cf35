"""Groups of heavy tests: what needs large libraries, a browser, a model or a proof checker runs only where it is asked for.

`TRACEBENCH_HEAVY=coq,torch pytest …` runs those groups, `TRACEBENCH_HEAVY=all` every group; `.ci/run` or `.ci/soak` has a
step for each.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

with suppress(ImportError):
    from hypothesis import settings

    settings.register_profile("any machine", deadline=None)  # a busy one takes as long as it takes
    settings.load_profile("any machine")
os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # processes that tests start would compile everything from source, each time


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark `heavy(group)`."""
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    os.environ.setdefault("UV_CACHE_DIR", str(Path(caches, "uv")))  # what uv downloaded once serves tests, too
    for kind in ("STATE", "CACHE"):  # what tests keep is no business of the user's
        if f"XDG_{kind}_HOME" not in os.environ:
            os.environ[f"XDG_{kind}_HOME"] = folder = tempfile.mkdtemp(prefix=f"tests-{kind.lower()}-")
            config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))
    if "TRACEBENCH_HEAVY" not in os.environ:  # nor are the interpreters that the user prepared one of theirs
        os.environ.setdefault("TRACEBENCH_PYTHONS", str(Path(os.environ["XDG_STATE_HOME"], "no-pythons")))
    config.addinivalue_line("markers", "heavy(group): runs only where TRACEBENCH_HEAVY names the group, or `all`")


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

"""A home of their own for the tests, and for every process that they start: none reads or writes the user's.

What a test starts without `HOME` falls back on the user's all the same; at the end it is told what changed there meanwhile. Where
`TRACEBENCH_ALONE` is set, as `.ci/run` does, that is an error; elsewhere the user may have run something beside the tests.
"""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

GIVEN = "TRACEBENCH_TESTS_HOME"
"""The variable by which the processes of a session know the home that the first of them made."""
FOLDERS = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}
RUNTIME = "XDG_RUNTIME_DIR"
CHANGED = 10
"""What a session ends with that passed and changed something of the user's; none of pytest's codes, as no test is to be run again."""
Seen = dict[Path, tuple[int, int]]
_before = pytest.StashKey[tuple[list[Path], Seen]]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Move to a home of the session's own, unless the process that started this one did."""
    if GIVEN in os.environ:
        return
    config.stash[_before] = (folders := ours()), seen(folders)
    real = Path.home()
    os.environ.setdefault(
        "UV_CACHE_DIR", str(_usual("XDG_CACHE_HOME", real) / "uv")
    )  # what was downloaded once serves tests, too
    os.environ.setdefault("UV_PYTHON_INSTALL_DIR", str(_usual("XDG_DATA_HOME", real) / "uv/python"))
    os.environ.setdefault("PYENV_ROOT", str(real / ".pyenv"))
    home = tempfile.mkdtemp(prefix="tb-")  # the names of sockets below it must stay short
    config.add_cleanup(partial(shutil.rmtree, home, ignore_errors=True))
    os.environ |= {GIVEN: home, "HOME": home, RUNTIME: f"{home}/run"}
    os.environ |= {name: f"{home}/{folder}" for name, folder in FOLDERS.items()}
    for name in (*FOLDERS, RUNTIME):
        Path(os.environ[name]).mkdir(mode=0o700, parents=True)


def _usual(name: str, home: Path) -> Path:
    return Path(os.environ.get(name) or home / FOLDERS[name])


def ours() -> list[Path]:
    """Return the folders of the user's that Trace-Bench may write to, where `HOME` is set and where it is not."""
    homes = {Path.home()}
    with suppress(KeyError):  # the user of a container may have no entry
        homes.add(Path(pwd.getpwuid(os.getuid()).pw_dir))
    places = {
        place for home in homes for name, folder in FOLDERS.items() for place in (_usual(name, home), home / folder)
    }
    return sorted(place / "trace-bench" for place in places)


def seen(folders: Iterable[Path]) -> Seen:
    """Return when each file in some folders was changed, and its size."""
    found = {}
    for path in (path for folder in folders for path in folder.rglob("*")):
        with suppress(OSError):  # it has just gone
            about = path.lstat()
            found[path] = (about.st_mtime_ns, about.st_size)
    return found


def changed(config: pytest.Config) -> list[str]:
    """Return what changed in the user's home since the session began; nothing in a process that a session started."""
    folders, before = config.stash.get(_before, ([], {}))
    after = seen(folders)
    return sorted(str(path) for path in before.keys() | after.keys() if before.get(path) != after.get(path))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where the user's home was changed, and nobody else can have done that."""
    if "TRACEBENCH_ALONE" in os.environ and session.exitstatus == pytest.ExitCode.OK and changed(session.config):
        session.exitstatus = CHANGED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name what was changed."""
    if found := changed(config):
        terminalreporter.section("changed in your home meanwhile; by a test, if you ran nothing else")
        for path in found[:20]:
            terminalreporter.line(path)
        terminalreporter.line(f"{len(found)} in all")

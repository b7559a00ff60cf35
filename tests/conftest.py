"""Fixtures for all tests: plugins that are installed for one test, in this process and in every process it starts."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

InstallPlugin = Callable[..., None]

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # started by `nohup` or with `&`: what the tests start must hear it all the same
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def runtime_dir(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keep the announced runs of a test apart from everybody's, in a folder whose name is short enough for a socket's."""
    folder = Path(tempfile.mkdtemp(prefix="tb"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def install_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InstallPlugin]:
    """Install a plugin from its source: a module and a dist-info folder on the path are all that a plugin is."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep))

    def install(name: str, source: str, *, requires: str = "tracebench-core>=0.1", index: str = "") -> None:
        (site / f"fake_{name}.py").write_text(textwrap.dedent(source))
        info = site / f"fake_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: fake-{name}\nVersion: 1.0\nRequires-Dist: {requires}\n"
        )
        (info / "entry_points.txt").write_text(f"[tracebench]\n{name} = fake_{name}\n\n[tracebench.index]\n{index}\n")

    yield install
    for module in [m for m in sys.modules if m.startswith("fake_")]:
        del sys.modules[module]

"""What the command says before it serves, as people call it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tracebench_core.errors import typed

HAS_STREAMLIT = find_spec("streamlit") is not None
needs_streamlit = pytest.mark.skipif(
    not HAS_STREAMLIT, reason="Streamlit is not installed: pip install 'tracebench-engine[ui]'"
)


def run(*words: str, hidden: str = "") -> subprocess.CompletedProcess[str]:
    """Run `trace-bench`; `hidden` names a package that cannot be found."""
    block = (
        "import sys, importlib.util as u; real = u.find_spec;"
        f"u.find_spec = lambda n, *a: None if n == {hidden!r} else real(n, *a);"
        "from tracebench_engine.cli.app import main; sys.argv[1:] = sys.argv[1:]; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", block, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )


def test_without_streamlit_it_says_how_to_get_it(tmp_path: Path) -> None:
    done = run("ui", "--runs-dir", str(tmp_path), hidden="streamlit")
    assert done.returncode == 3
    assert typed("pip install 'tracebench-engine[ui]'") in done.stderr
    assert "Traceback" not in done.stderr


def test_sharing_is_explained() -> None:
    done = run("ui", "--share")
    assert done.returncode == 2
    assert "trace-bench report" in done.stderr


@needs_streamlit
def test_a_folder_that_is_missing_or_none_is_told(tmp_path: Path) -> None:
    for folder in (tmp_path / "none", Path(__file__)):
        done = run("ui", "--runs-dir", str(folder))
        assert done.returncode == 2
        assert str(folder) in done.stderr


@needs_streamlit
def test_other_machines_are_let_in_only_when_that_is_said(tmp_path: Path) -> None:
    done = run("ui", "--runs-dir", str(tmp_path), "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "--allow-remote" in done.stderr


@needs_streamlit
def test_a_taken_port_is_told_with_a_free_one(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("ui", "--runs-dir", str(tmp_path), "--port", str(port))
    assert done.returncode == 2
    assert f"Port {port}" in done.stderr
    assert "--port" in done.stderr.partition("hint:")[2]

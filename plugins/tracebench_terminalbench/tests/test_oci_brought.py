"""What is brought of an installed agent lies as it lies here, with its libraries, and nothing of this machine is changed by it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tracebench_terminalbench.oci.brought import fingerprint, gather


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    if shutil.which("ldd") is None:
        pytest.skip("no ldd here")
    home = tmp_path / "agent"
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    shutil.copy(str(shutil.which("env")), home / "lib/program")
    (home / "bin/program").symlink_to("../lib/program")
    (home / "secret").write_text("of its owner")
    (home / "secret").chmod(0o600)
    return home


def test_files_and_links_lie_as_they_lie_here_with_the_libraries_they_load(agent: Path, tmp_path: Path) -> None:
    root = tmp_path / "layer/root"
    before = (agent / "lib/program").stat()

    gather([str(agent), "/usr/bin", "/usr/lib"], root)

    there = root / agent.relative_to("/")
    assert (there / "bin/program").readlink() == Path("../lib/program")
    assert (there / "lib/program").stat().st_ino == before.st_ino
    assert ((agent / "lib/program").stat().st_uid, (agent / "lib/program").stat().st_mode) == (
        before.st_uid,
        before.st_mode,
    )
    assert any(root.rglob("libc.so.*"))
    assert any(root.rglob("ld-*.so*"))
    assert {path.name for path in (root / "usr/bin").iterdir()} == {"env"}, "the system itself is not brought"
    if os.getuid() == 0:
        assert (there / "secret").stat().st_ino != (agent / "secret").stat().st_ino
        assert (there / "secret").stat().st_uid != (agent / "secret").stat().st_uid


def test_an_agent_that_is_installed_anew_is_another(agent: Path) -> None:
    before = fingerprint([str(agent)])
    assert fingerprint([str(agent)]) == before
    (agent / "secret").write_text("a newer one")
    assert fingerprint([str(agent)]) != before

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.attack.soak import differences, install

from tracebench_sandbox.host import level


@pytest.mark.heavy("attack")
@pytest.mark.skipif(level() != "strong", reason="this host has no Landlock or no seccomp")
def test_an_honest_job_beside_a_hostile_one_has_the_same_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    install(site)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))

    assert differences(tmp_path, seeds=range(3), workers=4) == []

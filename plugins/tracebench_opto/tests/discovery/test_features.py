"""What is read from the files of an installed opto; each build here is a folder of its own on the path of a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ASK = "from tracebench_opto.bridge import features as f; print(f.anything(), f.has_trainers(), sorted(f.optimizers()))"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (["optimize_anything/__init__.py"], "opto.optimize_anything False []"),
        (["features/optimize_anything/__init__.py", "trainer/__init__.py"], "opto.features.optimize_anything True []"),
        (["optimizers/__init__.py"], "None False ['Textual', 'Two']"),
        ([], "None False []"),
    ],
    ids=["at the top", "among its features", "optimizers alone", "nothing"],
)
def test_a_build_is_told_by_its_files(tmp_path: Path, files: list[str], told: str) -> None:
    for name in ("__init__.py", *files):
        (tmp_path / "opto" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "opto" / name).write_text(
            "raise RuntimeError('imported')\n" if name != "optimizers/__init__.py" else ""
        )
    if "optimizers/__init__.py" in files:
        (tmp_path / "opto/optimizers/__init__.py").write_text("from .one import One as Textual\nfrom .two import Two\n")
    environ = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _ASK], env=environ, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.strip() == told, done.stderr

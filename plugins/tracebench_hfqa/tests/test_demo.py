"""The recorded comparison on a real model that ships with the suite."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

ARCHIVE = Path(str(files("tracebench_hfqa.demos"))) / "real.zip"


def test_it_is_small_names_no_place_of_a_machine_and_holds_only_real_answers() -> None:
    assert ARCHIVE.stat().st_size <= 5_000_000
    with zipfile.ZipFile(ARCHIVE) as archive:
        texts = {
            name: archive.read(name)
            for name in archive.namelist()
            if name.endswith((".yaml", ".json", ".jsonl", ".log"))
        }
    assert not [name for name, text in texts.items() if re.search(rb"[\"' ]/[a-z]+/[a-z]+/", text)]
    manifest = json.loads(texts["small-real/meta/manifest.json"])
    assert {job["mode"] for job in manifest["jobs"]} == {"real"}
    calls = [json.loads(line) for line in texts["small-real/llm/calls.jsonl"].splitlines()[1:]]
    assert 1000 < len(calls) <= 3000


@pytest.mark.heavy("demo")
def test_it_is_replayed_without_the_model(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tracebench_engine.cli", "demo", "real", "--no-open", "--runs-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=170, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "The same results as recorded" in done.stderr

"""The recorded packing that ships with the suite: what it holds, and what its page shows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

ARCHIVE = Path(str(files("tracebench_llm4ad.demos"))) / "packing.zip"


def test_it_is_small_and_names_no_place_of_a_machine() -> None:
    assert ARCHIVE.stat().st_size <= 1_000_000
    with zipfile.ZipFile(ARCHIVE) as archive:
        texts = [archive.read(n) for n in archive.namelist() if n.endswith((".yaml", ".json", ".jsonl", ".log"))]
    assert not [text for text in texts if re.search(rb"[\"' ]/[a-z]+/[a-z]+/", text)]
    assert "no language model" in json.loads(ARCHIVE.with_suffix(".json").read_text())["model"]


@pytest.mark.heavy("demo")
@pytest.mark.timeout(660)
def test_it_is_replayed_to_a_verdict_and_a_page_whose_slider_moves_circles(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tracebench_engine.cli", "demo", "packing", "--runs-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "SequentialRefine is better than each of the others" in done.stderr
    page = next(tmp_path.glob("*.html")).read_text()
    steps = json.loads(re.findall(r'id="steps">(.*?)</script>', page, re.DOTALL)[0])
    assert len(steps) >= 4
    circles = [step["picture"]["svg"].count("<circle") for step in steps if step["picture"]]
    assert len(circles) >= 4
    assert {*circles} == {25}
    radii = [sorted(map(float, re.findall(r' r="([\d.]+)"', s["picture"]["svg"]))) for s in steps if s["picture"]]
    assert radii[0] != radii[-1]

"""`trace-bench kernelbench fetch`: the real `datasets` against a hub on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fake_hub import COMMIT, FakeHub

from tracebench_kernelbench.modules.source import DATASET, LEVELS, find_problems

pytest.importorskip("datasets", reason='needs `pip install "tracebench-kernelbench[hub]"`')
pytestmark = pytest.mark.heavy("datasets")

CODE = 'N = 8\n\ndef get_inputs():\n    return ["é"]\n'
CARD = "---\nconfigs:\n- config_name: default\n  data_files:\n" + "".join(
    f"  - split: level_{level}\n    path: data/level_{level}-*\n" for level in LEVELS
)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    import pyarrow as pa
    from pyarrow import parquet

    with FakeHub.open(tmp_path / "hub") as opened:
        folder = opened.root / DATASET
        (folder / "data").mkdir(parents=True)
        (folder / "README.md").write_text(f"{CARD}---\n")
        for level in LEVELS:
            rows = [
                {
                    "code": f"# {level}.{number}\n{CODE}",
                    "level": level,
                    "name": f"{number}_Name_{number}_",
                    "problem_id": number,
                }
                for number in range(1, level + 2)
            ]
            parquet.write_table(pa.Table.from_pylist(rows), folder / "data" / f"level_{level}-00000-of-00001.parquet")
        yield opened


def fetch(hub: FakeHub, folder: Path, *more: str, endpoint: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tracebench_engine.cli", "kernelbench", "fetch", str(folder), *more]
    home = {"HF_ENDPOINT": endpoint or hub.address, "HF_HOME": str(folder.parent / "home"), "NO_COLOR": "1"}
    return subprocess.run(command, env={**os.environ, **home}, capture_output=True, text=True, timeout=170, check=False)


def test_rows_of_the_hub_become_problems(hub: FakeHub, tmp_path: Path) -> None:
    done = fetch(hub, tmp_path / "data", "--revision", COMMIT)

    assert done.returncode == 0, done.stderr
    assert "14 problems of 4 levels" in done.stdout
    found = list(find_problems(tmp_path / "data"))
    assert [(p.level, p.number) for p in found] == [(n, i) for n in LEVELS for i in range(1, n + 2)]
    assert found[-1].read() == f"# 4.5\n{CODE}"
    assert found[-1].name == "Name_5_"


@pytest.mark.parametrize("case", ["no such revision", "half a download", "no hub"])
def test_what_a_hub_does_not_give_is_one_error_and_no_half_of_a_level(hub: FakeHub, tmp_path: Path, case: str) -> None:
    hub.fault = "half" if case == "half a download" else ""
    more = ("--revision", "b" * 40) if case == "no such revision" else ()

    done = fetch(hub, tmp_path / "data", *more, endpoint="http://127.0.0.1:9" if case == "no hub" else "")

    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert f"`{DATASET}` cannot be loaded" in done.stderr
    assert not list(tmp_path.glob("data/*"))

"""The notebooks run from the first cell to the last, and what is kept of them speaks of no machine."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, object]]:
    return json.loads(path.read_text())["cells"]  # type: ignore[no-any-return]


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 6


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_ready_for_colab_and_kept_with_what_it_shows(path: Path) -> None:
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]

    assert re.search(r'"pip",\s+"install"', "".join(code[0]["source"]))  # type: ignore[arg-type]
    assert not code[0]["outputs"]
    assert sum(bool(cell["outputs"]) for cell in code[1:]) >= len(code[1:]) / 2
    assert all(cell["execution_count"] for cell in code)
    assert "error" not in {output["output_type"] for cell in code for output in cell["outputs"]}  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_names_a_folder_or_an_address_of_a_machine(path: Path) -> None:
    for cell in cells(path):
        for output in cell.get("outputs", []):  # type: ignore[attr-defined]
            texts = [output.get("text", []), *(v for k, v in output.get("data", {}).items() if k.startswith("text/"))]
            told = "".join("".join(text) for text in texts)
            assert not re.search(r"/(tmp|home|root|usr|work|opt)/|127\.0\.0\.1|localhost|\x1b", told), told


@pytest.mark.heavy("notebooks")
@pytest.mark.timeout(3000)  # each cell has a limit of its own
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("nbclient", "ipykernel", "matplotlib", "pandas", "tensorboard"):
        pytest.importorskip(module, reason=f"pip install {module}")
    monkeypatch.syspath_prepend(str(path.parent))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    from execute import execute

    execute(path)

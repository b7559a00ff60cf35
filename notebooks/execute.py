"""Execute the notebooks and keep what they show: `python notebooks/execute.py [NAME…]`. Needs nbclient and ipykernel; about
a minute, and for Terminal-Bench, where Harbor is on the path, one or two more."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
SECONDS, START = 1200, 600
"""That a cell may take, and a kernel to start: of a machine that is busy with other things, too."""
PLACES = (
    (re.compile(r"/tmp/[\w./-]*"), "…"),
    (re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+[\w.+-]*"), "…"),
    (re.compile(r"https?://(?:127\.0\.0\.1|localhost)(?::\d+)?\S*"), "…"),
)
"""What an output must not carry into the repository: folders and addresses of the machine that executed it."""


def execute(path: Path) -> nbformat.NotebookNode:
    """Run a notebook in a fresh kernel; return it with its outputs.

    Raises:
        CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=SECONDS,
        startup_timeout=START,
        kernel_name="python3",
        resources={"metadata": {"path": str(HERE)}},
    ).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            _clean(output)
        if "outputs" in cell:
            cell.outputs = _joined(cell.outputs)
    return notebook


def _joined(outputs: list[Any]) -> list[Any]:
    """Return outputs with what a command wrote in pieces in one piece, as it came."""
    joined: list[Any] = []
    for output in outputs:
        if joined and output.output_type == "stream" == joined[-1].output_type and output.name == joined[-1].name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def _clean(output: Any) -> None:
    if output.output_type == "stream":
        output.text = _told(output.text)
    for kind, value in output.get("data", {}).items():
        if kind.startswith("text/") and isinstance(value, str):
            output.data[kind] = _told(value) if kind == "text/plain" else value


def _told(text: str) -> str:
    for pattern, instead in PLACES:
        text = pattern.sub(instead, text)
    return text


def main() -> None:
    """Execute those that are named, or all, and write each back."""
    for path in sorted(HERE.glob("*.ipynb")):
        if len(sys.argv) == 1 or path.stem in sys.argv[1:]:
            nbformat.write(execute(path), path)
            print(path.name)


if __name__ == "__main__":
    main()

"""Copies CO-Bench's data set from its hub into a folder, by the hub's own client in a process that a deadline ends."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tracebench_core.errors import MissingRequirementError, TraceBenchError
from tracebench_llm4ad.cobench.folder import MAKE

DATA_SET = "CO-Bench/CO-Bench"
SECONDS = 900.0
SCRIPT = """
import sys
from huggingface_hub import snapshot_download
snapshot_download(repo_id=sys.argv[1], repo_type="dataset", local_dir=sys.argv[2], ignore_patterns=["*.py"], etag_timeout=10)
"""


def download(folder: Path, *, seconds: float = SECONDS) -> int:
    """Fetch all files but code into `folder`, one sub-folder for each task, and return how many there are.

    What has arrived before a failure stays, and is not fetched again.

    Raises:
        MissingRequirementError: when the hub's client is not installed.
        TraceBenchError: when the hub cannot be reached, refuses, or is not done after `seconds`.
    """
    if find_spec("huggingface_hub") is None:
        raise MissingRequirementError(
            "Downloading needs the module `huggingface_hub`, which is not installed",
            hint='pip install "tracebench-llm4ad[datasets]"',
        )
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-P", "-c", SCRIPT, DATA_SET, str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603 - our own script
    except subprocess.TimeoutExpired:
        reason = f"it was not done after {seconds:g} seconds"
    else:
        if done.returncode == 0:
            return sum(1 for path in folder.rglob("*") if path.is_file() and ".cache" not in path.parts)
        reason = (done.stderr.strip().splitlines() or [f"its client ended with status {done.returncode}"])[-1]
    raise TraceBenchError(
        f"`{DATA_SET}` could not be downloaded to `{folder}`: {reason}",
        hint=f"try again, copy the data set to the folder by other means, or make small instances: {MAKE}",
    )

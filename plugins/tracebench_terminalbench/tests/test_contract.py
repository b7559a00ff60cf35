"""Each minor of Harbor that the plugin says it drives still is what the plugin uses; a new one cannot break it quietly.

`TRACE_BENCH_HARBOR` names the Harbor that the other heavy tests run with; `TRACE_BENCH_HARBORS` more of them, with `:` between.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tracebench_core.errors import MissingRequirementError
from tracebench_terminalbench.found import BELOW, LOWEST, find_harbor
from tracebench_terminalbench.job_config import SIDE

pytestmark = [
    pytest.mark.heavy("harbor"),
    pytest.mark.timeout(600),
]  # the first import of a Harbor compiles thousands of files
MINORS = [f"0.{minor}" for minor in range(LOWEST[1], BELOW[1])]


def harbors() -> dict[str, str]:
    """Return the Harbor commands at hand by minor version."""
    named = [os.environ.get("TRACE_BENCH_HARBOR"), *os.environ.get("TRACE_BENCH_HARBORS", "").split(":")]
    found = {}
    for command in named:
        try:
            harbor = find_harbor(command or None)
        except MissingRequirementError:
            continue
        found[".".join(harbor.version.split(".")[:2])] = harbor.command
    return found


@pytest.mark.parametrize("minor", MINORS)
def test_everything_that_is_used_of_harbor_is_there(minor: str) -> None:
    command = harbors().get(minor)
    if command is None:
        pytest.skip(
            f"no Harbor {minor} is here: uv tool install --python 3.12 'harbor=={minor}.*', then TRACE_BENCH_HARBORS"
        )

    python, script = Path(command).resolve().parent / "python", Path(__file__).with_name("contract.py")
    environ = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [str(python), "-W", "ignore", str(script), str(SIDE)],
        env=environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HARBOR_TELEMETRY": "0"},
        check=False, capture_output=True, text=True,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]

"""Run one Harbor job as a process, and leave nothing of it: SIGTERM first, so that Harbor removes its sandboxes, then SIGKILL."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracebench_terminalbench.job_config import SIDE

POLL_SECONDS = 0.2
PASSED_ON = (
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
    "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "CONTAINER_HOST",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
"""What Harbor may see of our environment; every other variable, keys before all, stays here."""
_FASTENED = """\
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Ends with the process that started it, SIGKILL included: `PR_SET_PDEATHSIG` outlives the exec of Harbor."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a Harbor job ended. Harbor exits with 0 also when every trial failed."""

    folder: Path
    """Harbor's own folder of the job; missing when it refused the configuration."""
    returncode: int
    out_of_time: bool
    said: str
    """The end of what it printed."""


def run_job(
    command: str,
    config: Mapping[str, Any],
    *,
    folder: Path,
    environ: Mapping[str, str],
    env_file: str | None = None,
    seconds: float | None = None,
    grace: float = 10.0,
    check: Callable[[], None] = lambda: None,
) -> Ended:
    """Run Harbor on a configuration, whose files and output are kept in `folder`.

    Args:
        seconds: after which the job is stopped; what its finished trials measured stands.
        grace: seconds between SIGTERM and SIGKILL.
        check: called a few times a second; what it raises stops the job and goes on to the caller.
    """
    path = folder / "job.json"
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    argv = [command, "run", "-c", str(path), "--yes", *(("--env-file", env_file) if env_file else ())]
    (folder / "command.txt").write_text(shlex.join(argv) + "\n", encoding="utf-8")
    deadline = None if seconds is None else time.monotonic() + seconds
    out_of_time = False
    with (folder / "stdout.txt").open("wb") as out, (folder / "stderr.txt").open("wb") as err:
        process = subprocess.Popen(  # noqa: S603 - Harbor, and our own interpreter that fastens it to this process
            [sys.executable, "-I", "-S", "-c", _FASTENED, str(os.getpid()), *argv],
            stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=dict(environ), cwd=folder, start_new_session=True,
        )  # fmt: skip
        try:
            while process.poll() is None and not out_of_time:
                check()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_SECONDS)
                out_of_time = deadline is not None and time.monotonic() >= deadline
        finally:
            _end(process, grace)
    said = "\n".join(_tail(folder / name) for name in ("stdout.txt", "stderr.txt"))
    return Ended(folder / str(config["job_name"]), process.returncode, out_of_time, said.strip())


def harbor_environ(
    environ: Mapping[str, str], *, extra: Mapping[str, str], api_key: str | None = None, base_url: str | None = None
) -> dict[str, str]:
    """Return the environment of a Harbor process: no key but the gateway's, telemetry off, no look-up of prices.

    `base_url` is the gateway's, for agents of Harbor's that it starts inside of the sandbox.
    """
    kept = {name: environ[name] for name in PASSED_ON if name in environ}
    ours = {"HARBOR_TELEMETRY": "0", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONPATH": str(SIDE)}
    door = {"OPENAI_API_KEY": api_key, "OPENAI_BASE_URL": base_url}
    return {**kept, **ours, **extra, **{name: value for name, value in door.items() if value}}


def _end(process: subprocess.Popen[bytes], grace: float) -> None:
    """Stop Harbor if it still runs, and kill what is left in its group."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(path: Path, characters: int = 1500) -> str:
    text = path.read_text(encoding="utf-8", errors="replace")
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())[-characters:]

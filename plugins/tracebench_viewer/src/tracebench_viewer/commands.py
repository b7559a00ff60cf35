"""The commands that people type, run for a page: what they print as JSON, or their words when they refuse."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from tracebench_core.errors import TraceBenchError, UsageError

PATIENCE = 300.0


def ask(*words: str, at: Path | None = None, found_wanting: bool = False) -> dict[str, Any]:
    """Run `trace-bench WORDS --json` and return the document that it prints; with `found_wanting`, one that ends with exit code 1, too.

    Raises:
        UsageError: with the command's own words when it refuses.
    """
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module; every word is one argument
            [*_ours(), *words, "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            cwd=at,
        )
    except subprocess.TimeoutExpired as err:
        raise UsageError(f"`trace-bench {words[0]}` gave no answer in {PATIENCE:g} seconds.") from err
    if done.returncode != 0 and not (found_wanting and done.returncode == 1):
        raise _refusal(done.stderr)
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError as err:
        raise UsageError(f"`trace-bench {words[0]}` printed no JSON: {done.stdout[:200]!r}.") from err
    return found


def installed(*questions: str) -> list[dict[str, Any]]:
    """Ask commands about what is installed, side by side; each answer is kept until `forget`.

    Raises:
        UsageError: as `ask`.
    """
    with ThreadPoolExecutor(len(questions)) as threads:
        return list(threads.map(_installed, questions))


def forget() -> None:
    """Ask again what is installed when it is next wanted."""
    _installed.cache_clear()


@cache
def _installed(question: str) -> dict[str, Any]:
    return ask(*question.split(), found_wanting=True)


def begin(*words: str, log: Path) -> int:
    """Start a command as a process of its own, its words in `log`, and return its id.

    Raises:
        UsageError: when it cannot be started.
    """
    try:
        with log.open("ab") as sink:
            process = subprocess.Popen(  # noqa: S603 - as above
                [*_ours(), *words], stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
            )
    except OSError as err:
        raise UsageError(f"The command cannot be started: {err}.") from err
    return process.pid


def _ours() -> Sequence[str]:
    return [sys.executable, "-P", "-m", "tracebench_engine.cli"]


def _refusal(stderr: str) -> TraceBenchError:
    lines = stderr.strip().splitlines()
    said = [line.removeprefix("error: ") for line in lines if not line.strip().startswith("hint:")]
    hints = [line.strip().removeprefix("hint:").strip() for line in lines if line.strip().startswith("hint:")]
    return UsageError("\n".join(said[-20:]) or "The command failed and said nothing.", hint=" ".join(hints))

"""git as a subprocess: no hook, no prompt, no configuration but the repository's own; it never touches a working tree or the index."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tracebench_core.errors import MissingRequirementError, UsageError, quoted

_SAFE = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "safe.directory=*", "-c", "gc.auto=0",
    "-c", "protocol.ext.allow=never", "-c", "commit.gpgSign=false",
)  # fmt: skip
_ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C.UTF-8",
}
_PASSED = ("PATH", "HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "https_proxy", "http_proxy", "no_proxy", "HTTPS_PROXY")
CLONE_SECONDS = 600.0


def git(
    folder: Path, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float = 120.0
) -> bytes:
    """Run a git command in a repository and return its output.

    Raises:
        MissingRequirementError: when there is no git.
        UsageError: when git fails or takes too long, with its first complaint.
    """
    environ = {n: os.environ[n] for n in _PASSED if n in os.environ} | _ENV | dict(env or {})
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *_SAFE, "-C", str(folder), *words],  # noqa: S607 - the user's git
            input=stdin, capture_output=True, env=environ, timeout=seconds, check=False,
        )  # fmt: skip
    except FileNotFoundError as err:
        raise MissingRequirementError("git is not installed.", hint="apt-get install git") from err
    except subprocess.TimeoutExpired as err:
        raise UsageError(f"`git {words[0]}` in `{folder}` took longer than {seconds:g} s.") from err
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no words"]
        why = next((line for line in said if line.startswith(("fatal: ", "error: "))), said[-1])
        raise UsageError(f"`git {words[0]}` in `{folder}` failed: {why.rstrip('.')}.")
    return done.stdout


def text(folder: Path, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
    """Return a git command's output without its last line break."""
    return git(folder, *words, stdin=stdin, env=env).decode(errors="replace").rstrip("\n")


def is_repository(folder: Path) -> bool:
    """Say whether a folder is the top of a repository, bare or not; one that merely lies inside a repository is not."""
    return (folder / ".git").exists() or ((folder / "objects").is_dir() and (folder / "HEAD").is_file())


def resolve(folder: Path, revision: str) -> str:
    """Return the full id of a commit.

    Raises:
        UsageError: when the repository does not know it.
    """
    try:
        return text(folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    except UsageError as err:
        if revision == "HEAD":
            raise UsageError(f"`{folder}` has no commit yet.", hint=f"git -C {quoted(folder)} status") from err
        hint = f"git -C {quoted(folder)} log --oneline"
        raise UsageError(f"`{folder}` has no revision `{revision}`.", hint=hint) from err

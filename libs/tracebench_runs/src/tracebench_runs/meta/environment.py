"""`meta/env.json` and `meta/git.json`: what a run was made with. Values of secrets are never read into either."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from tracebench_core.ids import canonical_json, content_hash
from tracebench_core.specs import Runtime

PLAIN_VARIABLES = (
    "CONDA_DEFAULT_ENV", "CUDA_VISIBLE_DEVICES", "HF_DATASETS_OFFLINE", "HF_HUB_OFFLINE", "LANG", "LC_ALL",
    "LITELLM_LOCAL_MODEL_COST_MAP", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENAI_API_BASE",
    "OPENAI_BASE_URL", "PYTHONHASHSEED", "PYTHONPATH", "SLURM_JOB_ID", "TRACEBENCH_PLUGINS", "TRACEBENCH_PREFER",
    "TRACEBENCH_SET_BACK", "TRACEBENCH_STRICT_PLUGINS",
    "TRACE_LITELLM_MODEL", "TZ", "VIRTUAL_ENV",
)  # fmt: skip
SECRET_VARIABLES = (
    "ANTHROPIC_API_KEY", "AZURE_API_KEY", "COHERE_API_KEY", "DEEPSEEK_API_KEY", "GEMINI_API_KEY", "GROQ_API_KEY",
    "HF_TOKEN", "MISTRAL_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "TOGETHER_API_KEY", "WANDB_API_KEY",
)  # fmt: skip
_INSTALLED = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+)\.(?:dist|egg)-info")
_GIT_PATIENCE = 10.0
_DIGITS = 16
_SHOWN = 5


def read_environment(*, secrets: Iterable[str] = ()) -> dict[str, Any]:
    """Describe the machine and the interpreter; `secrets` names the variables that hold keys, here or in a pipe: told as set only."""
    return {
        "python": {
            "version": platform.python_version(),
            "implementation": platform.python_implementation(),
            "executable": sys.executable,
        },
        "platform": {
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
            "text": _platform_text(),
        },
        "cpu": {"model": _cpu_model(), "count": os.cpu_count(), "usable": len(os.sched_getaffinity(0))},
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "packages": dict(sorted(installed_packages(sys.path))),
        "variables": _variables(os.environ, given=set(secrets)),
    }


@lru_cache
def runtime() -> Runtime:
    """Return what jobs of this process run with."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return Runtime(python=python, packages=packages_digest(dict(installed_packages(sys.path))))


def packages_digest(packages: Mapping[str, str]) -> str:
    """Return what stands for a set of packages with their versions."""
    return content_hash(canonical_json(dict(sorted(packages.items()))))[:_DIGITS]


def changed_since(env: Mapping[str, Any]) -> list[str]:
    """Return in words what differs here from the interpreter and packages that an `env.json` tells of."""
    then, now = env.get("packages") or {}, dict(installed_packages(sys.path))
    python = (env.get("python") or {}).get("version")
    words = (
        [] if python in {None, platform.python_version()} else [f"Python {python} is now {platform.python_version()}"]
    )
    names = sorted(name for name in {*then, *now} if then and then.get(name) != now.get(name))
    words += [f"{name} {then.get(name, '-')} is now {now.get(name, '-')}" for name in names[:_SHOWN]]
    return words + ([f"{len(names) - _SHOWN} more packages"] if len(names) > _SHOWN else [])


def installed_packages(folders: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and version of every installed distribution, as its metadata folder is called (PyPA, recording installed projects).

    The earliest folder on the path wins, as it does at import.
    """
    seen: set[str] = set()
    for folder in folders:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 - names are all that is needed
        except OSError:
            continue
        for found in map(_INSTALLED.fullmatch, names):
            if found is not None:
                name = re.sub(r"[-_.]+", "-", found["name"]).lower()
                if name not in seen:
                    seen.add(name)
                    yield name, found["version"]


@dataclass(frozen=True, slots=True)
class GitState:
    """The commit that a folder is at; all None with a reason when there is none."""

    commit: str | None = None
    branch: str | None = None
    """None on a detached head."""
    dirty: bool | None = None
    """Whether tracked files differ from the commit."""
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the content of `git.json`."""
        return asdict(self)


def read_git(folder: Path) -> GitState:
    """Ask git for the state of the project that `folder` belongs to. Takes no lock and writes nothing there."""
    git = shutil.which("git")
    if git is None:
        return GitState(reason="git is not installed")
    command = [git, "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=_GIT_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        return GitState(reason=f"git could not be asked: {err}")
    if done.returncode != 0:
        return GitState(reason=(done.stderr.strip().splitlines() or ["not a git repository"])[0])
    lines = done.stdout.splitlines()
    heads = dict(line.removeprefix("# branch.").split(" ", 1) for line in lines if line.startswith("# branch."))
    commit, branch = heads.get("oid"), heads.get("head")
    return GitState(
        commit=None if commit in {None, "(initial)"} else commit,
        branch=None if branch in {None, "(detached)"} else branch,
        dirty=any(not line.startswith("#") for line in lines),
        reason="no commit yet" if commit == "(initial)" else "",
    )


def _variables(environ: Mapping[str, str], *, given: set[str]) -> dict[str, Any]:
    secrets = given | set(SECRET_VARIABLES)
    plain = {name: _without_login(environ[name]) for name in PLAIN_VARIABLES if name in environ and name not in secrets}
    return plain | {name: "set" if name in given or environ.get(name) else "unset" for name in sorted(secrets)}


def _without_login(value: str) -> str:
    """Return an address without the user and password that it may carry; any other text as it is."""
    if "://" not in value or "@" not in value:
        return value
    try:
        parts = urlsplit(value)
    except ValueError:
        return "unreadable address"
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _platform_text() -> str:
    """Return system, release, machine and C library as `platform.platform` does, which runs `uname -p` for nothing."""
    system = os.uname()
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    return "-".join(
        [system.sysname, system.release, system.machine, *(["with", libc.replace(" ", "")] if libc else [])]
    )


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor()

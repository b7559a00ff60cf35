"""An experiment's own Python: an environment from a file of its revision, made once, or an interpreter that is here."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracebench_autoresearch.sources.cache import environments, locked
from tracebench_autoresearch.sources.snapshot import Snapshot, write_files
from tracebench_core.errors import MissingRequirementError, PluginError, UsageError
from tracebench_engine.api.interpreters import build_environment, find_python, find_uv, has_python

PYTHON = ">=3.11"
_READY = "ready"
_CONDA = frozenset({"python", "pip"})
"""Packages of conda that an environment has anyway."""
_FOLLOWED = re.compile(r"(?:-r|--requirement|-c|--constraint)[\s=]*(\S+)")
_LOCAL = re.compile(r"-e\b|--editable\b|\.{0,2}/|\.$|\.\[|file:|\S+\s*@\s*file:")
"""A requirement that is a folder or a file of the revision (pip's requirements file format)."""


def open_python(named: str, snapshot: Snapshot) -> Path:
    """Return the interpreter that an experiment names: by its path, as `trace-bench pythons` does, or by a file of the revision.

    Raises:
        UsageError: when there is no such file or interpreter, or its packages are not to be had from PyPI alone.
        MissingRequirementError: when `uv` is needed and is not here, or no Python that will do.
        PluginError: when its packages cannot be installed.
    """
    if (place := Path(named).expanduser()).is_absolute():
        if not place.is_file():
            raise UsageError(f"`environment`: there is no interpreter `{place}`.")
        return place
    if named in snapshot.texts:
        return _built(named, snapshot)
    if has_python(named):
        return Path(find_python(named))
    raise UsageError(
        f"`environment: {named}` is neither a file of the revision nor an interpreter that was built.",
        hint="trace-bench pythons list",
    )


def _built(name: str, snapshot: Snapshot) -> Path:
    """Return the interpreter of an environment that the file describes; the same files make one and the same."""
    home = environments() / environment_key(name, snapshot)
    with locked(home):
        if not (home / _READY).is_file():
            shutil.rmtree(home, ignore_errors=True)
            try:
                _build(name, snapshot, home)
            except BaseException:
                shutil.rmtree(home, ignore_errors=True)
                raise
            (home / _READY).write_text(f"{name} of {snapshot.revision}\n")
    return home / "bin" / "python"


def environment_key(name: str, snapshot: Snapshot) -> str:
    """Return what an environment is kept by: 24 hexadecimal digits over the files that it depends on."""
    texts = snapshot.texts
    read = (f"{path}\0{texts[path]}" for path in _read_for(name, texts))
    return hashlib.sha256("\0".join(read).encode()).hexdigest()[:24]


def _read_for(name: str, texts: Mapping[str, str]) -> list[str]:
    """Return the files that an environment depends on: its own, and those that these lead to.

    Raises:
        UsageError: when one of them installs what lies in the revision, where a candidate's edits would not reach.
    """
    found: dict[str, None] = {}
    left = [name, str(Path(name).with_name("pyproject.toml"))]
    while left:
        path = left.pop()
        if path in found or path not in texts:
            continue
        found[path] = None
        for line in texts[path].splitlines() if path.endswith((".txt", ".in", ".yml", ".yaml")) else ():
            wanted = line.strip().removeprefix("- ").strip("\"' ")
            if _LOCAL.match(wanted):
                raise UsageError(
                    f"`{path}` installs `{wanted}`, a copy of the experiment's own files that no candidate could edit.",
                    hint="leave the line out, and name the folder in the command: run: env PYTHONPATH=src python …",
                )
            if named := _FOLLOWED.match(wanted):
                left.append(os.path.normpath(Path(path).parent / named[1]))
    return sorted(found)


def _build(name: str, snapshot: Snapshot, home: Path) -> None:
    what = f"The environment of `{name}`"
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        write_files(snapshot, work)
        if Path(name).name == "uv.lock":
            wanted = ["-r", str(_exported((work / name).parent, what))]
        elif Path(name).suffix in {".yml", ".yaml"}:
            wanted = _pip_part(name, snapshot.texts[name])
        else:
            wanted = ["-r", str(work / name)]
        build_environment(what, home, python=PYTHON, requirements=wanted)


def _exported(project: Path, what: str) -> Path:
    """Write what a lock file pins as requirements, with their hashes, but for what lies in the revision, which candidates edit."""
    if (uv := find_uv()) is None:
        raise MissingRequirementError(f"{what} is read by `uv`, which is not here.", hint='pip install "uv>=0.9,<1"')
    words = ("export", "--frozen", "--no-emit-local", "--no-dev", "--no-header", "--quiet", "-o", "pinned.txt")
    done = subprocess.run([uv, *words], cwd=project, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise PluginError(f"{what} cannot be read: {done.stderr.strip()[-2000:]}")
    return project / "pinned.txt"


def _pip_part(name: str, text: str) -> list[str]:
    """Return the packages below `pip:` of a conda environment.

    Raises:
        UsageError: when it wants others of conda, which are not installed here, or is no such file.
    """
    import yaml  # noqa: PLC0415 - only for files of the user's

    try:
        listed: Any = yaml.safe_load(text)["dependencies"]
    except (yaml.YAMLError, KeyError, TypeError) as err:
        raise UsageError(f"`{name}` has no list `dependencies`, as an environment of conda does.") from err
    found: list[str] = []
    for entry in listed or ():
        if isinstance(entry, dict) and set(entry) == {"pip"}:
            found += [str(one) for one in entry["pip"] or ()]
        elif re.split(r"[^\w.-]", str(entry).rpartition("::")[2], maxsplit=1)[0] not in _CONDA:
            raise UsageError(
                f"`{name}` wants `{entry}` of conda, and only its part `pip:` can be installed here.",
                hint="name a requirements file, or the interpreter of an environment that conda made, in `environment`",
            )
    return found

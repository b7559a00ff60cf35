"""Models that modules call by the names of a hub: folders `models/<name>` of the root, which `trace-bench kernelbench models` prepares.

Nothing is fetched while a candidate is judged. A folder says by the sums in `SHA256SUMS` what belongs to it; where these name no weights,
or where a request brings a configuration of its own, weights are made from a seed, as those of any other module.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tracebench_core.contracts import NotMeasured

FOLDER, SUMS, CONFIG = "models", "SHA256SUMS", "config.json"
WEIGHTS = (".safetensors", ".bin", ".pt", ".h5", ".msgpack")
"""How files of weights end."""
_LIBRARIES = frozenset({"transformers", "huggingface_hub"})
_LONGEST = 200
_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")
Told = Mapping[str, Mapping[str, Any]]
"""By a model's name what a session is told of it: `path`, a folder with weights, or `config`, for weights from a seed."""


def is_name(name: str) -> bool:
    """Say whether a hub could know a model by this name, which is a place below a folder and nowhere else."""
    return bool(_NAME.fullmatch(name)) and len(name) <= _LONGEST


def wraps_model(code: str) -> bool:
    """Say whether a module is made around a model of a hub."""
    return not _imported(code).isdisjoint(_LIBRARIES)


def told_models(code: str, given: Mapping[str, Mapping[str, Any]], root: str) -> Told:
    """Return what is there of the models that a module names in its text: `given` configurations, and folders below `root`.

    Raises:
        NotMeasured: for a folder that is not as it was prepared.
    """
    told: dict[str, Mapping[str, Any]] = {name: {"config": config} for name, config in given.items()}
    for name in sorted(_texts(code)) if root else ():
        place = Path(root, FOLDER, name)
        if name not in told and (place / CONFIG).is_file():
            told[name] = _whole(place, command(root, name))
    return told


def command(root: str, name: str) -> str:
    """Return what prepares a model."""
    return f"trace-bench kernelbench models {root or 'ROOT'} {name}"


def read_sums(place: Path) -> dict[str, str]:
    """Return the sums of a folder's files, by name.

    Raises:
        OSError: where there are none.
        ValueError: for a line that is no sum and a name within the folder.
    """
    found = {}
    for number, line in enumerate((place / SUMS).read_text(encoding="utf-8").splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None or not is_name(match[2]):
            raise ValueError(f"line {number} of `{SUMS}` is no sum and a name")
        found[match[2]] = match[1]
    return found


def write_sums(place: Path) -> dict[str, str]:
    """Write down what a folder holds, its configuration and weights, and return it."""
    names = sorted(path.name for path in place.iterdir() if path.is_file() and path.suffix in {".json", *WEIGHTS})
    sums = {name: _sum(place / name) for name in names}
    (place / SUMS).write_text("".join(f"{sums[name]}  {name}\n" for name in names), encoding="utf-8")
    return sums


def _whole(place: Path, prepare: str) -> Mapping[str, Any]:
    """Return what a session is told of a folder whose files are those that were prepared."""
    try:
        sums = read_sums(place)
        held = {path.name for path in place.iterdir() if path.suffix in WEIGHTS} | {CONFIG}
        changed = [name for name, digest in sums.items() if _sum(place / name) != digest]
    except (OSError, ValueError) as err:
        raise NotMeasured(f"The model in `{place}` was not prepared ({err}): {prepare}", retry=False) from err
    if wrong := sorted({*changed, *(held - sums.keys())}):
        raise NotMeasured(f"`{place / wrong[0]}` is not the file that was prepared: {prepare}", retry=False)
    if any(name.endswith(WEIGHTS) for name in sums):
        return {"path": str(place)}
    try:
        config = json.loads((place / CONFIG).read_text(encoding="utf-8"))
    except ValueError as err:
        raise NotMeasured(f"`{place / CONFIG}` is no JSON: {err}", retry=False) from err
    return {"config": config}


def _sum(path: Path) -> str:
    about = path.stat()
    return _summed(path, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=1024)
def _summed(path: Path, _size: int, _changed: int) -> str:
    """Return a file's sum: gigabytes are read once, as long as their size and time stay."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _imported(code: str) -> set[str]:
    nodes = list(_nodes(code))
    named = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    named += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in named}


def _texts(code: str) -> set[str]:
    texts = (node.value for node in _nodes(code) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {text for text in texts if is_name(text)}


def _nodes(code: str) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(code)))
    except SyntaxError:  # which is told where it is run
        return []

"""Files and folders of a command line as values of a task's parameters."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracebench_core.errors import UsageError, quoted
from tracebench_engine.api.console import output

if TYPE_CHECKING:
    from tracebench_core.specs import Parameter

MOST_NAMED = 10
MOST_FILES = 2000
"""Of a folder."""
LARGEST = 1 << 26
"""Bytes of a file; a pipe that nobody fills and a device without an end would be read for ever."""
CODE = frozenset({".py", ".lean", ".v", ".c", ".cpp", ".cu", ".js", ".rs", ".sh"})
"""Suffixes of files that are no prose."""
PASSED_OVER = frozenset({"__pycache__", "node_modules"})


def read_all(
    files: Sequence[Path], parameters: Sequence[Parameter], task: str
) -> tuple[dict[str, dict[str, Any]], dict[str, UsageError]]:
    """Return the values of each file that has some, and what is wrong with each other one, which is told on standard error.

    Raises:
        UsageError: that of the only file, or one of several of which none has values.
    """
    values: dict[str, dict[str, Any]] = {}
    refused: dict[str, UsageError] = {}
    for file in dict.fromkeys(files):
        try:
            values[str(file)] = read_values(file, parameters, task)
        except UsageError as err:
            refused[str(file)] = err
    if refused and not values:
        first = next(iter(refused.values()))
        if len(refused) == 1:
            raise first
        raise UsageError("; ".join(map(str, refused.values())), hint=first.hint)
    for why in refused.values():
        output.note(output.safe(f"left out: {why}" + (f"  hint: {why.hint}" if why.hint else "")))
    return values, refused


def read_values(file: Path, parameters: Sequence[Parameter], task: str) -> dict[str, Any]:
    """Return the values that a file or a folder gives to parameters.

    Raises:
        UsageError: when it cannot be read, or holds no values for them.
    """
    names = ", ".join(f"`{p.name}`" for p in parameters)
    if file.is_dir():
        held = _of_folder(file, parameters)
        if not held:
            raise UsageError(
                f"`{file}` holds nothing for the task.", hint=f"its parameters are {names}; ls {quoted(file)}"
            )
        return _checked(file, held, parameters)
    if file.exists() and not (file.is_file() and file.stat().st_size <= LARGEST):
        why = f"it has more than {LARGEST:,} bytes" if file.is_file() else "it is a pipe or a device, and no file"
        raise UsageError(f"`{file}` cannot be read: {why}.", hint=shlex.join(["ls", "-l", str(file)]))
    try:
        text = file.read_text(encoding="utf-8")
        values = json.loads(text) if file.suffix == ".json" else None
    except (OSError, ValueError, RecursionError) as err:
        raise UsageError(f"`{file}` cannot be read: {err}", hint=shlex.join(["ls", "-l", str(file)])) from err
    if values is None:
        values = _of_one_text(file, text, parameters, task)
    if not isinstance(values, dict):
        raise UsageError(f"`{file}` holds no object of values by parameter.", hint=f"its keys are of {names}")
    return _checked(file, values, parameters)


def _checked(file: Path, values: dict[str, Any], parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return values that the task's parameters take."""
    from tracebench_engine.api.evaluating import breach

    if why := breach(parameters, {p.name: p.initial for p in parameters} | values):
        names = ", ".join(f"`{p.name}`" for p in parameters)
        raise UsageError(f"`{file}` cannot be evaluated: {why}", hint=f"the task's parameters are {names}")
    return values


def _of_one_text(file: Path, text: str, parameters: Sequence[Parameter], task: str) -> dict[str, Any]:
    """Return the values that one text gives: to the one parameter or file that takes one, else to that of its name."""
    texts = [p for p in parameters if p.kind in {"text", "code"}]
    kind = "code" if file.suffix in CODE else "text"
    of_kind = [p for p in texts if p.kind == kind]
    named = [p for p in texts if p.name == file.stem]
    meant = texts if len(texts) == 1 else named or (of_kind if len(of_kind) == 1 else [])
    if meant:
        return {meant[0].name: text}
    trees = [(p, dict(p.initial)) for p in parameters if p.kind == "files" and isinstance(p.initial, dict)]
    every = [(p, path, tree) for p, tree in trees for path in sorted(tree)]
    found = every if len(every) == 1 and not texts else [e for e in every if e[1] in _alike(file, e[2])]
    if len(found) == 1:
        parameter, path, tree = found[0]
        return {parameter.name: {**tree, path: text}}
    known = [f"{p.name}{file.suffix}" for p in texts] + [path for _, path, _ in every]
    if not known:
        raise UsageError(
            f"`{file}` is one text, and the task has no parameter that takes one.",
            hint=f"give a `.json` file with an object of values by parameter: {', '.join(p.name for p in parameters)}",
        )
    which = [path for _, path, _ in found] or known
    words = "it may be any of these" if found else "it has the name of none"
    target = f"given/{which[0]}"
    raise UsageError(
        f"`{file}` is one text, and the task has {len(known)} that it may be; {words}: {', '.join(f'`{k}`' for k in which[:MOST_NAMED])}.",
        hint=" && ".join(
            (
                shlex.join(["mkdir", "-p", str(Path(target).parent)]),
                shlex.join(["cp", str(file), target]),
                output.command("evaluate", task, target),
            )
        ),
    )


def _alike(file: Path, tree: Mapping[str, Any]) -> list[str]:
    """Return the paths of a tree that end as the path of a file does, those that share most; none when not even the names are equal."""
    given = file.absolute().parts
    lengths = {}
    for path in tree:
        parts = Path(path).parts
        same = 0
        while same < min(len(parts), len(given)) and parts[-1 - same] == given[-1 - same]:
            same += 1
        lengths[path] = same
    longest = max(lengths.values(), default=0)
    return [path for path, same in lengths.items() if same == longest] if longest else []


def _of_folder(folder: Path, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the values that a folder gives: a file of each parameter's name, or the files of the one tree, laid over what it has."""
    texts = [p for p in parameters if p.kind in {"text", "code"}]
    trees = [(p.name, p.initial) for p in parameters if p.kind == "files" and isinstance(p.initial, dict)]
    found = {path.relative_to(folder).as_posix(): path for path in _files_below(folder)}
    if len(trees) == 1:
        below = {name: _text_of(path) for name, path in found.items()}
        return {trees[0][0]: {**trees[0][1], **below}} if below else {}
    named = {p.name: [path for path in found.values() if path.parent == folder and path.stem == p.name] for p in texts}
    for name, paths in named.items():
        if len(paths) > 1:
            raise UsageError(
                f"`{folder}` has several files for `{name}`: {', '.join(f'`{p.name}`' for p in paths)}.",
                hint=f"keep one of them: {shlex.join(['ls', str(folder)])}",
            )
    return {name: _text_of(paths[0]) for name, paths in named.items() if paths}


def _files_below(folder: Path) -> list[Path]:
    """Return the plain files below a folder, without hidden ones and caches."""
    kept: list[Path] = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if (
            any(part.startswith(".") or part in PASSED_OVER for part in parts)
            or path.is_symlink()
            or not path.is_file()
        ):
            continue
        kept.append(path)
        if len(kept) > MOST_FILES:
            raise UsageError(
                f"`{folder}` holds more than {MOST_FILES:,} files.",
                hint=f"name the folder of the program alone, or its files: {shlex.join(['ls', str(folder)])}",
            )
    return kept


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as err:
        raise UsageError(f"`{path}` cannot be read: {err}", hint=shlex.join(["ls", "-l", str(path)])) from err

"""Tasks, trainers and other parts that one file holds, without a package: `./my_task.py:task`.

In ids the file's content is part of the name, `./my_task.py@3fa9c2d10b7e:task`: results of two versions of a file never meet under one
name, and a run cannot go on with a file that has changed.
"""

from __future__ import annotations

import inspect
import os
import posixpath
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from tracebench_core.errors import MissingRequirementError, PluginError, UsageError, quoted
from tracebench_core.ids import content_hash, did_you_mean
from tracebench_core.registry import settings_of, spec_of, title_of
from tracebench_core.specs import Component, Source, TaskSpec, TrainerSpec
from tracebench_core.specs.renamed import told

HOME = "TRACEBENCH_HOME"
"""The variable that tells the processes of a run in which folder it was started: relative paths begin there."""
DIGEST_DIGITS = 12
MODULE = "_tracebench_file_"
LARGEST = 4_000_000
"""Bytes of one file."""
WRITTEN = re.compile(r"(?P<path>[^:\0]+\.py)(@(?P<digest>[0-9a-f]{12}))?:(?P<name>[A-Za-z_]\w*)")
PLUGIN = re.compile(r"(?P<path>[^:\0]+\.py)@(?P<digest>[0-9a-f]{12})")
S = TypeVar("S", TaskSpec, Component)


class ImportedFile(NamedTuple):
    """A file that was imported."""

    plugin: str
    """Its name with its content, as it stands in ids."""
    module: ModuleType
    hash: str


class FilePart(NamedTuple):
    """What an id of a part in a file says."""

    path: str
    digest: str | None
    """The content that is demanded; None for whatever the file holds now."""
    name: str


def file_part(written: str) -> FilePart | None:
    """Return the file and name that an id means, or None when it is no such id."""
    found = WRITTEN.fullmatch(written)
    if found is None:
        return None
    path = posixpath.normpath(os.path.expanduser(found["path"]))  # noqa: PTH111 - a text, as it stays in ids
    return FilePart(path if path.startswith(("/", "../")) else f"./{path}", found["digest"], found["name"])


def is_file_plugin(name: str) -> bool:
    """Tell whether a plugin's name is that of a file with its content."""
    return PLUGIN.fullmatch(name) is not None


def import_file(path: str, digest: str | None = None) -> ImportedFile:
    """Import a file under a module name that its content makes. What is imported is what was hashed; `digest` demands that content.

    Raises:
        UsageError: there is no such file.
        PluginError: it has changed, or it fails to import.
        MissingRequirementError: it imports what is not installed.
    """
    if digest is not None and (known := sys.modules.get(f"{MODULE}{digest}")) is not None:
        return ImportedFile(f"{path}@{digest}", known, known.__dict__["__file_hash__"])
    source = _read(path)
    whole = content_hash(source)
    found = whole[:DIGEST_DIGITS]
    if digest not in {None, found}:
        raise PluginError(
            f"`{path}` has changed: the run was planned with its content {digest}, and now it is {found}.",
            hint="put the file back as it was, or start a new run",
        )
    name = f"{MODULE}{found}"
    if (known := sys.modules.get(name)) is not None:
        return ImportedFile(f"{path}@{found}", known, whole)
    module = ModuleType(name)
    module.__dict__["__file_hash__"] = whole
    module.__file__ = str(_locate(path).resolve())
    sys.modules[name] = module
    try:
        exec(compile(source, module.__file__, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - the user's own file
    except BaseException as err:
        sys.modules.pop(name, None)  # half of it is none, also for who goes on after Ctrl-C
        if not isinstance(err, Exception | SystemExit):
            raise
        if isinstance(err, ModuleNotFoundError):
            raise MissingRequirementError(
                f"`{path}` imports `{err.name}`, which is not installed; a part in a file stands alone, without modules beside it.",
                hint="install it, or make a package of several modules:  trace-bench init suite my_suite",
            ) from err
        raise PluginError(f"`{path}` cannot be imported: {told(err)}{_place(err, module)}") from err
    return ImportedFile(f"{path}@{found}", module, whole)


def describe_task(part: FilePart, module: ModuleType) -> TaskSpec:
    """Return the task of a name in a module: its own `TaskSpec`, or one made for a function that builds a task.

    Raises:
        UsageError: there is no such name.
        PluginError: it is neither.
    """
    held = _held(part, module)
    held = spec_of(held) or held
    if isinstance(held, TaskSpec):
        return _own(held, held.model_copy(update={"name": part.name}), part)
    build = _callable(part, held, TaskSpec)
    needed = [p for p in _parameters(build) if p != "splits"]
    if needed:
        raise PluginError(
            f"`{part.path}:{part.name}` needs the argument `{needed[0]}`: a task with options says so in a `TaskSpec`.",
            hint='task = TaskSpec(name="task", loader=f"{__name__}:build", options=f"{__name__}:Options", title="…")',
        )
    return _spec(TaskSpec, part, loader=f"{module.__name__}:{part.name}", title=_title(part, build))


def describe_component(kind: type[Component], part: FilePart, file: ImportedFile) -> Component:
    """Return the trainer, guide, … of a name in a module: its own spec, or one made for a class or function.

    The settings of a made trainer are the model that annotates the first parameter; without it, any keyword is handed on.

    Raises:
        UsageError: there is no such name.
        PluginError: it is neither.
    """
    module, id_ = file.module, f"{file.plugin}:{part.name}"
    held = _held(part, module)
    held = spec_of(held) or held
    source = Source(module=module.__name__, qualname=part.name, file_hash=file.hash)
    if isinstance(held, Component):
        if not isinstance(held, kind):
            raise PluginError(f"`{part.path}:{part.name}` is a `{type(held).__name__}`, not a `{kind.__name__}`.")
        return _own(held, held.model_copy(update={"name": id_, "source": source}), part)
    build = _callable(part, held, kind)
    fields: dict[str, Any] = {"loader": f"{module.__name__}:{part.name}", "title": _title(part, build)}
    if kind is TrainerSpec and (model := settings_of(build)) is not None:
        fields["settings"] = model
    return _spec(kind, part, source=source, **fields).model_copy(update={"name": id_})


def _locate(path: str) -> Path:
    return Path(os.environ.get(HOME, ".")) / path


def _read(path: str) -> bytes:
    file = _locate(path)
    try:
        with file.open("rb") as stream:
            source = stream.read(LARGEST + 1)
    except OSError as err:
        beside = [p.name for p in file.parent.glob("*.py")] if os.path.isdir(file.parent) else []  # noqa: PTH112 - a path too long is none
        near = did_you_mean(file.name, beside)
        raise UsageError(f"`{path}` cannot be read: {err.strerror}.{near}", hint=f"ls {quoted(file.parent)}") from err
    if len(source) > LARGEST:
        raise UsageError(f"`{path}` is larger than {LARGEST:,} bytes.", hint=shlex.join(["ls", "-l", str(path)]))
    return source


def _place(err: BaseException, module: ModuleType) -> str:
    """Return ` (line N)` of the file itself where its import failed."""
    if isinstance(err, SyntaxError) and err.filename == module.__file__:
        return ""  # its text says the line
    lines = []
    trace = err.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == module.__file__:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f" (line {lines[-1]})" if lines else ""


def _held(part: FilePart, module: ModuleType) -> Any:
    try:
        return getattr(module, part.name)
    except AttributeError as err:
        own = [
            n
            for n, v in vars(module).items()
            if not n.startswith("_") and getattr(v, "__module__", module.__name__) == module.__name__
        ]
        near = did_you_mean(part.name, own)
        raise UsageError(
            f"`{part.path}` holds no `{part.name}`.{near}", hint=f"it holds: {', '.join(own) or 'nothing'}"
        ) from err


def _callable(part: FilePart, held: Any, kind: type[TaskSpec] | type[Component]) -> Callable[..., Any]:
    if not callable(held):
        raise PluginError(
            f"`{part.path}:{part.name}` is a `{type(held).__name__}`; it must be a `{kind.__name__}`, a class, or a function."
        )
    if kind in {TaskSpec, TrainerSpec}:
        try:
            inspect.signature(held)
        except ValueError as err:  # of what is written in C
            raise PluginError(
                f"`{part.path}:{part.name}` does not say which arguments it takes: write a function that calls it."
            ) from err
    return held  # type: ignore[no-any-return]  # callable, as just asked


def _parameters(build: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters that must be given."""
    ask = inspect.Parameter
    return [
        name
        for name, p in inspect.signature(build).parameters.items()
        if p.default is ask.empty and p.kind not in {ask.VAR_POSITIONAL, ask.VAR_KEYWORD}
    ]


def _title(part: FilePart, build: Callable[..., Any]) -> str:
    return title_of(build) or f"{part.name} of {part.path}"


def _spec(kind: type[S], part: FilePart, **fields: Any) -> S:
    try:
        return kind(name=part.name, **fields)
    except ValidationError as err:
        raise PluginError(f"`{part.path}:{part.name}` makes no `{kind.__name__}`: {told(err)}") from err


def _own(held: TaskSpec | Component, named: S, part: FilePart) -> S:
    """Return a spec that the file itself holds; what it names must be found under the file's own module name.

    Raises:
        PluginError: its loader names another module that is not to be had.
    """
    owner = held.loader.partition(":")[0]
    if owner == Path(part.path).stem:
        raise PluginError(
            f"`{part.path}:{part.name}` names its loader `{held.loader}`, and a part in a file has no module of that name.",
            hint=f'write it as  loader=f"{{__name__}}:{held.loader.partition(":")[2]}"',
        )
    return named

"""`init`: write a whole package to begin a plugin from, or a commented config of what is installed."""

from __future__ import annotations

import enum
import os
import re
import shlex
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from tracebench_core.errors import UsageError, quoted, typed
from tracebench_engine.api.console import output
from tracebench_engine.api.console.writing import draft_beside, put_new

NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
SUFFIX = ".tmpl"
SEVERAL = 12
"""Tasks and trainers that a config lists in its comments."""


class PackageKind(enum.StrEnum):
    """What the package offers."""

    SUITE = "suite"
    TRAINER = "trainer"
    LOGGER = "logger"
    EXECUTOR = "executor"
    VIEW = "view"


DESCRIPTIONS = {
    "suite": "A suite of tasks for Trace-Bench.",
    "trainer": "A trainer for Trace-Bench.",
    "logger": "A logger of jobs for Trace-Bench.",
    "executor": "An executor for Trace-Bench: where jobs run.",
    "view": "A view of runs for Trace-Bench.",
}
USES = {
    "suite": "Its task is `@@name@@:sorting`:  `trace-bench evaluate @@name@@:sorting`",
    "trainer": "Name it in a config:  `trainers: [@@Class@@]`",
    "logger": "Name it in a config:  `trainers: [{id: RandomSearch, logger: @@Class@@}]`",
    "executor": "Name it in a config:  `executor: @@Class@@`",
    "view": "`trace-bench show RUN` and reports draw it where it has something to show.",
}
group = typer.Typer(name="init", help="Write a plugin's package, or a config, to start from.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The plugin's name: small letters, digits, `_` and `-`.")]
Into = Annotated[Path, typer.Option("--into", metavar="DIR", help="The folder that the package's folder is made in.")]
HERE = Path()


def _command(kind: PackageKind) -> Callable[..., None]:
    def init(name: Name, *, into: Into = HERE) -> None:
        folder = write_package(kind, name, into)
        output.line(str(folder))
        output.note(
            typed(
                f"Next:  cd {quoted(folder)} && pip install -e '.[test]' && pytest && trace-bench plugins check {_plugin(name)}"
            )
        )

    init.__doc__ = f"Write a package with one {kind.value} and its tests. It has all that publishing takes."
    return init


for _kind in PackageKind:
    group.command(_kind.value)(_command(_kind))


@group.command()
def config(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")] = Path("bench.yaml"),
) -> None:
    """Write a commented config of what is installed; it runs as it is."""
    from tracebench_engine.api.installed.hosting import Catalog, open_host

    catalog = open_host().catalog()
    tasks = [i for i, s in catalog.tasks.items() if i not in catalog.excluded and not Catalog.availability(s)]
    trainers = [n for n, s in sorted(catalog.trainers.items()) if not Catalog.availability(s)]
    text = (_templates() / f"config.yaml{SUFFIX}").read_text(encoding="utf-8")
    suites = dict.fromkeys(i.partition(":")[0] for i in tasks)
    examples = [next(i for i in tasks if i.startswith(f"{suite}:")) for suite in suites]
    filled = _fill(
        text,
        {
            "tasks": "\n".join(f"  # - {i}" for i in examples[:SEVERAL] if i != "internal:numeric_param"),
            "trainers": "\n".join(
                f"  # - {n}" for n in trainers[: 2 * SEVERAL] if n not in {"NoOp", "SequentialRefine"}
            ),
        },
    )
    _write(file, filled)
    output.line(str(file))
    output.note(f"Next:  {output.command('validate', '--config', file, '--strict')}")


def write_package(kind: PackageKind, name: str, into: Path) -> Path:
    """Write a package and return its folder.

    Raises:
        UsageError: the name cannot be one, is taken, or its folder is there.
    """
    from tracebench_engine.api.installed.hosting import core_version, open_host

    if not NAME.fullmatch(name):
        raise UsageError(
            f"`{name}` cannot be a plugin's name: small letters, digits, `_` and `-`, beginning with a letter.",
            hint=f"trace-bench init {kind.value} {re.sub('[^a-z0-9]+', '_', name.lower()).strip('_0123456789') or 'mine'}",
        )
    plugin = _plugin(name)
    host, other = open_host(), f"trace-bench init {kind.value} {plugin}_2"
    if plugin in host.records:
        raise UsageError(f"A plugin `{plugin}` is installed already.", hint=other)
    class_ = "".join(part.capitalize() for part in re.split("[_-]", name))
    owner = next((by for part, by in host.catalog().origin.items() if part == (kind.value, class_)), None)
    if owner is not None:
        raise UsageError(
            f"The plugin `{owner}` offers a {kind.value} `{class_}`, and nobody may offer another.", hint=other
        )
    short = name.replace("_", "-")
    release = [int(n) for n in re.findall(r"\d+", core_version())[:2]] or [0, 1]
    upper = f"{release[0]}.{release[1] + 1}" if release[0] == 0 else f"{release[0] + 1}"
    bounds = f">={release[0]}.{release[1]},<{upper}"
    words = {
        "name": plugin,
        "package": f"tracebench_{plugin}",
        "distribution": f"tracebench-{short}",
        "Class": class_,
        "title": " ".join(re.split("[_-]", name)).capitalize(),
        "description": DESCRIPTIONS[kind],
        "bounds": bounds,
        "more": f', "tracebench-engine{bounds}"' if kind in {"executor", "view"} else "",
        "year": str(datetime.now(UTC).year),
        "index": f'\n[project.entry-points."tracebench.index"]\n{class_} = "{plugin}"\n' if kind == "trainer" else "",
    }
    words["use"] = _fill(USES[kind], words)
    folder = into / words["distribution"]
    taken = UsageError(f"`{folder}` exists.", hint=f"trace-bench init {kind.value} {name} --into DIR")
    if os.path.lexists(folder):
        raise taken
    try:
        into.mkdir(parents=True, exist_ok=True)
        with draft_beside(folder) as whole:
            for part in ("common", kind.value):
                for path, text in _files(_templates() / part):
                    _write(whole / _fill(path, words), _fill(text, words))
            whole.rename(folder)  # never over a folder that holds something
    except OSError as err:
        if os.path.lexists(folder):  # another command was quicker
            raise taken from err
        raise UsageError(f"`{folder}` cannot be written: {err.strerror}.", hint=f"ls -ld {quoted(into)}") from err
    return folder


def _plugin(name: str) -> str:
    return name.replace("-", "_")


def _templates() -> Traversable:
    return files("tracebench_engine.cli") / "templates"


def _files(folder: Traversable, at: str = "") -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.is_dir():
            yield from _files(entry, f"{at}{entry.name}/")
        elif entry.name.endswith(SUFFIX):
            yield f"{at}{entry.name.removesuffix(SUFFIX)}", entry.read_text(encoding="utf-8")


def _fill(text: str, words: dict[str, str]) -> str:
    return re.sub(r"@@(\w+)@@", lambda found: words[found[1]], text)


def _write(file: Path, text: str) -> None:
    """Write a new file and the folders that it is in.

    Raises:
        UsageError: it exists, or cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        put_new(file, text.encode())
    except OSError as err:
        if os.path.lexists(file):  # `Path.exists` raises for what cannot be looked at
            raise UsageError(f"`{file}` exists.", hint=shlex.join(["mv", str(file), f"{file}.old"])) from err
        raise UsageError(f"`{file}` cannot be written: {err.strerror}.", hint=f"ls -ld {quoted(file.parent)}") from err

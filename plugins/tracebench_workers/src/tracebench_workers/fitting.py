"""What a worker must have to run the jobs of a run, and what it lacks."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Any

from tracebench_core.errors import TraceBenchError, typed
from tracebench_core.specs import Component, ExecutorSetting, TaskSpec, Use
from tracebench_engine.api import PluginHost, open_host
from tracebench_engine.api.executors import unmet_requirement
from tracebench_engine.api.installed.hosting import core_version


def needs_of(setting: ExecutorSetting) -> dict[str, Any]:
    """Return what a worker needs: the version of the bench, that of Python, plugins with theirs, and what tasks and trainers require."""
    host = _host(setting)
    plugins = {name: record.version for name in setting.load if (record := host.records.get(name)) is not None}
    files = [name for name in setting.load if name not in host.records]
    uses = [told for use in setting.uses if (told := _demanded(use, host)) is not None]
    return {
        "core": core_version(), "python": _python(), "plugins": plugins, "files": files, "uses": uses, "boot": boot(),
    }  # fmt: skip


def _demanded(use: Use, host: PluginHost) -> dict[str, Any] | None:
    """Return what a worker is asked to have: what the run's machine has, and GPUs, which it seldom needs itself.

    Jobs that need what neither has are skipped, as on one machine.
    """
    missing = unmet_requirement(_spec(use, host).requires, use.settings)
    if missing is not None and missing.kind != "gpu":
        return None
    return {**use.model_dump(mode="json"), "is_met": missing is None}


def lacking(needs: dict[str, Any], setting: ExecutorSetting) -> str:
    """Return in words what this machine lacks of what a run needs; nothing when it has all."""
    if needs["core"] != core_version():
        return f"the run is of Trace-Bench {needs['core']}, and this is {core_version()}: install that version here"
    if needs["python"] != _python():
        return f"the run is of Python {needs['python']}, and this is {_python()}: start the worker with that one"
    try:
        host = _host(setting)
        return (
            _lacking_plugin(needs["plugins"], host)
            or _lacking_file(needs["files"], host)
            or _lacking_requirement(needs, host)
            or _unheld(setting)
        )
    except TraceBenchError as err:  # one of them is broken here
        return str(err)


def _lacking_plugin(plugins: dict[str, str], host: PluginHost) -> str:
    for name, version in plugins.items():
        record = host.records.get(name)
        if record is None:
            return f"the run needs the plugin `{name}` {version}, which is not installed here"
        if record.version != version:
            return f"the run needs the plugin `{name}` {version}, and {record.version} is installed here"
        if (loaded := host.load(name)).error:
            return f"the plugin `{name}` does not load here: {loaded.error}"
    return ""


def _lacking_file(files: list[str], host: PluginHost) -> str:
    for name in files:
        try:
            why = host.load(name).error
        except TraceBenchError as err:
            why = str(err)
        if why:
            return f"`{name}` is not here as the run has it: {why.rstrip('.')}. Start the worker in a folder with the same files"
    return ""


def _lacking_requirement(needs: dict[str, Any], host: PluginHost) -> str:
    """Return the first thing that a task or trainer needs, that the run is sure of, and that is not here."""
    for told in needs["uses"]:
        if needs["boot"] == boot() and not told["is_met"]:
            continue  # what the run has not, on its own machine
        use = Use(kind=told["kind"], id=told["id"], settings=told["settings"])
        try:
            missing = unmet_requirement(_spec(use, host).requires, use.settings)
        except TraceBenchError as err:
            words = f"{str(err).rstrip('.')} ({typed(err.hint)})" if err.hint else str(err).rstrip(".")
            return f"the {use.kind} `{use.id}` is not here: {words}. Data of the run's `--root` are named by this worker's own `--root`"
        if missing is not None:
            which = f"the {missing.kind} `{missing.name}`"
            return f"the {use.kind} `{use.id}` needs {which}, which is not here: {typed(missing.hint)}"
    return ""


def _spec(use: Use, host: PluginHost) -> TaskSpec | Component:
    return host.task(use.id) if use.kind == "task" else host.component(use.kind, use.id)


def _unheld(setting: ExecutorSetting) -> str:
    """Return why code of candidates would be held less well here than the run demands."""
    if setting.require is None:
        return ""
    from tracebench_engine.api.sandboxes import level, refuse_weak  # noqa: PLC0415 - many runs need none

    try:
        refuse_weak(level(), setting.require)
    except TraceBenchError as err:
        return f"{str(err).rstrip('.')}. The run would have to be started with `-o sandbox.require=process` or `=auto`"
    return ""


def _host(setting: ExecutorSetting) -> PluginHost:
    return open_host(root=Path(setting.root) if setting.root else None, plugins=setting.plugins)


def _python() -> str:
    return ".".join(platform.python_version_tuple()[:2])


@cache
def boot() -> str:
    """Return what tells this machine's present life from all others: within it, monotonic clocks are one clock."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()

"""Load plugins one at a time, by need, so that one broken plugin costs only itself."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy
from pydantic import BaseModel

from tracebench_core import hookspecs
from tracebench_core.errors import PluginError, UsageError
from tracebench_core.ids import did_you_mean
from tracebench_core.options import refuse_unknown_options
from tracebench_core.plugins.catalog import KINDS, SPECS, Catalog, Kind
from tracebench_core.plugins.discovery import INDEX_GROUP, PluginRecord, core_version, read_index
from tracebench_core.plugins.files import (
    FilePart,
    ImportedFile,
    describe_component,
    describe_task,
    file_part,
    import_file,
    is_file_plugin,
)
from tracebench_core.plugins.import_timeout import import_timeout
from tracebench_core.plugins.installing import install_entry_hint, install_hint
from tracebench_core.plugins.tracing import trace_hooks
from tracebench_core.registry import Registry
from tracebench_core.specs import Component, Exclusion, SuiteSpec, TaskSpec, TrainerSpec
from tracebench_core.specs.renamed import told

if TYPE_CHECKING:
    from tracebench_core.specs import JobResult, JobSpec

log = logging.getLogger(__name__)
S = TypeVar("S", bound=BaseModel)
LISTINGS: Mapping[Kind, str] = {
    "trainer": "trace-bench list-trainers --all", "optimizer": "trace-bench list-optimizers", "guide": "trace-bench list-guides",
    "logger": "trace-bench list-loggers", "agent": "trace-bench agents list",
}  # fmt: skip
"""The command that shows what is offered of a kind."""
FROM_FILES: tuple[Kind, ...] = ("trainer", "optimizer", "guide", "logger", "executor")
"""What a config may take from a file, besides tasks."""


class PluginHost:
    """Typed face of the hooks: the rest of the core calls these methods, never pluggy."""

    def __init__(
        self,
        records: dict[str, PluginRecord],
        *,
        root: Path | Mapping[str, Path] | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        exclude: tuple[str, ...] = (),
        strict: bool = False,
    ) -> None:
        self.records = records
        self._root = root
        self._options = options or {}
        self._strict = strict
        self._pm = pluggy.PluginManager(hookspecs.PROJECT)
        self._pm.add_hookspecs(hookspecs)
        trace_hooks(self._pm)
        self._catalog = Catalog()
        self._catalog.exclude(Exclusion(id=id_, reason="excluded by the config") for id_ in exclude)
        self._index: dict[str, list[str]] | None = None
        self._left_out: set[str] = set()

    # loading

    def register(self, plugin: ModuleType, name: str) -> None:
        """Register a plugin module directly: the core's own parts, and tests."""
        self.records[name] = PluginRecord(name, "tracebench-core", core_version(), status="loaded")
        self._pm.register(plugin, name=name)
        self._collect(name)

    def load(self, name: str) -> PluginRecord:
        """Load one plugin by name; idempotent.

        Raises:
            UsageError: when no plugin of that name is installed.
            PluginError: in strict mode only, when it fails to load.
        """
        record = self.records.get(name)
        if record is None and is_file_plugin(name):
            path, _, digest = name.rpartition("@")
            self._take_file(FilePart(path, digest, ""))
            return self.records[name]
        if record is None:
            raise UsageError(
                f"No plugin `{name}` is installed.{did_you_mean(name, self.records)}",
                hint=install_hint(name),
            )
        if record.status == "incompatible" and name not in self._left_out:
            self._left_out.add(name)
            log.warning("plugin %s (%s %s) is left out: it %s", name, record.distribution, record.version, record.error)
        if record.status != "found" or record.entry_point is None:
            return record
        try:
            with redirect_stdout(sys.stderr), import_timeout():  # stdout is data
                module = record.entry_point.load()
                self._reject_unknown_hooks(module)
                self._pm.register(module, name=name)
                self._collect(name)
        except (Exception, SystemExit) as err:
            if self._pm.has_plugin(name):
                self._pm.unregister(name=name)
            self._catalog.drop(name)
            record.status, record.error = "failed", told(err)
            if self._strict:
                raise PluginError(
                    f"Plugin `{name}` ({record.distribution} {record.version}) failed to load: {record.error}",
                    hint=f"pip install --upgrade {record.distribution}, or set TRACEBENCH_PLUGINS to leave it out.",
                ) from err
            log.warning("plugin %s (%s %s) failed to load: %s", name, record.distribution, record.version, record.error)
            return record
        record.status = "loaded"
        return record

    def catalog(self) -> Catalog:
        """Load every plugin and return all that they offer."""
        for name in self.records:
            self.load(name)
        return self._catalog

    # looking up, loading no more than needed

    def task(self, task_id: str) -> TaskSpec:
        """Return the task of a full id, loading only the plugin that the id names."""
        if (part := file_part(task_id)) is not None:
            file = self._take_file(part)
            known = self._catalog.unlisted.get(f"{file.plugin}:{part.name}")
            return known or self._catalog.add_unlisted(file.plugin, describe_task(part, file.module))
        suite = task_id.partition(":")[0]
        record = self.load(suite)
        spec = self._catalog.tasks.get(task_id) or self._unlisted(suite, task_id)
        if spec is None:
            if record.status != "loaded":
                raise PluginError(
                    f"Task `{task_id}`: plugin `{suite}` is not loaded: {record.error}",
                    hint="trace-bench plugins",
                )
            if lacking := self._catalog.lacking(suite):
                raise UsageError(f"Task `{task_id}` cannot be looked up here: `{suite}` {lacking}.")
            raise UsageError(
                f"Suite `{suite}` has no task `{task_id}`.{did_you_mean(task_id, self._catalog.tasks)}",
                hint=f"trace-bench list-tasks --bench {suite}",
            )
        if reason := self._catalog.excluded.get(task_id):
            raise UsageError(f"Task `{task_id}` is excluded: {reason}.")
        return spec

    def id_in_file(self, written: str) -> str | None:
        """Return the full id of a part in a file, which holds the file's content; None when `written` is no such id."""
        if (part := file_part(written)) is None:
            return None
        return f"{self._take_file(part).plugin}:{part.name}"

    def _take_file(self, part: FilePart) -> ImportedFile:
        with redirect_stdout(sys.stderr):
            file = import_file(part.path, part.digest)
        if file.plugin not in self.records:
            path, _, digest = file.plugin.rpartition("@")
            self.records[file.plugin] = PluginRecord(file.plugin, path, digest, status="loaded")
        return file

    def _component_in_file(self, kind: Kind, part: FilePart) -> Component:
        if kind not in FROM_FILES:
            raise UsageError(f"A {kind} cannot be taken from a file.", hint="docs/how-to/write-a-plugin.md")
        file = self._take_file(part)
        id_ = f"{file.plugin}:{part.name}"
        if id_ not in self._catalog.components[kind]:
            self._catalog.add_components(kind, file.plugin, [describe_component(SPECS[kind], part, file)])
        return self._catalog.components[kind][id_]

    def _unlisted(self, suite: str, task_id: str) -> TaskSpec | None:
        """Return a task that no listing shows, when its suite knows the name."""
        if (known := self._catalog.unlisted.get(task_id)) is not None or not self._pm.has_plugin(suite):
            return known
        name = task_id.partition(":")[2]
        with redirect_stdout(sys.stderr):  # stdout is data
            answers = [spec for spec in self._only("tracebench_find_task", suite)(name=name) if spec is not None]
        found = _all_of(TaskSpec, answers, hook="tracebench_find_task")
        return self._catalog.add_unlisted(suite, found[0]) if found else None

    def task_by_other_name(self, written: str) -> str | None:
        """Return the full id of the task that gives itself another id; plugins that announce it are asked first, then all."""
        if self._index is None:
            self._index = read_index()
        for plugin in self._index.get(written, []):
            if plugin in self.records:
                self.load(plugin)
        key = "task", written
        return self._catalog.other_names.get(key) or self.catalog().other_names.get(key)

    def suite_tasks(self, suite: str) -> dict[str, TaskSpec]:
        """Return the tasks of one suite by full id, without those that are excluded."""
        self.load(suite)
        return {
            i: s
            for i, s in self._catalog.tasks.items()
            if i.startswith(f"{suite}:") and i not in self._catalog.excluded
        }

    def component(self, kind: Kind, name: str) -> Component:
        """Return a trainer, optimizer, guide, … by its name or another one of its spec, loading as few plugins as can be."""
        if (part := file_part(name)) is not None:
            return self._component_in_file(kind, part)
        offered = self._catalog.components[kind]
        if name not in offered:
            for plugin in self._announcers(name):
                self.load(plugin)
        if name not in offered:
            name = self._catalog.other_names.get((kind, name), name)
        if name not in offered:
            self.catalog()
            name = self._catalog.other_names.get((kind, name), name)
        if kind == "trainer" and name not in offered and name.partition(":")[0] in self.records:
            self.find_trainers(name)
        if reason := self._catalog.excluded.get(name):
            raise UsageError(f"The {kind} `{name}` is excluded: {reason}.")
        if name not in offered:
            if not self._announcers(name) and (install := install_entry_hint(INDEX_GROUP, name)):
                raise UsageError(f"The {kind} `{name}` comes with a plugin that is not installed.", hint=install)
            failed = [r.name for r in self.records.values() if r.status in {"failed", "incompatible"}]
            raise UsageError(
                f"No plugin offers {'an' if kind[0] in 'aeo' else 'a'} {kind} `{name}`.{did_you_mean(name, offered)}"
                + (f" (Not loaded: {', '.join(failed)}; see `trace-bench plugins`.)" if failed else ""),
                hint=LISTINGS.get(kind, "trace-bench plugins"),
            )
        return offered[name]

    def find_trainers(self, name: str | None = None) -> Catalog:
        """Have plugins look for trainers that are not known by loading alone: one by its name, or all; return what is offered then."""
        plugins = [*self.records] if name is None else [name.partition(":")[0]]
        for plugin in plugins:
            if self.load(plugin).status != "loaded":
                continue
            try:
                with redirect_stdout(sys.stderr):
                    answers = self._only("tracebench_find_trainers", plugin)(name=name)
                    specs = [
                        s for found in answers for s in _all_of(TrainerSpec, found, hook="tracebench_find_trainers")
                    ]
                    known = self._catalog.components["trainer"]
                    self._catalog.add_components("trainer", plugin, [s for s in specs if s.name not in known])
                    self._exclude(plugin)
            except (Exception, SystemExit) as err:  # noqa: BLE001 - a plugin that fails here costs only what it would have found
                log.warning("plugin %s failed to look for trainers: %s: %s", plugin, type(err).__name__, err)
        return self._catalog

    def offerers(self, users: Iterable[tuple[str, str]]) -> set[str]:
        """Return the plugins that offer `users`, each a kind and an id; a name that is still to be looked for has none."""
        return {self._catalog.origin[user] for user in users if user in self._catalog.origin}

    def offered_with(self, kind: Kind, users: Iterable[tuple[str, str]]) -> list[Component]:
        """Return what is offered of one kind by the plugins that offer `users`, each a kind and an id; by name."""
        plugins = self.offerers(users)
        offered = self._catalog.components[kind]
        return [offered[name] for name in sorted(offered) if self._catalog.origin[kind, name] in plugins]

    def parts_of(self, plugin: str, kind: Kind) -> dict[str, Component]:
        """Return what one plugin offers of a kind, by name, what cannot run here included."""
        self.load(plugin)
        offered = self._catalog.components[kind]
        return {name: spec for name, spec in offered.items() if self._catalog.origin[kind, name] == plugin}

    def suite(self, plugin: str) -> SuiteSpec | None:
        """Return what a plugin says of its suite, after loading it."""
        self.load(plugin)
        return self._catalog.suites.get(plugin)

    def announced_by(self, plugin: str) -> set[str]:
        """Return the names that a plugin announces in the index."""
        if self._index is None:
            self._index = read_index()
        return {name for name, plugins in self._index.items() if plugin in plugins}

    def announced_tasks(self, name: str) -> Mapping[str, TaskSpec]:
        """Return the tasks offered so far, after loading the plugins that announce a name in the index."""
        for plugin in self._announcers(name):
            self.load(plugin)
        return self._catalog.tasks

    def version_of(self, kind: str, id_: str) -> str:
        """Return `distribution version` of the plugin that offers an id."""
        record = self.records[self._catalog.origin[kind, id_]]
        return f"{record.distribution} {record.version}"

    # calling hooks

    def run_job(self, job: JobSpec, *, job_dir: Path, execute: Callable[[JobSpec], JobResult]) -> JobResult:
        """Run one job by `execute`, through the wrappers that plugins put around it."""

        if not self._pm.hook.tracebench_run_job.get_hookimpls():
            return execute(job)

        class CoreRunner:
            @staticmethod
            @hookspecs.hookimpl(trylast=True)
            def tracebench_run_job(job: JobSpec) -> JobResult:
                return execute(job)

        runner = CoreRunner()
        self._pm.register(runner)
        try:
            result: JobResult = self._pm.hook.tracebench_run_job(job=job, job_dir=job_dir)
        finally:
            self._pm.unregister(runner)
        return result

    def observe(self, hook: str, **kwargs: Any) -> None:
        """Call an observing hook plugin by plugin; one that raises is reported and left out from then on."""
        for plugin in [impl.plugin for impl in getattr(self._pm.hook, hook).get_hookimpls()]:
            try:
                self._pm.subset_hook_caller(hook, self._pm.get_plugins() - {plugin})(**kwargs)
            except (Exception, SystemExit) as err:  # noqa: BLE001 - an observer must not hurt what it observes
                log.warning("plugin %s failed in %s: %s: %s", self._pm.get_name(plugin), hook, type(err).__name__, err)
                self._pm.unregister(plugin)

    def has_observers(self, hook: str) -> bool:
        """Tell whether any plugin implements a hook."""
        return bool(getattr(self._pm.hook, hook).get_hookimpls())

    def _announcers(self, name: str) -> list[str]:
        if ":" in name and name.partition(":")[0] in self.records:
            return [name.partition(":")[0]]
        if self._index is None:
            self._index = read_index()
        return [plugin for plugin in self._index.get(name, []) if plugin in self.records]

    def _only(self, hook: str, name: str) -> Any:
        plugin = self._pm.get_plugin(name)
        return self._pm.subset_hook_caller(hook, self._pm.get_plugins() - {plugin})

    def _collect(self, name: str) -> None:
        root = self._root.get(name) if isinstance(self._root, Mapping) else self._root
        settings = {"root": root, "options": self._options.get(name, {})}
        if not self._only("tracebench_configure", name).get_hookimpls():
            refuse_unknown_options(name, self._options.get(name, {}))
        if False in self._only("tracebench_configure", name)(settings=settings):
            self._pm.unregister(name=name)
            return
        for suite in self._only("tracebench_suite", name)():
            if suite is not None:
                [self._catalog.suites[name]] = _all_of(SuiteSpec, [suite], hook="tracebench_suite")
        for specs in self._only("tracebench_tasks", name)():
            self._catalog.add_tasks(name, _all_of(TaskSpec, specs, hook="tracebench_tasks"))
        for kind in KINDS:
            if not hasattr(hookspecs, f"tracebench_{kind}s"):  # offered by `tracebench_register` alone
                continue
            for components in self._only(f"tracebench_{kind}s", name)():
                specs = _all_of(SPECS[kind], components, hook=f"tracebench_{kind}s")
                self._catalog.add_components(kind, name, specs)
        self._exclude(name)
        registry = Registry()
        self._only("tracebench_register", name)(registry=registry)
        self._catalog.add(name, registry.parts)

    def _exclude(self, name: str) -> None:
        for exclusions in self._only("tracebench_exclusions", name)():
            self._catalog.exclude(_all_of(Exclusion, exclusions, hook="tracebench_exclusions"), plugin=name)

    def _reject_unknown_hooks(self, module: object) -> None:
        known = {
            n: [*signature(getattr(hookspecs, n)).parameters] for n in dir(hookspecs) if n.startswith("tracebench_")
        }
        for attribute in dir(module):
            if not self._pm.parse_hookimpl_opts(module, attribute):
                continue
            if attribute not in known:
                raise PluginError(f"it implements an unknown hook `{attribute}`.{did_you_mean(attribute, known)}")
            for argument in signature(getattr(module, attribute)).parameters:
                if argument not in known[attribute]:
                    offered = ", ".join(f"`{name}`" for name in known[attribute]) or "none"
                    raise PluginError(f"its `{attribute}` takes `{argument}`; the hook's arguments: {offered}.")


def _all_of(kind: type[S], returned: Any, *, hook: str) -> list[S]:
    """Return what a hook returned as a list of specs of one kind.

    Raises:
        PluginError: it is something else.
    """
    if isinstance(returned, Iterable) and not isinstance(returned, BaseModel):
        specs = [*returned]
        wrong = next((spec for spec in specs if not isinstance(spec, kind)), None)
        if wrong is None:
            return specs
        returned = wrong
    raise PluginError(f"its `{hook}` returned a `{type(returned).__name__}`, not a list of `{kind.__name__}`.")

"""What the loaded plugins offer, by id, and why some of it is not to be had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from tracebench_core.errors import PluginConflictError, PluginError
from tracebench_core.plugins.requirements import why_unavailable
from tracebench_core.registry import Part
from tracebench_core.specs import (
    AgentSpec,
    AggregateSpec,
    AttackSpec,
    Component,
    EnvironmentSpec,
    Exclusion,
    ExecutorSpec,
    GuideSpec,
    LoggerSpec,
    OptimizerSpec,
    ProviderSpec,
    PythonSpec,
    ReporterSpec,
    StubFormatSpec,
    SuiteSpec,
    TaskSpec,
    TrainerSpec,
    ViewSpec,
)

Kind = Literal[
    "trainer", "optimizer", "guide", "executor", "logger", "reporter",
    "environment", "provider", "stub_format", "aggregate", "view", "python", "attack", "agent",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What a plugin offers by name."""
SPECS: Mapping[Kind, type[Component]] = {
    "trainer": TrainerSpec, "optimizer": OptimizerSpec, "guide": GuideSpec, "executor": ExecutorSpec, "logger": LoggerSpec,
    "reporter": ReporterSpec, "environment": EnvironmentSpec, "provider": ProviderSpec, "stub_format": StubFormatSpec,
    "aggregate": AggregateSpec, "view": ViewSpec, "python": PythonSpec, "attack": AttackSpec,
    "agent": AgentSpec,
}  # fmt: skip
"""How each kind is described."""


@dataclass
class Catalog:
    """Specs by full id, the plugin that each came from, and the ids that are excluded, with the reason."""

    suites: dict[str, SuiteSpec] = field(default_factory=dict)
    tasks: dict[str, TaskSpec] = field(default_factory=dict)
    unlisted: dict[str, TaskSpec] = field(default_factory=dict)
    """Tasks that no listing shows and that a suite knows by name; filled as they are asked for."""
    components: dict[Kind, dict[str, Component]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    excluded: dict[str, str] = field(default_factory=dict)
    other_names: dict[tuple[str, str], str] = field(default_factory=dict)
    """(`task` or a kind, another id) to the id that it means."""
    origin: dict[tuple[str, str], str] = field(default_factory=dict)
    """(`task` or a kind, id) to plugin name."""
    _excluders: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    @property
    def trainers(self) -> Mapping[str, TrainerSpec]:
        """All trainers that are not excluded, available or not."""
        return {
            i: s for i, s in self.components["trainer"].items() if isinstance(s, TrainerSpec) and i not in self.excluded
        }

    @property
    def problems(self) -> dict[str, str]:
        """Ids of tasks and trainers that are offered but cannot run here, with the reason."""
        specs: dict[str, TaskSpec | Component] = {**self.tasks, **self.trainers}
        return {i: why for i, spec in specs.items() if (why := self.availability(spec))}

    @staticmethod
    def availability(spec: TaskSpec | Component) -> str:
        """Return why a task or component cannot run on this machine, or nothing."""
        return why_unavailable(spec.broken, spec.requires)

    def lacking(self, suite: str) -> str:
        """Return what a suite lacks here where it lists no task that can run: others may come with it."""
        reasons = [self.availability(spec) for id_, spec in self.tasks.items() if id_.startswith(f"{suite}:")]
        return reasons[0] if reasons and all(reasons) else ""

    def add(self, plugin: str, parts: Iterable[Part]) -> None:
        """Take what a plugin added to its registry.

        Raises:
            PluginError: one is of no kind.
            PluginConflictError: when an id is taken, or it describes two suites.
        """
        for part in parts:
            match part:
                case TaskSpec():
                    self.add_tasks(plugin, [part])
                case SuiteSpec():
                    if plugin in self.suites:
                        raise PluginConflictError(f"plugin `{plugin}` describes two suites; a plugin is one.")
                    self.suites[plugin] = part
                case Exclusion():
                    self.exclude([part], plugin=plugin)
                case _:
                    kind = next((kind for kind, spec in SPECS.items() if isinstance(part, spec)), None)
                    if kind is None:
                        known = ", ".join(f"`{spec.__name__}`" for spec in SPECS.values())
                        raise PluginError(
                            f"`registry.add` was given `{part.name}` as a `{type(part).__name__}`, which says no kind: {known}."
                        )
                    self.add_components(kind, plugin, [part])

    def add_tasks(self, plugin: str, specs: Iterable[TaskSpec]) -> None:
        """Take a plugin's tasks; ids are `<plugin>:<name>`."""
        for spec in specs:
            self._claim("task", f"{plugin}:{spec.name}", plugin)
            self.tasks[f"{plugin}:{spec.name}"] = spec
            for other in spec.aliases:
                self.other_names.setdefault(("task", other), f"{plugin}:{spec.name}")

    def add_unlisted(self, plugin: str, spec: TaskSpec) -> TaskSpec:
        """Take a task that was asked for by its name."""
        task_id = f"{plugin}:{spec.name}"
        self.origin["task", task_id] = plugin
        return self.unlisted.setdefault(task_id, spec)

    def add_components(self, kind: Kind, plugin: str, specs: Iterable[Component]) -> None:
        """Take a plugin's trainers, optimizers, …; ids are their names."""
        for spec in specs:
            self._claim(kind, spec.name, plugin)
            self.components[kind][spec.name] = spec
            for other in getattr(spec, "aliases", ()):
                self.other_names.setdefault((kind, other), spec.name)

    def exclude(self, exclusions: Iterable[Exclusion], *, plugin: str = "") -> None:
        """Exclude ids from what is offered, as a plugin or the config says; they stay listed with their reason."""
        for exclusion in exclusions:
            self.excluded[exclusion.id] = exclusion.reason
            self._excluders[exclusion.id] = plugin

    def drop(self, plugin: str) -> None:
        """Forget everything that came from a plugin."""
        for (kind, id_), owner in [*self.origin.items()]:
            if owner == plugin:
                del self.origin[kind, id_]
                (self.tasks if kind == "task" else self.components[kind]).pop(id_, None)  # type: ignore[index]
                self.unlisted.pop(id_, None)
        for id_ in [id_ for id_, owner in self._excluders.items() if owner == plugin]:
            del self.excluded[id_], self._excluders[id_]
        self.suites.pop(plugin, None)
        kept = {key: id_ for key, id_ in self.other_names.items() if (key[0], id_) in self.origin}
        self.other_names = kept

    def _claim(self, kind: str, id_: str, plugin: str) -> None:
        if (other := self.origin.get((kind, id_))) is not None:
            twice = (
                f"plugin `{plugin}` offers {kind} `{id_}` twice"
                if other == plugin
                else (f"plugins `{other}` and `{plugin}` both offer {kind} `{id_}`")
            )
            raise PluginConflictError(
                f"Two claims to one id: {twice}.", hint="Set TRACEBENCH_PLUGINS to leave one out."
            )
        self.origin[kind, id_] = plugin

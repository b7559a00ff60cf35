"""Checks of a plugin as a whole: how it loads, what it says of itself, and whether what it names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import requires

from tracebench_core.errors import MissingRequirementError, TraceBenchError
from tracebench_core.plugins import KINDS, Catalog, load_ref
from tracebench_core.plugins.discovery import CORE, REQUIREMENT
from tracebench_core.specs import Component, TaskSpec, TrainerSpec
from tracebench_engine.api.checking import Finding, Skipped
from tracebench_testing.checks.plugin import PluginUnderTest

SLUG = re.compile(r"[a-z0-9][a-z0-9_./+-]*", re.IGNORECASE)
REFS = ("loader", "options", "settings", "cost", "advice", "sizes_of", "answers", "stands_on")
"""Fields of specs that name something to import."""
Found = Iterator[Finding | Skipped]


def check_loads_alone(plugin: PluginUnderTest) -> Found:
    """Load alone, without any other plugin.

    A fresh process finds no plugin but this one and loads it. What fails here fails for every user who has installed nothing else.
    Mend: import other plugins' packages behind loaders, or not at all; `trace-bench plugins --debug` shows where loading fails.
    """
    report = plugin.load_report
    if words := report.get("error") or report.get("problem"):
        yield Finding("TB101", str(words))
    elif report["status"] != "loaded":
        yield Finding("TB101", f"its status is `{report['status']}`")


def check_loads_light(plugin: PluginUnderTest) -> Found:
    """Load light, so that no listing waits.

    Loading imports none of the large libraries (torch, numpy, pandas, transformers, litellm and their like): every command that lists
    or validates loads plugins. Mend: name what needs them in a `loader`, and import them there.
    """
    if heavy := plugin.load_report.get("heavy"):
        yield Finding("TB102", f"loading it imports {', '.join(f'`{name}`' for name in heavy)}")


def check_refs_resolve(plugin: PluginUnderTest) -> Found:
    """Name only what can be imported.

    Every `loader`, and every model of options or settings, of every task and part is imported. What needs a library that is missing here
    is skipped. Mend: correct the reference, written `package.module:attribute`, or declare what it needs in `requires`.
    """
    asked: set[str] = set()
    for id_, spec in _specs(plugin).items():
        for ref in (getattr(spec, name, None) for name in REFS):
            if not isinstance(ref, str) or ref in asked:
                continue
            asked.add(ref)
            try:
                load_ref(ref, owner=id_)
            except MissingRequirementError as err:
                yield Skipped("TB103", str(err), id_)
            except TraceBenchError as err:
                if why := Catalog.availability(spec):
                    yield Skipped("TB103", why, id_)
                else:
                    yield Finding("TB103", str(err), id_)


def check_card(plugin: PluginUnderTest) -> Found:
    """Say what each task is: an id that can be typed, a title, a licence, and for what was taken from elsewhere a citation.

    Ids consist of letters, digits and `_ . / + -`. The licence is that of the task's data and code, or of its suite. A task whose
    `source` is an address names whom to cite as well, itself or through its suite. Mend: fill in the fields of the
    `TaskSpec` or `SuiteSpec`.
    """
    suite = plugin.host.suite(plugin.name)
    for id_, spec in plugin.tasks.items():
        if spec.broken:
            continue
        missing = [] if spec.title.strip() else ["title"]
        if not (spec.licence or (suite is not None and suite.licence)):
            missing.append("licence")
        if "://" in spec.source and not (spec.citation or (suite is not None and suite.citation)):
            missing.append("citation")
        if missing:
            yield Finding("TB104", f"it has no {', no '.join(missing)}", id_)
        if not SLUG.fullmatch(spec.name):
            yield Finding("TB104", f"its name `{spec.name}` holds more than letters, digits and `_ . / + -`", id_)
    for kind in KINDS:
        for name in plugin.parts(kind):
            if not SLUG.fullmatch(name):
                yield Finding("TB104", "its name holds more than letters, digits and `_ . / + -`", f"{kind} {name}")


def check_bounds(plugin: PluginUnderTest) -> Found:
    """Bound the version of the core from below and from above.

    The bounds are read before anything is imported: with another core the plugin is shown as `incompatible` rather than failing somewhere.
    Mend: `dependencies = ["tracebench-core>=0.2,<0.3"]`.
    """
    if plugin.record.entry_point is None:
        yield Skipped("TB105", "it is a part of the core")
        return
    lines = [line for line in requires(plugin.record.distribution) or () if _is_core(line)]
    if not lines:
        yield Finding("TB105", f"`{plugin.record.distribution}` does not depend on {CORE}")
    for line in lines:
        if not _is_bounded(line):
            yield Finding("TB105", f"it depends on `{line}`, without a bound on both sides")


def check_keeps_to_itself(plugin: PluginUnderTest) -> Found:
    """Reach for nothing while loading: no network, no process, no file written, no variable read.

    Where things lie may be asked (`HOME`, `XDG_…`, `TRACE_BENCH_…`, `…_ROOT`), and the user's cache folder may be written to. Mend: do
    it behind a loader, or take what is needed from `tracebench_configure`.
    """
    for reached in plugin.load_report.get("reached", ()):
        yield Finding("TB106", f"loading it reaches out: {reached}")


def check_specs_survive_json(plugin: PluginUnderTest) -> Found:
    """Offer specs that survive JSON.

    Specs travel to other processes and are kept in run directories. Mend: keep to the declared types; a subclass with fields of its own
    does not come back.
    """
    for id_, spec in _specs(plugin).items():
        public = next(c for c in type(spec).__mro__ if c.__module__.startswith("tracebench_core.specs"))
        try:
            same = public.model_validate_json(spec.model_dump_json()) == spec  # type: ignore[attr-defined]  # a Spec
        except ValueError as err:
            yield Finding("TB107", f"it does not come back from JSON: {str(err).splitlines()[0]}", id_)
            continue
        if not same:
            yield Finding("TB107", "it comes back from JSON as something else", id_)


def check_index(plugin: PluginUnderTest) -> Found:
    """Announce trainers and optimizers by name.

    An entry in the group `tracebench.index` lets a run find them without importing every plugin. Mend:
    `[project.entry-points."tracebench.index"]` with a line `MyTrainer = "my_plugin"`.
    """
    if plugin.record.entry_point is None:
        return
    announced = plugin.host.announced_by(plugin.name)
    for kind in ("trainer", "optimizer"):
        for name, spec in plugin.parts(kind).items():
            names = {name, *(spec.aliases if isinstance(spec, TrainerSpec) else ())}
            if not names & announced:
                yield Finding("TB108", "it is not announced in `tracebench.index`", f"{kind} {name}")


def _specs(plugin: PluginUnderTest) -> dict[str, TaskSpec | Component]:
    """Return what the plugin offers, by the name that a finding has for it."""
    parts = {f"{kind} {name}": spec for kind in KINDS for name, spec in plugin.parts(kind).items()}
    return {**plugin.tasks, **parts}


def _is_bounded(line: str) -> bool:
    """Say whether a requirement bounds its version on both sides; what follows its `;` says where it holds."""
    versions = line.partition(";")[0]
    return bool(re.search("~=|==", versions)) or (">" in versions and "<" in versions)


def _is_core(line: str) -> bool:
    name = REQUIREMENT.match(line)
    return name is not None and name["name"].lower().replace("_", "-").replace(".", "-") == CORE

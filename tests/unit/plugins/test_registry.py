"""What plugins offer by `tracebench_register`: specs as they are, and factories under `@task`, `@trainer`, `@guide`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from pydantic import BaseModel, ValidationError

from tracebench_core.contracts import Problem, Twin
from tracebench_core.errors import PluginError
from tracebench_core.plugins import KINDS, PluginHost, discover, load_ref
from tracebench_core.plugins.catalog import SPECS
from tracebench_core.registry import GuideFields, Registry, TaskFields, TrainerFields, spec_of, trainer
from tracebench_core.specs import Component, GuideSpec, LoggerSpec, Objective, SuiteSpec, TaskSpec, TrainerSpec

PLUGIN = '''
from pydantic import BaseModel
from tracebench_core import Registry, guide, hookimpl, task, trainer
from tracebench_core.specs import Exclusion, LoggerSpec, SuiteSpec, TaskSpec

class Options(BaseModel):
    size: int = 3

class Settings(BaseModel):
    steps: int = 5

def answers(options):
    return [{"x": options["size"]}]

def cost(settings, shape):
    return (settings.steps, shape)

@task(options=Options, answers=answers, sandbox=(), target=1.0)
def hill(**options):
    """Climb a hill.

    At length.
    """
    return ("hill", options)

@task("valley", title="Go down")
def build():
    import nothing_of_this_name

@trainer(default_optimizer="Reflective", cost=cost)
class Climb:
    """Climb."""
    def __init__(self, settings: Settings) -> None:
        self.settings = settings

@guide()
def exact(task):
    return lambda example, output, context: None

@hookimpl
def tracebench_register(registry: Registry) -> None:
    registry.add(SuiteSpec(title="Doors"), hill, build)
    registry.add(Climb, exact, LoggerSpec(name="Csv", loader="m:f"))
    registry.add(TaskSpec(name="old", title="As ever", loader="m:f"), Exclusion(id="doors:old", reason="too slow"))
'''


def host_of(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str = "doors") -> PluginHost:
    info = folder / f"tracebench_{name}-1.0.dist-info"
    info.mkdir()
    (folder / f"plugin_of_{name}.py").write_text(text)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tracebench-{name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[tracebench]\n{name} = plugin_of_{name}\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, f"plugin_of_{name}", raising=False)
    return PluginHost(discover({name}))


def test_what_is_added_is_offered_and_found_where_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = host_of(PLUGIN, tmp_path, monkeypatch)
    catalog = host.catalog()

    assert host.records["doors"].error == ""
    assert catalog.suites["doors"].title == "Doors"
    assert [*catalog.tasks] == ["doors:hill", "doors:valley", "doors:old"]
    assert catalog.excluded == {"doors:old": "too slow"}
    hill = host.task("doors:hill")
    assert (hill.title, hill.target, hill.sandbox) == ("Climb a hill.", 1.0, ())
    assert load_ref(hill.loader, owner="hill")(size=4) == ("hill", {"size": 4})
    assert hill.options is not None
    assert load_ref(hill.options, owner="hill")().size == 3
    assert hill.answers is not None
    assert load_ref(hill.answers, owner="hill")({"size": 4}) == [{"x": 4}]
    assert host.task("doors:valley").loader == "plugin_of_doors:build"  # what it imports is asked for when it is built
    climb = host.component("trainer", "Climb")
    assert isinstance(climb, TrainerSpec)
    assert (climb.title, climb.default_optimizer, climb.settings) == (
        "Climb.",
        "Reflective",
        "plugin_of_doors:Settings",
    )
    assert load_ref(climb.cost or "", owner="Climb")(load_ref(climb.settings or "", owner="Climb")(), "shape") == (
        5,
        "shape",
    )
    assert isinstance(host.component("guide", "exact"), GuideSpec)
    assert host.component("logger", "Csv").loader == "m:f"


def test_a_spec_made_by_a_decorator_is_data_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = host_of(PLUGIN, tmp_path, monkeypatch).task("doors:hill")

    assert TaskSpec.model_validate_json(spec.model_dump_json()) == spec


def test_a_part_in_a_file_may_be_decorated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("from __future__ import annotations\n" + PLUGIN)
    host = PluginHost({})
    (plugin, digest) = (host.id_in_file("./mine.py:hill") or "").rpartition(":")[0].split("@")

    hill = host.task("./mine.py:hill")
    assert (hill.name, hill.target, plugin, len(digest)) == ("hill", 1.0, "./mine.py", 12)
    assert load_ref(hill.loader, owner="hill")(size=1) == ("hill", {"size": 1})
    climb = host.component("trainer", "./mine.py:Climb")
    assert isinstance(climb, TrainerSpec)
    assert (climb.name, climb.default_optimizer) == (f"./mine.py@{digest}:Climb", "Reflective")
    assert load_ref(climb.settings or "", owner="Climb")().steps == 5
    with pytest.raises(PluginError, match="is a `GuideSpec`, not a `TrainerSpec`"):
        host.component("trainer", "./mine.py:exact")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("registry.add(answers)", "`registry.add` was given `answers`, which is no spec"),
        ("registry.add(3)", "`registry.add` was given `3`, which is no spec"),
        ("registry.add(type('Sub', (Climb,), {}))", "was given `Sub`"),
        (
            "from tracebench_core.specs import Component; registry.add(Component(name='Odd', loader='m:f'))",
            "`registry.add` was given `Odd` as a `Component`, which says no kind: `TrainerSpec`, ",
        ),
        (
            "task(loader='m:f')(answers)",
            "`answers` stands under a decorator that is given `loader`, which follows from",
        ),
        ("trainer(settings=Settings)(answers)", "that is given `settings`, which follows from the factory"),
        ("trainer(source='x')(answers)", "that is given `source`, which follows from the factory"),
        ("guide(settings=Settings)(answers)", "that is given `settings`"),
        ("guide(**{'loader': 3})(answers)", "that is given `loader`"),
        ("registry.add(hill)", "plugin `doors` offers task `doors:hill` twice"),
        ("registry.add(SuiteSpec(title='More'))", "plugin `doors` describes two suites"),
        ("task()(hill)", "`hill` stands under two decorators"),
        (
            "task(title=3)(answers)",
            "What is said of `answers` makes no `TaskSpec`: `TaskSpec.title`: Input should be a valid string.",
        ),
        ("task(timed='perhaps')(answers)", "makes no `TaskSpec`: `TaskSpec.timed`: Input should be a valid boolean"),
        (
            "task(titel='A')(answers)",
            "`answers` makes no `TaskSpec`: `TaskSpec` has no field `titel`. Did you mean `title`?",
        ),
        (
            "__import__('functools').partial(answers); guide()(__import__('functools').partial(answers))",
            "partial(<function",
        ),
        (
            "registry.add(task(answers))",
            "was given `task.<locals>.decorate`, which is no spec and stands under no `@task()`",
        ),
        ("task(answers=lambda options: [])(answers)", "must stand at the top of a module under a name of its own"),
        ("guide()(lambda task: None)", "must stand at the top of a module"),
    ],
)
def test_what_cannot_be_offered_costs_the_plugin_alone_and_is_told(
    line: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = host_of(f"{PLUGIN}    {line}\n", tmp_path, monkeypatch)
    catalog = host.catalog()

    assert host.records["doors"].status == "failed"
    assert words in host.records["doors"].error
    assert (catalog.tasks, catalog.suites, catalog.components["trainer"]) == ({}, {}, {})


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ("tracebench_suite(): return 3", "its `tracebench_suite` returned a `int`, not a list of `SuiteSpec`"),
        (
            "tracebench_trainers(): return [LoggerSpec(name='L', loader='m:f')]",
            "its `tracebench_trainers` returned a `LoggerSpec`, not a list of `TrainerSpec`",
        ),
        (
            "tracebench_loggers(): return [__import__('tracebench_core').specs.Component(name='L', loader='m:f')]",
            "its `tracebench_loggers` returned a `Component`, not a list of `LoggerSpec`",
        ),
    ],
)
def test_a_hook_returns_what_it_is_for(hook: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = host_of(f"{PLUGIN}\n@hookimpl\ndef {hook}\n", tmp_path, monkeypatch)

    host.catalog()
    assert words in host.records["doors"].error


def test_a_task_that_is_found_is_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = host_of(f"{PLUGIN}\n@hookimpl\ndef tracebench_find_task(name): return name\n", tmp_path, monkeypatch)

    with pytest.raises(PluginError, match="its `tracebench_find_task` returned a `str`, not a list of `TaskSpec`"):
        host.task("doors:far")


def test_settings_that_only_a_type_checker_sees_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from __future__ import annotations\n" + PLUGIN.replace("settings: Settings", "settings: Elsewhere")
    host = host_of(text, tmp_path, monkeypatch)

    host.catalog()
    assert "takes `Elsewhere`, and its module `plugin_of_doors` holds no `Elsewhere`" in host.records["doors"].error


def test_settings_without_a_model_are_whatever_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from __future__ import annotations\n" + PLUGIN.replace("settings: Settings", "settings: dict")
    host = host_of(text, tmp_path, monkeypatch)

    assert host.component("trainer", "Climb").settings is None
    assert host.records["doors"].status == "loaded"


class Settings(BaseModel):
    steps: int = 1


class Trainer:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Do nothing."""


def test_a_factory_stays_what_it_was() -> None:
    decorated = trainer("Other", title="T")(Trainer)

    assert decorated is Trainer
    assert decorated(Settings(steps=3)).settings.steps == 3
    spec = spec_of(decorated)
    assert isinstance(spec, TrainerSpec)
    assert (spec.name, spec.title, spec.settings) == ("Other", "T", f"{__name__}:Settings")
    assert spec_of(type("Sub", (Trainer,), {})) is None
    assert (spec_of(3), spec_of(None)) == (None, None)


def test_parts_keep_their_order() -> None:
    registry = Registry()
    specs = SuiteSpec(title="S"), LoggerSpec(name="B", loader="m:f"), LoggerSpec(name="A", loader="m:f")

    registry.add(*specs)

    assert tuple(registry.parts) == specs


def test_every_kind_has_its_spec() -> None:
    assert tuple(SPECS) == KINDS
    assert set(SPECS.values()) == _below(Component)


def _below(cls: type[Component]) -> set[type[Component]]:
    return {
        each
        for sub in cls.__subclasses__()
        if sub.__module__.startswith("tracebench_core.")
        for each in {sub, *_below(sub)}
    }


@pytest.mark.parametrize(
    ("said", "spec", "derived"),
    [
        (TaskFields, TaskSpec, {"name", "loader"}),
        (TrainerFields, TrainerSpec, {"name", "loader", "settings", "source"}),
        (GuideFields, GuideSpec, {"name", "loader", "settings", "source"}),
    ],
)
def test_a_decorator_takes_every_field_of_its_spec_as_the_spec_does(said: Any, spec: Any, derived: set[str]) -> None:
    """What a spec names by text, a decorator takes as the thing itself."""
    taken = get_type_hints(said, localns={"Twin": Twin})
    fields = {name: field.annotation for name, field in spec.model_fields.items() if name not in derived}

    assert taken.keys() == fields.keys()
    by_text = {name for name, annotation in fields.items() if "StringConstraints" in str(annotation)}
    assert {n: taken[n] for n in taken.keys() - by_text} == {n: fields[n] for n in fields.keys() - by_text}
    assert all("Callable" in str(taken[name]) or "type[" in str(taken[name]) for name in by_text)
    assert (spec is GuideSpec) != bool(by_text)


@pytest.mark.parametrize(
    "shown",
    [{"metric": "held"}, {"objectives": [Objective(metric=name, direction="minimize") for name in ("held", "cost")]}],
)
def test_a_metric_that_trainers_are_not_shown_is_none_that_they_need(shown: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="content `held` is kept from trainers"):
        TaskSpec(name="t", loader="m:build", title="t", content="held", **shown)

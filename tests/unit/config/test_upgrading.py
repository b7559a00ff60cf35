"""An older config as one of today: which names it takes from what plugins say of earlier ones, and what it leaves to the user."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tracebench_core.errors import ConfigError
from tracebench_core.plugins import PluginHost
from tracebench_engine.api.installed.upgrading import Became, Former, former_names, upgrade
from tracebench_engine.builtin.hosting import open_host

ACME = """
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import SuiteSpec, TaskSpec, TrainerSpec

class Settings(BaseModel):
    depth: int = 1
    width: int = 1

@hookimpl
def tracebench_suite(): return SuiteSpec(title="Acme", owns_bare_ids=True)

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="new", loader="acme:Settings", title="New", aliases=("shorter",))]

@hookimpl
def tracebench_trainers():
    yield TrainerSpec(
        name="Digger", loader="acme:Settings", settings="acme:Settings", aliases=("Dig",), setting_aliases={"deep": "depth"}
    )
    yield TrainerSpec(name="Anything", loader="acme:Settings")
"""
ROWS = [
    {"kind": "trainer", "name": "Spade", "now": "Digger", "settings": {"depth": 3, "width": 4}, "why": "it digs."},
    {"kind": "trainer", "name": "Moved", "now": "NoSuch", "why": "it moved."},
    {"kind": "trainer", "name": "Gone", "now": None, "why": "nobody used it."},
    {"kind": "task", "name": "acme:old", "now": "acme:new", "why": "it is better."},
    {"kind": "task", "name": "acme:older", "now": "acme:nosuch", "why": "it is better."},
    {"kind": "optimizer", "name": "OldOne", "now": "NoSuchOne", "why": "it moved."},
    {"kind": "logger", "name": "Printer", "now": "ConsoleLogger", "why": "it said nothing."},
    {"kind": "setting", "of": "Digger", "name": "wide", "now": "width", "why": "it is shorter."},
    {"kind": "setting", "of": "Digger", "name": "tall", "now": "height", "why": "it is longer."},
    {"kind": "setting", "of": "Digger", "name": "loud", "why": "it digs in silence."},
    {"kind": "trainer", "name": "Spade", "now": "Anything", "why": "a second row of a name counts for nothing."},
]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PluginHost]:
    """The parts of the bench, of a plugin with earlier names, and of two whose earlier names cannot be read."""
    site = tmp_path_factory.mktemp("site")
    told = {"acme": json.dumps(ROWS), "broken_acme": "{", "odd_acme": json.dumps([{"kind": "task", "name": "a:b"}])}
    for name, rows in told.items():
        (site / name).mkdir()
        (site / name / "__init__.py").write_text(ACME if name == "acme" else "")
        (site / name / "formerly.json").write_text(rows)
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[tracebench]\n{name} = {name}\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(site))
        patched.setenv("TRACEBENCH_PLUGINS", ",".join(told))
        yield open_host()


def upgraded(host: PluginHost, folder: Path, text: str) -> tuple[Any, dict[str, tuple[int | None, str, bool]]]:
    """Return the config of today and, by field, line, words and whether it is open."""
    file = folder / "old.yaml"
    file.write_text(text)
    now, rows = upgrade(file, host)
    return yaml.safe_load(now), {row.field: (row.line, row.words, row.is_open) for row in rows}


def test_earlier_names_are_those_of_every_plugin_that_tells_them_well(host: PluginHost) -> None:
    found = former_names(host)
    assert found["trainer", "", "Spade"] == Former("Digger", {"depth": 3, "width": 4}, "it digs.")
    assert found["setting", "Digger", "loud"] == Former(None, {}, "it digs in silence.")
    assert ("task", "", "a:b") not in found  # a row without a reason
    assert {(row["kind"], row.get("of", ""), row["name"]) for row in ROWS} <= found.keys()


@pytest.mark.parametrize(
    ("written", "now", "words", "is_open"),
    [
        ("acme:new", "acme:new", "", False),
        ("shorter", "acme:new", "`shorter` is called `acme:new` now.", False),
        ("new", "acme:new", "`new` is called `acme:new` now.", False),
        ("acme:all", "acme:all", "", False),
        ("acme:n*", "acme:n*", "", False),
        ("acme:old", "acme:new", "`acme:old` is `acme:new` now: it is better.", False),
        ("acme:older", "acme:older", "`acme:older` is `acme:nosuch` now, which cannot be used here: ", True),
        ("acme:never", "acme:never", "", True),
        ("nothing:here", "nothing:here", "No plugin provides the suite `nothing`", True),
    ],
)
def test_a_task_has_its_name_of_today(
    host: PluginHost, tmp_path: Path, *, written: str, now: str, words: str, is_open: bool
) -> None:
    config, told = upgraded(host, tmp_path, f"trainers: [NoOp]\ntasks:\n- '{written}'\n")
    assert config["tasks"] == [{"id": now}]
    line, said, left = told["tasks[0]"]
    assert (line, left) == (3, is_open)
    assert said.startswith(words)
    assert bool(said) == (is_open or written != now)
    assert told["trainers[0]"] == (1, "", False)


@pytest.mark.parametrize(
    ("written", "now", "told"),
    [
        ("{id: Digger}", {"id": "Digger"}, {"id": ("", False)}),
        ("{id: Dig}", {"id": "Digger"}, {"id": ("`Dig` is called `Digger` now.", False)}),
        (
            "{id: Spade}", {"id": "Digger", "params_variants": [{"depth": 3, "width": 4}]},
            {"id": ("`Spade` is `Digger` now: it digs.", False)},
        ),
        (
            "{id: Spade, params_variants: [{width: 9}, {}]}",
            {"id": "Digger", "params_variants": [{"depth": 3, "width": 9}, {"depth": 3, "width": 4}]},
            {"id": ("`Spade` is `Digger` now: it digs.", False), "params_variants[0].width": ("", False)},
        ),
        (
            "{id: Gone, params_variants: [{a: 1}]}", {"id": "Gone", "params_variants": [{"a": 1}]},
            {"id": ("nobody used it.", True), "params_variants[0].a": ("", False)},
        ),
        (
            "{id: Digger, params_variants: [{deep: 2}]}", {"id": "Digger", "params_variants": [{"depth": 2}]},
            {"params_variants[0].deep": ("is `depth` now.", False)},
        ),
        (
            "{id: Digger, params_variants: [{wide: 2, loud: 1}]}", {"id": "Digger", "params_variants": [{"width": 2}]},
            {
                "params_variants[0].wide": ("is `width` now: it is shorter.", False),
                "params_variants[0].loud": ("is left out: it digs in silence.", False),
            },
        ),
        (
            "{id: Digger, params_variants: [{tall: 2}]}", {"id": "Digger", "params_variants": [{"tall": 2}]},
            {"params_variants[0].tall": ("`tall` is `height` now, which `Digger` does not have here.", True)},
        ),
        (
            "{id: Digger, params_variants: [{dept: 2}]}", {"id": "Digger", "params_variants": [{"dept": 2}]},
            {"params_variants[0].dept": ("`Digger` has no such setting. Did you mean `depth`?", True)},
        ),
        (
            "{id: Digger, params_variants: [{optimizer_kwargs: {a: 1}}]}",
            {"id": "Digger", "params_variants": [{"optimizer_kwargs": {"a": 1}}]},
            {"params_variants[0].optimizer_kwargs.a": ("", False)},
        ),
        (
            "{id: Anything, params_variants: [{whatever: 2}]}", {"id": "Anything", "params_variants": [{"whatever": 2}]},
            {"params_variants[0].whatever": ("", False)},
        ),
        (
            "{id: Digger, logger: Printer}", {"id": "Digger", "logger": "ConsoleLogger"},
            {"logger": ("`Printer` is `ConsoleLogger` now: it said nothing.", False)},
        ),
    ],
)  # fmt: skip
def test_a_trainer_and_its_settings_have_their_names_of_today(
    host: PluginHost, tmp_path: Path, *, written: str, now: Any, told: Any
) -> None:
    config, said = upgraded(host, tmp_path, f"tasks: ['acme:new']\ntrainers:\n- {written}\n")
    assert config["trainers"] == [now]
    for field, (words, is_open) in told.items():
        assert said[f"trainers[0].{field}"] == (3, words, is_open)
    assert [field for field, (_, _, is_open) in said.items() if is_open] == [
        f"trainers[0].{field}" for field, (_, is_open) in told.items() if is_open
    ]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("{id: Moved}", "`Moved` is `NoSuch` now, which cannot be used here: No plugin offers a trainer `NoSuch`"),
        ("{id: Digger, optimizer: OldOne}", "`OldOne` is `NoSuchOne` now, which cannot be used here: No plugin offers"),
        ("{id: Diger}", "No plugin offers a trainer `Diger`"),
        ("{id: Digger, guide: nobody}", "No plugin offers a guide `nobody`"),
    ],
)
def test_a_part_that_nobody_offers_stays_and_is_the_users_to_mend(
    host: PluginHost, tmp_path: Path, *, written: str, words: str
) -> None:
    config, said = upgraded(host, tmp_path, f"tasks: ['acme:new']\ntrainers:\n- {written}\n")
    assert config["trainers"] == [yaml.safe_load(written)]
    (left,) = [words for _, words, is_open in said.values() if is_open]
    assert left.startswith(words)


@pytest.mark.parametrize("word", ["none", "Off", "disabled"])
def test_that_there_is_no_logger_stays_as_it_is(host: PluginHost, tmp_path: Path, word: str) -> None:
    config, said = upgraded(host, tmp_path, f"tasks: ['acme:new']\ntrainers:\n- {{id: Digger, logger: '{word}'}}\n")
    assert config["trainers"] == [{"id": "Digger", "logger": word}]
    assert said["trainers[0].logger"] == (3, "", False)


def test_a_setting_that_stands_under_both_names_keeps_both_and_is_told(host: PluginHost, tmp_path: Path) -> None:
    config, said = upgraded(
        host, tmp_path, "tasks: ['acme:new']\ntrainers:\n- {id: Digger, params_variants: [{deep: 2, depth: 3}]}\n"
    )
    assert config["trainers"][0]["params_variants"] == [{"deep": 2, "depth": 3}]
    assert not said["trainers[0].params_variants[0].deep"][2]


def test_what_became_of_each_field_stands_in_the_order_of_the_file(host: PluginHost, tmp_path: Path) -> None:
    """Fields that moved, that are empty and that are a secret; and what the whole lacks, which has no line."""
    file = tmp_path / "old.yaml"
    file.write_text(
        "seed: 3\nmode: null\nruns-root: a\napi_key: hunter2OfMine\ntasks: [{key: 'acme:new'}]\nmax_workers: many\n"
    )
    text, rows = upgrade(file, host)
    assert yaml.safe_load(text) == {
        "seeds": [3], "runs_dir": "a", "tasks": [{"id": "acme:new"}], "max_workers": "many",
    }  # fmt: skip
    assert rows[:3] == [
        Became(1, "seed", "is `seeds` now."),
        Became(2, "mode", "is empty, which is the default, and left out."),
        Became(3, "runs-root", "is `runs_dir` now."),
    ]
    assert [(row.line, row.field, row.is_open) for row in rows[3:]] == [
        (4, "api_key", True),
        (5, "tasks[0].key", False),
        (6, "max_workers", False),
        (None, "", True),
    ]
    assert "`max_workers`" in rows[-1].words
    assert "hunter2" not in text + str(rows)


@pytest.mark.parametrize("text", ["- a\n", "a: [1\n"])
def test_what_is_no_config_cannot_be_upgraded(host: PluginHost, tmp_path: Path, text: str) -> None:
    (tmp_path / "old.yaml").write_text(text)
    with pytest.raises(ConfigError):
        upgrade(tmp_path / "old.yaml", host)

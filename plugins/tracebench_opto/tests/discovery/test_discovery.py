"""Every trainer class of a build is found and shown with a verdict; none is offered untried and none is hidden."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.processes import has_ended, is_alive
from tests.whole import HEAVY

pytest.importorskip("opto", reason="opto is an extra of this plugin")

import layouts

from tracebench_opto.discovery import catalogue, signatures
from tracebench_opto.discovery.catalogue import discover
from tracebench_opto.discovery.records import Discovered
from tracebench_opto.discovery.specs import exclusions, trainer_specs

HANGS = {
    "trainer/algorithms/hangs.py": """
        import subprocess
        from opto.trainer.algorithms.algorithm import AlgorithmBase

        class Hangs(AlgorithmBase):
            def train(self, guide, train_dataset, **kwargs):
                child = subprocess.Popen(["sleep", "600"])
                with open(__file__ + ".pid", "w") as file:
                    file.write(str(child.pid))
                child.wait()
    """
}


def verdicts(discovered: list[Discovered]) -> dict[str, str]:
    return {d.id: str(d.verdict) for d in discovered}


@HEAVY
def test_the_layout_of_0_1_3_9(tmp_path: Path) -> None:
    folder = layouts.plant(tmp_path, layouts.V0139)
    found = verdicts(discover(opto=folder, cache=tmp_path / "cache"))
    assert found == {
        "opto:AggregatedUpdate": "broken: TypeError: AggregatedUpdate.update() got an unexpected keyword argument 'num_threads'",
        "opto:AlgorithmBase": "excluded: the base class of trainers",
        "opto:BasicSearchAlgorithm": "needs: the command dot",
        "opto:Minibatch": "excluded: abstract: it leaves `forward` and `update` to its subclasses",
        "opto:MinibatchAlgorithm": "ok",
    }


@HEAVY
def test_the_layout_of_0_2_0_alpha(tmp_path: Path) -> None:
    folder = layouts.plant(tmp_path, layouts.V020_ALPHA)
    found = verdicts(discover(opto=folder, cache=tmp_path / "cache", excluded=["GEPAAlgorithmBase"]))
    assert found == {
        "opto:Exits": "broken: ended with code 7",
        "opto:GEPAAlgorithmBase": "excluded: excluded by the settings",
        "opto:Lazy": "broken: evaluates no candidate of its own (with 1 parameters)",
        "opto:PrioritySearch": "ok",
        "opto:SearchTemplate": "excluded: abstract: it leaves `update` and `sample` to its subclasses",
        "opto:SequentialUpdate": "broken: TypeError: save_train_config.<locals>.wrapper() takes 1 positional argument but 3 were given",
        "opto:Trainer": "excluded: the base class of trainers",
    }


@HEAVY
def test_the_experimental_layout(tmp_path: Path) -> None:
    folder = layouts.plant(tmp_path, layouts.EXPERIMENTAL)
    found = verdicts(discover(opto=folder, cache=tmp_path / "cache"))
    unimportable = "broken: its module cannot be imported: `opto.trainer.algorithms.beam` needs the module `examples`"
    assert found == {
        "opto:BeamSearch": unimportable,
        "opto:BeamSearchHistory": unimportable,
        "opto:POLCA": 'ok: only with {"epsilon": 0, "use_summarizer": false}; as it is: '
        "ConnectionRefusedError: a trial has no network",
        "opto:PrioritySearch": "ok",
        "opto:SearchTemplate": "excluded: abstract: it leaves `update` and `sample` to its subclasses",
        "opto:Trainer": "excluded: the base class of trainers",
    }


@HEAVY
def test_verdicts_are_remembered_until_the_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = layouts.plant(tmp_path, layouts.V0139)
    cache = tmp_path / "cache"
    first = discover(opto=folder, cache=cache)
    with monkeypatch.context() as patch:
        patch.setattr("sys.executable", "/nowhere/python")
        assert discover(opto=folder, cache=cache) == first
    mended = folder / "trainer/algorithms/aggregator.py"
    mended.write_text(mended.read_text().replace("return self.update(num_threads=1)", "raise ValueError('another')"))
    assert verdicts(discover(opto=folder, cache=cache))["opto:AggregatedUpdate"] == "broken: ValueError: another"


def test_remembering_starts_nothing_and_listing_tries_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = layouts.plant(tmp_path, layouts.V0139)
    cache = tmp_path / "cache"
    with monkeypatch.context() as patch:
        patch.setattr("sys.executable", "/nowhere/python")
        assert discover(opto=folder, cache=cache, effort="remember") == []
    listed = {d.id: d.verdict.status for d in discover(opto=folder, cache=cache, effort="list")}
    assert listed["opto:MinibatchAlgorithm"] == "untried"
    assert listed["opto:AlgorithmBase"] == "excluded"
    [tried] = discover(opto=folder, cache=cache, only="opto:MinibatchAlgorithm")
    assert tried.verdict.status == "ok"
    with monkeypatch.context() as patch:
        patch.setattr("sys.executable", "/nowhere/python")
        known = {d.id: d.verdict.status for d in discover(opto=folder, cache=cache, effort="remember")}
    assert known["opto:MinibatchAlgorithm"] == "ok"
    assert "opto:AggregatedUpdate" not in known


def test_an_excluded_class_is_not_tried_and_one_that_is_asked_for_alone_is(tmp_path: Path) -> None:
    folder = layouts.plant(tmp_path, layouts.V0139)
    cache = tmp_path / "cache"
    names = ["MinibatchAlgorithm", "opto:BasicSearchAlgorithm", "AggregatedUpdate"]
    assert {d.verdict.status for d in discover(opto=folder, cache=cache, excluded=names)} == {"excluded"}
    [only] = discover(opto=folder, cache=cache, only="opto__trainer__algorithms__aggregator__AggregatedUpdate")
    assert only.verdict.status == "broken"
    [remembered] = cache.glob("*.json")
    assert remembered.read_text().count('"status"') == 1


def test_a_class_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "SECONDS_TO_PROBE", 6.0)
    folder = layouts.plant(tmp_path, layouts.V0139 | HANGS)
    [hanging] = discover(opto=folder, cache=tmp_path / "c", only="opto__trainer__algorithms__hangs__Hangs")
    assert str(hanging.verdict) == "broken: took longer than 6 s"
    assert has_ended(int((folder / "trainer/algorithms/hangs.py.pid").read_text()))
    [file] = (tmp_path / "c").glob("*.json")
    assert not [key for key in json.loads(file.read_text())["verdicts"] if "Hangs" in key]
    (folder / "trainer/algorithms/hangs.py.pid").unlink()
    again = discover(opto=folder, cache=tmp_path / "c", only="opto__trainer__algorithms__hangs__Hangs")
    assert [str(d.verdict) for d in again] == [str(hanging.verdict)]
    assert not (folder / "trainer/algorithms/hangs.py.pid").exists()


COMMAND = """
import sys
from pathlib import Path
from tracebench_opto.discovery.catalogue import discover
discover(opto=Path(sys.argv[1]), cache=Path(sys.argv[2]), only="opto__trainer__algorithms__hangs__Hangs")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_trial_dies_with_its_command_and_the_command_says_what_it_tries(number: int, tmp_path: Path) -> None:
    folder = layouts.plant(tmp_path, layouts.V0139 | HANGS)
    told = tmp_path / "told"
    with told.open("wb") as stderr:
        command = subprocess.Popen([sys.executable, "-c", COMMAND, folder, tmp_path / "c"], stderr=stderr)
    started = folder / "trainer/algorithms/hangs.py.pid"
    deadline = time.monotonic() + 240
    while not (started.exists() and started.read_text()):
        assert command.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    child = int(started.read_text())
    probe = parent_of(child)
    command.send_signal(number)
    command.wait()
    while any(map(is_alive, (probe, child))):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (
        "trying out trainers of opto, once for this state of its source: Hangs; 90 s each at most" in told.read_text()
    )


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@HEAVY
def test_a_damaged_or_unwritable_memory_is_done_without(tmp_path: Path) -> None:
    folder = layouts.plant(tmp_path, layouts.V0139)
    cache = tmp_path / "cache"
    wanted = "opto__trainer__algorithms__aggregator__AggregatedUpdate"
    first = discover(opto=folder, cache=cache, only=wanted)
    [file] = cache.glob("*.json")
    file.write_text('{"found": [{"module": 3')
    assert discover(opto=folder, cache=cache, only=wanted) == first
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert discover(opto=folder, cache=blocked / "below", only=wanted) == first


def test_classes_of_one_name_are_told_apart_by_module(tmp_path: Path) -> None:
    twin = {"features/twin.py": layouts.V0139["trainer/algorithms/aggregator.py"]}
    folder = layouts.plant(tmp_path, layouts.V0139 | twin)
    excluded = ["MinibatchAlgorithm", "BasicSearchAlgorithm", "AggregatedUpdate"]
    ids = [d.id for d in discover(opto=folder, cache=tmp_path / "cache", excluded=excluded)]
    assert "opto:opto.features.twin.AggregatedUpdate" in ids
    assert "opto:opto.trainer.algorithms.aggregator.AggregatedUpdate" in ids


@HEAVY
def test_specs_say_why_a_trainer_cannot_run_and_exactly_which_code_it_is(tmp_path: Path) -> None:
    discovered = discover(opto=layouts.plant(tmp_path, layouts.V0139), cache=tmp_path / "cache")
    specs = {s.name: s for s in trainer_specs(discovered)}
    assert specs["opto:AggregatedUpdate"].broken.startswith("TypeError")
    assert specs["opto:BasicSearchAlgorithm"].requires[0].name == "dot"
    running = specs["opto:MinibatchAlgorithm"]
    assert not running.broken
    assert running.source is not None
    assert running.source.module == "opto.trainer.algorithms.basic_algorithm"
    assert len(running.source.file_hash) == 64
    assert running.setting_aliases["train_batch_size"] == "batch_size"
    assert {e.id for e in exclusions(discovered)} == {"opto:AlgorithmBase", "opto:Minibatch"}


def test_an_opto_without_trainers_offers_none(tmp_path: Path) -> None:
    assert discover(opto=layouts.plant(tmp_path, {}), cache=tmp_path / "cache") == []
    assert not (tmp_path / "cache").exists()


def test_keywords_are_seen_through_decorators_and_up_the_ancestry() -> None:
    def hiding(function):  # type: ignore[no-untyped-def]
        def wrapper(self, **kwargs):  # type: ignore[no-untyped-def]
            return function(self, **kwargs)

        return wrapper

    class Base:
        def train(self, guide, steps=3, **kwargs):  # type: ignore[no-untyped-def]
            pass

    class Child(Base):
        @hiding
        def train(self, width=object(), **kwargs):  # type: ignore[no-untyped-def]  # noqa: B008
            pass

    class Closed(Child):
        def train(self, only=1):  # type: ignore[no-untyped-def]
            pass

    assert signatures.keywords(Child, "train") == {"width": None, "guide": None, "steps": 3}
    assert signatures.keywords(Closed, "train") == {"only": 1}

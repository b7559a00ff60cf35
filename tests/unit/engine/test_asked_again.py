"""What is measured again is answered as it was, in turn; and a data set is one of the run, or one that is opened and removed here."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core.errors import MissingRequirementError, PluginError
from tracebench_core.specs import EnvironmentSpec, Requirement
from tracebench_engine.measure.answer_cache import CachedModels
from tracebench_engine.measure.datasets import open_dataset


class Counting:
    """A model that counts what it is asked, and tells what else is asked of it."""

    def __init__(self) -> None:
        self.asked, self.told = 0, list[Any]()

    def complete(self, _messages: Any, **told: Any) -> Any:
        self.asked += 1
        self.told.append(told)
        return [f"answer {self.asked}"]

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **told: (name, *args, *told.values())


SAID: list[Any] = [{"role": "user", "content": "a"}]


def test_what_was_asked_before_is_answered_as_it_was_in_turn() -> None:
    model = Counting()
    heard = CachedModels(model)  # type: ignore[arg-type]  # answers as models do

    def ask(content: str = "a", **more: Any) -> Any:
        return heard.complete([{"role": "user", "content": content}], **{"role": "judge", **more})[0]

    first = [ask(), ask(), ask("b"), ask(n=2), ask(temperature=1), ask(role="agent")]
    assert first == [f"answer {n}" for n in range(1, 7)]
    for _ in range(2):
        with heard.repeating():
            assert [ask(), ask(), ask("b"), ask(n=2), ask(temperature=1), ask(role="agent")] == first
    with heard.repeating():
        assert [ask(), ask(), ask()] == ["answer 1", "answer 2", "answer 7"]
        assert ask("new") == "answer 8"
    assert ask() == "answer 9"
    with heard.repeating():
        assert [ask(), ask(), ask()] == [
            "answer 1",
            "answer 2",
            "answer 9",
        ]  # what was asked while it repeated is not kept
        assert ask("new") == "answer 10"
    assert model.told[3] == {"role": "judge", "phase": "training", "n": 2}
    assert model.told[4] == {"role": "judge", "phase": "training", "n": 1, "temperature": 1}


def test_an_error_while_it_repeats_ends_the_repeating() -> None:
    heard = CachedModels(Counting())  # type: ignore[arg-type]  # as above
    heard.complete(SAID, role="judge")
    with pytest.raises(KeyError), heard.repeating():
        raise KeyError
    assert heard.complete(SAID, role="judge") == ["answer 2"]


def test_what_has_no_text_is_asked_each_time() -> None:
    heard = CachedModels(Counting())  # type: ignore[arg-type]  # as above
    thing = object()
    assert heard.complete(SAID, role="judge", tools=thing) == ["answer 1"]
    with heard.repeating():
        assert heard.complete(SAID, role="judge", phase="scoring", n=3, tools=thing) == ["answer 2"]
    assert heard._models.told[1] == {"role": "judge", "phase": "scoring", "n": 3, "tools": thing}  # type: ignore[attr-defined]


def test_all_else_is_asked_of_the_models_behind_and_an_address_is_remembered() -> None:
    heard: Any = CachedModels(Counting())  # type: ignore[arg-type]  # as above
    assert not heard.has_doors
    assert heard.endpoint("judge", phase="scoring") == ("endpoint", "judge", "scoring")
    assert heard.has_doors
    assert [heard.records(3), heard.used(), heard.refusal("scoring"), heard.refusal(), heard.start_clock(), heard.began()] == [
        ("records", 3), ("used",), ("refusal", "scoring"), ("refusal", "training"), ("start_clock",), ("began",),
    ]  # fmt: skip
    model = SimpleNamespace(end_training=lambda: done.append("end"), score_anew=lambda: done.append("anew"))
    done: list[str] = []
    behind: Any = CachedModels(model)  # type: ignore[arg-type]  # as above
    behind.end_training()
    behind.score_anew()
    assert done == ["end", "anew"]


class Shelf:
    """A data set that keeps with what it was made and opened."""

    made: Shelf

    def __init__(self, **options: Any) -> None:
        self.options, self.closed, Shelf.made = options, 0, self

    def open(self, context: Any) -> Any:
        self.context = context
        assert context.workdir.is_dir()
        if self.options.get("breaks"):
            raise OSError("broken")
        return ("handle", self.options)

    def close(self) -> None:
        self.closed += 1
        if self.options.get("breaks") == "twice":
            raise RuntimeError("stuck")


def hosting(**fields: Any) -> Any:
    spec = {"name": "shelf", "title": "S", "kind": "data", "loader": f"{__name__}:Shelf", "scope": "run"}
    spec |= {"options": {"size": 3, "breaks": ""}}
    return SimpleNamespace(component=lambda _kind, _name: EnvironmentSpec.model_validate({**spec, **fields}))


def test_a_data_set_is_opened_here_and_removed_when_it_is_no_longer_used() -> None:
    handle, close = open_dataset(hosting(), "shelf", {"size": 5, "other": 1}, environments=None)
    assert handle == ("handle", {"size": 5, "breaks": ""})
    context = Shelf.made.context
    assert (context.seed, context.job_id) == (0, None)
    (context.workdir / "file").touch()
    close()
    assert (Shelf.made.closed, context.workdir.exists()) == (1, False)


@pytest.mark.parametrize(("breaks", "error"), [("once", OSError), ("twice", RuntimeError)])
def test_nothing_is_left_of_a_data_set_that_cannot_be_opened(breaks: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        open_dataset(hosting(), "shelf", {"breaks": breaks}, environments=None)
    assert (Shelf.made.closed, Shelf.made.context.workdir.exists()) == (1, False)


def test_a_runs_data_set_is_leased_with_the_options_that_it_takes() -> None:
    asked: list[Any] = []

    def lease(name: str, chosen: Any) -> Any:
        asked.append((name, chosen))
        return SimpleNamespace(handle="held", release="release")

    environments: Any = SimpleNamespace(lease=lease)
    assert open_dataset(hosting(), "shelf", {"size": 5, "x": 1}, environments=environments) == ("held", "release")
    assert open_dataset(hosting(), "shelf", {}, environments=environments) == ("held", "release")
    assert asked == [("shelf", {"size": 5}), ("shelf", {})]


def test_what_is_no_environment_of_the_run_or_lacks_something_is_refused(tmp_path: Path) -> None:
    for host in (hosting(scope="job"), SimpleNamespace(component=lambda *_: object())):
        with pytest.raises(PluginError, match=r"^The data set `shelf` is no environment of scope `run`\.$"):
            open_dataset(host, "shelf", {}, environments=None)
    absent = Requirement(kind="command", name=str(tmp_path / "nothing"), hint="get it")
    with pytest.raises(MissingRequirementError, match="nothing"):
        open_dataset(hosting(requires=(absent,)), "shelf", {}, environments=None)

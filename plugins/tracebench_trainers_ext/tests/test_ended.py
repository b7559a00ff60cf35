"""How a library's process is held, and what its end means in the engine's words."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tracebench_core.errors import MissingRequirementError, ModelError, NotApplicableError, ProgramError, UsageError
from tracebench_trainers_ext.coding import CodingAgent
from tracebench_trainers_ext.launch import ADAPTERS, LONGEST_REPORT, ForeignTrainer, _named, _read
from tracebench_trainers_ext.libraries import GEPA, SHINKA, Library, find_interpreter
from tracebench_trainers_ext.settings.agent import AgentSettings

ABSENT = Library("never", "no_such_module_at_all", "never-there", "1", "2", python="no_such_python")


class Settings(BaseModel):
    depth: int = 3


class Held(Settings):
    network: str = "open"
    files: str = "host"
    readable: tuple[str, ...] = ("/r",)
    copied: tuple[str, ...] = ("/c",)
    argv: tuple[str, ...] = ()


def trainer(library: Library | None = GEPA, settings: BaseModel | None = None) -> ForeignTrainer:
    return ForeignTrainer("gepa-optimize", library, settings or Settings())


@pytest.mark.parametrize(
    ("report", "code", "kind", "words"),
    [
        ({"end": "model", "words": "no answer"}, 1, ModelError, "no answer"),
        ({"end": "model", "words": "no answer"}, 0, ModelError, "no answer"),
        ({"end": "not applicable", "words": "no text"}, 0, NotApplicableError, "no text"),
        ({"end": "settings", "words": "no `x`"}, 0, UsageError, "no `x`"),
        ({"end": "library", "words": "too old"}, 0, MissingRequirementError, "too old"),
        ({"end": "done"}, 3, ProgramError, "`gepa` failed: it ended with code 3 and without a word"),
        ({"end": "failed", "words": "KeyError: 1"}, 0, ProgramError, "`gepa` failed: KeyError: 1"),
        ({}, -9, ProgramError, "`gepa` failed: it ended with code -9 and without a word"),
        (["done"], 0, ProgramError, "`gepa` failed: it ended with code 0 and without a word"),
    ],
)
def test_an_end_is_told_in_the_engines_words(
    tmp_path: Path, report: Any, code: int, kind: type[Exception], words: str
) -> None:
    (tmp_path / "ended.json").write_text(json.dumps(report))
    with pytest.raises(kind) as caught:
        trainer()._judge(code, tmp_path / "ended.json")
    more = "; what it wrote is in the job's `stdout.log`." if kind is ProgramError else ""
    assert str(caught.value) == words + more
    if isinstance(caught.value, MissingRequirementError):
        assert caught.value.hint.endswith('"tracebench-trainers-ext[gepa]"   (or: trace-bench pythons create ext)')
    if isinstance(caught.value, ModelError):
        assert caught.value.kind == "server"


def test_an_end_that_is_well_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "ended.json").write_text('{"end": "done"}')
    trainer()._judge(0, tmp_path / "ended.json")


def test_an_adapter_without_a_library_is_named_itself(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"^`gepa-optimize` failed: it ended with code 2 and without a word; "):
        trainer(None)._judge(2, tmp_path / "gone.json")
    (tmp_path / "ended.json").write_text('{"end": "library", "words": "x"}')
    with pytest.raises(MissingRequirementError) as caught:
        trainer(None)._judge(0, tmp_path / "ended.json")
    assert caught.value.hint == ""


def a_link(place: Path) -> None:
    (place.parent / "real").write_text('{"end": "done"}')
    place.symlink_to("real")


@pytest.mark.parametrize(
    "make",
    [
        lambda _: None,
        lambda place: place.write_text("{"),
        lambda place: place.write_bytes(b"\xff{}"),
        lambda place: place.write_text('["done"]'),
        lambda place: place.write_text("[" * 100_000),
        lambda place: place.mkdir(),
        os.mkfifo,
        a_link,
        lambda place: place.write_text('{"end": "done", "words": "' + "x" * LONGEST_REPORT + '"}'),
    ],
)
def test_a_report_that_is_none_is_as_if_there_were_none(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "ended.json")
    assert _read(tmp_path / "ended.json") == {}


def test_an_order_says_what_the_adapter_needs(tmp_path: Path) -> None:
    told = trainer()._order({"depth": 3}, tmp_path)
    assert json.loads(told.pop("TRACEBENCH_ORDER")) == {
        "settings": {"depth": 3}, "library": ["gepa", "0.1.4", "0.2"], "report": str(tmp_path / "ended.json"),
    }  # fmt: skip
    assert told == {}
    assert json.loads(trainer(None)._order({}, tmp_path)["TRACEBENCH_ORDER"])["library"] is None


def test_what_the_settings_say_holds_a_process(tmp_path: Path) -> None:
    assert trainer()._held() == {"shown": (ADAPTERS,)}
    (tmp_path / "model.json").touch()
    argv = ("no-such-program", str(tmp_path / "model.json"), "model.json", str(tmp_path), str(tmp_path / "gone"))
    assert trainer(settings=Held(argv=argv))._held() == {
        "network": "open", "files": "host", "readable": ("/r",), "copied": ("/c",), "shown": (ADAPTERS, tmp_path / "model.json"),
    }  # fmt: skip


def test_what_belongs_to_a_command_is_shown_to_it(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert program in [*_named([str(program), "-x"])]
    assert [*_named([])] == []


def test_a_library_runs_in_the_interpreter_that_has_it() -> None:
    assert find_interpreter(None, None) == sys.executable
    assert find_interpreter(Library("j", "json", "json", "1", "2"), None) == sys.executable
    assert find_interpreter(ABSENT, sys.executable) == sys.executable
    with pytest.raises(MissingRequirementError, match=r"^`never-there` is not installed\.$") as caught:
        find_interpreter(ABSENT, None)
    assert caught.value.hint == "trace-bench pythons create no_such_python"
    assert SHINKA.hint == "trace-bench pythons create shinka"


def test_a_coding_agent_is_called_by_its_preset_or_its_command() -> None:
    agent = CodingAgent(AgentSettings(argv=("/opt/mine/coder", "--yes"), silence=7.0))
    assert agent._name == "coder"
    held = agent._held()
    assert (held["silence"], held["network"], held["files"], held["shown"][0]) == (7.0, "gateway", "folder", ADAPTERS)

"""What is asked before the viewer serves: the folder, who may come in, the port; and what its pages are told and type."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tracebench_core.errors import RunDirError, TraceBenchError, UsageError
from tracebench_viewer import commands, launching
from tracebench_viewer.calltexts import message_text
from tracebench_viewer.command import DEFAULT_PORT, PORTS_TRIED, _demand_folder, _demand_leave, _free_port, _is_free
from tracebench_viewer.launching import LARGEST_CONFIG, Wish, config_text, known_configs, plan
from tracebench_viewer.settings import VARIABLE, ViewerSettings, hand_over, read_settings


@contextmanager
def taken(port: int = 0) -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
        server.listen()
        yield int(server.getsockname()[1])


def test_a_folder_of_runs_is_one_that_can_be_read(tmp_path: Path) -> None:
    _demand_folder(tmp_path)
    (tmp_path / "file").touch()
    for name, what in (("none", "does not exist"), ("file", "is no folder")):
        with pytest.raises(RunDirError) as error:
            _demand_folder(tmp_path / name)
        assert str(error.value) == f"`{tmp_path / name}` {what}."
        assert error.value.hint == "trace-bench ui --runs-dir DIR"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads every folder")
def test_a_folder_that_may_not_be_read_is_told_with_its_rights(tmp_path: Path) -> None:
    (tmp_path / "my runs").mkdir(mode=0)
    with pytest.raises(RunDirError, match="cannot be read: Permission denied") as error:
        _demand_folder(tmp_path / "my runs")
    assert error.value.hint == f"ls -ld '{tmp_path / 'my runs'}'"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.1", "::", "a.name"])
def test_other_machines_come_in_only_where_that_is_said(host: str) -> None:
    with pytest.raises(UsageError, match="would let other machines look at your runs") as error:
        _demand_leave(host, allow_remote=False)
    assert str(error.value.hint).startswith(f"trace-bench ui --host {host} --allow-remote ")
    assert "ssh -L 8501:localhost:8501" in str(error.value.hint)
    _demand_leave(host, allow_remote=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_this_machine_always_may(host: str) -> None:
    _demand_leave(host, allow_remote=False)


def test_a_port_is_the_wanted_one_or_refused_with_a_free_one() -> None:
    with taken() as port:
        assert not _is_free("127.0.0.1", port)
        with pytest.raises(UsageError) as error:
            _free_port("127.0.0.1", port)
        assert str(error.value) == f"Port {port} of 127.0.0.1 is taken, or is not yours to take."
        other = int(str(error.value.hint).removeprefix("trace-bench ui --port "))
        assert port < other < port + PORTS_TRIED
        assert _is_free("127.0.0.1", other)
    assert _free_port("127.0.0.1", port) == port


def test_without_a_wish_it_is_the_first_free_one() -> None:
    first = _free_port("127.0.0.1", None)
    assert DEFAULT_PORT <= first < DEFAULT_PORT + PORTS_TRIED
    with taken(first):
        assert _free_port("127.0.0.1", None) > first


def test_an_address_that_is_none_is_told() -> None:
    with pytest.raises(UsageError) as error:
        _is_free("no such name", 1)
    assert str(error.value) == "`no such name` is no address of this machine."
    assert error.value.hint == "trace-bench ui --host 127.0.0.1"
    assert not _is_free("192.0.2.1", 8501), "an address of another machine"


def test_settings_are_handed_over_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    told = read_settings()
    assert (told.runs, told.read_only, told.configs_dir) == (Path("runs"), False, "configs")
    settings = ViewerSettings(runs_dir="/a b", read_only=True, configs_dir="c")
    monkeypatch.setenv(VARIABLE, "")
    hand_over(settings)
    assert read_settings() == settings


def test_a_wish_is_a_config_that_leaves_open_what_was_left_open() -> None:
    assert yaml.safe_load(config_text(Wish(["a:b"], ["T"]))) == {
        "mode": "stub", "seeds": [1], "tasks": ["a:b"], "trainers": [{"id": "T"}],
    }  # fmt: skip
    whole = Wish(["é"], ["T", "U"], (2, 3), "real", "m", {"usd": 1.5}, 2, ("x",), record=True)
    assert yaml.safe_load(config_text(whole)) == {
        "mode": "real", "seeds": [2, 3], "tasks": ["é"], "trainers": [{"id": "T"}, {"id": "U"}], "max_workers": 2,
        "budget": {"usd": 1.5}, "tags": ["x"], "llm": {"model": "m", "record": True},
    }  # fmt: skip
    assert "é" in config_text(whole)
    assert yaml.safe_load(config_text(Wish([], [], record=True)))["llm"] == {"record": True}
    assert config_text(whole).startswith("mode:"), "in the order in which people write it"


def test_configs_are_files_of_yaml_by_name(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "c.json", "d.yaml.txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder.yaml").mkdir()
    assert [path.name for path in known_configs(tmp_path)] == ["a.yaml", "b.yml"]
    assert known_configs(tmp_path / "none") == []


def test_a_config_lies_in_the_runs_folder_while_it_is_read_and_goes_by_no_path(tmp_path: Path) -> None:
    seen: list[Path] = []

    def use(path: Path) -> dict[str, Any]:
        seen.append(path)
        assert path.parent == tmp_path
        assert path.read_text() == "é: 1"
        if len(seen) > 1:
            raise UsageError(f"{path} is wrong.", hint=f"trace-bench plan {path}")
        return {"found": 1}

    assert launching._with_file("é: 1", tmp_path, use) == {"found": 1}
    with pytest.raises(UsageError) as error:
        launching._with_file("é: 1", tmp_path, use)
    assert (str(error.value), error.value.hint) == ("the config is wrong.", "trace-bench plan FILE")
    assert [*tmp_path.iterdir()] == []


def test_a_config_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"The config is larger than 1 MB\."):
        plan("#" * (LARGEST_CONFIG + 1), tmp_path)
    with pytest.raises(UsageError) as error:
        plan("#" * LARGEST_CONFIG, tmp_path / "none")
    assert str(error.value) == f"`{tmp_path / 'none'}` cannot be written: No such file or directory."
    assert error.value.hint == "trace-bench ui --runs-dir DIR"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A program that stands where `trace-bench` stands."""
    path = tmp_path / "trace-bench"
    path.touch(mode=0o755)
    monkeypatch.setattr(commands, "_ours", lambda: [str(path)])
    commands.forget()
    yield path
    commands.forget()


def does(command: Path, script: str) -> None:
    command.write_text(f"#!/bin/sh\n{script}\n")


def test_a_command_is_asked_for_json_and_nothing_is_typed_to_it(command: Path, tmp_path: Path) -> None:
    does(command, """read x; printf '{"words": "%s", "at": "%s", "typed": "%s"}' "$*" "$PWD" "$x" """)
    assert commands.ask("plan", "a b", at=tmp_path) == {"words": "plan a b --json", "at": str(tmp_path), "typed": ""}


def test_what_is_found_wanting_is_an_answer_where_that_is_said(command: Path) -> None:
    does(command, "echo '{}'; echo 'error: it is so' >&2; exit 1")
    assert commands.ask("doctor", found_wanting=True) == {}
    with pytest.raises(UsageError, match=r"^it is so$"):
        commands.ask("doctor")
    does(command, "echo '{}'; exit 2")
    with pytest.raises(UsageError, match=r"^The command failed and said nothing\.$"):
        commands.ask("doctor", found_wanting=True)


def test_an_answer_in_words_is_none(command: Path) -> None:
    does(command, f"printf '%s' '{'x' * 300}'")
    with pytest.raises(UsageError) as error:
        commands.ask("plan", "x")
    assert str(error.value) == f"`trace-bench plan` printed no JSON: '{'x' * 200}'."


def test_patience_ends(command: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    does(command, "exec sleep 60")
    monkeypatch.setattr(commands, "PATIENCE", 0.1)
    with pytest.raises(UsageError, match=r"`trace-bench plan` gave no answer in 0\.1 seconds\."):
        commands.ask("plan")


def test_a_refusal_has_the_commands_last_words_and_its_hints(command: Path) -> None:
    says = "".join(f"echo 'line {n}' >&2; " for n in range(25))
    does(command, f"{says} echo 'error: no' >&2; echo '  hint: do this' >&2; echo 'hint: or that' >&2; exit 2")
    with pytest.raises(TraceBenchError) as error:
        commands.ask("plan")
    assert str(error.value).splitlines() == [*(f"line {n}" for n in range(6, 25)), "no"]
    assert error.value.hint == "do this or that"


def test_what_is_installed_is_asked_once_until_it_is_forgotten(command: Path, tmp_path: Path) -> None:
    does(command, f"echo . >> {tmp_path}/times; echo '{{\"is\": \"'$1'\"}}'; exit 1")
    for _ in range(2):
        assert commands.installed("list-tasks --all", "doctor") == [{"is": "list-tasks"}, {"is": "doctor"}]
    assert len((tmp_path / "times").read_text().splitlines()) == 2
    commands.forget()
    commands.installed("doctor")
    assert len((tmp_path / "times").read_text().splitlines()) == 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_command_is_begun_with_its_words_in_a_log(command: Path, tmp_path: Path) -> None:
    does(command, 'echo "$@"; echo wrong >&2')
    log = tmp_path / "log"
    log.write_text("before\n")
    pid = commands.begin("run", "x", log=log)
    os.waitpid(pid, 0)
    assert log.read_text().splitlines() == ["before", "run x", "wrong"]
    with pytest.raises(UsageError, match=r"The command cannot be started: .*No such file"):
        commands.begin("run", log=tmp_path / "none/log")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "user", "content": "a"}, "a"),
        ({"content": None}, ""),
        ({"content": [{"text": "é"}]}, '[{"text": "é"}]'),
        ({"content": "a", "name": "", "tool_calls": None}, "a"),
        ({"content": "a", "tool": "é"}, 'a\n{\n "tool": "é"\n}'),
    ],
)
def test_a_message_is_its_content_and_whatever_else_it_holds(message: dict[str, Any], text: str) -> None:
    assert message_text(message) == text
    assert json.dumps(message)

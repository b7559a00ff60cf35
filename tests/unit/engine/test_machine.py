"""What is found of this machine and told: its limits, folders, addresses, interpreters and agents, each with what mends it."""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core.errors import MissingRequirementError, PluginError, UsageError
from tracebench_core.plugins.interpreters import VARIABLE
from tracebench_core.specs import AgentSpec, PythonSpec
from tracebench_engine.checks import doctor, pythons
from tracebench_engine.checks.agents import _installed_from, _npm, _version
from tracebench_engine.checks.doctor import Diagnosis, try_address
from tracebench_engine.checks.folders import CLOCKS, _clock, try_folder
from tracebench_engine.checks.pythons import (
    _describe,
    build_environment,
    built_anew,
    installed_python,
    list_pythons,
    remove_built,
)
from tracebench_engine.config import parse_config
from tracebench_runs.storage.layout import RunLayout


@pytest.mark.parametrize(("files", "ok"), [(1023, False), (1024, True), (4096, True)])
@pytest.mark.parametrize(("processes", "shown"), [(resource.RLIM_INFINITY, "no limit"), (500, "500")])
def test_a_run_needs_a_thousand_open_files_and_told_are_processes(
    monkeypatch: pytest.MonkeyPatch, files: int, ok: bool, processes: int, shown: str
) -> None:
    limits = {resource.RLIMIT_NOFILE: files, resource.RLIMIT_NPROC: processes}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limits[which], 9))
    assert [*doctor._limits()] == [
        Diagnosis("open files", ok, str(files), "ulimit -n 1024", needed=True), Diagnosis("processes", ok=True, value=shown),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("free", "ok", "shown"), [(2**30, True, "1.0"), (2**30 - 1, False, "1.0"), (2**31, True, "2.0")]
)
def test_a_run_needs_a_gigabyte(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, ok: bool, shown: str
) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    config = parse_config({"runs_dir": str(tmp_path / "new/runs")})
    disk, folder = doctor._disk(config)
    assert disk == Diagnosis("disk", ok, f"{shown} GiB free for {tmp_path}/new/runs", f"df -h {tmp_path}", needed=True)
    assert (folder.ok, folder.value, folder.needed) == (True, f"{tmp_path}/new/runs (will be made)", True)


def test_keys_are_counted_and_named_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in doctor.KEY_VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    known = len({*doctor.KEY_VARIABLES.values()})
    (none,) = doctor._keys()
    assert (none.ok, none.value, none.needed) == (False, f"set: none; unset: {known} of {known} known ones", False)
    monkeypatch.setenv("OPENAI_API_KEY", "hunter2")
    (one,) = doctor._keys()
    assert (one.ok, one.value) == (True, f"set: OPENAI_API_KEY; unset: {known - 1} of {known} known ones")


def test_a_container_engine_is_asked_where_its_command_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/d.sock")
    assert not doctor._docker_answers()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{tmp_path}/d.sock")
        server.listen()
        assert doctor._docker_answers()
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{server.getsockname()[1]}")
        assert doctor._docker_answers()
    assert not doctor._docker_answers()


def run_in(folder: Path, name: str, mode: int) -> RunLayout:
    layout = RunLayout(folder / name)
    layout.path.mkdir(parents=True)
    layout.path.chmod(mode)
    return layout


def test_who_may_read_which_run_is_told_for_three_and_counted_for_more(tmp_path: Path) -> None:
    config = parse_config({"runs_dir": str(tmp_path / "runs")})
    assert [*doctor._privacy(config)] == []
    for i in range(2):
        run_in(tmp_path / "runs", f"own{i}", 0o700)
    (tmp_path / "runs/file").touch()
    (found,) = doctor._privacy(config)
    assert (found.ok, found.value) == (True, "2 of 2 runs are yours alone")
    for i, mode in enumerate((0o750, 0o755, 0o755, 0o755, 0o750)):
        run_in(tmp_path / "runs", f"read{i}", mode)
        (found,) = doctor._privacy(config)
        assert found.value.endswith(f"; {i - 2} more can be read by others") is (i > 2)
    assert (found.ok, found.needed) == (False, False)
    assert found.value == (
        "2 of 7 runs are yours alone; `read0` can be read by their group; `read1` can be read by everybody on the machine; "
        "`read2` can be read by everybody on the machine; 2 more can be read by others"
    )
    assert found.hint == f"chmod -R go-rwx,g-s {tmp_path}/runs/read0"


class Models(BaseHTTPRequestHandler):
    known: tuple[str, ...] = ()

    def do_GET(self) -> None:
        self.send_response(200 if self.path in self.known else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        """Stay silent."""


@pytest.mark.parametrize(
    ("known", "path", "asked", "ok", "value"),
    [
        (["/v1/models"], "", "/v1", True, "takes connections, asked at {base}/v1"),
        (["/models"], "/api", "/api", True, "takes connections"),
        (["/api/v1/models"], "/api", "/api", False, "no list of models stands here, and one does at {base}/api/v1"),
        (["/api/models"], "/api", "/api", True, "takes connections"),
        ([], "/api/", None, True, "takes connections, asked at {base}/api/"),
    ],
)
def test_a_server_is_looked_for_where_it_is_asked(
    known: list[str], path: str, asked: str | None, ok: bool, value: str
) -> None:
    handler = type("Known", (Models,), {"known": tuple(known)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_address[1]}"
        found = try_address(base + path, None if asked is None else base + asked)
        server.shutdown()
    assert (found.name, found.ok, found.value, found.needed) == (
        f"endpoint {base}{path}",
        ok,
        value.format(base=base),
        True,
    )
    if not ok:
        assert found.hint == f"base_url: {base}/api/v1"
    gone = try_address(base + path, None if asked is None else base + asked)
    address = base + (path if asked is None else asked)
    assert (gone.ok, gone.value, gone.hint) == (False, "does not answer", f"curl -sv {address}/models")


def test_a_folder_that_holds_runs_passes_every_trial_and_is_left_as_it_was(tmp_path: Path) -> None:
    found = [*try_folder(tmp_path / "new")]
    assert [(row.name, row.ok, row.needed) for row in found] == [
        ("folder: flush", True, True), ("folder: rename", True, True), ("folder: locks", True, True), ("folder: new files", True, True),
        ("folder: appends", True, True), ("folder: clock", True, False),
    ]  # fmt: skip
    assert [*(tmp_path / "new").iterdir()] == []
    (tmp_path / "file").touch()
    (refused,) = try_folder(tmp_path / "file")
    assert (refused.name, refused.ok, refused.needed) == ("folder", False, True)
    assert refused.value == f"{tmp_path}/file: File exists"


def test_a_folders_clock_may_differ_by_two_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for apart, told in ((CLOCKS - 0.5, ""), (5.0, "it is 5 s from this machine's; results do not depend on it")):
        for sign in (1, -1):
            real = tmp_path.stat().st_mtime
            clock = SimpleNamespace(time=lambda real=real, by=sign * apart: real + by)
            monkeypatch.setattr("tracebench_engine.checks.folders.time", clock)
            os.utime(tmp_path)
            said = _clock(tmp_path)
            assert bool(said) is bool(told)
            assert said.replace("4 s", "5 s").replace("6 s", "5 s") == told


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no Python but this one."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))


@pytest.mark.usefixtures("alone")
def test_this_python_comes_first_and_one_that_fits_nothing_is_none() -> None:
    assert installed_python(">=3.11") == sys.executable
    assert installed_python("<2") is None


def test_other_pythons_are_those_on_the_path_then_pyenvs_the_newest_name_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "a/python3",
        "a/python3.9",
        "a/python3-config",
        "a/python3.x",
        "b/python3.12",
        "env/versions/3.1/bin/python3",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setenv("PATH", f"{tmp_path}/a::{tmp_path}/b")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "env"))
    assert [*pythons._candidates()] == [
        sys.executable, *(f"{tmp_path}/{name}" for name in ("a/python3.9", "a/python3", "b/python3.12", "env/versions/3.1/bin/python3")),
    ]  # fmt: skip
    assert pythons._version(f"{tmp_path}/a/python3") == ""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "pythons"))
    assert pythons.pythons_folder() == tmp_path / "pythons"
    return tmp_path / "pythons"


def built(home: Path, name: str, requirements: object) -> Path:
    (home / name / "bin").mkdir(parents=True)
    (home / name / "bin/python").symlink_to(sys.executable)
    (home / name / pythons.READY).write_text(json.dumps({"requirements": requirements}))
    return home / name


def test_interpreters_are_those_that_plugins_offer_and_then_others_that_lie_there(home: Path) -> None:
    spec = PythonSpec(name="one", title="One", requirements=("a>=1",), python=">=3.11")
    host: Any = SimpleNamespace(catalog=lambda: SimpleNamespace(components={"python": {"one": spec}}))
    assert [(p.name, p.ready, p.stale) for p in list_pythons(host)] == [("one", False, False)]
    built(home, "other", ["b"])
    built(home, "also", [])
    built(home, "one", ["a>=2"])
    found = list_pythons(host)
    assert [(p.name, p.title, p.requirements, p.ready, p.stale) for p in found] == [
        ("one", "One", ("a>=1",), True, True), ("also", "offered by no plugin", (), True, False),
        ("other", "offered by no plugin", ("b",), True, False),
    ]  # fmt: skip
    assert found[0].path == str(home / "one/bin/python")
    (home / "one" / pythons.READY).write_text(json.dumps({"requirements": ["a>=1"]}))
    assert not _describe("one", spec).stale


def test_what_is_built_is_ready_or_nothing_is_left_of_it(tmp_path: Path) -> None:
    place = tmp_path / "deep/one"
    with built_anew(place) as record:
        place.mkdir()
        record["name"] = "one"
    assert json.loads((place / pythons.READY).read_text()) == {"name": "one"}

    def interrupted() -> None:
        with built_anew(place):
            place.mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not place.exists()


def test_what_is_removed_has_to_be_there_under_a_plain_name(tmp_path: Path) -> None:
    (tmp_path / "all/one").mkdir(parents=True)
    (tmp_path / "all/one" / pythons.READY).write_text("{}")
    for name in ("two", "../all"):
        with pytest.raises(UsageError) as caught:
            remove_built(tmp_path / "all", name, what="agent", listed="trace-bench agents list")
        assert (str(caught.value), caught.value.hint) == (
            f"There is no agent `{name}` in `{tmp_path}/all`.", "trace-bench agents list",
        )  # fmt: skip
    remove_built(tmp_path / "all", "one", what="agent", listed="x")
    assert not (tmp_path / "all/one").exists()


@pytest.mark.usefixtures("alone")
def test_without_uv_a_python_that_will_do_has_to_be_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pythons, "find_uv", lambda: None)
    with pytest.raises(MissingRequirementError, match=r"^The x needs Python <2, which is neither on PATH") as caught:
        build_environment("The x", tmp_path / "x", python="<2", requirements=())
    assert (caught.value.hint or "").endswith('"uv>=0.9,<1"')


def program(path: Path, says: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("node", "npm", "here"),
    [(None, True, "there is none"), ("v18.0.0", True, "Node 18.0.0 is here"), ("v22.1.0", False, "Node 22.1.0 is here"),
     ("odd", True, "Node odd is here")],
)  # fmt: skip
def test_an_agent_of_npm_needs_a_node_that_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node: str | None, npm: bool, here: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if node is not None:
        program(tmp_path / "node", node)
    if npm:
        program(tmp_path / "npm", "")
    spec: Any = SimpleNamespace(name="pi", node=">=20")
    with pytest.raises(MissingRequirementError) as caught:
        _npm(spec)
    assert str(caught.value) == f"The agent `pi` needs Node >=20 with npm on PATH, and {here}."
    program(tmp_path / "node", "v20.0.0")
    program(tmp_path / "npm", "")
    assert _npm(spec) == f"{tmp_path}/npm"


def test_an_agents_version_is_that_of_its_first_package(tmp_path: Path) -> None:
    of_npm: Any = SimpleNamespace(name="pi", program="pi", requirements=(), packages=("@me/pi@^1",))
    with pytest.raises(PluginError, match=r"^The agent `pi` was installed, and brought no program `pi`\.$"):
        _version(of_npm, tmp_path)
    program(tmp_path / "bin/pi", "")
    assert _version(of_npm, tmp_path) == ""
    described = tmp_path / "lib/node_modules/@me/pi/package.json"
    described.parent.mkdir(parents=True)
    described.write_text('{"version": "1.2.3"}')
    assert _version(of_npm, tmp_path) == "1.2.3"
    of_pypi: Any = SimpleNamespace(name="pi", program="pi", requirements=("pi-agent[x]>=1",), packages=())
    assert _version(of_pypi, tmp_path) == ""
    info = tmp_path / "lib/python3.12/site-packages/pi_agent-4.5.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pi-agent\nVersion: 4.5\n")
    assert _version(of_pypi, tmp_path) == "4.5"


def test_what_an_agent_was_installed_from_is_read_where_it_was_kept(home: Path) -> None:
    from tracebench_core.plugins.agents import agents_folder

    spec = AgentSpec.model_construct(name="pi")
    assert _installed_from(spec) is None
    place = agents_folder() / "pi" / pythons.READY
    place.parent.mkdir(parents=True)
    for text, packages in (('{"packages": ["a"]}', ["a"]), ("[]", None), ("{", None)):
        place.write_text(text)
        assert _installed_from(spec) == packages
    assert agents_folder().is_relative_to(home.parent)

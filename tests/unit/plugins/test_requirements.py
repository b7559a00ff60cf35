"""What a task needs from the machine, and what makes a need moot."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.plugins import requirements, unmet_requirement
from tracebench_core.plugins.requirements import why_unavailable
from tracebench_core.specs import Requirement


def test_a_setting_or_a_variable_makes_a_need_moot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEBENCH_TEST_SERVER", raising=False)
    needed = Requirement(
        kind="command", name="no-such-command", hint="-", unless="server other $TRACEBENCH_TEST_SERVER"
    )

    assert unmet_requirement([needed]) == needed
    assert unmet_requirement([needed], {"server": None, "no": "matter"}) == needed
    assert unmet_requirement([needed], {"other": "http://127.0.0.1:1"}) is None
    monkeypatch.setenv("TRACEBENCH_TEST_SERVER", "")
    assert unmet_requirement([needed]) == needed
    monkeypatch.setenv("TRACEBENCH_TEST_SERVER", "http://127.0.0.1:1")
    assert unmet_requirement([needed]) is None


@pytest.fixture
def open_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def met(kind: Any, name: str) -> bool:
    return unmet_requirement([Requirement(kind=kind, name=name, hint="-")]) is None


def test_each_kind_is_looked_for_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACEBENCH_TEST_KEY", "secret")
    monkeypatch.setenv("TRACEBENCH_TEST_NONE", "")
    (tmp_path / "there").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    found = [
        ("module", "json"),
        ("module", "json.decoder"),
        ("command", "sh"),
        ("env", "TRACEBENCH_TEST_KEY"),
        ("path", "~/there"),
    ]
    lacking = [
        ("module", "no_such_module"), ("module", "no_such.module"), ("module", ""), ("command", "no-such-command"),
        ("env", "TRACEBENCH_TEST_NONE"), ("env", "TRACEBENCH_TEST_NO"), ("path", "~/elsewhere"),
    ]  # fmt: skip
    assert [one for one in found if not met(*one)] == []
    assert [one for one in lacking if met(*one)] == []


def test_the_first_need_that_is_not_met_is_told_with_its_hint() -> None:
    needs = [
        Requirement(kind=k, name=n, hint=h)
        for k, n, h in (("command", "sh", "a"), ("command", "no-such", "get it"), ("env", "NO", "c"))
    ]
    assert unmet_requirement(needs) == needs[1]
    assert why_unavailable("", needs).startswith("needs: command `no-such` (")
    assert "get it" in why_unavailable("", needs)
    assert why_unavailable("no good", needs) == "broken: no good"
    assert why_unavailable("", needs[:1]) == ""


def test_a_service_answers_at_its_port(open_port: int) -> None:
    for address in (f"127.0.0.1:{open_port}", f"http://127.0.0.1:{open_port}/v1", f"//localhost:{open_port}"):
        assert requirements._accepts(address)
    for address in ("127.0.0.1:1", "http://127.0.0.1:99999", "http://127.0.0.1:no", "//[", f"{'a' * 300}:80"):
        assert not requirements._accepts(address)


@pytest.mark.parametrize(
    ("wanted", "visible", "there"),
    [("1", None, True), ("2", None, True), ("3", None, False), ("h200", None, True), ("A100", None, False), ("1", "", False),
     ("1", "-1", False), ("1", "0", True), ("2", "0", False), ("2", "0, 1", True)],
)  # fmt: skip
def test_graphics_processors_are_counted_and_named(
    wanted: str, visible: str | None, *, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho NVIDIA H200\necho NVIDIA L4\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    requirements._output.cache_clear()
    try:
        assert requirements._has_gpu(wanted) is there
    finally:
        requirements._output.cache_clear()


def test_a_data_set_is_a_path_or_lies_in_the_hubs_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    (tmp_path / "hub/datasets--org--name/snapshots").mkdir(parents=True)
    (tmp_path / "other/datasets--org--more/snapshots").mkdir(parents=True)
    assert [requirements._has_dataset(name) for name in ("hub:org/name", "hub:org/more", "hub:org", str(tmp_path))] == [
        True, False, False, True,
    ]  # fmt: skip
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "other"))
    assert [requirements._has_dataset(name) for name in ("hub:org/name", "hub:org/more")] == [False, True]


def test_what_cannot_be_looked_for_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A plugin may name anything, and a listing asks for the needs of all."""
    for name, breaks in (("breaks", "raise OSError('libx.so is missing')"), ("ends", "raise SystemExit")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(breaks)
    monkeypatch.syspath_prepend(str(tmp_path))
    asked = [
        ("path", "~no-such-user/x"), ("path", "/" + "a" * 5000), ("path", "/a\0b"), ("dataset", "~no-such-user/x"),
        ("dataset", "hub:" + "a" * 5000), ("gpu", "²"), ("module", "breaks.part"), ("module", "ends.part"),
    ]  # fmt: skip
    assert [one for one in asked if met(*one)] == []

"""Folders that a task or a config lets untrusted code read, and those that nobody may."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracebench_core.errors import MissingRequirementError, UsageError
from tracebench_core.specs import SandboxConfig
from tracebench_engine.measure.sandbox import job_sandbox
from tracebench_sandbox.granted import granted_devices, granted_folders


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in (".elan/toolchains", ".ssh"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".elan/toolchains/lean").write_text("a tool")
    (tmp_path / ".ssh/id").write_text("a key")
    return tmp_path


def test_names_are_expanded_and_what_is_absent_is_left_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", str(home / ".elan"))

    absent = ["~/nothing", f"/{'a' * 5000}", "/a\0b"]
    found = granted_folders(["~/.elan/toolchains", "$PLACE", *absent, "$PLACE"])

    assert found == (home / ".elan/toolchains", home / ".elan")


@pytest.mark.parametrize("name", ["~", "/", "~/..", "tools", "$UNSET/tools", "~/link", "~no-such-user/tools"])
def test_a_home_and_what_holds_it_are_never_granted(name: str, home: Path) -> None:
    (home / "link").symlink_to(home)

    with pytest.raises(UsageError) as err:
        granted_folders([name])

    assert "readable" in str(err.value)
    assert err.value.hint


def test_what_a_config_grants_is_read_and_its_neighbour_is_not(home: Path) -> None:
    config = SandboxConfig(readable=("~/.elan/toolchains",))
    sandbox = job_sandbox(config, address=None, preload=())
    try:
        tool = sandbox.command(["cat", str(home / ".elan/toolchains/lean")])
        key = sandbox.command(["cat", str(home / ".ssh/id")])
    finally:
        sandbox.close()

    assert tool.value["stdout"] == "a tool"
    assert key.value["returncode"] != 0
    assert "a key" not in repr(key)


def test_a_command_has_the_devices_that_are_named_and_no_other() -> None:
    sandbox = job_sandbox(SandboxConfig(), address=None, preload=())
    asks = ["sh", "-c", "echo x > /dev/full; head -c 1 /dev/tty; cat /dev/ptmx < /dev/null & sleep 0.2"]
    try:
        without = sandbox.command(asks).value["stderr"]
        given = sandbox.command(asks, devices=["/dev/full"]).value["stderr"]
        after = sandbox.command(asks).value["stderr"]
    finally:
        sandbox.close()

    assert without == after
    assert without.count("ermission denied") + without.count("No such file") + without.count("Read-only") == 3
    assert "/dev/full" not in given, "it was opened, and then said that it is full"
    assert given.count("/dev/") == 2


@pytest.mark.parametrize("name", ["/dev/no-such-device", "/dev/stdin", "/etc/passwd", "dev/full", "/dev", "/dev/shm"])
def test_what_is_no_device_is_refused_in_words(name: str) -> None:
    with pytest.raises(MissingRequirementError, match=rf"^`{name}` cannot be given to a command: ") as err:
        granted_devices(["/dev/full", name])

    assert err.value.hint == f"ls -l {name}"

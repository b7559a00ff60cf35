"""The small parts of the sandbox: numbers of calls beside the kernel's own list, groups, grants, folders, ends, and words."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

import pytest

from tracebench_core.errors import MissingRequirementError, UsageError
from tracebench_sandbox import temporary
from tracebench_sandbox.exit import code_of
from tracebench_sandbox.folders import LEVELS, BreachError, Weighing, remove
from tracebench_sandbox.frames import Tail
from tracebench_sandbox.granted import granted_devices, granted_folders
from tracebench_sandbox.host import IsolationReport
from tracebench_sandbox.kernel.limits import Limits, open_group
from tracebench_sandbox.kernel.syscalls import _NUMBERS, checked

HEADERS = ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h")
"""Of x86-64, and of all newer machines; from the package `linux-libc-dev`."""


@pytest.mark.parametrize(("place", "header"), [*enumerate(HEADERS)])
def test_numbers_of_system_calls_are_those_of_the_kernels_headers(place: int, header: str) -> None:
    if not Path(header).exists():
        pytest.skip(f"there is no {header}: apt-get install linux-libc-dev")
    told = {name: int(n) for name, n in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", Path(header).read_text())}
    ours = {name: numbers[place] for name, numbers in _NUMBERS.items() if numbers[place] >= 0}
    assert {name: n for name, n in ours.items() if name in told} == {
        name: n for name, n in told.items() if name in ours
    }
    assert len(ours.keys() & told.keys()) > 100
    absent = {name for name, numbers in _NUMBERS.items() if numbers[place] < 0}
    assert not absent & told.keys()


def _groups(root: Path, own: str, handed_on: str) -> Path:
    place = root / own
    place.mkdir(parents=True)
    for folder in (root, *(root / part for part in Path(own).parents), place):
        (folder / "cgroup.subtree_control").write_text("")
    (root / handed_on / "cgroup.subtree_control").write_text("cpu memory pids\n")
    return place


@pytest.mark.parametrize("handed_on", ["user/session", "user", ""])
def test_a_group_is_made_in_the_nearest_that_hands_its_controllers_on(tmp_path: Path, handed_on: str) -> None:
    root = tmp_path / "groups"
    _groups(root, "user/session", handed_on)
    (root / handed_on / "trace-bench-999999999").mkdir()  # of a process that is gone

    group = open_group(Limits(processes=20, memory_mb=3), root=root, own="/user/session")

    assert group is not None
    folder = root / handed_on / f"trace-bench-{os.getpid()}"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "pids.max": "20", "memory.max": str(3 << 20), "memory.swap.max": "0",
    }  # fmt: skip
    assert group.join()
    assert (folder / "cgroup.procs").read_text() == "0"
    for path in folder.iterdir():
        path.unlink()
    group.close()
    assert not folder.exists()
    assert not group.join()


def test_where_no_group_hands_its_controllers_on_none_is_made(tmp_path: Path) -> None:
    root = tmp_path / "groups"
    place = _groups(root, "user", "user")
    (place / "cgroup.subtree_control").write_text("pids\n")
    assert open_group(Limits(processes=20), root=root, own="/user") is None
    assert open_group(Limits(), root=root, own="/user") is None
    (place / "cgroup.subtree_control").write_text("memory pids\n")
    assert open_group(Limits(processes=20), root=root, own="/user") is not None
    made = place / f"trace-bench-{os.getpid()}"
    assert {path.name: path.read_text() for path in made.iterdir()} == {"pids.max": "20", "memory.max": "max"}


def test_folders_are_granted_by_absolute_names_but_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / ".elan").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TOOLS", str(tmp_path))
    assert granted_folders(["~/.elan", "$TOOLS/home/.elan", "/nowhere/at/all", "~/.elan"]) == (
        home / ".elan",
        home / ".elan",
    )
    for name, words, hint in (
        ("~", "with its keys", str(home / ".elan")), (str(tmp_path), "with its keys", str(home / ".elan")),
        ("tools", "not an absolute path", str(Path.cwd() / "tools")),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=words) as caught:
            granted_folders([name])
        assert hint in caught.value.hint


def test_devices_are_granted_by_their_own_names(tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to("/dev/null")
    assert granted_devices(["/dev/null", "/dev/zero", "/dev/null"]) == ("/dev/null", "/dev/zero")
    for name, words in (
        (str(tmp_path / "null"), "no character device"), ("/dev/nothing-here", "No such file"), ("dev/null", "no character device"),
        (str(tmp_path), "no character device"),
    ):  # fmt: skip
        with pytest.raises(MissingRequirementError, match=words) as caught:
            granted_devices([name])
        assert caught.value.hint == f"ls -l {name}"


def test_folders_may_be_nested_so_deep_and_hold_so_much(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(LEVELS - 1):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(b"x" * 5000)
    weighed = Weighing(tmp_path, limit=1 << 20)
    assert weighed.bytes == sum(path.lstat().st_blocks * 512 for path in tmp_path.rglob("*"))
    weighed.add((1 << 20) - weighed.bytes)
    with pytest.raises(BreachError, match="wrote more than 1 MB of files"):
        weighed.add(1)
    (deep / "d").mkdir()
    with pytest.raises(BreachError, match=f"nested folders more than {LEVELS} deep"):
        Weighing(tmp_path, limit=1 << 20)


def test_a_folder_goes_with_all_that_it_holds_and_no_link_is_followed(tmp_path: Path) -> None:
    kept, gone = tmp_path / "kept", tmp_path / "gone"
    kept.mkdir()
    (kept / "file").touch()
    (gone / "a/b/c/d").mkdir(parents=True)
    (gone / "a/b/file").touch()
    (gone / "a/link").symlink_to(kept)
    (gone / "shut").mkdir()
    (gone / "shut/file").touch()
    (gone / "shut").chmod(0)
    remove(gone)
    assert not gone.exists()
    assert (kept / "file").exists()
    remove(gone)


def test_the_end_of_a_stream_is_kept_whatever_comes_at_once() -> None:
    for parts in (["ab", "cd", "ef"], ["abcdef"], ["a"] * 5 + ["bcdef"]):
        tail = Tail(4)
        for part in parts:
            tail.take(part.encode())
        assert tail.text == "cdef"
    tail = Tail(2)
    tail.take("é".encode()[1:])
    assert tail.text == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("code", "left", "said"), [(None, 0, ""), (0, 0, ""), (3, 3, ""), ("why", 1, "why\n"), (2.5, 1, "2.5\n")]
)
def test_an_exit_has_a_code_or_words(code: object, left: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(SystemExit(code)) == left
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("landlock", "filters", "apart", "level", "said"),
    [
        (4, True, True, "strong", "strong: Landlock (ABI 4) and seccomp, commands in namespaces of their own"),
        (6, True, False, "strong", "strong: Landlock (ABI 6) and seccomp"),
        (0, True, True, "namespaces", "namespaces: user, mount, network and IPC namespaces and seccomp"),
        (0, False, True, "namespaces", "namespaces: user, mount, network and IPC namespaces"),
        (0, False, False, "process", "process: limits only"),
        (3, False, False, "process", "process: limits only, with Landlock"),
        (3, True, False, "process", "process: limits only, with Landlock and seccomp"),
    ],
)
def test_a_host_is_told_in_a_sentence(landlock: int, filters: bool, apart: bool, level: str, said: str) -> None:
    report = IsolationReport.model_validate(
        {"landlock_abi": landlock, "seccomp": filters, "user_namespaces": apart, "bwrap": None, "level": level}
    )
    assert report.sentence == said


def test_folders_of_dead_processes_are_swept_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(temporary, "SHALLOW", str(tmp_path / "shallow"))
    (tmp_path / "shallow").mkdir()
    dead = [tmp_path / f"trace-bench-p{2**30}-abc", tmp_path / "shallow" / f"trace-bench-box-p{2**30}-x"]
    alive = [
        temporary.make_folder("box"),
        temporary.make_folder(),
        tmp_path / "trace-bench-other",
        tmp_path / f"trace-bench-BOX-p{2**30}-x",
    ]
    for folder in (*dead, *alive[2:]):
        folder.mkdir()
    (tmp_path / f"trace-bench-p{2**30}-file").touch()
    (tmp_path / f"trace-bench-p{2**30}-link").symlink_to(alive[0])
    assert alive[0].name.startswith(f"trace-bench-box-p{os.getpid()}-")
    assert alive[1].name.startswith(f"trace-bench-p{os.getpid()}-")
    assert sorted(temporary.leftovers()) == sorted(dead)
    assert temporary.sweep(remove) == 2
    assert all(folder.is_dir() for folder in alive)
    assert temporary.sweep(remove) == 0
    with temporary.scratch_folder("job") as folder:
        assert folder.parent == tmp_path
    assert not folder.exists()


@pytest.mark.parametrize("deep", [False, True])
def test_a_socket_lies_where_its_path_has_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deep: bool) -> None:
    shallow = tmp_path / "s"
    given = Path("/tmp") / secrets.token_hex(8).ljust(53 if deep else 52, "d")
    for folder in (shallow, given):
        folder.mkdir(exist_ok=True)
    monkeypatch.setattr(temporary.tempfile, "tempdir", str(given))
    monkeypatch.setattr(temporary, "SHALLOW", str(shallow))
    made = temporary.socket_folder("job")
    try:
        assert made.parent == (shallow if deep else given)
    finally:
        made.rmdir()
        given.rmdir()


def test_what_a_system_call_returns_is_an_error_below_nothing() -> None:
    assert (checked(0, "x"), checked(3, "x")) == (0, 3)
    with pytest.raises(OSError, match="mount /x: "):
        checked(-1, "mount /x")

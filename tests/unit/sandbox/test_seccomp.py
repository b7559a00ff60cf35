"""The filter is a search: every call finds its own rule, and each other call passes."""

from __future__ import annotations

import errno
import struct

import pytest

from tracebench_sandbox.kernel import seccomp
from tracebench_sandbox.kernel.syscalls import AUDIT_ARCH, NEWEST, number

pytestmark = pytest.mark.skipif(AUDIT_ARCH is None, reason="the numbers of this machine's calls are not known")
REFUSED, ALLOWED = 0x00050001, 0x7FFF0000


def answer(program: bytes, call: int, *args: int) -> int:
    """Run classic BPF as the kernel does, on `struct seccomp_data`."""
    data = struct.pack("=IIQ6Q", call, AUDIT_ARCH, 0, *args, *[0] * (6 - len(args)))
    at, word = 0, 0
    while True:
        code, yes, no, value = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        match code:
            case 0x20:
                word = struct.unpack_from("=I", data, value)[0]
            case 0x54:
                word &= value
            case 0x05:
                at += value
            case 0x06:
                return value
            case _:
                found = {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[code]
                at += yes if found else no


@pytest.mark.parametrize(
    "rules", [seccomp._alone(), seccomp._family(), seccomp._program()], ids=["alone", "family", "program"]
)
def test_every_call_meets_its_own_rule(rules: dict[str, bytes]) -> None:
    program = seccomp._assemble(rules)
    plain = {number(name) for name, rule in rules.items() if rule == seccomp._refuse()} - {None}
    ruled = {number(name) for name in rules}
    assert {call for call in plain if answer(program, call) != REFUSED} == set()
    assert {call for call in range(NEWEST + 1) if call not in ruled and answer(program, call) != ALLOWED} == set()
    assert answer(program, NEWEST + 1) == answer(program, 600) == 0x00050000 | errno.ENOSYS
    assert answer(program, 0x40000000 + 1) == REFUSED


def test_arguments_decide_where_they_should() -> None:
    program = seccomp._assemble(seccomp._alone())
    clone, kill, prctl, fcntl, pair = (number(name) or 0 for name in ("clone", "kill", "prctl", "fcntl", "socketpair"))
    assert [answer(program, clone, flags) for flags in (0x11, 0x00010000)] == [REFUSED, ALLOWED]
    assert [answer(program, kill, pid) for pid in (0, 1, seccomp._ITS_PID)] == [REFUSED, REFUSED, ALLOWED]
    assert [answer(program, prctl, option) for option in (1, 15)] == [REFUSED, ALLOWED]
    assert [answer(program, fcntl, 3, command) for command in (8, 15, 6, 1024, 1)] == [
        *[REFUSED] * 4,
        ALLOWED,
    ]
    ioctl, send, nice = (number(name) or 0 for name in ("ioctl", "sendto", "setpriority"))
    assert [answer(program, ioctl, 3, what) for what in (0x8901, 0x8902, 0x5412, 0x541B)] == [*[REFUSED] * 3, ALLOWED]
    assert [answer(program, send, 3, 0, 1, flags) for flags in (1, 0x41, 0x4000)] == [REFUSED, REFUSED, ALLOWED]
    asked = [(0, 0), (0, seccomp._ITS_PID), (0, 1), (2, 0)]
    assert [answer(program, nice, *of) for of in asked] == [ALLOWED, ALLOWED, REFUSED, REFUSED]
    assert [answer(program, pair, *of) for of in ((1, 1), (1, 1 | 0x80000), (1, 2), (2, 1))] == [
        ALLOWED,
        ALLOWED,
        REFUSED,
        REFUSED,
    ]
    assert answer(program, number("clone3") or 0) == 0x00050000 | 38


def test_a_family_has_sockets_for_itself_alone() -> None:
    program = seccomp._assemble(seccomp._family())
    connect, one, pair = (number(name) or 0 for name in ("connect", "socket", "socketpair"))
    assert answer(program, connect, 3) == REFUSED
    for call in (one, pair):
        asked = [(1, 1), (1, 1 | 0x80800), (1, 5), (1, 2), (1, 3), (2, 1), (16, 3)]
        assert [answer(program, call, *of) for of in asked] == [*[ALLOWED] * 3, *[REFUSED] * 4]


def test_a_program_makes_no_file_that_runs_as_its_owner() -> None:
    program = seccomp._assemble(seccomp._program())
    for name, at in {
        "chmod": 1,
        "fchmod": 1,
        "fchmodat": 2,
        "fchmodat2": 2,
        "creat": 1,
        "mknod": 1,
        "mknodat": 2,
    }.items():
        if (call := number(name)) is not None:
            asked = [(*[0] * at, mode) for mode in (0o755, 0o1777, 0o4755, 0o2755, 0o6000)]
            assert [answer(program, call, *of) for of in asked] == [ALLOWED, ALLOWED, *[REFUSED] * 3], name
    for name, at in {"open": 1, "openat": 2}.items():
        if (call := number(name)) is not None:
            asked = [(*[0] * at, flags, mode) for flags in (0o101, 0o20200001, 2) for mode in (0o644, 0o4644)]
            assert [answer(program, call, *of) for of in asked] == [
                ALLOWED,
                REFUSED,
                ALLOWED,
                REFUSED,
                ALLOWED,
                ALLOWED,
            ]
    assert answer(program, number("openat2") or 0) == 0x00050000 | errno.ENOSYS


def test_rules_far_apart_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "_FARTHEST", 3)
    test_arguments_decide_where_they_should()

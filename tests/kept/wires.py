"""How values travel between a sandbox and its caller, byte for byte, and what each filter of system calls does, step by step."""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.kept.store import Said, said_of_each
from tests.kept.text import text_of
from tracebench_sandbox.codec import HEADER, CodecError, Decoder, Encoder
from tracebench_sandbox.flat import BODY, DEPTH, MOST, Packer, Reader
from tracebench_sandbox.frames import EMPTY, LATER, SLACK, Inbox
from tracebench_sandbox.kernel import seccomp

LARGE = 1 << 20


def _nested(depth: int, value: Any = 1.5) -> Any:
    for _ in range(depth):
        value = [value]
    return value


VALUES: Mapping[str, Any] = {
    "none": None, "true": True, "false": False, "integer": -7, "largest word": (1 << 63) - 1, "beyond a word": 1 << 63,
    "least word": 1 - (1 << 63), "below a word": -(1 << 63), "4,200 digits": 1 << (4 * 3500 - 1), "more digits": 1 << (4 * 3500),
    "float": 0.1,
    "not a number": float("nan"), "text": "é\n", "half a pair": "\ud800", "complex": 1 - 2j, "bytes": b"ab", "bytearray": bytearray(b"c"),
    "memory": memoryview(b"d"), "list": [1, 2.5], "texts": ["a", "b"], "mixed": [1, None, "a", True], "tuple": (1, 2),
    "pair of lists": ([1], ["a"]),
    "empty": [], "empty tuple": (), "dict": {"a": 1, "b": [2]}, "dict with other keys": {1: "a", (2, 3): None},
    "dict with our key": {"!": 1},
    "set": {1}, "frozenset": frozenset({"a"}), f"{MOST} numbers": [*range(MOST)], f"{MOST + 1} numbers": [*range(MOST + 1)],
    "as deep as may be": _nested(DEPTH), "deeper": _nested(DEPTH + 1), "200 deep": _nested(200), "201 deep": _nested(201),
    "202 deep": _nested(202),
    "object": object(), "function": len, "vector": np.array([1.5, 2.5]), "no numbers": np.array([]),
    "table": np.array([[1, 2], [3, 4]], dtype="i2"),
    "cube": np.zeros((1, 2, 1)), "no axes": np.array(1.0), "truths": np.array([True, False]), "scalar": np.float32(0.5),
    "whole scalar": np.int64(3),
    "big-endian": np.array([1], dtype=">i4"), "objects": np.array([1, "a"], dtype=object), "array of texts": np.array(["a", "bc"]),
    "times": np.array(["2020"], dtype="M8[D]"), "list with an array": [np.array([1.0]), 1],
    "lists with arrays": [[np.array([1], dtype="u1")], ["a"]],
    "a long list with an array": [np.array([1.0]), *range(MOST)], "every tenth": np.arange(20)[::10],
}  # fmt: skip


def _packed(pack: Callable[[int], bytes]) -> str:
    """Return a frame, and the least cap under which it is made; or why there is none."""
    try:
        frame = pack(LARGE)
    except CodecError as err:
        return f"the value {err}"
    low, high = -1, LARGE
    while high - low > 1:
        middle = (low + high) // 2
        try:
            pack(middle)
            high = middle
        except CodecError:
            low = middle
    told = frame.hex()
    return f"{told if len(told) < 200 else f'{told[:160]}…{len(frame)}'} from a cap of {high}"


def _values(folder: Path) -> Iterator[str]:
    for name, value in VALUES.items():
        yield f"{name}, flat: {_packed(lambda cap, value=value: Packer(cap).answer(7, value))}"
        yield f"{name}, general: {_packed(lambda cap, value=value: Encoder(cap).pack(value))}"
        yield f"{name}, called: {_packed(lambda cap, value=value: Packer(cap).call(3, 'né', (value, 1)))}"
        yield f"{name}, back: {_back(value)}"


def _back(value: Any) -> str:
    try:
        frame = Packer(LARGE).answer(7, value)[HEADER.size :]
        call = Packer(LARGE).call(3, "né", (value, 1))[HEADER.size :]
    except CodecError:
        return "-"
    read = [Reader(plain=plain).answer(frame) for plain in (True, False)]
    kinds = [type(answer.value).__name__ for answer in read]
    return f"{kinds} {text_of(read[0])[:80]} {text_of(Reader(plain=True).call(call))[:80]}"


def _answer(*parts: bytes) -> bytes:
    return struct.pack("<BI", BODY, 7) + b"".join(parts)


HOSTILE: Mapping[str, bytes] = {
    "nothing": b"", "a head alone": _answer(), "a rest": _answer(b"N", b"N"), "an unknown tag": _answer(b"z"),
    "half a number": _answer(b"i", b"1234"),
    "half a float": _answer(b"d1234"), "a text too long": _answer(b"s", struct.pack("<I", 4), b"abc"),
    "no text": _answer(b"s", struct.pack("<I", 1), b"\xff"),
    "a list too long": _answer(b"l", bytes([MOST + 1]), b"N" * (MOST + 1)), "a list cut": _answer(b"l\x02N"),
    "lists too deep": _answer(b"l\x01" * (DEPTH + 1), b"N"), "lists as deep as may be": _answer(b"t\x01" * DEPTH, b"N"),
    "an unknown type": _answer(b"a", b"<f3 ", struct.pack("<I", 1), b"abc"),
    "an array cut": _answer(b"a", b"<f8 ", struct.pack("<I", 1), b"abc"),
    "an array": _answer(b"a", b"<i2 ", struct.pack("<I", 1), b"\x01\x02"),
    "a table": _answer(b"b", b"|u1 ", struct.pack("<II", 2, 1), b"\x01\x02"),
    "an empty table": _answer(b"b", b"|u1 ", struct.pack("<II", 0, 9)),
    "a truth of two": _answer(b"a", b"|b1 ", struct.pack("<I", 1), b"\x02"),
    "a scalar": _answer(b"g", b"<f4 ", struct.pack("<f", 0.5)), "a message cut": _answer(b"j", HEADER.pack(9, 0), b"1"),
    "a message": _answer(b"j", HEADER.pack(1, 0), b"1"), "no message": _answer(b"j", HEADER.pack(1, 0), b"x"),
}  # fmt: skip
MESSAGES: Mapping[str, tuple[str, bytes]] = {
    "plain": ('{"a": [1]}', b""), "a tuple": ('{"!": "tuple", "v": [1]}', b""), "an unknown tag": ('{"!": "odd", "v": [1]}', b""),
    "no list": ('{"!": "tuple", "v": 1}', b""), "an integer": ('{"!": "int", "v": "-0x10"}', b""),
    "no integer": ('{"!": "int", "v": 16}', b""),
    "bytes": ('{"!": "bytes", "o": 1, "n": 2}', b"abc"), "bytes outside": ('{"!": "bytes", "o": 2, "n": 2}', b"abc"),
    "bytes twice": ('[{"!": "bytes", "o": 0, "n": 2}, {"!": "bytes", "o": 0, "n": 2}]', b"abc"),
    "bytes before": ('{"!": "bytes", "o": -1, "n": 1}', b"abc"),
    "complex": ('{"!": "complex", "v": [1.0, 2.0]}', b""), "no complex": ('{"!": "complex", "v": [1, 2.0]}', b""),
    "pairs": ('{"!": "dict", "v": [[1, 2], [[], 3]]}', b""), "no pairs": ('{"!": "dict", "v": [[1, 2, 3]]}', b""),
    "a set": ('{"!": "set", "v": [1, 1]}', b""),
    "an array": ('{"!": "array", "t": "<i2", "s": [1], "o": 0, "n": 2}', b"\x01\x02"),
    "a scalar": ('{"!": "scalar", "t": "<i2", "s": [], "o": 0, "n": 2}', b"\x01\x02"),
    "an array of another size": ('{"!": "array", "t": "<i2", "s": [2], "o": 0, "n": 2}', b"\x01\x02"),
    "an array of no type": ('{"!": "array", "t": "O", "s": [1], "o": 0, "n": 2}', b"\x01\x02"),
    "a negative side": ('{"!": "array", "t": "<i2", "s": [-1], "o": 0, "n": 2}', b"\x01\x02"),
    "32 sides": (f'{{"!": "array", "t": "|u1", "s": {[1] * 32}, "o": 0, "n": 1}}', b"a"),
    "33 sides": (f'{{"!": "array", "t": "|u1", "s": {[1] * 33}, "o": 0, "n": 1}}', b"a"),
    "objects": ('{"!": "objects", "t": "O", "s": [2], "v": [1, "a"]}', b""),
    "texts": ('{"!": "objects", "t": "U", "s": [2], "v": ["b", "a"]}', b""),
    "texts that are none": ('{"!": "objects", "t": "U", "s": [2], "v": [1, "a"]}', b""),
    "too few objects": ('{"!": "objects", "t": "O", "s": [2], "v": [1]}', b""),
    "half a pair": ('"\\ud800"', b""), "no JSON": ("{", b""),
    "colliding keys": (f'{{"!": "set", "v": {[n * ((1 << 61) - 1) for n in range(1001)]}}}', b""),
    "nearly colliding": (f'{{"!": "set", "v": {[n * ((1 << 61) - 1) for n in range(1000)]}}}', b""),
}  # fmt: skip


def _hostile(folder: Path) -> Iterator[str]:
    for name, body in HOSTILE.items():
        yield f"answer, {name}: {_read(partial(Reader(plain=True).answer, body))}"
    for name, (text, blocks) in MESSAGES.items():
        for plain in (True, False):
            yield f"message, {name}: {_read(partial(Decoder(plain=plain).unpack, text.encode(), memoryview(blocks)))}"
    for size in (0, 5, 10 + SLACK, 11 + SLACK):
        inbox = Inbox(10)
        inbox.take(HEADER.pack(size, 0) + b"1" * min(size, 5))
        yield f"announced {size}: {_read(lambda inbox=inbox: [*inbox.messages()])}"
    for name, data in {
        "empty": EMPTY,
        "whole": HEADER.pack(1, 0) + b"3",
        "cut": HEADER.pack(2, 0) + b"3",
        "two": EMPTY * 2,
        "short": b"123",
    }.items():
        inbox = Inbox(10)
        found = inbox.take_alone(data)
        rest = _read(lambda inbox=inbox: [*inbox.messages()])
        yield f"alone, {name}: {'later' if found is LATER else text_of(found)}, then {rest}"


def _read(read: Callable[[], Any]) -> str:
    try:
        value = read()
    except CodecError as err:
        return f"the value {err}"
    return f"{type(value).__name__} {text_of(value)[:100]}"


TESTS = {0x15: "is", 0x35: "from", 0x45: "any of"}
RULES: Mapping[str, Callable[[], Mapping[str, bytes]]] = {
    "alone": seccomp._alone,
    "family": seccomp._family,
    "program": seccomp._program,
}


def _filters(folder: Path) -> Iterator[str]:
    for kind, rules in RULES.items():
        refused = [name for name, rule in rules().items() if len(rule) == struct.calcsize("=HBBI")]
        yield from (f"{kind} refuses {name}: {_steps(rules()[name])}" for name in sorted(refused))
        yield from (
            f"{kind} asks of {name}: {_steps(rule)}" for name, rule in sorted(rules().items()) if name not in refused
        )


def _steps(rule: bytes) -> str:
    """Return the steps of a rule in words: loads, tests with how far each outcome leads, and answers."""
    told = []
    for code, yes, no, value in struct.iter_unpack("=HBBI", rule):
        match code:
            case 0x20:
                told.append(f"argument {(value - 16) / 8:g}")
            case 0x54:
                told.append(f"and {value:#x}")
            case 0x06:
                told.append("pass" if value == 0x7FFF0000 else errno.errorcode[value & 0xFFFF])
            case _:
                told.append(f"{TESTS[code]} {value:#x} +{yes} -{no}")
    return ", ".join(told)


PARTS: Mapping[str, Callable[[Path], Iterator[str]]] = {"values": _values, "hostile": _hostile, "filters": _filters}


def wire_of(part: str, folder: Path) -> list[str]:
    """Return what one part says."""
    return [line.rstrip() for line in PARTS[part](folder)]


def wires() -> Said:
    """Return what is said now."""
    return said_of_each(PARTS, wire_of)

"""Values survive the trip, lies do not, and no bytes whatever hurt the reader."""

from __future__ import annotations

import json
import math
import struct
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracebench_sandbox.codec import HEADER, CodecError, Decoder, Encoder

CAP = 1 << 20
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.complex_numbers(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
)
KEYS = st.one_of(
    st.integers(), st.text(st.characters(exclude_categories=["Cs"])), st.tuples(st.integers(), st.booleans())
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(KEYS, inner),
        st.sets(st.integers()),
        st.frozensets(st.text("ab!")),
    ),
    max_leaves=20,
)


def trip(value: Any, *, plain: bool = True) -> Any:
    return unpack(Encoder(CAP).pack(value), plain=plain)


def unpack(frame: bytes, *, plain: bool = True) -> Any:
    size, blocks = HEADER.unpack_from(frame)
    assert len(frame) == HEADER.size + size + blocks
    body = frame[HEADER.size :]
    return Decoder(plain=plain).unpack(body[:size], memoryview(body)[size:])


def raw(value: Any, blocks: bytes = b"") -> bytes:
    text = json.dumps(value).encode()
    return struct.pack("<II", len(text), len(blocks)) + text + blocks


def same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


@settings(max_examples=2 * settings.default.max_examples)
@given(VALUES)
def test_plain_values_come_back_equal_and_of_the_same_type(value: Any) -> None:
    assert same(trip(value), value)


@settings(max_examples=3 * settings.default.max_examples)
@given(st.binary(max_size=60), st.binary(max_size=20))
def test_no_bytes_raise_anything_but_a_codec_error(text: bytes, blocks: bytes) -> None:
    with suppress(CodecError):
        Decoder(plain=True).unpack(text, memoryview(blocks))


@settings(max_examples=3 * settings.default.max_examples)
@given(
    st.sampled_from(
        ["tuple", "set", "frozenset", "dict", "int", "complex", "bytes", "array", "scalar", "objects", "?"]
    ),
    st.dictionaries(st.sampled_from("vtson"), st.one_of(VALUES, st.sampled_from(["<f8", "|b1", "U", "O"])), max_size=5),
)
def test_no_tag_with_wrong_fields_raises_anything_but_a_codec_error(tag: str, fields: dict[str, Any]) -> None:
    frame = {key: value for key, value in fields.items() if not isinstance(value, complex | bytes)}
    try:
        text = json.dumps({"!": tag, **frame}).encode()
    except TypeError:
        return
    with suppress(CodecError):
        Decoder(plain=True).unpack(text, memoryview(b"12345678"))


AMPLIFIED = {
    "one long text in an array of texts": {"!": "objects", "t": "U", "s": [1000], "v": ["x" * 300_000] + [""] * 999},
    "the same as bytes": {
        "!": "objects",
        "t": "S",
        "s": [40_000],
        "v": [{"!": "bytes", "o": 0, "n": 500}, *[{"!": "bytes", "o": 0, "n": 0}] * 39_999],
    },
    "an array of more things than came": {"!": "objects", "t": "O", "s": [400_000_000], "v": [1]},
    "a table whose first row alone is long": {
        "!": "objects",
        "t": "O",
        "s": [9000, 9000],
        "v": [[0] * 9000, *[[]] * 8999],
    },
    "one block, many times": [{"!": "array", "t": "|u1", "s": [500], "o": 0, "n": 500}] * 1000,
    "one block, many times, as bytes": [{"!": "bytes", "o": 0, "n": 500}] * 2,
}


@pytest.mark.parametrize("lie", AMPLIFIED.values(), ids=AMPLIFIED)
def test_a_short_message_cannot_take_much_memory(lie: Any) -> None:
    with pytest.raises(CodecError):
        Decoder(plain=True).unpack(json.dumps(lie).encode(), memoryview(bytes(500)))


@pytest.mark.parametrize(
    ("number", "kind"), [(np.longdouble(1.5), float), (np.clongdouble(1.5 + 2j), complex), (np.float16(1.5), float)]
)
def test_the_longest_numbers_become_plain_too(number: Any, kind: type) -> None:
    back = trip([number])[0]
    assert (type(back), back) == (kind, kind(number))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(6).reshape(2, 3).T,
        np.zeros((0, 3), dtype=np.int8),
        np.array([True, False]),
        np.array([1 + 2j], dtype=np.complex64),
        np.array(3.5),
        np.arange(3, dtype=">i4"),
        np.array(["a", "bcd"]),
        np.array([["a", "bcd"], ["", "\u00e9"]]),
        np.array([[b"a", b"bcd"]]),
        np.array([[[]]], dtype=object),
        np.zeros((2, 0, 3), dtype="U4"),
        np.array([1, "x", None], dtype=object),
        np.array([[math.nan, math.inf]]),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_come_back_fresh_and_writable(array: np.ndarray[Any, Any]) -> None:
    back = trip({"a": array})["a"]

    np.testing.assert_array_equal(back, array)
    assert back.shape == array.shape
    assert back.flags.writeable
    assert back.flags.owndata or back.base.flags.owndata


def test_scalars_of_numpy_become_plain_only_on_the_trusted_side() -> None:
    assert [type(x) for x in trip([np.float64(1), np.int32(2), np.bool_(1)])] == [float, int, bool]
    assert [type(x) for x in trip([np.float64(1), np.int32(2)], plain=False)] == [np.float64, np.int32]


@pytest.mark.parametrize(
    "numbers",
    [
        [-(2**63), 1],
        [2**63 - 1, 1.5],
        [math.nan, 10**30],
        [5, math.nan, -(10**30)],
        [10**30, math.nan],
        [math.inf, 2**63],
        [True, 2],
    ],
    ids=str,
)
def test_numbers_of_any_size_travel_side_by_side(numbers: list[Any]) -> None:
    assert str(trip(numbers)) == str(numbers)


def test_subclasses_become_what_they_hold() -> None:
    class Float(float):
        def __float__(self) -> float:
            return 1e9

        def __repr__(self) -> str:
            return "1e9"

    class List(list):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            return iter([1e9])

        def __len__(self) -> int:
            return 1

    class Dict(dict):  # type: ignore[type-arg]
        def items(self) -> Any:
            return [("a", 1e9)]

    class Array(np.ndarray):  # type: ignore[type-arg]
        def tobytes(self, order: Any = "C") -> bytes:
            return b"lie"

        shape = (1,)  # type: ignore[assignment]

    back = trip([Float(0.5), List([1, 2]), Dict(b=2), np.zeros(2).view(Array)])

    assert same(back[:3], [0.5, [1, 2], {"b": 2}])
    assert type(back[3]) is np.ndarray
    assert back[3].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("message", "blocks", "why"),
    [
        ({"!": "bytes", "o": 0, "n": 9}, b"12345678", "outside"),
        ({"!": "bytes", "o": -1, "n": 2}, b"12345678", "outside"),
        ({"!": "array", "t": "<f8", "s": [2], "o": 0, "n": 8}, b"12345678", "disagree"),
        ({"!": "array", "t": "<f8", "s": [-1], "o": 0, "n": 8}, b"12345678", "impossible"),
        ({"!": "array", "t": "|O8", "s": [1], "o": 0, "n": 8}, b"12345678", "unknown type"),
        ({"!": "array", "t": "<f8", "s": [True], "o": 0, "n": 8}, b"12345678", "impossible"),
        ({"!": "dict", "v": [[1]]}, b"", "malformed"),
        ({"!": "set", "v": [[1]]}, b"", "malformed"),
        ({"!": "eval", "v": []}, b"", "unknown tag"),
        ("\ud800", b"", "malformed"),
        ({"!": "set", "v": [{"!": "int", "v": hex(k * ((1 << 61) - 1))} for k in range(2000)]}, b"", "collide"),
    ],
)
def test_a_message_that_lies_is_refused(message: Any, blocks: bytes, why: str) -> None:
    with pytest.raises(CodecError, match=why):
        unpack(raw(message, blocks))


def test_a_truth_value_of_two_is_read_as_true() -> None:
    back = unpack(raw({"!": "array", "t": "|b1", "s": [2], "o": 0, "n": 2}, b"\x02\x00"))

    assert back.tolist() == [True, False]
    assert back.view(np.uint8).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (object(), "`object`"),
        (np.zeros(1 << 20), "more than the"),
        ([0] * (1 << 20), "more than the"),
        ("x" * (1 << 21), "more than the"),
        ("\ud800", "surrogate"),
        (np.array(["2026"], dtype="M8[s]"), "cannot be sent"),
        (10**100_000, "digits"),
    ],
    ids=["object", "array", "list", "text", "surrogate", "dates", "integer"],
)
def test_what_cannot_be_sent_is_said(value: Any, why: str) -> None:
    with pytest.raises(CodecError, match=why):
        Encoder(CAP).pack(value)

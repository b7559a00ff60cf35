"""Calls and answers in the flat form: what goes in comes out, and no bytes whatever hurt the reader."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.sandbox.test_codec import VALUES, same

from tracebench_sandbox.codec import DTYPES, HEADER, CodecError, Encoder
from tracebench_sandbox.flat import BODY, DEPTH, MOST, Answer, Packer, Reader
from tracebench_sandbox.frames import LATER, SLACK, Inbox

CAP = 1 << 20
TAGS = b"NTFidsgabltj"


def body_of(frame: bytes) -> bytes:
    size, blocks = HEADER.unpack_from(frame)
    assert (len(frame), blocks) == (HEADER.size + size, 0)
    return frame[HEADER.size :]


def trip(value: Any, *, plain: bool = True) -> Any:
    place, back = Reader(plain=plain).answer(body_of(Packer(CAP).answer(7, value)))
    assert place == 7
    return back


@settings(max_examples=2 * settings.default.max_examples)
@given(VALUES)
def test_plain_values_come_back_equal_and_of_the_same_type(value: Any) -> None:
    assert same(trip(value), value)
    packed = Packer(CAP).call(3, "f", (value, 1.5, value))
    number, entry, args = Reader(plain=False).call(body_of(packed))
    assert (number, entry) == (3, "f")
    assert same(args, [value, 1.5, value])


@pytest.mark.parametrize("kind", sorted(DTYPES))
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 3), (2, 0), (2, 2, 2)], ids=str)
def test_arrays_come_back_fresh_writable_and_of_their_type(kind: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)
    back = trip(array)

    np.testing.assert_array_equal(back, array)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.flags.owndata
    assert back.flags.writeable


def test_an_array_that_lies_otherwise_in_memory_comes_back_as_itself() -> None:
    table = np.arange(12.0).reshape(3, 4)
    for array in (table.T, table[:, ::2], table[::-1], table.astype(">f4"), np.asfortranarray(table)):
        np.testing.assert_array_equal(trip(array), array)


def test_scalars_of_numpy_are_numbers_here_and_themselves_there() -> None:
    plain = {np.float64: float, np.int64: int, np.float32: float, np.uint8: int, np.bool_: bool, np.longdouble: float}
    for kind, of in plain.items():
        here, there = trip(kind(1)), trip(kind(1), plain=False)
        assert (here, type(here)) == (of(1), of)
        assert (there, type(there)) == (kind(1), kind)


def test_arguments_that_are_one_object_are_two_where_they_arrive() -> None:
    row = [1.0, 2.0]
    _, _, (left, right) = Reader(plain=False).call(body_of(Packer(CAP).call(0, "", (row, row))))

    assert left == right == row
    assert left is not right


@pytest.mark.parametrize("value", [b"x" * CAP, np.zeros(CAP), "x" * CAP, [b"x" * 100_000] * 12, list(range(CAP))])
def test_what_is_larger_than_the_cap_is_refused_before_it_is_made(value: Any) -> None:
    with pytest.raises(CodecError, match=str(CAP)):
        Packer(CAP).answer(0, value)


@pytest.mark.parametrize("value", [object(), [object()], "\ud800", {"a": "\ud800"}, [[[[[object()]]]]], len])
def test_what_is_no_data_is_refused(value: Any) -> None:
    with pytest.raises(CodecError):
        Packer(CAP).answer(0, value)


def holds_itself() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def test_a_list_that_holds_itself_is_refused() -> None:
    with pytest.raises(CodecError, match="holds itself"):
        Packer(CAP).answer(0, holds_itself())


@settings(max_examples=10 * settings.default.max_examples)
@given(st.lists(st.one_of(st.sampled_from([bytes([tag]) for tag in TAGS]), st.binary(max_size=12)), max_size=12))
def test_no_bytes_raise_anything_but_a_codec_error(parts: list[bytes]) -> None:
    with suppress(CodecError):
        Reader(plain=True).answer(bytes([BODY]) + bytes(4) + b"".join(parts))


HONEST = Packer(CAP).answer(
    1, [np.arange(4.0), (1, 2.5, "text", None, True), np.ones((2, 3)), np.float32(2), {"a": [1]}]
)


@settings(max_examples=10 * settings.default.max_examples)
@given(st.integers(0, len(HONEST) - HEADER.size - 1), st.binary(min_size=1, max_size=4), st.integers(0, 40))
def test_no_change_of_an_honest_answer_raises_anything_but_a_codec_error(at: int, put: bytes, cut: int) -> None:
    body = bytearray(body_of(HONEST))
    body[at : at + len(put)] = put
    with suppress(CodecError):
        Reader(plain=True).answer(bytes(body[: len(body) - cut]))


LIES = {
    "an array longer than what came": b"a" + b"<f8 " + struct.pack("<I", 1 << 31) + b"x" * 16,
    "a table whose sides overflow": b"b" + b"<f8 " + struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF) + b"x" * 16,
    "an array of objects": b"a" + b"|O  " + struct.pack("<I", 2) + b"x" * 16,
    "a type that is a structure": b"a" + b"f8,O" + struct.pack("<I", 1) + b"x" * 16,
    "a type with its name cut": b"a" + b"<f8" + struct.pack("<I", 1) + b"x" * 16,
    "a text longer than what came": b"s" + struct.pack("<I", 1 << 31) + b"text",
    "a text that is none": b"s" + struct.pack("<I", 2) + b"\xff\xff",
    "half of a surrogate pair": b"s" + struct.pack("<I", 3) + b"\xed\xa0\x80",
    "a packed message longer than what came": b"j" + HEADER.pack(1 << 31, 0) + b"[]",
    "a packed message whose blocks are not there": b"j" + HEADER.pack(2, 1 << 31) + b"[]",
    "a packed message that lies": b"j" + Encoder(CAP).pack([1])[:8] + b"[1}",
    "more values than a list may have": b"l\xff" + b"N" * 255,
    "fewer values than a list says": b"l\x04NN",
    "lists deeper than they may be": b"l\x01" * (DEPTH + 1) + b"N",
    "lists without an end": b"l\x01" * 100_000,
    "a number cut in half": b"d1234",
    "nothing": b"",
    "two values": b"NN",
    "an unknown tag": b"?",
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_lie_is_refused(lie: bytes) -> None:
    with pytest.raises(CodecError):
        Reader(plain=True).answer(bytes([BODY]) + bytes(4) + lie)


def test_the_longest_lists_come_back_and_longer_ones_take_the_other_form() -> None:
    value: Any = 1
    for _ in range(DEPTH + 2):
        value = [value] * (MOST if isinstance(value, int) else 2)
    longer = [(1, np.arange(2))] * (MOST + 1)

    assert trip(value) == value
    assert [first for first, _ in trip(longer)] == [1] * (MOST + 1)


def test_a_truth_value_of_another_byte_is_a_truth_value() -> None:
    lie = bytes([BODY]) + bytes(4) + b"a" + b"|b1 " + struct.pack("<I", 3) + bytes([0, 2, 255])
    assert Reader(plain=True).answer(lie).value.view(np.uint8).tolist() == [0, 1, 1]


def test_what_was_read_does_not_change_with_the_bytes_it_was_read_from() -> None:
    frame = Packer(CAP).answer(0, np.arange(3))
    inbox = Inbox(CAP)
    first = inbox.take_alone(frame)
    inbox.take(Packer(CAP).answer(1, np.zeros(3, dtype=int)))

    assert first.value.tolist() == [0, 1, 2]
    assert [answer.place for answer in inbox.messages()] == [1]


@pytest.mark.parametrize("cut", range(0, 40, 3))
def test_an_answer_is_taken_at_once_only_where_it_is_whole_and_alone(cut: int) -> None:
    frame = Packer(CAP).answer(5, [1.5, 2, None])
    inbox = Inbox(CAP)

    if cut and cut < len(frame):
        assert inbox.take_alone(frame[:cut]) is LATER
        assert inbox.take_alone(frame[cut:]) is LATER
    else:
        assert inbox.take_alone(frame + frame) is LATER
        assert next(inbox.messages()) == Answer(5, [1.5, 2, None])
    assert list(inbox.messages()) == [Answer(5, [1.5, 2, None])]


@pytest.mark.parametrize("size", [CAP + SLACK + 1, 0xFFFFFFFF])
def test_a_length_above_the_cap_is_believed_by_neither_way(size: int) -> None:
    inbox = Inbox(CAP)
    assert inbox.take_alone(HEADER.pack(size, 0) + bytes([BODY])) is LATER
    with pytest.raises(CodecError, match="larger"):
        list(inbox.messages())
    whole = Inbox(16)
    assert whole.take_alone(HEADER.pack(16 + SLACK + 1, 0) + bytes(16 + SLACK + 1)) is LATER
    with pytest.raises(CodecError, match="larger"):
        list(whole.messages())

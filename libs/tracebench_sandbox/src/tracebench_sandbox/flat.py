"""Calls of a session and their answers in a form that takes either side few steps: binary, a tag and a value after the other.

A frame's body is `BODY`, the number of the call, of a call also its function and how many values follow, and the values:

| tag | value | then |
|---|---|---|
| `N` `T` `F` | None, True, False | |
| `i` `d` | integer of 64 bits, float | 8 bytes |
| `s` | text | its length in bytes, UTF-8 |
| `g` | numpy scalar | its type, its bytes |
| `a` `b` | numpy array of one or two axes | its type, its sides, its bytes |
| `l` `t` | list, tuple of at most `MOST` values, at most `DEPTH` deep: of numbers, or with arrays | their number, the values |
| `j` | anything else | a packed message of `codec` |

All numbers are little-endian. Long lists, and lists of anything else, are sooner read as JSON. As with
`codec`, what comes from a candidate is checked length by length against what has arrived, and only exact built-ins and fresh arrays come
out of it: no more than `MOST` to the power of `DEPTH` besides what JSON holds.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from tracebench_sandbox.codec import DTYPES, HEADER, CodecError, Decoder, Encoder, plain_number

BODY = 1
"""The first byte of such a body; JSON has none such."""
MOST, DEPTH = 16, 3
_WORD = 1 << 63
_CALL, _ANSWER = struct.Struct("<BIHH"), struct.Struct("<BI")
_INTEGER, _FLOAT, _LENGTH = struct.Struct("<cq"), struct.Struct("<cd"), struct.Struct("<cI")
_SCALAR, _LINE, _TABLE = struct.Struct("<c4s"), struct.Struct("<c4sI"), struct.Struct("<c4sII")
_read_q, _read_d, _read_size = (
    struct.Struct("<q").unpack_from,
    struct.Struct("<d").unpack_from,
    struct.Struct("<I").unpack_from,
)
_read_line, _read_table = struct.Struct("<4sI").unpack_from, struct.Struct("<4sII").unpack_from
_NONE, _TRUE, _FALSE, _TEXT, _INT, _REAL, _NUMPY, _VECTOR, _MATRIX, _LIST, _TUPLE, _OTHER = b"NTFsidgabltj"
_TYPES = MappingProxyType({text: text.encode().ljust(4) for text in DTYPES})
_NO_TYPE = (b"", 0)
_NUMBERS, _LISTS = frozenset({int, float}), frozenset({list, tuple})
_HOSTILE = (
    struct.error,
    ImportError,
    IndexError,
    KeyError,
    ValueError,
    TypeError,
    OverflowError,
    MemoryError,
    RecursionError,
)


class Answer(NamedTuple):
    """The value that a call returned, and the number of the call."""

    place: int
    value: Any


class Packer:
    """Packs calls, or their answers, of at most `cap` bytes each."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self.general = Encoder(cap)
        """Packs what has no flat form."""
        self._array, self._scalars, self._dtypes = _known() if "numpy" in sys.modules else _Numpy()
        self._size = 0

    def call(self, number: int, entry: str, args: Sequence[Any]) -> bytes:
        """Return the frame of a call of `entry`, "" for the session's own.

        Raises:
            CodecError: when an argument cannot be sent.
        """
        name = _utf8(entry)
        try:
            return self._frame(_CALL.pack(BODY, number, len(name), len(args)) + name, args)
        except struct.error:
            raise CodecError("has too many parts") from None

    def answer(self, number: int, value: Any) -> bytes:
        """Return the frame of the value that a call returned.

        Raises:
            CodecError: when it holds something that is no data, or is larger than the cap.
        """
        return self._frame(_ANSWER.pack(BODY, number), (value,))

    def _frame(self, head: bytes, values: Sequence[Any]) -> bytes:
        self._size = 0
        parts = [b"", head]
        for value in values:
            self._put(parts.append, value, 0)
        size = sum(map(len, parts))
        self._grow(size - len(head) - self._size)
        parts[0] = HEADER.pack(size, 0)
        return b"".join(parts)

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._cap:
            raise CodecError(f"takes more than the {self._cap} bytes that are allowed")

    def _put(self, put: Callable[[bytes], None], value: Any, depth: int) -> None:
        kind = type(value)
        if kind is float:
            put(_FLOAT.pack(b"d", value))
        elif kind is int and -_WORD < value < _WORD:
            put(_INTEGER.pack(b"i", value))
        elif kind is self._array:
            self._put_array(put, value)
        elif value is None:
            put(b"N")
        elif kind is bool:
            put(b"T" if value else b"F")
        elif kind is str:
            text = _utf8(value)
            put(_LENGTH.pack(b"s", len(text)))
            put(text)
        elif (kind is tuple or kind is list) and self._is_short(value, depth):
            put(b"t%c" % len(value) if kind is tuple else b"l%c" % len(value))
            for item in value:
                self._put(put, item, depth + 1)
        elif kind in self._scalars:
            put(_SCALAR.pack(b"g", self._scalars[kind]))
            put(value.tobytes())
        else:
            self._put_general(put, value)

    def _is_short(self, items: Sequence[Any], depth: int) -> bool:
        """Tell whether a list is sooner read value by value than as JSON: it holds few numbers, or arrays, or lists that hold arrays."""
        if len(items) > MOST or depth >= DEPTH:
            return False
        kinds = set(map(type, items))
        return (
            self._array in kinds
            or kinds <= _NUMBERS
            or any(self._array in map(type, item) for item in items if type(item) in _LISTS)
        )

    def _put_array(self, put: Callable[[bytes], None], value: Any) -> None:
        kind, size = self._dtypes.get(value.dtype, _NO_TYPE)
        shape = value.shape
        if not (size and 1 <= len(shape) <= 2) or max(shape) >> 32:  # noqa: PLR2004 - see the table
            self._put_general(put, value)
            return
        self._grow(size * math.prod(shape))
        put(_LINE.pack(b"a", kind, *shape) if len(shape) == 1 else _TABLE.pack(b"b", kind, *shape))
        put(value.tobytes())

    def _put_general(self, put: Callable[[bytes], None], value: Any) -> None:
        if self.general.numpy is None:  # it may have come since
            self.general.numpy = sys.modules.get("numpy")
        packed = self.general.pack(value)
        self._grow(len(packed))
        put(b"j")
        put(packed)


class Reader:
    """Reads one body; with `plain`, numpy scalars become built-in numbers."""

    def __init__(self, *, plain: bool) -> None:
        self.plain = plain
        self._general = Decoder(plain=plain)
        self._types: dict[bytes, Any] = {}

    def call(self, body: bytes) -> tuple[int, str, list[Any]]:
        """Return the number of a call, its function and its arguments; of what the trusted side wrote."""
        _, number, size, count = _CALL.unpack_from(body)
        at = _CALL.size + size
        entry = body[_CALL.size : at].decode()
        args = []
        for _ in range(count):
            value, at = self._value(body, at, 0)
            args.append(value)
        return number, entry, args

    def answer(self, body: bytes) -> Answer:
        """Return an answer.

        Raises:
            CodecError: when the bytes are none.
        """
        try:
            place = _ANSWER.unpack_from(body)[1]
            value, end = self._value(body, _ANSWER.size, 0)
        except CodecError:
            raise
        except _HOSTILE as err:
            raise CodecError(f"is malformed ({type(err).__name__})") from None
        if end != len(body):
            raise CodecError("is malformed (length)")
        return Answer(place, value)

    def _value(self, body: bytes, at: int, depth: int) -> tuple[Any, int]:
        """Return the value at a place, and the place after it."""
        tag = body[at]
        at += 1
        if tag == _REAL:
            return _read_d(body, at)[0], at + 8
        if tag == _INT:
            return _read_q(body, at)[0], at + 8
        if tag == _VECTOR:
            kind, side = _read_line(body, at)
            return self._array(body, at + 8, kind, (side,))
        if tag == _OTHER:
            return self._packed(body, at)
        return self._rarer(body, tag, at, depth)

    def _rarer(self, body: bytes, tag: int, at: int, depth: int) -> tuple[Any, int]:
        if tag in {_LIST, _TUPLE}:
            return self._items(body, tag, at, depth)
        if tag == _NONE:
            return None, at
        if tag in {_TRUE, _FALSE}:
            return tag == _TRUE, at
        if tag == _MATRIX:
            kind, *shape = _read_table(body, at)
            return self._array(body, at + 12, kind, tuple(shape))
        if tag == _TEXT:
            return self._text(body, at)
        if tag == _NUMPY:
            array, end = self._array(body, at + 4, body[at : at + 4], ())
            return plain_number(array) if self.plain else array[()], end
        raise CodecError("has an unknown tag")

    def _items(self, body: bytes, tag: int, at: int, depth: int) -> tuple[Any, int]:
        count = body[at]
        if count > MOST or depth >= DEPTH:
            raise CodecError("is nested too deeply")
        at += 1
        items = []
        for _ in range(count):
            value, at = self._value(body, at, depth + 1)
            items.append(value)
        return (tuple(items) if tag == _TUPLE else items), at

    def _array(self, body: bytes, at: int, kind: bytes, shape: tuple[int, ...]) -> tuple[Any, int]:
        dtype = self._types.get(kind) or self._dtype(kind)
        count = shape[0] if len(shape) == 1 else math.prod(shape)
        end = at + count * dtype.itemsize
        if end > len(body):
            raise CodecError("points outside of what was sent")
        numpy = sys.modules["numpy"]
        if not count:
            return numpy.empty(shape, dtype), at
        if dtype.kind == "b":  # a byte other than 0 and 1 is no truth value
            return numpy.frombuffer(body, numpy.uint8, count, at).reshape(shape).astype(bool), end
        array = numpy.frombuffer(body, dtype, count, at)
        return (array if len(shape) == 1 else array.reshape(shape)).copy(), end

    def _dtype(self, kind: bytes) -> Any:
        import numpy  # noqa: PLC0415, ICN001 - heavy, and only needed where arrays travel

        text = kind.decode().rstrip()
        if _TYPES.get(text) != kind:
            raise CodecError("has an array of an unknown type")
        return self._types.setdefault(kind, numpy.dtype(text))

    def _text(self, body: bytes, at: int) -> tuple[str, int]:
        start = at + 4
        end = start + _read_size(body, at)[0]
        if end > len(body):
            raise CodecError("points outside of what was sent")
        return body[start:end].decode(), end

    def _packed(self, body: bytes, at: int) -> tuple[Any, int]:
        size, blocks = HEADER.unpack_from(body, at)
        start = at + HEADER.size
        middle, end = start + size, start + size + blocks
        if end > len(body):
            raise CodecError("points outside of what was sent")
        return self._general.unpack(body[start:middle], memoryview(body)[middle:end]), end


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise CodecError("holds half of a surrogate pair, which is no text") from None


class _Unknown:
    """Nothing is one: stands for numpy's array while numpy is not loaded."""


class _Numpy(NamedTuple):
    """What is known of numpy: its array, its scalars with the names of their types, its types with names and sizes."""

    array: type = _Unknown
    scalars: Mapping[type, bytes] = MappingProxyType({})
    types: Mapping[Any, tuple[bytes, int]] = MappingProxyType({})


@cache
def _known() -> _Numpy:
    numpy = sys.modules["numpy"]
    types = {numpy.dtype(text): kind for text, kind in _TYPES.items()}
    return _Numpy(
        numpy.ndarray,
        {dtype.type: kind for dtype, kind in types.items()},
        {dtype: (kind, dtype.itemsize) for dtype, kind in types.items()},
    )

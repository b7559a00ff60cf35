"""Values as data: JSON with tags plus raw blocks for arrays, decoded without running or trusting anything.

A packed message is a header (two little-endian 32-bit lengths), UTF-8 JSON of the first length, and blocks of the second. JSON has
no tuple, set, complex, bytes or array; these are objects whose only reserved key is `!`:

| value | JSON |
|---|---|
| tuple, set, frozenset | `{"!": "tuple", "v": [...]}` |
| mapping with other than plain string keys | `{"!": "dict", "v": [[key, value], ...]}` |
| integer beyond 64 bits | `{"!": "int", "v": "0x..."}` |
| complex | `{"!": "complex", "v": [real, imag]}` |
| bytes | `{"!": "bytes", "o": offset, "n": length}` into the blocks |
| numpy array or scalar | `{"!": "array" or "scalar", "t": "<f8", "s": shape, "o": offset, "n": length}` |

The encoder goes through the slots of the base classes, so a subclass that lies about itself becomes the plain value that it holds. The
decoder checks every length against what has arrived, and yields exact built-ins and fresh arrays only.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, TypeVar

T = TypeVar("T")
HEADER = struct.Struct("<II")
_TAG = "!"
_MARK = b'"!"'
_WORD = 1 << 63
_MAX_HEX = 3500
"""Digits of an integer in base 16: fewer than Python itself agrees to print in base 10."""
_MAX_DEPTH = 200
_MOST_TEXT = 1 << 24
"""Characters that an array of texts takes, each as long as the longest."""
_SCALARS = frozenset({float, bool, type(None), str})
_NUMBERS = frozenset({int, float, bool})
DTYPES = frozenset(
    {"|b1", "|i1", "|u1"} | {f"<{kind}" for kind in "i2 i4 i8 u2 u4 u8 f2 f4 f8 f16 c8 c16 c32".split()}  # noqa: SIM905
)
_dumps = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
_loads = json.loads


class CodecError(ValueError):
    """A value cannot be sent as data, or what arrived is none; the message ends the sentence `the value ...`."""


class Encoder:
    """Packs one message of at most `cap` bytes; numpy is the one that was loaded when the encoder was made."""

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.numpy = sys.modules.get("numpy")
        self.size = 0
        self.blocks: list[bytes] = []

    def pack(self, message: Any) -> bytes:
        """Return the whole frame of `message`.

        Raises:
            CodecError: when it holds something that is no data, is nested too deeply, or is larger than the cap.
        """
        self.size, self.blocks = 0, []
        try:
            text = _dumps(self._encode(message, 0)).encode()
        except UnicodeEncodeError:
            raise CodecError("holds half of a surrogate pair, which is no text") from None
        except RecursionError:
            raise CodecError("is nested too deeply") from None
        self._grow(len(text) - self.size + sum(map(len, self.blocks)))
        blocks = b"".join(self.blocks)
        return HEADER.pack(len(text), len(blocks)) + text + blocks

    def _grow(self, size: int) -> None:
        self.size += size
        if self.size > self.cap:
            raise CodecError(f"takes more than the {self.cap} bytes that are allowed")

    def _block(self, size: int) -> int:
        offset = sum(map(len, self.blocks))
        self._grow(size)
        return offset

    def _encode(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is int and -_WORD < value < _WORD:
            return value
        if depth > _MAX_DEPTH:
            raise CodecError("is nested too deeply, or holds itself")
        if self.numpy is not None and isinstance(value, self.numpy.ndarray | self.numpy.generic):
            return self._array(value, depth)
        return (
            self._container(value, depth)
            if isinstance(value, list | tuple | dict | set | frozenset)
            else self._plain(value)
        )

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, list):
            return self._items(list.__getitem__(value, slice(None)), depth)
        if isinstance(value, dict):
            return self._mapping(list(dict.items(value)), depth)
        if isinstance(value, tuple):
            return {_TAG: "tuple", "v": self._items(list(tuple.__getitem__(value, slice(None))), depth)}
        base: type = set if isinstance(value, set) else frozenset
        return {_TAG: base.__name__, "v": self._items(list(base.__iter__(value)), depth)}  # type: ignore[attr-defined]

    def _items(self, items: list[Any], depth: int) -> list[Any]:
        self._grow(2 * len(items))
        kinds = set(map(type, items))
        if kinds <= _SCALARS or (kinds <= _NUMBERS and min(items) > -_WORD and max(items) < _WORD):
            return items  # a NaN is either passed over or the extreme itself, which then compares with nothing
        return [self._encode(item, depth + 1) for item in items]

    def _mapping(self, items: list[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        self._grow(4 * len(items))
        if all(type(key) is str and key != _TAG for key, _ in items):
            return {key: self._encode(item, depth + 1) for key, item in items}
        return {_TAG: "dict", "v": [[self._encode(k, depth + 1), self._encode(v, depth + 1)] for k, v in items]}

    def _plain(self, value: Any) -> Any:
        if isinstance(value, float):
            return float.__pos__(value)
        if isinstance(value, int):
            whole = int.__pos__(value)
            if int.bit_length(whole) > 4 * _MAX_HEX:
                raise CodecError("holds an integer of more than 4,200 digits")
            return whole if -_WORD < whole < _WORD else {_TAG: "int", "v": hex(whole)}
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, complex):
            return {_TAG: "complex", "v": [complex.real.__get__(value), complex.imag.__get__(value)]}
        if isinstance(value, bytes | bytearray | memoryview):
            data = bytes(memoryview(value))
            offset = self._block(len(data))
            self.blocks.append(data)
            return {_TAG: "bytes", "o": offset, "n": len(data)}
        raise CodecError(f"holds a `{type(value).__name__}`, which is no data")

    def _array(self, value: Any, depth: int) -> Any:
        array = self.numpy.ndarray  # type: ignore[union-attr]
        tag = "array"
        if not isinstance(value, array):
            value, tag = self.numpy.asarray(value), "scalar"  # type: ignore[union-attr]
        dtype, shape = array.dtype.__get__(value), list(array.shape.__get__(value))
        if dtype.str not in DTYPES:
            if dtype.kind in "OUS":
                nested = self._encode(array.tolist(value), depth + 1)
                return nested if tag == "scalar" else {_TAG: "objects", "t": dtype.kind, "s": shape, "v": nested}
            if dtype.newbyteorder("<").str not in DTYPES:
                raise CodecError(f"holds an array of `{dtype}`, which cannot be sent")
            value = array.astype(value, dtype.newbyteorder("<"))
            dtype = value.dtype
        offset = self._block(int(array.nbytes.__get__(value)))
        data = array.tobytes(value)
        self.blocks.append(data)
        return {_TAG: tag, "t": dtype.str, "s": shape, "o": offset, "n": len(data)}


class Decoder:
    """Unpacks one message; with `plain`, numpy scalars become built-in numbers."""

    def __init__(self, *, plain: bool) -> None:
        self.plain = plain
        self.blocks = memoryview(b"")
        self._left = 0
        """Bytes of blocks that nothing was made of yet: whoever named one block a thousand times would have it a thousand times."""

    def unpack(self, text: bytes, blocks: memoryview) -> Any:
        """Return the message.

        Raises:
            CodecError: when the bytes are not what an encoder writes.
        """
        self.blocks, self._left = blocks, len(blocks)
        try:
            raw = _loads(text.decode())
            if b"\\" in text and b"\\ud" in text.lower():  # an encoder escapes no character: this may be half of a pair
                _dumps(raw).encode()
            plain = _MARK not in text and text.count(b"[") + text.count(b"{") < _MAX_DEPTH
            return raw if plain else self._decode(raw, 0)
        except CodecError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError, MemoryError) as err:
            raise CodecError(f"is malformed ({type(err).__name__})") from None

    def _decode(self, raw: Any, depth: int) -> Any:
        if depth > 2 * _MAX_DEPTH:
            raise CodecError("is nested too deeply")
        if type(raw) is list:
            return raw if _SCALARS.issuperset(map(type, raw)) else [self._decode(item, depth + 1) for item in raw]
        if type(raw) is not dict:
            return raw
        if _TAG not in raw:
            return {key: self._decode(item, depth + 1) for key, item in raw.items()}
        return self._tagged(raw, depth)

    def _tagged(self, raw: dict[str, Any], depth: int) -> Any:
        tag = raw[_TAG]
        if tag in {"array", "scalar"}:
            return self._array(raw)
        if tag == "bytes":
            return bytes(self._cut(raw))
        if tag == "int":
            return int(_checked(raw["v"], str)[: _MAX_HEX + 3], 16)
        if tag == "complex":
            real, imag = raw["v"]
            return complex(_checked(real, float), _checked(imag, float))
        return self._nested(raw, tag, depth)

    def _nested(self, raw: dict[str, Any], tag: Any, depth: int) -> Any:
        nested = self._decode(raw["v"], depth + 1)
        if tag == "objects":
            return _objects(nested, shape=_shape(raw["s"]), kind=raw["t"])
        items = _checked(nested, list)
        match tag:
            case "tuple":
                return tuple(items)
            case "set" | "frozenset":
                _refuse_collisions(items)
                return set(items) if tag == "set" else frozenset(items)
            case "dict":
                _refuse_collisions([key for key, _ in items])
                return {key: item for key, item in items}  # noqa: C416 - `dict()` would take pairs of any length
        raise CodecError("has an unknown tag")

    def _cut(self, raw: dict[str, Any]) -> memoryview:
        offset, size = _checked(raw["o"], int), _checked(raw["n"], int)
        if not 0 <= offset <= offset + size <= len(self.blocks):
            raise CodecError("points outside of what was sent")
        self._left -= size
        if self._left < 0:
            raise CodecError("uses twice what was sent once")
        return self.blocks[offset : offset + size]

    def _array(self, raw: dict[str, Any]) -> Any:
        import numpy  # noqa: PLC0415, ICN001 - heavy, and only needed where arrays travel

        if raw["t"] not in DTYPES:
            raise CodecError("has an array of an unknown type")
        dtype, shape, data = numpy.dtype(raw["t"]), _shape(raw["s"]), self._cut(raw)
        if math.prod(shape) * dtype.itemsize != len(data):
            raise CodecError("has an array whose shape and size disagree")
        if dtype.kind == "b":  # a byte other than 0 and 1 is no truth value
            array = numpy.frombuffer(data, numpy.uint8).reshape(shape).astype(bool)
        else:
            array = numpy.frombuffer(data, dtype).reshape(shape).copy()
        if raw[_TAG] == "array":
            return array
        return plain_number(array) if self.plain else array[()]


def plain_number(array: Any) -> Any:
    """Return the built-in number that an array without axes holds, or the nearest to a longer one."""
    found = array.item()
    if type(found).__module__ == "builtins":
        return found
    return complex(found) if array.dtype.kind == "c" else float(found)


def _checked(value: Any, kind: type[T]) -> T:
    if type(value) is not kind:
        raise CodecError("is malformed (type)")
    return value


def _shape(raw: Any) -> tuple[int, ...]:
    shape = _checked(raw, list)
    if len(shape) > 32 or any(type(side) is not int or side < 0 for side in shape):  # noqa: PLR2004 - numpy's limit
        raise CodecError("has an array of an impossible shape")
    return tuple(shape)


def _objects(nested: Any, *, shape: tuple[int, ...], kind: Any) -> Any:
    import numpy  # noqa: PLC0415, ICN001 - as above

    leaves = list(_leaves(nested, shape))
    if kind in {"U", "S"}:
        longest = max((len(_checked(leaf, str if kind == "U" else bytes)) for leaf in leaves), default=0)
        if len(leaves) * longest > _MOST_TEXT:
            raise CodecError("has an array of texts that takes too much memory")
        return numpy.array(leaves, dtype=kind).reshape(shape)
    array = numpy.empty(len(leaves), dtype=object)
    for place, leaf in enumerate(leaves):
        array[place] = leaf
    return array.reshape(shape)


def _leaves(nested: Any, shape: tuple[int, ...]) -> Iterator[Any]:
    """Yield what lists within lists hold, which must be as long as the shape says: no more room is made than there are things."""
    if not shape:
        yield nested
        return
    if len(_checked(nested, list)) != shape[0]:
        raise CodecError("has an array whose shape and size disagree")
    for item in nested:
        yield from _leaves(item, shape[1:])


def _refuse_collisions(keys: Iterable[Any]) -> None:
    """Refuse keys chosen to collide: a few thousand of them would hold a hash table, and so the trusted side, for minutes."""
    longest = max((sum(1 for _ in run) for _, run in groupby(sorted(map(hash, keys)))), default=0)
    if longest > 1000:  # noqa: PLR2004
        raise CodecError("has keys that collide")

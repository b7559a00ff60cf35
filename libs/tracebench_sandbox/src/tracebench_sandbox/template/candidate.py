"""The inside of a locked-down child: loads the code, calls it, and sends one typed answer per call.

Nothing here is trusted by the other side: whatever the code does to this module, it changes its own answers only. The references below are
taken before the code runs so that honest code may patch what it likes and still be heard.
"""

from __future__ import annotations

import errno
import io
import linecache
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, TracebackType
from typing import Any

from tracebench_sandbox.codec import CodecError, Decoder, Encoder
from tracebench_sandbox.flat import Packer, Reader
from tracebench_sandbox.frames import EMPTY, next_body, read_frame, write_frame

SOURCE = "<candidate>"
PRINTED = 4096
"""How many bytes of what the code printed are kept."""
_LINE = 500
_FRAMES = 12
_write = os.write
_NOTHING = {"s": "ok", "v": None}
_OUT_OF_MEMORY = Encoder(PRINTED).pack({"n": None, "s": "memory", "e": "MemoryError: the memory limit was reached"})


class Printed(io.RawIOBase):
    """Standard output: passed on to the pipe, the last bytes kept for the answer."""

    def __init__(self) -> None:
        self.tail = b""

    def writable(self) -> bool:
        """Say yes."""
        return True

    def fileno(self) -> int:
        """Return the descriptor that the text is passed on to."""
        return 1

    def write(self, data: Any) -> int:
        """Pass on and keep."""
        done = _write(1, data)
        self.tail = (self.tail + bytes(data[-PRINTED:]))[-PRINTED:]
        return done

    def take(self) -> str:
        """Return what was kept since the last time."""
        text, self.tail = self.tail.decode(errors="replace"), b""
        return text


class Runner:
    """One piece of code in its process. Made in the template, where nothing of it costs a child anything."""

    def __init__(self) -> None:
        self.printed = Printed()
        self.stdout = io.TextIOWrapper(
            io.BufferedWriter(self.printed), encoding="utf-8", errors="replace", line_buffering=True
        )
        self.packer = Packer(0)
        self.namespace: dict[str, Any] = {}

    def serve(self, fd: int) -> None:
        """Answer what comes over `fd`: one load, then its inputs, or calls until the other side closes."""
        sys.stdout = sys.stderr = self.stdout
        order = read_frame(fd, decoder=Decoder(plain=False))
        send = self._sender(fd)
        cap = order["cap"]
        failure = self._load(order["prelude"], order["code"], cap)
        if failure is None and not callable(self.namespace.get(order["entry"])):
            failure = {"s": "invalid", "e": f"The code defines no function `{order['entry']}`."}
        if failure is not None:
            send(-1, failure)
        elif order["inputs"] is not None:
            for place, args in enumerate(order["inputs"]):
                send(place, self._call(order["entry"], args))
        else:
            send(-1, {"s": "ok"})
            self._converse(fd, order["entry"], send)

    def _converse(self, fd: int, entry: str, send: Callable[[int | None, dict[str, Any]], None]) -> None:
        reader = Reader(plain=False)
        while True:
            try:
                body = next_body(fd)
            except (EOFError, ConnectionError):
                return
            if body:
                place, name, args = reader.call(body)
                send(place, self._call(name or entry, args))
            elif (answer := self._call(entry, ())) == _NOTHING and not self.printed.tail:
                write_frame(fd, EMPTY)
            else:
                send(None, answer)

    def _load(self, prelude: str, code: str, cap: int) -> dict[str, Any] | None:
        linecache.cache[SOURCE] = (len(code), None, code.splitlines(keepends=True), SOURCE)
        self.namespace["__name__"] = "candidate"
        try:
            if prelude:
                exec(compile(prelude, "<prelude>", "exec"), self.namespace)  # noqa: S102 - this is what the process is for
            self.packer = Packer(cap)
            exec(self._compiled(code), self.namespace)  # noqa: S102 - as above
        except SyntaxError as err:
            return {"s": "invalid", "e": _line(err), "t": _place(err)}
        except BaseException as err:  # noqa: BLE001 - whatever the code raises is its answer
            return _failure(err)
        return None

    def _compiled(self, code: str) -> CodeType:
        try:
            return compile(code, SOURCE, "exec", dont_inherit=True)
        except ValueError as err:  # a null byte, half of a surrogate pair
            raise SyntaxError(str(err)) from None

    def _call(self, entry: str, args: Any) -> dict[str, Any]:
        try:
            return {"s": "ok", "v": self.namespace[entry](*args)}
        except BaseException as err:  # noqa: BLE001 - as above
            if entry not in self.namespace:
                return {"s": "invalid", "e": f"The code defines no function `{entry}`."}
            return _failure(err)

    def _packed(self, answer: dict[str, Any]) -> bytes:
        if answer["s"] != "ok":
            return Encoder(1 << 20).pack(answer)
        if answer["n"] is None or "p" in answer or "v" not in answer:
            return self.packer.general.pack(answer)
        return self.packer.answer(answer["n"], answer["v"])

    def _sender(self, fd: int) -> Callable[[int | None, dict[str, Any]], None]:
        flush, printed = self.stdout.flush, self.printed

        def send(place: int | None, answer: dict[str, Any]) -> None:
            with suppress(OSError, ValueError):  # the code may have closed its output
                flush()
            answer["n"] = place
            if printed.tail:
                answer["p"] = printed.take()
            try:
                frame = self._packed(answer)
            except CodecError as err:
                frame = Encoder(1 << 20).pack({"n": place, "s": "invalid", "e": f"The returned value {err}."})
            except MemoryError:
                frame = _OUT_OF_MEMORY
            except BaseException as err:  # noqa: BLE001 - a value whose own methods raise
                frame = Encoder(1 << 20).pack({"n": place, **_failure(err), "s": "invalid"})
            write_frame(fd, frame)

        return send


def _failure(err: BaseException) -> dict[str, Any]:
    if isinstance(err, MemoryError):
        return {"s": "memory", "e": "MemoryError: the memory limit was reached", "t": _frames(err.__traceback__)}
    refused = isinstance(err, OSError) and err.errno in {errno.EPERM, errno.EACCES, errno.EROFS}
    if refused or type(err).__name__ == "gaierror":
        return {"s": "forbidden", "e": f"The sandbox refused this: {_line(err)}", "t": _frames(err.__traceback__)}
    return {"s": "error", "e": _line(err), "t": _frames(err.__traceback__)}


def _line(err: BaseException) -> str:
    try:
        words = " ".join(str(err).split())
    except BaseException:  # noqa: BLE001 - an exception may lie in its text, too
        words = "(its message cannot be shown)"
    name = type(err).__name__
    return (f"{name}: {words}" if words else name).encode(errors="replace").decode()[:_LINE]


def _place(err: SyntaxError) -> str:
    return f'  File "{SOURCE}", line {err.lineno}\n    {(err.text or "").strip()}'.encode(errors="replace").decode()[
        :_LINE
    ]


def _frames(step: TracebackType | None) -> str:
    """Return the candidate's own frames, oldest first, the middle of a long chain left out."""
    found: list[tuple[int, str]] = []
    while step is not None:
        if step.tb_frame.f_code.co_filename == SOURCE:
            found.append((step.tb_lineno, step.tb_frame.f_code.co_name))
        step = step.tb_next
    if len(found) > _FRAMES:
        found = [*found[: _FRAMES // 2], (0, ""), *found[-_FRAMES // 2 :]]
    return (
        "\n".join(
            f'  File "{SOURCE}", line {line}, in {name}\n    {linecache.getline(SOURCE, line).strip()[:200]}'
            if line
            else "  ..."
            for line, name in found
        )
        .encode(errors="replace")
        .decode()
    )

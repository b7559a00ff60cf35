"""Reads a request's body: so large, so slow, so deep and no more, and text that can be written down again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from starlette.requests import ClientDisconnect, Request

LARGEST_BODY = 32 * 1024 * 1024
"""Bytes."""
BODY_SECONDS = 60.0
"""How long a body may take to arrive."""
DEEPEST = 100
"""Objects and lists within each other."""
LARGEST_WHOLE = 1 << 63
"""Whole numbers beyond are no counts and no seeds."""


class BadRequest(ValueError):  # noqa: N818 - named for the status it becomes
    """The request is none of the wire's, or asks for what the gateway does not do."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


async def read_object(request: Request) -> dict[str, Any]:
    """Return the JSON object that a request of the engine carries.

    Raises:
        BadRequest: with the status 400, 408 or 413.
    """
    return parse_object(b"".join(await read_body(request)))


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object that a body holds.

    Raises:
        BadRequest: when it holds none that can be passed on.
    """
    try:
        data = json.loads(body, parse_constant=_refuse_constant, parse_int=_whole)
    except BadRequest:
        raise
    except RecursionError:
        raise BadRequest(f"the request is nested deeper than {DEEPEST}") from None
    except ValueError as err:  # UnicodeDecodeError included
        raise BadRequest(f"the request is not JSON: {err}") from err
    if not isinstance(data, dict):
        raise BadRequest("the request must be a JSON object")
    _check_depth(data)
    if b"\\u" in body or b"e" in body or b"E" in body:
        _check_text(data)
    return data


async def read_body(request: Request, before: Callable[[int], Awaitable[None]] | None = None) -> list[bytes]:
    """Return a request's body in the pieces that it came in; joining 31 MB takes as long as some calls.

    `before` is awaited with the size so far before more of it is read.

    Raises:
        BadRequest: with the status 400, 408 or 413.
    """
    declared = request.headers.get("content-length", "0")
    if declared.isascii() and declared.isdigit() and (len(declared) > 12 or int(declared) > LARGEST_BODY):  # noqa: PLR2004
        raise BadRequest(f"the request is larger than {LARGEST_BODY} bytes", status=413)
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS) as limit:
            async for piece in request.stream():
                size += len(piece)
                if size > LARGEST_BODY:
                    raise BadRequest(f"the request is larger than {LARGEST_BODY} bytes", status=413)
                pieces.append(piece)
                if before is not None:
                    began = asyncio.get_running_loop().time()
                    until = limit.when()
                    limit.reschedule(None)  # the caller does not answer for the wait
                    await before(size)
                    limit.reschedule(until and until + asyncio.get_running_loop().time() - began)
    except TimeoutError:
        raise BadRequest(f"the request did not arrive within {BODY_SECONDS:g} s", status=408) from None
    except ClientDisconnect:
        raise BadRequest("the caller hung up before the request was whole") from None
    return pieces


def _refuse_constant(name: str) -> NoReturn:
    raise BadRequest(f"the request is not JSON: `{name}` is no JSON number")


def _whole(digits: str) -> int:
    if len(digits) > 20 or abs(int(digits)) > LARGEST_WHOLE:  # noqa: PLR2004 - as many digits as 64 bits have, and a sign
        raise BadRequest(f"`{digits[:24]}…` is too large a number")
    return int(digits)


def _check_depth(data: Any) -> None:
    level = [data]
    for _ in range(DEEPEST):
        inside: list[Any] = []
        for item in level:
            inside.extend(item.values() if isinstance(item, dict) else item)
        level = [item for item in inside if isinstance(item, dict | list)]
        if not level:
            return
    raise BadRequest(f"the request is nested deeper than {DEEPEST}")


def _check_text(data: Any) -> None:
    """See that the object can be written down again: no half of a surrogate pair, no number beyond a float."""
    try:
        json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as err:
        raise BadRequest(f"the request holds half a character (`\\u{ord(err.object[err.start]):04x}`)") from err
    except ValueError as err:
        raise BadRequest("the request holds a number beyond any float") from err

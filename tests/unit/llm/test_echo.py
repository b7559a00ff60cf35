"""A key that a provider sends back goes no further, however a stream cuts it."""

import asyncio

import pytest

from tracebench_gateway.exchange import Reply
from tracebench_gateway.server.echo import WithoutEcho

KEY = "sk-0123456789"


class Echoing:
    def __init__(self, pieces):
        self._pieces = pieces

    async def ask(self, request, *, on_delta=None):
        for piece in self._pieces if on_delta is not None else ():
            await on_delta({"content": piece})
        call = {"function": {"name": "f", "arguments": f'{{"key": "{KEY}"}}'}}
        return Reply({"role": "assistant", "content": "".join(self._pieces), "tool_calls": [call]}, "stop")


@pytest.mark.parametrize("size", [1, 2, 5, 13, 100])
@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"you sent {KEY}, twice: {KEY}{KEY}", "you sent [redacted], twice: [redacted][redacted]"),
        ("it begins with sk-01234", "it begins with sk-01234"),
        ("sk-sk-sk-0123456789!", "sk-sk-[redacted]!"),
    ],
)
def test_no_key_passes(text, clean, size):
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    sent = []

    async def take(delta):
        sent.append(delta["content"])

    provider = WithoutEcho(Echoing(pieces), ["short", KEY])
    reply = asyncio.run(provider.ask(None, on_delta=take))
    assert (reply.text, "".join(sent)) == (clean, clean)
    assert KEY not in str(reply.message)
    assert asyncio.run(provider.ask(None)).text == clean


def test_without_keys_nothing_is_touched():
    reply = asyncio.run(WithoutEcho(Echoing([KEY]), []).ask(None))
    assert reply.text == KEY

"""A recording as a provider: no network, no waiting, and the same failures as recorded."""

from __future__ import annotations

from pathlib import Path

from tracebench_core.errors import RunDirError
from tracebench_gateway.cassette.player import Player
from tracebench_gateway.exchange import ChatRequest, OnDelta, ProviderError, Reply
from tracebench_gateway.server.providers.pieces import send_in_pieces


class ReplayProvider:
    """Answers from a recording; what it cost is what it cost then."""

    def __init__(self, folder: Path) -> None:
        self._player = Player(folder)

    async def ask(self, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """Return the recorded reply.

        Raises:
            ProviderError: the recorded failure, or `replay_miss` where there is none or it is damaged.
        """
        try:
            reply = self._player.reply(request)
        except RunDirError as err:
            raise ProviderError(str(err), kind="replay_miss") from err
        if on_delta is not None:
            await send_in_pieces(reply.message, on_delta)
        return reply

"""Puts a gateway together from its settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tracebench_core.errors import RunDirError
from tracebench_core.plugins import load_ref
from tracebench_core.specs import LLMConfig
from tracebench_gateway.cassette.cache import CallCache
from tracebench_gateway.cassette.finished_calls import FinishedCalls
from tracebench_gateway.cassette.player import Player
from tracebench_gateway.cassette.recorder import Recorder
from tracebench_gateway.cassette.scorings import Scorings
from tracebench_gateway.cassette.undelivered import Undelivered
from tracebench_gateway.exchange import ChatRequest, OnDelta, Provider, ProviderError, Reply
from tracebench_gateway.routing import direct_address
from tracebench_gateway.server.metering.ledger import Ledger
from tracebench_gateway.server.providers.direct import DirectProvider
from tracebench_gateway.server.providers.litellm import LiteLLMProvider
from tracebench_gateway.server.providers.pieces import send_in_pieces
from tracebench_gateway.server.providers.stub import StubProvider
from tracebench_gateway.server.service import Service
from tracebench_gateway.server.settings import GatewaySettings, ShippedAnswers
from tracebench_gateway.stub.model import Ladder


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


class RealProvider:
    """Chooses by the model's identity, so roles may differ."""

    def __init__(self, llm: LLMConfig, *, variants: Mapping[str, LLMConfig], environ: Mapping[str, str]) -> None:
        self._direct = DirectProvider(llm, variants=variants, environ=environ)
        self._litellm = LiteLLMProvider(llm, variants=variants, environ=environ)

    async def ask(self, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """Return the model's answer.

        Raises:
            ProviderError: with the kind of failure.
        """
        provider = self._litellm if direct_address(request.identity) is None else self._direct
        return await provider.ask(request, on_delta=on_delta)


LLM_FOLDER = "llm"
LEDGER_FILE = "ledger.jsonl"
SHARED_CACHE = ".llm-cache.sqlite"


def build_service(settings: GatewaySettings) -> Service:
    """Return the service for these settings, with the ledger's accounts restored."""
    folder = settings.run_dir / LLM_FOLDER
    is_recorded = settings.llm.record and settings.mode != "replay"
    return Service(
        settings,
        provider=_provider(settings),
        ledger=Ledger(folder / LEDGER_FILE),
        recorder=Recorder(folder) if is_recorded else None,
        cache=_cache(settings, folder),
        finished=FinishedCalls(folder) if is_recorded and settings.reuse else None,
        scorings=Scorings(folder) if settings.mode == "real" and settings.reuse and not is_recorded else None,
        undelivered=Undelivered(folder) if settings.mode == "real" else None,
    )


def _provider(settings: GatewaySettings) -> Provider:
    if settings.mode == "stub":
        formats = [
            (role, load_ref(loader, owner="the stub's answer formats")) for role, loader in settings.stub_formats
        ]
        ladders = {name: partial(_ladder, shipped) for name, shipped in settings.stub_answers.items()}
        return StubProvider(settings.llm.stub, formats, ladders)
    if settings.mode == "replay":
        if settings.replay_from is None:
            raise ValueError("mode `replay` needs `replay_from`")
        return ReplayProvider(settings.replay_from / LLM_FOLDER)
    return RealProvider(settings.llm, variants=settings.variants, environ=settings.environ)


def _ladder(shipped: ShippedAnswers) -> Ladder:
    return [dict(values) for values in load_ref(shipped.loader, owner=shipped.task_id)(dict(shipped.options))]


def _cache(settings: GatewaySettings, folder: Path) -> CallCache | None:
    if settings.llm.cache == "off" or settings.mode == "replay":
        return None
    shared = settings.llm.cache == "shared"
    return CallCache(settings.run_dir.parent / SHARED_CACHE if shared else folder / "cache.sqlite")

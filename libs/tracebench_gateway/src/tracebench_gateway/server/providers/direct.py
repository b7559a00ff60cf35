"""Servers that speak OpenAI's API, asked without litellm, which costs milliseconds of CPU a call."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tracebench_core.ids import canonical_json, content_hash
from tracebench_core.specs import LLMConfig
from tracebench_gateway.exchange import ChatRequest, OnDelta, ProviderError, Reply, Tokens
from tracebench_gateway.models import LOOPBACK
from tracebench_gateway.routing import direct_address
from tracebench_gateway.server.metering.weight import body_of, serialise, with_messages
from tracebench_gateway.server.providers.bodies import PATHS, counted, reply_of
from tracebench_gateway.server.providers.failures import LONGEST_MESSAGE, retry_after_seconds
from tracebench_gateway.server.providers.keys import provider_headers, provider_key
from tracebench_gateway.server.providers.pieces import StreamedMessage
from tracebench_gateway.server.providers.usage import read_usage

if TYPE_CHECKING:
    import aiohttp

OK, TOO_MANY = 200, 429
JOB_HEADER = "X-Trace-Bench-Job"
KINDS = {401: "auth", 403: "auth", 408: "timeout", TOO_MANY: "rate_limited"}
DONE = b"[DONE]"


class DirectProvider:
    """Asks `POST {base_url}/chat/completions`, one attempt a call, over kept connections."""

    def __init__(self, llm: LLMConfig, *, variants: Mapping[str, LLMConfig], environ: Mapping[str, str]) -> None:
        self._llm = llm
        self._variants = variants
        self._environ = environ
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def ask(self, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """Return the model's answer.

        Raises:
            ProviderError: with the kind of failure.
        """
        import aiohttp  # noqa: PLC0415 - only real mode needs it

        url = direct_address(request.identity)
        if url is None:
            raise ProviderError(f"`{request.identity.provider}` cannot be asked directly", kind="request")
        try:
            async with (
                asyncio.timeout(self._llm.timeout),
                self._post(url, request, stream=on_delta is not None) as answer,
            ):
                if answer.status != OK:
                    raise _failure(answer, await answer.text(errors="replace"))
                if on_delta is None:
                    return reply_of(await answer.read(), request.kind)
                return await _stream(answer.content.iter_any(), on_delta)
        except TimeoutError as err:
            raise ProviderError(f"no answer within {self._llm.timeout:g} s", kind="timeout") from err
        except ValueError as err:  # a key or address that is none
            raise ProviderError(f"the request cannot be sent: {err}"[:LONGEST_MESSAGE], kind="request") from err
        except aiohttp.ClientError as err:
            raise ProviderError(f"{type(err).__name__}: {err}"[:LONGEST_MESSAGE], kind="refused") from err

    def _post(self, url: str, request: ChatRequest, *, stream: bool) -> Any:  # aiohttp's own context manager
        key = provider_key(self._llm, request, variants=self._variants, environ=self._environ)
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        headers |= provider_headers(self._llm, request, variants=self._variants, environ=self._environ)
        if request.identity.provider in request.hints.get("told", ()):
            headers[JOB_HEADER] = _job_words(request)
        session = self._session(is_local=urlsplit(url).hostname in LOOPBACK)
        body = body_of(request.identity.model, request.messages, request.sent(), kind=request.kind, stream=stream)
        content = with_messages(body, request.raw) if request.raw else serialise(body)
        given = (
            io.BytesIO(content) if request.raw else content
        )  # sent in pieces; whole, its rest is moved with each of them
        return session.post(url + PATHS[request.kind], data=given, headers=headers, allow_redirects=False)

    def _session(self, *, is_local: bool) -> aiohttp.ClientSession:
        """Return the session for servers on this machine, which no proxy stands before, or for all others."""
        import aiohttp  # noqa: PLC0415

        if is_local not in self._sessions:
            self._sessions[is_local] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=not is_local,
            )
        return self._sessions[is_local]


def _failure(answer: aiohttp.ClientResponse, body: str) -> ProviderError:
    status = answer.status
    kind = KINDS.get(status) or ("server" if status >= 500 else "request")  # noqa: PLR2004 - HTTP's own line
    return ProviderError(
        f"HTTP {status}: {_words(body)}"[:LONGEST_MESSAGE],
        kind=kind,
        status_code=status,
        retry_after=retry_after_seconds(answer.headers.get("Retry-After")),
    )


def _words(body: str) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return body.strip()


async def _stream(pieces: AsyncIterator[bytes], on_delta: OnDelta) -> Reply:
    message, finish_reason, ended = StreamedMessage(), "", False
    usage: Tokens | int | None = None
    async for event in _events(pieces):
        if event is None:
            ended = True
            break
        if "error" in event:
            raise ProviderError(f"the stream broke: {event['error']}"[:LONGEST_MESSAGE], kind="server")
        found = read_usage(event)
        usage = usage if found is None else found
        try:
            for choice in event.get("choices") or ():
                await message.add(choice.get("delta") or {"content": choice.get("text")}, on_delta)
                finish_reason = str(choice.get("finish_reason") or finish_reason)
        except (AttributeError, TypeError) as err:
            words = f"an event of the stream is none of a completion: {event}"[:LONGEST_MESSAGE]
            raise ProviderError(words, kind="malformed", served=message.text) from err
    if not (ended or finish_reason):
        raise ProviderError("the answer is no whole stream of completions", kind="malformed")
    return Reply(message.whole(), finish_reason or "stop", **counted(usage))


async def _events(pieces: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any] | None]:
    """Yield the data of server-sent events, and None for the last one."""
    waiting = b""
    async for piece in pieces:
        *lines, waiting = (waiting + piece).split(b"\n")
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == DONE:
                yield None
                return
            try:
                event = json.loads(data)
            except ValueError as err:
                raise ProviderError(f"an event of the stream is no JSON: {data[:200]!r}", kind="malformed") from err
            if isinstance(event, dict):
                yield event


def _job_words(request: ChatRequest) -> str:
    """Return what a script is told of a call, as `ProviderSpec.told_job` says."""
    words = {**json.loads(request.hints["job"]), "occurrence": request.occurrence}
    if request.sampling:
        words["sampling"] = content_hash(canonical_json(request.sampling))[:16]
    return json.dumps(words)

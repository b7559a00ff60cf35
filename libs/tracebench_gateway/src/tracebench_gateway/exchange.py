"""One request to a model and its reply, as the gateway's parts hand them to each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from tracebench_core.errors import ModelError
from tracebench_core.ids import canonical_json, content_hash
from tracebench_core.specs import Message, ModelIdentity, Role
from tracebench_gateway.turns import Place

Kind = Literal["chat", "completion", "embedding"]
"""`completion` continues a bare text; `embedding` turns each message into a vector."""
OnDelta = Callable[[dict[str, Any]], Awaitable[None]]
"""Called with each piece of a streamed message, in OpenAI's `delta` form."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a model is asked. `occurrence` counts, from 0, how often the job asked exactly this in this role."""

    job_id: str
    seed: int
    role: Role
    identity: ModelIdentity
    messages: list[Message]
    sampling: dict[str, Any]
    digest: str
    occurrence: int = 0
    hints: dict[str, Any] = field(default_factory=dict)
    kind: Kind = "chat"
    name: str = ""
    """Under which the model stands on its role's list."""
    variant: str = ""
    """Which of the run's variants of models is asked."""
    asker: str = ""
    """The evaluation that asks, where that is known."""
    turn: int = 0
    """Among equal requests of that evaluation, which may arrive between those of others."""
    place: Place | None = None
    """Among equal requests, where its caller tells it."""
    key: str = ""
    """By which its caller asks for this very call again, where it has such a name: the key, the conversation and the choice."""
    recorded: str = ""
    """In a replay: the job of the recording that this one repeats."""
    limit: int | None = None
    """Tokens of the answer that caps still pay; what is sent is the smaller of this and what was asked for."""
    most: int = 0
    """Tokens that its prompt can be at most, by the bytes that are sent."""
    reserved: int | None = None
    """Tokens set aside for prompt and answer; None where nothing limits the answer."""
    is_strict: bool = False
    """A cap that it counts against may not be passed: whatever nobody counted is filed at its worst."""
    raw: bytes = b""
    """The messages as they are sent, where they are so long that they were serialised elsewhere."""
    left_out: tuple[str, ...] = ()
    """What the caller sent that is not passed on, and that is no error."""

    def sent(self) -> dict[str, Any]:
        """Return the sampling as it is sent: `sampling`, which names the request, under the limit of its moment."""
        return self.sampling if self.limit is None else limited(self.sampling, self.limit)

    @property
    def is_shortened(self) -> bool:
        """Tell whether caps pay for less than was asked for."""
        return self.limit is not None and self.limit != limit_of(self.sampling)

    @property
    def worst(self) -> Tokens:
        """Return the most that it can take."""
        return Tokens(prompt=self.most, completion=self.limit or limit_of(self.sampling) or 0)


def limit_of(sampling: Mapping[str, Any]) -> int | None:
    """Return the tokens that an answer may have, under the one of its two names that is given."""
    limit: int | None = sampling.get("max_completion_tokens", sampling.get("max_tokens"))
    return limit


def limited(sampling: dict[str, Any], limit: int) -> dict[str, Any]:
    """Return the sampling with another limit, under the name that it has there."""
    name = "max_completion_tokens" if "max_completion_tokens" in sampling else "max_tokens"
    return sampling | {name: limit}


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts of one call.

    `cached` and `written` are the parts of `prompt` that were read from and written to the provider's cache; `reasoning` is the part of
    `completion` that was thought and not said.
    """

    prompt: int
    completion: int
    cached: int = 0
    written: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Metered:
    """What a call cost; `usd` is None when the price is unknown, `estimated` says that no provider counted the tokens."""

    tokens: Tokens
    usd: float | None
    estimated: bool = False
    retries: int = 0
    cached: bool = False
    reused: bool = False
    """An earlier attempt at the job made this call and paid for it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer. `reported` is what the provider counted; `metered` is set only where the cost is already known."""

    message: dict[str, Any]
    finish_reason: str
    reported: Tokens | None = None
    metered: Metered | None = None
    total: int | None = None
    """What a provider counted that tells prompt and completion together, and no more."""
    left_out: tuple[str, ...] = ()
    """What was asked for and not sent, as the model does not take it."""

    @property
    def text(self) -> str:
        """The answer's text, empty for one that only calls tools."""
        return self.message.get("content") or ""


class ProviderError(ModelError):
    """One attempt failed. `retry_after` is how many seconds the provider asked to be left alone."""

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        status_code: int | None = None,
        retry_after: float | None = None,
        metered: Metered | None = None,
        reported: Tokens | None = None,
        served: str | None = None,
    ) -> None:
        """`reported` and `served`: what the provider counted and what came of an answer that is none. It is charged for all the same."""
        super().__init__(message, kind=kind, status_code=status_code)
        self.retry_after = retry_after
        self.metered = metered
        self.reported = reported
        self.served = served


class Provider(Protocol):
    """Something that answers. One attempt: limits, retries and metering are its caller's."""

    async def ask(self, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """Return the whole answer, having passed it on piece by piece where `on_delta` is given.

        Raises:
            ProviderError: with the kind of failure.
        """
        ...


def request_digest(
    *, identity: ModelIdentity, role: Role, messages: list[Message], sampling: dict[str, Any], kind: Kind = "chat"
) -> str:
    """Return the SHA-256 that names this request, whatever address its model is reached at."""
    named: dict[str, Any] = {"model": [identity.provider, identity.model], "role": role}
    named |= {"messages": messages, "sampling": sampling} | ({} if kind == "chat" else {"kind": kind})
    return content_hash(canonical_json(named))

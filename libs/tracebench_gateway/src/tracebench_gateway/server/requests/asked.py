"""What a caller asks for, in the one form that every wire is read into: OpenAI's chat messages and sampling."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tracebench_core.specs import LLMConfig, Message, ModelIdentity, Role
from tracebench_gateway.exchange import ChatRequest, Kind, limit_of, limited, request_digest
from tracebench_gateway.models import model_config, names_of, sampled
from tracebench_gateway.server.metering.accounts import Account, Grant
from tracebench_gateway.server.metering.balance import Demand
from tracebench_gateway.server.metering.weight import Weight, body_of, weigh
from tracebench_gateway.server.requests.fields import MOST_TOKENS
from tracebench_gateway.server.requests.reading import BadRequest
from tracebench_gateway.tokens import Claims
from tracebench_gateway.turns import Place
from tracebench_runs.prices import PriceTable

MOST_CHOICES = 128


@dataclass(frozen=True, slots=True)
class Model:
    """The model that a caller means: the name it stands under on its role's list, and what answers."""

    name: str
    identity: ModelIdentity


@dataclass(frozen=True)
class Asked:
    """A request as the gateway understands it; each conversation is answered `choices` times."""

    model: Model
    conversations: list[list[Message]]
    sampling: dict[str, Any]
    choices: int = 1
    stream: bool = False
    wants_usage: bool = False
    kind: Kind = "chat"
    place: Place | None = None
    """Among equal requests, where the caller tells it; else it is that of arrival."""
    asker: str = ""
    """The evaluation that asks, where the engine tells."""
    key: str = ""
    """Of the request, where its caller gave one; the same when it is asked again because the answer was lost."""
    raw: tuple[bytes, ...] = ()
    """The conversations as they are sent, where they are so long that they were serialised elsewhere."""
    left_out: tuple[str, ...] = ()
    """Names of what the caller sent that is not passed on, and that is no error."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """What only the wire needs, to write the answer."""
    _digests: list[str] = field(default_factory=list, init=False, compare=False)

    @property
    def calls(self) -> int:
        """How many calls of a model this is."""
        return self.choices * len(self.conversations)

    @cached_property
    def weights(self) -> list[Weight]:
        """What each conversation weighs, in the body that is sent."""
        sampling = self.sampling if self.kind == "embedding" else limited(self.sampling, MOST_TOKENS)
        name = self.model.identity.model
        return [weigh(body_of(name, m, sampling, kind=self.kind, stream=self.stream)) for m in self.conversations]

    def digests(self, role: Role) -> list[str]:
        """Return what names each conversation, once told for good."""
        if not self._digests:
            self._digests.extend(
                request_digest(
                    identity=self.model.identity, role=role, messages=messages, sampling=self.sampling, kind=self.kind
                )
                for messages in self.conversations
            )
        return self._digests

    def demand(self, prices: PriceTable, places: Collection[int]) -> Demand:
        """Return what those of its calls may cost at most that are at these places, of which there is one."""
        weights = [self.weights[place // self.choices] for place in places]
        usual, worst = (sum(counts) for counts in zip(*weights, strict=True))
        price = prices.price(self.model.identity)
        fewest = 0 if self.kind == "embedding" else 1
        return Demand(len(weights), usual, limit_of(self.sampling), price, most=worst, fewest=fewest)

    def requests(self, claims: Claims, account: Account, grant: Grant) -> list[ChatRequest]:
        """Return its calls, as they were granted."""
        return [
            self._request(index, claims, account, grant, choice)
            for index in range(len(self.conversations))
            for choice in range(self.choices)
        ]

    def keys(self) -> list[str]:
        """Return the names of its calls; none where its caller gave it no key."""
        if not self.key:
            return []
        return [f"{self.key}.{i}.{choice}" for i in range(len(self.conversations)) for choice in range(self.choices)]

    def _request(self, index: int, claims: Claims, account: Account, grant: Grant, choice: int) -> ChatRequest:
        messages, weight = self.conversations[index], self.weights[index]
        prompt = weight.worst if grant.is_strict else weight.usual
        place = self.place and Place(self.place.section, self.place.offset * self.choices + choice)
        digest = self.digests(claims.role)[index]
        key = f"{self.key}.{index}.{choice}" if self.key else ""
        number = account.occurrence(digest, place, phase=claims.phase, key=key)
        return ChatRequest(
            job_id=claims.job_id,
            seed=claims.seed,
            role=claims.role,
            identity=self.model.identity,
            name=self.model.name,
            variant=claims.variant,
            recorded=claims.recorded,
            messages=messages,
            sampling=self.sampling,
            digest=digest,
            occurrence=number,
            place=place,
            key=key,
            asker=self.asker,
            turn=account.turn(digest, self.asker, number),
            hints=claims.hints,
            kind=self.kind,
            limit=grant.limit if self.kind != "embedding" else None,
            most=weight.worst,
            reserved=None if grant.limit is None else prompt + grant.limit,
            is_strict=grant.is_strict,
            raw=self.raw[index] if self.raw else b"",
            left_out=self.left_out,
        )


def choose_model(name: Any, claims: Claims) -> Model:
    """Return the model that a request names: the role's own, or one on its list.

    Raises:
        BadRequest: with the status 404, naming those that there are.
    """
    if name is not None and not isinstance(name, str):
        raise BadRequest("`model` must be a text")
    known = names_of(claims.model)
    if not name:
        first = next(iter(known))
        return Model(first, known[first])
    for known_name, identity in known.items():
        if name in {known_name, identity.model, f"{identity.provider}/{identity.model}"}:
            return Model(known_name, identity)
    offered = ", ".join(f"`{n}`" for n in known)
    raise BadRequest(f"the models of role `{claims.role}`: {offered}; not `{name[:200]}`", status=404)


def with_defaults(given: dict[str, Any], model: Model, *, claims: Claims, llm: LLMConfig) -> dict[str, Any]:
    """Return the sampling with what the config says where the caller says nothing."""
    return sampled(given, model_config(llm, claims.role, model.name))

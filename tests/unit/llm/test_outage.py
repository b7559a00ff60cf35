"""Whether a model is away, just back, or fails for another reason: servers on loopback that are there, or were."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from tracebench_core.specs import ModelIdentity
from tracebench_gateway.exchange import ProviderError
from tracebench_gateway.server import outage
from tracebench_gateway.server.outage import Outages

REFUSED = ProviderError("no", kind="refused")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Listen on loopback, and look again at once."""
    monkeypatch.setattr(outage, "LOOK_AGAIN", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def model_at(server: socket.socket, name: str = "m") -> ModelIdentity:
    return ModelIdentity(provider="openai", model=name, base_url=f"http://127.0.0.1:{server.getsockname()[1]}/v1")


def known(model: ModelIdentity, *, limit: float = 60.0) -> Outages:
    made = Outages(limit=limit)
    made.answered(model)
    return made


def verdict(outages: Outages, model: ModelIdentity, error: ProviderError = REFUSED) -> str:
    return asyncio.run(outages.verdict(model, error))


def test_only_a_model_that_answered_before_is_waited_for(server: socket.socket) -> None:
    model = model_at(server)
    server.close()
    assert verdict(Outages(limit=60.0), model) == "no"
    assert verdict(known(model, limit=0.0), model) == "no"
    outages = known(model)
    assert verdict(outages, model_at_port("other", model)) == "no"
    assert outages.state() == {}
    assert verdict(outages, model) == "away"
    assert [*outages.state()] == ["m"]
    assert 0 <= outages.state()["m"] < 60


def model_at_port(name: str, like: ModelIdentity) -> ModelIdentity:
    return like.model_copy(update={"model": name})


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (REFUSED, "away"),
        (ProviderError("x", kind="server", status_code=500), "no"),
        (ProviderError("x", kind="timeout"), "no"),
        (ProviderError("x", kind="rate_limited", status_code=429), "no"),
        *((ProviderError("x", kind="server", status_code=status), "away") for status in (502, 503, 504, 529)),
    ],
)
def test_what_failed_says_whether_a_model_is_away(server: socket.socket, error: ProviderError, told: str) -> None:
    model = model_at(server)
    server.close()
    assert verdict(known(model), model, error) == told


def test_a_server_that_is_there_is_not_away_whatever_it_drops(server: socket.socket) -> None:
    outages = known(model_at(server))
    assert verdict(outages, model_at(server)) == "no"
    assert outages.state() == {}


def test_a_server_that_is_there_again_is_back(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_at(server)
    address = server.getsockname()
    outages = known(model)
    server.close()
    assert verdict(outages, model) == "away"
    with socket.create_server(address):
        assert verdict(outages, model) == "back", "nobody has asked it anew"
        assert outages.state() != {}
        outages.answered(model)
        assert outages.state() == {}
        assert verdict(outages, model) == "back", "it failed while the model was away"
        outages.answered(model)
        assert verdict(outages, model) == "back"
        monkeypatch.setattr(outage, "RECENT", 0.0)
        assert verdict(outages, model) == "no"


def test_a_server_that_closes_its_port_last_is_away(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """It accepts the first look and is gone at the second."""
    model = model_at(server)

    async def ends_between() -> str:
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(outage, "LOOK_AGAIN", 0.1)
        server.setblocking(False)

        async def end() -> None:
            connection, _ = await loop.sock_accept(server)
            connection.close()
            server.close()

        ending = asyncio.create_task(end())
        told = await known(model).verdict(model, REFUSED)
        await ending
        return told

    assert asyncio.run(ends_between()) == "away"


def test_an_outage_is_waited_for_as_long_as_it_may_last(server: socket.socket) -> None:
    model = model_at(server)
    server.close()
    outages = known(model, limit=1e-9)
    assert verdict(outages, model) == "no"
    assert outages.state() == {}


def test_what_is_served_elsewhere_is_waited_for_no_more(server: socket.socket) -> None:
    model, other = model_at(server), model_at(server, "n").model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    server.close()
    outages = known(model)
    outages.answered(other)
    assert (verdict(outages, model), verdict(outages, other)) == ("away", "away")
    outages.give_up([model.base_url or ""])
    assert (outages.is_gone(model), outages.is_gone(other)) == (True, False)
    assert verdict(outages, model) == "no"
    assert [*outages.state()] == ["n"]
    assert Outages(limit=60.0, gone=[model.base_url or ""]).is_gone(model)


@pytest.mark.parametrize("base_url", [None, "", "/v1"])
def test_a_model_whose_address_only_a_library_knows_is_taken_to_be_away(base_url: str | None) -> None:
    model = ModelIdentity(provider="bedrock", model="m", base_url=base_url)
    assert verdict(known(model), model) == "away"


@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
def test_an_address_without_a_port_has_that_of_its_scheme(
    monkeypatch: pytest.MonkeyPatch, scheme: str, port: int
) -> None:
    asked: list[tuple[str, int]] = []

    async def connect(host: str, port: int) -> None:
        asked.append((host, port))
        raise ConnectionRefusedError

    monkeypatch.setattr(asyncio, "open_connection", connect)
    model = ModelIdentity(provider="openai", model="m", base_url=f"{scheme}://models.example.org/v1")
    assert verdict(known(model), model) == "away"
    assert asked == [("models.example.org", port)]

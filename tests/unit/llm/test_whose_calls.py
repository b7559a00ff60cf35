"""Equal requests of several evaluations under way together: each is answered as it was itself, from a recording and after a kill."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracebench_core.specs import ModelIdentity
from tracebench_gateway.cassette.finished_calls import FinishedCalls
from tracebench_gateway.cassette.player import Player
from tracebench_gateway.cassette.recorder import Recorder
from tracebench_gateway.exchange import ChatRequest, Metered, ProviderError, Reply, Tokens

METERED = Metered(tokens=Tokens(prompt=1, completion=1), usd=0.0)


def asked(asker: str, occurrence: int, turn: int) -> ChatRequest:
    return ChatRequest(
        job_id="j",
        seed=1,
        role="judge",
        identity=ModelIdentity(provider="stub", model="stub"),
        messages=[{"role": "user", "content": "Weigh it."}],
        sampling={"temperature": 1.0},
        digest="d",
        occurrence=occurrence,
        asker=asker,
        turn=turn,
    )


ORDER = [("a", 0), ("b", 0), ("b", 1), ("a", 1)]
"""In which order two evaluations came with two calls each."""


def record(folder: Path, order: list[tuple[str, int]] = ORDER) -> None:
    recorder = Recorder(folder)
    for occurrence, (asker, turn) in enumerate(order):
        reply = Reply({"role": "assistant", "content": f"{asker}{turn}"}, "stop", metered=METERED)
        recorder.keep(asked(asker, occurrence, turn), reply, METERED)


def said(reply: Reply | None) -> str:
    return "" if reply is None else str(reply.message["content"])


@pytest.mark.parametrize("order", [ORDER, ORDER[::-1], [("b", 0), ("a", 0), ("a", 1), ("b", 1)]])
def test_each_evaluation_has_its_own_answers_in_whatever_order_they_come(
    tmp_path: Path, order: list[tuple[str, int]]
) -> None:
    record(tmp_path)
    player, finished = Player(tmp_path), FinishedCalls(tmp_path)

    for occurrence, (asker, turn) in enumerate(order):
        request = asked(asker, occurrence, turn)
        assert said(player.reply(request)) == said(finished.reply(request)) == f"{asker}{turn}"


def test_who_asks_more_often_than_it_did_gets_no_answer_of_another(tmp_path: Path) -> None:
    record(tmp_path)

    assert FinishedCalls(tmp_path).reply(asked("a", 2, 2)) is None
    with pytest.raises(ProviderError, match="this evaluation asked this 2 times, and now once more"):
        Player(tmp_path).reply(asked("a", 2, 2))


def test_what_was_never_asked_before_the_end_is_not_taken_from_another(tmp_path: Path) -> None:
    record(tmp_path, [("a", 0)])

    assert FinishedCalls(tmp_path).reply(asked("b", 0, 0)) is None
    assert said(FinishedCalls(tmp_path).reply(asked("a", 1, 0))) == "a0"


def test_a_recording_that_does_not_tell_goes_by_arrival(tmp_path: Path) -> None:
    record(tmp_path, [("", 0), ("", 0)])

    for reader in (Player(tmp_path), FinishedCalls(tmp_path)):
        assert [said(reader.reply(asked("b", place, 0))) for place in (0, 1)] == ["0", "0"]

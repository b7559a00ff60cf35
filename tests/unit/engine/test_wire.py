"""Messages between processes arrive whole and in order, and what is gone, hung or speaks otherwise is told apart."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tracebench_engine.measure.wire import CHUNK, Wire


@pytest.fixture
def ends() -> Iterator[tuple[Wire, socket.socket]]:
    ours, theirs = socket.socketpair()
    yield Wire(ours), theirs
    ours.close()
    theirs.close()


def test_messages_arrive_whole_in_order_and_one_at_a_time_where_one_is_asked_for(
    ends: tuple[Wire, socket.socket],
) -> None:
    wire, peer = ends
    peer.sendall(b'{"a": 1}\n{"b": 2}\n{"c"')
    assert wire.receive_one() == {"a": 1}
    assert wire.has_messages
    assert wire.receive(timeout=None) == [{"b": 2}]
    assert not wire.has_messages
    assert wire.receive(timeout=0) == []
    peer.sendall(b": 3}\n")
    assert wire.receive(timeout=60) == [{"c": 3}]
    long = "x" * (2 * CHUNK)
    peer.settimeout(60)
    other = Wire(peer)
    other.send({"long": long[: CHUNK // 2]})
    assert wire.receive_one() == {"long": long[: CHUNK // 2]}
    wire.send({"back": "é"})
    assert other.receive_one() == {"back": "é"}
    assert wire.fileno() >= 0
    assert not wire.closed


def test_what_was_sent_before_the_end_is_received_and_then_nothing(ends: tuple[Wire, socket.socket]) -> None:
    wire, peer = ends
    peer.sendall(b'{"a": 1}\n{"cut')
    peer.close()
    assert wire.receive_one() == {"a": 1}
    assert wire.receive_one() is None
    assert (wire.closed, wire.is_hung) == (True, False)
    assert wire.receive(timeout=None) == []


@pytest.mark.parametrize("line", [b"nope", b"[]", b"1", b"null", b'"a"', b"\xff", b"", b"[" * 100_000])
def test_who_says_what_is_no_message_counts_as_gone(ends: tuple[Wire, socket.socket], line: bytes) -> None:
    wire, peer = ends
    peer.sendall(b'{"a": 1}\n' + line[: CHUNK // 2] + b"\n")
    assert wire.receive(timeout=60) == [{"a": 1}]
    assert (wire.closed, wire.is_hung) == (True, True)


def test_a_peer_that_is_gone_is_noticed_when_it_is_told_something(ends: tuple[Wire, socket.socket]) -> None:
    wire, peer = ends
    peer.close()
    wire.send({"a": 1})
    assert (wire.closed, wire.is_hung) == (True, False)
    wire.close()
    assert wire.fileno() == -1


def test_a_peer_that_takes_nothing_counts_as_gone_after_some_patience() -> None:
    ours, theirs = socket.socketpair()
    wire = Wire(ours, patience=0.01)
    for _ in range(100):
        if wire.closed:
            break
        wire.send({"a": "x" * 100_000})
    assert (wire.closed, wire.is_hung) == (True, True)
    theirs.close()
    ours.close()

"""Recordings: what was asked is answered again without a model, and whatever is wrong with one is said by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.llm.conftest import Open, say

from tracebench_core.errors import ModelError, RunDirError
from tracebench_gateway.cassette.player import recorded_models
from tracebench_testing.fake_openai import FakeOpenAI


def test_a_recorded_run_replays_without_a_server(open_door: Open) -> None:
    with FakeOpenAI(script=["400"]) as server:
        door = open_door(
            mode="real", base_url=server.base_url, record=True, prices={"fake": {"prompt": 1, "completion": 2}}
        )
        with pytest.raises(ModelError):
            door.client.complete(say("fails"), role="agent")
        first = [door.client.complete(say(f"hello {i}"), role="agent", temperature=0.7)[0].text for i in (1, 2, 1)]
        recorded = door.client.records()
        url = server.base_url
    again = open_door(mode="replay", base_url=url, run="again", replay_from=door.run_dir)
    with pytest.raises(ModelError) as failure:
        again.client.complete(say("fails"), role="agent")
    texts = [again.client.complete(say(f"hello {i}"), role="agent", temperature=0.7)[0].text for i in (1, 2, 1)]

    assert failure.value.kind == "request"
    assert texts == first
    timeless = [record.model_dump(exclude={"seconds", "reply_hash"}) for record in recorded]
    assert [record.model_dump(exclude={"seconds", "reply_hash"}) for record in again.client.records()] == timeless
    assert recorded_models(door.run_dir)["agent"].model == "fake"


def test_repeated_sampling_replays_as_sampled(open_door: Open) -> None:
    door = open_door(record=True)
    sampled = [door.client.complete(say("a b c d e f g h"), role="agent")[0].text for _ in range(4)]
    again = open_door(mode="replay", provider="stub", model="stub", run="again", replay_from=door.run_dir)
    assert len(set(sampled)) == 4
    assert [again.client.complete(say("a b c d e f g h"), role="agent")[0].text for _ in range(4)] == sampled
    with pytest.raises(ModelError, match="4 times in a job, not 5"):
        again.client.complete(say("a b c d e f g h"), role="agent")


def test_a_miss_names_the_nearest_request_and_the_first_difference(open_door: Open) -> None:
    door = open_door(record=True)
    door.client.complete(say("completely different"), role="agent")
    door.client.complete(say("the quick brown fox"), role="agent")
    again = open_door(mode="replay", provider="stub", model="stub", run="again", replay_from=door.run_dir)
    with pytest.raises(ModelError) as failure:
        again.client.complete(say("the quick brown dog"), role="agent")
    assert failure.value.kind == "replay_miss"
    assert "brown dog" in str(failure.value)
    assert "brown fox" in str(failure.value)


def test_identical_exchanges_are_kept_once(open_door: Open) -> None:
    with FakeOpenAI() as server:
        door = open_door(mode="real", base_url=server.base_url, record=True)
        for _ in range(5):
            door.client.complete(say("the same"), role="agent")
    folder = door.run_dir / "llm"
    assert len((folder / "calls.jsonl").read_text().splitlines()) == 1 + 5
    assert len([path for path in (folder / "blobs").rglob("*") if path.is_file()]) == 2


def test_calls_at_temperature_0_are_reused_and_counted_apart(open_door: Open) -> None:
    with FakeOpenAI() as server:
        door = open_door(mode="real", base_url=server.base_url, cache="run")
        for temperature in (0, 0, 0.5, 0.5):
            door.client.complete(say("hi"), role="agent", temperature=temperature)
        assert len(server.log.requests) == 3
    used = door.client.used()
    assert (used.llm_calls, used.cached_calls) == (3, 1)
    assert [record.cached for record in door.client.records()] == [False, True, False, False]


def test_a_shared_cache_serves_the_next_run(open_door: Open) -> None:
    with FakeOpenAI() as server:
        for run in ("one", "two"):
            door = open_door(mode="real", base_url=server.base_url, cache="shared", run=run)
            door.client.complete(say("hi"), role="agent", temperature=0)
        assert len(server.log.requests) == 1


def recorded(open_door: Open) -> Path:
    """Return a recorded run of two calls."""
    door = open_door(record=True)
    door.client.complete(say("one"), role="agent")
    door.client.complete(say("two"), role="agent")
    return door.run_dir


def test_a_torn_last_line_is_forgiven_and_damage_before_it_is_not(open_door: Open) -> None:
    run_dir = recorded(open_door)
    calls = run_dir / "llm" / "calls.jsonl"
    lines = calls.read_text().splitlines(keepends=True)
    calls.write_text("".join([*lines, lines[-1][:20]]))
    assert recorded_models(run_dir)
    calls.write_text("".join([lines[0], lines[1][:20] + "\n", lines[2]]))
    with pytest.raises(RunDirError, match="damaged in line 2"):
        recorded_models(run_dir)


def test_a_recording_goes_on_after_a_torn_line(open_door: Open) -> None:
    door = open_door(record=True)
    door.client.complete(say("one"), role="agent")
    door.gateway.close()
    calls = door.run_dir / "llm" / "calls.jsonl"
    calls.write_text(calls.read_text() + '{"job_id": "jo')
    door = open_door(record=True, job_id="other")
    door.client.complete(say("two"), role="agent")
    again = open_door(mode="replay", provider="stub", model="stub", run="again", replay_from=door.run_dir)
    for text in ("one", "two"):
        assert again.client.complete(say(text), role="agent")


def test_an_edited_blob_is_told(open_door: Open) -> None:
    run_dir = recorded(open_door)
    entry = json.loads((run_dir / "llm" / "calls.jsonl").read_text().splitlines()[1])
    blob = run_dir / "llm" / "blobs" / entry["reply"][:2] / entry["reply"]
    other = next(path for path in blob.parents[1].rglob("*") if path.is_file() and path != blob)
    blob.write_bytes(other.read_bytes())
    again = open_door(mode="replay", provider="stub", model="stub", run="again", replay_from=run_dir)
    with pytest.raises(ModelError, match="was edited"):
        again.client.complete(say("one"), role="agent")


@pytest.mark.parametrize(
    ("first_line", "words"),
    [('{"cassette": 99}', "format 99"), ('{"kind": "x"}', "no recording"), ("", "no recording")],
)
def test_another_format_is_refused_before_the_run_starts(open_door: Open, first_line: str, words: str) -> None:
    run_dir = recorded(open_door)
    calls = run_dir / "llm" / "calls.jsonl"
    calls.write_text("\n".join([first_line, *calls.read_text().splitlines()[1:]]))
    with pytest.raises(RunDirError, match=words):
        open_door(mode="replay", run="again", replay_from=run_dir)


def test_a_run_that_was_not_recorded_is_refused(open_door: Open, tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="was not recorded"):
        open_door(mode="replay", run="again", replay_from=tmp_path / "nothing")

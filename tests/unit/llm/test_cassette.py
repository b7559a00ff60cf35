"""Which of several kept answers a request is given, what of damaged files is left, and when what is kept is let go of."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import RunDirError
from tracebench_core.specs import ModelIdentity
from tracebench_gateway.cassette import undelivered
from tracebench_gateway.cassette.blobs import Blobs
from tracebench_gateway.cassette.finished_calls import FinishedCalls
from tracebench_gateway.cassette.player import Player, _first_difference, check_recording, recorded_models
from tracebench_gateway.cassette.recorder import BLOBS_FOLDER, CALLS_FILE, CASSETTE_VERSION, Recorder
from tracebench_gateway.cassette.scorings import SCORINGS_FILE, Scorings
from tracebench_gateway.cassette.undelivered import FOLDER, Undelivered
from tracebench_gateway.exchange import ChatRequest, Metered, ProviderError, Reply, Tokens

METERED = Metered(Tokens(3, 2, cached=1), 0.5, retries=1)
MODEL = ModelIdentity(provider="openai", model="m")


def request(text: str = "hi", job: str = "j", nth: int = 0, **more: Any) -> ChatRequest:
    given: dict[str, Any] = {"seed": 1, "role": "agent", "identity": MODEL, "sampling": {}, "digest": text, **more}
    return ChatRequest(job_id=job, messages=[{"role": "user", "content": text}], occurrence=nth, **given)


def reply(text: str) -> Reply:
    return Reply({"role": "assistant", "content": text}, "stop")


def record(folder: Path, *calls: tuple[ChatRequest, str]) -> None:
    """Record calls and their answers; an empty one is a failure."""
    recorder = Recorder(folder)
    for asked, text in calls:
        recorder.keep(asked, reply(text) if text else ProviderError("away", kind="server", status_code=503), METERED)


def said(kept: Any, asked: ChatRequest) -> str:
    """Return what is answered, or why nothing is."""
    try:
        answer = kept.reply(asked)
    except ProviderError as error:
        return f"{error.kind} {error}"
    return "" if answer is None else str(answer.text)


# a recording that is played


def test_a_job_is_answered_as_it_was_itself_then_as_its_seed_then_as_anybody(tmp_path: Path) -> None:
    record(
        tmp_path,
        (request(job="first", seed=1), "of the first"),
        (request(job="other", seed=2), "of seed 2"),
        (request(job="same seed", seed=2), "of seed 2 as well"),
        (request(job="own", seed=3), "of a try that was given up"),
        (request(job="own", seed=3), "of its own"),
    )
    player = Player(tmp_path)
    assert said(player, request(job="own", seed=1)) == "of its own"
    assert said(player, request(job="new", seed=9, recorded="own")) == "of its own"
    assert said(player, request(job="new", seed=2)) == "of seed 2"
    assert said(player, request(job="new", seed=9)) == "of the first"
    answer = player.reply(request(job="own"))
    assert answer.metered == METERED


def test_an_evaluation_is_answered_as_it_was_in_its_own_order(tmp_path: Path) -> None:
    record(
        tmp_path,
        (request(nth=0, asker="x"), "x1"), (request(nth=1, asker="y"), "y1"), (request(nth=2, asker="x"), "x2"), (request(nth=3), "none"),
    )  # fmt: skip
    player = Player(tmp_path)
    assert [said(player, request(nth=9, asker=who, turn=turn)) for who, turn in (("y", 0), ("x", 1), ("x", 0))] == [
        "y1",
        "x2",
        "x1",
    ]
    calls = tmp_path / CALLS_FILE
    asks_more = f"replay_miss in the recording `{calls}` this evaluation asked this 1 times, and now once more"
    assert said(player, request(nth=0, asker="y", turn=1)) == asks_more
    assert said(player, request(nth=3, asker="z")) == "none", (
        "one that the recording does not tell of is answered by arrival"
    )
    answers = f"replay_miss the recording `{calls}` answers this request 4 times in a job, not 5"
    assert said(player, request(nth=4)) == answers


def test_a_failure_is_repeated_with_what_it_cost(tmp_path: Path) -> None:
    record(tmp_path, (request(), ""))
    with pytest.raises(ProviderError, match=r"^away$") as caught:
        Player(tmp_path).reply(request())
    assert (caught.value.kind, caught.value.status_code, caught.value.metered) == ("server", 503, METERED)


def test_a_miss_shows_the_nearest_request_around_the_first_difference(tmp_path: Path) -> None:
    record(tmp_path, (request("something else altogether"), "a"), (request("the quick brown fox"), "b"))
    miss = said(Player(tmp_path), request("the quick brown dog"))
    entry = json.loads((tmp_path / CALLS_FILE).read_text().splitlines()[2])
    assert miss.startswith(
        f"replay_miss not on the recording `{tmp_path / CALLS_FILE}`; nearest is `{entry['request'][:12]}`: asked "
    )
    asked, _, recorded = miss.partition(", recorded ")
    assert "the quick brown dog" in asked
    assert "the quick brown fox" in recorded
    record(tmp_path / "empty")
    assert (
        said(Player(tmp_path / "empty"), request())
        == f"replay_miss the recording `{tmp_path / 'empty' / CALLS_FILE}` is empty"
    )


@pytest.mark.parametrize(
    ("asked", "recorded", "shown"),
    [
        ("a" * 99 + "x", "a" * 99 + "y", ("a" * 30 + "x", "a" * 30 + "y")),
        ("x" + "b" * 99, "y" + "b" * 99, ("x" + "b" * 29, "y" + "b" * 29)),
        ("same", "same and more", ("same", "same and more")),
    ],
)
def test_thirty_characters_are_shown_on_each_side_of_a_difference(
    asked: str, recorded: str, shown: tuple[str, str]
) -> None:
    assert _first_difference(asked, recorded) == "asked {!r}, recorded {!r}".format(*shown)


@pytest.mark.parametrize("first", ["", "x", "[]", "7", "{}", '{"kind": 1}'])
def test_what_names_no_version_is_no_recording(tmp_path: Path, first: str) -> None:
    calls = tmp_path / "llm" / CALLS_FILE
    calls.parent.mkdir()
    calls.write_text(f"{first}\n")
    with pytest.raises(RunDirError, match=f"^`{calls}` is no recording: its first line names no version$"):
        check_recording(tmp_path)


@pytest.mark.parametrize("version", [CASSETTE_VERSION - 1, CASSETTE_VERSION + 1, str(CASSETTE_VERSION)])
def test_a_recording_of_another_format_is_refused_with_both(tmp_path: Path, version: Any) -> None:
    calls = tmp_path / "llm" / CALLS_FILE
    calls.parent.mkdir()
    calls.write_text(json.dumps({"cassette": version}) + "\n")
    words = f"^the recording `{calls}` has format {version}; this version reads format {CASSETTE_VERSION}$"
    with pytest.raises(RunDirError, match=words) as caught:
        check_recording(tmp_path)
    assert caught.value.hint.endswith(" --upgrade tracebench-engine")
    calls.unlink()
    with pytest.raises(RunDirError, match=f"^`{tmp_path}` was not recorded: there is no `{calls}`$") as caught:
        check_recording(tmp_path)
    assert caught.value.hint == "trace-bench run --config FILE -o llm.record=true"


def test_the_models_of_a_recording_are_those_that_answered_first(tmp_path: Path) -> None:
    other = ModelIdentity(provider="openai", model="other")
    record(
        tmp_path / "llm", (request(), "a"), (request(identity=other), "b"), (request(role="judge", identity=other), "c")
    )
    assert recorded_models(tmp_path) == {"agent": MODEL, "judge": other}


# blobs


def test_a_blob_that_is_missing_damaged_or_edited_is_told(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    name = blobs.put(b"content")
    assert blobs.put(b"content") == Blobs(tmp_path).put(b"content") == name
    path = tmp_path / name[:2] / name
    assert Blobs(tmp_path).get(name) == b"content"
    for content, words in (
        (b"rubbish", f"the recorded blob `{path}` is truncated or damaged: "),
        (path.read_bytes()[:-3], f"the recorded blob `{path}` is truncated or damaged: "),
        (zlib.compress(b"other"), f"the recorded blob `{path}` was edited: its content does not match its name"),
    ):
        path.write_bytes(content)
        with pytest.raises(RunDirError) as caught:
            blobs.get(name)
        assert str(caught.value).startswith(words)
    path.unlink()
    with pytest.raises(RunDirError, match=f"^the recording lacks the blob `{path}`$"):
        blobs.get(name)


# finished calls of a run that goes on


def test_a_finished_call_is_answered_once_more_and_a_failure_is_asked_again(tmp_path: Path) -> None:
    record(tmp_path, (request("failed"), ""), (request("failed"), "later"), (request(), "first"), (request(), "second"))
    finished = FinishedCalls(tmp_path)
    assert said(finished, request()) == "first"
    assert said(finished, request("failed")) == "later"
    assert finished.reply(request()).metered == METERED  # type: ignore[union-attr]  # it is there
    assert [said(finished, other) for other in (request(job="k"), request(nth=1), request("x"))] == ["", "", ""]
    finished.forget("j")
    finished.forget("j")
    assert said(finished, request()) == ""


def test_of_an_evaluation_the_same_one_has_to_have_asked(tmp_path: Path) -> None:
    record(tmp_path, (request(nth=1, asker="x"), "x2"), (request(nth=0, asker="x"), "x1"), (request(nth=2), "proposal"))
    finished = FinishedCalls(tmp_path)
    assert [said(finished, request(nth=7, asker="x", turn=turn)) for turn in (0, 1, 2)] == ["x1", "x2", ""]
    assert said(finished, request(nth=0, asker="y")) == ""
    assert said(finished, request(nth=2, asker="y")) == "proposal"
    assert said(finished, request(nth=0)) == "x1"
    assert said(finished, request(nth=0, asker="x", turn=1)) == "x2"


def test_a_recording_that_cannot_be_read_answers_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    record(tmp_path, (request("a"), "1"), (request("b"), "2"))
    calls = tmp_path / CALLS_FILE
    whole = calls.read_text().splitlines(keepends=True)
    calls.write_text("".join([whole[0], whole[1], "torn\n", whole[2]]))
    finished = FinishedCalls(tmp_path)
    assert [said(finished, request(text)) for text in "ab"] == ["", ""]
    assert caplog.messages == [f"every call is made anew: the recording `{calls}` is damaged in line 3"]
    caplog.clear()
    calls.write_text("".join(whole))
    finished = FinishedCalls(tmp_path)
    for blob in (tmp_path / BLOBS_FOLDER).rglob("*"):
        if blob.is_file():
            blob.unlink()
    assert said(finished, request("a")) == ""
    assert [message.partition(":")[0] for message in caplog.messages] == ["a call is made anew"]
    assert said(FinishedCalls(tmp_path / "none"), request()) == ""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / CALLS_FILE).touch()
    assert said(FinishedCalls(tmp_path / "empty"), request()) == ""


# answers of scorings under way


def test_a_scoring_is_answered_by_the_next_gateway_and_its_file_goes_with_the_last_job(tmp_path: Path) -> None:
    scorings = Scorings(tmp_path)
    path = tmp_path / SCORINGS_FILE
    assert not path.exists()
    scorings.add(request(), reply("first"), METERED)
    scorings.add(request(), reply("second"), METERED)
    scorings.add(request(job="k"), reply("k"), METERED)
    with path.open("a") as file:
        file.write('["j", "torn", 0\n{}\n5\n["j", "hi", 1, {}, "stop"]\n["j", "x", "y", {}, "stop", {}]\n')
    later = Scorings(tmp_path)
    for one in (scorings, later):
        assert (said(one, request()), said(one, request(job="k"))) == ("first", "k")
        assert [said(one, other) for other in (request(nth=1), request("torn"), request("x"))] == ["", "", ""]
    assert later.reply(request()).metered == METERED  # type: ignore[union-attr]  # it is there
    later.forget("nobody")
    later.forget("j")
    assert path.exists()
    later.forget("k")
    assert not path.exists()
    later.add(request(), reply("anew"), METERED)
    assert said(Scorings(tmp_path), request()) == "anew"


# answers that may not have arrived


def test_an_answer_that_was_not_delivered_is_found_by_its_key_and_content(tmp_path: Path) -> None:
    asked = request(key="k.0.0")
    kept = Undelivered(tmp_path)
    kept.add("a", request(), reply("without a key"), METERED)
    assert not (tmp_path / FOLDER).exists()
    kept.add("a", asked, reply("yes"), METERED)
    assert not kept.is_of_before("a", asked), "it is of this very process"
    path = tmp_path / FOLDER / "j.a.jsonl"
    with path.open("a") as file:
        file.write('["torn", "hi"\n["short", "hi", {}]\n["odd"]\n7\n')
    later = Undelivered(tmp_path)
    assert later.is_of_before("a", asked)
    found = later.find("a", asked)
    assert found is not None
    assert (found.message, found.finish_reason, found.metered) == (reply("yes").message, "stop", METERED)
    others = [
        request("other", key="k.0.0"),
        request(key="k.0.1"),
        request(key="torn"),
        request(key="short"),
        request(key="odd"),
    ]
    assert [later.find("a", other) for other in others] == [None] * 5
    assert later.find("b", asked) is None
    assert not later.is_of_before("b", asked)
    assert not later.is_of_before("a", request())
    later.add("a", replace(asked, key="new"), reply("new"), METERED)
    assert later.find("a", replace(asked, key="new")) is not None
    assert not later.is_of_before("a", replace(asked, key="new"))
    later.add("b", asked, reply("of another attempt"), METERED)
    later.add("b", request(job="jj", key="k"), reply("of another job"), METERED)
    later.forget("j", "b")
    assert [file.name for file in (tmp_path / FOLDER).iterdir()] == ["jj.b.jsonl"]
    assert later.find("a", asked) is None
    assert not later.is_of_before("a", asked)


def test_of_an_attempt_the_last_answers_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undelivered, "MOST_KEPT", 3)
    kept = Undelivered(tmp_path)
    asked = [request(key=f"k{n}") for n in range(11)]
    left = []
    for n, one in enumerate(asked):
        kept.add("a", one, reply(str(n)), METERED)
        left.append(sum(kept.find("a", other) is not None for other in asked))
    assert left == [1, 2, 3, 4, 5, 6, 3, 4, 5, 6, 3]
    assert [kept.find("a", one) is not None for one in asked[-3:]] == [True] * 3

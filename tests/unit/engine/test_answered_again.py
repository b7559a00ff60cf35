"""What scoring is answered a second time: what it was answered the first time, and nothing that is made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import ModelError, RunDirError
from tracebench_core.ids import canonical_json
from tracebench_core.specs import Completion, LLMConfig, Usage
from tracebench_core.specs.events import LLMCall
from tracebench_engine.measure.recorded import DOOR, NOT_ASKED, WHICH, WHOSE, Recorded
from tracebench_gateway import turns
from tracebench_gateway.cassette.blobs import Blobs
from tracebench_gateway.cassette.player import LLM_FOLDER
from tracebench_gateway.cassette.recorder import BLOBS_FOLDER, CALLS_FILE, CASSETTE_VERSION

HELLO = [{"role": "user", "content": "hello"}]


class Recording:
    """A run's recording, and the calls that its job's events tell of."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        folder = run_dir / LLM_FOLDER
        folder.mkdir(parents=True)
        self.blobs = Blobs(folder / BLOBS_FOLDER)
        self.file = folder / CALLS_FILE
        self.file.write_text(json.dumps({"cassette": CASSETTE_VERSION}) + "\n")
        self.calls: list[LLMCall] = []

    def add(
        self,
        digest: str,
        answer: str | None,
        *,
        by: str | None = None,
        nth: int = 0,
        phase: str = "scoring",
        job: str = "j",
        **more: Any,
    ) -> None:
        """Record a call with `sampling` and `role`; without an answer it failed."""
        role, sampling = more.get("role", "agent"), more.get("sampling", {})
        request = self.blobs.put(canonical_json({"role": role, "messages": HELLO, "sampling": sampling}))
        entry: dict[str, Any] = {
            "digest": digest, "occurrence": nth, "metered": {}, "job_id": job, "role": role, "request": request,
        }  # fmt: skip
        if by is not None:
            entry["asker"] = by
        if answer is None:
            entry["error"] = {"kind": "auth", "message": "no key"}
        else:
            reply = {"message": {"content": answer or None}, "finish_reason": "stop"}
            entry["reply"] = self.blobs.put(canonical_json(reply))
        with self.file.open("a") as sink:
            sink.write(json.dumps(entry) + "\n")
        told = {
            "t": "2026-01-01T00:00:00Z", "call": len(self.calls), "role": role, "model": f"m-{digest}", "phase": phase, "status": "ok",
            "request_hash": digest, "reply_hash": entry.get("reply", ""),
        }  # fmt: skip
        self.calls.append(LLMCall.model_validate(told))

    def again(self, **llm: Any) -> Recorded:
        return Recorded(self.run_dir, "j", self.calls, LLMConfig(**llm))


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path)


def said(answered: Recorded, n: int = 1, role: Any = "agent", **sampling: Any) -> list[str] | str:
    """Return what a call is answered, or why it is not; a refusal's kind stands before its words."""
    try:
        return [done.text for done in answered.complete(HELLO, role=role, n=n, **sampling)]
    except ModelError as error:
        return f"{error.kind} {error}"


MISS = "replay_miss "


def test_an_answer_is_whole(recording: Recording) -> None:
    recording.add("d", "hi")
    again = recording.again()
    assert again.complete(HELLO, role="agent") == [
        Completion(text="hi", model="m-d", finish_reason="stop", usage=Usage())
    ]
    assert again.missed == ""


def test_an_answer_without_words_is_empty(recording: Recording) -> None:
    recording.add("d", "")
    assert said(recording.again()) == [""]


def test_what_failed_then_fails_now(recording: Recording) -> None:
    recording.add("d", None)
    again = recording.again()
    assert said(again) == "refused auth: no key"
    assert again.missed == ""


def test_each_evaluation_has_its_own_answers_in_their_order(recording: Recording) -> None:
    with turns.asking_for("c1", "x"):
        one = turns.asker()
    with turns.asking_for("c1", "y"):
        other = turns.asker()
    for by, nth, answer in ((one, 1, "second"), (one, 0, "first"), (other, 2, "later"), (one, 2, "third")):
        recording.add("d", answer, by=by, nth=nth)
    again = recording.again()
    with turns.asking_for("c1", "x"):
        assert said(again, n=2) == ["first", "second"]
    with turns.asking_for("c1", "y"):
        assert said(again) == ["later"]
        assert said(again) == MISS + NOT_ASKED
    with turns.asking_for("c1", "x"):
        assert said(again) == ["third"]
    assert said(again) == MISS + NOT_ASKED


def test_where_nobody_says_who_asked_the_same_answer_serves_all(recording: Recording) -> None:
    recording.add("d", "hi", nth=0)
    recording.add("d", "hi", nth=1)
    again = recording.again()
    with turns.asking_for("c1", "x"):
        assert said(again, n=3) == ["hi"] * 3
    with turns.asking_for("c1", "y"):
        assert said(again) == ["hi"]


def test_where_nobody_says_who_asked_answers_that_differ_serve_nobody(recording: Recording) -> None:
    recording.add("d", "hi", nth=0)
    recording.add("d", "ho", nth=1)
    again = recording.again()
    with turns.asking_for("c1", "x"):
        assert said(again) == MISS + WHOSE
    assert again.missed == WHOSE


def test_an_unnamed_answer_serves_nobody_where_others_are_named(recording: Recording) -> None:
    recording.add("d", "hi")
    recording.add("d", "ho", by="somebody", nth=1)
    with turns.asking_for("c1", "x"):
        assert said(recording.again()) == MISS + NOT_ASKED


@pytest.mark.parametrize(
    "other",
    [{"phase": "training"}, {"job": "k"}, {"role": "judge"}],
    ids=["of training", "of another job", "of another role"],
)
def test_what_others_were_answered_is_not_taken(recording: Recording, other: dict[str, Any]) -> None:
    recording.add("d", "hi", **other)
    again = recording.again()
    assert said(again) == MISS + NOT_ASKED
    assert again.missed == NOT_ASKED


@pytest.mark.parametrize(
    ("recorded", "asked", "answered"),
    [
        ([{}], {}, ["a"]), ([{}], {"temperature": None}, ["a"]), ([{}], {"temperature": 0.5}, MISS + NOT_ASKED),
        ([{"temperature": 0.5}], {"temperature": 0.5}, ["a"]), ([{"temperature": 0.5}], {}, ["a"]),
        ([{"temperature": 0.5}], {"temperature": 0.6}, MISS + NOT_ASKED),
        ([{"temperature": 0.5}, {"temperature": 0.6}], {}, MISS + WHICH),
        ([{"temperature": 0.5}, {"temperature": 0.6}], {"temperature": 0.6}, ["b"]),
        ([{"temperature": 0.5}, {}], {}, ["b"]),
        ([{"temperature": 0.5, "seed": 1}, {"temperature": 0.5, "seed": 2}], {"temperature": 0.5}, MISS + WHICH),
        ([{"temperature": 0.5, "seed": 1}, {"temperature": 0.6, "seed": 1}], {"temperature": 0.5}, ["a"]),
    ],
)  # fmt: skip
def test_settings_tell_which_of_the_same_requests_is_meant(
    recording: Recording, recorded: list[dict[str, Any]], asked: dict[str, Any], answered: list[str] | str
) -> None:
    for digest, sampling in zip("ab", recorded, strict=False):
        recording.add(digest, digest, sampling=sampling)
    assert said(recording.again(), **asked) == answered


def test_settings_of_the_config_are_added_to_what_is_asked(recording: Recording) -> None:
    recording.add("a", "a", sampling={"temperature": 0.5})
    recording.add("b", "b", sampling={"temperature": 0.6})
    assert said(recording.again(temperature=0.6)) == ["b"]
    assert said(recording.again(temperature=0.7)) == MISS + WHICH


def test_a_first_miss_is_kept_and_a_door_refuses(recording: Recording) -> None:
    recording.add("a", "a")
    again = recording.again()
    with pytest.raises(ModelError) as caught:
        again.endpoint("agent")
    assert (caught.value.kind, str(caught.value), again.missed) == ("refused", DOOR, DOOR)
    assert said(again, role="judge") == MISS + NOT_ASKED
    assert again.missed == DOOR


def test_a_door_does_not_hide_an_earlier_miss(recording: Recording) -> None:
    again = recording.again()
    assert said(again) == MISS + NOT_ASKED
    with pytest.raises(ModelError):
        again.endpoint("agent")
    assert again.missed == NOT_ASKED


def test_a_run_without_a_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="was not recorded"):
        Recorded(tmp_path, "j", [], LLMConfig())

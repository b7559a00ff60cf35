"""Model calls come into a job's events once each: those of a section together, in an order that no answer's time decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracebench_core.specs.events import Event, LLMCall, StepStarted
from tracebench_engine.measure.recorder import Recorder
from tracebench_gateway.turns import Turn, take


class Metered:
    """Calls as the gateway tells them."""

    def __init__(self, *calls: LLMCall) -> None:
        self.calls = list(calls)

    def records(self, after: int) -> Sequence[LLMCall]:
        return [call for call in self.calls if call.call > after]


def call(number: int, **more: Any) -> LLMCall:
    return LLMCall(call=number, **({"role": "optimizer", "model": "m", "status": "ok"} | more))


def numbers(events: list[Event]) -> list[int]:
    return [event.call for event in events if isinstance(event, LLMCall)]


def test_each_call_is_taken_over_once() -> None:
    events: list[Event] = []
    recorder, models = Recorder(events.append, last_call=1), Metered(call(1), call(2))
    recorder.calls(models)  # type: ignore[arg-type]
    recorder.calls(models)  # type: ignore[arg-type]
    models.calls.append(call(3, status="error", error="replay_miss: none"))
    recorder.calls(models)  # type: ignore[arg-type]

    assert numbers(events) == [2, 3]
    told = recorder.answers["optimizer"]
    assert (told.answered, told.failed, told.missed, told.last_failure) == (1, 1, 1, "replay_miss: none")


def test_calls_of_a_turn_wait_for_the_end_of_its_section_and_come_in_an_order_of_their_own() -> None:
    events: list[Event] = []
    recorder = Recorder(events.append)
    models = Metered(call(1, prompt_tokens=9, seconds=1.0), call(2, prompt_tokens=5, seconds=2.0))
    with take(Turn(section=0, task=0, tasks=2)):
        recorder.calls(models)  # type: ignore[arg-type]
    assert events == []
    recorder.section(models)  # type: ignore[arg-type]

    found = [event for event in events if isinstance(event, LLMCall)]
    assert [(record.call, record.prompt_tokens) for record in found] == [(1, 5), (2, 9)]


def test_of_late_calls_those_of_training_count_and_none_is_asked_for_again() -> None:
    events: list[Event] = []
    recorder, models = Recorder(events.append), Metered(call(1), call(2, phase="scoring"), call(3, phase="scoring"))
    recorder.late_calls(models)  # type: ignore[arg-type]
    recorder.calls(models)  # type: ignore[arg-type]

    assert numbers(events) == [1]


def test_a_step_is_the_one_that_began_last_and_ends_with_its_block() -> None:
    events: list[Event] = []
    recorder = Recorder(events.append)
    with recorder.step(4):
        with recorder.step(5):
            assert recorder.current_step == 5
        assert recorder.current_step == 4
    assert recorder.current_step is None
    assert [event.index for event in events if isinstance(event, StepStarted)] == [4, 5]

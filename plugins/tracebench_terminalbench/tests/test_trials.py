from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from tracebench_terminalbench.trajectory import _row
from tracebench_terminalbench.transcript import digest, steps, transcript
from tracebench_terminalbench.trials import AWAY, FULL, read_trial, read_trials


def written(folder: Path, *, slug: str = "hello-file", result: dict[str, Any] | str | None = None) -> Path:
    """Write a trial's folder as Harbor does."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"task": {"path": f"/somewhere/{slug}"}}))
    if result is not None:
        (folder / "result.json").write_text(result if isinstance(result, str) else json.dumps(result))
    return folder


def failed(kind: str, rewards: dict[str, float] | None = None) -> dict[str, Any]:
    return {
        "verifier_result": {"rewards": rewards} if rewards is not None else None,
        "exception_info": {"exception_type": kind, "exception_message": "as scripted"},
    }


def test_zero_is_measured_and_an_agent_out_of_time_keeps_its_reward(tmp_path: Path) -> None:
    zero = read_trial(written(tmp_path / "a", result={"verifier_result": {"rewards": {"reward": 0}}}))
    late = read_trial(written(tmp_path / "b", result=failed("AgentTimeoutError", {"reward": 1.0})))

    assert (zero.reward, zero.error, zero.timed_out) == (0.0, "", False)
    assert (late.reward, late.timed_out) == (1.0, True)


@pytest.mark.parametrize(
    ("answered", "log", "reward"),
    [
        ([], "Unknown Error in LLM interaction: BadGatewayError: refused", None),
        ([900.0], "Unknown Error in LLM interaction: BadGatewayError: refused", 0.0),
        ([], "Collecting main service artifacts", 0.0),
    ],
)
def test_time_that_was_spent_on_a_model_that_is_away_is_no_zero(
    tmp_path: Path, answered: list[float], log: str, reward: float | None
) -> None:
    """It is one only where the agent's last request failed: one that was answered later, or is merely slow, leaves the reward."""
    result = failed("AgentTimeoutError", {"reward": 0.0})
    told = {"agent_result": {"metadata": {"n_episodes": 1, "api_request_times_msec": answered}}}
    folder = written(tmp_path / "a", result=result | told)
    (folder / "trial.log").write_text(f"Started\n{log}\n")

    trial = read_trial(folder)

    assert (trial.reward, trial.timed_out) == (reward, reward is not None)
    assert ("model was away" in trial.error) == (reward is None)


def test_a_program_whose_time_went_by_while_its_model_failed_is_no_zero(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", result=failed("AgentTimeoutError", {"reward": 0.0}))
    assert read_trial(folder).reward == 0.0
    (folder / AWAY).write_text("HTTP/1.1 502 Bad Gateway")
    trial = read_trial(folder)
    assert (trial.reward, trial.suspect) == (None, False)
    assert "its model was away: HTTP/1.1 502" in trial.error


def test_a_disk_that_the_agent_filled_may_be_the_candidate_s_fault(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", result=failed("AddTestsDirError"))
    assert not read_trial(folder).suspect
    (folder / FULL).write_text("No space left on device")
    trial = read_trial(folder)
    assert (trial.reward, trial.suspect) == (None, True)
    assert trial.error.startswith("its disk is full, of what the agent wrote (`storage_mb`): AddTestsDirError")


@pytest.mark.parametrize(
    "kind", ["VerifierTimeoutError", "RewardFileNotFoundError", "BadRequestError", "SomethingNewError"]
)
def test_a_failure_of_agent_or_verifier_measures_nothing_and_may_be_the_candidates(tmp_path: Path, kind: str) -> None:
    trial = read_trial(written(tmp_path / "a", result=failed(kind, {"reward": 1.0})))

    assert (trial.reward, trial.suspect) == (None, True)
    assert kind in trial.error


@pytest.mark.parametrize(
    "kind", ["EnvironmentStartTimeoutError", "LocalSandboxError", "APIConnectionError", "CancelledError"]
)
def test_a_failure_of_sandbox_or_provider_says_nothing_of_the_candidate(tmp_path: Path, kind: str) -> None:
    trial = read_trial(written(tmp_path / "a", result=failed(kind)))

    assert (trial.reward, trial.suspect) == (None, False)


@pytest.mark.parametrize(
    "result",
    [
        None,
        "",
        "{",
        "[]",
        '{"verifier_result": {"rewards": {"reward": "much"}}}',
        '{"verifier_result": {"rewards": {"reward": NaN}}}',
        '{"verifier_result": {"rewards": {}}}',
        '{"verifier_result": {"rewards": {"speed": 1, "size": 2}}}',
        "{}",
    ],
)
def test_what_holds_no_number_is_never_a_zero(tmp_path: Path, result: str | None) -> None:
    trial = read_trial(written(tmp_path / "a", result=result))

    assert trial.reward is None
    assert trial.error


def test_one_reward_of_another_name_is_the_reward_and_more_are_kept_beside_it(tmp_path: Path) -> None:
    one = read_trial(written(tmp_path / "a", result={"verifier_result": {"rewards": {"accuracy": 0.5}}}))
    two = read_trial(written(tmp_path / "b", result={"verifier_result": {"rewards": {"reward": 1, "recall": 0.25}}}))

    assert one.reward == 0.5
    assert (two.reward, dict(two.rewards)) == (1.0, {"reward": 1.0, "recall": 0.25})


def test_a_failed_step_of_a_task_with_steps_is_seen(tmp_path: Path) -> None:
    result = {"verifier_result": {"rewards": {"reward": 1}}, "step_results": [{}, failed("VerifierTimeoutError")]}

    assert read_trial(written(tmp_path / "a", result=result)).reward is None


def test_a_trial_that_was_cut_off_is_listed_with_its_task(tmp_path: Path) -> None:
    written(tmp_path / "x__1", slug="log-count")

    (trial,) = read_trials(tmp_path)

    assert (trial.slug, trial.reward) == ("log-count", None)


def with_steps(folder: Path, steps: int, *, width: int = 40) -> Path:
    written(folder, result={"verifier_result": {"rewards": {"reward": 0.0}}})
    (folder / "agent").mkdir()
    (folder / "verifier").mkdir()
    (folder / "verifier/test-stdout.txt").write_text("wrong: nothing there\n" * width)
    prompt = {"step_id": 1, "source": "user", "message": "the whole prompt"}
    made = [
        {
            "step_id": i + 2,
            "source": "agent",
            "message": f"thought {i} " + "m" * width,
            "tool_calls": [{"function_name": "bash_command", "arguments": {"keystrokes": f"ls {i}\n"}}],
            "observation": {"results": [{"content": "\n\n\nfile.txt\n" + "o" * width}]},
        }
        for i in range(steps)
    ]
    (folder / "agent/trajectory.json").write_text(json.dumps({"steps": [prompt, *made]}))
    return folder


def test_a_transcript_shows_steps_commands_observations_and_the_verifier(tmp_path: Path) -> None:
    text = transcript(read_trial(with_steps(tmp_path / "a", 3)))

    assert "reward 0" in text
    assert "the whole prompt" not in text
    for i in range(3):
        assert f"thought {i}" in text
        assert f"  $ ls {i}\n  | file.txt\n" in text
    assert text.count("wrong: nothing there") == 40


def test_what_an_optimizer_reads_is_bounded_and_holds_the_end(tmp_path: Path) -> None:
    text = digest(read_trial(with_steps(tmp_path / "a", 50, width=5000)), characters=3000)

    assert len(text) < 3000 * 1.5
    assert "thought 49" in text
    assert "thought 3 " not in text
    assert "wrong: nothing there" in text


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '{"steps": 3}', '{"steps": [1, {}, {"observation": null}]}', "[" * 100_000, "3",
        '{"steps": [{"tool_calls": 3, "observation": "x"}]}', '{"steps": [{"tool_calls": ["x"], "observation": {"results": 5}}]}',
        '{"steps": [{"tool_calls": [{"arguments": [1]}], "observation": {"results": ["x"]}}]}', '{"steps": [{"message": ["x", 1]}]}',
        '{"steps": [{"tool_calls": [{"arguments": "x"}], "step_id": {"a": 1}, "source": 7}]}',
        '{"steps": [{"message": "\\ud83d", "source": "\\ud83d", "tool_calls": [{"arguments": {"keystrokes": "\\ud83d"}}]}]}',
    ],
)  # fmt: skip
def test_a_broken_trajectory_costs_only_itself(tmp_path: Path, text: str) -> None:
    """An agent that is a program may have written it."""
    folder = with_steps(tmp_path / "a", 1)
    (folder / "agent/trajectory.json").write_text(text)

    assert "wrong: nothing there" in transcript(read_trial(folder))
    assert math.isfinite(len(digest(read_trial(folder)).encode() + transcript(read_trial(folder)).encode()))
    for step in steps(folder / "agent/trajectory.json"):
        assert {*_row(step)} == {"step", "by", "said", "typed", "shown"}


@pytest.mark.parametrize("name", ["agent/trajectory.json", "agent/program.txt", "verifier/test-stdout.txt"])
def test_a_link_or_a_pipe_in_the_place_of_a_file_is_not_followed(tmp_path: Path, name: str) -> None:
    """A container engine shows a sandbox the trial's own folders, and a link in them leads through the host's."""
    folder = with_steps(tmp_path / "a", 0)
    (tmp_path / "secret").write_text('{"steps": [{"message": "hidden"}]}')
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "secret")
    assert "hidden" not in transcript(read_trial(folder)) + digest(read_trial(folder))
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert transcript(read_trial(folder))

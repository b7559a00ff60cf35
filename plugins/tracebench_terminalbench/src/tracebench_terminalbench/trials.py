"""Read what Harbor wrote of a trial, and tell a measured zero from a trial that measured nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

REWARD_STANDS = frozenset(
    {
        "AgentTimeoutError", "ContextWindowExceededError", "OutputTokenExceededError", "ContextLengthExceededError",
        "OutputLengthExceededError", "AgentSafetyRefusalError", "ContentPolicyViolationError",
    }
)  # fmt: skip
"""Failures of the agent after which its work was verified all the same: Harbor's own table, since 0.25 in `error_policy`."""
INFRASTRUCTURE = frozenset(
    {
        "EnvironmentStartTimeoutError", "SandboxBuildFailedError", "HealthcheckError", "LocalSandboxError", "ImageError",
        "NotUnderstoodError", "AgentSetupTimeoutError", "CancelledError", "RuntimeError", "OSError", "DownloadVerifierDirError",
        "AddTestsDirError", "APIConnectionError", "InternalServerError", "ServiceUnavailableError", "BadGatewayError",
        "RateLimitError", "Timeout", "AuthenticationError", "AgentAuthenticationError", "ApiUsageLimitError", "ModelGoneError",
        "ProgramAwayError",
    }
)  # fmt: skip
"""Failures of the sandbox, its provider or the model's server, which say nothing of the candidate."""
AGENT_TIMEOUT, MODEL_GONE = "AgentTimeoutError", "ModelGoneError"
AWAY = "model-away.txt"
"""What the side of Harbor writes into a trial's folder when the model's server failed while a program worked."""
FULL, NO_ROOM = "disk-full.txt", "SandboxFullError"
"""What the side of Harbor writes into a trial's folder when a sandbox has no room left for the task's tests, and its kind here."""
MODEL_FAILED = "Unknown Error in LLM interaction"
"""What Terminus-2 writes into its log when a request to the model fails, before it tries again."""
_MESSAGE_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of the agent on one task."""

    folder: Path
    slug: str
    reward: float | None
    """None: nothing was measured, and `error` says why. Never to be read as 0."""
    rewards: Mapping[str, float] = field(default_factory=dict)
    error: str = ""
    suspect: bool = False
    """The failure is the agent's or the verifier's, so that the candidate may be its cause; all others are infrastructure."""
    timed_out: bool = False
    usage: Mapping[str, float] = field(default_factory=dict)
    """`prompt_tokens`, `completion_tokens`, `turns`, where Harbor tells them."""

    def at(self, folder: Path) -> Trial:
        """Return this trial with its folder moved."""
        return replace(self, folder=folder)

    @property
    def trajectory(self) -> Path:
        """The agent's steps (ATIF); may be missing."""
        return self.folder / "agent" / "trajectory.json"

    @property
    def program_log(self) -> Path:
        """What an agent that is a program printed; may be missing."""
        return self.folder / "agent" / "program.txt"

    @property
    def verifier_output(self) -> Path:
        """What the task's tests printed; may be missing."""
        return self.folder / "verifier" / "test-stdout.txt"


def read_trials(job: Path) -> list[Trial]:
    """Return the trials of a job's folder; one that was cut off is among them, without a reward."""
    return [read_trial(path.parent) for path in sorted(job.glob("*/config.json"))]


def read_trial(folder: Path) -> Trial:
    """Return one trial; a result that is missing or broken becomes a trial without a reward."""
    try:
        data = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        return _trial(folder, data)
    except FileNotFoundError:
        return Trial(folder, slug_of(folder), None, error="the trial was cut off before it wrote a result")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as err:
        return Trial(folder, slug_of(folder), None, error=f"its result cannot be read: {type(err).__name__}: {err}")


def slug_of(folder: Path) -> str:
    """Return the task that a trial's own configuration names."""
    try:
        task = json.loads((folder / "config.json").read_text(encoding="utf-8"))["task"]
        return Path(str(task.get("path") or task["name"])).name
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return folder.name.rpartition("__")[0]


def _trial(folder: Path, data: Mapping[str, Any]) -> Trial:
    rewards = {
        str(name): float(value) for name, value in ((data.get("verifier_result") or {}).get("rewards") or {}).items()
    }
    kind, words = _failure(data)
    if kind == AGENT_TIMEOUT and (lost := _lost_model(folder, data)):
        kind, words = MODEL_GONE, f"the agent's time was over while its model was away: {lost}"
    elif kind in INFRASTRUCTURE and (folder / FULL).is_file():
        kind, words = NO_ROOM, f"its disk is full, of what the agent wrote (`storage_mb`): {words}"
    reward = rewards.get("reward", next(iter(rewards.values())) if len(rewards) == 1 else None)
    if kind and kind not in REWARD_STANDS:
        reward = None
    elif reward is None:
        words = words or "the verifier wrote no reward"
    elif not math.isfinite(reward):
        reward, words = None, f"the verifier wrote {reward}, which is no number to compare"
    return Trial(
        folder,
        slug_of(folder),
        reward,
        rewards={name: value for name, value in rewards.items() if math.isfinite(value)},
        error=words,
        suspect=bool(words) and kind not in INFRASTRUCTURE,
        timed_out=kind == AGENT_TIMEOUT,
        usage=_usage(data.get("agent_result") or {}),
    )


def _failure(data: Mapping[str, Any]) -> tuple[str, str]:
    """Return the type and the words of the first exception, also of a step of a task that has several."""
    for part in (data, *(data.get("step_results") or ())):
        if info := part.get("exception_info"):
            kind = str(info.get("exception_type"))
            return kind, f"{kind}: {str(info.get('exception_message') or '').strip()}"[:_MESSAGE_CHARACTERS]
    return "", ""


def _lost_model(folder: Path, data: Mapping[str, Any]) -> str:
    """Return how the model failed where the agent's last request never was answered, or nothing."""
    away = folder / AWAY
    if away.is_file():  # of an agent that is a program
        return away.read_text(encoding="utf-8", errors="replace")[:_MESSAGE_CHARACTERS]
    told = (data.get("agent_result") or {}).get("metadata") or {}
    if int(told.get("n_episodes") or 0) <= len(told.get("api_request_times_msec") or ()):
        return ""
    log = folder / "trial.log"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
    return next((line[:_MESSAGE_CHARACTERS] for line in reversed(lines) if MODEL_FAILED in line), "")


def _usage(result: Mapping[str, Any]) -> dict[str, float]:
    told = {
        "prompt_tokens": result.get("n_input_tokens"),
        "completion_tokens": result.get("n_output_tokens"),
        "turns": (result.get("metadata") or {}).get("n_episodes"),
    }
    return {name: float(value) for name, value in told.items() if isinstance(value, int | float)}

"""What may be set of `Autoresearch`, and what a job of it is expected to use."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, field_validator, model_validator

from tracebench_autoresearch.statistics.evidence import fewest_pairs
from tracebench_core.errors import UsageError
from tracebench_core.proposing.settings import TrainerSettings
from tracebench_core.specs import CostEstimate, Range, TaskShape


class AutoresearchSettings(TrainerSettings):
    """How the loop goes."""

    num_experiments: int = Field(default=20, ge=1)
    """Proposals that are asked for."""
    accept: Literal["noise_aware", "greedy"] = "noise_aware"
    """`greedy` keeps whatever measured better once, as the original does."""
    policy: Literal["edit_then_commit", "commit_then_reset"] = "edit_then_commit"
    """Whether reverted edits get a commit, too, when the job is exported; what is kept does not depend on it."""
    baseline_repeats: int = Field(default=4, ge=1)
    """Measurements of the initial files, from which the scale of the noise is known at first; `greedy` makes one."""
    max_repeats: int = Field(default=20, ge=1)
    """Most pairs of measurements, one of the edit and one of what is kept, before an edit is called indecisive."""
    false_acceptance: float = Field(default=0.05, gt=0, lt=0.5)
    """Most share, on average over runs, of edits that change nothing among those that a run keeps; where none changes anything, the most
    probability that a run keeps any."""
    confirm: int = Field(default=8, ge=0, le=16)
    """Rounds at the end in which what was kept is measured anew, against the initial files and without each kept edit; 0 for none, and
    `greedy` makes none."""
    side_by_side: int = Field(default=1, ge=1, le=64)
    """Edits of what is kept that are tried at once; as many are measured at a time as the run's `eval_workers` allow."""
    halve_after: int = Field(default=4, ge=0)
    """Of edits that are tried side by side the worse half is dropped after so many pairs, the worse half of the rest after twice as many,
    and so on; 0 drops none."""
    min_gain: float = Field(default=0.0, ge=0)
    """Gains up to this much of the metric do not count."""
    memory: int = Field(default=12, ge=0)
    """Earlier experiments that the model is shown."""
    program: str = ""
    """The instruction, as `program.md` is in the original; one that comes with the plugin when empty."""
    agent: str | tuple[str, ...] = ()
    """What edits files instead of the model's replies: a coding agent that `trace-bench agents list` shows, by its name, or a command, as a
    list, that is run in a folder which holds them, with `{prompt}` for a file of words."""
    agent_network: Literal["gateway", "open"] = "gateway"
    """Of the network the command reaches the run's models only (`gateway`), or all of it (`open`)."""
    agent_files: Literal["folder", "host"] = "folder"
    """Of the host's files the command finds the system, what is named and the folder that it edits, which alone it may write to (`folder`),
    or all (`host`)."""
    agent_readable: tuple[str, ...] = ()
    """For `agent_files: folder`: further files and folders that it may read, by absolute names; `~` and `$NAME` are expanded."""
    agent_copied: tuple[str, ...] = ()
    """For `agent_files: folder`: its settings, as files and folders below your home that are copied into its own."""
    agent_seconds: float = Field(default=600.0, gt=0)
    temperature: float | None = Field(default=None, ge=0)

    @field_validator("agent")
    @classmethod
    def _is_offered(cls, agent: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if isinstance(agent, str):
            from tracebench_engine.api.agents import find_preset  # noqa: PLC0415 - plugins are looked for where one is named

            try:
                find_preset(agent)
            except UsageError as err:
                raise ValueError(str(err)) from err
        return agent

    @model_validator(mode="after")
    def _can_decide(self) -> AutoresearchSettings:
        if self.accept == "greedy":
            if self.side_by_side > 1:
                raise ValueError("`side_by_side` needs `accept: noise_aware`: who measured better once is no race")
            return self
        if self.baseline_repeats < 2:  # noqa: PLR2004 - a spread needs two
            raise ValueError("`accept: noise_aware` knows the noise from at least two `baseline_repeats`")
        if self.max_repeats < (fewest := fewest_pairs(self.num_experiments / self.false_acceptance)):
            raise ValueError(
                f"with `num_experiments: {self.num_experiments}` and `false_acceptance: {self.false_acceptance:g}` no edit can be kept in "
                f"fewer than {fewest} pairs: `max_repeats` must be at least that"
            )
        if self.confirm and self.confirm < (fewest := math.ceil(-math.log2(self.false_acceptance))):
            raise ValueError(
                f"with `false_acceptance: {self.false_acceptance:g}` no edit can be confirmed in fewer than {fewest} rounds: "
                "`confirm` must be at least that, or 0 for none"
            )
        return self


def cost(settings: AutoresearchSettings, shape: TaskShape) -> CostEstimate:
    """One call a proposal; of measurements one with `greedy`, else two a pair, and those of the confirmation of what was kept."""
    tried = settings.num_experiments
    calls = 0 if settings.agent else tried
    if settings.accept == "greedy":
        base, likely, high = 1, float(tried), float(tried)
    else:
        base, likely = settings.baseline_repeats, _LIKELY_PAIRS * 2.0 * tried + settings.confirm * (2 + _LIKELY_KEPT)
        high = 2.0 * settings.max_repeats * tried + settings.confirm * (2.0 + 2 * tried)
    return CostEstimate(
        evaluations=Range(
            low=base * shape.train, likely=(base + likely) * shape.train, high=(base + high) * shape.train
        ),
        llm_calls=Range(low=calls, likely=calls, high=calls),
        steps=1
        + math.ceil(tried / settings.side_by_side)
        + (settings.confirm if settings.accept == "noise_aware" else 0),
        proposals=Range(low=0, likely=tried, high=tried),
        start=base * shape.train,
    )


_LIKELY_PAIRS, _LIKELY_KEPT = 4, 2
"""Of an edit that changes nothing (`benchmarks/autoresearch_noise.py`); edits that a run keeps."""

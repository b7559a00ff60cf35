"""What the gateway's process is told when it starts, over a pipe and never through its environment or arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from tracebench_core.specs import Budget, LLMConfig, Mode, Price, Role
from tracebench_core.specs.base import Ref, Spec


class ShippedAnswers(Spec):
    """Where the answers of one task are, under one set of options."""

    task_id: str
    loader: Ref
    options: dict[str, Any] = Field(default_factory=dict)


class GatewaySettings(Spec):
    """One run's gateway."""

    llm: LLMConfig
    variants: dict[str, LLMConfig] = Field(default_factory=dict)
    """By name, what holds for the jobs of a variant instead of `llm`, as far as models go; the rest is the run's."""
    mode: Mode
    run_dir: Path
    run_budget: Budget
    scoring_budget: Budget = Budget()
    """Of each job's scoring."""
    replay_from: Path | None
    reuse: bool = True
    """Of a recorded run: answer a job that runs again with what its earlier attempts were answered."""
    prices: dict[str, Price]
    """The config's, by model, those of models on a role's list included."""
    stub_formats: tuple[tuple[Role, Ref], ...] = ()
    """Of the plugins that the run uses: whose prompts each answers, and the `StubFormat`."""
    stub_answers: dict[str, ShippedAnswers] = Field(default_factory=dict)
    """By the name that a job's keys give: the answers that its task ships, for the stub that shows them."""
    seed: int
    token_secret: str
    """Hex; signs the jobs' keys."""
    admin_token: str
    environ: dict[str, str]
    """The variables that hold provider keys; this process alone has them."""
    started: float
    """Monotonic seconds at which the run's clock began; a restarted gateway goes on with it."""
    socket_fd: int
    """A listening socket that the runner keeps open, so that callers wait while a gateway is replaced."""

    gone: tuple[str, ...] = ()
    """Addresses at which models were served that are served elsewhere since."""

    def llm_of(self, variant: str) -> LLMConfig:
        """Return what holds for the jobs of a variant; unnamed, the run's own."""
        return self.variants.get(variant, self.llm)

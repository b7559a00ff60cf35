"""What else a plugin may offer: environments, model providers, stub answers, aggregates, views, attacks."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tracebench_core.specs.base import Role
from tracebench_core.specs.named import Price
from tracebench_core.specs.trainer import Component

Scope = Literal["run", "job", "evaluation"]


class EnvironmentSpec(Component):
    """Something that is opened before evaluations and closed after them.

    The loader is called with the options; it returns an `Environment`.
    """

    kind: str
    """What it is, for people: `docker`, `server`, `sandbox`."""
    scope: Scope
    """How long one lives: as long as the run, as one job, or as one evaluation."""
    options: dict[str, Any] = {}
    """Defaults under the options that a context gives."""
    capacity: int | None = Field(default=None, ge=1)
    """The most that are open at a time, over all jobs of the run."""


class ProviderSpec(Component):
    """A provider of language models. Its name is the prefix of its models: `<name>/<model>`.

    The loader is called as `loader(model, handle)` before the run's first job; it returns the address of a server that speaks OpenAI's
    API, ending in `/v1`. `handle` is that of its environment, or None.
    """

    environment: str | None = None
    """An environment of scope `run` that serves the models; its loader gets the option `model`."""
    prices: dict[str, Price] = {}
    """By model name; `*` for all others."""
    api_key_env: str | None = None
    """The name of the variable that holds the key; None when none is needed."""


class StubFormatSpec(Component):
    """An answer format that the stub model learns in runs of the plugin's own tasks, trainers or proposers.

    The loader names a `StubFormat`.
    """

    role: Role = "optimizer"
    """Whose prompts it answers."""


class AggregateSpec(Component):
    """How the scores of a batch become one. The loader names `(scores, metrics) -> float`.

    `scores` holds a number per example, and `metrics` the native metrics of each, in the same order.
    """


class ViewSpec(Component):
    """A part of a report or a screen. The loader names `(run, job_id) -> Any`; `job_id` is None for the whole run."""

    kind: Literal["columns", "chart", "picture", "frames", "page"]
    """`frames`: one example as successive candidates solved it, as pairs of a candidate's id and a picture."""
    suites: tuple[str, ...] = ()
    """Whose jobs it is for; empty for all."""


class AttackSpec(Component):
    """A set of attacks on tasks that run code of candidates. The loader names `(target: Target) -> Iterator[Forgery | str]`.

    `trace-bench attack` asks it for one forgery after another, each once the one before was evaluated; a `str` says what could not be
    tried and why. `Target` and `Forgery` are in `tracebench_testing.attacks`.
    """

"""What else a plugin may offer: environments, model providers, stub answers, aggregates, views, attacks, coding agents."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tracebench_core.specs.base import Ref, Role
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
    told_job: bool = False
    """Whether the server is told in the header `X-Trace-Bench-Job`, as JSON, which job each call is of:
    `{"job": ID, "seed": INTEGER, "task": ID, "options": {...}, "occurrence": INTEGER, "sampling": HASH}`. A model that is a script may need
    it: prompts of many optimizers do not say what the task is, and jobs ask the same question. `occurrence` is how often the job asked
    exactly this before; of equal calls side by side it goes by their order, not by which comes first, so that a script answers a run
    that is repeated as it did before. `sampling` names what else was asked for, a temperature for instance, and is left out of a call
    that asks for nothing."""


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


Wire = Literal["chat", "responses", "messages", "gemini"]
"""An interface by which a program asks a model."""


class AgentSpec(Component):
    """A coding agent; `trace-bench agents install` gets it into an environment of its own.

    In `argv`, `environ` and `files` these words stand for what is known when a job starts it: `{task}` the task in words, `{model}` the
    model's name, `{key}` the job's key, `{base_url}` the gateway's address that ends in `/v1`, `{host_url}` the same without it,
    `{workdir}` the folder in which it works, `{home}` its home. The argument `{files}` becomes the names of the files that it may change.
    """

    loader: Ref = "tracebench_core.plugins.agents:find_agent"
    requirements: tuple[str, ...] = ()
    """What is installed from PyPI, each with its bounds."""
    python: str = ">=3.11"
    """Which Pythons will do, where there are `requirements`."""
    packages: tuple[str, ...] = ()
    """What is installed from npm, each as `name@range`."""
    node: str = ">=20"
    """Which Node will do, where there are `packages`."""
    program: str
    """The command that the installation brings; where it brings none, one on `PATH`."""
    by_hand: str = ""
    """How the user gets it, in words, where neither PyPI nor npm has it."""
    wire: Wire
    """The interface by which it asks the gateway."""
    argv: tuple[str, ...]
    """The program's arguments: it asks no question, and ends by itself."""
    environ: dict[str, str] = {}
    """Variables of its environment: where its model is, and what it must not do (updates, telemetry, questions)."""
    files: dict[str, str] = {}
    """Its settings: texts by their paths below its home."""

    @property
    def is_installable(self) -> bool:
        """Whether PyPI or npm has it."""
        return bool(self.requirements or self.packages)

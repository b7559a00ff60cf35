"""What a config may set for a task through `eval_kwargs`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracebench_core.specs.base import Spec
from tracebench_hfqa.entry import ProgramName


class TaskOptions(Spec):
    """Sizes, the program, and how often a row is asked. What is None comes from the task's entry."""

    num_train: int | None = Field(default=None, ge=1, le=1_000_000)
    num_validate: int | None = Field(default=None, ge=0, le=1_000_000)
    num_test: int | None = Field(default=None, ge=0, le=1_000_000)
    split_seed: int = Field(default=0, ge=0)
    """Draws which rows are train, validation and test; equal for all jobs of a comparison."""
    program: ProgramName | None = None
    """`instructions`, `chain_of_thought`, `few_shot`, `two_hop`, `template` or `code`; `tools` is that of dialogues with tools."""
    initial_instructions: str | None = Field(default=None, min_length=1)
    demonstrations: int = Field(default=0, ge=0, le=64)
    """Most demonstrations that the program `few_shot` may show; 8 when it is chosen and this is 0."""
    num_eval_repeats: int = Field(default=1, ge=1, le=64)
    """Times that a row is asked; the score is the mean, and the metric `spread` its standard deviation."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Of the program's calls; the model's own default when None."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Of one reply of the program."""
    judge: bool = False
    """Ask a model (role `judge`) whether the answer means the same as the gold one: a metric of its own, never the score."""
    oracle: bool = True
    """A metric `content`: what an extractor that knew the right answer would have got out of the reply; never the score, and told to no
    trainer."""
    framework: Literal["trace", "dspy"] = "trace"
    """Accepted for configs that name it; every trainer, DSPy's too, runs on the same program."""


class TokenOptions(TaskOptions):
    """Options of the tasks that weigh accuracy against tokens."""

    n_train: int | None = Field(default=None, ge=1, le=1_000_000)
    """Another name of `num_train`."""
    n_val: int | None = Field(default=None, ge=0, le=1_000_000)
    """Another name of `num_validate`."""
    seed: int | None = Field(default=None, ge=0)
    """Another name of `split_seed`."""
    model: str | None = None
    """Refused unless empty: a model is named under `llm`, where it is metered."""
    objective_mode: Literal["weighted", "pareto"] = "weighted"
    """`weighted`: the score is accuracy less the tokens, weighed; `pareto`: the score is accuracy, tokens are an objective beside it."""
    token_weight: float = Field(default=0.001, ge=0, le=1)
    """What one token costs in accuracy, when weighted."""

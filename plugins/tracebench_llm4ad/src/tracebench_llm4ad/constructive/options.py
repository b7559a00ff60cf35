"""Options of the constructive tasks, named as LLM4AD's evaluators name theirs."""

from __future__ import annotations

from pydantic import Field

from tracebench_llm4ad.options import TaskOptions


class TspOptions(TaskOptions):
    """Travelling salesman."""

    problem_size: int = Field(default=50, ge=5, le=500)
    """Cities."""

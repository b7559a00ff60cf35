"""Options of the constructive tasks, named as LLM4AD's evaluators name theirs."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tracebench_llm4ad.options import TaskOptions


class TspOptions(TaskOptions):
    """Travelling salesman."""

    problem_size: int = Field(default=50, ge=5, le=500)
    """Cities."""


class RoutingOptions(TaskOptions):
    """Vehicle routing, with or without time windows."""

    problem_size: int = Field(default=50, ge=5, le=500)
    """Customers, besides the depot."""
    capacity: int = Field(default=40, ge=9)
    """Of every vehicle; a customer's demand is 1 to 9."""


class JsspOptions(TaskOptions):
    """Job-shop scheduling."""

    n_jobs: int = Field(default=20, ge=2, le=200)
    n_machines: int = Field(default=10, ge=2, le=50)


class KnapsackOptions(TaskOptions):
    """0/1 knapsack."""

    n_items: int = Field(default=50, ge=2, le=1000)
    knapsack_capacity: int = Field(default=100, ge=50, le=100_000)


class Bp1dOptions(TaskOptions):
    """One-dimensional bin packing."""

    n_items: int = Field(default=120, ge=2, le=2000)
    bin_capacity: int = Field(default=150, ge=100, le=100_000)


class Bp2dOptions(TaskOptions):
    """Two-dimensional bin packing."""

    n_instance: int = Field(default=3, ge=1, le=256)
    n_items: int = Field(default=60, ge=2, le=500)
    bin_width: int = Field(default=30, ge=10, le=200)
    bin_height: int = Field(default=30, ge=10, le=200)


class SetCoverOptions(TaskOptions):
    """Minimum set cover."""

    n_instance: int = Field(default=8, ge=1, le=256)
    n_elements: int = Field(default=50, ge=8, le=1000)
    n_subsets: int = Field(default=50, ge=5, le=1000)
    max_subset_size: int = Field(default=8, ge=2, le=100)

    @model_validator(mode="after")
    def _enough_distinct_subsets(self) -> Self:
        pairs = self.n_elements * (self.n_elements - 1) // 2
        if 2 * self.n_subsets > pairs:
            raise ValueError(
                f"`n_subsets` must be at most {pairs // 2} for {self.n_elements} elements: subsets are distinct"
            )
        return self


class CflpOptions(TaskOptions):
    """Capacitated facility location with given facilities."""

    n_facilities: int = Field(default=10, ge=2, le=200)
    n_customers: int = Field(default=50, ge=2, le=1000)
    slack: float = Field(default=1.3, ge=1.2, le=10.0)
    """Total capacity over total demand."""


class QapOptions(TaskOptions):
    """Quadratic assignment."""

    n_facilities: int = Field(default=30, ge=3, le=200)

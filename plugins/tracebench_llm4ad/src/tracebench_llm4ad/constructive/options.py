"""Options of the constructive tasks, named as LLM4AD's evaluators name theirs."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from tracebench_llm4ad.options import SizedOptions, Sizes

MANY = {"n_instance": 16, "n_test": 4}
"""What `ranking` has of instances, so that close heuristics can be told apart."""


class TspOptions(SizedOptions):
    """Travelling salesman."""

    SIZES: ClassVar[Sizes] = {
        "small": {"problem_size": 20},
        "medium": {"problem_size": 50},
        "ranking": {"problem_size": 100, **MANY},
    }
    """As in Kool et al. 2019, EoH and ReEvo."""

    problem_size: int = Field(default=50, ge=5, le=500)
    """Cities."""
    data: Literal["generated", "published", "real"] = "generated"
    """`published`: the sets of ReEvo (Ye et al. 2024), drawn again from its seed, the first `n_instance` of 64; it trains on 50 cities.
    `real`: TSPLIB's files in the sub-folder `TSPLIB` of the folder of data, an instance each."""


class RoutingOptions(SizedOptions):
    """Vehicle routing, with or without time windows."""

    SIZES: ClassVar[Sizes] = {
        "small": {"problem_size": 20, "capacity": 30},
        "medium": {"problem_size": 50, "capacity": 40},
        "ranking": {"problem_size": 100, "capacity": 50, **MANY},
    }
    """As in Nazari et al. 2018 and Kool et al. 2019."""

    problem_size: int = Field(default=50, ge=5, le=500)
    """Customers, besides the depot."""
    capacity: int = Field(default=40, ge=9)
    """Of every vehicle; a customer's demand is 1 to 9."""


class CvrpOptions(RoutingOptions):
    """Capacitated vehicle routing."""

    data: Literal["generated", "real"] = "generated"
    """`real`: CVRPLIB's files in the sub-folder `CVRPLIB` of the folder of data, an instance each."""


class JsspOptions(SizedOptions):
    """Job-shop scheduling."""

    SIZES: ClassVar[Sizes] = {
        "small": {"n_jobs": 10, "n_machines": 10},
        "medium": {"n_jobs": 20, "n_machines": 15},
        "ranking": {"n_jobs": 30, "n_machines": 20, **MANY},
    }
    """As Taillard's (1993), the smallest as Muth and Thompson's."""

    n_jobs: int = Field(default=20, ge=2, le=200)
    n_machines: int = Field(default=10, ge=2, le=50)


class KnapsackOptions(SizedOptions):
    """0/1 knapsack."""

    SIZES: ClassVar[Sizes] = {
        "small": {"draw": "uniform", "n_items": 50, "knapsack_capacity": 125_000},
        "medium": {"draw": "uniform", "n_items": 100, "knapsack_capacity": 250_000},
        "ranking": {"draw": "uniform", "n_items": 200, "knapsack_capacity": 250_000, **MANY},
    }
    """As in Kwon et al. 2020 (POMO) and after them, in ten-thousandths: capacities of 12.5, 25 and 25."""

    n_items: int = Field(default=50, ge=2, le=1000)
    knapsack_capacity: int = Field(default=100, ge=50, le=1_000_000)
    draw: Literal["correlated", "uniform"] = "correlated"
    """`uniform`: weights and values from 0 to 1 that have nothing to do with each other, in ten-thousandths."""


class Bp1dOptions(SizedOptions):
    """One-dimensional bin packing."""

    SIZES: ClassVar[Sizes] = {
        "small": {"n_items": 120},
        "medium": {"n_items": 250},
        "ranking": {"n_items": 500, **MANY},
    }
    """As OR-Library's classes u120, u250 and u500 (Falkenauer 1996)."""

    n_items: int = Field(default=120, ge=2, le=2000)
    bin_capacity: int = Field(default=150, ge=100, le=100_000)


class Bp2dOptions(SizedOptions):
    """Two-dimensional bin packing."""

    SIZES: ClassVar[Sizes] = {
        "small": {"n_items": 20},
        "medium": {"n_items": 60},
        "ranking": {"n_items": 100, **MANY},
    }
    """Numbers of items as in Berkey and Wang 1987."""

    n_instance: int = Field(default=3, ge=1, le=256)
    n_items: int = Field(default=60, ge=2, le=500)
    bin_width: int = Field(default=30, ge=10, le=200)
    bin_height: int = Field(default=30, ge=10, le=200)


class SetCoverOptions(SizedOptions):
    """Minimum set cover."""

    SIZES: ClassVar[Sizes] = {
        "small": {"n_elements": 50, "n_subsets": 50},
        "medium": {"n_elements": 100, "n_subsets": 300},
        "ranking": {"n_elements": 200, "n_subsets": 1000, "max_subset_size": 20, **MANY},
    }
    """`ranking` has the size and about the density of OR-Library's class 4 (Balas and Ho 1980)."""

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


class CflpOptions(SizedOptions):
    """Capacitated facility location with given facilities."""

    SIZES: ClassVar[Sizes] = {
        "small": {"n_facilities": 16, "n_customers": 50},
        "medium": {"n_facilities": 25, "n_customers": 50},
        "ranking": {"n_facilities": 50, "n_customers": 50, **MANY},
    }
    """As OR-Library's cap41 to cap134."""

    n_facilities: int = Field(default=10, ge=2, le=200)
    n_customers: int = Field(default=50, ge=2, le=1000)
    slack: float = Field(default=1.3, ge=1.2, le=10.0)
    """Total capacity over total demand; more where customers that come in their order would not fit."""


class QapOptions(SizedOptions):
    """Quadratic assignment."""

    SIZES: ClassVar[Sizes] = {
        "small": {"n_facilities": 12},
        "medium": {"n_facilities": 30},
        "ranking": {"n_facilities": 50, **MANY},
    }
    """As QAPLIB's tai12a, tai30a and tai50a."""

    n_facilities: int = Field(default=30, ge=3, le=200)

"""The six law-finding tasks as data."""

from __future__ import annotations

from tracebench_core.specs import TaskSpec
from tracebench_llm4ad.table import SCIENTIFIC, row


def _law(name: str, title: str, *, description: str, options: str = "options:ScienceOptions") -> TaskSpec:
    return row(
        f"science_discovery/{name}",
        f"science.{name}",
        title=title,
        description=description,
        metric="digits",
        direction="maximize",
        options=f"science.{options}",
        tags=("symbolic-regression",),
        preload=("scipy.optimize",),
        sandbox=SCIENTIFIC,
        comparability=4,
    )


SPECS: tuple[TaskSpec, ...] = (
    _law(
        "bactgrow",
        "Bacterial growth: a law of the growth rate of E. coli",
        description="From population, substrate, temperature and pH; the law of LLM-SR with our own constants.",
    ),
    _law(
        "feynman_srsd",
        "Feynman: a formula of physics from a table of numbers",
        description="One of 30 formulas of the Feynman Lectures, chosen by `law`.",
        options="feynman_srsd:FeynmanOptions",
    ),
    _law(
        "ode_1d",
        "ODE: a law of motion in one dimension from observed paths",
        description="One of the first 16 laws of ODEBench, chosen by `test_id`.",
        options="ode_1d:OdeOptions",
    ),
    _law(
        "oscillator1",
        "Oscillator 1: a damped nonlinear oscillator",
        description="Acceleration from position and velocity; the law of LLM-SR.",
    ),
    _law(
        "oscillator2",
        "Oscillator 2: a driven, damped nonlinear oscillator",
        description="Acceleration from time, position and velocity; the law of LLM-SR.",
    ),
    _law(
        "stresstrain",
        "Stress and strain: an aluminium rod under tension",
        description="Stress from strain and temperature, elastic and plastic; Johnson and Cook's law.",
    ),
)

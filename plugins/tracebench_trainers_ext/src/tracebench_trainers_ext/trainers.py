"""Builds the trainers: which adapter, which library, which tasks it cannot serve."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import BaseModel

from tracebench_core.contracts import Problem
from tracebench_core.errors import NotApplicableError
from tracebench_trainers_ext import libraries
from tracebench_trainers_ext.applicability import (
    is_demonstrations,
    needs_demonstrations,
    needs_instructions,
    needs_numbers,
    needs_one_code,
    needs_text,
)
from tracebench_trainers_ext.coding import CodingAgent
from tracebench_trainers_ext.launch import ForeignTrainer
from tracebench_trainers_ext.settings.agent import AgentSettings
from tracebench_trainers_ext.settings.dspy import (
    BootstrapSettings,
    CoproSettings,
    DspyGepaSettings,
    DspyTrainerSettings,
    MiproSettings,
    SimbaSettings,
)


def gepa_optimize(settings: BaseModel) -> ForeignTrainer:
    """Return `gepa-optimize`."""
    return ForeignTrainer("gepa_optimize", libraries.GEPA, settings)


def gepa_anything(settings: BaseModel) -> ForeignTrainer:
    """Return `gepa-anything`."""
    return ForeignTrainer("gepa_anything", libraries.GEPA, settings)


def copro(settings: BaseModel) -> ForeignTrainer:
    """Return `DSPy-COPRO`."""
    return ForeignTrainer("dspy_optimizers:copro", libraries.DSPY, settings, rules=(needs_text,))


def miprov2(settings: BaseModel) -> ForeignTrainer:
    """Return `DSPy-MIPROv2`."""
    return ForeignTrainer("dspy_optimizers:miprov2", libraries.DSPY, settings, rules=(needs_text,))


def simba(settings: BaseModel) -> ForeignTrainer:
    """Return `DSPy-SIMBA`."""
    return ForeignTrainer("dspy_optimizers:simba", libraries.DSPY, settings, rules=(needs_instructions,))


def dspy_gepa(settings: BaseModel) -> ForeignTrainer:
    """Return `DSPy-GEPA`."""
    return ForeignTrainer("dspy_optimizers:gepa", libraries.DSPY, settings, rules=(needs_text,))


def textgrad(settings: BaseModel) -> ForeignTrainer:
    """Return `TextGrad`."""
    return ForeignTrainer("textgrad_loop", libraries.TEXTGRAD, settings)


def adalflow(settings: BaseModel) -> ForeignTrainer:
    """Return `AdalFlow`."""
    return ForeignTrainer("adalflow_fit", libraries.ADALFLOW, settings)


def openevolve(settings: BaseModel) -> ForeignTrainer:
    """Return `OpenEvolve`."""
    return ForeignTrainer("openevolve_run", libraries.OPENEVOLVE, settings)


def skydiscover(settings: BaseModel) -> ForeignTrainer:
    """Return `SkyDiscover-AdaEvolve` or `SkyDiscover-BestOfN`."""
    return ForeignTrainer("skydiscover_run", libraries.SKYDISCOVER, settings)


def optuna(settings: BaseModel) -> ForeignTrainer:
    """Return `Optuna`."""
    return ForeignTrainer("optuna_search", libraries.OPTUNA, settings, rules=(needs_numbers,))


def nevergrad(settings: BaseModel) -> ForeignTrainer:
    """Return `Nevergrad`."""
    return ForeignTrainer("nevergrad_search", libraries.NEVERGRAD, settings, rules=(needs_numbers,))


def shinka(settings: BaseModel) -> ForeignTrainer:
    """Return `ShinkaEvolve`."""
    return ForeignTrainer("shinka_run", libraries.SHINKA, settings, rules=(needs_one_code,))


def agent(settings: AgentSettings) -> ForeignTrainer:
    """Return `Agent`."""
    return CodingAgent(settings)


def dspy_trainer(settings: DspyTrainerSettings) -> ForeignTrainer:
    """Return the optimizer that `DSPyTrainer` names, with those of its settings that it knows."""
    build, model = CLASSIC[settings.dspy_optimizer]
    known = {name: value for name, value in settings.model_dump().items() if name in model.model_fields}
    return build(model.model_validate(known))


CLASSIC: Mapping[str, tuple[Callable[[BaseModel], ForeignTrainer], type[BaseModel]]] = {
    "copro": (copro, CoproSettings),
    "mipro": (miprov2, MiproSettings),
    "simba": (simba, SimbaSettings),
    "gepa": (dspy_gepa, DspyGepaSettings),
}


class Bootstrap:
    """`DSPy-BootstrapFewShot`: finds the parameter that takes demonstrations, and leaves the rest to the adapter."""

    def __init__(self, settings: BootstrapSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Train by the library.

        Raises:
            NotApplicableError: when no parameter takes demonstrations.
        """
        if why := needs_demonstrations(problem):
            raise NotApplicableError(why)
        found = [p.name for p in problem.parameters if is_demonstrations(p)]
        asked = self.settings.parameter or found[0]
        if asked not in found:
            raise NotApplicableError(f"`{asked}` takes no demonstrations; {found[0]} does")
        settings = self.settings.model_copy(update={"parameter": asked})
        ForeignTrainer("dspy_bootstrap:bootstrap", libraries.DSPY, settings).train(problem)

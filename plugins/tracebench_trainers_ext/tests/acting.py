"""Settings of the other libraries' trainers that are seen to act, each with what it is tried on: `benchmarks/knobs.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from plugins.tracebench_trainers_ext.tests.forms import in_form, written
from plugins.tracebench_trainers_ext.tests.test_twins import NUMBER, SHOTS, TOYS, Row, Rules, Script


class Knob(NamedTuple):
    """One setting of a trainer, and what it is tried on."""

    trainer: str
    params: Mapping[str, Any]
    """The setting."""
    beside: Mapping[str, Any] = MappingProxyType({})
    """What is set in the runs without it, too."""
    task: str = "internal:code_param"
    model: Callable[[], Callable[[list[dict[str, Any]]], str]] = Script
    budget: Mapping[str, int] = MappingProxyType({})

    def shown(self) -> str:
        """Return the setting as it stands in a config."""
        return _flow(self.params)[1:-1]

    def base(self) -> str:
        """Return what runs without the setting share."""
        return json.dumps([self.trainer, dict(self.beside), self.task, self.model.__name__, dict(self.budget)])


def _flow(value: Any) -> str:
    """Write a value in YAML's flow style."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_flow(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(each) for each in value) + "]"
    return json.dumps(value) if isinstance(value, bool | None) else str(value)


class Grown:
    """A model that answers with a text of one rule more each time."""

    def __init__(self) -> None:
        self._given = 0

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        self._given += 1
        return in_form(written(messages), " ".join(f"Rule {number}." for number in range(self._given)))


WORDS = f"{TOYS}:words"
SIXTY = MappingProxyType({"evaluations": 60})


def _own(trainer: str, params: Mapping[str, Any], **rest: Any) -> list[Knob]:
    """Return a knob for each setting of a mapping."""
    return [Knob(trainer, {name: value}, **rest) for name, value in params.items()]


def _library(trainer: str, given: Mapping[str, Any], **rest: Any) -> list[Knob]:
    """Return a knob for each of the library's own settings in a mapping; dotted names are nested."""
    knobs = []
    for name, value in given.items():
        nested = value
        for part in reversed(name.split(".")):
            nested = {part: nested}
        knobs.append(Knob(trainer, {"library": nested}, **rest))
    return knobs


TWO = f"{TOYS}:pair"
TEMPLATE = "MARK <curr_param> <side_info>"
TAGS = "MARK {new_variable_start_tag} {new_variable_end_tag}"
TEN, FIVE = MappingProxyType({"iterations": 10}), MappingProxyType({"iterations": 5})
TRIALS = MappingProxyType({"n_trials": 30})

KNOBS: tuple[Knob, ...] = (
    *_own("Optuna", {"n_trials": 10, "reach": 2.0, "sampler": "random"}, task=NUMBER, beside=TRIALS),
    *_library("Optuna", {"n_startup_trials": 2, "n_ei_candidates": 2, "prior_weight": 9.0}, task=NUMBER, beside=TRIALS),
    *_own("Nevergrad", {"n_trials": 10, "reach": 2.0, "optimizer": "OnePlusOne"}, task=NUMBER, beside=TRIALS),
    *_own(
        "gepa-optimize",
        {"temperature": 0.3, "reflection_minibatch_size": 1},
        budget=SIXTY,
    ),
    *_library("gepa-optimize", {"reflection_prompt_template": TEMPLATE}, budget=SIXTY),
    *_own("gepa-optimize", {"module_selector": "all", "use_merge": True}, budget=SIXTY, task=TWO, model=Grown),
    *_own("gepa-anything", {"background": "Numbers double.", "max_refinements": 1, "mode": "single-task"}, budget=SIXTY),
    *_own("gepa-anything", {"mode": "multi-task"}, budget=SIXTY, task=TWO, model=Grown),
    *_library("gepa-anything", {"engine.max_candidate_proposals": 2, "reflection.reflection_prompt_template": TEMPLATE}, budget=SIXTY),
    *_own("OpenEvolve", {"num_top_programs": 1}, model=Row, beside=TEN),
    *_library(
        "OpenEvolve",
        {"prompt.include_artifacts": False, "database.exploration_ratio": 0.9, "llm.models": [{"temperature": 0.1}]},
        model=Row, beside=TEN,
    ),
    *_library(
        "SkyDiscover-AdaEvolve", {"search.database.num_islands": 3}, model=Row, beside=TEN
    ),
    *_library("SkyDiscover-BestOfN", {"search.database.best_of_n": 2}, model=Row, beside=TEN),
    *_own("TextGrad", {"batch_size": 1, "constraints": ["Be short."]}, beside={"num_steps": 4}),
    *_library(
        "TextGrad",
        {"gradient_memory": 2, "momentum_window": 2, "optimizer_system_prompt": TAGS},
        beside={"num_steps": 4},
    ),
    *_own("AdalFlow", {"strategy": "random", "train_batch_size": 2, "max_past_history": 0}, beside={"max_steps": 4}),
    *_own("DSPy-COPRO", {"depth": 2, "init_temperature": 0.5}, beside={"breadth": 3}),
    *_own("DSPy-MIPROv2", {"num_candidates": 3, "tip_aware_proposer": False}, beside={"num_trials": 6}),
    *_library("DSPy-MIPROv2", {"view_data_batch_size": 2, "minibatch": True}, beside={"num_trials": 6}),
    *_own("DSPy-SIMBA", {"bsize": 2, "max_steps": 2}, task=WORDS, model=Rules),
    *_own("DSPy-GEPA", {"reflection_minibatch_size": 1}, budget=SIXTY),
    *_library("DSPy-GEPA", {"component_selector": "all"}, budget=SIXTY, task=TWO, model=Grown),
    *_own(
        "DSPy-BootstrapFewShot",
        {"max_bootstrapped_demos": 1, "num_candidate_programs": 2, "metric_threshold": 0.0},
        task=f"{TOYS}:shots", beside=SHOTS,
    ),
    *_own("ShinkaEvolve", {"patch_types": ["diff"]}, model=Row, beside=FIVE),
    *_library(
        "ShinkaEvolve",
        {"use_text_feedback": False, "database.num_top_k_inspirations": 0},
        model=Row, beside=FIVE,
    ),
)  # fmt: skip
"""Where `beside` sets what the setting sets, the setting wins."""

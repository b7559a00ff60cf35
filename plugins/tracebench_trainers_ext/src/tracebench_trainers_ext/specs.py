"""The trainers as data; importing this imports none of the libraries."""

from __future__ import annotations

from tracebench_core.specs import Requirement, TrainerSpec
from tracebench_trainers_ext import libraries
from tracebench_trainers_ext.libraries import Library

PACKAGE = "tracebench_trainers_ext"


def _spec(name: str, build: str, settings: str, *, library: Library, title: str, citation: str) -> TrainerSpec:
    return TrainerSpec(
        name=name,
        loader=f"{PACKAGE}.trainers:{build}",
        settings=f"{PACKAGE}.settings.{settings}",
        title=title,
        citation=citation,
        requires=(
            Requirement(kind="module", name=library.module, hint=library.hint, python=library.python, unless="python"),
        ),
    )


GEPA = "GEPA: Reflective Prompt Evolution Can Outperform Reinforcement Learning, arXiv 2507.19457; https://github.com/gepa-ai/gepa"

TRAINER_SPECS: tuple[TrainerSpec, ...] = (
    _spec(
        "gepa-optimize",
        "gepa_optimize",
        "gepa:GepaOptimizeSettings",
        library=libraries.GEPA,
        title="The gepa library's own engine: reflective evolution on a Pareto front",
        citation=GEPA,
    ),
    _spec(
        "gepa-anything",
        "gepa_anything",
        "gepa:GepaAnythingSettings",
        library=libraries.GEPA,
        title="The gepa library's optimize_anything: any text, with its evaluation's words",
        citation=GEPA,
    ),
)

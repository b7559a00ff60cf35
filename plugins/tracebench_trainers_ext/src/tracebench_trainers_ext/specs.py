"""The trainers as data; importing this imports none of the libraries."""

from __future__ import annotations

from tracebench_core.specs import Requirement, TrainerSpec
from tracebench_trainers_ext import libraries
from tracebench_trainers_ext.libraries import Library

PACKAGE = "tracebench_trainers_ext"
SETTING_ALIASES = {
    "TextGrad": {"train_batch_size": "batch_size", "threads": "num_threads"},
    "OpenEvolve": {"num_steps": "iterations", "threads": "num_threads"},
}


def _spec(
    name: str,
    build: str,
    settings: str,
    *,
    library: Library | None,
    title: str,
    citation: str,
    twin: str | None = None,
    advice: str | None = None,
    uses_model: bool = True,
    aliases: tuple[str, ...] = (),
) -> TrainerSpec:
    return TrainerSpec(
        name=name,
        loader=f"{PACKAGE}.trainers:{build}",
        settings=f"{PACKAGE}.settings.{settings}",
        title=title,
        citation=citation,
        advice=f"{PACKAGE}.{advice}" if advice else None,
        twin=f"{PACKAGE}.twins:{twin}" if twin else None,
        uses_model=uses_model,
        aliases=aliases,
        setting_aliases=SETTING_ALIASES.get(name, {}),
        requires=_needed(library) if library else (),
    )


def _needed(library: Library) -> tuple[Requirement, ...]:
    return (Requirement(kind="module", name=library.module, hint=library.hint, python=library.python, unless="python"),)


DSPY = "DSPy, https://github.com/stanfordnlp/dspy"
GEPA = "GEPA: Reflective Prompt Evolution Can Outperform Reinforcement Learning, arXiv 2507.19457; https://github.com/gepa-ai/gepa"

TRAINER_SPECS: tuple[TrainerSpec, ...] = (
    _spec(
        "gepa-optimize",
        "gepa_optimize",
        "gepa:GepaOptimizeSettings",
        library=libraries.GEPA,
        twin="gepa_optimize",
        title="The gepa library's own engine: reflective evolution on a Pareto front",
        citation=GEPA,
    ),
    _spec(
        "gepa-anything",
        "gepa_anything",
        "gepa:GepaAnythingSettings",
        library=libraries.GEPA,
        twin="gepa_anything",
        title="The gepa library's optimize_anything: any text, with its evaluation's words",
        citation=GEPA,
    ),
    _spec(
        "DSPy-COPRO",
        "copro",
        "dspy:CoproSettings",
        library=libraries.DSPY,
        twin="copro",
        title="DSPy's coordinate ascent over instructions",
        citation=DSPY,
    ),
    _spec(
        "DSPy-MIPROv2",
        "miprov2",
        "dspy:MiproSettings",
        library=libraries.DSPY,
        twin="miprov2",
        title="DSPy's proposals with Bayesian search over their combinations",
        citation="Optimizing Instructions and Demonstrations for Multi-Stage Language Model Programs, arXiv 2406.11695",
    ),
    _spec(
        "DSPy-SIMBA",
        "simba",
        "dspy:SimbaSettings",
        library=libraries.DSPY,
        twin="simba",
        title="DSPy's rules from good and bad rollouts of one example",
        citation=DSPY,
    ),
    _spec(
        "DSPy-GEPA",
        "dspy_gepa",
        "dspy:DspyGepaSettings",
        library=libraries.DSPY,
        twin="dspy_gepa",
        title="DSPy's entrance to GEPA",
        citation=GEPA,
    ),
    _spec(
        "DSPy-BootstrapFewShot",
        "Bootstrap",
        "dspy:BootstrapSettings",
        library=libraries.DSPY,
        twin="bootstrap",
        title="DSPy's worked examples, for tasks with a demonstrations parameter",
        citation=DSPY,
    ),
    _spec(
        "TextGrad",
        "textgrad",
        "textgrad:TextGradSettings",
        library=libraries.TEXTGRAD,
        twin="textgrad",
        title="The textgrad library's descent: feedback as gradient, direct or through its graph",
        citation="TextGrad: Automatic Differentiation via Text, arXiv 2406.07496",
        aliases=("TextGradTrainer",),
    ),
    _spec(
        "AdalFlow",
        "adalflow",
        "adalflow:AdalFlowSettings",
        library=libraries.ADALFLOW,
        twin="adalflow",
        title="AdalFlow's textual gradient descent, with its tests of every proposal",
        citation="LLM-AutoDiff: Auto-Differentiate Any LLM Workflow, arXiv 2501.16673; https://github.com/SylphAI-Inc/AdalFlow",
    ),
    _spec(
        "OpenEvolve",
        "openevolve",
        "evolution:OpenEvolveSettings",
        library=libraries.OPENEVOLVE,
        twin="openevolve",
        title="OpenEvolve's islands of programs",
        citation="OpenEvolve, https://github.com/algorithmicsuperintelligence/openevolve",
        aliases=("OpenEvolveTrainer",),
    ),
    _spec(
        "SkyDiscover-AdaEvolve",
        "skydiscover",
        "evolution:AdaEvolveSettings",
        library=libraries.SKYDISCOVER,
        twin="skydiscover",
        title="SkyDiscover's adaptive islands",
        citation="AdaEvolve and SkyDiscover, https://github.com/skydiscover-ai/skydiscover",
    ),
    _spec(
        "SkyDiscover-BestOfN",
        "skydiscover",
        "evolution:SkyBestOfNSettings",
        library=libraries.SKYDISCOVER,
        twin="skydiscover",
        title="SkyDiscover's best of n",
        citation="AdaEvolve and SkyDiscover, https://github.com/skydiscover-ai/skydiscover",
    ),
    _spec(
        "Optuna",
        "optuna",
        "numeric:OptunaSettings",
        library=libraries.OPTUNA,
        twin="optuna",
        title="Optuna's TPE over numbers and choices, without a model",
        citation="Optuna: A Next-generation Hyperparameter Optimization Framework, arXiv 1907.10902",
        uses_model=False,
    ),
    _spec(
        "Nevergrad",
        "nevergrad",
        "numeric:NevergradSettings",
        library=libraries.NEVERGRAD,
        twin="nevergrad",
        title="Nevergrad over numbers and choices, without a model",
        citation="Nevergrad, https://github.com/facebookresearch/nevergrad",
        uses_model=False,
    ),
    _spec(
        "ShinkaEvolve",
        "shinka",
        "evolution:ShinkaSettings",
        library=libraries.SHINKA,
        twin="shinka",
        title="ShinkaEvolve's islands, in an interpreter of its own",
        citation="ShinkaEvolve: Towards Open-Ended And Sample-Efficient Program Evolution, arXiv 2509.19349",
    ),
    _spec(
        "Agent",
        "agent",
        "agent:AgentSettings",
        library=None,
        advice="coding:missing_agent",
        title="A coding agent of your choice, in a folder with the candidate's files",
        citation="",
    ),
    _spec(
        "DSPyTrainer",
        "dspy_trainer",
        "dspy:DspyTrainerSettings",
        library=libraries.DSPY,
        title="COPRO, MIPROv2, SIMBA or GEPA by the setting `dspy_optimizer`",
        citation=DSPY,
    ),
)

"""The libraries' own programs beside the trainers: which of them for which, with what settings, and where there is none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, JsonValue

from tracebench_core.contracts import Twin
from tracebench_core.errors import NotApplicableError
from tracebench_core.specs import Parameter
from tracebench_trainers_ext import libraries
from tracebench_trainers_ext.applicability import is_demonstrations
from tracebench_trainers_ext.libraries import Library, find_interpreter
from tracebench_trainers_ext.settings.dspy import BootstrapSettings, MiproSettings
from tracebench_trainers_ext.settings.textgrad import TextGradSettings
from tracebench_trainers_ext.surroundings import OFF

FOREIGN = Path(__file__).with_name("foreign")
PROGRAMS = FOREIGN / "twins"
TEMPLATE = FOREIGN / "tracebench_adapters" / "gepa_code.txt"
WORDS = ("text", "code")
NUMBERS = ("number", "choice")
COMPLETIONS = "several completions of one request arrive in any order"


def gepa_optimize(settings: BaseModel, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `gepa-optimize`; code has a template of its own, as in the trainer."""
    template = {"template": TEMPLATE.read_text(encoding="utf-8")}
    return _twin(libraries.GEPA, "gepa_optimize", settings, parameters, more=template)


def gepa_anything(settings: BaseModel, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `gepa-anything`, on one text."""
    return _twin(libraries.GEPA, "gepa_anything", settings, parameters, most=1)


def copro(settings: BaseModel, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `DSPy-COPRO`."""
    return _dspy("dspy_copro", settings, parameters, any_order=COMPLETIONS)


def miprov2(settings: MiproSettings, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `DSPy-MIPROv2`; where it searches demonstrations, there is none.

    Raises:
        NotApplicableError: when it does.
    """
    if settings.library.get("max_bootstrapped_demos") or settings.library.get("max_labeled_demos"):
        raise NotApplicableError(
            "The twin of `DSPy-MIPROv2` searches instructions alone, and this job demonstrations, too."
        )
    return _dspy("dspy_miprov2", settings, parameters)


def simba(settings: BaseModel, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `DSPy-SIMBA`."""
    return _dspy("dspy_simba", settings, parameters, optimised=("text",))


def dspy_gepa(settings: BaseModel, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `DSPy-GEPA`."""
    return _dspy("dspy_gepa", settings, parameters)


def bootstrap(settings: BootstrapSettings, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `DSPy-BootstrapFewShot`."""
    named = settings.parameter or next(p.name for p in parameters if is_demonstrations(p))
    more: dict[str, JsonValue] = {"parameter": named, "kinds": []}
    return _twin(libraries.DSPY, "dspy_bootstrap", settings, parameters, kinds=None, more=more)


def textgrad(settings: TextGradSettings, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `TextGrad` in direct mode.

    Raises:
        NotApplicableError: for `mode: graph`.
    """
    if settings.mode == "graph":
        raise NotApplicableError("The twin of `TextGrad` is of `mode: direct`, and this job ran with `mode: graph`.")
    return _twin(libraries.TEXTGRAD, "textgrad_loop", settings, parameters)


def adalflow(settings: BaseModel, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `AdalFlow`."""
    return _twin(libraries.ADALFLOW, "adalflow_fit", settings, parameters)


def openevolve(settings: BaseModel, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `OpenEvolve`, on one file."""
    return _twin(libraries.OPENEVOLVE, "openevolve_run", settings, parameters, most=1)


def skydiscover(settings: BaseModel, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `SkyDiscover-AdaEvolve` or `SkyDiscover-BestOfN`, on one file."""
    return _twin(libraries.SKYDISCOVER, "skydiscover_run", settings, parameters, most=1)


def shinka(settings: BaseModel, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `ShinkaEvolve`."""
    return _twin(libraries.SHINKA, "shinka_run", settings, parameters, most=1)


def optuna(settings: BaseModel, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `Optuna`."""
    return _twin(libraries.OPTUNA, "optuna_search", settings, parameters, kinds=NUMBERS)


def nevergrad(settings: BaseModel, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of `Nevergrad`."""
    return _twin(libraries.NEVERGRAD, "nevergrad_search", settings, parameters, kinds=NUMBERS)


def _dspy(
    program: str,
    settings: BaseModel,
    parameters: Sequence[Parameter],
    *,
    optimised: Sequence[str] = WORDS,
    any_order: str = "",
) -> Twin:
    more: dict[str, JsonValue] = {"kinds": list(optimised)}
    return _twin(libraries.DSPY, program, settings, parameters, kinds=None, more=more, any_order=any_order)


def _twin(
    library: Library,
    program: str,
    settings: BaseModel,
    parameters: Sequence[Parameter],
    *,
    kinds: Collection[str] | None = WORDS,
    most: int | None = None,
    more: Mapping[str, JsonValue] | None = None,
    any_order: str = "",
) -> Twin:
    """Return a twin; it takes parameters of some `kinds` (None: of any), and of them so many at most."""
    other = next((p for p in parameters if kinds is not None and p.kind not in kinds), None)
    if other is not None:
        raise NotApplicableError(
            f"The twin for `{library.distribution}` takes parameters of kind {' or '.join(f'`{k}`' for k in kinds or ())}, and "
            f"`{other.name}` is of kind `{other.kind}`."
        )
    if most is not None and len(parameters) > most:
        raise NotApplicableError(
            f"The twin for `{library.distribution}` takes one parameter, and this task has {len(parameters)}."
        )
    return Twin(
        program=PROGRAMS / f"{program}.py",
        python=find_interpreter(library, getattr(settings, "python", None)),
        library=library.distribution,
        settings=settings.model_dump(mode="json") | dict(more or {}),
        environ=OFF,
        any_order=any_order,
    )

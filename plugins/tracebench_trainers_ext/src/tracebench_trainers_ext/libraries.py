"""The libraries behind the trainers: what to import, which versions were tried, and how to get them."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import NamedTuple

from tracebench_core.errors import MissingRequirementError
from tracebench_core.specs import PythonSpec

DISTRIBUTION = "tracebench-trainers-ext"


class Library(NamedTuple):
    """One library, the versions that its adapters are tested with, and the named interpreter that may hold it."""

    name: str
    """Of the extra."""
    module: str
    distribution: str
    low: str
    """Lowest version, included."""
    high: str
    """First version that is too new."""
    python: str = "ext"

    @property
    def hint(self) -> str:
        """The command that brings it."""
        if self.python == "ext":
            return f'pip install "{DISTRIBUTION}[{self.name}]"   (or: trace-bench pythons create ext)'
        return f"trace-bench pythons create {self.python}"


def find_interpreter(library: Library | None, asked: str | None) -> str:
    """Return the path of the Python that runs a library: the one that is asked for, else this one where it has it, else the named one.

    Raises:
        MissingRequirementError: when the library is in neither, with the command that brings it.
    """
    from tracebench_engine.api import find_python  # noqa: PLC0415 - where a library is started alone

    if asked is not None:
        return find_python(asked)
    if library is None or find_spec(library.module) is not None:
        return sys.executable
    try:
        return find_python(library.python)
    except MissingRequirementError:
        raise MissingRequirementError(f"`{library.distribution}` is not installed.", hint=library.hint) from None


GEPA = Library("gepa", "gepa", "gepa", "0.1.4", "0.2")
DSPY = Library("dspy", "dspy", "dspy", "3.4", "3.5")
TEXTGRAD = Library("textgrad", "textgrad", "textgrad", "0.1.8", "0.2")
OPENEVOLVE = Library("openevolve", "openevolve", "openevolve", "0.4", "0.5")
SKYDISCOVER = Library("skydiscover", "skydiscover", "skydiscover", "0.1", "0.2")
OPTUNA = Library("optuna", "optuna", "optuna", "4", "6")
ADALFLOW = Library("adalflow", "adalflow", "adalflow", "1.1.3", "1.2")
NEVERGRAD = Library("nevergrad", "nevergrad", "nevergrad", "1.0.12", "2")
SHINKA = Library("shinka", "shinka", "shinka-evolve", "0.0.7", "0.1", python="shinka")

PYTHONS = (
    PythonSpec(
        name="ext",
        title="gepa, DSPy, TextGrad, OpenEvolve, SkyDiscover, AdalFlow, Optuna, Nevergrad",
        python=">=3.11,<3.14",
        requirements=(
            "gepa>=0.1.4,<0.2",
            "dspy[optuna]>=3.4,<3.5",
            "textgrad>=0.1.8,<0.2",
            "openevolve>=0.4,<0.5",
            "skydiscover>=0.1,<0.2",
            "litellm>=1.80,<1.107",
            "adalflow>=1.1.3,<1.2",
            "openai>=1.97.1,<4",
            "optuna>=4,<6",
            "nevergrad>=1.0.12,<2",
        ),
    ),
    PythonSpec(
        name="shinka",
        title="ShinkaEvolve, whose pins clash with the others",
        python=">=3.11,<3.14",
        requirements=("shinka-evolve>=0.0.7,<0.1",),
    ),
)

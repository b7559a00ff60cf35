"""A job in this process, by its parts: what measures, what counts, what is written down, and the problem that a trainer sees."""

from tracebench_core.builtin.reflective import build as build_reflective
from tracebench_core.engine.confining import JobConfinement
from tracebench_core.engine.context import Shared
from tracebench_core.engine.doors import LazySandbox
from tracebench_core.engine.kernel import adopt_orphans
from tracebench_core.engine.meter import Meter
from tracebench_core.engine.problem import MeteredProblem
from tracebench_core.engine.recorder import Recorder
from tracebench_core.engine.scoring import Scorer
from tracebench_core.engine.service import EvaluationService
from tracebench_core.engine.setup import Setup
from tracebench_core.store.history import Standings
from tracebench_core.store.ranking import FINALISTS

__all__ = [
    "FINALISTS",
    "EvaluationService",
    "JobConfinement",
    "LazySandbox",
    "Meter",
    "MeteredProblem",
    "Recorder",
    "Scorer",
    "Setup",
    "Shared",
    "Standings",
    "adopt_orphans",
    "build_reflective",
]

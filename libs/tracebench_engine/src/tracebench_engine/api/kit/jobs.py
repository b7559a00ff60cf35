"""A job in this process, by its parts: what measures, what counts, what is written down, and the problem that a trainer sees."""

from tracebench_engine.builtin.reflective import build as build_reflective
from tracebench_engine.door.confining import JobConfinement
from tracebench_engine.job.budget import Meter
from tracebench_engine.job.kernel import adopt_orphans
from tracebench_engine.job.problem import MeteredProblem
from tracebench_engine.job.scoring import Scorer
from tracebench_engine.job.setup import Setup
from tracebench_engine.measure.context import Shared
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.measure.sandbox import job_sandbox
from tracebench_engine.measure.service import EvaluationService
from tracebench_runs.events.history import Standings
from tracebench_runs.events.ranking import FINALISTS

__all__ = [
    "FINALISTS",
    "EvaluationService",
    "JobConfinement",
    "Meter",
    "MeteredProblem",
    "Recorder",
    "Scorer",
    "Setup",
    "Shared",
    "Standings",
    "adopt_orphans",
    "build_reflective",
    "job_sandbox",
]

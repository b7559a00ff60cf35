"""A job in this process, by its parts: what measures, what counts, what is written down, and the problem that a trainer sees."""

from tracebench_engine.builtin.reflective import build
from tracebench_engine.door.confining import JobConfinement as JobConfinement
from tracebench_engine.job.budget import Meter as Meter
from tracebench_engine.job.finish import split_data as split_data
from tracebench_engine.job.kernel import adopt_orphans as adopt_orphans
from tracebench_engine.job.problem import MeteredProblem as MeteredProblem
from tracebench_engine.job.scoring import Scorer as Scorer
from tracebench_engine.job.setup import Setup as Setup
from tracebench_engine.measure.context import Shared as Shared
from tracebench_engine.measure.recorder import Recorder as Recorder
from tracebench_engine.measure.sandbox import job_sandbox as job_sandbox
from tracebench_engine.measure.service import EvaluationService as EvaluationService
from tracebench_runs.events.history import Standings as Standings
from tracebench_runs.events.ranking import FINALISTS as FINALISTS

build_reflective = build

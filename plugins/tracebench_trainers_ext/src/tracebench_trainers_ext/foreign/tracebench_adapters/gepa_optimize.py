"""`gepa.optimize`: the library's own engine over the job's task."""

import gepa
from gepa import EvaluationBatch

from . import gepa_common as common
from . import knobs
from .model import Model
from .task import settings_of


class Adapter:
    """gepa's `GEPAAdapter`: evaluates texts at the door, and hands the guide's words to the reflection."""

    propose_new_texts = None

    def __init__(self, task):
        self._task = task

    def evaluate(self, batch, candidate, capture_traces=False):
        """Measure a candidate on a batch of examples."""
        found = self._task.measure(dict(candidate), batch, origin="gepa")
        return EvaluationBatch(
            outputs=[None for _ in found],
            scores=[m.score for m in found],
            trajectories=found if capture_traces else None,
        )

    def make_reflective_dataset(self, candidate, eval_batch, components_to_update):
        """Return the guide's feedback per example, for each text that is up for a change."""
        rows = [common.record(self._task, m.example, m.score, m.feedback) for m in eval_batch.trajectories]
        return dict.fromkeys(components_to_update, rows)


def train(task, settings):
    """Run gepa until its plan or the budget ends."""
    settings = settings_of(settings)
    model = Model(task.endpoint(), temperature=settings.temperature, max_tokens=settings.max_tokens)
    passed = {
        "seed_candidate": task.initial,
        "trainset": task.train,
        "valset": task.validation,
        "adapter": Adapter(task),
        "reflection_lm": common.Reflector(model),
        "reflection_prompt_template": common.templates(task) or None,
        "candidate_selection_strategy": settings.candidate_selection_strategy,
        "reflection_minibatch_size": min(settings.reflection_minibatch_size, len(task.train)),
        "skip_perfect_score": settings.perfect_score is not None,
        "perfect_score": settings.perfect_score if settings.perfect_score is not None else 1.0,
        "module_selector": settings.module_selector,
        "acceptance_criterion": settings.acceptance_criterion,
        "use_merge": settings.use_merge,
        "max_merge_invocations": settings.max_merge_invocations,
        "max_metric_calls": common.planned_calls(task, settings),
        "callbacks": [common.Lineage(task)],
        "logger": common.Quiet(),
        "seed": task.seed,
        "cache_evaluation": False,
        "track_best_outputs": False,
    }
    knobs.call(gepa.optimize, passed, settings.library, held=common.HELD)
    task.end_step()

"""gepa's `optimize_anything`, on one text."""

from statistics import fmean

import gepa.optimize_anything as anything
import recorded
from recorded import settings
from texts import ask, lay, planned_calls, read, side_information

((name, initial),) = recorded.initial.items()


alone = settings.mode == "single-task"


def evaluator(candidate, example=None):
    text = candidate if isinstance(candidate, str) else next(iter(candidate.values()))
    found = recorded.measure(read({name: text}), recorded.train if alone else [example])
    told = [side_information(one) for one in found]
    return fmean(one.score for one in found), told[0] if len(told) == 1 else {"Examples": told}


config = anything.GEPAConfig(
    engine=anything.EngineConfig(
        seed=recorded.seed,
        max_metric_calls=max(1, planned_calls() // (len(recorded.train) if alone else 1)),
        candidate_selection_strategy=settings.candidate_selection_strategy,
        acceptance_criterion=settings.acceptance_criterion,
        parallel=False,
    ),
    reflection=anything.ReflectionConfig(
        reflection_lm=ask,
        reflection_minibatch_size=min(settings.reflection_minibatch_size, len(recorded.train)),
        skip_perfect_score=settings.perfect_score is not None,
        perfect_score=settings.perfect_score,
        module_selector=settings.module_selector,
    ),
)
if settings.max_refinements:
    config.refiner = anything.RefinerConfig(refiner_lm=ask, max_refinements=settings.max_refinements)
anything.optimize_anything(
    seed_candidate=initial,
    evaluator=evaluator,
    dataset=None if alone else recorded.train,
    valset=recorded.validation if settings.mode == "generalization" else None,
    objective=recorded.objective,
    background=settings.background,
    config=lay(config, settings.library),
)

"""gepa's `optimize_anything`, on one text."""

import gepa.optimize_anything as anything
import recorded
from recorded import settings
from texts import ask, lay, planned_calls, read, side_information

((name, initial),) = recorded.initial.items()


def evaluator(candidate, example):
    text = candidate if isinstance(candidate, str) else next(iter(candidate.values()))
    (one,) = recorded.measure(read({name: text}), [example])
    return one.score, side_information(one)


config = anything.GEPAConfig(
    engine=anything.EngineConfig(
        seed=recorded.seed,
        max_metric_calls=planned_calls(),
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
    dataset=recorded.train,
    valset=recorded.validation,
    objective=recorded.objective,
    background=settings.background,
    config=lay(config, settings.library),
)

"""gepa's optimize_anything by hand."""

import gepa.optimize_anything as anything
from world import INITIAL, SEED, TRAIN, VALIDATION, ask, score, tell


def evaluator(candidate, example):
    code = candidate if isinstance(candidate, str) else next(iter(candidate.values()))
    found = score(code, example)
    return found, {"Score": found}


anything.optimize_anything(
    seed_candidate=INITIAL,
    evaluator=evaluator,
    dataset=TRAIN,
    valset=VALIDATION,
    objective="Improve the function.",
    config=anything.GEPAConfig(
        engine=anything.EngineConfig(seed=SEED, max_metric_calls=60, parallel=False),
        reflection=anything.ReflectionConfig(reflection_lm=ask, reflection_minibatch_size=3, skip_perfect_score=False),
        tracking=anything.TrackingConfig(logger=type("Quiet", (), {"log": lambda self, message: None})()),
    ),
)
tell()

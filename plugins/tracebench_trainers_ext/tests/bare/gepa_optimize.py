"""gepa by hand."""

import gepa
from world import INITIAL, SEED, TRAIN, VALIDATION, ask, score, tell


class Adapter:
    propose_new_texts = None

    def evaluate(self, batch, candidate, capture_traces=False):
        scores = [score(candidate["code"], x) for x in batch]
        return gepa.EvaluationBatch(outputs=scores, scores=scores, trajectories=batch if capture_traces else None)

    def make_reflective_dataset(self, candidate, eval_batch, components):
        return {
            "code": [{"Inputs": x, "Score": s} for x, s in zip(eval_batch.trajectories, eval_batch.scores, strict=True)]
        }


gepa.optimize(
    seed_candidate={"code": INITIAL},
    trainset=TRAIN,
    valset=VALIDATION,
    adapter=Adapter(),
    reflection_lm=ask,
    reflection_minibatch_size=3,
    skip_perfect_score=False,
    max_metric_calls=60,
    seed=SEED,
    logger=type("Quiet", (), {"log": lambda self, message: None})(),
)
tell()
